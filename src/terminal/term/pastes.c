/* pastes.c - shows a long pasted text as one line. */
#include "term/pastes.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/size.h"
#include "show/show.h"
#include "term/history.h"

#define SHOWN_LINES 15 /* a longer text would push what was typed before off the screen */
#define SHOWN_BYTES 2000
#define KEPT_BYTES  (4 * 1024 * 1024)

char *pastes_add(struct pastes *p, const char *text, size_t len)
{
    size_t lines = 1;

    while (len > 0 && text[len - 1] == '\n') /* newlines at the end do not mean that a further line follows */
        len--;
    for (size_t i = 0; i < len; i++)
        lines += text[i] == '\n';
    if (lines <= SHOWN_LINES && len <= SHOWN_BYTES)
        return xmemdup0(text, len);
    char *mark = xasprintf("[paste %zu: %s line%s, %s]", ++p->made, count_text(lines).text,
                           lines == 1 ? "" : "s", show_size(len).text);
    p->v = xreallocarray(p->v, p->n + 1, sizeof *p->v);
    p->v[p->n++] = (struct paste){.mark = xstrdup(mark), .text = xmemdup0(text, len)};
    return mark;
}

size_t pastes_mark_before(const struct pastes *p, const char *line, size_t at)
{
    for (size_t i = 0; i < p->n; i++) {
        size_t n = strlen(p->v[i].mark);

        if (n <= at && !memcmp(line + at - n, p->v[i].mark, n))
            return n;
    }
    return 0;
}

void pastes_expand(const struct pastes *p, const char *line, struct buf *out)
{
    while (*line) {
        size_t i;

        for (i = 0; i < p->n && strncmp(line, p->v[i].mark, strlen(p->v[i].mark)) != 0; i++)
            ;
        if (i < p->n) {
            buf_addstr(out, p->v[i].text);
            line += strlen(p->v[i].mark);
        } else {
            buf_addch(out, *line++);
        }
    }
}

static void free_paste(struct paste *paste)
{
    free(paste->mark);
    free(paste->text);
}

void pastes_trim(struct pastes *p)
{
    size_t bytes = 0, kept = 0;

    while (kept < p->n && (bytes += strlen(p->v[p->n - kept - 1].text)) <= KEPT_BYTES)
        kept++;
    for (size_t i = 0; i < p->n - kept; i++) {
        history_forget(p->v[i].mark);
        free_paste(&p->v[i]);
    }
    if (kept)
        memmove(p->v, p->v + p->n - kept, kept * sizeof *p->v);
    p->n = kept;
}

void pastes_release(struct pastes *p)
{
    for (size_t i = 0; i < p->n; i++)
        free_paste(&p->v[i]);
    free(p->v);
    memset(p, 0, sizeof *p);
}
