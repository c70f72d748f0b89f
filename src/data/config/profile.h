/* profile.h - what is known of models by patterns of their names. The data is YAML: what is built in
 * (models.yaml, and the profiles of a provider's entry), and what the user adds.
 */
#ifndef CONFIG_PROFILE_H
#define CONFIG_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "conversation/model.h"

struct error;
struct ydoc;

/* has_... tells whether the pattern says anything of that member; facts.price.known is that of the price.
 * Strings are owned, and NULL if not set. */
struct profile {
    char *pattern;
    struct model_facts facts;
    bool reasoning; /* facts.no_reasoning is the opposite, where this is known */
    bool has_dialect, has_context, has_max_tokens, has_repair_tokens, has_temperature, has_output_answers,
        has_vision, has_reasoning, has_efforts, has_thinking, has_reasoning_back, has_vllm_parser,
        has_no_temperature, has_thinking_off;
    bool has_end; /* ends, replaced_by, or both */
};

struct profiles {
    struct profile *v;
    size_t n;
};

int profiles_read(struct profiles *p, const struct ydoc *map, struct error *err);
/* The same in front of what is there, so that what is read later counts. */
int profiles_read_before(struct profiles *p, const struct ydoc *map, struct error *err);
int profiles_builtin(struct profiles *p, struct error *err);
void profiles_release(struct profiles *p);

/* Each field is taken from the first pattern that matches the model and has it, in the order of the lists.
 * The strings belong to the lists; pattern is NULL. */
struct profile profile_of(const struct profiles *const *lists, size_t n, const char *model);

#endif
