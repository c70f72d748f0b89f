/* script.c - a script of questions, or one question that is all of stdin. */
#include "pipe/script.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/utf8.h"
#include "process/slow_read.h"
#include "show/show.h"
#include "sniff/sniff.h"

#define HEAD_MAX ((size_t)64 * 1024)
#define PIECE    16384
#define COUNT_MAX \
    ((uint64_t)64 * 1024 * 1024) /* how far an endless line is read on only to name its size \
                                  */

static int too_long(const char *what, uint64_t len, bool whole, struct error *err)
{
    return error_set(err, ERROR_USAGE, 0,
                     "%s is too long: %s%s bytes, at most %s.\n"
                     "Give long text as data instead: sandpiper \"QUESTION\" < FILE, or --add FILE",
                     what, whole ? "" : "more than ", count_text(len).text, count_text(QUESTION_MAX).text);
}

/* Offset of the first byte that is not valid UTF-8. */
static size_t bad_byte(const char *s, size_t len)
{
    size_t i = 0;
    uint32_t cp;
    int n;

    while (i < len && (n = utf8_decode(s + i, len - i, &cp)) > 0)
        i += (size_t)n;
    return i;
}

static int check_text(const char *what, const char *s, size_t len, struct error *err)
{
    const char *nul = memchr(s, 0, len);

    if (nul)
        return error_set(err, ERROR_USAGE, 0,
                         "%s is not text: it contains a NUL (byte %zu).\n"
                         "Give it as data for a question: sandpiper \"QUESTION\" < FILE",
                         what, (size_t)(nul - s) + 1);
    if (!utf8_valid(s, len))
        return error_set(err, ERROR_USAGE, 0,
                         "%s is not valid UTF-8 (byte %zu).\n"
                         "Convert it (iconv -f LATIN1 -t UTF-8), or give it as data for a question",
                         what, bad_byte(s, len) + 1);
    return 0;
}

bool prompt_blank(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!strchr(" \t\r\n\v\f", s[i]) || !s[i])
            return false;
    return true;
}

int prompt_check(const char *text, size_t len, struct error *err)
{
    if (len > QUESTION_MAX)
        return too_long("the question", len, true, err);
    if (prompt_blank(text, len))
        return error_set(
            err, ERROR_USAGE, 0,
            "no question: the prompt is empty.\nTry: sandpiper \"how many primes below a million?\"");
    return check_text("the question", text, len, err);
}

static void drop_bom(struct buf *b)
{
    if (b->len >= 3 && !memcmp(b->data, "\xef\xbb\xbf", 3))
        buf_drop(b, 3);
}

int prompt_read(int fd, struct loop *loop, struct buf *q, struct error *err)
{
    const struct slow_reader in = {.fd = fd, .name = "stdin", .loop = loop};
    char piece[16384];
    uint64_t total = 0;
    ssize_t n;

    buf_init(q, QUESTION_MAX + 3);
    while ((n = slow_read(&in, piece, sizeof piece, err)) > 0) {
        total += (uint64_t)n;
        if (!buf_add(q, piece, (size_t)n)) {
            int whole = 0;

            total += slow_count_rest(&in, &whole);
            return too_long("the question on stdin", total, whole, err);
        }
    }
    if (n < 0)
        return -1;
    drop_bom(q);
    if (prompt_blank(buf_str(q), q->len))
        return error_set(err, ERROR_USAGE, 0,
                         "no question: stdin is empty.\nTry: sandpiper \"how many primes below a million?\"");
    return prompt_check(q->data, q->len, err);
}

void script_init(struct script *s, int fd, struct loop *loop)
{
    *s = (struct script){
        .fd = fd, .loop = loop, .raw = BUF_INIT(HEAD_MAX + PIECE), .head = BUF_INIT(HEAD_MAX)};
}

void script_release(struct script *s)
{
    if (!s)
        return;
    buf_release(&s->raw);
    buf_release(&s->head);
}

static int script_fill(struct script *s, struct error *err)
{
    const struct slow_reader in = {.fd = s->fd, .name = "stdin", .loop = s->loop};
    char piece[PIECE];
    ssize_t n = slow_read(&in, piece, sizeof piece, err);

    if (n < 0)
        return -1;
    buf_drop(&s->raw, s->at);
    s->at = 0;
    buf_add(&s->raw, piece, (size_t)n);
    buf_add(&s->head, piece, (size_t)n); /* keeps only as much as the cap allows */
    s->ended = n == 0;
    return 0;
}

static bool more_is_there(const struct script *s)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};

    return !s->ended && s->raw.len - s->at < HEAD_MAX && poll(&p, 1, 0) > 0;
}

int script_begin(struct script *s, struct error *err)
{
    return script_fill(s, err);
}

/* A first line cannot be judged before its end has come. A NUL never belongs to a question. */
static bool can_be_judged(const struct script *s)
{
    const struct buf *h = &s->head;

    return s->ended || h->len == HEAD_MAX
           || (h->len && (memchr(h->data, '\n', h->len) || memchr(h->data, 0, h->len)));
}

int script_check(struct script *s, bool suspect, struct error *err)
{
    while (more_is_there(s))
        if (script_fill(s, err) < 0)
            return -1;
    if (!suspect || s->head.len == s->judged || !can_be_judged(s))
        return 0;
    s->judged = s->head.len;
    const char *kind = sniff_data(buf_str(&s->head), s->head.len, s->ended && s->head.len < HEAD_MAX);
    if (!kind)
        return 0;
    return error_set(err, ERROR_USAGE, 0,
                     "this looks like %s, not questions: sandpiper \"...\" < FILE\n"
                     "To ask each line anyway: sandpiper --stdin script < FILE",
                     kind);
}

long script_left(const struct script *s)
{
    struct script rest = *s;
    struct buf q autorelease(buf_release) = BUF_INIT(0);
    long n = 0;
    int r;

    if (!s->ended)
        return -1;
    rest.raw = rest.head = (struct buf)BUF_INIT(0);
    rest.at = 0;
    buf_add(&rest.raw, buf_str(&s->raw) + s->at, s->raw.len - s->at);
    while ((r = script_next(&rest, &q, NULL)) > 0)
        n++;
    script_release(&rest);
    return r < 0 ? -1 : n;
}

/* Read the next line without its end. *len is its whole length, though line keeps only what fits. Returns 1,
 * 0 at the end, or -1. */
static int line_next(struct script *s, struct buf *line, uint64_t *len, struct error *err)
{
    buf_clear(line);
    *len = 0;
    for (;;) {
        const char *from = buf_str(&s->raw) + s->at, *nl;
        size_t left = s->raw.len - s->at;

        if (!left && !s->ended) {
            if (script_fill(s, err) < 0)
                return -1;
            continue;
        }
        if (!left && !*len)
            return 0;
        nl = left ? memchr(from, '\n', left) : NULL;
        if (nl)
            left = (size_t)(nl - from);
        if (left)
            buf_add(line, from, left);
        *len += left;
        s->at += left + (nl ? 1 : 0);
        if (nl || s->ended || *len > COUNT_MAX || (line->len && memchr(line->data, 0, line->len)))
            break;
    }
    if (++s->line == 1)
        drop_bom(line);
    if (line->len > 0 && line->data[line->len - 1] == '\r')
        line->data[--line->len] = '\0';
    return 1;
}

static bool is_fence(const struct buf *line)
{
    const char *q = memmem(buf_str(line), line->len, "\"\"\"", 3);

    return q && prompt_blank(line->data, (size_t)(q - line->data))
           && prompt_blank(q + 3, line->len - (size_t)(q + 3 - line->data));
}

static int line_checked(struct script *s, struct buf *line, uint64_t *len, struct error *err)
{
    char what[64];
    int r = line_next(s, line, len, err);

    if (r <= 0)
        return r;
    snprintf(what, sizeof what, "line %lu of the questions", s->line);
    if (check_text(what, buf_str(line),
                   *len > QUESTION_MAX ? utf8_cut(buf_str(line), line->len, line->len) : line->len, err)
        < 0)
        return -1;
    return 1;
}

/* Read the lines up to the closing """. */
static int block_next(struct script *s, struct buf *q, struct buf *line, struct error *err)
{
    unsigned long opened = s->line;
    uint64_t len, total = 0;
    char what[64];
    int r;

    while ((r = line_checked(s, line, &len, err)) > 0 && !is_fence(line) && total <= COUNT_MAX) {
        total += len + (total > 0);
        if (q->len)
            buf_addch(q, '\n');
        buf_add(q, buf_str(line), line->len);
    }
    if (r < 0)
        return -1;
    if (r == 0)
        return error_set(err, ERROR_USAGE, 0,
                         "the block that starts at line %lu of the questions is not closed.\n"
                         "End it with a line of three double quotes",
                         opened);
    snprintf(what, sizeof what, "the block that starts at line %lu", opened);
    if (total > QUESTION_MAX)
        return too_long(what, total, total <= COUNT_MAX, err);
    return 1;
}

int script_next(struct script *s, struct buf *q, struct error *err)
{
    struct buf line autorelease(buf_release) = BUF_INIT(QUESTION_MAX + 4);
    uint64_t len;
    int r;

    buf_release(q);
    buf_init(q, QUESTION_MAX + 4);
    while ((r = line_checked(s, &line, &len, err)) > 0) {
        if (len > QUESTION_MAX) {
            char what[64];

            snprintf(what, sizeof what, "line %lu of the questions", s->line);
            return too_long(what, len, len <= COUNT_MAX, err);
        }
        if (is_fence(&line)) {
            r = block_next(s, q, &line, err);
            if (r < 0 || !prompt_blank(buf_str(q), q->len))
                return r;
            buf_clear(q);
        } else if (!prompt_blank(buf_str(&line), line.len) && line.data[0] != '#') {
            buf_add(q, line.data, line.len);
            return 1;
        }
    }
    return r;
}
