/* channel.h - the connection to one supervisor: sends and receives frames from the loop; neither side ever
 * waits for the other.
 *
 * Any fault of the peer (end, garbage, a length over the cap, a frame that the listener refuses) closes the
 * connection and calls broken() once, with a line that names the fault. It never ends the program.
 *
 * Where the channel is a client's stdin and stdout (in and out differ), each side says HEARD, once a frame,
 * when it waits for more. srun cuts what it carries into pieces of 1,024 bytes, and TCP holds the second one
 * back until the first is acknowledged, which takes 40 ms unless something is sent the other way.
 */
#ifndef CHANNEL_CHANNEL_H
#define CHANNEL_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "channel/frame.h"

struct channel;
struct loop;

struct channel_listener {
    void *ctx;
    /* Returns NULL, or one line that says what is wrong with the frame: the connection is then closed. */
    const char *(*frame)(void *ctx, const struct frame *f);
    void (*broken)(void *ctx, const char *why); /* may free the channel */
};

/* in and out are borrowed; they must be non-blocking, and may be the same. */
struct channel *channel_new(struct loop *loop, int in, int out, const struct channel_listener *l);
void channel_free(struct channel *k); /* may be called from within its callbacks */
void channel_send(struct channel *k, const struct frame_out *f);
/* A descriptor may come with the bytes that are read next; where none is expected, the kernel closes
 * it. */
void channel_expect(struct channel *k);
int channel_descriptor(struct channel *k); /* the one that came, which the caller then owns; -1: none did */
/* Send a frame that has no body and belongs to no request. */
void channel_order(struct channel *k, enum to_guest type);
/* Send a descriptor with one byte, which is no part of a frame: the supervisor has said that it waits for it.
 * -1 with errno: the channel is no socket, or it takes nothing at present. */
int channel_send_fd(struct channel *k, int fd);
/* Bytes queued but not yet written. A caller that sends much must watch it, because the queue is not
 * limited. */
size_t channel_pending(const struct channel *k);

#endif
