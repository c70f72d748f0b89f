/* commands.h - the table of the chat's commands, such as /help. */
#ifndef TERM_COMMANDS_H
#define TERM_COMMANDS_H

#include <stdbool.h>

enum command_id {
    COMMAND_HELP,
    COMMAND_EXIT,
    COMMAND_CLEAR,
    COMMAND_RESET,
    COMMAND_RETRY,
    COMMAND_MODEL,
    COMMAND_SYSTEM,
    COMMAND_CODE,
    COMMAND_NONE,    /* a question */
    COMMAND_UNKNOWN, /* looks like a command, but is not in the table */
};

struct command {
    enum command_id id;
    const char *name, *argument, *help;
};

extern const struct command commands[]; /* ends with a NULL name */
const char *const *command_words(void); /* the names, ended by NULL, for completion */

/* Which command a line is. A command is a slash and letters, so "/usr/bin is what?" is a question. *argument
 * points into line, after the command and blanks ("" if there is no argument). */
enum command_id command_find(const char *line, const char **argument);
/* The command that is spelled most like an unknown one. Never NULL. */
const char *command_nearest(const char *line);

#endif
