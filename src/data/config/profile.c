/* profile.c - see profile.h. */
#include "config/profile.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "config/embedded.h"
#include "yaml/fields.h"
#include "yaml/ydoc.h"

#define M(member) offsetof(struct profile, member)
static const struct field fields[] = {
    {"dialect", F_CHOICE, M(dialect), "auto|native|blocks", false, M(has_dialect)},
    {"context", F_COUNT, M(context), NULL, false, M(has_context)},
    {"max_tokens", F_COUNT, M(max_tokens), NULL, false, M(has_max_tokens)},
    {"repair_tokens", F_COUNT, M(repair_tokens), NULL, false, M(has_repair_tokens)},
    {"temperature", F_NUMBER, M(temperature), NULL, false, M(has_temperature)},
    {"no_temperature", F_BOOL, M(no_temperature), NULL, false, M(has_no_temperature)},
    {"price", F_PRICE, M(price), NULL, false, M(has_price)},
    {"output_answers", F_BOOL, M(output_answers), NULL, false, M(has_output_answers)},
    {"vision", F_BOOL, M(vision), NULL, false, M(has_vision)},
    {"reasoning", F_BOOL, M(reasoning), NULL, false, M(has_reasoning)},
    {"efforts", F_CHOICES, M(efforts), EFFORTS "|default", false, M(has_efforts)},
    {"thinking", F_CHOICE, M(thinking), THINKING_CHOICES, false, M(has_thinking)},
    {"thinking_off", F_STRING, M(thinking_off), NULL, false, M(has_thinking_off)},
    {"reasoning_back", F_CHOICE, M(reasoning_back), REASONING_BACK_CHOICES, false, M(has_reasoning_back)},
    {"vllm_parser", F_STRING, M(vllm_parser), NULL, false, M(has_vllm_parser)},
    {"ends", F_DATE, M(ends), NULL, false, M(has_end)},
    {"replaced_by", F_STRING, M(replaced_by), NULL, false, M(has_end)},
};

static const struct schema schema = {fields, countof(fields)};

int profiles_read(struct profiles *p, const struct ydoc *map, struct error *err)
{
    if (map->type != YDOC_MAP)
        return ydoc_expected(map, "a map: name patterns of models, each with its fields", err);
    for (size_t i = 0; i < map->n; i++) {
        p->v = xreallocarray(p->v, p->n + 1, sizeof(*p->v));
        p->v[p->n] = (struct profile){.pattern = xstrdup(map->v[i].key)};
        if (fields_read(&schema, &map->v[i], false, &p->v[p->n++], err) < 0)
            return -1;
    }
    return 0;
}

int profiles_read_before(struct profiles *p, const struct ydoc *map, struct error *err)
{
    struct profiles first = {0};
    int status = profiles_read(&first, map, err);

    first.v = xreallocarray(first.v, first.n + p->n + 1, sizeof(*first.v));
    for (size_t i = 0; i < p->n; i++)
        first.v[first.n++] = p->v[i];
    free(p->v);
    *p = first;
    return status;
}

int profiles_builtin(struct profiles *p, struct error *err)
{
    autoydoc struct ydoc *root = ydoc_parse(models_yaml, EMBED_SIZE(models_yaml), "models.yaml", err);

    return root ? profiles_read(p, root, err) : -1;
}

void profiles_release(struct profiles *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->v[i].pattern);
        free(p->v[i].efforts);
        free(p->v[i].thinking_off);
        free(p->v[i].vllm_parser);
        free(p->v[i].ends);
        free(p->v[i].replaced_by);
    }
    free(p->v);
    *p = (struct profiles){0};
}

/* Match the whole name, or what follows its last slash, since gateways put the maker in front. */
static bool matches(const char *pattern, const char *model)
{
    const char *slash = strrchr(model, '/');

    return fnmatch(pattern, model, FNM_CASEFOLD) == 0
           || (slash && fnmatch(pattern, slash + 1, FNM_CASEFOLD) == 0);
}

struct profile profile_of(const struct profiles *const *lists, size_t n, const char *model)
{
    struct profile all = {.temperature = -1};

    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; lists[k] && i < lists[k]->n; i++)
            if (matches(lists[k]->v[i].pattern, model))
                fields_merge(&schema, &all, &lists[k]->v[i]);
    return all;
}
