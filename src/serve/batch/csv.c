/* csv.c - cuts records into fields. */
#include "batch/csv.h"

#include <stdbool.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/mem.h"

char csv_separator(const char *line, size_t len)
{
    static const char known[] = ",;\t";
    size_t best = 0, most = 0;

    for (size_t i = 0; known[i]; i++) {
        size_t n = 0;

        for (size_t k = 0; k < len; k++)
            n += line[k] == known[i];
        if (n > most) {
            most = n;
            best = i;
        }
    }
    return known[best];
}

/* Appends the field between quotes that begins at p. Returns what follows it, or NULL. */
static const char *quoted_field(const char *p, const char *end, struct buf *field)
{
    while (p < end) {
        if (*p == '"' && (p + 1 == end || p[1] != '"'))
            return p + 1;
        p += *p == '"';
        buf_addch(field, *p++);
    }
    return NULL;
}

static bool ends_line(const char *p, const char *end)
{
    return p == end || *p == '\n' || (*p == '\r' && (p + 1 == end || p[1] == '\n'));
}

int csv_next(const char **at, const char *end, char separator, struct argv *fields)
{
    struct buf field autorelease(buf_release) = BUF_INIT(0);
    const char *p = *at;

    while (p < end && (*p == '\n' || *p == '\r'))
        p++;
    if (p == end) {
        *at = end;
        return 0;
    }
    for (;;) {
        buf_clear(&field);
        if (p < end && *p == '"' && !(p = quoted_field(p + 1, end, &field)))
            return -1;
        while (!ends_line(p, end) && *p != separator)
            buf_addch(&field, *p++);
        if (fields->n == CSV_FIELDS_MAX)
            return -1;
        argv_push(fields, buf_str(&field));
        if (ends_line(p, end))
            break;
        p++;
        if (p == end) { /* a separator at the very end: the last field is empty */
            argv_push(fields, "");
            break;
        }
    }
    while (p < end && *p == '\r')
        p++;
    *at = p < end ? p + 1 : end;
    return 1;
}
