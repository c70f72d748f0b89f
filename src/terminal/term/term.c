/* term.c - the chat: reads a message, asks it or runs a command, until the end. */
#include "term/term.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/mentions.h"
#include "base/remedy.h"
#include "base/scrub.h"
#include "conversation/conversation.h"
#include "conversation/language.h"
#include "process/out.h"
#include "process/signals.h"
#include "show/graphics.h"
#include "show/show.h"
#include "term/commands.h"
#include "term/editor.h"
#include "term/message.h"
#include "term/modes.h"
#include "term/external.h"
#include "term/private.h"
#include "term/tab.h"

static bool on_terminal_reply(void *ctx, const char *reply, size_t len)
{
    struct term *t = ctx;
    struct graphics *g = show_graphics(t->show);
    struct buf more autorelease(buf_release) = BUF_INIT(0);

    graphics_reply(g, reply, len);
    graphics_query(g, &more);
    if (more.len)
        editor_ask_more(t->editor, buf_str(&more));
    return g->answered;
}

/* A figure is about to be drawn. */
static void hear_terminal(void *ctx)
{
    editor_hear(((struct term *)ctx)->editor, GRAPHICS_MS);
}

struct show_figures term_figures(struct term *t)
{
    hear_terminal(t);
    return show_figures(t->show);
}

static void ask_terminal(struct term *t)
{
    graphics_query(show_graphics(t->show), &t->terminal_query);
    t->query = (struct editor_query){buf_str(&t->terminal_query), on_terminal_reply, t};
    if (t->terminal_query.len)
        editor_ask(t->editor, &t->query);
}

#define OUTPUT_KEPT (1024 * 1024)
#define NOTIFY_MS   10000

static void open_screen(struct term *t)
{
    struct show_options *o = &t->o.show;
    bool colour = show_wants_colour(1, o->color);

    show_on_stderr(o);
    o->fold = true;
    o->chat = true;
    o->ready = hear_terminal;
    o->ready_ctx = t;
    t->show = show_new(o);
    t->text = show_text_new(1, true, t->loop);
    show_text_render(t->text, o->render, o->color);
    if (isatty(2))
        show_share(t->show, t->text);
    if (o->terminal && o->decoder && !o->quiet)
        ask_terminal(t);
    /* \001 and \002 mark for readline what takes no column */
    t->prompt = xstrdup(colour ? "\001\033[1m\002>\001\033[0m\002 " : "> ");
}

static void on_draft(void *ctx, const char *draft, const char *queued)
{
    show_draft(((struct term *)ctx)->show, draft, queued);
}

struct term *term_new(const struct term_options *o, struct loop *loop, struct error *err)
{
    struct term *t = xmalloc(sizeof *t);
    struct error e = {0};

    *t = (struct term){.o = *o,
                       .loop = loop,
                       .output = BUF_INIT(OUTPUT_KEPT),
                       .greeting = xstrdup(o->greeting),
                       .system = o->system && *o->system ? xstrdup(o->system) : NULL};
    if (inputs_open(&t->files, "--add ", o->files, err) < 0 || !(t->editor = editor_new(loop, err))) {
        term_free(t);
        return NULL;
    }
    tab_setup(command_complete, t);
    open_screen(t);
    editor_at_prompt(t->editor, o->at_prompt, o->ctx);
    editor_when_draft(t->editor, on_draft, t);
    if (history_open(&t->history, o->history_path, o->keep_history, &e) < 0) {
        error_wrap(&e, "no history is kept");
        show_line(t->show, NOTICE_WARNING, e.text);
    }
    return t;
}

void term_free(struct term *t)
{
    if (!t)
        return;
    editor_free(t->editor);
    show_text_free(t->text);
    show_free(t->show);
    history_release(&t->history);
    inputs_release(&t->files);
    buf_release(&t->terminal_query);
    argv_release(&t->names);
    free(t->greeting);
    free(t->system);
    past_release(&t->past);
    free(t->stopped);
    free(t->asked);
    free(t->prompt);
    argv_release(&t->held);
    buf_release(&t->output);
    free(t->output_path);
    free(t->code);
    free(t);
}

static void text_written(struct term *t, int result)
{
    if (result < 0 && errno != EINTR && !t->broken)
        t->broken = errno == EPIPE ? 141 : 1;
    if (t->broken)
        loop_interrupt(t->loop); /* nobody can see the answer */
}

/* Whoever pressed Ctrl-C knows it: what happened to the variables is told once, at the end, unless more was
 * lost. */
static void note_stopped(struct term *t, struct cell_result *r)
{
    if (r->files_lost || r->before)
        return;
    xreplace(&t->stopped,
             r->state_restored ? xstrdup("Code did not react to Ctrl-C and was killed. Variables "
                                         "are back to what they were before it ran.")
             : r->state_lost   ? xasprintf("Code did not react to Ctrl-C and was killed; %s.", r->left)
                               : xstrdup("Stopped. Variables are kept."));
    r->status = CELL_OK;
}

/* Keep it for /last and /why, and for the notice after a line that the user ran himself. */
static void keep_output(struct term *t, const struct event *e)
{
    if (e->type == EVENT_TOOL_CALL) {
        buf_clear(&t->output);
        xreplace(&t->code, e->call.cell ? xstrdup(e->call.code) : NULL);
        free(steal(&t->output_path));
        t->misspoken = false;
    } else if (e->type == EVENT_TOOL_OUTPUT) {
        buf_add(&t->output, e->output.text, e->output.len);
    } else if (e->type == EVENT_TOOL_RESULT) {
        const struct cell_result *r = e->result.r;
        const char *what = r->exception ? r->exception : "";

        if (r->value)
            buf_addf(&t->output, "= %s\n", r->value);
        if (t->code)
            past_ran(&t->past, (struct past_run){.serial = agent_question_serial(t->agent),
                                                 .number = !t->own,
                                                 .cell = e->result.cell,
                                                 .code = steal(&t->code),
                                                 .output = xstrdup(buf_str(&t->output))});
        t->output_path = r->output_path ? xstrdup(r->output_path) : NULL;
        t->misspoken = !strncmp(what, "NameError", 9) || !strncmp(what, "SyntaxError", 11);
    }
}

static void keep_answer(struct term *t, const struct event *e)
{
    const char *answer = e->done.answer && *e->done.answer ? e->done.answer : NULL;
    const char *code = e->done.cells ? agent_last_code(t->agent) : NULL;

    if (t->serial && t->serial == agent_question_serial(t->agent)) { /* it left something */
        past_add(&t->past, t->serial, t->asked, answer, code);
        free(steal(&t->asked));
    }
    t->serial = 0;
}

void term_event(void *ctx, const struct event *e)
{
    struct term *t = ctx;
    struct event own = *e;
    struct cell_result r;

    if (t->lent) { /* another program draws on the screen */
        if (e->type == EVENT_NOTICE && e->notice.level != NOTICE_DETAIL)
            argv_push(&t->held, e->notice.text);
        return;
    }
    keep_output(t, e);
    editor_hide(t->editor); /* news of the sandbox may come while a line is typed */
    if (e->type == EVENT_TEXT) {
        text_written(t, show_text_feed(t->text, e->text.text, e->text.len));
    } else {
        if (event_ends_text(e))
            text_written(t, show_text_end(t->text));
        if (e->type == EVENT_QUESTION)
            t->serial = agent_question_serial(t->agent);
        if (e->type == EVENT_DONE)
            keep_answer(t, e);
        if (t->own && e->type == EVENT_TOOL_CALL)
            own.call.code = "";
        if (e->type == EVENT_TOOL_RESULT && e->result.by_user) {
            r = *e->result.r;
            note_stopped(t, &r);
            own.result.r = &r;
        }
        if (e->type == EVENT_DONE && e->done.status == QUESTION_INTERRUPTED)
            own.done.error = NULL; /* after_question() shows it */
        if (e->type != EVENT_SESSION_END)
            show_event(t->show, &own);
    }
    editor_show(t->editor);
}

void term_say(struct term *t, enum notice_level level, const char *text)
{
    show_line(t->show, level, text);
}

void term_sayf(struct term *t, enum notice_level level, const char *format, ...)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);
    va_list args;

    va_start(args, format);
    buf_vaddf(&line, format, args);
    va_end(args);
    term_say(t, level, buf_str(&line));
}

void term_print(struct term *t, const char *text, size_t len)
{
    text_written(t, show_text_verbatim(t->text, text, len));
}

void term_print_wrapped(struct term *t, const char *text)
{
    struct buf wrapped autorelease(buf_release) = BUF_INIT(0);

    show_wrap_lines(&wrapped, text, 1);
    term_print(t, wrapped.data, wrapped.len);
}

void term_say_error(struct term *t, const struct error *err)
{
    autofree char *message = error_message(err);

    term_say(t, NOTICE_ERROR, message);
}

/* The user's own editor ($EDITOR) on the line that is being typed. */
static void edit_externally(struct term *t, struct buf *line)
{
    struct error err = {0};

    if (term_edit(t, ".md", line, &err) < 0)
        term_say_error(t, &err);
    editor_preset(t->editor, buf_str(line), line->len);
}

static void say_how_to_leave(struct term *t)
{
    if (++t->nothings == 2)
        term_say(t, NOTICE_INFO, "To leave: Ctrl-D, or /exit");
}

static void lend_terminal(struct term *t)
{
    t->lent = true;
    editor_read_drafts(t->editor, false);
}

/* The terminal is ours again: show the notices that came meanwhile. */
static void take_terminal_back(struct term *t)
{
    t->lent = false;
    editor_read_drafts(t->editor, true);
    loop_arm(t->loop);
    for (size_t i = 0; i < t->held.n; i++)
        term_say(t, NOTICE_INFO, t->held.v[i]);
    argv_release(&t->held);
}

int term_edit(struct term *t, const char *suffix, struct buf *text, struct error *err)
{
    lend_terminal(t);
    int r = external_edit(t->loop, suffix, text, err);
    take_terminal_back(t);
    return r;
}

int term_lend(struct term *t, const struct argv *words, struct error *err)
{
    show_clear(t->show);
    lend_terminal(t);
    int r = external_run(t->loop, words, err);
    take_terminal_back(t);
    return r;
}

void term_lend_keys(struct term *t, bool on)
{
    if (on)
        show_clear(t->show);
    editor_read_drafts(t->editor, !on);
    modes_set(on ? MODES_BEFORE : MODES_WAITING);
}

void term_page(struct term *t, const char *text, size_t len)
{
    struct buf clean autorelease(buf_release) = BUF_INIT(0);
    size_t lines = 0;
    int r = -1, rows, width, height;

    scrub_text(text, len, SCRUB_PIPE, &clean);
    for (size_t i = 0; i < clean.len; i++)
        lines += clean.data[i] == '\n';
    show_screen_size(STDOUT_FILENO, &rows, &width, &height);
    if (show_is_terminal(STDOUT_FILENO) && rows > 0 && lines >= (size_t)rows) {
        lend_terminal(t);
        r = external_view(t->loop, &clean, NULL);
        take_terminal_back(t);
    }
    if (r < 0)
        term_print(t, buf_str(&clean), clean.len);
}

/* Attach the files of the command line to the first question, and those that the question names. One that
 * fails is reported once and dropped. */
static int attach(struct term *t, struct mentions *m)
{
    struct error err = {0};
    const char *path = "";
    int r = 0;

    for (size_t i = 0; i < t->files.n && r == 0; i++) {
        path = t->files.v[i].path;
        show_status(t->show, "Copying data into the sandbox...");
        r = agent_attach(t->agent, path, t->files.v[i].fd, &err);
        if (r == 0)
            mentions_name(m, i, agent_attached(t->agent));
    }
    show_status(t->show, NULL);
    if (r < 0 && err.kind == ERROR_CANCELLED && !loop_fatal(t->loop)) {
        term_sayf(t, NOTICE_INFO, "Stopped. %s was not added; /put adds it.", path);
    } else if (r < 0) {
        term_say_error(t, &err);
    }
    inputs_release(&t->files);
    return r;
}

/* "Stopped. Variables are kept. /retry asks again." */
static void tell_stopped(struct term *t, bool again)
{
    term_sayf(t, NOTICE_INFO, "%s%s", t->stopped ? t->stopped : "Stopped.",
              again ? " /retry asks again." : "");
    free(steal(&t->stopped));
}

void term_after_question(struct term *t, enum question_status status)
{
    show_status(t->show, NULL);
    t->last = status;
    if (!question_has_answer(status))
        editor_take_back(t->editor);
    if (status == QUESTION_INTERRUPTED && !loop_fatal(t->loop)) {
        tell_stopped(t, agent_can_retry(t->agent));
        return;
    }
    if (question_has_answer(status) || loop_fatal(t->loop) || !agent_can_retry(t->agent))
        return;
    term_say(t, NOTICE_INFO,
             status != QUESTION_NO_SANDBOX ? "/retry asks again"
                                           : "/retry asks again once that is fixed (for an option such as "
                                             "--sandbox: quit, start again with it)");
}

/* Escape twice: the last question comes back. What it led to stays until the edited one is sent. */
static void edit_last(struct term *t)
{
    const struct past_question *last = past_last(&t->past);
    const char *text = t->asked ? t->asked : last ? last->question : "";

    if (!*text) {
        term_say(t, NOTICE_INFO, "Nothing to edit: no question was asked yet.");
        return;
    }
    t->edited = t->asked ? 0 : last->serial;
    if (t->edited)
        term_say(t, NOTICE_INFO, "Editing the last question: its answer is removed when you send it.");
    editor_preset(t->editor, text, strlen(text));
}

/* The question that was edited, and its answer, make room for the new one. */
static void replace_edited(struct term *t)
{
    struct error err = {0};

    if (t->edited && t->edited == agent_question_serial(t->agent)
        && t->o.sessions.undo(t->o.sessions.ctx, &err) < 0)
        term_say_error(t, &err);
    past_undo(&t->past, agent_question_serial(t->agent));
}

static void ask_question(struct term *t, const char *question, size_t len)
{
    struct error err = {0};
    autorelease(mentions_release) struct mentions m = {0};
    struct buf named autorelease(buf_release) = BUF_INIT(0);

    loop_arm(t->loop);
    if (mentions_open(&m, question, len, &t->files, &err) < 0) {
        term_say_error(t, &err);
        return;
    }
    for (size_t i = 0; i < m.left.n; i++)
        term_say(t, NOTICE_INFO, m.left.v[i]);
    if (t->files.n && attach(t, &m) < 0)
        return;
    mentions_write(&m, question, len, &named);
    replace_edited(t);
    xreplace(&t->asked, xstrdup(editor_typed(t->editor)));
    show_asked(t->show);
    show_asking(t->show, NULL);
    term_after_question(t, agent_ask(t->agent, buf_str(&named), named.len, &err));
}

/* One line that begins with the name of a program that people run in a shell; nothing to be quoted in it. */
static bool is_for_a_shell(const char *code)
{
    static const char words[] =
        " ls pwd cd cat head tail wc grep find echo mkdir rm cp mv touch pip pip3 "
        "python python3 curl wget git df du ps env which apt sudo bash sh nvidia-smi ";
    autofree char *word = xasprintf(" %.*s ", (int)strcspn(code, " "), code);

    return strstr(words, word) && !strpbrk(code, "\n'\\");
}

/* "sh ls": the language that a first word names, and *code is what follows; NULL: it is Python. */
static const struct language *named_language(const char **code)
{
    *code += strspn(*code, " \t");
    size_t n = strcspn(*code, " \t\n");
    const struct language *l = language_of_tag(*code, n);

    if (language_is_python(l) || (*code)[n + strspn(*code + n, " \t")] == '=') /* a variable of that name */
        return NULL;
    *code += n;
    *code += strspn(*code, " \t\n");
    return l;
}

void term_run_code(struct term *t, const char *code)
{
    struct error err = {0};

    const struct language *language = named_language(&code);
    if (text_is_blank(code)) {
        term_say(t, NOTICE_INFO,
                 language ? "Code is missing behind the language, for example: !sh ls"
                          : "!CODE runs Python in the same interpreter, for example: !x + 1; "
                            "!sh ls runs a shell");
        return;
    }
    loop_arm(t->loop);
    show_status(t->show, "Starting the sandbox...");
    t->own = true;
    int r = agent_run(t->agent, language, code, &err);
    t->own = false;
    show_status(t->show, NULL);
    if (r < 0 && err.kind == ERROR_CANCELLED && !loop_fatal(t->loop))
        term_say(t, NOTICE_INFO, "Stopped before the code ran.");
    else if (r < 0)
        term_say_error(t, &err);
    else if (t->stopped)
        tell_stopped(t, false);
    else if (t->misspoken && !language && is_for_a_shell(code))
        term_sayf(t, NOTICE_INFO, "! runs Python. For a shell command: !sh %s", code);
}

/* A command, a line of Python, or a question. */
static void obey(struct term *t, const struct buf *line)
{
    struct buf message autorelease(buf_release) = BUF_INIT(QUESTION_MAX);
    bool block = message_take(buf_str(line), &message);

    if (text_is_blank(buf_str(&message)))
        return;
    history_append(&t->history, editor_typed(t->editor), buf_str(line));
    if (line->full)
        term_sayf(t, NOTICE_ERROR, "the question was not asked: it is longer than 1 MiB; %s",
                  remedy(REMEDY_ADD_FILE, true));
    else if (!block && *buf_str(line) == '!')
        term_run_code(t, buf_str(line) + 1);
    else if (!block && command_doubt(buf_str(line)) && agent_computed(t->agent))
        command_obey(t, "/check");
    else if (block || !command_obey(t, buf_str(line)))
        ask_question(t, buf_str(&message), message.len);
}

/* Whoever waits for long looks elsewhere. */
static void ring(struct term *t, int64_t began)
{
    static const char bell[] = "\a", notice[] = "\033]9;sandpiper: done\033\\";

    if (!t->o.notify || clock_ms() - began < NOTIFY_MS || loop_interrupts(t->loop) || loop_fatal(t->loop)
        || !show_is_terminal(1))
        return;
    out_write(1, bell, sizeof bell - 1, t->loop);
    if (show_has_notices())
        out_write(1, notice, sizeof notice - 1, t->loop);
}

static void greet(struct term *t)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);

    show_wrap_lines(&out, t->greeting, 2);
    show_talk(t->show, buf_str(&out), out.len);
}

void term_continued(struct term *t, struct agent *a, const char *question, const char *answer,
                    const char *code)
{
    past_add(&t->past, agent_question_serial(a), question, answer, code);
}

int term_run(struct term *t, struct agent *a)
{
    struct buf line autorelease(buf_release) = BUF_INIT(QUESTION_MAX);

    t->agent = a;
    t->leaving = false;
    if (t->greeting)
        greet(t);
    while (!t->leaving && !t->broken && !loop_fatal(t->loop)) {
        show_status(t->show, NULL); /* whatever the last command waited for */
        show_draft(t->show, "", NULL);
        show_clear(t->show);
        buf_clear(&line);
        enum editor_end end = editor_read(t->editor, t->prompt, &line);
        if (end == EDITOR_EOF || end == EDITOR_FATAL)
            break;
        if (end == EDITOR_NOTHING)
            say_how_to_leave(t);
        else
            t->nothings = 0;
        if (end == EDITOR_EXTERNAL)
            edit_externally(t, &line);
        else if (end == EDITOR_AGAIN)
            edit_last(t);
        else if (end == EDITOR_LINE) {
            int64_t began = clock_ms();

            obey(t, &line);
            ring(t, began);
        }
        if (end != EDITOR_AGAIN && end != EDITOR_EXTERNAL)
            t->edited = 0;
    }
    editor_restore(t->editor);
    t->agent = NULL;
    return loop_fatal(t->loop) ? 143 : t->broken;
}
