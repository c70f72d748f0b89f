/* fill.c - copies a text, putting values in place of {name}, and finds a placeholder that nobody knows. */
#include "base/fill.h"

#include <string.h>

#include "base/buf.h"
#include "base/value.h"

char *text_fill(const char *text, const struct text_vars *vars)
{
    struct buf out = BUF_INIT(0);

    while (*text) {
        size_t i, skip = 0;

        for (i = 0; *text == '{' && i < vars->n; i++) {
            size_t len = strlen(vars->v[i].name);

            if (!strncmp(text + 1, vars->v[i].name, len) && text[1 + len] == '}') {
                buf_addstr(&out, vars->v[i].value);
                skip = len + 2;
                break;
            }
        }
        if (!skip)
            buf_addch(&out, *text);
        text += skip ? skip : 1;
    }
    return buf_steal(&out, NULL);
}

size_t text_unknown(const char *text, const char *names, const char **at)
{
    for (const char *p = strchr(text, '{'); p; p = strchr(p + 1, '{')) {
        size_t len = strspn(p + 1, "abcdefghijklmnopqrstuvwxyz_");

        *at = p + 1;
        if (len > 0 && p[1 + len] == '}' && value_choice_index(p + 1, len, names) < 0)
            return len;
    }
    return 0;
}
