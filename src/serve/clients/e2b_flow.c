/* e2b_flow.c - looks again and again at how much a slow client has taken. */
#include "clients/e2b_flow.h"

#include "base/clock.h"
#include "process/loop.h"

#define SLOW_BYTES (1u << 20) /* from so many that it has not taken on, its process waits for it */
#define SLOW_MS    20         /* and it is looked at again */

static void on_slow(void *ctx)
{
    throttle_look(ctx);
}

void throttle_look(struct throttle *f)
{
    bool slow = stream_waits(f->q) > SLOW_BYTES;

    if (slow != f->slow && f->watch->of)
        process_hold(f->watch->of, slow);
    f->slow = slow;
    if (slow)
        loop_timer(http_request_loop(f->q), clock_ms() + SLOW_MS, on_slow, f);
}

void throttle_end(struct throttle *f)
{
    loop_timer_stop(http_request_loop(f->q), f);
    if (f->slow && f->watch->of)
        process_hold(f->watch->of, false);
    f->slow = false;
}
