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
    {"context", F_COUNT, M(context), NULL, false, 0},
    {"max_tokens", F_COUNT, M(max_tokens), NULL, false, 0},
    {"repair_tokens", F_COUNT, M(repair_tokens), NULL, false, 0},
    {"temperature", F_NUMBER, M(temperature), NULL, false, 0},
    {"price", F_PRICE, M(price), NULL, false, M(has_price)},
    {"output_answers", F_BOOL, M(output_answers), NULL, false, M(has_output_answers)},
    {"check_numbers", F_BOOL, M(check_numbers), NULL, false, M(has_check_numbers)},
    {"vision", F_BOOL, M(vision), NULL, false, M(has_vision)},
    {"reasoning", F_BOOL, M(reasoning), NULL, false, M(has_reasoning)},
    {"efforts", F_CHOICES, M(efforts), EFFORTS "|default", false, 0},
    {"thinking", F_CHOICE, M(thinking), THINKING_CHOICES, false, M(has_thinking)},
    {"reasoning_back", F_CHOICE, M(reasoning_back), REASONING_BACK_CHOICES, false, M(has_reasoning_back)},
    {"ends", F_DATE, M(ends), NULL, false, 0},
    {"replaced_by", F_STRING, M(replaced_by), NULL, false, 0},
};

static const struct schema schema = {fields, countof(fields)};

int profiles_read(struct profiles *p, const struct ydoc *map, struct error *err)
{
    if (map->type != YDOC_MAP)
        return ydoc_expected(map, "a map: name patterns of models, each with its fields", err);
    for (size_t i = 0; i < map->n; i++) {
        p->v = xreallocarray(p->v, p->n + 1, sizeof(*p->v));
        p->v[p->n] = (struct profile){.pattern = xstrdup(map->v[i].key), .temperature = -1};
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
    struct ydoc *root = ydoc_parse(models_yaml, EMBED_SIZE(models_yaml), "models.yaml", err);
    int status = root ? profiles_read(p, root, err) : -1;

    ydoc_free(root);
    return status;
}

void profiles_release(struct profiles *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->v[i].pattern);
        free(p->v[i].efforts);
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

#define TAKE(flag, member)     \
    if (f->flag && !all->flag) \
    all->member = f->member, all->flag = true

static void add(struct profile *all, const struct profile *f)
{
    TAKE(has_dialect, dialect);
    TAKE(has_output_answers, output_answers);
    TAKE(has_check_numbers, check_numbers);
    TAKE(has_vision, vision);
    TAKE(has_reasoning, reasoning);
    TAKE(has_thinking, thinking);
    TAKE(has_reasoning_back, reasoning_back);
    if (f->has_price && !all->has_price) {
        memcpy(all->price, f->price, sizeof all->price);
        all->has_price = true;
    }
    all->context = all->context ? all->context : f->context;
    all->max_tokens = all->max_tokens ? all->max_tokens : f->max_tokens;
    all->repair_tokens = all->repair_tokens ? all->repair_tokens : f->repair_tokens;
    all->temperature = all->temperature >= 0 ? all->temperature : f->temperature;
    all->efforts = all->efforts ? all->efforts : f->efforts;
    if (!all->ends && !all->replaced_by) {
        all->ends = f->ends;
        all->replaced_by = f->replaced_by;
    }
}

struct profile profile_of(const struct profiles *const *lists, size_t n, const char *model)
{
    struct profile all = {.temperature = -1};

    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; lists[k] && i < lists[k]->n; i++)
            if (matches(lists[k]->v[i].pattern, model))
                add(&all, &lists[k]->v[i]);
    return all;
}
