/* models.c - a list of models as data: reads it, finds a model, and finds the one nearest to a model that is
 * gone.
 *
 * RULE: A list of models is hostile: it has caps, is read in one pass, and has no name with control
 *     characters.
 */
#include "llm/models.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "json/json.h"
#include "base/mem.h"
#include "llm/models_private.h"

void llm_model_release(struct llm_model *m)
{
    free(m->id);
    free(m->replaced_by);
    *m = models_unknown();
}

void llm_models_release(struct llm_models *m)
{
    for (size_t i = 0; i < m->n; i++)
        llm_model_release(&m->v[i]);
    free(m->v);
    *m = (struct llm_models){0};
}

static struct llm_model *add_model(struct llm_models *m, struct llm_model one)
{
    if ((m->n & (m->n - 1)) == 0) /* at each power of two the array is full */
        m->v = xreallocarray(m->v, m->n ? 2 * m->n : 1, sizeof *m->v);
    m->v[m->n] = one;
    return &m->v[m->n++];
}

struct llm_model *models_add(struct llm_models *m, const char *id)
{
    struct llm_model one = models_unknown();
    if (m->n >= MODELS_MAX)
        return NULL;
    one.id = xstrdup(id);
    return add_model(m, one);
}

/* Tells which server made the list: the servers that people run themselves put their name into it. */
static enum llm_server server_of(const struct json *entry)
{
    static const struct {
        const char *owner;
        enum llm_server server;
    } owners[] = {
        {"library", LLM_SERVER_OLLAMA},
        {"llamacpp", LLM_SERVER_LLAMA_CPP},
        {"organization_owner", LLM_SERVER_LM_STUDIO},
        {"vllm", LLM_SERVER_VLLM},
    };
    const char *owner = json_str(json_get(entry, "owned_by"));
    for (size_t i = 0; owner && i < countof(owners); i++)
        if (!strcmp(owner, owners[i].owner))
            return owners[i].server;
    return LLM_SERVER_OTHER;
}

/* Finds the list: {"data":[...]} as OpenAI has it; {"models":[...]} of LM Studio, Cohere and Ollama;
 * Cloudflare's {"result":[...]}; Together's bare list. Ollama without a model says "data": null. */
static const struct json *list_of(const struct json *j, bool *nothing)
{
    static const char *const names[] = {"data", "models", "result"};
    *nothing = false;
    if (json_type(j) == JSON_ARRAY)
        return j;
    for (size_t i = 0; i < countof(names); i++) {
        const struct json *list = json_get(j, names[i]);
        if (json_type(list) == JSON_ARRAY)
            return list;
        *nothing |= list && json_type(list) == JSON_NULL;
    }
    return NULL;
}

int llm_models_parse(const char *text, size_t len, struct llm_models *out, struct error *err)
{
    bool nothing;
    *out = (struct llm_models){0};
    if (len > MODELS_BYTES)
        return error_set(err, ERROR_PROTOCOL, 0, "a list of models larger than %u MiB", MODELS_BYTES >> 20);
    autojson struct json *j = json_parse(text, len, JSON_DUPLICATES, NULL, err);
    if (!j)
        return -1;
    const struct json *list = list_of(j, &nothing);
    if (!list && !nothing)
        return error_set(err, ERROR_PROTOCOL, 0, "not a list of models");
    for (const struct json *e = json_first(list); e && out->n < MODELS_MAX; e = json_next(e)) {
        struct llm_model one;
        if (!out->server)
            out->server = server_of(e);
        if (models_read_entry(e, &one))
            add_model(out, one);
    }
    return 0;
}

const char *llm_models_first(const struct llm_models *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (!strstr(m->v[i].id, "embed"))
            return m->v[i].id;
    return m->n ? m->v[0].id : NULL;
}

const struct llm_model *llm_models_find(const struct llm_models *m, const char *id)
{
    static const char latest[] = ":latest";
    size_t n = strlen(id);
    const struct llm_model *found = NULL;
    for (size_t i = 0; i < m->n; i++) {
        if (!strcmp(m->v[i].id, id))
            return &m->v[i];
        if (!found && !strncmp(m->v[i].id, id, n) && !strcmp(m->v[i].id + n, latest))
            found = &m->v[i];
    }
    return found;
}

/* True for models that cannot chat, by their names, because the list does not say so. */
static bool mute(const char *id)
{
    static const char *const words[] = {
        "embed",  "whisper",  "tts",        "audio",      "image",
        "dall-e", "realtime", "transcribe", "moderation", "rerank",
    };
    for (size_t i = 0; i < countof(words); i++)
        if (strcasestr(id, words[i]))
            return true;
    return false;
}

/* Skips the maker's prefix, which says nothing about which model is near. */
static const char *own_name(const char *id)
{
    const char *slash = strrchr(id, '/');
    return slash && slash[1] ? slash + 1 : id;
}

/* True where neither name continues the word. Letters before a digit are a word, so "llama3" and "llama4"
 * have one in common. */
static bool word_ends(const char *a, const char *b, bool letter)
{
    int (*goes_on)(int) = letter ? isalpha : isalnum;
    return !goes_on((unsigned char)*a) && !goes_on((unsigned char)*b);
}

/* Measures how much two names share, from the left; whole words count most. */
static unsigned likeness(const char *a, const char *b)
{
    unsigned words = 0, letters = 0;
    for (; *a && tolower((unsigned char)*a) == tolower((unsigned char)*b); letters++) {
        bool letter = isalpha((unsigned char)*a), part = isalnum((unsigned char)*a);
        a++, b++;
        words += part && word_ends(a, b, letter);
    }
    return words * 256 + (letters < 255 ? letters : 255);
}

const struct llm_model *llm_models_nearest(const struct llm_models *m, const char *id)
{
    const struct llm_model *exact = llm_models_find(m, id), *best = NULL;
    unsigned most = 0;
    if (exact && exact->replaced_by && (best = llm_models_find(m, exact->replaced_by)) != NULL)
        return best;
    for (size_t i = 0; i < m->n; i++) {
        const struct llm_model *one = &m->v[i];
        unsigned like = likeness(own_name(one->id), own_name(id));
        if (one == exact || mute(one->id) || like < 256) /* at least one whole word, which is the family */
            continue;
        like += *one->ends ? 0 : 1u << 20; /* one that ends too is taken only when there is no other */
        if (like > most) {
            most = like;
            best = one;
        }
    }
    return best;
}

bool llm_model_days_left(const struct llm_model *m, time_t now, int *days)
{
    struct tm tm = {0};
    if (!*m->ends || !strptime(m->ends, "%Y-%m-%d", &tm))
        return false;
    int64_t seconds = (int64_t)timegm(&tm) - now;
    *days = (int)(seconds >= 0 ? seconds / 86400 : -1 - (-seconds - 1) / 86400);
    return true;
}
