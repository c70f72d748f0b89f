/* value.h - values of options as people write them: sizes (512m, 1g), times (90, 90s, 2m), numbers, yes and
 * no, one word of several. Pure text to value; the messages say what was expected, the caller says where.
 */
#ifndef BASE_VALUE_H
#define BASE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* binary units: k, m, g, t, each with an optional b or ib; none: bytes */
bool value_size(const char *s, int64_t *bytes);
/* ms, s, m, h; none: seconds; a decimal part is allowed */
bool value_time(const char *s, int64_t *ms);
bool value_int(const char *s, int64_t *v);
bool value_number(const char *s, double *v);
bool value_bool(const char *s, bool *v);               /* true false yes no on off 1 0, any case */
bool value_choice(const char *s, const char *choices); /* one of "auto|docker|podman" */
/* The index of a word of len bytes among such choices, from 0; -1: it is none of them. */
int value_choice_index(const char *word, size_t len, const char *choices);
/* The word of that index, which must be one of theirs: *len bytes, for "%.*s". */
const char *value_choice_at(const char *choices, unsigned index, int *len);

/* For messages and for "sandpiper config": the shortest of the forms above. out holds at least 32 bytes. */
void value_size_text(int64_t bytes, char *out, unsigned size);
void value_time_text(int64_t ms, char *out, unsigned size);

#endif
