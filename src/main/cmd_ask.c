/* cmd_ask.c - a question, a script of questions, or a chat: every command that has a model. Connects the
 * rooms and takes them down in the opposite order. The order matters: the sandbox must be gone before the
 * last event says so.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "main/ask_parts.h"
#include "pipe/pipe.h"
#include "process/loop.h"
#include "sandbox/sandbox.h"
#include "store/store.h"
#include "term/term.h"

/* Files whose path the user has seen must stay on disk. */
static void on_event_of(void *ctx, const struct event *e)
{
    struct ask *a = ctx;

    if ((e->type == EVENT_FILE && !a->session.out_dir)
        || (e->type == EVENT_TOOL_RESULT && e->result.r->output_path))
        session_keep(&a->session);
    if (a->unsent)
        return;
    if (a->saved.store) /* first: what is shown as complete is saved */
        saved_event(&a->saved, e);
    if (a->pipe)
        pipe_event(a->pipe, e);
    else if (a->term)
        term_event(a->term, e);
    /* it has answered, so the model is in memory now */
    if (e->type == EVENT_USAGE && a->known.waits_for_window)
        ask_learn_window(a);
}

/* Every event passes through here. */
static void on_event(void *ctx, const struct event *e)
{
    struct ask *a = ctx;

    if (a->uploads)
        uploads_event(a->uploads, e);
    else
        on_event_of(a, e);
}

/* A copy that the user moved or changed meanwhile is no longer the figure; a link is not followed. */
static int decode(void *ctx, const char *name, const char *path, const struct pixels_ask *ask,
                  struct pixels *out, struct error *err)
{
    struct ask *a = ctx;
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    return fd < 0 ? error_errno(err, "%s", path) : sandbox_pixels(a->sandbox, name, fd, ask, out, err);
}

const struct show_decoder *ask_decoder(struct ask *a)
{
    a->decoder = (struct show_decoder){decode, a};
    return strcmp(a->c->figures, "off") == 0 ? NULL : &a->decoder;
}

void ask_notice(void *ctx, enum notice_level level, const char *line)
{
    struct ask *a = ctx;
    struct event e = {.type = EVENT_NOTICE,
                      .question = a->agent ? agent_question_number(a->agent) : 0,
                      .notice = {level, line}};

    on_event(a, &e);
}

static void on_sandbox_notice(void *ctx, bool detail, const char *line)
{
    ask_notice(ctx, detail ? NOTICE_DETAIL : NOTICE_INFO, line);
}

static void on_sandbox_phase(void *ctx, const struct phase_now *now)
{
    struct ask *a = ctx;
    struct event e = {
        .type = EVENT_PHASE, .question = a->agent ? agent_question_number(a->agent) : 0, .phase = *now};

    on_event(a, &e);
}

/* The sandbox is up. Do not repeat the words that the greeting already had. */
static void on_sandbox_up(void *ctx, const struct sandbox *s)
{
    const struct mounts *m = sandbox_options(s)->run.mounts;
    struct event_mount mounts[MOUNTS_MAX];
    struct ask *a = ctx;
    autofree char *place = sandbox_place(a->sandbox), *python = xstrdup(sandbox_python(a->sandbox));
    struct event e = {.type = EVENT_SANDBOX, .question = a->agent ? agent_question_number(a->agent) : 0};

    e.sandbox.engine = sandbox_engine(s);
    e.sandbox.image = sandbox_image(s);
    e.sandbox.runtime = sandbox_runtime(s);
    e.sandbox.python = python;
    e.sandbox.name = a->c->sandbox_name;
    e.sandbox.mounts = mounts;
    for (; m && e.sandbox.n_mounts < m->n; e.sandbox.n_mounts++) {
        const struct mount *one = &m->v[e.sandbox.n_mounts];

        mounts[e.sandbox.n_mounts] = (struct event_mount){one->path, one->inside, one->write};
    }
    on_event(a, &e);
    if (a->c->json || !place)
        return;
    bool told = a->place && strcmp(a->place, place) == 0;
    autofree char *line = xasprintf("Code runs in %s, Python %s", place, python);
    ask_notice(a, a->term && !told ? NOTICE_INFO : NOTICE_DETAIL, line);
    free(a->place);
    a->place = steal(&place);
}

static const char *question_of(const struct config *c)
{
    return c->prompt ? c->prompt : c->operand_is_stdin ? NULL : c->operand;
}

const char *const *ask_files(const struct config *c)
{
    return c->add.n ? (const char *const *)c->add.v : NULL;
}

/* Find every usage error (exit 2) before anything is started. A chat has nothing to prepare. */
static int open_pipe(struct ask *a, int closed, struct error *err)
{
    const struct config *c = a->c;
    struct pipe_options o = {
        .json = c->json,
        .results = c->json_result,
        .quiet = c->quiet,
        .verbose = c->verbose,
        .reasoning = c->show_reasoning && !c->quiet,
        .usage = c->usage && !c->quiet,
        .color = c->color,
        .render = c->render,
        .prompt = question_of(c),
        .prompt_is_stdin = c->operand_is_stdin,
        .stdin_mode = setup_stdin(c),
        .closed = closed,
        .files = ask_files(c),
        .data_size = c->data_size,
        .decoder = ask_decoder(a),
    };

    a->pipe = pipe_new(&o, a->loop);
    return pipe_prepare(a->pipe, err);
}

static void on_unsent(void *ctx, const char *body)
{
    buf_addstr(ctx, body);
}

/* In a pipe output is the same wherever the program runs. */
static void on_terminal(void *ctx, struct sandbox_terminal *t)
{
    struct ask *a = ctx;

    if (!show_is_terminal(1))
        return;
    t->columns = show_output_width(1);
    t->background = a->term ? term_background(a->term) : a->pipe ? pipe_background(a->pipe) : -1;
}

/* For a second computation: nothing of it is kept or shown, and it has no name. */
static struct sandbox *fresh_sandbox(void *ctx)
{
    struct ask *a = ctx;
    struct sandbox_options so;

    setup_sandbox(a->c, &so);
    so.run.name = NULL;
    so.run.mounts = &a->mounts;
    so.phase = on_sandbox_phase;
    so.ctx = a;
    return sandbox_new(&so, a->loop);
}

static int open_rooms(struct ask *a, struct error *err)
{
    struct sandbox_options so;
    struct agent_options ao;
    struct llm_options lo;
    struct llm_session ls;
    autofree char *kept = xdg_path(XDG_CACHE, "endpoints");

    setup_sandbox(a->c, &so);
    so.session_dir = a->session.dir;
    so.out_dir = a->session.out_dir;
    so.run.mounts = &a->mounts;
    so.run.notice = on_sandbox_notice;
    so.up = on_sandbox_up;
    so.phase = on_sandbox_phase;
    so.terminal = on_terminal;
    so.run.notice_ctx = so.ctx = a;
    a->sandbox = sandbox_new(&so, a->loop);
    if (sandbox_claim(a->sandbox, err) < 0)
        return -1;
    ask_model_options(a, a->model, &lo);
    setup_llm_session(a->c, &ls);
    ls.kept = a->c->replay ? NULL : kept; /* a replay must not change with what was learnt since */
    ask_skip_gone(a, &lo, ls.kept);
    if (loop_cancelled(a->loop))
        return error_set(err, ERROR_CANCELLED, 0, "interrupted");
    ls.agent = a->agents.pipeline.n > 1 ? a->prompts->role : NULL;
    ls.trace = a->c->trace;
    ls.record = a->c->record;
    ls.replay = a->c->replay;
    ls.gone = ask_model_gone;
    ls.gone_ctx = a;
    if (a->c->replay) {
        lo.api = a->replay_api;
        lo.dialect = a->replay_blocks ? LLM_BLOCKS : lo.dialect == LLM_BLOCKS ? LLM_NATIVE : lo.dialect;
    }
    ls.unsent = a->unsent ? on_unsent : NULL;
    ls.unsent_ctx = a->unsent;
    a->llm = llm_new(&lo, &ls, a->loop, err);
    if (!a->llm)
        return -1;
    setup_agent(a->c, &ao);
    ao.memory = sandbox_options(a->sandbox)->run.memory; /* that of a named sandbox that already runs */
    ao.data_size = sandbox_options(a->sandbox)->run.data_size;
    ao.prompts = a->prompts;
    ao.chat = a->chat;
    const struct agent_rooms rooms = {
        a->llm, a->sandbox, &a->conversation, a->loop, on_event, a, fresh_sandbox, NULL, NULL};
    const struct agents_work work = {&ao, &ls, &rooms};
    a->agent = agents_open(a, &work, err);
    return a->agent ? 0 : -1;
}

/* A chat has them in its greeting. */
static void tell_mounts(struct ask *a)
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

static void begin(struct ask *a)
{
    struct event e = {.type = EVENT_SESSION};

    e.session.id = a->session.id;
    e.session.model = a->model;
    e.session.provider = a->endpoint.provider;
    e.session.endpoint = a->endpoint.base_url;
    e.session.engine = sandbox_engine(a->sandbox);
    e.session.version = VERSION;
    a->begun = true;
    on_event(a, &e);
    if (a->c->quiet && !a->c->json) /* a quiet stderr has no room for notices, except this one */
        print_notices(a->c);
    for (size_t i = 0; i < a->c->notices.n; i++)
        ask_notice(a, NOTICE_WARNING, a->c->notices.v[i]);
    if (a->session.dir_lost)
        ask_notice(a, NOTICE_WARNING, a->session.dir_lost);
    if (a->c->said)
        ask_notice(a, NOTICE_WARNING, a->c->said);
    if (a->found)
        ask_notice(a, NOTICE_INFO, a->found);
    tell_mounts(a);
    ask_tell_known(a);
    if (a->endpoint.unbound)
        ask_notice(a, NOTICE_DETAIL, a->endpoint.unbound);
}

static void end(struct ask *a, int status)
{
    struct event e = {.type = EVENT_SESSION_END, .session_end = {status}};

    e.question = a->agent ? agent_question_number(a->agent) : 0;
    agent_free(a->agent);
    a->agent = NULL;
    agents_end(&a->agents);
    sandbox_free(a->sandbox);
    a->sandbox = NULL;
    autofree char *lost = session_cache_lost(&a->session);
    if (lost)
        ask_notice(a, NOTICE_WARNING, lost);
    on_event(a, &e);
}

static int ask(struct ask *a, int closed, struct error *err)
{
    int status;

    if (a->c->command == COMMAND_CHAT && !a->chat)
        return error_set(err, ERROR_USAGE, 0,
                         "a chat needs a terminal for input and output%s\n"
                         "To ask one question: sandpiper \"QUESTION\"",
                         a->c->json ? ", and has no --json" : "");
    if (saved_find(&a->saved, err) < 0 || setup_name_check(a->c, err) < 0
        || setup_mounts(a->c, &a->mounts, err) < 0)
        return -1;
    if (config_check_ca_cert(a->c, err) < 0)
        return -1;
    if (!a->chat && open_pipe(a, closed, err) < 0)
        return -1;
    if (ask_choose_model(a, err) < 0
        || (a->unsent ? session_open(&a->session, a->c, NULL, err) : saved_open(&a->saved, err)) < 0)
        return -1;
    if (uploads_new(a, on_event_of, err) < 0)
        return -1;
    if (open_rooms(a, err) < 0 || (a->chat && ask_open_chat(a, err) < 0))
        return -1;
    begin(a);
    if (!a->unsent && saved_continue(&a->saved, a->sandbox, a->agent, a->chat, err) < 0)
        return -1;
    if (a->chat)
        sandbox_start(a->sandbox); /* it will be up by the time the first question is typed */
    status = a->chat ? term_run(a->term, a->agent) : pipe_run(a->pipe, a->agent);
    if (status == 0 && uploads_failed(a->uploads))
        status = 1;
    end(a, status);
    return status;
}

static void release(struct ask *a)
{
    agent_free(a->agent);
    agents_end(&a->agents);
    sandbox_free(a->sandbox);
    mounts_release(&a->mounts);
    llm_free(a->llm);
    saved_release(&a->saved);
    conversation_release(&a->conversation);
    pipe_free(a->pipe);
    term_free(a->term);
    session_close(&a->session);
    agents_release(&a->agents);
    endpoint_release(&a->endpoint);
    argv_release(&a->known.notices);
    argv_release(&a->names);
    free(a->model);
    free(a->found);
    free(a->place);
    uploads_free(a->uploads);
    loop_free(a->loop);
}

static int run(struct config *c, int closed, struct buf *unsent)
{
    struct ask a = {.c = c, .unsent = unsent};
    struct error err = {0};
    int status = -1;

    a.chat = !question_of(c) && !c->operand_is_stdin && !c->json && !(closed & 3) && isatty(0) && isatty(1);
    conversation_init(&a.conversation);
    a.loop = loop_new();
    a.saved = (struct saved){c, a.loop, &a.session, &a.conversation, ask_notice, &a, NULL, NULL, false};
    a.service = (struct service){c, &a.endpoint, a.loop, a.chat};
    a.known.waits_for_prompt = a.chat;
    c->ask = ask_about_folder;
    c->ask_ctx = a.loop;
    if (loop_signals(a.loop, &err) == 0)
        status = ask(&a, closed, &err);
    if (status < 0) {
        status = err.kind == ERROR_CANCELLED ? (loop_fatal(a.loop) ? 143 : 130) : error_exit_code(&err);
        if (a.term)
            term_free(steal(&a.term)); /* restore the terminal's modes before printing */
        if (!a.begun)
            print_notices(c);
        if (err.kind != ERROR_CANCELLED)
            print_error(&err);
    }
    release(&a);
    return status;
}

int cmd_ask(struct config *c, int closed)
{
    int status;

    do {
        c->again = false;
        status = run(c, closed, NULL);
    } while (c->again);
    return status;
}

/* Goes the whole way of a question up to sending, so that it prints what would be sent. */
int cmd_debug_request(struct config *c, int closed)
{
    struct buf body autorelease(buf_release) = BUF_INIT(0);
    int status = run(c, closed, &body);

    if (!body.len)
        return status ? status : 1;
    buf_addch(&body, '\n');
    return print_json(buf_str(&body), body.len);
}
