/* channel.h - the connection to one supervisor: frames over the loop, neither side ever waiting for the
 * other.
 *
 * Whatever is wrong with the peer (end, garbage, a length over the cap, a frame its listener refuses) ends
 * the connection, once, through broken(), with a line that says what. It never ends the program.
 */
#ifndef SANDBOX_CHANNEL_H
#define SANDBOX_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "sandbox/frame.h"

struct channel;
struct loop;

struct channel_listener {
    void *ctx;
    /* NULL: fine; else what is wrong with it: the connection ends */
    const char *(*frame)(void *ctx, const struct frame *f);
    void (*broken)(void *ctx, const char *why); /* may free it */
};

/* in and out are borrowed, non-blocking, perhaps the same. */
struct channel *channel_new(struct loop *loop, int in, int out, const struct channel_listener *l);
void channel_free(struct channel *k); /* also from within its callbacks */
void channel_send(struct channel *k, const struct frame_out *f);
/* The same for a frame without a body, which belongs to no request. */
void channel_order(struct channel *k, enum to_guest type);
/* bytes not taken by the channel yet; who sends much looks at it */
size_t channel_pending(const struct channel *k);

#endif
