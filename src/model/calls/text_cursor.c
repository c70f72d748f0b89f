/* text_cursor.c - steps one form over one byte: where in the form it is, and whether it can still match.
 * Each slot sees each byte once; only the first bytes of JSON and of Python are read again.
 */
#include "calls/text_cursor.h"

#include <ctype.h>
#include <string.h>

#include "json/json.h"
#include "base/mem.h"
#include "calls/python_call.h"
#include "calls/tool_names.h"

#define NAME_LONGEST  128
#define KEY_LONGEST   64
#define TAG_LONGEST   64
#define JSON_HEAD_MAX 256

/* ---- heads: what may still become a call ---- */

static int starts(const char *s, size_t n, const char *word)
{
    size_t w = strlen(word);
    return memcmp(s, word, n < w ? n : w) ? 0 : n >= w ? 1 : -1;
}

/* Looks for "{" and a first key that calls begin with, perhaps in a list: 1 yes, 0 no, -1 undecided. */
static int json_head(const char *s, size_t n)
{
    static const char *const keys[] = {
        "\"name\"",       "\"tool\"", "\"tool_name\"", "\"function\"",  "\"function_name\"", "\"arguments\"",
        "\"parameters\"", "\"type\"", "\"id\"",        "\"tool_call\"", "\"tool_calls\"",    "\"action\"",
    };
    size_t i = 0;
    for (bool object = false; !object;) {
        while (i < n && isspace((unsigned char)s[i]))
            i++;
        if (i == n)
            return n > JSON_HEAD_MAX ? 0 : -1;
        object = s[i] == '{';
        if (!object && (s[i] != '[' || i))
            return 0;
        i++;
    }
    while (i < n && isspace((unsigned char)s[i]))
        i++;
    int best = i == n && n <= JSON_HEAD_MAX ? -1 : 0;
    for (size_t k = 0; k < countof(keys) && i < n && best < 1; k++) {
        int is = starts(s + i, n - i, keys[k]);
        best = is ? is : best;
    }
    return best;
}

static int head(const struct text_calls *k, const struct text_cursor *c)
{
    const char *s = k->held.data + c->slot.at;
    size_t n = k->at + 1 - c->slot.at;
    switch (*c->step) {
    case AT_CALLS:
        return json_head(s, n);
    case AT_ARGUMENTS:
        return *s == '{';
    default:
        return python_call_head(k->tools, s, n, *c->step == AT_PYTHON_LIST);
    }
}

/* ---- brackets ---- */

static void in_json_string(struct text_cursor *c, char b)
{
    if (c->in.escaped || b == '\\')
        c->in.escaped = !c->in.escaped;
    else if (b == '"')
        c->in.quote = 0;
}

/* Handles a byte in a Python string, or in the quotes that open one. False: b follows an empty string. */
static bool python_string(struct text_cursor *c, char b)
{
    if (!c->in.quotes && b == c->in.quote) {
        if (++c->in.run == 3) {
            c->in.quotes = 3;
            c->in.run = 0;
        }
        return true;
    }
    if (!c->in.quotes && c->in.run == 2) {
        c->in.quote = 0;
        return false;
    }
    if (!c->in.quotes) {
        c->in.quotes = 1;
        c->in.run = 0;
    }
    if (c->in.escaped || b == '\\') {
        c->in.escaped = !c->in.escaped;
        c->in.run = 0;
    } else if (b != c->in.quote) {
        c->in.run = 0;
    } else if (++c->in.run == c->in.quotes) {
        c->in.quote = 0;
    }
    return true;
}

/* True for the bracket that closes the first one. */
static bool closed(struct text_cursor *c, char b, bool python)
{
    if (c->in.quote && !python) {
        in_json_string(c, b);
        return false;
    }
    if (c->in.quote && python_string(c, b))
        return false;
    if (b == '"' || (python && b == '\'')) {
        c->in.quote = b;
        c->in.quotes = 0;
        c->in.run = 1;
    } else if (b && strchr("([{", b) && (python || b != '(')) {
        c->in.depth++;
    } else if (b && strchr(")]}", b) && (python || b != ')')) {
        return --c->in.depth <= 0;
    }
    return false;
}

/* ---- slots ---- */

static size_t mark_length(const char *mark)
{
    size_t n = 0;
    while ((unsigned char)mark[n] > ' ')
        n++;
    return n;
}

static void leave(struct text_cursor *c)
{
    c->open = false;
    c->step++;
}

/* The name has ended: is it a tool's? */
static bool name_known(struct text_calls *k, struct text_cursor *c)
{
    c->name = (struct text_slice){c->slot.at, k->at - c->slot.at};
    autofree char *name = text_slice(k, c->name);
    return *name && tool_names_find(k->tools, name);
}

static bool word_byte(int b)
{
    return b != TEXT_EOF && (isalnum(b) || strchr("_-.", b)) && b;
}

/* Reads up to the mark after the slot. 1: b completes it. */
static int up_to_mark(struct text_calls *k, struct text_cursor *c, char b, struct text_slice *s)
{
    const char *mark = c->step + 1;
    size_t n = mark_length(mark);
    if (b == mark[c->slot.len])
        c->slot.len++;
    else
        c->slot.len = b == mark[0]; /* the first byte of a mark never occurs in it again */
    if (c->slot.len < n)
        return 0;
    *s = (struct text_slice){c->slot.at, k->at + 1 - n - c->slot.at};
    c->open = false;
    c->step += 1 + n;
    return 1;
}

/* in.quotes: the position in its line; in.run: the number of backticks; slot.len: where the line begins. */
static enum text_fit fenced(struct text_calls *k, struct text_cursor *c, int b)
{
    enum { BEFORE, TICKS, BEHIND, OTHER };
    if (b == TEXT_EOF || b == '\n') {
        if ((c->in.quotes == TICKS || c->in.quotes == BEHIND) && c->in.run >= 3) {
            c->body = (struct text_slice){c->slot.at, c->slot.len};
            leave(c);
            return TEXT_DONE;
        }
        c->slot.len = k->at + 1 - c->slot.at;
        c->in.quotes = BEFORE;
        c->in.run = 0;
        return b == TEXT_EOF ? TEXT_DEAD : TEXT_ON;
    }
    if (b == '{' && !c->in.decided)
        return TEXT_DEAD; /* JSON of a tool that is not ours */
    c->in.decided = c->in.decided || !isspace(b);
    if (b == '`' && c->in.quotes <= TICKS) {
        c->in.quotes = TICKS;
        c->in.run += c->in.run < 3;
    } else if (!strchr(" \t\r", b) || !b) {
        c->in.quotes = OTHER;
    } else if (c->in.quotes == TICKS) {
        c->in.quotes = BEHIND;
    }
    return TEXT_ON;
}

/* Handles JSON that never closed its brackets. When it is clearly meant as a call, the model is told; it
 * cannot run. */
static enum text_fit broken_json(struct text_calls *k, struct text_cursor *c)
{
    static const char *const ends[] = {"\n```", "</", "<|"};
    const char *s = k->held.data + c->slot.at;
    size_t n = k->held.len - c->slot.at;
    for (size_t i = 0; i < countof(ends); i++) {
        const char *end = memmem(s, n, ends[i], strlen(ends[i]));
        n = end ? (size_t)(end - s) : n;
    }
    c->body = (struct text_slice){c->slot.at, n};
    leave(c);
    return TEXT_DONE;
}

static enum text_fit brackets(struct text_calls *k, struct text_cursor *c, int b)
{
    char slot = *c->step;
    bool python = slot == AT_PYTHON_LIST || slot == AT_PYTHON_CALL;
    if (b == TEXT_EOF)
        return slot == AT_CALLS && c->in.decided ? broken_json(k, c) : TEXT_DEAD;
    if (!c->in.decided) {
        int is = head(k, c);
        if (!is)
            return TEXT_DEAD;
        c->in.decided = is > 0;
    }
    if (!closed(c, (char)b, python))
        return TEXT_ON;
    if (python && c->n == TEXT_ARGUMENTS)
        return TEXT_DEAD;
    c->body = (struct text_slice){c->slot.at, k->at + 1 - c->slot.at};
    if (python)
        c->value[c->n++] = c->body;
    leave(c);
    return TEXT_DONE;
}

static enum text_fit value(struct text_calls *k, struct text_cursor *c, int b)
{
    if (b == TEXT_EOF || c->n == TEXT_ARGUMENTS)
        return TEXT_DEAD;
    if (!up_to_mark(k, c, (char)b, &c->value[c->n]))
        return TEXT_ON;
    c->n++;
    return TEXT_DONE;
}

static enum text_fit code(struct text_calls *k, struct text_cursor *c, int b)
{
    /* JSON or tags belong to another form, or to none. */
    if (b == TEXT_EOF || (!c->in.decided && (b == '{' || b == '<')))
        return TEXT_DEAD;
    c->in.decided = c->in.decided || !isspace(b);
    return up_to_mark(k, c, (char)b, &c->body) ? TEXT_DONE : TEXT_ON;
}

static enum text_fit tag(struct text_calls *k, struct text_cursor *c, int b)
{
    struct text_slice s;
    if (b == TEXT_EOF || b == '\n' || b == '<' || k->at - c->slot.at > TAG_LONGEST)
        return TEXT_DEAD;
    return up_to_mark(k, c, (char)b, &s) ? TEXT_DONE : TEXT_ON;
}

/* The whole form matches up to end. Of two forms the earlier wins, of two lengths the longer. */
static enum text_fit offer(struct text_calls *k, const struct text_cursor *c, size_t end)
{
    struct calls found = {.tools = k->tools};
    if (k->best.form && c->form > k->best.form)
        return TEXT_DEAD;
    if (c->form->kind == FORM_CALL) {
        text_say(k, c, &found);
        if (!found.n)
            return TEXT_DEAD;
    }
    calls_release(&k->best.calls);
    k->best.form = c->form;
    k->best.calls = found;
    k->best.end = end;
    return TEXT_DONE;
}

/* ---- one byte ---- */

static void fork_loop(struct text_calls *k, const struct text_cursor *c)
{
    if (k->n_cursors == TEXT_CURSORS || c->n == TEXT_ARGUMENTS)
        return;
    struct text_cursor *other = &k->cursor[k->n_cursors++];
    *other = *c;
    other->step = c->loop;
}

static void enter(struct text_calls *k, struct text_cursor *c)
{
    if (c->open)
        return;
    c->open = true;
    c->slot = (struct text_slice){k->at, 0};
    memset(&c->in, 0, sizeof c->in);
}

/* For slots that end at the byte after them. True while b is inside, or when b ended the slot badly
 * (*dead). */
static bool in_word(struct text_calls *k, struct text_cursor *c, int b, bool *dead)
{
    size_t n = k->at - c->slot.at;
    bool name = *c->step == AT_NAME;
    if (word_byte(b) || (name && (b == ':' || b == '$'))) {
        *dead = n >= (name ? NAME_LONGEST : KEY_LONGEST);
        return true;
    }
    if (name) {
        *dead = !name_known(k, c);
    } else {
        *dead = !n || c->n == TEXT_ARGUMENTS;
        if (!*dead)
            c->key[c->n] = (struct text_slice){c->slot.at, n};
    }
    return *dead;
}

static bool in_fence(struct text_calls *k, struct text_cursor *c, int b, bool *dead)
{
    if (b == '`')
        return true;
    *dead = k->at - c->slot.at < 3;
    return *dead;
}

static bool in_attributes(struct text_calls *k, struct text_cursor *c, int b, bool *dead)
{
    *dead = b == TEXT_EOF || b == '<' || b == '\n' || k->at - c->slot.at > TAG_LONGEST;
    return *dead || b != '>';
}

/* Tells what the next byte decides. TEXT_DONE: the slot is over and has taken the byte; TEXT_ON: go on with
 * the next byte. */
static enum text_fit in_slot(struct text_calls *k, struct text_cursor *c, int b)
{
    switch (*c->step) {
    case AT_VALUE:
        return value(k, c, b);
    case AT_CODE:
        return code(k, c, b);
    case AT_TAG:
        return tag(k, c, b);
    case AT_FENCED:
        return fenced(k, c, b);
    case AT_HARMONY:
        if (b == TEXT_EOF)
            leave(c);
        return b == TEXT_EOF ? TEXT_DONE : TEXT_ON;
    default:
        return brackets(k, c, b);
    }
}

static enum text_fit line_end(struct text_cursor *c, int b)
{
    if (b == '\n')
        c->step++;
    return b == '\n' ? TEXT_DONE : b == ' ' || b == '\t' || b == '\r' ? TEXT_ON : TEXT_DEAD;
}

/* Moves past one step that does not take b. False: the step took b, or the cursor is dead. */
static bool pass_over(struct text_calls *k, size_t i, int b, bool *dead)
{
    struct text_cursor *c = &k->cursor[i];
    switch (*c->step) {
    case '\0':
        *dead = !c->outer; /* the match was offered already */
        c->outer = false;
        c->step = c->form->mark;
        return !*dead;
    case ' ':
        if (b != TEXT_EOF && isspace(b))
            return false;
        c->step++;
        return true;
    case AT_EACH:
        c->loop = ++c->step;
        return true;
    case AT_AGAIN:
        fork_loop(k, c);
        c->step++;
        return true;
    case AT_WHOLE:
        *dead = offer(k, c, k->at) == TEXT_DEAD;
        c->step++;
        return !*dead;
    default: {
        bool inside = *c->step == AT_FENCE        ? in_fence(k, c, b, dead)
                      : *c->step == AT_ATTRIBUTES ? in_attributes(k, c, b, dead)
                                                  : in_word(k, c, b, dead);
        if (!inside)
            leave(c);
        return !inside;
    }
    }
}

static bool takes_no_byte(char step)
{
    return strchr(" " EACH AGAIN WHOLE NAME KEY FENCE ATTRIBUTES, step) != NULL;
}

static bool is_entered(char step)
{
    static const char slots[] =
        NAME KEY FENCE ATTRIBUTES VALUE CODE TAG FENCED HARMONY CALLS ARGUMENTS PYTHON_LIST PYTHON_CALL;
    return step && strchr(slots, step);
}

enum text_fit text_cursor_step(struct text_calls *k, size_t i, int b)
{
    struct text_cursor *c = &k->cursor[i];
    bool dead = false;
    for (;;) {
        if (is_entered(*c->step))
            enter(k, c);
        if (!takes_no_byte(*c->step))
            break;
        if (!pass_over(k, i, b, &dead))
            return dead ? TEXT_DEAD : TEXT_ON;
    }
    enum text_fit fit = TEXT_DONE;
    if (*c->step == AT_LINE_END)
        fit = line_end(c, b);
    else if ((unsigned char)*c->step < ' ')
        fit = in_slot(k, c, b);
    else if (b != (unsigned char)*c->step)
        fit = TEXT_DEAD;
    else
        c->step++;
    if (fit != TEXT_DONE)
        return fit;
    if (*c->step || c->outer)
        return TEXT_ON;
    return offer(k, c, b == TEXT_EOF ? k->held.len : k->at + 1);
}

static void shift(struct text_slice *s, size_t by)
{
    s->at -= s->at < by ? 0 : by;
}

void text_cursor_shift(struct text_cursor *c, size_t by)
{
    shift(&c->slot, by);
    shift(&c->name, by);
    shift(&c->body, by);
    for (size_t i = 0; i < TEXT_ARGUMENTS; i++) {
        shift(&c->key[i], by);
        shift(&c->value[i], by);
    }
}
