/* keys.c - splits a terminal's bytes into characters and whole pastes.
 *
 * RULE: What the terminal replies to a query is never taken for something typed.
 */
#include "term/keys.h"

#include <string.h>

#include "base/mem.h"
#include "base/scrub.h"
#include "base/utf8.h"
#include "conversation/conversation.h"
#include "show/graphics.h"

#define MARK 6
static const char begin_mark[] = "\033[200~", end_mark[] = "\033[201~";

/* Sequences that mean something to us, before readline sees them. */
static const struct {
    const char *bytes;
    enum key_kind kind;
} marks[] = {
    {begin_mark, KEY_PASTE},
    {"\033\r", KEY_NEWLINE}, /* Alt-Enter */
    {"\033\n", KEY_NEWLINE},
    /* Shift-Enter and Alt-Enter, from terminals that tell them apart */
    {"\033[13;2u", KEY_NEWLINE},
    {"\033[13;3u", KEY_NEWLINE},
    {"\033[27;2;13~", KEY_NEWLINE},
    {"\033[27;3;13~", KEY_NEWLINE},
};

void keys_init(struct keys *k)
{
    memset(k, 0, sizeof *k);
    buf_init(&k->paste, QUESTION_MAX);
}

void keys_release(struct keys *k)
{
    if (!k)
        return;
    buf_release(&k->raw);
    buf_release(&k->paste);
    buf_release(&k->clean);
}

/* Leave a byte that is no character in place of the reply. It is dropped in its turn, and until then it keeps
 * apart what was typed before the reply and after it. */
#define REPLY_WAS_HERE ((char)0xff)
static void cut_out(struct buf *b, size_t at, size_t n)
{
    b->data[at] = REPLY_WAS_HERE;
    memmove(b->data + at + 1, b->data + at + n, b->len - at - n);
    b->len -= n - 1;
    buf_end(b);
}

/* Take out the whole replies, but not between the marks of a paste. At once, and not when their turn comes:
 * somebody may wait for them while nobody reads what was typed. */
static void take_replies(struct keys *k)
{
    bool pasting = k->pasting && !k->burst;

    for (size_t i = 0; i < k->raw.len;) {
        const char *s = k->raw.data + i, *mark = pasting ? end_mark : begin_mark;
        size_t left = k->raw.len - i;
        int n = pasting ? REPLY_NONE : reply_length(s, left);

        if (left >= MARK && !memcmp(s, mark, MARK)) {
            pasting = !pasting;
            i += MARK;
        } else if (n > 0) {
            if (k->reply)
                k->reply(k->ctx, s, (size_t)n);
            cut_out(&k->raw, i, (size_t)n);
        } else {
            const char *next = memchr(s + 1, '\033', left - 1);

            i = next ? (size_t)(next - k->raw.data) : k->raw.len;
        }
    }
}

static bool is_line_end(char c)
{
    return c == '\r' || c == '\n';
}

/* Are there line ends and text, or, if behind, text behind a line end? What begins with an ESC is a key or a
 * reply, of which all may not have come yet. */
static bool has_lines(const struct keys *k, bool behind)
{
    bool ended = false, text = false;

    for (size_t i = 0; i < k->raw.len && k->raw.data[i] != '\033'; i++) {
        char c = k->raw.data[i];

        ended |= is_line_end(c);
        text |= !is_line_end(c) && c != REPLY_WAS_HERE && (ended || !behind);
    }
    return ended && text;
}

/* Somebody's Enter comes by itself. While a line is edited, though, a slow connection may deliver it together
 * with what was typed before it. */
static bool is_burst(const struct keys *k)
{
    if (k->ahead || k->pasting || k->raw.len == 0 || *k->raw.data == '\033'
        || memmem(k->raw.data, k->raw.len, begin_mark, MARK))
        return false;
    return k->working ? has_lines(k, false) : k->raw.len >= BURST_MIN && has_lines(k, true);
}

void keys_feed(struct keys *k, const char *bytes, size_t len, int64_t now)
{
    buf_add(&k->raw, bytes, len);
    k->last = now;
    take_replies(k);
    if (is_burst(k))
        k->pasting = k->burst = true;
}

/* Number of bytes at the end of s that begin mark. */
static size_t begun(const char *s, size_t len, const char *mark)
{
    for (size_t n = len < MARK - 1 ? len : MARK - 1; n > 0; n--)
        if (!memcmp(s + len - n, mark, n))
            return n;
    return 0;
}

static void paste_add(struct keys *k, size_t n)
{
    if (!buf_add(&k->paste, k->raw.data, n))
        k->cut = true;
    buf_drop(&k->raw, n);
}

/* Terminals send CR for the end of a line. The scrubber removes the NULs. */
static struct key paste_done(struct keys *k)
{
    struct key key = {.kind = KEY_PASTE, .paste = &k->clean, .cut = k->cut};

    for (size_t i = 0; i < k->paste.len; i++) {
        if (k->paste.data[i] == '\r') {
            bool pair = i + 1 < k->paste.len && k->paste.data[i + 1] == '\n';

            k->paste.data[i] = pair ? '\0' : '\n';
        } else if (k->burst && k->paste.data[i] == REPLY_WAS_HERE) {
            k->paste.data[i] = '\0';
        }
    }
    buf_clear(&k->clean);
    scrub_text(buf_str(&k->paste), k->paste.len, SCRUB_PIPE, &k->clean);
    buf_release(&k->paste);
    k->pasting = k->cut = k->burst = false;
    return key;
}

static struct key paste_next(struct keys *k, int64_t now)
{
    const char *mark = k->burst ? begin_mark : end_mark; /* of the next paste, or of this one */
    const char *end = k->raw.len ? memmem(k->raw.data, k->raw.len, mark, MARK) : NULL;

    if (end) {
        paste_add(k, (size_t)(end - k->raw.data));
        if (!k->burst)
            buf_drop(&k->raw, MARK);
        return paste_done(k);
    }
    if (now - k->last >= (k->burst ? BURST_MS : PASTE_MS)) {
        paste_add(k, k->raw.len);
        return paste_done(k);
    }
    if (k->raw.len)
        paste_add(k, k->raw.len - (k->burst ? 0 : begun(k->raw.data, k->raw.len, end_mark)));
    return (struct key){0};
}

static struct key take_key(struct keys *k, size_t n)
{
    struct key key = {.kind = KEY_CHAR, .n = n};

    memcpy(key.bytes, k->raw.data, n);
    buf_drop(&k->raw, n);
    key.more = k->raw.len > 0;
    return key;
}

/* The mark that raw begins with, or countof(marks). *more: it may become one with the bytes to come. */
static size_t mark_of(const struct keys *k, bool *more)
{
    size_t i;

    *more = false;
    for (i = 0; i < countof(marks); i++) {
        size_t n = strlen(marks[i].bytes);

        if (k->raw.len >= n && !memcmp(k->raw.data, marks[i].bytes, n))
            break;
        *more |= k->raw.len < n && !memcmp(k->raw.data, marks[i].bytes, k->raw.len);
    }
    return i;
}

struct key keys_next(struct keys *k, int64_t now)
{
    while (!k->pasting && k->raw.len > 0) {
        bool more, waiting = now - k->last < ESCAPE_MS;
        size_t mark = mark_of(k, &more);
        uint32_t cp;
        int n;

        if (mark < countof(marks)) {
            buf_drop(&k->raw, strlen(marks[mark].bytes));
            if (marks[mark].kind != KEY_PASTE)
                return (struct key){.kind = marks[mark].kind};
            buf_clear(&k->paste);
            k->pasting = true;
            break;
        }
        int reply = reply_length(k->raw.data, k->raw.len);
        if (reply == REPLY_BEGUN) {
            if (now - k->last < REPLY_MS)
                return (struct key){0};
            buf_drop(&k->raw, k->raw.len);
            break;
        }
        if (more || reply == REPLY_MAYBE)
            return waiting ? (struct key){0} : take_key(k, 1);
        n = utf8_decode(k->raw.data, k->raw.len, &cp);
        if (n > 0)
            return take_key(k, (size_t)n);
        if (n == 0 && waiting)
            return (struct key){0};
        buf_drop(&k->raw, 1); /* not a character: dropped, since an editor would draw it wrong */
    }
    return k->pasting ? paste_next(k, now) : (struct key){0};
}

int64_t keys_deadline(const struct keys *k)
{
    if (k->pasting)
        return k->last + (k->burst ? BURST_MS : PASTE_MS);
    if (!k->raw.len)
        return -1;
    return k->last + (reply_length(k->raw.data, k->raw.len) == REPLY_BEGUN ? REPLY_MS : ESCAPE_MS);
}
