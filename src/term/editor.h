/* editor.h - reads a line from the terminal: readline in callback mode, driven by the loop. It does not block
 * the loop, so the sandbox starts while the user types. Only one editor can exist at a time.
 */
#ifndef TERM_EDITOR_H
#define TERM_EDITOR_H

#include <stdbool.h>

struct buf;
struct editor;
struct error;
struct loop;

enum editor_end {
    EDITOR_LINE,    /* a line was entered */
    EDITOR_CLEARED, /* Ctrl-C */
    EDITOR_EOF,     /* Ctrl-D on an empty line, or the terminal is gone */
    EDITOR_FATAL,   /* SIGTERM, SIGHUP */
};

/* words: completed by Tab at the start of a line; ends with NULL, not copied, must outlive the editor. */
struct editor *editor_new(struct loop *loop, const char *const *words, struct error *err);
void editor_free(struct editor *e); /* restores the terminal's modes */

/* What Tab completes after "WORD " at the start of a line: names(ctx) returns the candidates, ending with
 * NULL and valid until its next call. */
void editor_complete_behind(struct editor *e, const char *word, const char *const *(*names)(void *ctx),
                            void *ctx);

enum editor_end editor_read(struct editor *e, const char *prompt, struct buf *line);
/* Around other output while a line is edited: take the line off the screen, and put it back. Without a line
 * being edited they do nothing. */
void editor_hide(struct editor *e);
void editor_show(struct editor *e);
/* Restore the terminal's modes for good, before the program ends. Between lines the terminal is in
 * MODES_WAITING (modes.h). */
void editor_restore(struct editor *e);

#endif
