/* quoting.c - escapes a file name for a line that is typed, and finds where a quoted one ends. */
#include "base/quoting.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

char *name_quote(const char *name, char quote)
{
    const char *special = !quote ? QUOTING_CHARACTERS : quote == '"' ? "\\\"" : "";
    struct buf out = BUF_INIT(0);

    for (; *name; name++) {
        if (strchr(special, *name))
            buf_addch(&out, '\\');
        buf_addch(&out, *name);
    }
    return buf_steal(&out, NULL);
}

/* The end of what the quote at s opens, or NULL. */
static const char *closing(const char *s)
{
    for (const char *p = s + 1; *p; p++) {
        if (*p == *s)
            return p;
        p += *s == '"' && *p == '\\' && p[1];
    }
    return NULL;
}

char *name_unquote(const char *text)
{
    struct buf out = BUF_INIT(0);

    for (; *text; text++) {
        const char *end = *text == '"' || *text == '\'' ? closing(text) : NULL;
        char quote = *text;

        if (!end) {
            text += *text == '\\' && text[1];
            buf_addch(&out, *text);
            continue;
        }
        while (++text < end) {
            text += quote == '"' && *text == '\\' && strchr("\\\"", text[1]);
            buf_addch(&out, *text);
        }
    }
    return buf_steal(&out, NULL);
}

static char *below_home(const char *path)
{
    const char *home = path[0] == '~' && path[1] == '/' ? getenv("HOME") : NULL;

    return xasprintf("%s%s", home ? home : "", home ? path + 1 : path);
}

char *name_path(const char *text)
{
    autofree char *as_is = below_home(text), *unquoted = name_unquote(text);

    return access(as_is, F_OK) == 0 ? steal(&as_is) : below_home(unquoted);
}
