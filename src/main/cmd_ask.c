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
#include "base/loop.h"
#include "base/mem.h"
#include "llm/llm.h"
#include "llm/replay.h"
#include "main/command.h"
#include "pipe/pipe.h"
#include "sandbox/sandbox.h"
#include "show/show.h"
#include "store/store.h"
#include "term/term.h"

struct ask {
    struct config *c;
    struct loop *loop;
    struct endpoint endpoint;
    struct service service; /* points at members of this struct; for model.c and known.c */
    struct known known;
    struct argv names;   /* of models, for Tab in the chat */
    char *model, *found; /* found: one line if the model was found rather than named */
    struct agents agents;
    const struct prompts *prompts; /* of the agent that answers */
    struct session session;
    struct sandbox *sandbox;
    struct llm *llm;
    struct conversation conversation;
    struct saved saved; /* points at members of this struct */
    struct agent *agent;
    bool chat;
    struct pipe *pipe; /* either this or the chat below */
    struct term *term;
    bool begun;              /* the session event was sent: later errors are sent as events too */
    enum llm_api replay_api; /* the API that the replayed session used */
    bool replay_blocks;
    char *place; /* where code runs, as shown to the user; or NULL */
    struct show_decoder decoder;
    struct buf *unsent; /* for debug request: receives the body; nothing is sent or shown; or NULL */
};

static void learn_window(struct ask *a);

/* Every event passes through here. Files whose path the user has seen must stay on disk. */
static void on_event(void *ctx, const struct event *e)
{
    struct ask *a = ctx;

    if ((e->type == EVENT_FILE && !a->session.out_dir)
        || (e->type == EVENT_TOOL_RESULT && e->result.r->output_path))
        session_keep(&a->session);
    if (a->unsent)
        return;
    if (a->saved.store) /* first: what is shown as complete is saved */
        store_event(a->saved.store, e);
    if (a->pipe)
        pipe_event(a->pipe, e);
    else if (a->term)
        term_event(a->term, e);
    /* it has answered, so the model is in memory now */
    if (e->type == EVENT_USAGE && a->known.waits_for_window)
        learn_window(a);
}

/* A copy that the user moved or changed meanwhile is no longer the figure; a link is not followed. */
static int decode(void *ctx, const char *name, const char *path, const struct pixels_ask *ask,
                  struct pixels *out, struct error *err)
{
    struct ask *a = ctx;
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    return fd < 0 ? error_errno(err, "%s", path) : sandbox_pixels(a->sandbox, name, fd, ask, out, err);
}

static const struct show_decoder *decoder_of(struct ask *a)
{
    a->decoder = (struct show_decoder){decode, a};
    return strcmp(a->c->figures, "off") == 0 ? NULL : &a->decoder;
}

static void notice(void *ctx, enum notice_level level, const char *line)
{
    struct ask *a = ctx;
    struct event e = {.type = EVENT_NOTICE,
                      .question = a->agent ? agent_question_number(a->agent) : 0,
                      .notice = {level, line}};

    on_event(a, &e);
}

/* Show once what the service said of its model that the user should know. */
static void tell_known(struct ask *a)
{
    for (size_t i = 0; i < a->known.notices.n; i++)
        notice(a, NOTICE_WARNING, a->known.notices.v[i]);
    argv_release(&a->known.notices);
}

static void learn_window(struct ask *a)
{
    int window = known_window(&a->endpoint, llm_model(a->llm), &a->known);

    if (window > 0)
        llm_set_context(a->llm, window);
    tell_known(a);
}

static void on_sandbox_notice(void *ctx, bool detail, const char *line)
{
    notice(ctx, detail ? NOTICE_DETAIL : NOTICE_INFO, line);
}

static void on_sandbox_phase(void *ctx, enum phase phase)
{
    struct ask *a = ctx;
    struct event e = {.type = EVENT_PHASE,
                      .question = a->agent ? agent_question_number(a->agent) : 0,
                      .phase = {.phase = phase}};

    on_event(a, &e);
}

/* The sandbox is up. Do not repeat the words that the greeting already had. */
static void on_sandbox_up(void *ctx, const struct sandbox *s)
{
    struct ask *a = ctx;
    autofree char *place = sandbox_place(a->sandbox), *python = xstrdup(sandbox_python(a->sandbox));
    struct event e = {.type = EVENT_SANDBOX, .question = a->agent ? agent_question_number(a->agent) : 0};

    e.sandbox.engine = sandbox_engine(s);
    e.sandbox.image = sandbox_image(s);
    e.sandbox.runtime = sandbox_runtime(s);
    e.sandbox.python = python;
    e.sandbox.name = a->c->sandbox_name;
    on_event(a, &e);
    if (a->c->json || !place)
        return;
    bool told = a->place && strcmp(a->place, place) == 0;
    autofree char *line = xasprintf("Code runs in %s, Python %s", place, python);
    notice(a, a->term && !told ? NOTICE_INFO : NOTICE_DETAIL, line);
    free(a->place);
    a->place = steal(&place);
}

/* The user's word goes before the agent's definition. */
static const char *effort_of(const struct ask *a)
{
    return a->c->reasoning_effort ? a->c->reasoning_effort : a->prompts->reasoning_effort;
}

/* All options for one model at our endpoint, for the chat or the command line. */
static void model_options(struct ask *a, const char *model, struct llm_options *o)
{
    setup_llm(a->c, &a->endpoint, model, o);
    known_apply(&a->service, o, &a->known);
    o->reasoning_effort = effort_of(a);
    o->chat = a->chat;
}

static bool model_gone(void *ctx, const char *model, struct llm_options *next, char advice[LLM_ADVICE])
{
    struct ask *a = ctx;
    const char *name = model_after(&a->service, model, advice, LLM_ADVICE);

    char near[LLM_ADVICE - 50];

    if (name)
        model_options(a, name, next);
    else if (!*advice && known_nearest(&a->service, model, near, sizeof near))
        snprintf(advice, LLM_ADVICE, "Did you mean: %s %s", a->chat ? "/model" : "-m", near);
    return name != NULL;
}

/* "/model NAME" in the chat. */
static int change_model(void *ctx, const char *name, const char **now, struct error *err)
{
    struct ask *a = ctx;
    struct llm_options o;

    if (!name) {
        *now = llm_model(a->llm);
        return 0;
    }
    size_t len = strlen(name);

    while (len && name[len - 1] == ' ') /* Tab leaves a blank behind */
        len--;
    autofree char *trimmed = xmemdup0(name, len);
    a->endpoint.models = NULL; /* the user has named one, so there is no fallback */
    model_options(a, trimmed, &o);
    if (llm_reconfigure(a->llm, &o, err) < 0)
        return -1;
    *now = llm_model(a->llm);
    tell_known(a);
    int listed = known_listed(&a->endpoint, *now);
    return listed < 0 ? TERM_MODEL_UNCHECKED : listed ? TERM_MODEL_LISTED : TERM_MODEL_UNLISTED;
}

/* "/timeout TIME" in the chat. */
static int cell_time(void *ctx, const char *text, int64_t *ms, struct error *err)
{
    struct ask *a = ctx;
    const struct setting s = {option_by_flag("timeout", 7), text, "/timeout", {SOURCE_FLAG, 0, "/timeout"}};

    if (text && config_set(a->c, &s, err) < 0)
        return -1;
    *ms = a->c->timeout;
    sandbox_set_cell_time(a->sandbox, (int)*ms);
    agent_set_cell_time(a->agent, *ms);
    return 0;
}

/* Tab after "/model ". The user is waiting for it, so if no list is cached the service is asked. */
static const char *const *model_names(void *ctx)
{
    struct ask *a = ctx;

    argv_release(&a->names);
    known_names(&a->endpoint, &a->names);
    return a->names.n ? (const char *const *)a->names.v : NULL;
}

static const char *question_of(const struct config *c)
{
    return c->prompt ? c->prompt : c->operand_is_stdin ? NULL : c->operand;
}

static const char *const *files_of(const struct config *c)
{
    return c->add.n ? (const char *const *)c->add.v : NULL;
}

/* Find every usage error (exit 2) before anything is started. A chat has nothing to prepare. */
static int open_pipe(struct ask *a, int closed, struct error *err)
{
    const struct config *c = a->c;
    struct pipe_options o = {
        .json = c->json,
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
        .files = files_of(c),
        .data_size = c->data_size,
        .decoder = decoder_of(a),
    };

    a->pipe = pipe_new(&o, a->loop);
    return pipe_prepare(a->pipe, err);
}

static int open_term(struct ask *a, struct error *err)
{
    const struct config *c = a->c;
    autofree char *history = xdg_path(XDG_STATE, "history");
    if (history && a->session.dir_lost && access(history, W_OK) < 0)
        free(steal(&history)); /* the error was already shown */
    a->place = sandbox_place(a->sandbox);
    autofree char *greeting = xasprintf(
        "sandpiper " VERSION ": %s at %s\n%s%s%s/help lists the commands, Ctrl-D ends.", a->model,
        endpoint_title(&a->endpoint), a->place ? "Code runs in " : "", a->place ? a->place : "",
        a->place ? ".\n" : "");
    struct term_options o = {
        .quiet = c->quiet,
        .verbose = c->verbose,
        .reasoning = c->show_reasoning && !c->quiet,
        .usage = c->usage && !c->quiet,
        .color = c->color,
        .render = c->render,
        .history_path = history,
        .greeting = greeting,
        .files = files_of(c),
        .system = c->system,
        .model = change_model,
        .models = model_names,
        .decoder = decoder_of(a),
        .cell_time = cell_time,
        .sandbox = a->sandbox,
        .sandbox_name = c->sandbox_name,
        .ctx = a,
    };

    saved_chat(&a->saved, &o.sessions);
    a->term = term_new(&o, a->loop, err);
    return a->term ? 0 : -1;
}

static int choose_model(struct ask *a, struct error *err)
{
    if (agents_load(&a->agents, a->c, err) < 0)
        return -1;
    a->prompts = agents_last(&a->agents);
    if (a->c->replay) { /* needs no endpoint and no key: the recording names the model */
        a->endpoint.provider = "replay";
        a->endpoint.base_url = xstrdup("http://replay.invalid/v1");
        return replay_model(a->c->replay, &a->model, &a->replay_api, &a->replay_blocks, err);
    }
    if (endpoint_choose(a->c, &a->endpoint, err) < 0)
        return -1;
    if (!a->unsent && endpoint_check_key(&a->endpoint, err) < 0)
        return -1;
    if (a->prompts->model && a->endpoint.model_source.kind == SOURCE_DEFAULT)
        /* The agent's definition applies if the user has named no model. */
        a->endpoint.model = a->prompts->model, a->endpoint.models = NULL;
    return model_settle(&a->service, &a->model, &a->found, err);
}

static void on_unsent(void *ctx, const char *body)
{
    buf_addstr(ctx, body);
}

/* Skip a default model that was found to be gone earlier today. */
static void skip_gone(struct ask *a, struct llm_options *o, const char *kept)
{
    char advice[LLM_ADVICE];

    while (a->endpoint.models && llm_is_gone(o, kept)) {
        const char *name = model_after(&a->service, a->model, advice, sizeof advice);
        if (!name)
            return;
        free(a->model);
        a->model = xstrdup(name);
        model_options(a, a->model, o);
    }
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
    so.phase = on_sandbox_phase;
    so.ctx = a;
    return sandbox_new(&so, a->loop);
}

/* An agent before the last: what its definition names goes before the session's model. */
static void model_of_agent(void *ctx, const struct prompts *agent, struct llm_options *o)
{
    struct ask *a = ctx;

    model_options(a, agent->model ? agent->model : a->model, o);
    if (agent->reasoning_effort)
        o->reasoning_effort = agent->reasoning_effort;
}

/* An agent wants to look at a folder, in the middle of a question. */
static enum host_answer ask_about_files(void *ctx, const char *folder)
{
    static const enum host_answer answers[] = {[CONFIRM_NOBODY] = HOST_NOBODY,
                                               [CONFIRM_INTERRUPTED] = HOST_INTERRUPTED,
                                               [CONFIRM_NO] = HOST_DENIED,
                                               [CONFIRM_YES] = HOST_ALLOWED};
    struct ask *a = ctx;

    autofree char *line = xasprintf("An agent wants to look at files in %s.", folder);

    notice(a, NOTICE_WARNING, line);
    if (a->term)
        term_lend_keys(a->term, true);
    enum confirm answer = confirm("Allow it? [y/N] ", a->loop);
    if (a->term)
        term_lend_keys(a->term, false);
    return answers[answer];
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
    so.run.notice = on_sandbox_notice;
    so.up = on_sandbox_up;
    so.phase = on_sandbox_phase;
    so.terminal = on_terminal;
    so.run.notice_ctx = so.ctx = a;
    a->sandbox = sandbox_new(&so, a->loop);
    if (sandbox_claim(a->sandbox, err) < 0)
        return -1;
    model_options(a, a->model, &lo);
    setup_llm_session(a->c, &ls);
    ls.kept = a->c->replay ? NULL : kept; /* a replay must not change with what was learnt since */
    skip_gone(a, &lo, ls.kept);
    if (loop_cancelled(a->loop))
        return error_set(err, ERROR_CANCELLED, 0, "interrupted");
    ls.agent = a->agents.pipeline.n > 1 ? a->prompts->role : NULL;
    ls.trace = a->c->trace;
    ls.record = a->c->record;
    ls.replay = a->c->replay;
    ls.gone = model_gone;
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
    const struct agents_rooms rooms = {
        .config = a->c,
        .options = &ao,
        .session = &ls,
        .agent = {a->llm, a->sandbox, &a->conversation, a->loop, on_event, a, fresh_sandbox, NULL, NULL},
        .ask = ask_about_files,
        .model = model_of_agent,
    };
    a->agent = agents_open(&a->agents, &rooms, err);
    return a->agent ? 0 : -1;
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
        notice(a, NOTICE_WARNING, a->c->notices.v[i]);
    if (a->session.dir_lost)
        notice(a, NOTICE_WARNING, a->session.dir_lost);
    if (a->c->said)
        notice(a, NOTICE_WARNING, a->c->said);
    if (a->found)
        notice(a, NOTICE_INFO, a->found);
    tell_known(a);
    if (a->endpoint.unbound)
        notice(a, NOTICE_DETAIL, a->endpoint.unbound);
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
        notice(a, NOTICE_WARNING, lost);
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
    if (saved_find(&a->saved, err) < 0 || setup_name_check(a->c, err) < 0)
        return -1;
    if (config_check_ca_cert(a->c, err) < 0)
        return -1;
    if (!a->chat && open_pipe(a, closed, err) < 0)
        return -1;
    if (choose_model(a, err) < 0
        || (a->unsent ? session_open(&a->session, a->c, NULL, err) : saved_open(&a->saved, err)) < 0)
        return -1;
    if (open_rooms(a, err) < 0 || (a->chat && open_term(a, err) < 0))
        return -1;
    begin(a);
    if (!a->unsent && saved_continue(&a->saved, a->sandbox, a->agent, a->chat, err) < 0)
        return -1;
    if (a->chat)
        sandbox_start(a->sandbox); /* it will be up by the time the first question is typed */
    status = a->chat ? term_run(a->term, a->agent) : pipe_run(a->pipe, a->agent);
    end(a, status);
    return status;
}

static void release(struct ask *a)
{
    agent_free(a->agent);
    agents_end(&a->agents);
    sandbox_free(a->sandbox);
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
    a.saved = (struct saved){c, a.loop, &a.session, &a.conversation, notice, &a, NULL, NULL, false};
    a.service = (struct service){c, &a.endpoint, a.loop, a.chat};
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
