/* term.h - the chat: line editing, history on disk, pasted text as one message, commands, interrupts. */
#ifndef TERM_TERM_H
#define TERM_TERM_H

#include <stdbool.h>

#include "chat/event.h"

struct agent;
struct error;
struct loop;
struct term;

/* in the service's list that is kept, if one is */
enum { TERM_MODEL_UNCHECKED, TERM_MODEL_LISTED, TERM_MODEL_UNLISTED };

struct term_options {
    bool quiet, verbose, reasoning;
    const char *color;
    const char *history_path; /* NULL: none is kept */
    const char *greeting;     /* one line: model, engine */
    /* the user's own addition to the system prompt that is in force, or NULL (for /system) */
    const char *system;
    const char *const *files; /* --add: for the first question; ended by NULL, or NULL */
    /* "/model NAME": change the model; one of the three, or -1 with err. NULL text asks for the present name,
     * which is in *now. */
    int (*model)(void *ctx, const char *name, const char **now, struct error *err);
    /* The names that Tab completes behind "/model ", ended by NULL, valid until the next call; or NULL. */
    const char *const *(*models)(void *ctx);
    void *ctx;
};

struct term *term_new(const struct term_options *o, struct loop *loop, struct error *err);
void term_free(struct term *t); /* terminal modes restored */
void term_event(void *term, const struct event *e);
int term_run(struct term *t, struct agent *a); /* until /exit or Ctrl-D; the exit code */

#endif
