/* leak.c - see leak.h. Probing happens byte by byte at the start of a line only, and is decided within a few bytes. */
#include "llm/leak.h"

#include <ctype.h>
#include <string.h>

#define HELD_MAX (512u << 10)   /* beyond, it is text */
#define PROBE_MAX 1024

void leak_init(struct leak *k, const struct llm_tool *tools, size_t n_tools)
{
    *k = (struct leak){.tools = tools, .n_tools = n_tools};
    buf_init(&k->held, HELD_MAX);
}

void leak_release(struct leak *k)
{
    if (!k)
        return;
    buf_release(&k->held);
    calls_release(&k->calls);
}

enum { NO, YES, MAYBE };

static int starts(const char *s, size_t n, const char *word)
{
    size_t w = strlen(word);
    if (memcmp(s, word, n < w ? n : w))
        return NO;
    return n >= w ? YES : MAYBE;
}

static int any(const char *s, size_t n, const char *const *words)
{
    int best = NO;
    for (; *words; words++) {
        int r = starts(s, n, *words);
        if (r == YES)
            return YES;
        if (r == MAYBE)
            best = MAYBE;
    }
    return best;
}

static size_t skip_space(const char *s, size_t n, size_t i)
{
    while (i < n && isspace((unsigned char)s[i]))
        i++;
    return i;
}

/* "{" and a first key that calls begin with. */
static int probe_object(const char *s, size_t n)
{
    static const char *const keys[] = {"\"name\"", "\"tool\"", "\"tool_name\"", "\"function\"", "\"function_name\"", "\"arguments\"",
                                       "\"parameters\"", "\"type\"", "\"id\"", "\"tool_call\"", "\"action\"", NULL};
    if (*s != '{')
        return NO;
    size_t i = skip_space(s, n, 1);
    return i == n ? MAYBE : any(s + i, n - i, keys);
}

static int probe_fence(const char *s, size_t n, bool at_start)
{
    static const char *const tags[] = {"json", "tool_call", "tool_calls", "tool_code", "tool", NULL};
    size_t i = 0;
    while (i < n && s[i] == '`')
        i++;
    if (i == n)
        return i < 16 ? MAYBE : NO;
    if (i < 3)
        return NO;
    size_t tag = i;
    while (i < n && s[i] != '\n' && i - tag < 24)
        i++;
    size_t len = i - tag;
    while (len && (s[tag + len - 1] == '\r' || s[tag + len - 1] == ' '))
        len--;
    if (i == n)
        return len ? any(s + tag, len, tags) == NO ? NO : MAYBE : MAYBE;
    bool known = !len && at_start;             /* a bare fence may as well be the end of another */
    for (size_t t = 0; tags[t]; t++)
        known = known || (strlen(tags[t]) == len && !memcmp(s + tag, tags[t], len));
    if (s[i] != '\n' || !known)
        return NO;
    i = skip_space(s, n, i);
    return i == n ? MAYBE : probe_object(s + i, n - i);
}

static int probe(const char *s, size_t n, bool at_start, enum leak_kind *kind)
{
    static const char *const harmony[] = {"<|channel|>", "<|start|>", "<|message|>", "<|constrain|>", "commentary to=", "analysis to=",
                                          "commentary<|", "assistant<|channel|>", "assistantcommentary to=", "to=functions.", NULL};
    size_t i = skip_space(s, n, 0);
    if (i == n)
        return MAYBE;
    s += i;
    n -= i;
    struct { enum leak_kind kind; int r; } is[] = {
        {LEAK_TAG, starts(s, n, "<tool_call>")},
        {LEAK_FENCE, probe_fence(s, n, at_start)},
        {LEAK_OBJECT, at_start ? probe_object(s, n) : NO},
        {LEAK_HARMONY, at_start ? any(s, n, harmony) : NO},
    };
    int best = NO;
    for (size_t k = 0; k < sizeof is / sizeof *is; k++) {
        if (is[k].r == YES) {
            *kind = is[k].kind;
            return YES;
        }
        if (is[k].r == MAYBE)
            best = MAYBE;
    }
    return best;
}

static void pass(struct leak *k, struct buf *out)
{
    buf_add(out, buf_str(&k->held), k->held.len);
    for (size_t i = 0; i < k->held.len && !k->begun; i++)
        k->begun = !isspace((unsigned char)k->held.data[i]);
    k->mid_line = k->held.len && k->held.data[k->held.len - 1] != '\n';
    buf_clear(&k->held);
    k->kind = LEAK_NONE;
    k->checked = 0;
}

/* The inside of a whole fence or tag: [*from, *from + *len). False while its end is not there. */
static bool inside(struct leak *k, bool at_end, size_t *from, size_t *len)
{
    const char *s = k->held.data, *open, *end;
    size_t n = k->held.len;
    if (k->kind == LEAK_TAG) {
        open = (const char *)memmem(s, n, "<tool_call>", 11) + 11;
        size_t back = k->checked > 12 ? k->checked - 12 : 0;
        end = memmem(s + back, n - back, "</tool_call>", 12);
        k->checked = n;
        if (!end && !at_end)
            return false;
        *from = (size_t)(open - s);
        *len = (end ? end : s + n) - open;
        return true;
    }
    const char *tick = memchr(s, '`', n);
    open = memchr(tick, '\n', n - (size_t)(tick - s));
    size_t back = k->checked > 1 ? k->checked - 1 : 0;
    for (const char *p = s + back; (p = memchr(p, '\n', n - (size_t)(p - s))); p++) {
        const char *line = p + 1, *stop = memchr(line, '\n', n - (size_t)(line - s));
        const char *t = stop ? stop : s + n;
        k->checked = (size_t)(p - s);          /* this line is looked at again until it is whole */
        while (line < t && (*line == ' ' || *line == '\t'))
            line++;
        size_t ticks = 0;
        while (line + ticks < t && line[ticks] == '`')
            ticks++;
        bool only = line + ticks == t || (line + ticks + 1 == t && line[ticks] == '\r');
        if (ticks >= 3 && only && (stop || at_end) && p >= open) {
            *from = (size_t)(open - s);
            *len = (size_t)(p - open);
            return true;
        }
    }
    if (!at_end)
        return false;
    *from = (size_t)(open - s);
    *len = (size_t)(s + n - open);
    return true;
}

static bool take(struct leak *k, bool at_end)
{
    size_t from, len;
    if (!inside(k, at_end, &from, &len))
        return false;
    if (calls_from_text(&k->calls, k->held.data + from, len, k->tools, k->n_tools)) {
        buf_clear(&k->held);
        enum leak_kind was = k->kind;
        k->kind = LEAK_NONE;
        k->checked = 0;
        return was == LEAK_FENCE;
    }
    k->kind = LEAK_NONE;        /* no call: released by the caller */
    return false;
}

/* The caller has seen to it that there is room. */
static size_t feed_held(struct leak *k, const char *s, size_t n, struct buf *out, bool *whole)
{
    bool has_end = k->kind == LEAK_TAG || k->kind == LEAK_FENCE;
    const char *stop = has_end ? memchr(s, k->kind == LEAK_TAG ? '>' : '\n', n) : NULL;
    size_t step = stop ? (size_t)(stop - s) + 1 : n;
    buf_add(&k->held, s, step);
    if (stop) {
        *whole = take(k, false);
        if (k->kind == LEAK_NONE && k->held.len)
            pass(k, out);
    }
    return step;
}

bool leak_feed(struct leak *k, const char *s, size_t n, struct buf *out)
{
    bool whole = false;
    while (n && !whole) {
        size_t step;
        if (k->kind != LEAK_NONE && k->held.len + n > HELD_MAX)
            pass(k, out);
        if (k->kind != LEAK_NONE) {
            step = feed_held(k, s, n, out, &whole);
        } else if (k->mid_line) {
            const char *lf = memchr(s, '\n', n);
            step = lf ? (size_t)(lf - s) + 1 : n;
            buf_add(out, s, step);
            k->begun = true;
            k->mid_line = !lf;
        } else {
            buf_addch(&k->held, *s);
            step = 1;
            int r = probe(k->held.data, k->held.len, !k->begun, &k->kind);
            if (r == NO || (r == MAYBE && k->held.len > PROBE_MAX))
                pass(k, out);
        }
        s += step;
        n -= step;
    }
    return whole;
}

static bool salvage_held(struct leak *k)
{
    size_t from, len;
    switch (k->kind) {
    case LEAK_OBJECT:
        return calls_from_text(&k->calls, k->held.data, k->held.len, k->tools, k->n_tools);
    case LEAK_HARMONY:
        return calls_from_harmony(&k->calls, k->held.data, k->held.len, k->tools, k->n_tools);
    case LEAK_TAG:
    case LEAK_FENCE:
        return inside(k, true, &from, &len) && calls_from_text(&k->calls, k->held.data + from, len, k->tools, k->n_tools);
    case LEAK_NONE:
        break;
    }
    return false;
}

void leak_end(struct leak *k, bool salvage, struct buf *out)
{
    if (!k->held.len || (salvage && salvage_held(k)))
        buf_clear(&k->held);
    else
        pass(k, out);
}
