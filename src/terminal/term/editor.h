/* editor.h - reads a line from the terminal: readline in callback mode, driven by the loop. It does not block
 * the loop, so the sandbox starts while the user types. Only one editor can exist at a time.
 */
#ifndef TERM_EDITOR_H
#define TERM_EDITOR_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct editor;
struct error;
struct loop;

enum editor_end {
    EDITOR_LINE,     /* a line was entered */
    EDITOR_CLEARED,  /* Ctrl-C */
    EDITOR_NOTHING,  /* Ctrl-C on an empty line */
    EDITOR_EXTERNAL, /* Ctrl-X Ctrl-E: the line is to be edited by another program */
    EDITOR_AGAIN,    /* Escape twice on an empty line: the last question is to be edited */
    EDITOR_EOF,      /* Ctrl-D on an empty line, or the terminal is gone */
    EDITOR_FATAL,    /* SIGTERM, SIGHUP */
};

struct editor *editor_new(struct loop *loop, struct error *err);
void editor_free(struct editor *e); /* restores the terminal's modes */

/* Enter makes a new line while the text ends in a backslash, which is dropped, or is an open block
 * (message.h); Alt-Enter always does. */
enum editor_end editor_read(struct editor *e, const char *prompt, struct buf *line);
/* The last line as it was typed: each long paste in it is its mark (pastes.h). Valid until the next. */
const char *editor_typed(const struct editor *e);
/* The next editor_read begins with this text. */
void editor_preset(struct editor *e, const char *text, size_t len);
/* Ask the terminal what it can do: query is written once the first prompt stands, so that the prompt does not
 * wait, and each of its replies goes to heard, which returns true for the last one. Nothing is copied. */
struct editor_query {
    const char *query;
    bool (*heard)(void *ctx, const char *reply, size_t len);
    void *ctx;
};
void editor_ask(struct editor *e, const struct editor_query *q);
/* In heard: ask at once what follows from that reply, before the last one has come. */
void editor_ask_more(struct editor *e, const char *query);
/* Call fn(ctx) once, when the first prompt stands and before a line is taken: for what the prompt need not
 * wait for. */
void editor_at_prompt(struct editor *e, void (*fn)(void *ctx), void *ctx);
/* Wait for the last reply, until ms after the query; what is typed meanwhile is kept for the next line. */
void editor_hear(struct editor *e, int ms);

/* Between lines: read what is typed and pasted, as a draft (draft_line.h) with which the next line begins.
 * It is on after a line was entered; off while another program has the terminal. */
void editor_read_drafts(struct editor *e, bool on);
/* Call fn when the draft has changed. queued: what Enter has queued, or NULL. */
void editor_when_draft(struct editor *e, void (*fn)(void *ctx, const char *draft, const char *queued),
                       void *ctx);
/* What is queued becomes part of the draft again: what it follows has failed. Ctrl-C does so too. */
void editor_take_back(struct editor *e);

/* Around other output while a line is edited: take the line off the screen, and put it back. Without a line
 * being edited they do nothing. */
void editor_hide(struct editor *e);
void editor_show(struct editor *e);
/* Restore the terminal's modes for good, before the program ends. Between lines the terminal is in
 * MODES_WAITING (modes.h). */
void editor_restore(struct editor *e);

#endif
