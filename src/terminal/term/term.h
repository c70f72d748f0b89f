/* term.h - the chat: line editing, history on disk, pasted text as one message, commands, interrupts. */
#ifndef TERM_TERM_H
#define TERM_TERM_H

#include <stdbool.h>

#include <stdint.h>

#include "conversation/event.h"
#include "show/show.h"

struct agent;
struct argv;
struct buf;
struct error;
struct loop;
struct sandbox;
struct term;

/* Is a model in the service's cached list? UNCHECKED: there is no such list. */
enum { TERM_MODEL_UNCHECKED, TERM_MODEL_LISTED, TERM_MODEL_UNLISTED };

/* The saved sessions, for /sessions and its like. Each returns 0, or -1 with err. */
struct term_sessions {
    /* Append a table of the newest, or of those with these words (not ""). */
    int (*list)(void *ctx, const char *words, struct buf *out, struct error *err);
    /* Append the IDs of the newest, as Tab completes them (term/tab.h). */
    void (*names)(void *ctx, struct argv *out);
    /* Leave for another one: the chat ends, and the caller starts that one. */
    int (*go_to)(void *ctx, const char *id, struct error *err);
    int (*rename)(void *ctx, const char *title, struct error *err);
    /* argument: "[FORMAT] [FILE]". Append the path that was written, and the format where the path does not
     * tell it. */
    int (*export)(void *ctx, const char *argument, struct buf *saved, struct error *err);
    /* Take the last question back. */
    int (*undo)(void *ctx, struct error *err);
    void *ctx;
};

/* All commands and keys of the chat, as /help all prints them. */
void term_help(struct buf *out);

/* Functions: all are in main/ask_chat.c. */
struct term_options {
    struct show_options show; /* without what show_on_stderr() fills in */
    const char *history_path; /* what was typed in chats before; NULL: no history on disk */
    bool notify;              /* the bell rings after work of more than 10 s */
    bool keep_history;        /* what is typed in this one is added */
    const char *greeting;     /* printed first: model, engine */
    /* the user's present addition to the system prompt, or NULL (for /system) */
    const char *system;
    const char *const *files; /* --add, attached to the first question; ends with NULL; may be NULL */
    /* "/model NAME": change the model. Returns TERM_MODEL_..., or -1 with err. name NULL only asks for the
     * present name; *now is the name afterwards. */
    int (*model)(void *ctx, const char *name, const char **now, struct error *err);
    /* What Tab completes after "/model "; ends with NULL, valid until the next call. May be NULL. */
    const char *const *(*models)(void *ctx);
    /* "/timeout TIME": set the time of a cell. text NULL only asks. *ms is the time afterwards. */
    int (*cell_time)(void *ctx, const char *text, int64_t *ms, struct error *err);
    /* "/with NAMES": packages that code can import. *told says which, "emoji 2.16.0"; it is the chat's to
     * free. names NULL only asks: "" where there are none. */
    int (*with)(void *ctx, const char *names, char **told, struct error *err);
    /* Go on with a copy of the session; wanted: its title, or "". *title is what it became, *was names the
     * session before; both are the chat's to free. */
    int (*fork)(void *ctx, const char *wanted, char **title, char **was, struct error *err);
    /* Append the options of "sandpiper doctor" that make it check what this chat uses. */
    void (*doctor)(void *ctx, struct argv *words);
    /* Called once, when the first prompt stands and before a line is taken: for what the prompt need not
     * wait for. May be NULL. */
    void (*at_prompt)(void *ctx);
    void *ctx;
    struct sandbox *sandbox;  /* for /vars and /sandbox; not owned */
    const char *sandbox_name; /* or NULL */
    struct term_sessions sessions;
};

struct term *term_new(const struct term_options *o, struct loop *loop, struct error *err);
void term_free(struct term *t); /* restores the terminal's modes */
void term_event(void *term, const struct event *e);
/* While a question is being answered: on: somebody else reads a line from the terminal, as it was before. */
void term_lend_keys(struct term *t, bool on);
/* It may wait a moment for what the terminal says of itself. */
struct show_figures term_figures(struct term *t);
/* A saved session goes on: what /raw, /copy, /code and Escape twice show until a question is asked. Each may
 * be NULL. */
void term_continued(struct term *t, struct agent *a, const char *question, const char *answer,
                    const char *code);
int term_run(struct term *t, struct agent *a); /* until /exit or Ctrl-D; returns the exit code */

#endif
