/* removal.c - see removal.h. */
#include "engine/removal.h"

#include <string.h>

#include "base/argv.h"
#include "engine/plan.h"

#define CLIENT_MS 10000

struct job *engine_rm(const char *engine, const char *name, struct loop *loop, job_fn *done, void *ctx)
{
    struct argv argv = ARGV_INIT;

    argv_pushl(&argv, engine, "rm", "-f", NULL);
    if (strcmp(engine, "podman") == 0)
        /* else a supervisor that hangs is asked politely first, for longer than we wait */
        argv_pushl(&argv, "-t", "0", NULL);
    argv_push(&argv, name);
    struct job_options o = {.argv = argv.v, .deadline_ms = CLIENT_MS, .in = -1, .out = -1, .own_env = true};
    struct job *j = job_start(&o, loop, done, ctx, NULL);
    argv_release(&argv);
    return j;
}

enum engine_rm_end engine_rm_end(const struct job *j)
{
    const char *said = buf_str(&j->err_text);

    /* A container whose supervisor has just ended removes itself (--rm). "Already in progress" is not gone:
     * it is asked for again. */
    if (job_ok(j) || strcasestr(said, "no such container"))
        return RM_GONE;
    return j->timed_out || engine_nobody(said) ? RM_NOBODY : RM_REFUSED;
}
