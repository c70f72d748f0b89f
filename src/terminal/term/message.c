/* message.c - blocks between three double quotes, and lines that go on. */
#include "term/message.h"

#include <string.h>

#include "base/buf.h"

#define QUOTES "\"\"\""
#define BLANKS " \t\n"

/* Where the block's text begins, after the quotes that open it, or NULL. They stand at the beginning of the
 * first line, or at its end after a blank. */
static const char *opened(const char *text)
{
    size_t line = strcspn(text, "\n"), end = line, begin = strspn(text, " \t");

    if (!strncmp(text + begin, QUOTES, 3))
        return text + begin + 3;
    while (end > 0 && strchr(" \t", text[end - 1]))
        end--;
    if (end > 3 && !strncmp(text + end - 3, QUOTES, 3) && strchr(" \t", text[end - 4]))
        return text + end;
    return NULL;
}

/* The quotes at the end that close it, or NULL. */
static const char *closing(const char *inside)
{
    size_t n = strlen(inside);

    while (n > 0 && strchr(BLANKS, inside[n - 1]))
        n--;
    return n >= 3 && !strncmp(inside + n - 3, QUOTES, 3) ? inside + n - 3 : NULL;
}

bool message_ends_in_backslash(const char *text)
{
    size_t n = strlen(text);

    return n > 0 && text[n - 1] == '\\';
}

bool message_is_open(const char *text)
{
    const char *inside = opened(text);

    return inside && !closing(inside);
}

bool message_take(const char *text, struct buf *out)
{
    const char *inside = opened(text), *end = inside ? closing(inside) : NULL;

    if (!end) {
        buf_addstr(out, text);
        return false;
    }
    size_t before = (size_t)(inside - text) - 3;
    while (before > 0 && strchr(" \t", text[before - 1]))
        before--;
    buf_add(out, text, before);
    inside += strspn(inside, " \t");
    inside += *inside == '\n';
    while (end > inside && end[-1] == '\n')
        end--;
    if (before && end > inside)
        buf_addch(out, '\n');
    if (end > inside)
        buf_add(out, inside, (size_t)(end - inside));
    return true;
}
