/* unit.h - what every unit test includes: cmocka in the order it wants. */
#ifndef UNIT_H
#define UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/error.h"

/* All that an error says, the remedy on lines of its own; valid until the next call. */
static inline const char *message_of(const struct error *e)
{
    static char text[sizeof e->text + sizeof e->remedy];

    snprintf(text, sizeof text, "%s%s%s", e->text, *e->remedy ? "\n" : "", e->remedy);
    return text;
}

/* Processor time of this process in microseconds: what is said of speed must hold on a busy machine. */
static inline int64_t cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* How many bytes apart a text is cut that is tried cut at each byte: 1, or SANDPIPER_UNIT_CUTS if it has
 * more than a kilobyte. Such tests take most of a processor's time. */
static inline size_t cut_step(size_t length)
{
    const char *s = length > 1024 ? getenv("SANDPIPER_UNIT_CUTS") : NULL;
    size_t n = s ? strtoul(s, NULL, 10) : 1;

    return n ? n : 1;
}

#endif
