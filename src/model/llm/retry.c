/* retry.c - the policy of retries: three attempts after the first, with backoff; one downgrade for each
 * parameter; polling while a server loads its model; one try without a stream when a stream broke before
 * anything was shown; nothing after text was shown.
 */
#include "llm/retry.h"

#include <poll.h>

#include "base/clock.h"
#include "base/error.h"
#include "process/loop.h"
#include "process/signals.h"

/* attempt: below RETRY_MAX. */
static int backoff_ms(unsigned attempt, double jitter)
{
    return (int)(500.0 * (double)(1u << attempt) * (1 - 0.25 * jitter));
}

static struct retry_choice wait_more(struct retry *t, const struct failure *f, double jitter)
{
    if (t->attempts >= RETRY_MAX || f->retry_after > RETRY_AFTER_MAX)
        return (struct retry_choice){RETRY_NO, 0};
    int ms = f->retry_after > 0 ? (int)(f->retry_after * 1000 + 0.5) : backoff_ms(t->attempts, jitter);
    t->attempts++;
    return (struct retry_choice){RETRY_WAIT, ms};
}

static struct retry_choice poll_more(struct retry *t, int64_t now_ms)
{
    if (!t->polling) {
        t->polling = true;
        t->poll_since = now_ms;
    }
    if (now_ms - t->poll_since >= RETRY_POLL_LIMIT_MS)
        return (struct retry_choice){RETRY_NO, 0};
    return (struct retry_choice){RETRY_POLL, RETRY_POLL_MS};
}

/* After a broken stream, asks once without one. An answer that was not a stream may be asked for once more
 * when nothing at all came. */
static struct retry_choice without_stream(struct retry *t, const struct failure *f, struct retry_now now)
{
    if (t->unstreamed || (!now.streaming && !f->once))
        return (struct retry_choice){RETRY_NO, 0};
    t->unstreamed = true;
    return now.streaming ? (struct retry_choice){RETRY_WITHOUT_STREAM, 0} : wait_more(t, f, now.jitter);
}

struct retry_choice retry_decide(struct retry *t, const struct failure *f, struct retry_now now)
{
    struct retry_choice no = {RETRY_NO, 0};
    if (now.shown)
        return no;
    switch (f->class) {
    case FAILURE_BUSY:
        return wait_more(t, f, now.jitter);
    case FAILURE_NETWORK:
        if (f->never || (f->once && t->once++))
            return no;
        return wait_more(t, f, now.jitter);
    case FAILURE_LOADING:
        return poll_more(t, now.ms);
    case FAILURE_TOOL_USE:
        return t->once++ ? no : wait_more(t, f, now.jitter);
    case FAILURE_PARAMETER:
        if (t->params & (1u << f->param))
            return no;
        t->params |= 1u << f->param;
        return (struct retry_choice){RETRY_DOWNGRADE, 0};
    case FAILURE_PROTOCOL:
        return f->once ? without_stream(t, f, now) : no;
    case FAILURE_TRUNCATED:
    case FAILURE_EMPTY_RESULT:
        return without_stream(t, f, now);
    default:
        return no;
    }
}

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
