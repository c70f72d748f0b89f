/* hard_limits.c - see hard_limits.h. */
#include "engine/hard_limits.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/plan.h"
#include "engine/options.h"

#define MATTERS 8192 /* a higher limit is not looked at: who has so much in use knows */
#define PIDS_LEAST \
    8 /* the supervisor, the interpreter, its copy, and some for the code; as the option has it */
#define FILES_LEAST 32
/* Of a user's processes, what we need besides the sandbox: a resolver's thread, an engine's client at the
 * end, which for podman is a Go program with a thread for each thing it waits for. */
#define OURS        8
#define OURS_PODMAN 40

static long hard(int what)
{
    struct rlimit r;

    /* infinity is above, too */
    return getrlimit(what, &r) != 0 || r.rlim_max > MATTERS ? -1 : (long)r.rlim_max;
}

static long number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);

    return at ? strtol(at + strlen(word), NULL, 10) : 0;
}

/* Threads count, as the kernel counts them. */
static long running(uid_t uid)
{
    DIR *d = opendir("/proc");
    long n = 0;

    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        autofree char *path = xasprintf("/proc/%s/status", e->d_name);
        struct buf text autorelease(buf_release) = BUF_INIT(8192);

        if (e->d_name[0] < '1' || e->d_name[0] > '9' || file_read(path, 8192, &text, NULL) != 0)
            continue;
        if (number_after(buf_str(&text), "\nUid:") == (long)uid)
            n += number_after(buf_str(&text), "\nThreads:");
    }
    if (d)
        closedir(d);
    return n;
}

void engine_room(const struct engine_description *d, struct engine_room *room)
{
    *room = (struct engine_room){.processes = -1, .files = -1, .fresh = geteuid() == 0};
    if (d == &engine_docker)
        return;
    room->processes = hard(RLIMIT_NPROC);
    room->files = hard(RLIMIT_NOFILE);
    /* bwrap itself runs under the sandbox's uid. */
    if (room->fresh)
        room->used = d == &engine_bwrap;
    else if (room->processes >= 0)
        room->used = running(geteuid());
}

char *engine_room_key(void)
{
    return xasprintf("%ld %ld", hard(RLIMIT_NPROC), hard(RLIMIT_NOFILE));
}

static int too_few(const char *engine, const struct engine_room *room, int most,
                   const struct sandbox_options *o, struct error *err)
{
    char used[40] = "", instead[60] = "";

    if (!room->fresh)
        snprintf(used, sizeof used, ", %ld in use", room->used);
    if (most >= PIDS_LEAST)
        snprintf(instead, sizeof instead, ", or use --pids %d", most);
    if (o->asked & SANDBOX_ASKED_PIDS)
        return error_set(err, ERROR_SANDBOX, 0,
                         "%s: --pids %d is not possible: the hard limit of processes (ulimit -Hu) is %ld%s\n"
                         "raise it in /etc/security/limits.conf (nproc)%s",
                         engine, o->pids, room->processes, used, instead);
    return error_set(err, ERROR_SANDBOX, 0,
                     "%s: too few processes are allowed to run code: the hard limit (ulimit -Hu) "
                     "is %ld%s\nraise it in /etc/security/limits.conf (nproc), or end other programs",
                     engine, room->processes, used);
}

static int give_processes(const struct engine_description *d, const struct engine_room *room,
                          struct sandbox_options *given, struct buf *told, struct error *err)
{
    long ours = room->fresh ? 0 : d == &engine_podman ? OURS_PODMAN : OURS;
    long most = room->processes - room->used - ours - given->park;

    if (room->processes < 0 || most >= given->pids)
        return 0;
    if (most < PIDS_LEAST || given->asked & SANDBOX_ASKED_PIDS)
        return too_few(d->name, room, (int)most, given, err);
    buf_addf(told,
             "code may have %ld processes instead of %d, because the hard limit (ulimit -Hu) is %ld; "
             "/etc/security/limits.conf raises it",
             most, given->pids, room->processes);
    given->pids = (int)most;
    return 0;
}

int engine_give(const struct engine_description *d, const struct engine_room *room,
                struct sandbox_options *given, struct buf *told, struct error *err)
{
    if (give_processes(d, room, given, told, err) != 0)
        return -1;
    if (room->files < 0 || room->files >= given->open_files)
        return 0;
    if (room->files < FILES_LEAST)
        return error_set(err, ERROR_SANDBOX, 0,
                         "%s: too few open files are allowed to run code: the hard limit "
                         "(ulimit -Hn) is %ld\nraise it in /etc/security/limits.conf (nofile)",
                         d->name, room->files);
    buf_addf(told,
             "%scode may have %ld open files instead of %d, because the hard limit (ulimit -Hn) is %ld; "
             "/etc/security/limits.conf raises it",
             told->len ? "\n" : "", room->files, given->open_files, room->files);
    given->open_files = (int)room->files;
    return 0;
}
