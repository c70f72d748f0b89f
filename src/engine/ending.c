/* ending.c - the end of a start: the channel closed, the container or the namespace gone, its control
 * group and its directory removed.
 *
 * While the program goes on it waits for that. At its own end nobody should: closing the channel ends the
 * supervisor and everything inside, and what an engine then takes to remove the container (0.1 s, and many
 * times that on a busy machine) is the keeper's business (keeper.h), as all of it is when the program is
 * killed. The keeper leans on nobody inside: it kills the first process there. If it is killed too, the next
 * start finds what there is by its record.
 */
#include "engine/attempt.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "engine/job.h"
#include "records/owner.h"

#define CLIENT_MS 10000 /* a call of an engine's client */
#define REAP_MS   100   /* for a keeper that has nothing to do to be gone */

static void close_channel(struct attempt *a)
{
    if (a->listener >= 0)
        loop_unwatch(a->loop, a->listener);
    fd_close(&a->listener);
    if (a->channel_out != a->channel) {
        if (a->channel_out >= 0)
            loop_unwatch(a->loop, a->channel_out);
        fd_close(&a->channel_out);
    }
    if (a->channel >= 0)
        loop_unwatch(a->loop, a->channel);
    fd_close(&a->channel);
    a->channel_out = -1;
    if (a->info >= 0)
        loop_unwatch(a->loop, a->info);
    fd_close(&a->info);
}

int attempt_left_ms(int64_t until)
{
    int64_t left = until - clock_ms();

    return left < 0 ? 0 : left > CLIENT_MS ? CLIENT_MS : (int)left;
}

/* Nothing of it is ours any more. */
static void forget(struct attempt *a)
{
    job_abandon(a->client);
    a->client = NULL;
    cgroup_forget(&a->cgroup);
    session_dir_leave(&a->dir);
    free(steal(&a->name));
    free(steal(&a->program));
    free(steal(&a->memory_dir));
    free(steal(&a->image));
    buf_release(&a->fewer);
    a->up = a->begun = a->taken = a->unmade = false;
    a->peer = 0;
}

static void stop_waiting(struct attempt *a)
{
    loop_timer_stop(a->loop, a);
    close_channel(a);
    job_free(a->helper);
    a->helper = NULL;
}

/* What could not be ended is for the next start, which finds it by its directory. */
static bool clear(struct attempt *a, int64_t until)
{
    stop_waiting(a);
    bool gone = a->engine->end(a, until);
    job_free(a->client);
    a->client = NULL;
    cgroup_remove(&a->cgroup);
    if (gone)
        session_dir_remove(&a->dir);
    keeper_dismiss(a, REAP_MS);
    forget(a);
    return gone;
}

bool attempt_end(struct attempt *a, int64_t until)
{
    bool gone = !a->begun || clear(a, until);

    free(steal(&a->runtime));
    return gone;
}

void attempt_end_as_keeper(struct attempt *a)
{
    bool gone = a->engine->end_as_keeper(a);

    cgroup_remove(&a->cgroup);
    if (gone)
        session_dir_remove(&a->dir);
}

/* False: there is no keeper. */
static bool hand_over(struct attempt *a)
{
    pid_t keeper = keeper_take_over(a);

    if (keeper <= 0)
        return false;
    autofree char *owner = owner_of(keeper);
    if (a->dir.path)
        attempt_record(a, owner, false, NULL); /* cannot be written where it has done its work already */
    forget(a);
    return true;
}

void attempt_abandon(struct attempt *a)
{
    if (!a->begun)
        return;
    stop_waiting(a);
    if (a->engine->end_at_once(a) || !hand_over(a))
        clear(a, clock_ms() + CLIENT_MS);
}

void attempt_end_in_background(struct attempt *a)
{
    if (a->begun)
        stop_waiting(a);
    if (a->begun && !a->engine->end_at_once(a))
        hand_over(a);
    keeper_dismiss(a, 0); /* nobody waits for it */
    attempt_end(a, clock_ms() + CLIENT_MS);
}

void attempt_detach(struct attempt *a)
{
    stop_waiting(a);
    keeper_dismiss(a, 0);
    if (a->engine->detach)
        a->engine->detach(a);
    forget(a);
    free(steal(&a->runtime));
}
