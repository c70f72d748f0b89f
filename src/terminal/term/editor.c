/* editor.c - reads one line from the terminal: readline in callback mode, driven by the loop.
 *
 * The terminal's bytes are read here and pass through keys.c. readline gets them from a queue, one whole
 * character at a time, so it never waits for the rest of anything. Its signal handlers are off; the loop
 * handles signals.
 */
#include "term/editor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <readline/history.h>
#include <readline/readline.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "base/utf8.h"
#include "process/foreground.h"
#include "process/loop.h"
#include "process/signals.h"
#include "process/slow_read.h"
#include "show/show.h"
#include "term/arrows.h"
#include "term/draft_line.h"
#include "term/keys.h"
#include "term/modes.h"
#include "term/pastes.h"
#include "term/readline_setup.h"

#define LINE_MAX_BYTES (1024 * 1024)
#define CTRL_C         0x03
#define CTRL_Z         0x1a
#define ESCAPE         0x1b
#define CTRL_BACKSLASH 0x1c
#define BACKSPACE      0x7f
#define BACKGROUND_MS  300 /* until the next look whether we are in the foreground again */
#define LATE_MS        500 /* after which a terminal is taken not to answer, when the program ends */
#define FOLLOWS_MS     20  /* the next bytes of a paste come sooner than this, somebody who types later */

struct editor {
    struct loop *loop;
    bool fancy; /* the terminal understands escape sequences */
    struct keys keys;
    const struct editor_query *query; /* to be written yet; or NULL */
    bool (*heard)(void *ctx, const char *reply, size_t len);
    void *heard_ctx;
    void (*at_prompt)(void *ctx); /* to be called yet; or NULL */
    void *at_prompt_ctx;
    bool awaited; /* the last reply to the query has not come */
    int64_t asked;
    char queue[8]; /* what readline may read now */
    size_t queued;
    struct pastes pastes;
    char *preset; /* what the next line begins with, or NULL */
    struct draft_line draft;
    bool typed_ahead; /* nothing was read from the terminal yet */
    bool behind;      /* in the background, while drafts are read */
    void (*when_draft)(void *ctx, const char *draft, const char *queued);
    void *when_draft_ctx;
    bool active, done, hidden;
    bool escaped; /* the last key was Escape */
    enum editor_end end;
    char *line;
    char *typed; /* the last one, with the marks of its pastes; or NULL */
};

static struct editor *the_editor; /* readline's callbacks have no context argument */

static int queue_get(FILE *unused)
{
    struct editor *e = the_editor;

    (void)unused;
    if (e->queued > 0) {
        unsigned char c = (unsigned char)e->queue[0];
        memmove(e->queue, e->queue + 1, --e->queued);
        return c;
    }
    /* No readline command that we know reads further bytes. If one does, wait for the terminal itself rather
     * than report its end. */
    int byte = slow_byte(STDIN_FILENO, e->loop);
    return byte < 0 ? EOF : byte;
}

static int queue_any(void)
{
    return the_editor->queued > 0;
}

static void finish_editing(struct editor *e, enum editor_end end)
{
    e->end = end;
    e->done = true;
}

static void end_of_input(struct editor *e)
{
    finish_editing(e, EDITOR_EOF);
    rl_callback_handler_remove();
    readline_put("\n"); /* so that the shell's prompt, or news of the sandbox, starts on its own line */
}

static void on_line(char *line)
{
    struct editor *e = the_editor;

    if (!line) {
        end_of_input(e);
        return;
    }
    e->line = line;
    finish_editing(e, EDITOR_LINE);
    rl_callback_handler_remove(); /* otherwise it would show the next prompt at once */
}

/* Leave the line on the screen as it is, with the cursor behind it. */
static void forget_line(void)
{
    rl_free_line_state();
    rl_point = rl_end;
    rl_redisplay();
    rl_replace_line("", 1);
}

static int on_external(int count, int key)
{
    struct editor *e = the_editor;

    (void)count, (void)key;
    e->line = xstrdup(rl_line_buffer);
    finish_editing(e, EDITOR_EXTERNAL);
    forget_line();
    return 0;
}

/* A long text that an earlier chat has kept. */
static void on_recalled(void)
{
    autofree char *text = pastes_add(&the_editor->pastes, rl_line_buffer, (size_t)rl_end);

    if (!strcmp(text, rl_line_buffer))
        return;
    rl_replace_line(text, 0);
    rl_point = rl_end;
}

static void setup_readline(void)
{
    rl_readline_name = "sandpiper";
    rl_getc_function = queue_get;
    rl_input_available_hook = queue_any;
    rl_add_defun("edit-and-execute-command", on_external, -1); /* bash's name, for ~/.inputrc */
    /* reads ~/.inputrc; its settings stay, except those set below */
    rl_initialize();
    readline_bind(on_external);
    arrows_bind(on_recalled);
    rl_variable_bind("enable-bracketed-paste", "off");
    rl_variable_bind("page-completions", "off");
    rl_variable_bind("blink-matching-paren", "off");
}

static void on_editor_reply(void *ctx, const char *reply, size_t len)
{
    struct editor *e = ctx;

    if (e->heard && e->heard(e->heard_ctx, reply, len))
        e->awaited = false;
}

struct editor *editor_new(struct loop *loop, struct error *err)
{
    if (the_editor)
        return error_null(err, ERROR_SYSTEM, EBUSY, "the terminal is in use");
    if (modes_open(err) < 0)
        return NULL;
    struct editor *e = xcalloc(1, sizeof *e);
    e->loop = loop;
    e->fancy = show_is_terminal(STDOUT_FILENO);
    keys_init(&e->keys);
    draft_line_init(&e->draft);
    e->typed_ahead = true;
    e->keys.reply = on_editor_reply;
    e->keys.ctx = e;
    the_editor = e;
    readline_set_locale();
    readline_set_up(e->fancy);
    setup_readline();
    modes_set(MODES_WAITING);
    return e;
}

void editor_ask(struct editor *e, const struct editor_query *q)
{
    e->query = q;
    e->heard = q->heard;
    e->heard_ctx = q->ctx;
}

void editor_at_prompt(struct editor *e, void (*fn)(void *ctx), void *ctx)
{
    e->at_prompt = fn;
    e->at_prompt_ctx = ctx;
}

static void call_at_prompt(struct editor *e)
{
    void (*fn)(void *ctx) = e->at_prompt;

    e->at_prompt = NULL;
    fflush(rl_outstream);
    if (fn)
        fn(e->at_prompt_ctx);
}

void editor_ask_more(struct editor *e, const char *query)
{
    readline_put(query);
    e->asked = clock_ms();
    e->awaited = true;
}

/* Now nothing that the terminal sends is echoed. */
static void send_query(struct editor *e)
{
    const struct editor_query *q = e->query;

    e->query = NULL;
    if (q)
        editor_ask_more(e, q->query);
}

static bool input_waits(void)
{
    return poll(&(struct pollfd){.fd = STDIN_FILENO, .events = POLLIN}, 1, 0) > 0;
}

void editor_hear(struct editor *e, int ms)
{
    char bytes[4096];
    ssize_t n = 1;

    while (e->awaited && n > 0) { /* what is there already is read even if the time is over */
        int64_t left = e->asked + ms - clock_ms();

        if (left > 0 && !loop_check(e->loop))
            loop_poll(e->loop, STDIN_FILENO, POLLIN, (int)left);
        n = input_waits() ? read(STDIN_FILENO, bytes, sizeof bytes) : 0;
        e->keys.ahead = !e->keys.working;
        if (n > 0)
            keys_feed(&e->keys, bytes, (size_t)n, clock_ms());
        e->keys.ahead = false;
    }
}

void editor_restore(struct editor *e)
{
    editor_hear(e, LATE_MS); /* a reply would be typed into the shell */
    if (e->active)
        rl_callback_handler_remove();
    e->active = false;
    editor_read_drafts(e, false);
    modes_set(MODES_BEFORE);
}

void editor_free(struct editor *e)
{
    if (!e)
        return;
    editor_restore(e);
    modes_close();
    keys_release(&e->keys);
    draft_line_release(&e->draft);
    pastes_release(&e->pastes);
    free(e->line);
    free(e->typed);
    free(e->preset);
    free(e);
    the_editor = NULL;
}

/* Draw again on a new line of the screen, whose size may have changed. */
static void redraw(struct editor *e)
{
    modes_continued();
    readline_tell_size();
    if (e->hidden)
        return;
    rl_on_new_line();
    rl_forced_update_display();
}

/* Suspend as a shell expects: restore the old modes, stop, and show the line again when continued. */
static void suspend(struct editor *e)
{
    readline_deprep();
    modes_set(MODES_BEFORE);
    readline_put("\n");
    kill(0, SIGTSTP);
    readline_prep(1);
    redraw(e);
}

static void say_cut(struct editor *e)
{
    autofree char *text = xasprintf("sandpiper: the paste was cut off at 1 MiB; %s",
                                    remedy(REMEDY_ADD_FILE, true));
    struct buf line autorelease(buf_release) = BUF_INIT(0);

    show_wrap(&line, text, strlen(text), 0, e->fancy ? show_width(STDOUT_FILENO) : 0);
    buf_addch(&line, '\n');
    editor_hide(e);
    readline_put(buf_str(&line));
    editor_show(e);
}

static void insert_text(const char *text)
{
    if (rl_end + (int)strlen(text) > LINE_MAX_BYTES)
        return;
    rl_begin_undo_group();
    rl_insert_text(text);
    rl_end_undo_group();
    rl_redisplay();
}

/* A long text is shown as a mark. */
static void insert(struct editor *e, const char *s, size_t len)
{
    autofree char *text = pastes_add(&e->pastes, s, len);

    insert_text(text);
}

static void clear_line(struct editor *e)
{
    rl_callback_sigcleanup(); /* leave a search or a key sequence */
    finish_editing(e, rl_end ? EDITOR_CLEARED : EDITOR_NOTHING);
    forget_line();
    readline_put("^C\n");
}

static void play(struct editor *e)
{
    while (e->queued > 0 && !e->done)
        rl_callback_read_char();
    e->queued = 0;
}

/* Backspace behind the mark of a paste. In a search, or where vi takes it for a movement, it is readline's.
 */
static bool delete_mark(struct editor *e)
{
    play(e);
    size_t n = pastes_mark_before(&e->pastes, rl_line_buffer, (size_t)rl_point);

    if (n == 0 || RL_ISSTATE(RL_STATE_ISEARCH | RL_STATE_NSEARCH | RL_STATE_MOREINPUT)
        || !strcmp(rl_get_keymap_name(rl_get_keymap()), "vi-command"))
        return false;
    rl_begin_undo_group();
    rl_delete_text(rl_point - (int)n, rl_point);
    rl_point -= (int)n;
    rl_end_undo_group();
    rl_redisplay();
    return true;
}

/* Escape, pressed twice at an empty prompt. readline gets the first: it may begin Alt and a letter. */
static bool escaped_twice(struct editor *e, const struct key *key)
{
    bool escape = key->bytes[0] == ESCAPE, twice = escape && e->escaped && !key->more && !rl_end;

    e->escaped = escape && !twice;
    if (!twice)
        return false;
    rl_callback_sigcleanup(); /* it waits for what follows the first */
    e->queued = 0;
    finish_editing(e, EDITOR_AGAIN);
    return true;
}

static void feed_readline(struct editor *e, const struct key *key)
{
    unsigned char c = (unsigned char)key->bytes[0];

    if (escaped_twice(e, key))
        return;
    if (c == BACKSPACE && delete_mark(e))
        return;
    if (c == CTRL_C || c == CTRL_Z || (rl_end >= LINE_MAX_BYTES && c >= ' ' && c != BACKSPACE)) {
        play(e);
        if (c == CTRL_C)
            clear_line(e);
        else if (c == CTRL_Z)
            suspend(e);
        return;
    }
    memcpy(e->queue + e->queued, key->bytes, key->n);
    e->queued += key->n;
    /* In vi mode readline takes an ESC with nothing behind it for the key of that name. */
    if (e->queued == 1 && e->queue[0] == '\033' && e->keys.raw.len > 0)
        return;
    play(e);
}

static void type_keys(struct editor *e)
{
    while (!e->done) {
        struct key key = keys_next(&e->keys, clock_ms());

        if (key.kind != KEY_CHAR)
            play(e);
        if (key.kind == KEY_NONE)
            break;
        if (key.kind == KEY_CHAR)
            feed_readline(e, &key);
        else if (key.kind == KEY_NEWLINE)
            insert_text("\n");
        else
            insert(e, buf_str(key.paste), key.paste->len);
        if (key.kind == KEY_PASTE && key.cut)
            say_cut(e);
    }
}

/* Where pastes have no marks, a line that comes alone may be the beginning of one: see what follows it. */
static ssize_t read_more(const struct editor *e, char *bytes, size_t n, size_t size)
{
    bool marked = e->fancy && !e->keys.working;

    if (marked || e->keys.ahead || e->keys.pasting || n >= BURST_MIN || !memchr(bytes, '\r', n))
        return (ssize_t)n;
    loop_poll(e->loop, STDIN_FILENO, POLLIN, FOLLOWS_MS);
    if (!input_waits())
        return (ssize_t)n;
    ssize_t more = read(STDIN_FILENO, bytes + n, size - n);
    return more > 0 ? (ssize_t)n + more : (ssize_t)n;
}

/* Before anything is drawn for what is typed: the terminal has laid out the line anew already. */
static void look_at_size(struct editor *e)
{
    loop_check(e->loop);
    if (!loop_resized(e->loop))
        return;
    if (!e->hidden)
        readline_clear_resized();
    redraw(e);
}

static void on_input(void *ctx)
{
    struct editor *e = ctx;
    char bytes[4096];

    look_at_size(e);
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);

    if (n > 0)
        n = read_more(e, bytes, (size_t)n, sizeof bytes);
    if (n > 0) {
        keys_feed(&e->keys, bytes, (size_t)n, clock_ms());
        type_keys(e);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        end_of_input(e);
    }
}

static void tell_draft(struct editor *e)
{
    if (e->when_draft)
        e->when_draft(e->when_draft_ctx, buf_str(&e->draft.text), e->draft.queued);
}

/* A key while an answer comes. The terminal makes a signal of Ctrl-C alone. */
static void draft_key(struct editor *e, const struct key *key)
{
    struct draft_line *d = &e->draft;
    unsigned char c = (unsigned char)key->bytes[0];
    size_t mark = c == BACKSPACE ? pastes_mark_before(&e->pastes, buf_str(&d->text), d->text.len) : 0;

    if (c == CTRL_Z || c == CTRL_BACKSLASH)
        kill(0, c == CTRL_Z ? SIGTSTP : SIGQUIT);
    else if (mark)
        draft_line_delete(d, mark);
    else
        draft_line_key(d, key);
}

/* What was read while an answer comes. */
static void draft_keys(void *ctx)
{
    struct editor *e = ctx;
    int64_t at;

    for (struct key key; (key = keys_next(&e->keys, clock_ms())).kind != KEY_NONE;) {
        autofree char *paste = key.kind == KEY_PASTE
                                   ? pastes_add(&e->pastes, buf_str(key.paste), key.paste->len)
                                   : NULL;

        if (key.kind == KEY_CHAR)
            draft_key(e, &key);
        else
            draft_line_add(&e->draft, paste ? paste : "\n", paste ? strlen(paste) : 1);
        e->draft.cut |= key.cut;
    }
    tell_draft(e);
    at = keys_deadline(&e->keys);
    if (at >= 0)
        loop_timer(e->loop, at, draft_keys, e);
}

static void on_draft_input(void *ctx)
{
    struct editor *e = ctx;
    char bytes[4096];

    if (in_background(STDIN_FILENO)) { /* to read would stop us: the keys are for somebody else */
        e->behind = true;
        loop_unwatch(e->loop, STDIN_FILENO);
        return;
    }
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n > 0)
        n = read_more(e, bytes, (size_t)n, sizeof bytes);
    if (n > 0) {
        keys_feed(&e->keys, bytes, (size_t)n, clock_ms());
        draft_keys(e);
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        loop_unwatch(e->loop, STDIN_FILENO); /* the terminal is gone, as the next line will find */
    }
}

/* A shell that brings us to the front again ("bg", then "fg") sends no signal, and leaves its own modes. */
static void look_for_the_terminal(void *unused)
{
    struct editor *e = the_editor;
    bool behind = in_background(STDIN_FILENO);

    (void)unused;
    if (e->behind && !behind) {
        modes_set(MODES_WAITING);
        loop_watch(e->loop, STDIN_FILENO, POLLIN, on_draft_input, e);
    }
    e->behind = behind;
    loop_timer(e->loop, clock_ms() + BACKGROUND_MS, look_for_the_terminal, &e->draft);
}

void editor_read_drafts(struct editor *e, bool on)
{
    e->keys.working = on;
    if (on) {
        loop_watch(e->loop, STDIN_FILENO, POLLIN, on_draft_input, e);
        look_for_the_terminal(NULL);
        draft_keys(e); /* what came with the Enter that ended the line */
        return;
    }
    if (!e->active)
        loop_unwatch(e->loop, STDIN_FILENO);
    loop_timer_stop(e->loop, e);
    loop_timer_stop(e->loop, &e->draft);
}

void editor_when_draft(struct editor *e, void (*fn)(void *ctx, const char *draft, const char *queued),
                       void *ctx)
{
    e->when_draft = fn;
    e->when_draft_ctx = ctx;
}

void editor_take_back(struct editor *e)
{
    draft_line_take_back(&e->draft);
}

/* Begin the line with what was queued, and enter it; or with the draft. */
static void begin_line(struct editor *e)
{
    struct draft_line *d = &e->draft;

    if (e->preset) {
        insert(e, e->preset, strlen(e->preset));
        free(steal(&e->preset));
    } else if (d->queued) {
        insert_text(d->queued);
        free(steal(&d->queued));
        feed_readline(e, &(struct key){.kind = KEY_CHAR, .bytes = "\r", .n = 1});
    } else if (d->text.len) {
        insert_text(buf_str(&d->text));
        buf_clear(&d->text);
    } else if (d->leaving) {
        end_of_input(e);
    }
    d->leaving = false;
    if (d->cut)
        say_cut(e);
    d->cut = false;
}

static int wait_ms(const struct editor *e)
{
    int64_t at = keys_deadline(&e->keys), now = clock_ms();

    return at < 0 ? -1 : at <= now ? 0 : (int)(at - now);
}

static void look_at_signals(struct editor *e)
{
    if (loop_fatal(e->loop)) {
        readline_put("\n");
        finish_editing(e, EDITOR_FATAL);
    } else if (loop_interrupts(e->loop) > 0) {
        loop_arm(e->loop);
        clear_line(e);
    } else {
        look_at_size(e);
        if (modes_continued())
            redraw(e);
    }
}

/* The text that was meant: each paste replaces its placeholder. */
static void take_typed_line(struct editor *e, struct buf *line)
{
    struct buf whole autorelease(buf_release) = BUF_INIT(0);

    if (e->line) {
        pastes_expand(&e->pastes, e->line, &whole);
        utf8_repair(line, buf_str(&whole), whole.len);
    }
    xreplace(&e->typed, steal(&e->line));
    pastes_trim(&e->pastes);
}

const char *editor_typed(const struct editor *e)
{
    return e->typed ? e->typed : "";
}

void editor_preset(struct editor *e, const char *text, size_t len)
{
    xreplace(&e->preset, xmemdup0(text, len));
}

/* What was typed while nobody read it: whole lines are messages of their own. */
static void take_typed_ahead(struct editor *e)
{
    e->keys.ahead = true;
    type_keys(e);
    while (!e->done && input_waits())
        on_input(e);
    e->keys.ahead = false;
}

enum editor_end editor_read(struct editor *e, const char *prompt, struct buf *line)
{
    if (loop_fatal(e->loop))
        return EDITOR_FATAL;
    if (loop_interrupts(e->loop) > 0)
        draft_line_take_back(&e->draft);
    loop_arm(e->loop); /* the Ctrl-C that ended the last question does not concern this line */
    editor_read_drafts(e, false);
    e->done = false;
    e->active = true;
    modes_continued(); /* a stop during the answer: nothing of this line is on the screen yet */
    using_history();   /* Up begins with the latest line again */
    rl_callback_handler_install(prompt, on_line);
    readline_tell_size();
    send_query(e);
    call_at_prompt(e);
    loop_watch(e->loop, STDIN_FILENO, POLLIN, on_input, e);
    begin_line(e);
    if (e->typed_ahead)
        take_typed_ahead(e);
    e->typed_ahead = false;
    while (!e->done) {
        loop_wait(e->loop, wait_ms(e));
        if (!e->done)
            look_at_signals(e);
        type_keys(e);
    }
    loop_unwatch(e->loop, STDIN_FILENO);
    if (e->end == EDITOR_EXTERNAL
        || e->end == EDITOR_AGAIN) /* readline has drawn the prompt again; the line will come back */
        rl_clear_visible_line();
    if (e->end != EDITOR_LINE)
        rl_callback_handler_remove();
    e->active = false;
    take_typed_line(e, line);
    if (e->end == EDITOR_LINE)
        editor_read_drafts(e, true);
    return e->end;
}

void editor_hide(struct editor *e)
{
    if (!e || !e->active || e->hidden || e->done) /* a finished line stays above the news */
        return;
    rl_clear_visible_line();
    fflush(rl_outstream);
    e->hidden = true;
}

void editor_show(struct editor *e)
{
    if (!e || !e->hidden)
        return;
    e->hidden = false;
    rl_on_new_line();
    rl_forced_update_display();
}
