/* nearest.h - what was probably meant by a mistyped word: edit distance, shared by the command line, the
 * configuration and the chat's commands.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

/* Number of edits from a to b: insert, remove, replace, or swap two neighbours. A word over 31 bytes is not a
 * typo: the result is 99 then. */
unsigned edit_distance(const char *a, size_t na, const char *b, size_t nb);
/* The name (names ends with NULL) that word is most likely a misspelling, the beginning or one of the words
 * of, or NULL if none is near. */
const char *nearest_name(const char *word, size_t len, const char *const *names);
/* The same for names that come one by one: nearest_offer() each, then nearest_found(). */
struct nearest {
    const char *word;
    size_t len;
    const char *best; /* so far; the rest is zero in the beginning */
    unsigned least;
};
void nearest_offer(struct nearest *n, const char *name);
const char *nearest_found(const struct nearest *n);

#endif
