/* export.c - one session in one of the formats, and what they share. */
#include "store/export.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "conversation/cell_result.h"
#include "store/db.h"

static const struct export_format *const formats[] = {&export_md, &export_json, &export_py, &export_ipynb};

static const struct export_format *format_named(const char *name)
{
    for (size_t i = 0; i < countof(formats); i++)
        if (!strcmp(formats[i]->name, name))
            return formats[i];
    return NULL;
}

bool export_is_format(const char *name)
{
    return format_named(name) != NULL;
}

bool export_is_json(const char *name)
{
    const struct export_format *f = format_named(name);

    return f && f->json;
}

/* "md, json, py and ipynb" */
static void add_names(struct buf *out)
{
    for (size_t i = 0; i < countof(formats); i++)
        buf_addf(out, "%s%s", i == 0 ? "" : i + 1 < countof(formats) ? ", " : " and ", formats[i]->name);
}

const char *export_format_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');

    return dot ? dot + 1 : "md";
}

int session_export(struct db *db, const struct session_export *e, struct buf *out, struct error *err)
{
    const struct export_format *f = format_named(e->format);

    if (!f) {
        struct buf names autorelease(buf_release) = BUF_INIT(0);

        add_names(&names);
        return error_set(err, ERROR_USAGE, 0, "unknown format \"%.20s\"; there are %s", e->format,
                         buf_str(&names));
    }
    void *ctx = f->begin ? f->begin(out, e->sessions) : out;
    db_patience(db, DB_PATIENCE_MS);
    int status = session_walk(db, e->id, (struct item_taker){f->item, ctx}, err);
    db_patience(db, DB_TIME_MS);
    if (f->end)
        f->end(ctx);
    return status;
}

char *export_fence(const char *text)
{
    size_t longest = 0, run = 0;

    for (; *text; text++) {
        run = *text == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    size_t n = longest < 3 ? 3 : longest + 1;
    char *fence = xmalloc(n + 1);
    memset(fence, '`', n);
    fence[n] = '\0';
    return fence;
}

const char *export_trouble(const struct item *cell)
{
    if (cell->status == CELL_OK)
        return NULL;
    if (cell->status < 0)
        return "It was running when the program was killed.";
    return cell->traceback ? cell->traceback : cell->exception ? cell->exception : cell->what;
}

struct short_text export_time(int64_t seconds)
{
    struct short_text out = {""};
    time_t when = (time_t)seconds;
    struct tm tm = {0};

    if (localtime_r(&when, &tm))
        strftime(out.text, sizeof out.text, "%Y-%m-%d %H:%M", &tm);
    return out;
}
