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

#include <cmocka.h>

#include "base/error.h"

/* All that an error says, the remedy on lines of its own; valid until the next call. */
static inline const char *message_of(const struct error *e)
{
    static char text[sizeof e->text + sizeof e->remedy];

    snprintf(text, sizeof text, "%s%s%s", e->text, *e->remedy ? "\n" : "", e->remedy);
    return text;
}

#endif
