/* prompts.c - the one table of keys: which text of the YAML goes to which member. */
#include "conversation/prompts.h"

#include <string.h>

#include "base/mem.h"

#define T(member) offsetof(struct prompts, member)
const struct prompt_key prompt_keys[] = {
    {NULL, "role", T(role), false},
    {NULL, "model", T(model), true},
    {NULL, "reasoning_effort", T(reasoning_effort), true},
    {NULL, "with", T(with), true},
    {"system", "native", T(system_native), false},
    {"system", "blocks", T(system_blocks), false},
    {"system", "output", T(system_output), true},
    {"examples", "table", T(examples_table), false},
    {"examples", "json", T(examples_json), false},
    {NULL, "nudge", T(nudge), false},
    {"blocks", "ok", T(blocks_ok), false},
    {"blocks", "failed", T(blocks_failed), false},
    {"blocks", "malformed", T(blocks_malformed), false},
    {"blocks", "interrupted", T(blocks_interrupted), false},
    {"blocks", "no_more", T(blocks_no_more), false},
    {NULL, "summary", T(summary), false},
    {NULL, "empty", T(empty), false},
    {NULL, "no_more_code", T(no_more_code), false},
    {NULL, "same_code", T(same_code), false},
    {NULL, "same_output", T(same_output), false},
    {NULL, "verify", T(verify), false},
    {NULL, "mounts", T(mounts), true},
    {NULL, "form", T(form), true},
    {NULL, "form_again", T(form_again), true},
    {NULL, "must_call", T(must_call), true},
    {NULL, "must_call_again", T(must_call_again), true},
};
const size_t prompt_n_keys = countof(prompt_keys);

const char **prompt_at(struct prompts *p, const struct prompt_key *k)
{
    return (const char **)(void *)((char *)p + k->offset);
}

void prompts_map(struct prompts *out, const struct prompts *p, char *(*fill)(void *ctx, const char *text),
                 void *ctx)
{
    *out = *p;
    for (size_t i = 0; i < prompt_n_keys; i++) {
        const char **text = prompt_at(out, &prompt_keys[i]);

        *text = *text ? fill(ctx, *text) : NULL;
    }
    for (size_t i = 0; i < out->n_tools; i++)
        out->tools[i] = (struct prompt_tool){xstrdup(p->tools[i].name), fill(ctx, p->tools[i].description)};
    out->n_languages = 0;
}

int prompts_give_language(struct prompts *p, const char *tool, const char *text)
{
    for (size_t i = 0; i < p->n_tools; i++)
        if (!strcmp(p->tools[i].name, tool))
            return 0;
    for (size_t i = 0; i < p->n_languages; i++)
        if (!strcmp(p->languages[i].name, tool))
            text = p->languages[i].description;
    if (!text || p->n_tools == PROMPT_TOOLS_MAX)
        return -1;
    p->tools[p->n_tools++] = (struct prompt_tool){xstrdup(tool), xstrdup(text)};
    return 0;
}

static void release_tools(struct prompt_tool *tools, size_t *n)
{
    for (size_t i = 0; i < *n; i++) {
        free((char *)tools[i].name);
        free((char *)tools[i].description);
    }
    *n = 0;
}

void prompts_release_tools(struct prompts *p)
{
    release_tools(p->tools, &p->n_tools);
}

void prompts_release(struct prompts *p)
{
    prompts_release_tools(p);
    release_tools(p->languages, &p->n_languages);
    for (size_t i = 0; i < prompt_n_keys; i++)
        free((char *)*prompt_at(p, &prompt_keys[i]));
    *p = (struct prompts){0};
}
