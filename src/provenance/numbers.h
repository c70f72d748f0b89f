/* numbers.h - the numbers that a text has in digits, and whether two texts share one. Pure; texts are
 * untrusted.
 */
#ifndef PROVENANCE_NUMBERS_H
#define PROVENANCE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

/* Does the answer contain any number of the output? Also true if the output has none. */
bool numbers_shared(const char *answer, const char *output);
/* The numbers that a text has in digits, at most max. Returns how many. */
size_t numbers_read(const char *text, double *out, size_t max);

#endif
