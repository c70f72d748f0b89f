/* hard_limits.c - compares the limits asked for with getrlimit(2) and with the processes that run already.
 *
 * RULE: A default number of processes or files that this machine does not allow is lowered with a notice;
 *     one that the user named is refused.
 */
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
#include "engine/engines.h"
#include "engine/options.h"

/* higher limits are treated as none: they matter only to users who know how much they use */
#define MATTERS 8192
#define PIDS_LEAST \
    8 /* the supervisor, the worker, its snapshot, and a few for the code; same minimum as the option's */
#define FILES_LEAST 32

rlim_t hard_limit(int what, rlim_t most)
{
    struct rlimit r;

    return getrlimit(what, &r) != 0 || r.rlim_max > most ? most : r.rlim_max;
}

/* -1: none */
static long hard(int what)
{
    rlim_t limit = hard_limit(what, MATTERS + 1);

    return limit > MATTERS ? -1 : (long)limit;
}

static long number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);

    return at ? strtol(at + strlen(word), NULL, 10) : 0;
}

/* How many processes uid has. Threads count, as they do for the kernel. */
static long running(uid_t uid)
{
    autoclosedir DIR *d = opendir("/proc");
    long n = 0;

    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        autofree char *path = xasprintf("/proc/%s/status", e->d_name);
        struct buf text autorelease(buf_release) = BUF_INIT(8192);

        if (e->d_name[0] < '1' || e->d_name[0] > '9' || file_read(path, 8192, &text, NULL) != 0)
            continue;
        if (number_after(buf_str(&text), "\nUid:") == (long)uid)
            n += number_after(buf_str(&text), "\nThreads:");
    }
    return n;
}

void hard_limits_read(const struct engine *engine, struct hard_limits *limits)
{
    *limits = (struct hard_limits){.engine = engine, .processes = -1, .files = -1, .fresh = geteuid() == 0};
    if (engine->own_limits)
        return;
    limits->processes = hard(RLIMIT_NPROC);
    limits->files = hard(RLIMIT_NOFILE);
    if (limits->fresh)
        limits->used = engine->processes_fresh;
    else if (limits->processes >= 0)
        limits->used = running(geteuid());
}

char *hard_limits_key(void)
{
    return xasprintf("%ld %ld", hard(RLIMIT_NPROC), hard(RLIMIT_NOFILE));
}

static int too_few(const struct hard_limits *l, int most, const struct engine_options *o, struct error *err)
{
    char used[40] = "", instead[60] = "";

    if (!l->fresh)
        snprintf(used, sizeof used, ", %ld in use", l->used);
    if (most >= PIDS_LEAST)
        snprintf(instead, sizeof instead, ", or use --pids %d", most);
    if (o->asked & ENGINE_ASKED_PIDS)
        return error_set(err, ERROR_SANDBOX, 0,
                         "--pids %d is not possible: the hard limit on processes (ulimit -Hu) is %ld%s\n"
                         "raise it in /etc/security/limits.conf (nproc)%s",
                         o->pids, l->processes, used, instead);
    return error_set(err, ERROR_SANDBOX, 0,
                     "too few processes are allowed to run code: the hard limit (ulimit -Hu) "
                     "is %ld%s\nraise it in /etc/security/limits.conf (nproc), or end other programs",
                     l->processes, used);
}

static int fit_processes(const struct hard_limits *l, struct engine_options *given, struct buf *told,
                         struct error *err)
{
    long ours = l->fresh ? 0 : l->engine->processes_ours;
    long most = l->processes - l->used - ours - given->snapshots;

    if (l->processes < 0 || most >= given->pids)
        return 0;
    if (most < PIDS_LEAST || given->asked & ENGINE_ASKED_PIDS)
        return too_few(l, (int)most, given, err);
    buf_addf(told,
             "code may have %ld processes instead of %d, because the hard limit (ulimit -Hu) is %ld; "
             "/etc/security/limits.conf raises it",
             most, given->pids, l->processes);
    given->pids = (int)most;
    return 0;
}

int hard_limits_fit(const struct hard_limits *l, struct engine_options *given, struct buf *told,
                    struct error *err)
{
    if (fit_processes(l, given, told, err) != 0)
        return -1;
    if (l->files < 0 || l->files >= given->open_files)
        return 0;
    if (l->files < FILES_LEAST)
        return error_set(err, ERROR_SANDBOX, 0,
                         "too few open files are allowed to run code: the hard limit "
                         "(ulimit -Hn) is %ld\nraise it in /etc/security/limits.conf (nofile)",
                         l->files);
    buf_addf(told,
             "%scode may have %ld open files instead of %d, because the hard limit (ulimit -Hn) is %ld; "
             "/etc/security/limits.conf raises it",
             told->len ? "\n" : "", l->files, given->open_files, l->files);
    given->open_files = (int)l->files;
    return 0;
}
