/* saved_data.c - data that came through a pipe has no place on this machine: it is kept in the session's
 * folder, so that --replay-cells has it again. What is too large, or does not fit on the disk, is not kept;
 * who replays is told.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/newfile.h"
#include "main/command.h"
#include "store/store.h"

#define NAMES_MAX 100

static int copy(int to, int from, off_t at)
{
    autofree char *piece = xmalloc(65536);
    ssize_t n;

    while ((n = pread(from, piece, 65536, at)) > 0 && fd_write_all(to, piece, (size_t)n) == 0)
        at += n;
    return n == 0 ? 0 : -1;
}

/* Under its own name, or "NAME.2" where there is one already. The path, or NULL. */
static char *name_it(struct newfile *f, const char *folder, const char *name)
{
    int status = newfile_name(f, name);
    autofree char *free_name = xstrdup(name);

    for (int i = 2; status < 0 && errno == EEXIST && i < NAMES_MAX; i++) {
        free(free_name);
        free_name = xasprintf("%s.%d", name, i);
        status = newfile_name(f, free_name);
    }
    return status == 0 ? xasprintf("%s/%s", folder, free_name) : NULL;
}

static char *keep(const struct saved *s, const struct event *e)
{
    autofree char *folder = s->session->dir ? xasprintf("%s/given", s->session->dir) : NULL;
    struct newfile f autorelease(newfile_release) = NEWFILE_INIT;

    if (!folder || e->file.size > (uint64_t)s->config->max_file || file_mkdirs(folder, 0700, NULL) < 0
        || newfile_open(&f, folder, 0600) < 0 || copy(f.fd, e->file.fd, (off_t)e->file.at) < 0)
        return NULL;
    return name_it(&f, folder, e->file.name);
}

void saved_event(struct saved *s, const struct event *e)
{
    bool pipe = e->type == EVENT_ADDED && !e->file.path && e->file.fd >= 0 && s->config->save;
    autofree char *path = pipe ? keep(s, e) : NULL;
    struct event own = *e;

    if (path)
        own.file.path = path;
    store_event(s->store, &own);
    if (path && store_db(s->store))
        session_keep(s->session);
    else if (path)
        unlink(path); /* nothing is saved */
}
