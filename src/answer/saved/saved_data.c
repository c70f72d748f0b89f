/* saved_data.c - what the user adds to a session is copied into its folder, so that --rerun has it
 * again, whatever became of it meanwhile: data of a pipe, files and folders. What is over --max-file, or
 * does not fit, is not copied: a file of the user's is then looked for where it was, and who runs it again is
 * told.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/newfile.h"
#include "base/beneath.h"
#include "config/config.h"
#include "saved/private.h"
#include "base/gather.h"
#include "store/store.h"

#define NAMES_MAX 100
#define PIECE     65536

/* So many bytes, as the sandbox got them: the user's file may have grown since. With its time, by which a
 * copy of the session, whose folder is another, knows it again. */
static int copy_with_time(int to, int from, off_t at, uint64_t size)
{
    struct stat st;
    autofree char *piece = xmalloc(PIECE);
    ssize_t n;

    while (size > 0 && (n = pread(from, piece, size < PIECE ? size : PIECE, at)) > 0
           && fd_write_all(to, piece, (size_t)n) == 0) {
        at += n;
        size -= (uint64_t)n;
    }
    return size == 0 && fstat(from, &st) == 0
                   && futimens(to, (struct timespec[]){{0, UTIME_OMIT}, st.st_mtim}) == 0
               ? 0
               : -1;
}

/* Under its own name, or "NAME.2" where there is one already. The path, or NULL. */
static char *name_it(struct newfile *f, const char *folder, const char *name)
{
    int status = newfile_name(f, name);
    autofree char *free_name = xstrdup(name);

    for (int i = 2; status < 0 && errno == EEXIST && i < NAMES_MAX; i++) {
        xreplace(&free_name, xasprintf("%s.%d", name, i));
        status = newfile_name(f, free_name);
    }
    return status == 0 ? xasprintf("%s/%s", folder, free_name) : NULL;
}

/* So much of the file of that descriptor, from at on, as name below folder. The path, or NULL. */
static char *keep_file(const char *folder, const char *name, int fd, off_t at, uint64_t size)
{
    struct newfile f autorelease(newfile_release) = NEWFILE_INIT;

    if (file_mkdirs(folder, 0700, NULL) < 0 || newfile_open(&f, folder, 0600) < 0
        || copy_with_time(f.fd, fd, at, size) < 0)
        return NULL;
    return name_it(&f, folder, name);
}

/* folder/name, or "NAME.2" where there is one already. NULL: all are taken. The caller frees. */
static char *free_place(const char *folder, const char *name)
{
    char *place = xasprintf("%s/%s", folder, name);

    for (int i = 2; place && access(place, F_OK) == 0; i++)
        xreplace(&place, i < NAMES_MAX ? xasprintf("%s/%s.%d", folder, name, i) : NULL);
    return place;
}

/* The files of a folder, below one of that name or "NAME.2". */
static char *keep_folder(const char *folder, const char *name, int fd)
{
    struct gathered found autorelease(gathered_release) = {0};
    char *place = NULL;
    struct stat st;
    bool whole = fstat(fd, &st) == 0 && gather(fd, name, &found, NULL) == 0
                 && (place = free_place(folder, name));

    for (size_t i = 0; whole && i < found.n; i++) {
        autoclose int from = gather_open(fd, found.v[i].path);
        autofree char *path = xasprintf("%s/%s", place, found.v[i].path);
        char *slash = strrchr(path, '/');

        *slash = '\0';
        autofree char *made = from >= 0 ? keep_file(path, slash + 1, from, 0, (uint64_t)found.v[i].size)
                                        : NULL;
        whole = made != NULL;
    }
    if (whole)
        utimensat(AT_FDCWD, place, (struct timespec[]){{0, UTIME_OMIT}, st.st_mtim}, 0);
    if (!whole && place) {
        file_remove_tree(place);
        free(steal(&place));
    }
    return place;
}

static char *keep_original(struct saved *s, const struct event *e, const struct stat *st)
{
    autofree char *folder = s->session->dir ? xasprintf("%s/given", s->session->dir) : NULL;
    uint64_t most = (uint64_t)(S_ISDIR(st->st_mode) ? s->config->max_files_total : s->config->max_file);

    if (!folder || e->file.size > most || s->kept + e->file.size > (uint64_t)s->config->max_files_total)
        return NULL;
    char *path = S_ISDIR(st->st_mode)
                     ? keep_folder(folder, e->file.name, e->file.fd)
                     : keep_file(folder, e->file.name, e->file.fd, (off_t)e->file.at, e->file.size);
    s->kept += path ? e->file.size : 0;
    return path;
}

void saved_event(struct saved *s, const struct event *e)
{
    struct stat st;
    bool added = e->type == EVENT_ADDED && s->config->save && e->file.fd >= 0 && fstat(e->file.fd, &st) == 0;
    autofree char *path = added ? keep_original(s, e, &st) : NULL;
    struct event own = *e;

    if (added) {
        own.file.kept = path;
        own.file.modified = noted_time(&st);
    }
    store_event(s->store, &own);
    if (path && store_db(s->store))
        session_keep(s->session);
    else if (path)
        file_remove_tree(path); /* nothing is saved */
}
