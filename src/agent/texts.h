/* texts.h - the texts the agent speaks with. They come from prompts/ (YAML, compiled in, overridden from
 * the configuration folder); main hands them over. Placeholders: {python} {packages} {names} {limits} {date}
 * {tool} are filled by the agent, {output} in the blocks_* texts by src/llm.
 */
#ifndef AGENT_TEXTS_H
#define AGENT_TEXTS_H

struct prompts { /* none is NULL; owned by main */
    const char *system_native, *system_blocks;
    /* of code about data, for a model whose output is its answer */
    const char *examples_table, *examples_json;
    /* after a block from a model of unknown dialect: is that code to be run? */
    const char *nudge;
    const char *blocks_ok, *blocks_failed, *blocks_malformed, *blocks_interrupted, *blocks_no_more;
    const char *tool_description; /* of execute_python */
    const char *tool_code;        /* of its one argument */
    const char *empty;            /* said once after an empty answer */
    const char *no_more_code;     /* result text after the last repair round */
    const char *same_code;        /* result text for failing code sent again */
    const char *same_output;      /* the same for code that ran twice with one output, behind that output */
};

#endif
