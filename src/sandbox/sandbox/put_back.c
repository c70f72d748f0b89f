/* put_back.c - remembers what was put in, and puts it in again, skipping what has changed on this machine. */
#include "sandbox/put_back.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "sandbox/private.h"

#define NAMES_MAX 300

static void drop_remembered(struct put_back *p, unsigned i)
{
    free(p->v[i].name);
    fd_close(&p->v[i].fd);
    memmove(p->v + i, p->v + i + 1, (--p->n - i) * sizeof *p->v);
}

void put_back_keep(struct sandbox *s, const char *name, int fd)
{
    struct put_back *p = &s->put_back;
    int copy = lseek(fd, 0, SEEK_CUR) < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);

    for (unsigned i = 0; i < p->n; i++)
        if (!strcmp(p->v[i].name, name))
            drop_remembered(p, i--);
    if (copy < 0)
        return;
    if (p->n == PUT_BACK_MAX)
        drop_remembered(p, 0);
    p->v[p->n++] = (struct put_back_file){xstrdup(name), copy};
}

void put_back_release(struct put_back *p)
{
    while (p->n)
        drop_remembered(p, 0);
}

/* A figure has no file in the sandbox. */
static const char *next_made(const struct sandbox *s, unsigned *row, const struct ledger_file **f)
{
    do {
        *f = *f ? (*f)->next : NULL;
        while (!*f && *row < LEDGER_ROWS)
            *f = s->ledger.rows[(*row)++];
    } while (*f && (*f)->name[0] == '\n');
    return *f ? (*f)->name : NULL;
}

/* The copy here, if it is as it was left; -1. */
static int open_made(const struct sandbox *s, const struct ledger_file *f)
{
    const char *path;

    return ledger_open(&s->ledger, f->name, (uint64_t)f->size, &path);
}

static bool is_kept(const struct sandbox *s, const char *name)
{
    for (unsigned i = 0; i < s->put_back.n; i++)
        if (!strcmp(s->put_back.v[i].name, name))
            return true;
    return false;
}

static void add_name(struct buf *out, const char *name)
{
    if (out->len <= NAMES_MAX)
        buf_addf(out, "%s%s", out->len ? ", " : "", name);
}

char *put_back_names(const struct sandbox *s)
{
    struct buf names = BUF_INIT(0);
    const struct ledger_file *f = NULL;
    unsigned row = 0;

    for (unsigned i = 0; i < s->put_back.n; i++)
        add_name(&names, s->put_back.v[i].name);
    for (const char *name; names.len <= NAMES_MAX && (name = next_made(s, &row, &f));) {
        autoclose int fd = is_kept(s, name) ? -1 : open_made(s, f);

        if (fd >= 0)
            add_name(&names, name);
    }
    if (names.len > NAMES_MAX) {
        names.len = utf8_cut(names.data, names.len, NAMES_MAX);
        buf_addstr(&names, "...");
    }
    return names.len ? buf_steal(&names, NULL) : NULL;
}

static void put_back_one(struct sandbox *s, const char *name, int fd)
{
    struct error err = {0};
    struct stat st;

    if (fd < 0 || fstat(fd, &st) || (!S_ISDIR(st.st_mode) && lseek(fd, 0, SEEK_SET) < 0))
        return;
    int64_t r = S_ISDIR(st.st_mode) ? sandbox_put_folder(s, name, fd, &err)
                                    : sandbox_put_file(s, name, fd, &err);
    if (r < 0)
        engine_notice(&s->o.run, false, "%s could not be copied in again: %s", name, err.text);
}

bool put_back(struct sandbox *s)
{
    struct put_back *p = &s->put_back;
    const struct ledger_file *f = NULL;
    unsigned row = 0;

    if (!p->due || p->busy)
        return true;
    p->busy = true;
    p->due = false;
    /* One that is lost is replaced at once, and may be ready again: then it is due once more. */
    for (unsigned i = 0; i < p->n && s->stage == STAGE_READY && !p->due; i++)
        put_back_one(s, p->v[i].name, p->v[i].fd);
    for (const char *name; s->stage == STAGE_READY && !p->due && (name = next_made(s, &row, &f));) {
        autoclose int fd = open_made(s, f);

        put_back_one(s, name, fd);
    }
    p->busy = false;
    p->due = p->due || s->stage != STAGE_READY;
    return !p->due;
}
