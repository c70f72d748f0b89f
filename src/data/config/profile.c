/* profile.c - reads the profiles, and puts together those whose pattern matches a model's name. */
#include "config/profile.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "config/embedded.h"
#include "yaml/fields.h"
#include "yaml/ydoc.h"

_Static_assert(offsetof(struct price, output) == offsetof(struct price, input) + 2 * sizeof(double),
               "F_PRICE fills three in a row");
#define P(member) offsetof(struct profile, member)
#define M(member) P(facts.member)
static const struct field fields[] = {
    {"dialect", F_CHOICE, M(dialect), DIALECTS, false, P(has_dialect)},
    {"context", F_COUNT, M(context), NULL, false, P(has_context)},
    {"max_tokens", F_COUNT, M(max_tokens), NULL, false, P(has_max_tokens)},
    {"repair_tokens", F_COUNT, M(repair_tokens), NULL, false, P(has_repair_tokens)},
    {"temperature", F_NUMBER, M(temperature), NULL, false, P(has_temperature)},
    {"no_temperature", F_BOOL, M(no_temperature), NULL, false, P(has_no_temperature)},
    {"price", F_PRICE, M(price.input), NULL, false, M(price.known)},
    {"output_answers", F_BOOL, M(output_answers), NULL, false, P(has_output_answers)},
    {"vision", F_BOOL, M(vision), NULL, false, P(has_vision)},
    {"reasoning", F_BOOL, P(reasoning), NULL, false, P(has_reasoning)},
    {"efforts", F_CHOICES, M(efforts), EFFORTS "|default", false, P(has_efforts)},
    {"thinking", F_CHOICE, M(thinking), THINKINGS, false, P(has_thinking)},
    {"thinking_off", F_STRING, M(thinking_off), NULL, false, P(has_thinking_off)},
    {"reasoning_back", F_CHOICE, M(reasoning_back), REASONING_BACK, false, P(has_reasoning_back)},
    {"vllm_parser", F_STRING, M(vllm_parser), NULL, false, P(has_vllm_parser)},
    {"ends", F_DATE, M(ends), NULL, false, P(has_end)},
    {"replaced_by", F_STRING, M(replaced_by), NULL, false, P(has_end)},
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
        struct model_facts *facts = &p->v[i].facts;

        free(p->v[i].pattern);
        free((char *)facts->efforts);
        free((char *)facts->thinking_off);
        free((char *)facts->vllm_parser);
        free((char *)facts->ends);
        free((char *)facts->replaced_by);
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
    struct profile all = {.facts.temperature = -1};

    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; lists[k] && i < lists[k]->n; i++)
            if (matches(lists[k]->v[i].pattern, model))
                fields_merge(&schema, &all, &lists[k]->v[i]);
    all.facts.no_reasoning = all.has_reasoning && !all.reasoning;
    return all;
}
