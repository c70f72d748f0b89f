/* effort.c - orders the values from none to max, and measures which known one is nearest. */
#include "wire/effort.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/value.h"

static const char *const values[] = {"none", "minimal", "low", "medium", "high", "xhigh", "max"};
enum { NONE = 0, HIGH = 4, COUNT = countof(values) };

static int place(const char *value)
{
    for (int i = 0; i < COUNT; i++)
        if (!strcmp(values[i], value))
            return i;
    return -1;
}

/* True when a is nearer to wanted than b, or as near and nearer to high. So medium is sent as high where a
 * model knows low and high, and so is xhigh where it knows high and max. */
static bool nearer(int a, int b, int wanted)
{
    int da = abs(a - wanted), db = abs(b - wanted);

    return da != db ? da < db : abs(a - HIGH) < abs(b - HIGH);
}

const char *effort_nearest(const char *known, const char *asked)
{
    int wanted = asked ? place(asked) : -1, best = -1;

    if (!asked || !known || wanted < 0 || value_choice(asked, known))
        return asked;
    if (wanted != NONE && value_choice("default", known))
        return NULL; /* a switch with two positions: none, and the model's own default */
    for (int i = NONE + 1; i < COUNT; i++)
        if (value_choice(values[i], known) && (best < 0 || nearer(i, best, wanted)))
            best = i;
    return best < 0 ? NULL : values[best];
}

void effort_named(const char *message, const char *refused, char *out)
{
    *out = '\0';
    for (int i = 0; i < COUNT; i++) {
        size_t n = strlen(values[i]);
        bool found = false;

        for (const char *p = message; (p = strcasestr(p, values[i])) && !found; p += n)
            found = (p == message || !isalnum((unsigned char)p[-1])) && !isalnum((unsigned char)p[n]);
        if (found && strcmp(values[i], refused))
            snprintf(out + strlen(out), 64 - strlen(out), "%s%s", *out ? "|" : "", values[i]);
    }
}
