/* arguments.h - the arguments of one call: from the text a model wrote to a JSON object that can run, or a
 * problem (WIRE 5.9). */
#ifndef CALLS_ARGUMENTS_H
#define CALLS_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

struct arguments {
    char *text;    /* a JSON object; "{}" with a problem */
    char *problem; /* NULL: run it */
};

/* code_key: the one argument that holds code, or NULL for a tool without. cut: the reply ended by the token
 * limit here. */
void arguments_read(struct arguments *a, const char *text, size_t len, const char *code_key, bool cut);
char *arguments_of_code(const char *code_key, const char *code, size_t len);
/* Escape control characters inside strings and drop harmony tokens outside; NULL when that changes nothing.
 * The caller frees. */
char *arguments_mend(const char *text, size_t len);

#endif
