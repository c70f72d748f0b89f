/* cmd_ask.c - a question, a script of questions, or a chat: every command that has a model. Connects the
 * rooms and takes them down in the opposite order. The order matters: the sandbox must be gone before the
 * last event says so.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "ask/setup.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "main/talk.h"
#include "pipe/pipe.h"
#include "pipe/stdin.h"
#include "process/loop.h"
#include "process/signals.h"
#include "sandbox/sandbox.h"
#include "store/store.h"
#include "term/term.h"

/* The sandbox is up. Do not repeat the words that the greeting already had. */
static void tell_place(struct talk *t)
{
    autofree char *place = sandbox_place(t->ask.sandbox);

    if (t->ask.c->json || !place)
        return;
    bool told = t->place && !strcmp(t->place, place);
    autofree char *line = xasprintf("Code runs in %s, Python %s", place, sandbox_python(t->ask.sandbox));
    ask_notice(&t->ask, t->term && !told ? NOTICE_INFO : NOTICE_DETAIL, line);
    xreplace(&t->place, steal(&place));
}

/* Files whose path the user has seen must stay on disk, unless nothing of the session does. */
static bool names_own_file(const struct talk *t, const struct event *e)
{
    return (e->type == EVENT_FILE && !t->session.out_dir)
           || (e->type == EVENT_TOOL_RESULT && e->result.r->output_path);
}

/* Behind the first path of such a file. */
static void tell_unsaved(struct talk *t)
{
    if (!t->session.unsaved || t->told_unsaved)
        return;
    t->told_unsaved = true;
    autofree char *line = xasprintf("This session is not saved: its files are removed when it ends. %s.",
                                    t->term ? "/get NAME copies one to this folder, --out DIR keeps all"
                                            : "--out DIR keeps them");
    ask_notice(&t->ask, NOTICE_WARNING, line);
}

static void on_agent_event(void *ctx, const struct event *e)
{
    struct talk *t = ctx;
    bool own_file = names_own_file(t, e);

    if (own_file)
        session_keep(&t->session);
    if (t->ask.unsent)
        return;
    if (t->saved.store) /* first: what is shown as complete is saved */
        saved_event(&t->saved, e);
    if (t->pipe)
        pipe_event(t->pipe, e);
    else if (t->term)
        term_event(t->term, e);
    if (e->type == EVENT_SANDBOX)
        tell_place(t);
    if (own_file)
        tell_unsaved(t);
}

/* An agent asks for a folder in the middle of a question. */
static enum host_answer may_look_into(void *ctx, const char *folder)
{
    static const enum host_answer answers[] = {[CONFIRM_NOBODY] = HOST_NOBODY,
                                               [CONFIRM_INTERRUPTED] = HOST_INTERRUPTED,
                                               [CONFIRM_NO] = HOST_DENIED,
                                               [CONFIRM_YES] = HOST_ALLOWED};
    struct talk *t = ctx;
    autofree char *line = xasprintf("An agent wants to look at files in %s.", folder);

    ask_notice(&t->ask, NOTICE_WARNING, line);
    if (t->term)
        term_lend_keys(t->term, true);
    enum confirm answer = confirm("Allow it? [y/N] ", t->loop);
    if (t->term)
        term_lend_keys(t->term, false);
    return answers[answer];
}

/* "seaborn 0.13.2 and 2 others, 8 MiB", for the model. Who said no to one is not asked again for the same
 * question. */
static bool may_install(void *ctx, const char *what)
{
    struct talk *t = ctx;
    unsigned question = agent_question_number(t->ask.agent);

    if (t->installs || t->refused == question)
        return t->installs;
    autofree char *line = xasprintf("%s, from the index: allow? [y/N/always] ", what);
    if (t->term)
        term_lend_keys(t->term, true);
    enum confirm answer = confirm_or_always(line, t->loop);
    if (t->term)
        term_lend_keys(t->term, false);
    t->installs = answer == CONFIRM_ALWAYS;
    t->refused = answer == CONFIRM_NO ? question : 0;
    return answer == CONFIRM_YES || answer == CONFIRM_ALWAYS;
}

static void on_install_notice(void *ctx, bool detail, const char *line)
{
    struct talk *t = ctx;

    ask_notice(&t->ask, detail ? NOTICE_DETAIL : NOTICE_INFO, line);
}

/* The model asks for packages in the middle of a question. */
static int install(void *ctx, const char *names, char **told, struct error *err)
{
    struct talk *t = ctx;
    struct argv wanted autorelease(argv_release) = ARGV_INIT;
    const struct with_ask ask = {.c = t->ask.c,
                                 .loop = t->loop,
                                 .notice = on_install_notice,
                                 .allow = may_install,
                                 .ctx = t,
                                 .restarts = true};

    if (packages_want(&wanted, "packages", names, err) < 0)
        return -1;
    const struct packages_set *set = with_add(&t->with, &ask, t->ask.sandbox, &wanted, err);
    if (!set)
        return -1;
    *told = xstrdup(set->names);
    return 0;
}

/* Set by the user, that holds; else only where the user can be asked. */
static bool can_install(const struct config *c)
{
    return c->allow_install
           || (config_source(c, &c->allow_install)->kind == SOURCE_DEFAULT && isatty(0) && isatty(2));
}

/* A copy that the user moved or changed meanwhile is no longer the figure; a link is not followed. */
static int decode(void *ctx, const struct pixels_ask *ask, struct pixels *out, struct error *err)
{
    struct talk *t = ctx;
    autoclose int fd = open(ask->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct pixels_ask own = *ask;

    own.fd = fd;
    return fd < 0 ? error_errno(err, "%s", ask->path) : sandbox_pixels(t->ask.sandbox, &own, out, err);
}

struct show_options talk_show_options(struct talk *t)
{
    const struct config *c = t->ask.c;

    t->decoder = (struct show_decoder){decode, t};
    return (struct show_options){.color = c->color,
                                 .render = c->render,
                                 .quiet = c->front.quiet,
                                 .verbose = c->front.verbose,
                                 .reasoning = c->show_reasoning && !c->front.quiet,
                                 .usage = c->usage && !c->front.quiet,
                                 .unsaved = !c->save && !c->front.out_dir,
                                 .loop = t->loop,
                                 .decoder = !strcmp(c->figures, "off") ? NULL : &t->decoder};
}

static const char *question_of(const struct config *c)
{
    return c->prompt ? c->prompt : c->args.operand_is_stdin ? NULL : c->args.operand;
}

const char *const *talk_files(const struct config *c)
{
    return c->add.n ? (const char *const *)c->add.v : NULL;
}

/* Find every usage error (exit 2) before anything is started. A chat has nothing to prepare. */
static int open_pipe(struct talk *t, int closed, struct error *err)
{
    const struct config *c = t->ask.c;
    struct pipe_options o = {
        .json = c->json,
        .results = c->json_result,
        .show = talk_show_options(t),
        .prompt = question_of(c),
        .prompt_is_stdin = c->args.operand_is_stdin,
        .stdin_mode = stdin_mode_named(c->stdin_mode),
        .closed = closed,
        .files = talk_files(c),
        .data_size = c->data_size,
    };

    t->pipe = pipe_new(&o, t->loop);
    return pipe_prepare(t->pipe, err);
}

/* In a pipe output is the same wherever the program runs. */
static void on_ask_terminal(void *ctx, struct sandbox_terminal *terminal)
{
    const struct talk *t = ctx;

    if (!show_is_terminal(1))
        return;
    terminal->columns = show_output_width(1);
    struct show_figures f = t->term   ? term_figures(t->term)
                            : t->pipe ? pipe_figures(t->pipe)
                                      : (struct show_figures){.background = -1};
    terminal->background = f.background;
    terminal->figure_columns = f.columns;
    terminal->figure_rows = f.rows;
}

/* The session has not begun yet, so there is nobody else to tell. */
static void on_with_notice(void *ctx, bool detail, const char *line)
{
    const struct talk *t = ctx;
    const struct config *c = t->ask.c;

    if (!c->json && !c->front.quiet && (!detail || c->front.verbose))
        print_line(line);
}

/* Did the user ask for packages for this run? */
static bool asks_for_packages(const struct config *c)
{
    return config_source(c, &c->with)->kind > SOURCE_FILE
           || config_source(c, &c->requirements)->kind > SOURCE_FILE;
}

/* A session that goes on has those of before, so that its code does what it did. */
static int get_talk_packages(struct talk *t, struct sandbox_options *o, struct error *err)
{
    const struct store_found *from = t->saved.from;
    bool before = from && from->lock && *from->lock && !asks_for_packages(t->ask.c);
    const struct with_ask ask = {
        .c = t->ask.c, .loop = t->loop, .notice = on_with_notice, .ctx = t, .agents = true, .alone = before};

    if (before && packages_want_lock(&t->with.wanted, "the session", from->lock, err) < 0)
        return -1;
    if (with_get(&t->with, &ask, o, err) == 0)
        return 0;
    return before && err->kind != ERROR_CANCELLED
               ? error_wrap(err, "the packages that the session had (--with NAMES: others)")
               : -1;
}

static int open_sandbox(struct talk *t, struct error *err)
{
    struct sandbox_options o;

    ask_sandbox_options(&t->ask, &o);
    o.session_dir = t->session.dir;
    o.out_dir = t->session.out_dir;
    o.run.mounts = &t->mounts;
    network_setup_use(&t->network, &o);
    if (get_talk_packages(t, &o, err) < 0)
        return -1;
    t->ask.sandbox = t->saved.sandbox = sandbox_new(&o, t->loop);
    return sandbox_claim(t->ask.sandbox, err);
}

static void begin_talk(struct talk *t)
{
    struct config *c = t->ask.c;

    ask_begin(&t->ask);
    if (c->front.quiet && !c->json) /* a quiet stderr has no room for notices, except this one */
        print_notices(c);
    for (size_t i = 0; i < c->notices.n; i++)
        ask_notice(&t->ask, NOTICE_WARNING, c->notices.v[i]);
    argv_release(&c->notices); /* a chat may go on with another session */
    if (t->session.dir_lost)
        ask_notice(&t->ask, NOTICE_WARNING, t->session.dir_lost);
    if (c->said)
        ask_notice(&t->ask, NOTICE_WARNING, c->said);
    ask_tell_mounts(&t->ask);
    if (t->network.text && !t->ask.chat) { /* the greeting of a chat has it already */
        autofree char *line = network_setup_line(&t->network);
        ask_notice(&t->ask, NOTICE_INFO, line);
    }
    ask_tell_model(&t->ask);
}

static void end_talk(struct talk *t, int status)
{
    struct event e = {.type = EVENT_SESSION_END, .session_end = {status}};

    e.question = t->ask.agent ? agent_question_number(t->ask.agent) : 0;
    ask_end(&t->ask);
    sandbox_free(t->ask.sandbox);
    t->ask.sandbox = NULL;
    autofree char *lost = session_cache_lost(&t->session);
    if (lost)
        ask_notice(&t->ask, NOTICE_WARNING, lost);
    if (t->network.text) {
        autofree char *line = network_count_line(&t->ask.requests);
        ask_notice(&t->ask, NOTICE_INFO, line);
    }
    ask_event(&t->ask, &e);
}

static int choose_way(struct talk *t, int closed, struct error *err)
{
    struct ask *a = &t->ask;

    if (a->c->args.command == COMMAND_CHAT && !a->chat)
        return error_set(err, ERROR_USAGE, 0,
                         "a chat needs a terminal for input and output%s\n"
                         "To ask one question: sandpiper \"QUESTION\"",
                         a->c->json ? ", and has no --json" : "");
    if (saved_find(&t->saved, err) < 0 || setup_name_check(a->c, err) < 0
        || setup_mounts(a->c, &t->mounts, err) < 0 || setup_network(a->c, &t->network, err) < 0)
        return -1;
    if (config_check_ca_cert(a->c, err) < 0)
        return -1;
    if (!a->chat && open_pipe(t, closed, err) < 0)
        return -1;
    return ask_choose_model(a, err);
}

/* The session has begun, so whoever reads its events is told why it ends, and that it does. */
static int not_continued(struct talk *t, const struct error *err)
{
    autofree char *why = error_message(err);

    if (err->kind == ERROR_CANCELLED)
        return loop_exit_code(t->loop);
    ask_notice(&t->ask, NOTICE_ERROR, why);
    return error_exit_code(err);
}

static int converse(struct talk *t)
{
    const struct store_found *from = t->saved.from;

    if (t->pipe)
        return pipe_run(t->pipe, t->ask.agent);
    if (from)
        term_continued(t->term, t->ask.agent, from->question, from->answer, from->code);
    sandbox_start(t->ask.sandbox); /* it will be up by the time the first question is typed */
    return term_run(t->term, t->ask.agent);
}

static int talk(struct talk *t, int closed, struct error *err)
{
    struct ask *a = &t->ask;

    if (choose_way(t, closed, err) < 0
        || (a->unsent ? session_open(&t->session, a->c, NULL, err) : saved_open(&t->saved, err)) < 0)
        return -1;
    a->session = t->session.id;
    if (open_sandbox(t, err) < 0 || ask_open(a, err) < 0 || (a->chat && talk_open_chat(t, err) < 0))
        return -1;
    begin_talk(t);
    int status = !a->unsent && saved_continue(&t->saved, a->sandbox, a->agent, err) < 0
                     ? not_continued(t, err)
                     : converse(t);
    if (status == 0 && uploads_failed(a->uploads))
        status = 1;
    end_talk(t, status);
    return status;
}

static void release_talk(struct talk *t)
{
    ask_end(&t->ask);
    sandbox_free(t->ask.sandbox);
    saved_release(&t->saved);
    ask_release(&t->ask);
    pipe_free(t->pipe);
    term_free(t->term);
    mounts_release(&t->mounts);
    network_setup_release(&t->network);
    with_release(&t->with);
    session_close(&t->session);
    argv_release(&t->names);
    free(t->place);
    loop_free(t->loop);
}

static void on_saved_notice(void *ctx, enum notice_level level, const char *line)
{
    struct talk *t = ctx;

    ask_notice(&t->ask, level, line);
}

static int run_talk(struct config *c, int closed, struct buf *unsent, struct kept_copies *copies)
{
    struct talk t = {.loop = loop_new(), .with = WITH_INIT};
    struct error err = {0};
    int status = -1;

    ask_init(&t.ask, c, t.loop);
    t.ask.unsent = unsent;
    t.installs = c->allow_install;
    t.ask.chat = !question_of(c) && !c->args.operand_is_stdin && !c->json && !(closed & 3) && isatty(0)
                 && isatty(1);
    t.ask.listener = (struct ask_listener){.event = on_agent_event,
                                           .folder = isatty(0) && isatty(2) ? may_look_into : NULL,
                                           .install = can_install(c) ? install : NULL,
                                           .terminal = on_ask_terminal,
                                           .ctx = &t};
    t.ask.known.waits_for_prompt = t.ask.chat;
    t.saved = (struct saved){.config = c,
                             .loop = t.loop,
                             .session = &t.session,
                             .conversation = &t.ask.conversation,
                             .notice = on_saved_notice,
                             .ctx = &t,
                             .chat = t.ask.chat,
                             .agents = &t.ask.agents,
                             .copies = copies};
    c->ask = ask_about_folder;
    c->ask_ctx = t.loop;
    if (loop_signals(t.loop, &err) == 0)
        status = talk(&t, closed, &err);
    if (status < 0) {
        term_free(steal(&t.term)); /* restore the terminal's modes before printing */
        print_notices(c);
        status = print_failure(&err);
    }
    release_talk(&t);
    return status;
}

int cmd_ask(struct config *c, int closed)
{
    struct kept_copies copies autorelease(saved_copies_release) = {.n = 0};
    int status;

    do {
        c->again = false;
        status = run_talk(c, closed, NULL, &copies);
    } while (c->again);
    return status;
}

/* Goes the whole way of a question up to sending, so that it prints what would be sent. */
int cmd_debug_request(struct config *c, int closed)
{
    struct buf body autorelease(buf_release) = BUF_INIT(0);
    struct kept_copies copies = {.n = 0};
    int status = run_talk(c, closed, &body, &copies);

    if (!body.len)
        return status ? status : 1;
    buf_addch(&body, '\n');
    return print_json(buf_str(&body), body.len);
}
