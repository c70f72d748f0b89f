/* retry_wait.c - see retry.h. */
#include <poll.h>

#include "base/clock.h"
#include "base/error.h"
#include "llm/retry.h"
#include "process/loop.h"

double retry_jitter(void)
{
    return (double)(clock_us() % 1009) / 1009;
}

int retry_wait(struct loop *loop, int ms, int64_t deadline, struct error *err)
{
    int64_t until = clock_ms() + ms;
    for (int64_t now; (now = clock_ms()) < until;) {
        if (loop && loop_cancelled(loop))
            return error_set(err, ERROR_CANCELLED, 0, "interrupted");
        if (deadline && now >= deadline)
            return error_set(err, ERROR_LIMIT, 0,
                             "the time limit for this question was reached (while waiting to retry)");
        int64_t left = deadline && deadline < until ? deadline - now : until - now;
        if (loop)
            loop_wait(loop, (int)left);
        else
            poll(NULL, 0, (int)left);
    }
    return 0;
}
