/* links.c - compares text with the paths of uploaded files as it streams, and writes the URL where a whole
 * path stood.
 */
#include "upload/links.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char data[] = "/mnt/data/";
/* what models write before a path */
static const char sandbox[] = "sandbox:";

void links_release(struct links *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->v[i].path);
        free(l->v[i].url);
    }
    buf_release(&l->held);
    *l = (struct links){0};
}

void links_add(struct links *l, const char *name, const char *url)
{
    autofree char *path = xasprintf("%s%s", data, name);
    size_t i = 0;

    while (i < l->n && strcmp(l->v[i].path, path) != 0)
        i++;
    if (i == LINKS_MAX)
        return;
    if (i == l->n) {
        l->v[l->n].path = steal(&path);
        l->v[l->n++].url = NULL;
    }
    xreplace(&l->v[i].url, xstrdup(url));
}

/* Returns the length of with if the text begins with it, else 0. *more is set when the text ends before
 * that is known. */
static size_t begins(const char *text, size_t len, const char *with, bool *more)
{
    size_t n = strlen(with), least = len < n ? len : n;

    if (memcmp(text, with, least) != 0)
        return 0;
    *more |= len < n;
    return len < n ? 0 : n;
}

/* Does the name of a file end before this text? A dot or a dash belongs to the name only if that goes on
 * behind it. */
static bool name_ends(const char *text, size_t len, bool *more)
{
    size_t n = 0;

    while (n < len && (text[n] == '.' || text[n] == '-'))
        n++;
    *more |= n == len;
    return n == len || !(isalnum((unsigned char)text[n]) || text[n] == '_');
}

/* Finds the longest path at the beginning of the text. Returns its length, with a "sandbox:" before it; 0:
 * there is none. */
static size_t match(const struct links *l, const char *text, size_t len, const char **url, bool *more)
{
    size_t front = begins(text, len, sandbox, more), best = 0;

    for (size_t i = 0; i < l->n; i++) {
        size_t n = begins(text + front, len - front, l->v[i].path, more);

        if (n > best && name_ends(text + front + n, len - front - n, more)) {
            best = n;
            *url = l->v[i].url;
        }
    }
    return best ? front + best : 0;
}

static void pass(struct links *l, bool end, struct buf *out)
{
    size_t at = 0, from = 0, len = l->held.len;
    const char *text = buf_str(&l->held);

    while (at < len) {
        const char *url = NULL;
        bool more = false;
        size_t n = match(l, text + at, len - at, &url, &more);

        if (more && !end)
            break;
        if (n) {
            buf_add(out, text + from, at - from);
            buf_addstr(out, url);
            from = at + n;
        }
        at += n ? n : 1;
    }
    buf_add(out, text + from, at - from);
    buf_drop(&l->held, at);
}

void links_feed(struct links *l, const char *text, size_t len, struct buf *out)
{
    buf_add(&l->held, text, len);
    pass(l, false, out);
}

void links_end(struct links *l, struct buf *out)
{
    pass(l, true, out);
}
