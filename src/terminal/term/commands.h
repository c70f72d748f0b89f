/* commands.h - the chat's commands, such as /help. A command is a row and a function, one behind the other in
 * a cmd_*.c:
 *
 *     const struct chat_command command_NAME = {
 *
 * Nothing else lists it: the Makefile finds the rows of these files. Finding, checking of the argument, /help
 * and Tab come from the row.
 */
#ifndef TERM_COMMANDS_H
#define TERM_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "term/tab.h"

struct term;

struct chat_command {
    const char *name; /* "/help" */
    /* Other ways to say it, between blanks, or NULL. One that begins with no slash counts only if it is alone
     * on the line. */
    const char *aliases;
    const char *argument; /* its shape: "" (it takes none), "[TEXT]" (may be left out), "FILE" (is needed) */
    const char *help;     /* one line of at most 55 columns; NULL: not listed */
    const char *more;     /* what "/help COMMAND" adds, lines of at most 79 columns; or NULL */
    /* What it does: act if it takes no argument, else run, whose argument has no blanks around it, is "" if
     * there is none, and is not kept. */
    void (*act)(struct term *t);
    void (*run)(struct term *t, const char *argument);
    /* What Tab completes in the argument: one of two lists (tab.h), or files: with words instead of one, with
     * names behind one. What names returns is valid until its next call. */
    const char *const *words;
    const char *const *(*names)(struct term *t);
    bool files;
    bool usual; /* on the first screen of /help */
};

extern const struct chat_command *const commands[]; /* by name, ended by NULL */
const char *const *command_words(void);             /* the names with a slash, ended by NULL */

/* The command that a line is, or NULL for a question. A command is a slash and letters, so "/usr/bin is
 * what?" is a question, and so is a text of several lines. A row whose name is NULL stands for a command
 * that does not exist; its argument is the line. *argument is what follows, for the caller to free.
 */
const struct chat_command *command_find(const char *line, char **argument);
/* The row of "model" or "/model", or NULL. */
const struct chat_command *command_named(const char *name);
/* The command that was probably meant by an unknown one, or NULL. */
const char *command_nearest(const char *line);
void command_unknown(struct term *t, const char *line); /* say that there is none, and which was meant */
struct candidates command_complete(void *term, const char *line, size_t start); /* for tab.h */
/* Does a question only doubt the last answer ("Are you sure?")? One that begins with a blank does not. */
bool command_doubt(const char *line);
/* Find the command of a line and run it. False: it is a question. */
bool command_obey(struct term *t, const char *line);

#endif
