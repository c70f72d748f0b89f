/* pattern.h - compares the path of a request with the path of a route. Pure. */
#ifndef SERVER_PATTERN_H
#define SERVER_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* The most bytes of a path, and the most parts in braces that a route may have. */
#define PATTERN_PATH_MAX 2048
#define PATTERN_PARAMS   4

struct pattern_params {
    size_t n;
    struct {
        const char *name; /* points into the pattern, without braces; it has name_len bytes */
        size_t name_len;
        char *value; /* decoded, never empty */
    } at[PATTERN_PARAMS];
};

/* path is as the client sent it, without the query. It fits when each segment equals that of the pattern, or
 * stands where the pattern has {name}. Such a segment is percent-decoded once and must be a plain name: UTF-8
 * without control characters and slash, neither "." nor "..". {name...} as the last part takes the rest with
 * its slashes, and the same holds for each of its segments. Literal segments are not decoded, so %2e%2e is
 * never "..". */
bool pattern_match(const char *pattern, const char *path, struct pattern_params *out);
void pattern_release(struct pattern_params *p);

#endif
