/* learnt.c - what was found out about models (learnt.h). The file is a JSON array of objects {origin, fact,
 * value, time}, newest first, so a new kind of fact needs no new format. It is written whole and renamed into
 * place. When two programs learn at once, one of the facts is lost and will be learnt again.
 */
#include "llm/learnt.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "json/json.h"
#include "base/mem.h"
#include "base/place.h"
#include "base/url.h"
#include "base/value.h"

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

static bool is_about(const struct json *entry, const char *key, const char *fact)
{
    return !strcmp(text_at(entry, "origin", ORIGIN_MAX), key)
           && !strcmp(text_at(entry, "fact", VALUE_MAX), fact);
}

char *learnt_load(const char *path, const char *key, const char *fact)
{
    autojson struct json *all = load_all(path);

    for (const struct json *e = json_first(all); e; e = json_next(e))
        if (counts(e) && is_about(e, key, fact))
            return xstrdup(text_at(e, "value", VALUE_MAX));
    return NULL;
}

static struct json *entry_new(const char *key, const char *fact, const char *value)
{
    struct json *e = json_object();

    json_set_str(e, "origin", key);
    json_set_str(e, "fact", fact);
    json_set_str(e, "value", value);
    json_set_int(e, "time", (int64_t)time(NULL));
    return e;
}

void learnt_store(const char *path, const char *key, const char *fact, const char *value)
{
    if (!path || *path != '/' || strlen(key) > ORIGIN_MAX || strlen(value) > VALUE_MAX)
        return;
    autojson struct json *old = load_all(path), *all = json_array();
    int n = 1;

    json_add(all, entry_new(key, fact, value));
    for (const struct json *e = json_first(old); e && n < ENTRIES; e = json_next(e))
        if (counts(e) && !is_about(e, key, fact)) {
            json_add(all, json_copy(e));
            n++;
        }
    autofree char *text = json_print(all);
    cache_keep(path, text, strlen(text));
}

#define KEPT_BLOCKS       "blocks"
#define KEPT_NATIVE       "native"
#define KEPT_RESPONSES    "responses"
#define KEPT_NO_RESPONSES "none"
#define KEPT_GONE         "gone"

char *learnt_key(const struct llm_options *o)
{
    autofree char *shown = url_show(o->base_url);
    int len;
    const char *api = value_choice_at(MODEL_APIS, o->api, &len);

    return xasprintf("%s %s%s%.*s", shown, o->model ? o->model : "", o->api ? " " : "", o->api ? len : 0,
                     api);
}

bool learnt_is_gone(const struct llm_options *o, const char *path)
{
    autofree char *key = learnt_key(o), *model = learnt_load(path, key, "model");

    return model && !strcmp(model, KEPT_GONE);
}

void learnt_keep_gone(const char *path, struct llm_learnt *k)
{
    k->gone = true;
    learnt_store(path, k->key, "model", KEPT_GONE);
}

void learnt_without_responses(struct llm_learnt *k, const struct model_facts *f)
{
    k->no_responses = true;
    if (f->efforts && !value_choice("none", f->efforts)) {
        k->dialect = DIALECT_BLOCKS;
        return;
    }
    k->effort_known = true;
    k->effort = "none";
}

void learnt_keep_tools(const char *path, const struct llm_learnt *k)
{
    learnt_store(path, k->key, "tools", k->api == API_RESPONSES ? KEPT_RESPONSES : KEPT_NO_RESPONSES);
}

void learnt_keep_dialect(const char *path, const struct llm_options *o, struct llm_learnt *k)
{
    const char *dialect = k->dialect == DIALECT_BLOCKS ? KEPT_BLOCKS : k->native_seen ? KEPT_NATIVE : NULL;

    if (o->facts.dialect != DIALECT_AUTO || !dialect || (k->kept && !strcmp(k->kept, dialect)))
        return;
    learnt_store(path, k->key, "dialect", dialect);
    k->kept = dialect;
}

static void recall_dialect(struct llm_learnt *k, const char *path)
{
    autofree char *dialect = learnt_load(path, k->key, "dialect");

    if (dialect && !strcmp(dialect, KEPT_BLOCKS)) {
        k->dialect = DIALECT_BLOCKS;
        k->kept = KEPT_BLOCKS;
    } else if (dialect && !strcmp(dialect, KEPT_NATIVE)) {
        k->native_seen = true;
        k->kept = KEPT_NATIVE;
    }
}

static void recall_tools(struct llm_learnt *k, const struct model_facts *f, const char *path)
{
    autofree char *tools = learnt_load(path, k->key, "tools");

    if (tools && !strcmp(tools, KEPT_RESPONSES))
        k->api = API_RESPONSES;
    else if (tools && !strcmp(tools, KEPT_NO_RESPONSES))
        learnt_without_responses(k, f);
}

/* Takes ownership of key. */
static struct llm_learnt *find_learnt(struct learnt_all *all, char *key, bool *fresh)
{
    for (size_t i = 0; i < all->n; i++)
        if (!strcmp(all->v[i]->key, key)) {
            free(key);
            return all->v[i];
        }
    struct llm_learnt *k = xcalloc(1, sizeof *k);
    k->key = key;
    all->v = xreallocarray(all->v, all->n + 1, sizeof *all->v);
    all->v[all->n++] = k;
    *fresh = true;
    return k;
}

struct llm_learnt *learnt_about(struct learnt_all *all, const struct llm_options *o, const char *path)
{
    bool fresh = false;
    struct llm_learnt *k = find_learnt(all, learnt_key(o), &fresh);

    if (o->facts.context > 0)
        k->context = o->facts.context;
    if (o->facts.dialect != DIALECT_AUTO)
        k->dialect = o->facts.dialect;
    if (!fresh)
        return k;
    k->api = o->api;
    k->max_tokens_field = o->service.max_completion_tokens ? MAX_TOKENS_NEW : MAX_TOKENS_OLD;
    k->gone = learnt_is_gone(o, path);
    if (k->dialect == DIALECT_AUTO)
        recall_dialect(k, path);
    if (k->api == API_CHAT_COMPLETIONS)
        recall_tools(k, &o->facts, path);
    return k;
}

void learnt_release(struct learnt_all *all)
{
    for (size_t i = 0; i < all->n; i++) {
        free(all->v[i]->key);
        free(all->v[i]);
    }
    free(all->v);
}
