/* cmd_fork.c - "sandpiper fork NAME NEW": a named sandbox goes on from a live copy of another.
 */
#include "ask/setup.h"
#include "base/buf.h"
#include "base/mem.h"
#include "main/command.h"
#include "process/loop.h"
#include "process/signals.h"
#include "sandbox/sandbox.h"

static void on_fork_notice(void *ctx, bool detail, const char *line)
{
    const struct config *c = ctx;

    if (!c->front.quiet && (!detail || c->front.verbose))
        print_line(line);
}

static int fork_named(struct config *c, struct loop *loop, struct error *err)
{
    const struct sandbox_names names = {c->args.names.v[0], c->args.names.v[1]};
    struct sandbox_options o;

    setup_sandbox(c, &o);
    o.run.engine = "auto"; /* all as the first one has it */
    o.run.runtime = NULL;
    o.run.asked = 0;
    o.run.notice = on_fork_notice;
    o.run.notice_ctx = c;
    return loop_signals(loop, err) < 0 ? -1 : sandbox_fork(&names, &o, loop, err);
}

int cmd_fork(struct config *c, int closed)
{
    struct loop *loop = loop_new();
    struct buf line autorelease(buf_release) = BUF_INIT(0);
    struct error err = {0};

    (void)closed;
    print_notices(c);
    int status = fork_named(c, loop, &err);
    if (status < 0)
        status = err.kind == ERROR_CANCELLED ? loop_exit_code(loop) : print_failure(&err);
    else {
        buf_addf(&line, "%s goes on from a copy of %s\n", c->args.names.v[1], c->args.names.v[0]);
        status = print_out(buf_str(&line), line.len);
    }
    loop_free(loop);
    return status;
}
