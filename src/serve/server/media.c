/* media.c - the table of endings and types, and the header Content-Disposition. */
#include "server/media.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/percent.h"

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

char *media_disposition(const char *name)
{
    const char *slash = strrchr(name, '/');
    struct buf out = BUF_INIT(0);

    name = slash ? slash + 1 : name;
    buf_addstr(&out, "attachment; filename=\"");
    for (const char *c = name; *c; c++)
        buf_addch(&out, isalnum((unsigned char)*c) || strchr("-._~ ", *c) ? *c : '_');
    buf_addstr(&out, "\"; filename*=UTF-8''");
    percent_encode(&out, name, "");
    return buf_steal(&out, NULL);
}

char *media_url(const char *name)
{
    struct buf out = BUF_INIT(0);

    percent_encode(&out, name, "/");
    return buf_steal(&out, NULL);
}
