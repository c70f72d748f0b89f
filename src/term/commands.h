/* commands.h - the words that begin with a slash, as a table. */
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
    COMMAND_UNKNOWN, /* looks like a command and is none */
};

struct command {
    enum command_id id;
    const char *name, *argument, *help;
};

extern const struct command commands[]; /* ended by a NULL name; /quit is there too */
const char *const *command_words(void); /* the names, ended by NULL, for completion */

/* What a line is. "/usr/bin is what?" is a question: a command is one slash and letters. *argument points
 * into the line behind the word and its blanks ("" when there is none). */
enum command_id command_find(const char *line, const char **argument);
/* The command that an unknown one was most likely meant to be. Never NULL. */
const char *command_nearest(const char *line);

#endif
