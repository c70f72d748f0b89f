/* value.c - reads each kind of value and writes sizes and times back. Digits are read by hand, since strtod
 * accepts locales, hex and "inf".
 */
#include "base/value.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* "12", "1.5", ".5"; at most 15 digits, which a double holds exactly enough. *end is set after it. */
static bool read_decimal(const char *s, double *v, const char **end)
{
    double value = 0, scale = 1;
    int digits = 0;

    for (; isdigit((unsigned char)*s); s++, digits++)
        value = value * 10 + (*s - '0');
    if (*s == '.')
        for (s++; isdigit((unsigned char)*s); s++, digits++)
            value += (*s - '0') * (scale /= 10);
    if (digits == 0 || digits > 15)
        return false;
    *v = value;
    *end = s;
    return true;
}

struct unit {
    const char *name;
    double factor;
};

static bool with_unit(const char *s, const struct unit *units, size_t n, int64_t *out)
{
    double v;
    const char *end;

    if (!read_decimal(s, &v, &end))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (strcasecmp(end, units[i].name) != 0)
            continue;
        v *= units[i].factor;
        if (v > 9e18)
            return false;
        *out = (int64_t)(v + 0.5);
        return true;
    }
    return false;
}

bool value_size(const char *s, int64_t *bytes)
{
    static const struct unit units[] = {
        {"", 1},
        {"b", 1},
        {"k", 1024.0},
        {"kb", 1024.0},
        {"kib", 1024.0},
        {"m", 1048576.0},
        {"mb", 1048576.0},
        {"mib", 1048576.0},
        {"g", 1073741824.0},
        {"gb", 1073741824.0},
        {"gib", 1073741824.0},
        {"t", 1099511627776.0},
        {"tb", 1099511627776.0},
        {"tib", 1099511627776.0},
    };
    return with_unit(s, units, countof(units), bytes);
}

bool value_time(const char *s, int64_t *ms)
{
    static const struct unit units[] = {{"", 1000},     {"s", 1000},    {"ms", 1},      {"m", 60000},
                                        {"min", 60000}, {"h", 3600000}, {"d", 86400000}};
    return with_unit(s, units, countof(units), ms);
}

bool value_int(const char *s, int64_t *v)
{
    int64_t n = 0;

    if (!*s || strlen(s) > 18)
        return false;
    for (; *s; s++) {
        if (!isdigit((unsigned char)*s))
            return false;
        n = n * 10 + (*s - '0');
    }
    *v = n;
    return true;
}

bool value_number(const char *s, double *v)
{
    const char *end;
    return read_decimal(s, v, &end) && !*end;
}

bool value_bool(const char *s, bool *v)
{
    static const char *const yes[] = {"true", "yes", "on", "1"}, *const no[] = {"false", "no", "off", "0"};

    for (size_t i = 0; i < countof(yes); i++) {
        if (!strcasecmp(s, yes[i]) || !strcasecmp(s, no[i])) {
            *v = !strcasecmp(s, yes[i]);
            return true;
        }
    }
    return false;
}

int value_choice_index(const char *word, size_t len, const char *choices)
{
    int index = 0;

    for (const char *p = choices; *p; index++) {
        size_t n = strcspn(p, "|");

        if (n == len && !memcmp(p, word, n))
            return index;
        p += n + (p[n] == '|');
    }
    return -1;
}

const char *value_choice_at(const char *choices, unsigned index, int *len)
{
    for (; index > 0; index--)
        choices += strcspn(choices, "|") + 1;
    *len = (int)strcspn(choices, "|");
    return choices;
}

bool value_choice(const char *s, const char *choices)
{
    return value_choice_index(s, strlen(s), choices) >= 0;
}

void value_size_text(int64_t bytes, char *out, unsigned size)
{
    static const char units[] = "tgmk";

    for (int i = 0; i < 4; i++) {
        int64_t factor = (int64_t)1 << (10 * (4 - i));
        if (bytes >= factor && bytes % factor == 0) {
            snprintf(out, size, "%" PRId64 "%c", bytes / factor, units[i]);
            return;
        }
    }
    snprintf(out, size, "%" PRId64, bytes);
}

void value_time_text(int64_t ms, char *out, unsigned size)
{
    if (ms % 1000)
        snprintf(out, size, "%" PRId64 "ms", ms);
    else if (ms >= 3600000 && ms % 3600000 == 0)
        snprintf(out, size, "%" PRId64 "h", ms / 3600000);
    else if (ms > 120000 && ms % 60000 == 0)
        snprintf(out, size, "%" PRId64 "m", ms / 60000);
    else
        snprintf(out, size, "%" PRId64 "s", ms / 1000);
}
