/* random.c - asks getrandom(2) for bytes also as hex; ends the program if there are none. */
#include "base/random.h"

#include <stdlib.h>
#include <sys/random.h>

void random_fill(void *out, size_t n)
{
    if (getrandom(out, n, 0) != (ssize_t)n)
        abort();
}

void random_hex(char *out, size_t digits)
{
    unsigned char bytes[32];

    if (digits / 2 > sizeof bytes)
        abort();
    random_fill(bytes, digits / 2);
    for (size_t i = 0; i < digits; i++)
        out[i] = "0123456789abcdef"[bytes[i / 2] >> (i % 2 ? 0 : 4) & 15];
    out[digits] = '\0';
}
