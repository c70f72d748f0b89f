/* models_kept.c - keeps lists of models for a day: one file for each base URL below
 * $XDG_CACHE_HOME/sandpiper/models, readable only by the user. A file that we did not write, or that is not
 * ours, counts as missing. A full disk is not worth a message.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "json/json.h"
#include "base/mem.h"
#include "base/place.h"
#include "base/fnv.h"
#include "base/url.h"
#include "llm/models_private.h"

#define KEPT_VERSION 1
#define TOLD_BYTES   16384

/* shown: from url_show(), since neither the file's name nor its contents may hold credentials. The caller
 * frees it; NULL: there is no home. */
static char *path_of_list(const char *shown, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof name, "models/%016" PRIx64 "%s", fnv1a(FNV_START, shown), suffix);
    return xdg_path(XDG_CACHE, name);
}

static double price(const struct json *j, const char *name)
{
    return json_double(json_get(j, name), -1);
}

static int tokens(const struct json *j, const char *name)
{
    int64_t n = json_int(json_get(j, name), 0);
    return n > 0 && n <= 1000000000 ? (int)n : 0;
}

static void read_one(const struct json *j, struct llm_models *out)
{
    const char *id = json_str(json_get(j, "id")), *ends = json_str(json_get(j, "ends"));
    const char *by = json_str(json_get(j, "replaced_by"));
    struct llm_model *m = id && models_id_good(id) ? models_add(out, id) : NULL;
    if (!m)
        return;
    m->context = tokens(j, "context");
    m->max_output = tokens(j, "max_output");
    m->tools = json_type(json_get(j, "tools")) == JSON_BOOL ? json_bool(json_get(j, "tools"), false) : -1;
    m->price_input = price(j, "price_input");
    m->price_cached = price(j, "price_cached");
    m->price_output = price(j, "price_output");
    m->replaced_by = by && models_id_good(by) ? xstrdup(by) : NULL;
    if (ends && strlen(ends) == 10 && strspn(ends, "0123456789-") == 10)
        memcpy(m->ends, ends, 11);
}

int llm_models_cached(const char *base_url, int max_age_s, struct llm_models *out)
{
    struct buf text autorelease(buf_release) = BUF_INIT(MODELS_BYTES + 65536);
    autofree char *shown = url_show(base_url), *path = path_of_list(shown, ".json");
    *out = (struct llm_models){0};
    if (!path || place_read(path, MODELS_BYTES, &text, NULL) < 0)
        return -1;
    autojson struct json *j = json_parse(buf_str(&text), text.len, 0, NULL, NULL);
    const char *url = json_str(json_get(j, "url"));
    int64_t age = (int64_t)time(NULL) - json_int(json_get(j, "time"), 0);
    if (json_int(json_get(j, "v"), 0) != KEPT_VERSION || !url || strcmp(url, shown) != 0 || age < 0
        || age > max_age_s)
        return -1;
    for (const struct json *e = json_first(json_get(j, "models")); e; e = json_next(e))
        read_one(e, out);
    return out->n ? 0 : -1;
}

static void put_number(struct json *o, const char *name, double v, bool told)
{
    if (told)
        json_set(o, name, json_number(v));
}

static struct json *one_of(const struct llm_model *m)
{
    struct json *o = json_object();
    json_set_str(o, "id", m->id);
    put_number(o, "context", m->context, m->context > 0);
    put_number(o, "max_output", m->max_output, m->max_output > 0);
    if (m->tools >= 0)
        json_set_bool(o, "tools", m->tools);
    put_number(o, "price_input", m->price_input, m->price_input >= 0);
    put_number(o, "price_cached", m->price_cached, m->price_cached >= 0);
    put_number(o, "price_output", m->price_output, m->price_output >= 0);
    if (*m->ends)
        json_set_str(o, "ends", m->ends);
    if (m->replaced_by)
        json_set_str(o, "replaced_by", m->replaced_by);
    return o;
}

void models_keep(const char *base_url, const struct llm_models *m)
{
    autofree char *shown = url_show(base_url), *path = path_of_list(shown, ".json");
    autojson struct json *o = json_object();
    if (!path || !m->n)
        return;
    struct json *list = json_array();
    json_set_int(o, "v", KEPT_VERSION);
    json_set_str(o, "url", shown);
    json_set_int(o, "time", (int64_t)time(NULL));
    for (size_t i = 0; i < m->n; i++)
        json_add(list, one_of(&m->v[i]));
    json_set(o, "models", list);
    autofree char *text = json_print(o);
    if (strlen(text) <= MODELS_BYTES)
        cache_keep(path, text, strlen(text));
}

bool llm_models_first_today(const char *base_url, const char *id, time_t now)
{
    struct buf was autorelease(buf_release) = BUF_INIT(2 * 65536);
    struct buf next autorelease(buf_release) = BUF_INIT(TOLD_BYTES);
    char today[16];
    struct tm tm;
    autofree char *shown = url_show(base_url), *path = path_of_list(shown, ".told");
    if (!path || !gmtime_r(&now, &tm) || !strftime(today, sizeof today, "%Y-%m-%d", &tm))
        return true;
    autofree char *line = xasprintf("%s %s", today, id);
    place_read(path, TOLD_BYTES, &was, NULL);
    for (const char *p = buf_str(&was); *p; p += strspn(p, "\n")) {
        size_t n = strcspn(p, "\n");
        if (n == strlen(line) && !strncmp(p, line, n))
            return false;
        /* lines of other models stay; those of other days are dropped */
        if (!strncmp(p, today, strlen(today)))
            buf_addf(&next, "%.*s\n", (int)n, p);
        p += n;
    }
    buf_addf(&next, "%s\n", line);
    cache_keep(path, buf_str(&next), next.len);
    return true;
}
