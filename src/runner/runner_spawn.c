/* runner_spawn.c - see runner_spawn.h. */
#include "runner/runner_spawn.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "process/child.h"
#include "process/spawn.h"

static void add_words(struct argv *v, const struct runner_options *o)
{
    argv_pushl(v, "/proc/self/exe", "runner", NULL);
    for (const char *const *w = o->argv; w && *w; w++)
        argv_push(v, *w);
    if (o->name)
        argv_pushf(v, "--sandbox-name=%s", o->name);
    if (o->name && o->idle_ms > 0)
        argv_pushf(v, "--sandbox-idle=%llds", (long long)(o->idle_ms + 999) / 1000);
}

pid_t runner_spawn(const struct runner_options *o, int *sock, struct error *err)
{
    struct argv words autorelease(argv_release) = ARGV_INIT;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, "a runner cannot be started");
    autoclose int ours = pair[0], theirs = pair[1];
    add_words(&words, o);
    pid_t pid = child_spawn(
        &(struct child_options){.argv = words.v, .in = theirs, .out = -1, .err = 2, .own_session = true},
        err);
    if (pid >= 0) {
        *sock = ours;
        ours = -1;
    }
    return pid;
}
