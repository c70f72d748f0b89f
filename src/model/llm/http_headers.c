/* http_headers.c - what an answer's headers tell: its type, where it redirects to, how long to wait. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "llm/curl_load.h"
#include "llm/http.h"

/* True when the line is this header; its value, cut at size, goes to out. */
static bool header_value(const char *line, size_t n, const char *name, char *out, size_t size)
{
    size_t k = strlen(name);
    if (n <= k || line[k] != ':' || strncasecmp(line, name, k))
        return false;
    const char *v = line + k + 1, *end = line + n;
    while (v < end && (*v == ' ' || *v == '\t'))
        v++;
    while (end > v && (unsigned char)end[-1] <= ' ')
        end--;
    snprintf(out, size, "%.*s", (int)(end - v), v);
    return true;
}

/* Reads a whole number or a decimal; < 0: s is neither. */
static double number(const char *s)
{
    char *end;
    double v = strtod(s, &end);
    return end == s || *end || !isfinite(v) ? -1 : v;
}

/* Reads seconds, or a date; < 0: neither, or a time in the past. */
static double wait_of(const char *s, time_t now)
{
    double v = number(s);
    const struct curl_api *curl = v < 0 ? curl_load(NULL) : NULL;
    time_t t = curl ? curl->getdate(s, NULL) : -1;
    return curl ? t > now ? (double)(t - now) : -1 : v;
}

void http_header(struct failure_head *h, const char *line, size_t n, time_t now)
{
    char value[64];
    double wait = -1;
    header_value(line, n, "content-type", h->content_type, sizeof h->content_type);
    header_value(line, n, "x-should-retry", h->should_retry, sizeof h->should_retry);
    header_value(line, n, "location", h->location, sizeof h->location);
    if (header_value(line, n, "retry-after-ms", value, sizeof value)) {
        wait = number(value) / 1000;
        h->exact |= wait >= 0;
    } else if (!h->exact && header_value(line, n, "retry-after", value, sizeof value)) {
        wait = wait_of(value, now);
    }
    if (wait >= 0) {
        h->waits = true;
        h->wait = wait;
    }
}
