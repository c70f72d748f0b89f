/* pieces.c - the pieces of a long answer. */
#include "bot/pieces.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"

#define INFO_MAX 24 /* bytes of the word behind a fence that are repeated */

struct open_fence { /* that is open; n 0: none */
    char mark;
    size_t n;
    char info[INFO_MAX + 1];
};

size_t pieces_fit(const char *text, size_t max)
{
    size_t at = 0, units = 0, len = strnlen(text, 4 * max + 4); /* what fits, and a character */

    while (at < len) {
        uint32_t cp = 0;
        int n = utf8_decode(text + at, len - at, &cp);
        size_t width = n == 4 ? 2 : 1;

        if (units + width > max)
            break;
        units += width;
        at += n > 0 ? (size_t)n : 1;
    }
    return at;
}

/* Follows the fences in a line. */
static void see_line(struct open_fence *f, const char *line, size_t len)
{
    size_t indent = strspn(line, " ");
    char mark = indent < len ? line[indent] : 0;
    size_t n = 0;

    if (indent > 3 || indent >= len || (mark != '`' && mark != '~'))
        return;
    while (indent + n < len && line[indent + n] == mark)
        n++;
    const char *info = line + indent + n;
    size_t rest = trimmed_length(info, len - indent - n, " \r");
    if (n < 3 || (mark == '`' && memchr(info, '`', rest)))
        return;
    if (!f->n) {
        size_t keep = rest <= INFO_MAX ? rest : 0;

        *f = (struct open_fence){.mark = mark, .n = n <= 8 ? n : 0};
        memcpy(f->info, info, keep);
    } else if (f->mark == mark && n >= f->n && !rest) {
        f->n = 0;
    }
}

static void see_lines(struct open_fence *f, const char *text, size_t len)
{
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t line = end ? (size_t)(end - text) - at : len - at;

        see_line(f, text + at, line);
        at += line + 1;
    }
}

/* Where the piece that begins at text ends, at most len bytes on: behind a paragraph, a line, a blank, or in
 * the middle of a word. Only the second half is looked at for a good place. */
static size_t place_of_cut(const char *text, size_t len, bool code)
{
    size_t line = 0, blank = 0;

    for (size_t i = len; i > len / 2; i--) {
        if (!code && i >= 2 && text[i - 1] == '\n' && text[i - 2] == '\n')
            return i;
        if (!line && text[i - 1] == '\n')
            line = i;
        if (!blank && text[i - 1] == ' ')
            blank = i;
    }
    return line ? line : blank ? blank : len;
}

static void add_fence(struct buf *out, const struct open_fence *f)
{
    for (size_t i = 0; i < f->n; i++)
        buf_addch(out, f->mark);
}

void pieces_cut(const char *text, size_t max, struct argv *out)
{
    struct open_fence open = {0};

    while (*text) {
        struct buf piece autorelease(buf_release) = BUF_INIT(0);
        struct open_fence after = open;

        if (open.n) {
            add_fence(&piece, &open);
            buf_addf(&piece, "%s\n", open.info);
        }
        size_t around = piece.len + 2 * sizeof after.info; /* for what closes a fence too */
        size_t len = pieces_fit(text, max - (around < max / 2 ? around : max / 2));
        if (!text[pieces_fit(text, max - piece.len)] && !open.n)
            len = strlen(text);
        if (text[len])
            len = place_of_cut(text, len, open.n > 0);
        see_lines(&after, text, len);
        buf_add(&piece, text, trimmed_length(text, len, after.n || open.n ? "\n" : " \n"));
        text += len;
        if (*text && after.n) {
            buf_addch(&piece, '\n');
            add_fence(&piece, &after);
        } else if (!after.n)
            text += strspn(text, "\n");
        open = after;
        if (!text_is_blank(buf_str(&piece)))
            argv_push(out, buf_str(&piece));
    }
}
