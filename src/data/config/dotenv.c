/* dotenv.c - reads the lines of a .env one character after another, and finds a name in what was read. */
#include "config/dotenv.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

#define ENTRIES_MAX 1000 /* the search for duplicates is quadratic; no real .env has more */

struct dotenv_cursor {
    const char *p, *end;
    int line;
};

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void skip_blanks(struct dotenv_cursor *c)
{
    while (c->p < c->end && blank(*c->p))
        c->p++;
}

static void skip_line(struct dotenv_cursor *c)
{
    const char *newline = memchr(c->p, '\n', (size_t)(c->end - c->p));

    c->p = newline ? newline + 1 : c->end;
    c->line++;
}

/* Read [A-Za-z_][A-Za-z0-9_]*; NULL if there is none here. */
static char *read_name(struct dotenv_cursor *c)
{
    const char *start = c->p;

    if (c->p == c->end || (!isalpha((unsigned char)*c->p) && *c->p != '_'))
        return NULL;
    while (c->p < c->end && (isalnum((unsigned char)*c->p) || *c->p == '_'))
        c->p++;
    return xmemdup0(start, (size_t)(c->p - start));
}

static char escaped(char c)
{
    return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
}

/* Read from after the opening quote. False if the quote is never closed: then only this line is dropped, not
 * the rest of the file. */
static bool read_quoted(struct dotenv_cursor *c, char quote, struct buf *out)
{
    struct dotenv_cursor at = *c;

    for (; at.p < at.end && *at.p != quote; at.p++) {
        if (*at.p == '\n')
            at.line++;
        if (quote == '"' && *at.p == '\\' && at.p + 1 < at.end && strchr("nrt\"\\$", at.p[1]))
            buf_addch(out, escaped(*++at.p));
        else
            buf_addch(out, *at.p);
    }
    if (at.p == at.end)
        return false;
    at.p++;
    *c = at;
    return true;
}

static void read_plain(struct dotenv_cursor *c, struct buf *out)
{
    const char *start = c->p;

    while (c->p < c->end && *c->p != '\n' && !(*c->p == '#' && (c->p == start || blank(c->p[-1]))))
        c->p++;
    buf_add(out, start, trimmed_length(start, (size_t)(c->p - start), " \t\r"));
}

static bool read_dotenv_value(struct dotenv_cursor *c, struct buf *out)
{
    skip_blanks(c);
    if (c->p < c->end && (*c->p == '"' || *c->p == '\'')) {
        char quote = *c->p++;
        if (!read_quoted(c, quote, out))
            return false;
        skip_blanks(c);
    } else {
        read_plain(c, out);
    }
    return c->p == c->end || *c->p == '\n' || *c->p == '#';
}

static void store(struct dotenv *d, char *name, char *value, int line)
{
    for (size_t i = 0; i < d->n; i++)
        if (!strcmp(d->v[i].name, name)) {
            free(d->v[i].name);
            free(d->v[i].value);
            d->v[i] = (struct dotenv_entry){name, value, line};
            return;
        }
    if ((d->n & (d->n - 1)) == 0)
        d->v = xreallocarray(d->v, d->n ? d->n * 2 : 1, sizeof(*d->v));
    d->v[d->n++] = (struct dotenv_entry){name, value, line};
}

static bool read_entry(struct dotenv *d, struct dotenv_cursor *c)
{
    if (d->n >= ENTRIES_MAX)
        return false;

    struct buf value autorelease(buf_release) = BUF_INIT(DOTENV_MAX);
    autofree char *name = read_name(c);
    int line = c->line;

    if (name && !strcmp(name, "export") && c->p < c->end && blank(*c->p)) {
        skip_blanks(c);
        xreplace(&name, read_name(c));
    }
    skip_blanks(c);
    if (!name || c->p == c->end || *c->p != '=')
        return false;
    c->p++;
    if (!read_dotenv_value(c, &value))
        return false;
    store(d, steal(&name), buf_steal(&value, NULL), line);
    return true;
}

int dotenv_parse(struct dotenv *d, const char *text, size_t len, struct error *err)
{
    struct dotenv_cursor c = {text, text + len, 1};

    *d = (struct dotenv){0};
    if (len > DOTENV_MAX)
        return error_set(err, ERROR_USAGE, 0, ".env is too large: %zu bytes, the limit is %zu", len,
                         DOTENV_MAX);
    if (len && memchr(text, 0, len))
        return error_set(err, ERROR_USAGE, 0, ".env is not a text file: it contains a NUL byte");
    if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        c.p += 3;
    while (c.p < c.end) {
        int line = c.line;

        skip_blanks(&c);
        if (c.p < c.end && *c.p != '\n' && *c.p != '#' && !read_entry(d, &c)) {
            d->bad_line = d->bad_line ? d->bad_line : line;
            d->bad++;
        }
        skip_line(&c);
    }
    return 0;
}

void dotenv_release(struct dotenv *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->v[i].name);
        free(d->v[i].value);
    }
    free(d->v);
    *d = (struct dotenv){0};
}

const struct dotenv_entry *dotenv_get(const struct dotenv *d, const char *name)
{
    for (size_t i = 0; i < d->n; i++)
        if (!strcmp(d->v[i].name, name))
            return *d->v[i].value ? &d->v[i] : NULL;
    return NULL;
}
