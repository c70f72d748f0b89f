/* fnv.h - FNV-1a, a quick hash of a string in 64 bits. For tables and names, never where somebody gains from
 * two strings of one hash.
 */
#ifndef BASE_FNV_H
#define BASE_FNV_H

#include <stdint.h>

#define FNV_START 14695981039346656037u

/* Returns the hash of what gave h (FNV_START: nothing), followed by s. */
static inline uint64_t fnv1a(uint64_t h, const char *s)
{
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    return h;
}

#endif
