/* learnt.c - see learnt.h. The file is a JSON array of objects {origin, fact, value, time}, newest first, so
 * a new kind of fact needs no new format. It is written whole and renamed into place. When two programs learn
 * at once, one of the facts is lost and will be learnt again.
 */
#include "llm/learnt.h"

#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "json/json.h"
#include "base/mem.h"
#include "base/place.h"

#define FILE_MAX_BYTES (256 * 1024)
#define ENTRIES        64
#define ORIGIN_MAX     512 /* so that ENTRIES of them fit even when each byte is written as an escape */
#define VALUE_MAX      64
#define DAY            (24 * 3600)

static struct json *load_all(const char *path)
{
    struct buf text autorelease(buf_release) = BUF_INIT(FILE_MAX_BYTES);
    autojson struct json *all = NULL;

    if (path && place_read(path, FILE_MAX_BYTES, &text, NULL) == 0)
        all = json_parse(buf_str(&text), text.len, 0, NULL, NULL);
    return json_type(all) == JSON_ARRAY ? steal(&all) : NULL;
}

static const char *text_at(const struct json *entry, const char *key, size_t max)
{
    const char *s = json_str(json_get(entry, key));

    return s && *s && strlen(s) <= max ? s : NULL;
}

/* True when the entry is complete and not older than a day. A time in the future does not count. */
static bool counts(const struct json *entry)
{
    int64_t age = (int64_t)time(NULL) - json_int(json_get(entry, "time"), 0);

    return age >= 0 && age <= DAY && text_at(entry, "origin", ORIGIN_MAX) && text_at(entry, "fact", VALUE_MAX)
           && text_at(entry, "value", VALUE_MAX);
}

static bool is_about(const struct json *entry, const char *origin, const char *fact)
{
    return !strcmp(text_at(entry, "origin", ORIGIN_MAX), origin)
           && !strcmp(text_at(entry, "fact", VALUE_MAX), fact);
}

char *learnt_load(const char *path, const char *origin, const char *fact)
{
    autojson struct json *all = load_all(path);

    for (const struct json *e = json_first(all); e; e = json_next(e))
        if (counts(e) && is_about(e, origin, fact))
            return xstrdup(text_at(e, "value", VALUE_MAX));
    return NULL;
}

static struct json *entry_new(const char *origin, const char *fact, const char *value)
{
    struct json *e = json_object();

    json_set_str(e, "origin", origin);
    json_set_str(e, "fact", fact);
    json_set_str(e, "value", value);
    json_set_int(e, "time", (int64_t)time(NULL));
    return e;
}

void learnt_store(const char *path, const char *origin, const char *fact, const char *value)
{
    if (!path || *path != '/' || strlen(origin) > ORIGIN_MAX || strlen(value) > VALUE_MAX)
        return;
    autojson struct json *old = load_all(path), *all = json_array();
    int n = 1;

    json_add(all, entry_new(origin, fact, value));
    for (const struct json *e = json_first(old); e && n < ENTRIES; e = json_next(e))
        if (counts(e) && !is_about(e, origin, fact)) {
            json_add(all, json_copy(e));
            n++;
        }
    autofree char *text = json_print(all);
    cache_keep(path, text, strlen(text));
}
