/* put_folder.c - a folder of the user's into /mnt/data, file by file. What cannot be copied is left out and
 * told, one line each; the rest goes in.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/fnv.h"
#include "base/inputs.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/gather.h"
#include "sandbox/private.h"

#define TOLD_MOST 5 /* files left out that are named; the others are counted */
#define ROWS      1024

struct used_name {
    char *name;
    unsigned number; /* the last that was given to it, as in "name-2.txt" */
    struct used_name *next;
};

struct put_folder {
    struct sandbox *s;
    const char *name;
    int fd;
    struct gathered found;
    struct argv names; /* in the sandbox, in the order of found.v */
    struct used_name *taken[ROWS];
    unsigned files;
    int64_t bytes;
};

static void put_folder_release(struct put_folder *p)
{
    for (size_t i = 0; i < ROWS; i++)
        for (struct used_name *t = p->taken[i], *next; t; t = next) {
            next = t->next;
            free(t->name);
            free(t);
        }
    gathered_release(&p->found);
    argv_release(&p->names);
}

/* The entry of a name; made, with *is_new, if there is none. */
static struct used_name *find_taken(struct put_folder *p, const char *name, bool *is_new)
{
    struct used_name **row = &p->taken[fnv1a(FNV_START, name) % ROWS], *t = *row;

    while (t && strcmp(t->name, name) != 0)
        t = t->next;
    *is_new = !t;
    if (!t) {
        t = xcalloc(1, sizeof *t);
        *t = (struct used_name){xstrdup(name), 1, *row};
        *row = t;
    }
    return t;
}

/* A name that no file here has, nor was given. Those of another alphabet may all become the same. */
static char *free_name(struct put_folder *p, const char *name)
{
    const char *extension = name_extension(name);
    char *own = xstrdup(name);
    bool is_free;
    struct used_name *t = find_taken(p, name, &is_free);

    while (!is_free) {
        xreplace(&own, xasprintf("%.*s-%u%s", (int)(extension - name), name, ++t->number, extension));
        find_taken(p, own, &is_free);
    }
    return own;
}

/* Its name in the sandbox: each part of it made harmless. Two files must not become one by that. */
static void name_file(struct put_folder *p, const char *path)
{
    struct buf inside autorelease(buf_release) = BUF_INIT(0);
    bool odd = false;

    buf_addstr(&inside, p->name);
    for (const char *at = path; *at;) {
        size_t len = strcspn(at, "/");
        autofree char *part = xmemdup0(at, len), *plain = name_plain(part);

        odd |= strcmp(part, plain) != 0;
        buf_addf(&inside, "/%s", plain);
        at += len + (at[len] == '/');
    }
    autofree char *own = odd ? free_name(p, buf_str(&inside)) : xstrdup(buf_str(&inside));
    argv_push(&p->names, own);
}

static int put_entry(struct put_folder *p, const char *path, const char *inside, struct error *err)
{
    autoclose int fd = gather_open(p->fd, path);
    struct error why = {0};
    int64_t size = -1;

    if (fd < 0) {
        argv_pushf(&p->found.refused, "%s: %s", path,
                   errno == EXDEV ? "a link out of the folder" : strerror(errno));
        return 0;
    }
    size = sandbox_put_file(p->s, inside, fd, &why);
    if (size < 0) {
        *err = why;
        return -1;
    }
    p->bytes += size;
    p->files++;
    /* not those of another folder, which a sandbox that died meanwhile gets back */
    if (p->s->each && p->s->each->fd == p->fd)
        p->s->each->file(p->s->each->ctx, inside, fd);
    return 0;
}

static void tell_result(const struct put_folder *p)
{
    const struct gathered *g = &p->found;
    const struct engine_options *o = &p->s->o.run;
    char hidden[40] = "";

    for (size_t i = 0; i < g->refused.n && i < TOLD_MOST; i++) {
        autofree char *plain = scrub_line(g->refused.v[i], SCRUB_TERMINAL);

        engine_notice(o, false, "not copied from %s: %s", p->name, plain);
    }
    if (g->refused.n > TOLD_MOST)
        engine_notice(o, false, "not copied from %s: %zu more", p->name, g->refused.n - TOLD_MOST);
    if (g->hidden)
        snprintf(hidden, sizeof hidden, " (without %u hidden)", g->hidden);
    engine_notice(o, false, "%s: %u file%s, %" PRId64 " bytes, in the sandbox as /mnt/data/%s/%s", p->name,
                  p->files, p->files == 1 ? "" : "s", p->bytes, p->name, hidden);
}

int64_t sandbox_put_folder(struct sandbox *s, const char *name, int fd, struct error *err)
{
    autorelease(put_folder_release) struct put_folder p = {.s = s, .name = name, .fd = fd};
    int64_t most = s->o.run.data_size;
    int r = gather(fd, name, &p.found, err);

    if (r == 0 && p.found.total > most)
        r = sandbox_too_large(name, "", p.found.total, most, err);
    if (r == 0 && !p.found.n)
        r = error_set(err, ERROR_USAGE, 0, "%s has no files to add%s", name,
                      p.found.refused.n ? ": none is a regular file"
                      : p.found.hidden  ? ": only hidden ones"
                                        : "");
    for (size_t i = 0; r == 0 && i < p.found.n; i++) {
        autofree char *path = xasprintf("%s/%s", name, p.found.v[i].path);
        bool is_new;

        find_taken(&p, path, &is_new);
    }
    for (size_t i = 0; r == 0 && i < p.found.n; i++)
        name_file(&p, p.found.v[i].path);
    s->copying = (struct copy_progress){.total = p.found.total};
    for (size_t i = 0; r == 0 && i < p.found.n; i++)
        r = put_entry(&p, p.found.v[i].path, p.names.v[i], err);
    s->copying = (struct copy_progress){0};
    if (r == 0)
        tell_result(&p);
    return r < 0 ? -1 : p.bytes;
}
