/* text_calls.c - feeds text to every form that may match, and takes the calls when one is complete. Bytes in
 * held are in one of three states: plain (passed on one by one), followed by cursors (one for each form that
 * still matches), or in a thought.
 *
 * RULE: A call written as text counts only if it is whole, outside of fences, of a known tool, and the only
 *     one.
 */
#include "calls/text_calls.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "calls/text_cursor.h"

#define HELD_MAX  (512u << 10) /* bytes; anything longer is text */
#define PIECE     (64u << 10)  /* bytes fed at a time, so that held stays near its limit */
#define LATE      512          /* bytes; a form that fails after this many costs a try */
#define SPACE_MAX 4096         /* bytes before the first word */
#define TRIES     16
#define CALLS_MAX 64 /* the agent runs at most 32 of one reply */
#define TAKEN_MAX (1u << 20)
/* Bytes that are still read after a call, in case a thought ends there or a structured call comes. */
#define INVENTED_MAX 4096

void text_calls_init(struct text_calls *k, const struct llm_toolset *tools, struct buf *text,
                     struct buf *thoughts)
{
    *k = (struct text_calls){.text = text,
                             .thoughts = thoughts,
                             .tools = tools,
                             .calls.tools = tools,
                             .tries = TRIES,
                             .blank = true};
    buf_init(&k->held, HELD_MAX + 2 * PIECE);
    buf_init(&k->taken, 2 * TAKEN_MAX);
    buf_init(&k->space, SPACE_MAX);
}

void text_calls_release(struct text_calls *k)
{
    if (!k)
        return;
    buf_release(&k->held);
    buf_release(&k->taken);
    buf_release(&k->space);
    calls_release(&k->calls);
    calls_release(&k->best.calls);
}

/* ---- where in the text ---- */

static void line_over(struct text_calls *k)
{
    bool closes = k->fence && k->run_of == k->fence && k->run >= k->fence_len && !k->line_tail;
    if (!k->fence && k->run >= 3) {
        k->fence = k->run_of;
        k->fence_len = k->run;
    } else if (closes) {
        k->fence = '\0';
    }
    k->blank = true;
    k->code = false;
    k->run = k->line_tail = 0;
}

/* Updates the state of lines, fences and backticks for a byte that is text. */
static void follow(struct text_calls *k, char b)
{
    bool tick = b == '`' || b == '~';
    k->before = b;
    if (b == '\n') {
        line_over(k);
        return;
    }
    if (isspace((unsigned char)b)) {
        k->line_tail += k->line_tail > 0;
        return;
    }
    if (tick && (k->blank || (k->run && !k->line_tail && b == k->run_of))) {
        k->run_of = b;
        k->run++;
    } else {
        k->line_tail++;
        if (b == '`' && k->run_of == '`' && k->run >= 3)
            k->run = 0; /* ```x``` on one line is code within text */
    }
    k->code = k->code != (b == '`');
    if (b != ':' || k->visible != '"') /* the colon of a member of an object ends no sentence */
        k->visible = b;
    k->blank = false;
    k->begun = true;
}

static void forget_place(struct text_calls *k)
{
    k->begun = k->code = false;
    k->blank = true;
    k->fence = k->before = k->visible = '\0';
    k->run = k->line_tail = 0;
}

/* ---- text that is passed on ---- */

static void pass(struct text_calls *k, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool first = !k->begun;
        follow(k, s[i]);
        if (first && !k->begun && k->space.len < SPACE_MAX) {
            if (!k->thought_over) /* the blank lines after a thought are not text */
                buf_addch(&k->space, s[i]);
            continue;
        }
        if (first) {
            k->begun = true;
            buf_add(k->text, buf_str(&k->space), k->space.len);
            buf_release(&k->space);
        }
        buf_addch(k->text, s[i]);
    }
}

/* What was taken for calls is text after all. */
static void give_back(struct text_calls *k)
{
    struct buf was autorelease(buf_release) = k->taken;
    buf_init(&k->taken, 2 * TAKEN_MAX);
    calls_drop(&k->calls, 0);
    k->sure = 0;
    pass(k, buf_str(&was), was.len);
}

static bool behind(const struct text_calls *k)
{
    return k->calls.n > 0;
}

static bool between_calls(char b)
{
    return isspace((unsigned char)b) || (b && strchr("`;,]", b));
}

/* Takes a byte of a reply that already has a call. False: those were not calls, and the byte is text. */
static bool pass_behind(struct text_calls *k, char b)
{
    if (k->invented || !between_calls(b)) {
        if (!k->sure) {
            give_back(k);
            return false;
        }
        calls_drop(&k->calls, k->sure);
        k->enough = ++k->invented > INVENTED_MAX;
    }
    buf_addch(&k->taken, b);
    k->enough = k->enough || k->taken.len > TAKEN_MAX;
    return true;
}

static void pass_byte(struct text_calls *k, char b)
{
    if (!behind(k) || !pass_behind(k, b))
        pass(k, &b, 1);
}

/* ---- forms ---- */

/* False between the elements of a list, whose beginning may have been a call. */
static bool behind_word(const struct text_calls *k)
{
    unsigned char b = (unsigned char)k->visible;
    return isspace((unsigned char)k->before) && b && (isalnum(b) || b >= 0x80 || strchr(".:!?", b));
}

static bool may_begin(const struct text_calls *k, const struct form *f)
{
    if (f->kind == FORM_END)
        return behind(k) && !k->invented;
    if (f->kind == FORM_THOUGHT)
        return true;
    if (k->fence)
        return false;
    if (f->kind == FORM_CLOSE)
        return !k->opened && !strchr("\"'`", k->before ? k->before : ' ');
    if (k->code)
        return false;
    if (!k->tries || k->invented || k->calls.n >= CALLS_MAX)
        return false;
    bool line = k->blank && (f->place == FORM_LINE || f->place == FORM_WORD);
    return behind(k) || f->place == FORM_ANYWHERE || line || (f->place == FORM_WORD && behind_word(k))
           || !k->begun;
}

/* Compares only the first bytes, as far as they have come. */
static bool may_open(const char *mark, const char *s, size_t n)
{
    switch (*mark) {
    case AT_CALLS:
        return *s == '{' || *s == '[';
    case AT_PYTHON_LIST:
        return *s == '[';
    case AT_FENCE:
        return *s == '`';
    default:
        while (n && (unsigned char)*mark > ' ' && *mark == *s)
            mark++, s++, n--;
        return !n || (unsigned char)*mark <= ' ';
    }
}

static void open_cursor(struct text_calls *k, const struct form *f, const char *mark, bool outer)
{
    if (k->n_cursors == TEXT_CURSORS)
        return;
    size_t i = k->n_cursors++;
    k->cursor[i] = (struct text_cursor){.form = f, .step = mark, .outer = outer};
}

static bool interesting(const struct text_calls *k, unsigned char b)
{
    return b && strchr(k->fence ? "<[" : "<[{`act", b) && (!isalpha(b) || k->blank || behind(k));
}

/* Opens a cursor for each form that begins with the byte at from. False: no form does. */
static bool open_forms(struct text_calls *k)
{
    const char *s = k->held.data + k->from;
    size_t n = k->held.len - k->from;
    if (!interesting(k, (unsigned char)*s))
        return false;
    for (size_t i = 0; i < text_forms_n; i++) {
        const struct form *f = &text_forms[i];
        if (!may_begin(k, f))
            continue;
        if (may_open(f->mark, s, n))
            open_cursor(k, f, f->mark, false);
        for (size_t m = 0; m < countof(f->outer) && f->outer[m]; m++)
            if (may_open(f->outer[m], s, n))
                open_cursor(k, f, f->outer[m], true);
    }
    k->at = k->from;
    return k->n_cursors > 0;
}

static void keep_cursors(struct text_calls *k, const bool *dead, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (!dead[i] && !(k->best.form && k->cursor[i].form > k->best.form) && kept++ != i)
            k->cursor[kept - 1] = k->cursor[i];
    k->n_cursors = kept;
}

static void step_cursors(struct text_calls *k, int b)
{
    bool dead[TEXT_CURSORS] = {false};
    for (size_t i = 0; i < k->n_cursors; i++) /* the step may add cursors */
        dead[i] = text_cursor_step(k, i, b) != TEXT_ON;
    keep_cursors(k, dead, k->n_cursors);
}

/* Everything before was a thought: what was passed on, what was taken for calls, and what is about to be
 * passed on. */
static void retract(struct text_calls *k)
{
    buf_add(k->thoughts, buf_str(&k->space), k->space.len);
    buf_add(k->thoughts, buf_str(k->text), k->text->len);
    buf_clear(k->text);
    buf_add(k->thoughts, buf_str(&k->taken), k->taken.len);
    buf_clear(&k->taken);
    buf_clear(&k->space);
    calls_drop(&k->calls, 0);
    k->sure = k->invented = 0;
    k->retracted = k->opened = k->thought_over = true;
    forget_place(k);
}

static void take_written_calls(struct text_calls *k, struct calls *found, bool sure)
{
    if (!behind(k))
        buf_add(&k->taken, buf_str(&k->space), k->space.len); /* white space before a call is not text */
    buf_release(&k->space);
    calls_move(&k->calls, found);
    k->sure = sure ? k->calls.n : k->sure;
}

/* Takes the whole form that was found. */
static void take_form(struct text_calls *k)
{
    const struct form *f = k->best.form;
    const char *s = k->held.data + k->from;
    size_t n = k->best.end - k->from;
    struct calls found = k->best.calls;
    k->best.form = NULL;
    k->best.calls = (struct calls){0};
    k->n_cursors = 0;
    k->from = k->best.end;
    if (f->kind == FORM_CALL) {
        take_written_calls(k, &found, !f->alone);
        buf_add(&k->taken, s, n);
        k->enough = k->enough || k->taken.len > TAKEN_MAX;
    } else if (f->kind == FORM_CLOSE) {
        retract(k);
    } else if (f->kind == FORM_END) {
        buf_add(&k->taken, s, n);
    } else if (!k->begun && !behind(k)) {
        k->thought = f;
        k->opened = true;
        k->close_len = 0;
        buf_release(&k->space);
    } else {
        k->opened = true;
        for (size_t i = 0; i < n; i++) /* the text only talks about the tag */
            pass_byte(k, s[i]);
    }
}

/* No form matches any more. */
static void give_up_forms(struct text_calls *k)
{
    const char *s = k->held.data + k->from;
    if (k->at - k->from > LATE && k->tries)
        k->tries--;
    k->n_cursors = 0;
    pass_byte(k, *s);
    k->from++;
}

static void decide_form(struct text_calls *k)
{
    if (k->best.form)
        take_form(k);
    else
        give_up_forms(k);
}

/* ---- the three states; each is false when it wants more bytes ---- */

static bool plain(struct text_calls *k)
{
    while (k->from < k->held.len && !k->enough && !open_forms(k))
        pass_byte(k, k->held.data[k->from++]);
    return k->n_cursors > 0;
}

static bool chase(struct text_calls *k, bool at_end)
{
    while (k->at < k->held.len && k->n_cursors && k->at - k->from < HELD_MAX) {
        step_cursors(k, (unsigned char)k->held.data[k->at]);
        k->at++;
    }
    if (k->n_cursors && k->at == k->held.len && k->at - k->from < HELD_MAX && !at_end)
        return false;
    if (k->n_cursors && k->at == k->held.len && at_end)
        step_cursors(k, TEXT_EOF);
    decide_form(k);
    return true;
}

static bool think(struct text_calls *k)
{
    const char *close = k->thought->close;
    size_t n = strlen(close);
    for (; k->from < k->held.len && k->close_len < n; k->from++) {
        char b = k->held.data[k->from];
        if (b == close[k->close_len]) {
            k->close_len++;
            continue;
        }
        buf_add(k->thoughts, close, k->close_len);
        k->close_len = b == close[0];
        if (!k->close_len)
            buf_addch(k->thoughts, b);
    }
    if (k->close_len < n)
        return false;
    k->thought = NULL;
    k->thought_over = true;
    forget_place(k);
    return true;
}

/* The beginning of such a thought is missing, so all text waits for its end. When no end comes, it is
 * text. */
static bool await(struct text_calls *k, bool at_end)
{
    static const char close[] = "</think>", open[] = "<think>";
    size_t n = sizeof close - 1, back = k->at < n ? 0 : k->at - n;
    const char *s = k->held.data, *found = memmem(s + back, k->held.len - back, close, n);
    k->at = k->held.len;
    k->awaited = !at_end && !found && k->held.len < HELD_MAX;
    if (!found || found - s >= HELD_MAX)
        return !k->awaited;
    k->from = (size_t)(found - s) + n;
    size_t skip = strspn(s, " \t\r\n");
    skip = !strncmp(s + skip, open, sizeof open - 1) ? skip + sizeof open - 1 : 0;
    buf_add(k->thoughts, s + skip, (size_t)(found - s) - skip);
    k->opened = k->thought_over = true;
    return true;
}

static bool go_on(struct text_calls *k, bool at_end)
{
    if (k->awaited)
        return await(k, at_end);
    return k->thought ? think(k) : k->n_cursors ? chase(k, at_end) : plain(k);
}

static void search_forms(struct text_calls *k, bool at_end)
{
    while (!k->enough && (k->from < k->held.len || k->n_cursors) && go_on(k, at_end))
        ;
    buf_drop(&k->held, k->from);
    k->at -= k->at > k->from ? k->from : k->at;
    for (size_t i = 0; i < k->n_cursors && k->from; i++)
        text_cursor_shift(&k->cursor[i], k->from);
    k->best.end -= k->best.form ? k->from : 0;
    k->from = 0;
}

bool text_calls_feed(struct text_calls *k, const char *s, size_t n)
{
    for (size_t step; n && !k->enough; s += step, n -= step) {
        step = n < PIECE ? n : PIECE;
        buf_add(&k->held, s, step);
        search_forms(k, false);
    }
    return k->enough;
}

void text_calls_end(struct text_calls *k, enum text_end how)
{
    if (how != TEXT_WHOLE) { /* half a form is not a call */
        k->tries = 0;
        k->n_cursors = 0;
        k->best.form = NULL;
        calls_release(&k->best.calls);
    }
    search_forms(k, true);
    if (k->thought)
        buf_add(k->thoughts, k->thought->close, k->close_len);
    if (how != TEXT_WHOLE)
        calls_drop(&k->calls, how == TEXT_CUT ? k->sure : 0);
    if (!behind(k)) {
        give_back(k);
        if (!k->begun && !k->thought_over)
            buf_add(k->text, buf_str(&k->space), k->space.len);
    }
    buf_release(&k->space);
}
