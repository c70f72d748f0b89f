/* outside.h - the user's own editor ($VISUAL, $EDITOR) on a text. It gets the terminal, with a file of mode
 * 0600 below XDG_RUNTIME_DIR that is removed afterwards.
 */
#ifndef TERM_OUTSIDE_H
#define TERM_OUTSIDE_H

struct buf;
struct error;
struct loop;

/* suffix of the file's name, for the editor's colours: ".py". Serves the loop meanwhile. 1: text is what came
 * back, control characters and newlines at the end removed; 0: it was not changed; -1 with err, text as it
 * was. */
int outside_edit(struct loop *loop, const char *suffix, struct buf *text, struct error *err);

#endif
