/* external.h - another program has the terminal for a while: the user's editor ($VISUAL, $EDITOR) or pager
 * ($PAGER) on a text, which is a draft (base/draft.h) meanwhile. All serve the loop.
 */
#ifndef TERM_EXTERNAL_H
#define TERM_EXTERNAL_H

struct argv;
struct buf;
struct error;
struct loop;

/* suffix of the file's name, for the editor's colours: ".py". 1: text is what came
 * back, control characters and newlines at the end removed; 0: it was not changed; -1 with err, text as it
 * was. */
int external_edit(struct loop *loop, const char *suffix, struct buf *text, struct error *err);
/* Show a scrubbed text. -1: there is no pager, or it failed. */
int external_view(struct loop *loop, const struct buf *text, struct error *err);
/* Run a program to its end. Returns what waitpid gave, or -1 with err when it could not be started. */
int external_run(struct loop *loop, const struct argv *words, struct error *err);

#endif
