/* ending.c - end a start: close the channel, end the container or namespace, remove its control group and
 * directory.
 *
 * While the program goes on, it waits for all that. At its own end it does not wait. Closing the channel ends
 * the supervisor and everything inside, but the engine then needs 0.1 s to remove a container, and many times
 * that on a busy machine. This is left to the keeper (keeper.h), as everything is when the program is killed.
 * The keeper depends on nobody inside: it kills the first process there. If the keeper is killed too, the
 * next start finds what is left by its record.
 */
#include "engine/attempt.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/client.h"
#include "engine/site.h"
#include "process/child.h"
#include "process/loop.h"
#include "records/owner.h"

#define REAP_MS 100 /* for a keeper with nothing to do to exit */

static void close_channel(struct attempt *a)
{
    int *const all[] = {&a->listener, &a->channel, &a->channel_out, &a->info};

    if (a->channel_out == a->channel)
        a->channel_out = -1;
    for (size_t i = 0; i < countof(all); i++) {
        loop_unwatch(a->loop, *all[i]);
        fd_close(all[i]);
    }
}

int attempt_left_ms(int64_t until)
{
    int64_t left = until - clock_ms();

    return left < 0 ? 0 : left > CLIENT_MS ? CLIENT_MS : (int)left;
}

/* Forget everything that was started, without removing it. */
static void forget_started(struct attempt *a)
{
    child_abandon(a->client);
    a->client = NULL;
    site_leave(steal(&a->site));
    argv_release(&a->facts);
    cgroup_forget(&a->cgroup);
    run_dir_release(&a->dir);
    free(steal(&a->name));
    free(steal(&a->program));
    fd_close(&a->kills);
    fd_close(&a->stat);
    free(steal(&a->image));
    buf_release(&a->fewer);
    a->up = a->begun = a->taken = a->unmade = false;
    a->peer = 0;
}

static void stop_waiting(struct attempt *a)
{
    loop_timer_stop(a->loop, a);
    close_channel(a);
    child_free(a->helper);
    a->helper = NULL;
}

/* What could not be ended is left to the next start, which finds it by its directory. */
static bool clear(struct attempt *a, int64_t until)
{
    stop_waiting(a);
    bool gone = a->engine->end(a, until);
    child_free(a->client);
    a->client = NULL;
    cgroup_remove(&a->cgroup);
    if (gone)
        run_dir_remove(&a->dir);
    keeper_dismiss(a, REAP_MS);
    forget_started(a);
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
        run_dir_remove(&a->dir);
}

/* Leave the rest to the keeper. False: there is none. */
static bool hand_over(struct attempt *a)
{
    pid_t keeper = keeper_take_over(a);

    if (keeper <= 0)
        return false;
    autofree char *owner = owner_of(keeper);
    if (a->dir.path)
        attempt_record(a, owner, false, NULL); /* fails if the keeper has already removed the directory */
    forget_started(a);
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
    keeper_dismiss(a, 0); /* nobody waits for it to exit */
    attempt_end(a, clock_ms() + CLIENT_MS);
}

void attempt_detach(struct attempt *a)
{
    stop_waiting(a);
    keeper_dismiss(a, 0);
    if (a->engine->detach)
        a->engine->detach(a);
    forget_started(a);
    free(steal(&a->runtime));
}
