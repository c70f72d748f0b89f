/* cmd_runner.c - "sandpiper runner": the process that holds one sandbox of serve's or mcp's. Not for people:
 * descriptor 0 is a socket to the program that started it (child/runner_child.h).
 */
#include <sys/socket.h>
#include <sys/stat.h>

#include "ask/setup.h"
#include "ask/with.h"
#include "base/mem.h"
#include "engine/engines.h"
#include "json/json.h"
#include "mount/mount.h"
#include "main/command.h"
#include "saved/session.h"
#include "main/fetcher.h"
#include "main/front.h"
#include "child/child_copy.h"
#include "child/runner_ask.h"
#include "process/loop.h"
#include "process/signals.h"
#include "child/runner_child.h"
#include "sandbox/sandbox.h"

static int refuse_user(struct error *err)
{
    return error_set(err, ERROR_USAGE, 0,
                     "\"runner\" is a part of sandpiper serve and sandpiper mcp, which start it themselves\n"
                     "To ask it as a question: sandpiper -p runner");
}

/* Only a name on our own command line is meant for us: one from the environment would be that of all. */
static void take_name(const struct config *c, struct sandbox_options *o)
{
    const struct engine *engine = engines_find(c->sandbox);

    if (config_source(c, &c->sandbox_name)->kind != SOURCE_FLAG || (engine && !engine->named))
        o->run.name = NULL;
}

struct adding {
    struct with *with;
    const struct with_ask *ask;
};

/* What a client wants, if the user has allowed it. */
static int add_packages(void *ctx, struct runner_child *child, const struct json *arguments,
                        struct json **result, struct error *err)
{
    const struct adding *a = ctx;
    struct argv wanted autorelease(argv_release) = ARGV_INIT;
    struct sandbox *s = runner_child_sandbox(child);

    for (const struct json *w = json_first(json_get(arguments, "with")); w; w = json_next(w))
        if (packages_want(&wanted, "with", json_text(w), err) < 0)
            return -1;
    if (packages_allowed(&a->ask->c->front.allow_packages, &wanted, err) < 0
        || !with_add(a->with, a->ask, s, &wanted, err))
        return -1;
    return runner_child_info(child, result, err);
}

/* Packages that a client adds go into /tmp of a sandbox that runs. */
static void widen_tmp(const struct config *c, struct sandbox_options *o)
{
    if (c->front.allow_packages.n && o->run.tmp_size < o->run.memory / 2)
        o->run.tmp_size = o->run.memory / 2;
}

/* One sandbox, from its start to its end. */
static int run_in_session(struct config *c, struct session *session, struct loop *loop,
                          struct runner_child *child, struct error *err)
{
    struct mounts mounts autorelease(mounts_release) = {0};
    struct with with autorelease(with_release) = WITH_INIT;
    struct sandbox_options o;
    bool discard = false;

    setup_sandbox(c, &o);
    widen_tmp(c, &o);
    if (setup_mounts(c, &mounts, err) < 0)
        return -1;
    o.run.mounts = &mounts;
    take_name(c, &o);
    if (o.run.name && sandbox_name_check(o.run.name, err) < 0)
        return -1;
    if (session_next(session, c, err) < 0)
        return -1;
    o.run.late = front_asks_rows();
    o.run.notice = runner_child_notice;
    o.run.weaker = runner_child_weaker;
    o.name_is_ours = true;
    o.up = runner_child_up;
    o.run.notice_ctx = o.ctx = child;
    o.session_dir = session->dir;
    const struct with_ask ask = {
        .c = c, .loop = loop, .notice = runner_child_notice, .ctx = child, .agents = true};
    if (with_get(&with, &ask, &o, err) < 0)
        return -1;
    struct sandbox *s = sandbox_new(&o, loop);
    sandbox_hold_start(s, front_asks_rows()); /* a batch says when */
    struct asker *asker = asker_new(c, session->id);
    struct adding adding = {&with, &ask};
    const struct runner_extra extra[] = {{"ask", asker_run, asker},
                                         {"fetch_file", fetcher_run, c},
                                         {"prepare", prepare_run, c},
                                         {"add_packages", add_packages, &adding},
                                         {0}};
    int status = runner_child_run(child, s, extra, &discard);
    asker_free(asker);
    if (discard)
        sandbox_discard(s);
    sandbox_free(s);
    return status;
}

static int run_sandboxes(struct config *c, struct loop *loop, struct runner_child *child, struct error *err)
{
    struct session session = {0};
    int status;

    do
        status = run_in_session(c, &session, loop, child, err);
    while (status == 0 && runner_child_another(child));
    session_close(&session);
    return status;
}

int cmd_runner(struct config *c, int closed)
{
    struct error err = {0};
    struct stat st;

    if ((closed & 1) || fstat(0, &st) < 0 || !S_ISSOCK(st.st_mode)) {
        refuse_user(&err);
        return print_failure(&err);
    }
    struct loop *loop = loop_new();
    struct runner_child *child = runner_child_new(loop, 0);
    int status = loop_signals(loop, &err) < 0 ? -1 : run_sandboxes(c, loop, child, &err);
    if (status < 0)
        status = print_failure(&err);
    runner_child_free(child);
    loop_free(loop);
    return status;
}
