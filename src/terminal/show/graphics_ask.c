/* graphics_ask.c - asks the controlling terminal and reads its replies, for a program that reads no keys.
 *
 * A reply that comes late would be echoed, and then be taken for something typed. So the terminal does not
 * echo until the last reply has come, or until graphics_ask_end() has waited for it once more.
 */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "process/foreground.h"
#include "process/loop.h"
#include "process/signals.h"
#include "process/out.h"
#include "show/graphics.h"

#define LATE_MS 1000 /* after this a terminal is taken not to answer at all */

static struct { /* there is one controlling terminal, so there is no handle */
    int fd;     /* -1: nothing is outstanding */
    int64_t asked;
    bool ending; /* nothing more is asked */
    struct termios before;
} tty = {.fd = -1};

static void set(const struct termios *t)
{
    if (!in_background(tty.fd))
        tcsetattr(tty.fd, TCSANOW, t);
}

static void set_modes(bool canonical)
{
    struct termios t = tty.before;

    t.c_lflag &= ~(tcflag_t)(canonical ? ECHO : ECHO | ICANON);
    t.c_cc[VMIN] = canonical ? t.c_cc[VMIN] : 0;
    t.c_cc[VTIME] = canonical ? t.c_cc[VTIME] : 0;
    set(&t);
}

static void close_tty(void)
{
    set(&tty.before);
    fd_close(&tty.fd);
}

static void send_query(const struct buf *query, struct loop *loop)
{
    if (!query->len)
        return;
    tty.asked = clock_ms();
    out_write(tty.fd, query->data, query->len, loop);
}

/* A reply may lead to one more query. */
static void take_reply(struct graphics *g, const char *reply, size_t len, struct loop *loop)
{
    struct buf query autorelease(buf_release) = BUF_INIT(0);

    graphics_reply(g, reply, len);
    if (!tty.ending)
        graphics_query(g, &query);
    send_query(&query, loop);
}

/* Read until the last reply, or ms after the last query. What is no reply was typed too early, and is
 * dropped. */
static void listen_for(struct graphics *g, struct loop *loop, int ms)
{
    struct buf in autorelease(buf_release) = BUF_INIT(4 * REPLY_MAX);
    char bytes[256];
    int64_t left;
    ssize_t n;

    set_modes(false);
    while (!g->answered && !(loop && loop_check(loop)) && (left = tty.asked + ms - clock_ms()) > 0) {
        loop_poll(loop, tty.fd, POLLIN, (int)left);
        n = read(tty.fd, bytes, sizeof bytes);
        if (n > 0)
            buf_add(&in, bytes, (size_t)n);
        for (int len; in.len && (len = reply_length(in.data, in.len)) >= 0;
             buf_drop(&in, len ? (size_t)len : 1))
            if (len)
                take_reply(g, in.data, (size_t)len, loop);
    }
    if (g->answered)
        close_tty();
    else
        set_modes(true);
}

void graphics_ask(struct graphics *g, struct loop *loop)
{
    struct buf query autorelease(buf_release) = BUF_INIT(0);

    if (g->asked)
        return;
    graphics_query(g, &query);
    g->asked = true;
    if (!query.len)
        return;
    tty.fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (tty.fd < 0)
        return;
    if (in_background(tty.fd) || tcgetattr(tty.fd, &tty.before) < 0) {
        fd_close(&tty.fd);
        return;
    }
    set_modes(false);
    send_query(&query, loop);
    listen_for(g, loop, GRAPHICS_MS);
}

void graphics_ask_end(struct graphics *g, struct loop *loop)
{
    if (tty.fd < 0)
        return;
    tty.ending = true;
    if (!in_background(tty.fd)) /* where a read would stop us too */
        listen_for(g, loop, LATE_MS);
    if (tty.fd >= 0)
        close_tty();
}
