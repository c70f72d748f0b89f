/* fill.h - replaces placeholders, {name}, in a text by their values. What is in braces and has no value stays
 * as it is, and values are not searched for placeholders.
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

/* The text with the values in place. The caller frees. */
char *text_fill(const char *text, const struct text_vars *vars);

/* The first {word} of small letters and underscores that is none of names ("a|b|c"): its length without the
 * braces, and *at points to its first letter. 0: there is none. */
size_t text_unknown(const char *text, const char *names, const char **at);

#endif
