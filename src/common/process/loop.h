/* loop.h - the program's poll loop. Code is written in a straight line; while it waits, the loop calls the
 * callbacks of other descriptors (the sandbox that is starting, the signal pipe) and of timers.
 *
 *     while (!done && !loop_cancelled(loop))
 *         loop_wait(loop, -1);
 *
 * No threads. What signals ask for is in signals.h.
 */
#ifndef PROCESS_LOOP_H
#define PROCESS_LOOP_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct loop;

/* A callback of a watch or a timer. It may add and remove watches and timers, including its own. */
typedef void loop_fn(void *ctx);

struct loop *loop_new(void);
void loop_free(struct loop *l);

/* Serve fd (not owned) when one of events (POLLIN, POLLOUT) or an error shows. Calling again changes it.
 * With events 0 only errors and hang-up are reported. */
void loop_watch(struct loop *l, int fd, short events, loop_fn *fn, void *ctx);
/* For the callback of a watch: the revents of its descriptor, as poll(2) has them. They are those of another
 * descriptor once the callback has served the loop itself. */
short loop_revents(const struct loop *l);
void loop_unwatch(struct loop *l, int fd); /* unknown fd: nothing happens */

/* One timer per ctx: fn(ctx) once, at clock_ms() >= at_ms. Setting again moves it. */
void loop_timer(struct loop *l, int64_t at_ms, loop_fn *fn, void *ctx);
/* The same for a limit that must hold whatever else is under way: fn(ctx) comes also while a callback
 * waits in loop_poll() for a reader. Then (loop_blocked()) it may only note something, or send what need
 * not wait. */
void loop_deadline(struct loop *l, int64_t at_ms, loop_fn *fn, void *ctx);
bool loop_blocked(const struct loop *l);
void loop_timer_stop(struct loop *l, void *ctx); /* of either kind */

/* Wait until something was served or timeout_ms passed (-1: no limit), and serve it. Returns the number
 * served. */
int loop_wait(struct loop *l, int timeout_ms);

/* An answer is expected at once. For the next 0.2 ms loop_wait asks again and again instead of sleeping,
 * where a second processor can be at work on the answer: to put a processor to sleep and to wake it costs
 * more than a short cell. */
void loop_expect(struct loop *l);

/* For a waiter with a poll of its own (curl_multi_poll): take the descriptors, poll, hand the result back.
 * loop_fds gives an array, which the caller frees, with room for first entries of its own in front; *n: of
 * all entries. loop_timeout is timeout_ms cut to the next timer. */
struct pollfd *loop_fds(const struct loop *l, size_t first, size_t *n);
int loop_timeout(const struct loop *l, int timeout_ms);
int loop_serve(struct loop *l, const struct pollfd *fds, size_t n);

/* For a callback that must wait: until fd shows one of events or an error, a signal comes, or ms have passed.
 * Serves deadlines and nothing else; may return early; l may be NULL. */
void loop_poll(struct loop *l, int fd, short events, int ms);

#endif
