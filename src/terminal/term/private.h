/* private.h - what the chat's loop (term.c) shares with its commands (cmd_*.c). */
#ifndef TERM_PRIVATE_H
#define TERM_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/inputs.h"
#include "conversation/event.h"
#include "term/editor.h"
#include "term/history.h"
#include "term/past.h"
#include "term/term.h"

struct term {
    struct term_options o;
    struct loop *loop;
    struct agent *agent; /* while the chat runs */
    struct editor *editor;
    struct history history;
    struct inputs files; /* for the first question */
    struct show *show;
    struct show_text *text;
    struct buf terminal_query; /* what the terminal is asked about figures */
    struct editor_query query;
    struct argv names; /* of saved files or sessions, for Tab */
    char *greeting, *system;
    struct past past; /* of this conversation */
    char *asked;      /* the question as it was typed, unless it is in past; or NULL */
    uint64_t serial;  /* of the question that is being answered; 0: none is */
    uint64_t edited;  /* the serial of the question that the next one replaces; 0: none */
    char *prompt;
    bool leaving;              /* /exit was given */
    unsigned nothings;         /* how often in a row Ctrl-C was pressed at an empty prompt */
    bool lent;                 /* another program has the terminal */
    struct argv held;          /* notices that wait until it gives the terminal back */
    char *code;                /* of the cell that runs, or NULL */
    struct buf output;         /* of the last cell, for /last; with its value */
    char *output_path;         /* or where all of it is, if that is more */
    bool misspoken;            /* the user's own cell ended in a NameError or a SyntaxError */
    bool own;                  /* the running cell is the user's own, so its code is not shown */
    char *stopped;             /* what happened to the code that Ctrl-C ended; NULL: it ended none */
    enum question_status last; /* of the last question */
    int broken;                /* exit code after a write error on stdout */
};

/* term.c */
/* One line on stderr; scrubbed. */
void term_say(struct term *t, enum notice_level level, const char *text);
void term_sayf(struct term *t, enum notice_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void term_say_error(struct term *t, const struct error *err);
/* What a command was asked for, on stdout; scrubbed, and ended by a newline. */
void term_print(struct term *t, const char *text, size_t len);
/* The same lines, each broken at blanks where the terminal is narrower. */
void term_print_wrapped(struct term *t, const char *text);
void term_after_question(struct term *t, enum question_status status);
/* Let the user edit text with a program of their own (external.h). */
int term_edit(struct term *t, const char *suffix, struct buf *text, struct error *err);
/* The same with the text of term_print: through a pager if it is longer than the screen. */
void term_page(struct term *t, const char *text, size_t len);
/* Lend the terminal to a program until it ends. */
int term_lend(struct term *t, const struct argv *words, struct error *err);
/* Run code of the user's own and show what it does. */
void term_run_code(struct term *t, const char *code);

#endif
