/* fuzz.h - what every fuzz target includes. A broken promise must stop the fuzzer: check() does, also where
 * assert is compiled out. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define check(what)                                                                   \
    do {                                                                              \
        if (!(what)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what); \
            abort();                                                                  \
        }                                                                             \
    } while (0)

/* A copy of its own size, so that ASan sees a byte read too many. The caller frees. */
static inline char *fuzz_exact(const uint8_t *data, size_t size)
{
    char *p = malloc(size != 0 ? size : 1);
    if (p == NULL)
        abort();
    if (size > 0)
        memcpy(p, data, size);
    return p;
}

/* The next piece of a text that is cut at random: 1 to 16 bytes mostly, sometimes all. Same seed, same cuts.
 */
static inline size_t fuzz_piece(uint32_t *seed, size_t left)
{
    *seed = *seed * 1664525u + 1013904223u;
    size_t n = (*seed >> 28) == 0 ? left : 1 + (*seed >> 20 & 15);
    return n < left ? n : left;
}

#endif
