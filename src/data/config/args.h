/* args.h - parses the command line: the command, the options with their arguments, the operand. It knows the
 * option table, but not what an option means.
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
    COMMAND_BATCH,
    COMMAND_BOT,
    COMMAND_CHAT,
    COMMAND_EXEC,
    COMMAND_CONFIG,
    COMMAND_DEBUG /* until its next word was read */,
    COMMAND_DEBUG_REPLY,
    COMMAND_DEBUG_REQUEST,
    COMMAND_DOCTOR,
    COMMAND_FORK,
    COMMAND_GC,
    COMMAND_MCP,
    COMMAND_MODELS,
    COMMAND_PACKAGES,
    COMMAND_PS,
    COMMAND_RECEIPT,
    COMMAND_RERUN,
    COMMAND_RM,
    COMMAND_RUNNER, /* a process of serve's or mcp's own */
    COMMAND_SERVE,
    COMMAND_SESSIONS,
    COMMAND_HELP,   /* becomes args.help */
    COMMAND_VERSION /* becomes args.version */
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
    struct argv names; /* of bot, packages, receipt, rerun, rm and sessions: copies */
    /* exec: the words after FILE or -c CODE, the arguments of the code; ends with NULL. NULL: none */
    char *const *rest;
    struct arg *v;
    size_t n;
    /* --version or --help was found; the words after it were not parsed, except the one right after --help */
    bool version, help;
    const char *help_topic; /* as option_help() wants it */
};

int args_parse(struct args *a, int argc, char *const *argv, struct error *err);
void args_release(struct args *a);
/* Adds the options that were given, as "--name=value" each, for another command line: those of the
 * commands in mask (FOR_..., config/option.h). */
void args_again(const struct args *a, int mask, struct argv *out);

#endif
