/* ask_open.c - opens and closes what asks questions, in the order that this needs, and passes the events on
 * to who listens.
 */
#include <string.h>

#include "ask/setup.h"
#include "base/file.h"
#include "base/mem.h"
#include "config/config.h"
#include "mount/mount.h"
#include "ask/ask.h"
#include "process/signals.h"
#include "sandbox/sandbox.h"

void ask_init(struct ask *a, struct config *c, struct loop *loop)
{
    *a = (struct ask){.c = c, .loop = loop};
    conversation_init(&a->conversation);
    a->service = (struct service){c, &a->endpoint, loop, false};
}

void ask_event(void *ask, const struct event *e)
{
    struct ask *a = ask;

    if (a->uploads)
        uploads_event(a->uploads, e);
    else
        a->listener.event(a->listener.ctx, e);
    /* it has answered, so the model is in memory now */
    if (e->type == EVENT_USAGE && a->known.waits_for_window)
        ask_learn_window(a);
}

static unsigned number_of(const struct ask *a)
{
    return a->agent ? agent_question_number(a->agent) : 0;
}

void ask_notice(void *ask, enum notice_level level, const char *line)
{
    struct event e = {.type = EVENT_NOTICE, .question = number_of(ask), .notice = {level, line}};

    ask_event(ask, &e);
}

static void on_sandbox_notice(void *ask, bool detail, const char *line)
{
    ask_notice(ask, detail ? NOTICE_DETAIL : NOTICE_INFO, line);
}

static void on_sandbox_phase(void *ask, const struct phase_now *now)
{
    struct event e = {.type = EVENT_PHASE, .question = number_of(ask), .phase = *now};

    ask_event(ask, &e);
}

static void on_sandbox_up(void *ask, const struct sandbox *s)
{
    struct ask *a = ask;
    const struct mounts *m = sandbox_options(s)->run.mounts;
    struct event_mount mounts[MOUNTS_MAX];
    autofree char *python = xstrdup(sandbox_python(a->sandbox));
    struct event e = {.type = EVENT_SANDBOX,
                      .question = number_of(a),
                      .sandbox = {.engine = sandbox_engine(s),
                                  .image = sandbox_image(s),
                                  .runtime = sandbox_runtime(s),
                                  .python = python,
                                  .name = a->c->sandbox_name,
                                  .lock = sandbox_options(s)->with_lock,
                                  .hosts = sandbox_options(s)->hosts,
                                  .mounts = mounts,
                                  .n_mounts = m ? m->n : 0}};

    for (size_t i = 0; i < e.sandbox.n_mounts; i++)
        mounts[i] = (struct event_mount){m->v[i].path, m->v[i].inside, m->v[i].write};
    ask_event(a, &e);
}

static void on_terminal(void *ask, struct sandbox_terminal *terminal)
{
    const struct ask *a = ask;

    a->listener.terminal(a->listener.ctx, terminal);
}

static void on_code_request(void *ask, const struct network_request *r)
{
    struct ask *a = ask;
    struct event e = {.type = EVENT_NETWORK, .question = number_of(a), .network = *r};

    network_count_add(&a->requests, r);
    ask_event(a, &e);
}

void ask_sandbox_options(struct ask *a, struct sandbox_options *o)
{
    setup_sandbox(a->c, o);
    o->run.notice = on_sandbox_notice;
    o->up = on_sandbox_up;
    o->phase = on_sandbox_phase;
    o->on_network = on_code_request;
    o->terminal = on_terminal;
    o->run.notice_ctx = o->ctx = a;
}

/* For a second computation: nothing of it is kept or shown, and it has no name. */
static struct sandbox *fresh_sandbox(void *ctx)
{
    struct ask *a = ctx;
    struct sandbox_options so;

    setup_sandbox(a->c, &so);
    so.run.name = NULL;
    so.run.mounts = sandbox_options(a->sandbox)->run.mounts;
    so.run.packages = sandbox_options(a->sandbox)->run.packages;
    so.with = sandbox_options(a->sandbox)->with;
    so.phase = on_sandbox_phase;
    so.network = sandbox_options(a->sandbox)->network;
    so.run.no_proxy = sandbox_options(a->sandbox)->run.no_proxy;
    so.hosts = sandbox_options(a->sandbox)->hosts;
    so.on_network = on_code_request;
    so.ctx = a;
    struct sandbox *s = sandbox_new(&so, a->loop);
    sandbox_share_packages(s, a->sandbox);
    return s;
}

static int on_install(void *ask, const char *names, char **told, struct error *err)
{
    const struct ask *a = ask;

    return a->listener.install(a->listener.ctx, names, told, err);
}

static void on_unsent(void *ctx, const char *body)
{
    buf_addstr(ctx, body);
}

static void model_session(struct ask *a, const char *kept, struct llm_session *s)
{
    setup_llm_session(a->c, s);
    s->kept = a->c->replay ? NULL : kept; /* a replay must not change with what was learnt since */
    s->agent = a->agents.pipeline.n > 1 ? a->prompts->role : NULL;
    s->trace = a->c->trace;
    s->record = a->c->record;
    s->replay = a->c->replay;
    s->gone = ask_model_gone;
    s->gone_ctx = a;
    s->unsent = a->unsent ? on_unsent : NULL;
    s->unsent_ctx = a->unsent;
}

static int open_model(struct ask *a, const struct llm_session *s, struct error *err)
{
    struct llm_options o;

    ask_model_options(a, a->model, &o);
    ask_skip_gone(a, &o, s->kept);
    if (loop_cancelled(a->loop))
        return error_set(err, ERROR_CANCELLED, 0, "interrupted");
    if (a->c->replay) {
        o.api = a->replayed.api;
        o.facts.dialect = a->replayed.blocks                  ? DIALECT_BLOCKS
                          : o.facts.dialect == DIALECT_BLOCKS ? DIALECT_NATIVE
                                                              : o.facts.dialect;
    }
    a->llm = llm_new(&o, s, a->loop, err);
    return a->llm ? 0 : -1;
}

int ask_open(struct ask *a, struct error *err)
{
    struct agent_options ao;
    struct llm_session ls;
    autofree char *kept = xdg_path(XDG_CACHE, "endpoints");

    a->service.chat = a->chat;
    if (uploads_new(a, err) < 0)
        return -1;
    model_session(a, kept, &ls);
    if (open_model(a, &ls, err) < 0)
        return -1;
    setup_agent(a->c, &ao);
    ao.memory = sandbox_options(a->sandbox)->run.memory; /* that of a named sandbox that already runs */
    ao.data_size = sandbox_options(a->sandbox)->run.data_size;
    ao.prompts = a->prompts;
    ao.chat = a->chat;
    const struct agent_deps deps = {.llm = a->llm,
                                    .sandbox = a->sandbox,
                                    .conversation = &a->conversation,
                                    .loop = a->loop,
                                    .event = ask_event,
                                    .event_ctx = a,
                                    .new_sandbox = fresh_sandbox,
                                    .install = a->listener.install ? on_install : NULL};
    const struct agents_work work = {&ao, &ls, &deps};
    a->agent = agents_open(a, &work, err);
    return a->agent ? 0 : -1;
}

void ask_begin(struct ask *a)
{
    struct event e = {.type = EVENT_SESSION,
                      .session = {.id = a->session,
                                  .model = a->model,
                                  .provider = a->endpoint.provider,
                                  .endpoint = a->endpoint.base_url,
                                  .sandbox = a->c->sandbox,
                                  .version = VERSION}};

    ask_event(a, &e);
}

void ask_tell_model(struct ask *a)
{
    if (a->found)
        ask_notice(a, NOTICE_INFO, a->found);
    ask_tell_known(a);
    if (a->endpoint.unbound)
        ask_notice(a, NOTICE_DETAIL, a->endpoint.unbound);
}

/* The greeting of a chat has shown the folders already. */
void ask_tell_mounts(struct ask *a)
{
    const struct mounts *m = sandbox_options(a->sandbox)->run.mounts;

    for (size_t i = 0; m && i < m->n; i++) {
        autofree char *line = mount_line(&m->v[i]), *unseen = mount_unseen(&m->v[i]);

        if (!a->chat)
            ask_notice(a, NOTICE_INFO, line);
        if (unseen)
            ask_notice(a, NOTICE_WARNING, unseen);
    }
}

void ask_end(struct ask *a)
{
    agent_free(a->agent);
    a->agent = NULL;
    agents_end(&a->agents);
}

void ask_release(struct ask *a)
{
    ask_end(a);
    llm_free(a->llm);
    conversation_release(&a->conversation);
    agents_release(&a->agents);
    endpoint_release(&a->endpoint);
    argv_release(&a->known.notices);
    free(a->model);
    free(a->found);
    uploads_free(a->uploads);
}
