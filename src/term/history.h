/* history.h - the chat's input history on disk: the last 1000 entries, one per line (a newline inside is
 * "\n", a backslash "\\"), mode 0600. Each entry is appended at once, so a killed program loses nothing; the
 * entries of two programs are mixed. Links of other users are not followed to the file (base/place.h).
 */
#ifndef TERM_HISTORY_H
#define TERM_HISTORY_H

#include <stddef.h>

struct error;

struct history {
    char *path; /* NULL: nothing is kept */
    char *last; /* the latest entry; it is not added twice in a row */
};

/* Load path into readline's history. A file that cannot be read or written is no reason to stop: -1 with err,
 * and path is NULL then. */
int history_open(struct history *h, const char *path, struct error *err);
void history_append(struct history *h, const char *text);
void history_release(struct history *h);

#endif
