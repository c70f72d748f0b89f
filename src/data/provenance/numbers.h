/* numbers.h - do two texts share a number in digits? Pure; texts are untrusted.
 */
#ifndef PROVENANCE_NUMBERS_H
#define PROVENANCE_NUMBERS_H

#include <stdbool.h>

/* Does the answer contain any number of the output? Also true if the output has none. */
bool numbers_shared(const char *answer, const char *output);

#endif
