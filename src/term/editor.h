/* editor.h - one line from the terminal: readline in callback mode, fed by the loop. It never blocks, so the
 * sandbox starts up while the user types. There is one terminal, so there is one editor.
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

/* words: what Tab completes at the beginning of a line, ended by NULL; not copied. */
struct editor *editor_new(struct loop *loop, const char *const *words, struct error *err);
void editor_free(struct editor *e); /* terminal modes as they were */

/* What Tab completes behind "WORD " at the beginning of a line: names(ctx) gives them, ended by NULL, valid
 * until it is called again. */
void editor_complete_behind(struct editor *e, const char *word, const char *const *(*names)(void *ctx),
                            void *ctx);

enum editor_end editor_read(struct editor *e, const char *prompt, struct buf *line);
/* Other text is about to appear while a line is edited: take the line off the screen, and put it back.
 * Nothing happens otherwise. */
void editor_hide(struct editor *e);
void editor_show(struct editor *e);
/* Between lines: what is typed is kept for the next line and not echoed. Ctrl-C still is a signal. */
void editor_restore(struct editor *e); /* modes as they were, for good */

#endif
