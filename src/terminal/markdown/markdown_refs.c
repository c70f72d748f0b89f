/* markdown_refs.c - keeps labels with their URLs, and says which were used. */
#include "markdown/markdown_refs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

void refs_release(struct refs *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->v[i].label);
        free(r->v[i].url);
        free(r->v[i].line);
    }
    free(r->v);
    *r = (struct refs){0};
}

/* The entry of a label, a new one if need be; NULL: there are too many. Case does not matter. */
static struct ref *entry(struct refs *r, const char *label, size_t len)
{
    if (!len || len > REF_LABEL_MAX)
        return NULL;
    for (size_t i = 0; i < r->n; i++)
        if (strlen(r->v[i].label) == len && !strncasecmp(r->v[i].label, label, len))
            return &r->v[i];
    if (r->n == REFS_MAX)
        return NULL;
    if (!r->v)
        r->v = xcalloc(REFS_MAX, sizeof *r->v);
    r->v[r->n].label = xmemdup0(label, len);
    return &r->v[r->n++];
}

const char *refs_use(struct refs *r, const char *label, size_t len)
{
    struct ref *e = entry(r, label, len);

    if (!e)
        return NULL;
    e->used = true;
    return e->url;
}

/* Of the address at s, without angle brackets; 0: it is none. Only a title may follow. */
static size_t address_length(const char **s, const char *end)
{
    bool angle = *s < end && **s == '<';
    size_t n = 0;

    *s += angle;
    while (*s + n < end && (unsigned char)(*s)[n] > ' ' && !strchr("<>\\", (*s)[n]))
        n++;
    const char *title = *s + n + angle;
    if (n > REF_URL_MAX || title > end || (angle && (*s)[n] != '>'))
        return 0;
    while (title < end && isblank((unsigned char)*title))
        title++;
    if (title < end && !strchr("\"'(", *title))
        return 0;
    return memchr(*s, ':', n) || memchr(*s, '/', n) || (n && **s == '#') ? n : 0;
}

enum ref_kind refs_define(struct refs *r, const char *line, size_t len)
{
    const char *end = line + len, *close = len ? memchr(line, ']', len) : NULL, *s;

    if (!close || *line != '[' || close + 1 >= end || close[1] != ':' || line[1] == '^')
        return REF_NONE;
    for (s = close + 2; s < end && isblank((unsigned char)*s); s++)
        ;
    size_t n = address_length(&s, end);
    struct ref *e = n ? entry(r, line + 1, (size_t)(close - line - 1)) : NULL;
    if (!e || e->url)
        return REF_NONE;
    e->url = xmemdup0(s, n);
    e->line = xmemdup0(line, len);
    return e->used ? REF_SHOWN : REF_HIDDEN;
}
