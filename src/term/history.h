/* history.h - what was typed, on disk: one entry a line (a newline inside is "\n", a backslash "\\"), mode
 * 0600, the last 1000. An entry is appended when it is made, so a killed program loses nothing and two
 * programs mix. No link of another user is followed to it (base/place.h).
 */
#ifndef TERM_HISTORY_H
#define TERM_HISTORY_H

#include <stddef.h>

struct error;

struct history {
    char *path; /* NULL: nothing is kept */
    char *last; /* the same again is not added */
};

/* Load path into readline's history. A file that cannot be read or written is no reason to stop: -1 with err,
 * and path is NULL then. */
int history_open(struct history *h, const char *path, struct error *err);
void history_append(struct history *h, const char *text);
void history_release(struct history *h);

#endif
