/* models_read.c - reads one entry of a list of models. Each service has its own names for the same few facts;
 * tables list them in order of preference. A path is the names of members with dots between them.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/json.h"
#include "base/mem.h"
#include "llm/models_private.h"

#define TOKENS_MAX 1000000000
#define PRICE_MAX  1e6 /* dollars per million tokens */

/* The window in force takes precedence over the largest possible one. */
static const char *const context_paths[] = {
    "loaded_context_length", /* LM Studio, /api/v0 */
    "meta.n_ctx",            /* llama.cpp */
    "max_model_len",         /* vLLM */
    /* OpenRouter: the window of the one that will answer; the next line is the largest of all. */
    "top_provider.context_length",
    "context_length",          /* OpenRouter, Together, Fireworks, Moonshot, Cohere; Ollama's /api/ps */
    "context_window",          /* Groq */
    "max_context_length",      /* Mistral, LM Studio */
    "max_input_tokens",        /* Anthropic */
    "metadata.context_length", /* DeepInfra */
};
static const char *const output_paths[] = {
    "top_provider.max_completion_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "max_output_length",
    "max_tokens",
};
static const char *const tools_paths[] = {"capabilities.function_calling", "supports_tools",
                                          "supports_function_calling"};
static const char *const end_paths[] = {"shutdown_date", "deprecation", "deprecation.inference",
                                        "deprecation_date", "expiration_date"};
static const char *const replaced_paths[] = {"replaced_by", "deprecation_replacement_model", "replacement"};

static const struct json *at_path(const struct json *j, const char *path)
{
    while (j && *path) {
        char name[48];
        size_t n = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        j = json_get(j, name);
        path += n + (path[n] == '.');
    }
    return j;
}

/* Reads a number, or digits in a string (Cloudflare). 0: neither, or nonsense. */
static int tokens_of(const struct json *j)
{
    const char *s = json_str(j);
    int64_t n = s ? strtoll(s, NULL, 10) : json_int(j, 0);
    return n > 0 && n <= TOKENS_MAX ? (int)n : 0;
}

static int first_tokens(const struct json *entry, const char *const *paths, size_t n)
{
    int found = 0;
    for (size_t i = 0; i < n && !found; i++)
        found = tokens_of(at_path(entry, paths[i]));
    return found;
}

static bool has_word(const struct json *list, const char *word)
{
    for (const struct json *e = json_first(list); e; e = json_next(e)) {
        const char *s = json_str(e);
        if (s && !strcmp(s, word))
            return true;
    }
    return false;
}

/* In both lists, capabilities and supported_parameters, a missing word means no. */
static int tools_of(const struct json *entry)
{
    for (size_t i = 0; i < countof(tools_paths); i++) {
        const struct json *j = at_path(entry, tools_paths[i]);
        if (json_type(j) == JSON_BOOL)
            return json_bool(j, false);
    }
    const struct json *said = json_get(entry, "supported_parameters");
    if (json_type(said) == JSON_ARRAY && json_first(said))
        return has_word(said, "tools");
    said = json_get(entry, "capabilities");
    if (json_type(said) == JSON_ARRAY && has_word(said, "completion"))
        return has_word(said, "tools");
    /* LM Studio says that every model takes tools; this one was trained for them. */
    return json_bool(at_path(entry, "capabilities.trained_for_tool_use"), false) || has_word(said, "tool_use")
               ? 1
               : -1;
}

/* Strings are dollars per token (OpenRouter), numbers dollars per million tokens. */
static double price_of(const struct json *pricing, const char *const *names)
{
    for (; *names; names++) {
        const struct json *j = json_get(pricing, *names);
        const char *s = json_str(j);
        double v = s && isdigit((unsigned char)*s) ? round(strtod(s, NULL) * 1e12) / 1e6 : json_double(j, -1);
        if (v >= 0 && v <= PRICE_MAX)
            return v;
    }
    return -1;
}

static void read_prices(const struct json *pricing, struct llm_model *m)
{
    static const char *const input[] = {"prompt", "input", "input_tokens", NULL},
                             *const output[] = {"completion", "output", "output_tokens", NULL},
                             *const cached[] = {"input_cache_read", "cached_input", "cache_read_tokens",
                                                NULL};
    m->price_input = price_of(pricing, input);
    m->price_output = price_of(pricing, output);
    m->price_cached = price_of(pricing, cached);
}

static bool date_good(const char *s)
{
    for (int i = 0; i < 10; i++)
        if (i == 4 || i == 7 ? s[i] != '-' : !isdigit((unsigned char)s[i]))
            return false;
    return !isdigit((unsigned char)s[10]);
}

/* Reads "2027-01-14", with or without a time after it, or seconds since 1970. */
static void read_date(const struct json *j, char out[11])
{
    const char *s = json_str(j);
    time_t at = (time_t)json_int(j, 0);
    struct tm tm;
    if (s && date_good(s))
        snprintf(out, 11, "%.10s", s);
    else if (!s && at > 1000000000 && at < 32503680000 && gmtime_r(&at, &tm))
        strftime(out, 11, "%Y-%m-%d", &tm);
}

/* Hugging Face: any of the listed providers may answer, so the smallest window and the highest price
 * count. */
static void read_providers(const struct json *list, struct llm_model *m)
{
    for (const struct json *p = json_first(list); p; p = json_next(p)) {
        const char *status = json_str(json_get(p, "status"));
        struct llm_model one = models_unknown();
        if (status && strcmp(status, "live") != 0)
            continue;
        int context = first_tokens(p, context_paths, countof(context_paths)), tools = tools_of(p);
        read_prices(json_get(p, "pricing"), &one);
        if (context && (!m->context || context < m->context))
            m->context = context;
        m->tools = tools > m->tools ? tools : m->tools;
        m->price_input = one.price_input > m->price_input ? one.price_input : m->price_input;
        m->price_output = one.price_output > m->price_output ? one.price_output : m->price_output;
    }
}

static void read_cloudflare_prices(const struct json *list, struct llm_model *m)
{
    for (const struct json *p = json_first(list); p; p = json_next(p)) {
        const char *unit = json_str(json_get(p, "unit"));
        double v = json_double(json_get(p, "price"), -1);
        if (!unit || !strstr(unit, "per M") || v < 0 || v > PRICE_MAX)
            continue;
        if (strstr(unit, "cache"))
            m->price_cached = v;
        else if (strstr(unit, "input"))
            m->price_input = v;
        else
            m->price_output = v;
    }
}

/* Reads Cloudflare's list: properties[] of {property_id, value}. */
static void read_properties(const struct json *list, struct llm_model *m)
{
    for (const struct json *p = json_first(list); p; p = json_next(p)) {
        const char *name = json_str(json_get(p, "property_id"));
        const struct json *value = json_get(p, "value");
        const char *text = json_str(value);
        if (!name)
            continue;
        if (!strcmp(name, "context_window"))
            m->context = tokens_of(value);
        else if (!strcmp(name, "max_output_tokens"))
            m->max_output = tokens_of(value);
        else if (!strcmp(name, "function_calling"))
            m->tools = text ? !strcmp(text, "true") : json_bool(value, false);
        else if (!strcmp(name, "planned_deprecation_date"))
            read_date(value, m->ends);
        else if (!strcmp(name, "price"))
            read_cloudflare_prices(value, m);
    }
}

/* Reads LM Studio's own lists: the window of a loaded model counts, not the largest possible one. */
static void read_loaded(const struct json *entry, struct llm_model *m)
{
    const struct json *list = json_get(entry, "loaded_instances");
    const char *state = json_str(json_get(entry, "state"));
    if (json_type(list) == JSON_ARRAY)
        m->context = tokens_of(at_path(json_first(list), "config.context_length"));
    else if (state && !strcmp(state, "not-loaded"))
        m->context = 0;
    else
        return;
    m->unloaded = !m->context;
}

bool models_id_good(const char *id)
{
    size_t n = strlen(id);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)id[i] < 0x20 || id[i] == 0x7f)
            return false;
    return n > 0 && n <= MODELS_ID_MAX;
}

/* Cloudflare's id is its own number, and its name is what one asks for; LM Studio has a key. Gemini puts
 * "models/" in front, and then refuses a name with it. */
static const char *id_of(const struct json *entry)
{
    static const char *const names[] = {"key", "id", "model", "name"};
    const char *name = json_str(json_get(entry, "name")), *id = name && *name == '@' ? name : NULL;
    for (size_t i = 0; i < countof(names) && !id; i++)
        id = json_str(json_get(entry, names[i]));
    if (id && !strncmp(id, "models/", 7))
        id += 7;
    return id && models_id_good(id) ? id : NULL;
}

/* False for models that cannot chat, where the list itself says so. */
static bool talks(const struct json *entry)
{
    static const char *const mute[] = {"embedding", "embeddings", "image",      "audio",
                                       "video",     "rerank",     "moderation", "transcribe"};
    const char *type = json_str(json_get(entry, "type")), *task = json_str(at_path(entry, "task.name"));
    const struct json *out = at_path(entry, "architecture.output_modalities");
    const struct json *said = json_get(entry, "capabilities");
    for (size_t i = 0; type && i < countof(mute); i++)
        if (!strcmp(type, mute[i]))
            return false;
    if ((task && strcmp(task, "Text Generation") != 0)
        || (json_type(out) == JSON_ARRAY && !has_word(out, "text")))
        return false;
    if (json_type(said) == JSON_ARRAY && has_word(said, "embedding") && !has_word(said, "completion"))
        return false;
    return json_bool(json_get(said, "completion_chat"), true) && json_bool(json_get(entry, "active"), true);
}

struct llm_model models_unknown(void)
{
    return (struct llm_model){.tools = -1, .price_input = -1, .price_cached = -1, .price_output = -1};
}

bool models_read_entry(const struct json *entry, struct llm_model *m)
{
    const char *id = id_of(entry), *by = NULL;
    if (!id || !talks(entry))
        return false;
    *m = models_unknown();
    m->id = xstrdup(id);
    m->context = first_tokens(entry, context_paths, countof(context_paths));
    m->max_output = first_tokens(entry, output_paths, countof(output_paths));
    m->tools = tools_of(entry);
    const struct json *pricing = json_get(entry, "pricing");
    read_prices(pricing ? pricing : at_path(entry, "metadata.pricing"), m);
    for (size_t i = 0; i < countof(end_paths) && !*m->ends; i++)
        read_date(at_path(entry, end_paths[i]), m->ends);
    for (size_t i = 0; i < countof(replaced_paths) && !by; i++)
        by = json_str(at_path(entry, replaced_paths[i]));
    m->replaced_by = by && models_id_good(by) ? xstrdup(by) : NULL;
    read_loaded(entry, m);
    read_providers(json_get(entry, "providers"), m);
    read_properties(json_get(entry, "properties"), m);
    return true;
}
