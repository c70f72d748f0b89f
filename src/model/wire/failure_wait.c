/* failure_wait.c - finds out from the body how long a service wants us to wait, when no header says so ("try
 * again in 1m26.4s", Gemini's retryDelay).
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "json/json.h"
#include "base/mem.h"
#include "wire/failure.h"

static bool is_word(const char *s, const char *word)
{
    size_t n = strlen(word);
    return !strncasecmp(s, word, n) && !islower((unsigned char)s[n]);
}

/* Reads "7.66s", "1m26.4s", "20 seconds", "250ms"; -1 when s is not a duration. */
static double duration_read(const char *s)
{
    static const struct {
        const char *name;
        double s;
    } units[] = {
        {"milliseconds", 0.001},
        {"ms", 0.001},
        {"seconds", 1},
        {"second", 1},
        {"secs", 1},
        {"sec", 1},
        {"s", 1},
        {"minutes", 60},
        {"minute", 60},
        {"mins", 60},
        {"min", 60},
        {"m", 60},
        {"hours", 3600},
        {"hour", 3600},
        {"h", 3600},
    };
    double sum = -1;
    for (int part = 0; part < 3 && isdigit((unsigned char)*s); part++) {
        char *end;
        double v = strtod(s, &end);
        if (v >= 1e9)
            return sum;
        s = end + (*end == ' ');
        size_t u = 0;
        while (u < countof(units) && !is_word(s, units[u].name))
            u++;
        if (u == countof(units))
            return sum;
        sum = (sum < 0 ? 0 : sum) + v * units[u].s;
        s += strlen(units[u].name);
    }
    return sum;
}

static double in_words(const char *text)
{
    static const char *const before[] = {"again in ", "retry after ", "retry in ", "again after ",
                                         "please wait "};
    for (size_t i = 0; i < countof(before); i++) {
        const char *at = strcasestr(text, before[i]);
        double s = at ? duration_read(at + strlen(before[i])) : -1;
        if (s >= 0)
            return s;
    }
    return -1;
}

double failure_wait_in_body(const struct json *error, const char *message)
{
    const struct json *details = json_get(error, "details");
    for (const struct json *d = json_type(details) == JSON_ARRAY ? json_first(details) : NULL; d;
         d = json_next(d)) {
        const char *delay = json_str(json_get(d, "retryDelay"));
        if (delay && duration_read(delay) >= 0)
            return duration_read(delay);
    }
    double s = json_double(json_get(error, "retry_after"), -1);
    return s >= 0 ? s : in_words(message);
}
