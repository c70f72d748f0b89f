/* channel.c - read frames, queue and write frames. One read or write per turn of the loop, so that nothing
 * else starves.
 */
#include "channel/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "process/loop.h"

#define READ_SIZE   (256u << 10)
#define SOCKET_SIZE 212992     /* what Linux allows everybody; it allots twice as much */
#define WRITTEN_MAX (1u << 20) /* bytes that may stay in the queue after they were written */

struct channel {
    struct loop *loop;
    int in, out;
    struct channel_listener listener;
    struct frame_reader reader;
    struct buf queue;
    size_t written;    /* how much of the queue */
    const char *fault; /* what a callback objected to, during frame_feed() */
    bool broken;
    bool expects;         /* a descriptor */
    int descriptor;       /* that came; or -1 */
    enum from_guest last; /* the type of the last frame that came whole */
    bool heard;           /* was said since then */
    bool busy, doomed;    /* busy: inside a callback; doomed: freed there */
    char buffer[READ_SIZE];
};

static void serve_channel(void *ctx);

static void watch(struct channel *k)
{
    bool pending = k->queue.len > k->written;

    if (k->broken)
        return;
    if (k->in == k->out) {
        loop_watch(k->loop, k->in, pending ? POLLIN | POLLOUT : POLLIN, serve_channel, k);
    } else {
        loop_watch(k->loop, k->in, POLLIN, serve_channel, k);
        if (pending)
            loop_watch(k->loop, k->out, POLLOUT, serve_channel, k);
        else
            loop_unwatch(k->loop, k->out);
    }
}

static void unwatch(struct channel *k)
{
    loop_unwatch(k->loop, k->in);
    loop_unwatch(k->loop, k->out);
}

static void break_off(struct channel *k, const char *why)
{
    if (k->broken)
        return;
    k->broken = true;
    unwatch(k);
    k->listener.broken(k->listener.ctx, why);
}

static int on_frame(void *ctx, const struct frame *f)
{
    struct channel *k = ctx;

    k->last = f->type;
    k->heard = false;
    if (f->type == FROM_GUEST_HEARD && k->in != k->out)
        return 0;
    k->fault = k->listener.frame(k->listener.ctx, f);
    return k->fault || k->broken;
}

struct channel *channel_new(struct loop *loop, int in, int out, const struct channel_listener *l)
{
    struct channel *k = xmalloc(sizeof *k);

    memset(k, 0, offsetof(struct channel, buffer));
    /* so that the first frame is sent at once; a pipe of a user's own engine has no such option */
    setsockopt(out, SOL_SOCKET, SO_SNDBUF, &(int){SOCKET_SIZE}, sizeof(int));
    k->loop = loop;
    k->in = in;
    k->out = out;
    k->descriptor = -1;
    k->listener = *l;
    frame_reader_init(&k->reader, on_frame, k);
    watch(k);
    return k;
}

void channel_free(struct channel *k)
{
    if (!k)
        return;
    if (!k->broken)
        unwatch(k);
    k->broken = true;
    if (k->busy) {
        k->doomed = true;
        return;
    }
    frame_reader_release(&k->reader);
    buf_release(&k->queue);
    fd_close(&k->descriptor);
    free(k);
}

void channel_expect(struct channel *k)
{
    k->expects = true;
}

int channel_descriptor(struct channel *k)
{
    k->expects = false;
    return fd_steal(&k->descriptor);
}

size_t channel_pending(const struct channel *k)
{
    return k->queue.len - k->written;
}

/* False when the channel is closed. */
static bool flush(struct channel *k)
{
    while (k->written < k->queue.len) {
        ssize_t n = write(k->out, k->queue.data + k->written, k->queue.len - k->written);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        k->written += (size_t)n;
    }
    buf_clear(&k->queue);
    k->written = 0;
    return true;
}

void channel_send(struct channel *k, const struct frame_out *f)
{
    if (k->broken)
        return;
    if (k->written > WRITTEN_MAX) { /* a queue that is filled as fast as it drains is never empty */
        buf_drop(&k->queue, k->written);
        k->written = 0;
    }
    frame_add(&k->queue, f);
    /* A failed write is left to the loop, which sees the hang-up; callers do not expect a callback from
     * here. */
    flush(k);
    watch(k);
}

void channel_order(struct channel *k, enum to_guest type)
{
    channel_send(k, &(struct frame_out){.type = type});
}

int channel_send_fd(struct channel *k, int fd)
{
    if (channel_pending(k)) {
        errno = EAGAIN;
        return -1;
    }
    return fd_send(k->out, "Y", 1, fd) == 1 ? 0 : -1;
}

/* The first descriptor that comes is the one. */
static ssize_t read_with_descriptor(struct channel *k)
{
    ssize_t n = fd_receive(k->in, k->buffer, sizeof k->buffer, MSG_DONTWAIT, &k->descriptor);

    k->expects = k->descriptor < 0;
    return n;
}

/* More is to come: the rest of this frame, or at least the end of the request. */
static void say_heard(struct channel *k)
{
    bool part = k->reader.part.len > 0, over = k->last == FROM_GUEST_END || k->last == FROM_GUEST_HEARD;

    if (k->heard || (over && !part) || channel_pending(k) || k->broken)
        return;
    k->heard = true;
    channel_order(k, TO_GUEST_HEARD);
}

static void receive(struct channel *k)
{
    ssize_t n = k->expects ? read_with_descriptor(k) : read(k->in, k->buffer, sizeof k->buffer);

    if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK))
        return;
    if (n <= 0) {
        break_off(k, "the channel to the sandbox was closed");
        return;
    }
    if (frame_feed(&k->reader, k->buffer, (size_t)n) < 0)
        break_off(k, "the sandbox sent bytes that are not frames");
    else if (k->fault)
        break_off(k, k->fault);
    else if (k->in != k->out)
        say_heard(k);
}

static void serve_channel(void *ctx)
{
    struct channel *k = ctx;
    short revents = loop_revents(k->loop);

    k->busy = true;
    if (revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL))
        receive(k);
    /* POLLERR: nobody reads our end any more. The write says so, or this would be reported again at once. */
    if (!k->broken && revents & (POLLOUT | POLLERR)) {
        if (!flush(k))
            break_off(k, "the channel to the sandbox was closed");
        else
            watch(k);
    }
    k->busy = false;
    if (k->doomed)
        channel_free(k);
}
