/* ledger.c - reserves bytes before a file is written, and tells by inode, size and time whether a copy is
 * still as it was left.
 *
 * RULE: What a session may write to this machine has one quota, and a file that is still as it was left is
 *     not written again.
 */
#include "sandbox/ledger.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/fnv.h"
#include "base/mem.h"

#define BLOCK 4096u

void ledger_init(struct ledger *l, int64_t most)
{
    *l = (struct ledger){.most = most > 0 ? (uint64_t)most : 0};
}

static void free_ledger_file(struct ledger_file *f)
{
    free(f->name);
    free(f->path);
    free(f);
}

void ledger_release(struct ledger *l)
{
    for (size_t i = 0; i < LEDGER_ROWS; i++)
        for (struct ledger_file *f = l->rows[i], *next; f; f = next) {
            next = f->next;
            free_ledger_file(f);
        }
    *l = (struct ledger){0};
}

/* ---- the quota */

static uint64_t cost(uint64_t size)
{
    return size < BLOCK ? BLOCK : (size + BLOCK - 1) / BLOCK * BLOCK;
}

uint64_t ledger_left(const struct ledger *l)
{
    return l->most > l->written ? l->most - l->written : 0;
}

bool ledger_reserve(struct ledger *l, uint64_t size)
{
    if (ledger_left(l) == 0 || size > ledger_left(l))
        return false;
    l->written += cost(size);
    return true;
}

uint64_t ledger_take(struct ledger *l, uint64_t bytes)
{
    uint64_t taken = bytes < ledger_left(l) ? bytes : ledger_left(l);

    l->written += taken;
    return taken;
}

void ledger_unreserve(struct ledger *l, uint64_t size)
{
    l->written -= cost(size) < l->written ? cost(size) : l->written;
}

bool ledger_warns(struct ledger *l)
{
    if (l->warned || l->written * 5 < l->most * 4)
        return false;
    l->warned = true;
    return true;
}

/* ---- the files */

static size_t row_of(const char *name)
{
    return fnv1a(FNV_START, name) % LEDGER_ROWS; /* code that makes names collide only slows down its cells */
}

static struct ledger_file *find_ledger_file(const struct ledger *l, const char *name)
{
    struct ledger_file *f = l->rows[row_of(name)];

    while (f && strcmp(f->name, name) != 0)
        f = f->next;
    return f;
}

static bool is_as_left(const struct ledger_file *f, const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_dev == f->dev && st->st_ino == f->ino && st->st_size == f->size
           && st->st_mtim.tv_sec == f->changed.tv_sec && st->st_mtim.tv_nsec == f->changed.tv_nsec;
}

int ledger_open(const struct ledger *l, const char *name, uint64_t size, const char **path)
{
    const struct ledger_file *f = find_ledger_file(l, name);
    struct stat st;

    if (!f || (uint64_t)f->size != size)
        return -1;
    autoclose int fd = open(f->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) < 0 || !is_as_left(f, &st))
        return -1;
    *path = f->path;
    return fd_steal(&fd);
}

static struct ledger_file *add_ledger_file(struct ledger *l, const char *name)
{
    struct ledger_file **row = &l->rows[row_of(name)], *f;

    if (l->n == LEDGER_FILES)
        return NULL;
    f = xcalloc(1, sizeof *f);
    f->name = xstrdup(name);
    f->next = *row;
    *row = f;
    l->n++;
    return f;
}

void ledger_note(struct ledger *l, const char *name, const char *path, int fd)
{
    struct ledger_file *f = find_ledger_file(l, name);
    struct stat st;

    if (fstat(fd, &st) < 0 || (!f && !(f = add_ledger_file(l, name))))
        return;
    xreplace(&f->path, xstrdup(path));
    f->dev = st.st_dev;
    f->ino = st.st_ino;
    f->size = st.st_size;
    f->changed = st.st_mtim;
}
