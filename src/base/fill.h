/* fill.h - text with placeholders, {name}, and what takes their place. Whatever is in braces and has no value
 * stays as it is; what a value brings in is not looked at again.
 */
#ifndef BASE_FILL_H
#define BASE_FILL_H

#include <stddef.h>

struct text_var {
    const char *name, *value;
};
struct text_vars {
    const struct text_var *v;
    size_t n;
};

/* The caller frees. */
char *text_fill(const char *text, const struct text_vars *vars);

/* The first {word} of small letters and underscores that is none of names ("a|b|c"): its length without the
 * braces, and *at points to its first letter. 0: there is none. */
size_t text_unknown(const char *text, const char *names, const char **at);

#endif
