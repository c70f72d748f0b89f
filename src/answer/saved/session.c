/* session.c - a session's folder: $XDG_STATE_HOME/sandpiper/sessions/ID, with the ID that people type. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/draft.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/place.h"
#include "base/random.h"
#include "config/config.h"
#include "saved/session.h"
#include "records/owner.h"
#include "store/sessions.h"

#define OWNER_MAX 1024

/* Begins with the time, so that names sort by it; the rest separates two that start in the same second. */
static void make_id(char *out, size_t size)
{
    time_t now = time(NULL);
    struct tm tm = {0};
    char when[24], random[9];

    random_hex(random, 8);
    gmtime_r(&now, &tm);
    strftime(when, sizeof when, "%Y%m%d-%H%M%S", &tm);
    snprintf(out, size, "%s-%s", when, random);
}

char *session_out_dir(const char *dir, struct error *err)
{
    struct stat st;

    if (stat(dir, &st) == 0 && !S_ISDIR(st.st_mode))
        return error_null(err, ERROR_USAGE, 0, "--out %.200s: not a directory", dir);
    if (file_mkdirs(dir, 0777, err) < 0) {
        err->kind = ERROR_USAGE;
        error_wrap(err, "--out");
        return NULL;
    }
    char *path = access(dir, W_OK | X_OK) == 0 ? realpath(dir, NULL) : NULL;

    return path ? path : error_null(err, ERROR_USAGE, errno, "--out %.200s: %s", dir, strerror(errno));
}

/* A killed program could not remove its folder. We do it when we end, where nobody waits for it. A folder
 * that the user was told about no longer has a mark, and stays. */
static void sweep(const char *sessions)
{
    DIR *d = opendir(sessions);

    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        autofree char *dir = xasprintf("%s/%s", sessions, e->d_name), *mark = xasprintf("%s/owner", dir);
        struct buf owner autorelease(buf_release) = BUF_INIT(OWNER_MAX);

        if (owner_check_group(e->d_name) == OWNER_DEAD) {
            file_remove_tree(dir);
        } else if (e->d_name[0] != '.' && file_read(mark, OWNER_MAX, &owner, NULL) == 0
                   && owner_dead(buf_str(&owner))) {
            owner_erase(dir);
        }
    }
    if (d)
        closedir(d);
}

/* The folder gets its name only after its owner is written, since the program may be killed at any moment. */
static int make_dir(struct session *s, const char *sessions, struct error *err)
{
    autofree char *maker = owner_group_name(), *owner = owner_self();
    autofree char *dir = xasprintf("%s/%s", sessions, maker), *mark = xasprintf("%s/owner", dir);

    if (mkdir(dir, 0700) < 0)
        return error_errno(err, "%s", dir);
    if (file_write_soon(mark, owner, strlen(owner), err) < 0) {
        file_remove_tree(dir);
        return -1;
    }
    s->dir = session_folder(sessions, s->id);
    if (rename(dir, s->dir) == 0)
        return 0;
    error_errno(err, "%s", s->dir);
    file_remove_tree(dir);
    free(steal(&s->dir));
    return -1;
}

/* An answer is never refused because it cannot be stored. */
static char *what_is_lost(const struct session *s, const struct error *why)
{
    autofree char *state = xdg_path(XDG_STATE, NULL);
    const char *what =
        s->out_dir ? "full output and history are not saved"
                   : "full output, history and files created by code are not saved (--out DIR saves files)";

    if (!state)
        return xasprintf("There is no home directory: %s. Set HOME or XDG_STATE_HOME.", what);
    if (why->code == ELOOP) /* the text says whose link it is */
        return xasprintf("%.300s: %s. Set XDG_STATE_HOME to another folder.", why->text, what);
    return xasprintf("%s %s: %s. %s, or set XDG_STATE_HOME.", state, disk_trouble(why->code), what,
                     disk_remedy(why->code));
}

/* The folder of an earlier session is the user's: it stays. */
static bool take_dir(struct session *s, const char *sessions)
{
    autofree char *dir = session_folder(sessions, s->id);
    autoclose int fd = place_folder(dir, false, NULL);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077))
        return false;
    autofree char *mark = xasprintf("%s/owner", dir);
    unlink(mark); /* the mark of a program that was killed, whose files are kept */
    s->dir = steal(&dir);
    s->keep = true;
    return true;
}

int session_open(struct session *s, const struct config *c, const char *id, struct error *err)
{
    autofree char *sessions = xdg_path(XDG_STATE, "sessions");
    struct error why = {0};

    *s = (struct session){0};
    if (c->front.out_dir && !(s->out_dir = session_out_dir(c->front.out_dir, err)))
        return -1;
    make_id(s->id, sizeof s->id);
    if (id && strlen(id) < sizeof s->id)
        snprintf(s->id, sizeof s->id, "%s", id);
    autoclose int folder = sessions ? place_folder(sessions, true, &why) : -1;
    if (folder < 0 || (!(id && take_dir(s, sessions)) && make_dir(s, sessions, &why) < 0))
        s->dir_lost = what_is_lost(s, &why);
    if (!s->dir_lost || !fd_none_left(why.code))
        return 0;
    *err = why; /* no descriptors are left: that is not the disk's fault */
    return -1;
}

char *session_cache_lost(const struct session *s)
{
    autofree char *cache = xdg_path(XDG_CACHE, NULL);

    if (!cache_trouble() || !cache || s->dir_lost)
        return NULL;
    return xasprintf(
        "%s %s: nothing can be cached, so the next start may take longer. %s, or set XDG_CACHE_HOME.", cache,
        disk_trouble(cache_trouble()), disk_remedy(cache_trouble()));
}

/* Has it nothing but our mark and the empty folder for output? */
static bool is_bare(const char *dir, bool output)
{
    autoclosedir DIR *d = opendir(dir);
    bool bare = d;

    for (struct dirent *e; bare && (e = readdir(d)) != NULL;) {
        autofree char *inner = xasprintf("%s/%s", dir, e->d_name);

        bare = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || (!output && !strcmp(e->d_name, "owner"))
               || (!output && !strcmp(e->d_name, "output") && is_bare(inner, true));
    }
    return bare;
}

int session_next(struct session *s, const struct config *c, struct error *err)
{
    autofree char *sessions = s->dir ? xdg_path(XDG_STATE, "sessions") : NULL;

    if (sessions && !s->keep && !s->out_dir && is_bare(s->dir, false)) {
        make_id(s->id, sizeof s->id);
        autofree char *dir = session_folder(sessions, s->id);
        if (rename(s->dir, dir) == 0) {
            xreplace(&s->dir, steal(&dir));
            return 0;
        }
    }
    session_close(s);
    return session_open(s, c, NULL, err);
}

void session_keep(struct session *s)
{
    autofree char *mark = s->dir && !s->keep && !s->unsaved ? xasprintf("%s/owner", s->dir) : NULL;

    if (s->unsaved)
        return;
    if (mark)
        unlink(mark); /* from now on it belongs to the user */
    s->keep = true;
}

void session_close(struct session *s)
{
    autofree char *sessions = s->dir ? xdg_path(XDG_STATE, "sessions") : NULL;

    if (s->dir && !s->keep)
        owner_erase(s->dir);
    if (sessions)
        sweep(sessions);
    draft_sweep();
    free(s->dir);
    free(s->dir_lost);
    free(s->out_dir);
    *s = (struct session){0};
}
