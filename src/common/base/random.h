/* random.h - ids that nobody can guess. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>

/* Ends the program if the kernel gives no random bytes, which it does for so few at once (at most 64) as soon
 * as it is up. */
void random_fill(void *out, size_t n);
/* So many hex digits (an even number of at most 64) and a NUL. */
void random_hex(char *out, size_t digits);

#endif
