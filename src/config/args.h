/* args.h - the command line as words: which command, which options with which argument, which operand. Knows
 * the option table, not the meaning of any option.
 */
#ifndef CONFIG_ARGS_H
#define CONFIG_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/argv.h"

struct error;
struct option;

enum command {
    COMMAND_ASK,
    COMMAND_EXEC,
    COMMAND_CONFIG,
    COMMAND_DEBUG /* only while its next word is not read */,
    COMMAND_DEBUG_REPLY,
    COMMAND_DEBUG_REQUEST,
    COMMAND_DOCTOR,
    COMMAND_GC,
    COMMAND_MODELS,
    COMMAND_PS,
    COMMAND_RM,
    COMMAND_HELP /* becomes args.help */
};

struct arg {
    const struct option *option;
    const char *value; /* NULL for flags without argument */
    bool letter;       /* written as -m, not --model */
};

struct args { /* points into argv */
    enum command command;
    const char *operand;
    bool operand_is_stdin;
    struct argv names; /* of rm: copies */
    /* of exec: the words behind FILE or -c CODE, which are its code's; ended by NULL. NULL: none */
    char *const *rest;
    struct arg *v;
    size_t n;
    /* one of them was met: the rest was not looked at, but for the word right behind --help */
    bool version, help;
    const char *help_topic; /* as option_help() wants it */
};

int args_parse(struct args *a, int argc, char *const *argv, struct error *err);
void args_release(struct args *a);

#endif
