/* profile.h - what is known of models by patterns of their names. The data is YAML: what is built in
 * (models.yaml, and the profiles of a provider's entry), and what the user adds.
 */
#ifndef CONFIG_PROFILE_H
#define CONFIG_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct ydoc;

enum profile_dialect { PROFILE_AUTO, PROFILE_NATIVE, PROFILE_BLOCKS };

/* Where a service wants to be told how long to think. Each in the order of its enum. */
enum thinking {
    THINKING_EFFORT,
    THINKING_NONE,
    THINKING_TYPE,
    THINKING_ADAPTIVE,
    THINKING_ENABLE,
    THINKING_ENABLED,
    THINKING_REASONING
};
#define THINKING_CHOICES "effort|none|type|adaptive|enable_thinking|enabled|reasoning"

/* Which of its own thoughts a service wants back. */
enum reasoning_back { BACK_CALLS, BACK_ALWAYS, BACK_REQUIRED, BACK_NEVER, BACK_TEXT };
#define REASONING_BACK_CHOICES "calls|always|required|never|text"

#define EFFORTS "none|minimal|low|medium|high|xhigh|max"

/* has_... tells whether the pattern says anything of that member. Strings are owned, and NULL if not set. */
struct profile {
    char *pattern;
    enum profile_dialect dialect;
    int context, max_tokens; /* 0: unknown */
    int repair_tokens;       /* what a question may have cost when failing code is mended; 0: no limit */
    double temperature;      /* < 0: none */
    bool no_temperature;     /* it refuses any */
    double price[3];         /* dollars per million tokens: in, cached, out; of use with has_price */
    /* in blocks: what its code prints is the answer, where that is one short line */
    bool output_answers;
    bool vision, reasoning;
    char *efforts; /* those that the model knows, of EFFORTS or "default", joined by | */
    enum thinking thinking;
    char *thinking_off; /* with THINKING_TYPE and ADAPTIVE: what it calls "disabled"; or NULL */
    enum reasoning_back reasoning_back;
    char *vllm_parser; /* what vLLM calls the parser of its tool calls */
    /* the day on which the service takes it away, YYYY-MM-DD; what it names instead */
    char *ends, *replaced_by;
    bool has_dialect, has_context, has_max_tokens, has_repair_tokens, has_temperature, has_price,
        has_output_answers, has_vision, has_reasoning, has_efforts, has_thinking, has_reasoning_back,
        has_vllm_parser, has_no_temperature, has_thinking_off;
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
