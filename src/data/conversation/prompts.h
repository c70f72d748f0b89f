/* prompts.h - an agent's definition and the texts it speaks with: one struct from the YAML of prompts/
 * (read by config/prompt_file.h) over the agent, which fills in the placeholders, to the request
 * (wire). Plain data.
 *
 * Placeholders: {python} {packages} {names} {limits} {date} {tool} {mounts} {schema} {problem} {tools} are
 * filled in by the agent, {output} in the blocks_* texts by wire.
 */
#ifndef CHAT_PROMPTS_H
#define CHAT_PROMPTS_H

#include <stdbool.h>
#include <stddef.h>

#define PROMPT_TOOLS_MAX 8

/* A tool that this agent may use. */
struct prompt_tool {
    const char *name, *description;
};

/* Strings belong to whoever filled it in; after loading only model, reasoning_effort and with may be NULL. */
struct prompts {
    const char *role;
    const char *model; /* the model it asks for when nobody names one; NULL: any */
    const char *reasoning_effort;
    const char *with; /* packages that its code can import, "seaborn,polars>=1"; NULL: none */
    const char *system_native, *system_blocks;
    const char *system_output; /* for a model whose output is its answer; NULL: system_blocks */
    const char *examples_table,
        *examples_json; /* of code about data, for a model whose output is its answer */
    const char *nudge;  /* asks about code in a reply of a model of unknown dialect; NULL: none ever is */
    const char *blocks_ok, *blocks_failed, *blocks_malformed, *blocks_interrupted, *blocks_no_more;
    const char *summary;      /* asks for a summary of the conversation; NULL: none is ever asked for */
    const char *empty;        /* said once after an empty answer */
    const char *no_more_code; /* result text after the last repair round */
    const char *same_code;    /* result text for failing code sent again */
    const char *same_output;  /* the same for code that ran twice with one output, behind that output */
    const char *mounts;       /* said of the folders of --mount in the system prompt; NULL: nothing is */
    const char *verify;       /* goes before a question that is computed a second time */
    /* Added to the system prompt where a program reads the answer: {schema} is what it must fit. And what is
     * said, once, to an answer that does not: {problem}. NULL: no such question can be asked. */
    const char *form, *form_again;
    /* Likewise where the answer must be a call of one of the caller's own tools: {tools} */
    const char *must_call, *must_call_again;
    struct prompt_tool tools[PROMPT_TOOLS_MAX];
    size_t n_tools;
    struct prompt_tool languages[PROMPT_TOOLS_MAX]; /* tools that it is given where they are asked for */
    size_t n_languages;
};

/* Where a text stands in the YAML and in the struct. */
struct prompt_key {
    const char *section, *key; /* section NULL: at the top */
    size_t offset;
    bool optional;
};
extern const struct prompt_key prompt_keys[];
extern const size_t prompt_n_keys;
const char **prompt_at(struct prompts *p, const struct prompt_key *k);

/* A copy of each text and description, made by fill; names of tools are copied as they are. */
void prompts_map(struct prompts *out, const struct prompts *p, char *(*fill)(void *ctx, const char *text),
                 void *ctx);
/* These are for a struct that owns its strings. The first adds the tool of a language to its tools, with its
 * own text for that or else the given one (or NULL). -1: there is no text for it, or there are too many
 * tools. */
int prompts_give_language(struct prompts *p, const char *tool, const char *text);
void prompts_release_tools(struct prompts *p);
void prompts_release(struct prompts *p);

#endif
