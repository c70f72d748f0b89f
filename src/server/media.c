/* media.c - see media.h. */
#include "server/media.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"

static const struct {
    const char *end, *type;
} types[] = {
    {".png", "image/png"},
    {".jpg", "image/jpeg"},
    {".jpeg", "image/jpeg"},
    {".gif", "image/gif"},
    {".webp", "image/webp"},
    {".pdf", "application/pdf"},
    {".csv", "text/csv; charset=utf-8"},
    {".txt", "text/plain; charset=utf-8"},
    {".md", "text/plain; charset=utf-8"},
    {".json", "application/json"},
    {".zip", "application/zip"},
    {".gz", "application/gzip"},
    {".parquet", "application/vnd.apache.parquet"},
    {".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
};

const char *media_type(const char *name)
{
    const char *end = strrchr(name, '.');

    for (size_t i = 0; end && i < countof(types); i++)
        if (!strcasecmp(types[i].end, end))
            return types[i].type;
    return "application/octet-stream";
}

static bool unreserved(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
           || (c && strchr("-._~", c));
}

static void add_escaped(struct buf *out, const char *text, const char *also)
{
    for (; *text; text++) {
        if (unreserved((unsigned char)*text) || strchr(also, *text))
            buf_addch(out, *text);
        else
            buf_addf(out, "%%%02X", (unsigned char)*text);
    }
}

char *media_disposition(const char *name)
{
    const char *slash = strrchr(name, '/');
    struct buf out = BUF_INIT(0);

    name = slash ? slash + 1 : name;
    buf_addstr(&out, "attachment; filename=\"");
    for (const char *c = name; *c; c++)
        buf_addch(&out, unreserved((unsigned char)*c) || *c == ' ' ? *c : '_');
    buf_addstr(&out, "\"; filename*=UTF-8''");
    add_escaped(&out, name, "");
    return buf_steal(&out, NULL);
}

char *media_url(const char *name)
{
    struct buf out = BUF_INIT(0);

    add_escaped(&out, name, "/");
    return buf_steal(&out, NULL);
}
