/* failure_wait.c - how long a service wants to be left alone: Retry-After in its forms, and what stands in
 * the body where the header is missing ("try again in 1m26.4s", Gemini's retryDelay).
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/json.h"
#include "base/mem.h"
#include "wire/failure.h"

/* "Wed, 21 Oct 2015 07:28:00 GMT"; read by hand because strptime obeys the locale. */
static time_t http_date(const char *s)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char mon[4];
    struct tm tm = {0};
    if (sscanf(s, "%*[A-Za-z], %d %3[A-Za-z] %d %d:%d:%d", &tm.tm_mday, mon, &tm.tm_year, &tm.tm_hour,
               &tm.tm_min, &tm.tm_sec)
        != 6)
        return (time_t)-1;
    const char *at = strlen(mon) == 3 ? strstr(months, mon) : NULL;
    if (!at)
        return (time_t)-1;
    tm.tm_mon = (int)(at - months) / 3;
    tm.tm_year -= 1900;
    return timegm(&tm);
}

static double number(const char *s)
{
    char *end;
    double v = strtod(s, &end);
    while (*end == ' ')
        end++;
    return end == s || *end || !isfinite(v) ? -1 : v;
}

double failure_retry_after(const char *ms, const char *s, time_t now)
{
    if (ms && *ms) {
        double v = number(ms);
        if (v >= 0)
            return v / 1000; /* also 0: it wins over Retry-After, and means the normal backoff */
    }
    if (!s || !*s)
        return -1;
    double v = number(s);
    if (v >= 0)
        return v;
    time_t t = http_date(s);
    return t == (time_t)-1 || t <= now ? -1 : (double)(t - now);
}

/* "7.66s", "1m26.4s", "20 seconds", "250ms"; -1 when s is no duration. Numbers by hand: strtod obeys the
 * locale. */
static double duration(const char *s)
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
        double v = 0, place = 1;
        for (; isdigit((unsigned char)*s) && v < 1e9; s++)
            v = v * 10 + (*s - '0');
        if (*s == '.' && isdigit((unsigned char)s[1]))
            for (s++; isdigit((unsigned char)*s); s++)
                v += (*s - '0') * (place /= 10);
        s += *s == ' ';
        size_t u = 0, n = 0;
        while (
            u < countof(units)
            && (n = strlen(units[u].name), strncasecmp(s, units[u].name, n) || islower((unsigned char)s[n])))
            u++;
        if (u == countof(units))
            return sum;
        sum = (sum < 0 ? 0 : sum) + v * units[u].s;
        s += n;
    }
    return sum;
}

static double in_words(const char *text)
{
    static const char *const before[] = {"again in ", "retry after ", "retry in ", "again after ",
                                         "please wait "};
    for (size_t i = 0; i < countof(before); i++) {
        const char *at = strcasestr(text, before[i]);
        double s = at ? duration(at + strlen(before[i])) : -1;
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
        if (delay && duration(delay) >= 0)
            return duration(delay);
    }
    double s = json_double(json_get(error, "retry_after"), -1);
    return s >= 0 ? s : in_words(message);
}
