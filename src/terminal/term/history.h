/* history.h - the chat's input history on disk: the last 1000 entries, one per line (a newline inside is
 * "\n", a backslash "\\"), mode 0600. Each entry is appended at once, so a killed program loses nothing; the
 * entries of two programs are mixed. Links of other users are not followed to the file (base/place.h).
 */
#ifndef TERM_HISTORY_H
#define TERM_HISTORY_H

#include <stdbool.h>
#include <stddef.h>

struct error;

struct history {
    char *path; /* NULL: nothing is kept of what is typed */
    char *last; /* the latest entry; it is not added twice in a row */
};

/* Load path into readline's history; NULL: none. keep: what is typed is added to the file; else nothing is
 * written there. A file that cannot be read or written is no reason to stop: -1 with err, and nothing is
 * kept. */
int history_open(struct history *h, const char *path, bool keep, struct error *err);
/* typed comes back with Up, text goes to the file: they differ where marks stand for pastes (pastes.h). */
void history_append(struct history *h, const char *typed, const char *text);
/* What this mark stands for is forgotten: entries with it would say nothing. */
void history_forget(const char *mark);
void history_release(struct history *h);

#endif
