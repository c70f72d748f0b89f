/* pattern.h - compares the path of a request with the path of a route. Pure. */
#ifndef SERVER_PATTERN_H
#define SERVER_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* The longest path that is looked at, and the most parts in braces that a route has. */
#define PATTERN_PATH_MAX 2048
#define PATTERN_PARAMS   4

struct pattern_params {
    size_t n;
    struct {
        const char *name; /* in the pattern, without braces, name_len bytes */
        size_t name_len;
        char *value; /* decoded, never empty */
    } at[PATTERN_PARAMS];
};

/* path is as the client sent it, without the query. It fits when each segment is equal, or stands where the
 * pattern has {name}: such a segment is percent-decoded once and must be a plain name: UTF-8 without control
 * characters and slash, neither "." nor "..". {name...} as the last part takes the rest, slashes
 * included, each segment held to the same. Literal segments are not decoded, so %2e%2e is never "..". */
bool pattern_match(const char *pattern, const char *path, struct pattern_params *out);
void pattern_release(struct pattern_params *p);

#endif
