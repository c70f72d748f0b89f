/* size.h - prints sizes and large numbers for people to read. */
#ifndef BASE_SIZE_H
#define BASE_SIZE_H

#include <stdint.h>

/* A short text by value, to be an argument: count_text(n).text. Such a text lives until the end of the
 * expression that it stands in; no pointer to it may be kept. */
struct short_text {
    char text[32];
};

struct short_text size_text(int64_t bytes); /* "64 MiB", "1.5 GiB" */
struct short_text count_text(int64_t n);    /* "1,234,567" */

#endif
