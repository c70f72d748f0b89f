/* cmd_mcp.c - "sandpiper mcp": the Model Context Protocol over stdin and stdout, for a client that started
 * us. stdout carries messages and nothing else. Nothing here waits: a sandbox is started in the background,
 * and a client that does not read holds up only itself.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/buf.h"
#include "mcp/mcp.h"
#include "mcp/mcp_lines.h"
#include "mcp/mcp_runners.h"
#include "main/command.h"
#include "main/front.h"
#include "packages/packages.h"
#include "process/loop.h"
#include "process/signals.h"
#include "process/out.h"
#include "front/runner.h"
#include "front/runners.h"

#define SANDBOXES 8          /* at once; a client that wants more has to end with some */
#define WAITING   (4u << 20) /* bytes owed to stdout; over it, live output is left out, nothing is read */
#define END_MS    3000       /* that the sandboxes may take to end */

struct stdio {
    struct loop *loop;
    struct runners *runners;
    struct mcp *mcp;
    struct mcp_link *link;
    struct mcp_lines lines;
    struct buf out;
    bool ended;      /* of stdin */
    int write_error; /* errno; EPIPE: the client is gone */
};

static void on_stdout(void *ctx);

static void on_message(void *ctx, const char *text, size_t len)
{
    struct stdio *s = ctx;

    if (text)
        mcp_receive(s->link, text, len);
    else
        mcp_receive_too_long(s->link);
}

static void on_stdin(void *ctx)
{
    struct stdio *s = ctx;
    char piece[65536];
    ssize_t n = read(0, piece, sizeof piece);

    if (n > 0) {
        mcp_lines_feed(&s->lines, piece, (size_t)n);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        mcp_lines_end(&s->lines);
        s->ended = true;
    }
}

/* What we wait for: stdout while we owe something, stdin unless that is much. */
static void watch(struct stdio *s)
{
    loop_watch(s->loop, 1, s->out.len > 0 ? POLLOUT : 0, on_stdout, s);
    if (s->out.len < WAITING)
        loop_watch(s->loop, 0, POLLIN, on_stdin, s);
    else
        loop_unwatch(s->loop, 0);
}

static void write_some(struct stdio *s)
{
    ssize_t n = s->out.len > 0 ? out_write_briefly(1, s->out.data, s->out.len) : 0;

    if (n > 0)
        buf_drop(&s->out, (size_t)n);
    else if (n < 0 && errno != EINTR && errno != EAGAIN)
        s->write_error = errno;
    if (s->out.len == 0 && s->out.alloc > 65536) /* one large figure does not cost its size for good */
        buf_release(&s->out);
}

static void on_stdout(void *ctx)
{
    struct stdio *s = ctx;
    short revents = loop_revents(s->loop);

    if (revents & POLLOUT)
        write_some(s);
    else if (revents & (POLLERR | POLLHUP | POLLNVAL))
        s->write_error = EPIPE;
    watch(s);
}

static void on_send(void *ctx, const char *text, size_t len, const struct mcp_delivery *delivery)
{
    struct stdio *s = ctx;

    if (!text || (!delivery->last && s->out.len >= WAITING))
        return;
    buf_add(&s->out, text, len);
    buf_addch(&s->out, '\n');
    watch(s);
}

static void open_all(struct stdio *s, const struct front *f)
{
    const struct runners_options ro = {
        .loop = s->loop, .starter = f->starter, .max = SANDBOXES, .weaker = print_line};
    s->runners = runners_new(&ro);

    const struct mcp_host host = mcp_runners_host(s->runners);
    const struct mcp_options mo = {
        .host = &host, .packages = &f->set.allow_packages, .languages = &f->set.languages};
    const struct mcp_link_options lo = {.client = "", .conversation = "mcp", .send = on_send, .ctx = s};
    s->mcp = mcp_new(&mo);
    s->link = mcp_open(s->mcp, &lo);
    mcp_lines_init(&s->lines, on_message, s);
}

/* The sandbox's start goes on while the client looks around. If it fails, the first call says why. */
static void start_ahead(struct stdio *s)
{
    struct error err = {0};

    if (!runners_create(s->runners, "", "mcp", &err))
        print_error(&err);
}

static int run_stdio(struct stdio *s)
{
    watch(s);
    while (!s->ended && !s->write_error && !loop_cancelled(s->loop))
        loop_wait(s->loop, -1);
    mcp_close(s->link); /* what runs is interrupted: nobody waits for it any more */
    if (!s->write_error && s->out.len > 0 && out_write(1, s->out.data, s->out.len, s->loop) < 0)
        s->write_error = errno;
    if (loop_cancelled(s->loop))
        return loop_exit_code(s->loop);
    return s->write_error == EPIPE ? 141 : s->write_error ? 1 : 0;
}

static void close_all(struct stdio *s)
{
    loop_unwatch(s->loop, 0);
    loop_unwatch(s->loop, 1);
    mcp_free(s->mcp);
    runners_free(s->runners, true);
    runner_settle(s->loop, END_MS);
    runner_let_go();
    mcp_lines_release(&s->lines);
    buf_release(&s->out);
}

int cmd_mcp(const struct front *f)
{
    struct stdio s = {.loop = loop_new(), .out = BUF_INIT(0)};
    struct error err = {0};

    if (f->closed & 1)
        error_set(&err, ERROR_USAGE, 0, "stdin is closed (<&-), so no client can send anything");
    if (err.kind || packages_allowed(&f->set.allow_packages, NULL, &err) < 0
        || loop_signals(s.loop, &err) < 0) {
        int status = print_failure(&err);

        loop_free(s.loop);
        return status;
    }
    if (isatty(0) && !f->set.quiet)
        print_line("waiting for messages from an MCP client on stdin (sandpiper help mcp)");
    open_all(&s, f);
    start_ahead(&s);
    int status = run_stdio(&s);
    close_all(&s);
    loop_free(s.loop);
    return status;
}
