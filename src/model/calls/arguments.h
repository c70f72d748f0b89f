/* arguments.h - turns the arguments of one call from the text that a model wrote into a JSON object that can
 * run, or into a problem. */
#ifndef CALLS_ARGUMENTS_H
#define CALLS_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct json;

struct arguments {
    char *text;    /* a JSON object; "{}" when there is a problem */
    char *problem; /* what to tell the model instead of running the call; NULL: run it */
};

/* code_key names the one argument that holds code; NULL for a tool without one. cut: the token limit ended
 * the reply here. */
void arguments_read(struct arguments *a, const char *text, size_t len, const char *code_key, bool cut);
char *arguments_of_code(const char *code_key, const char *code, size_t len);
/* Parses JSON that a model wrote. If it is not valid, control characters inside strings are escaped and
 * harmony tokens outside them are dropped. NULL with err; the caller frees the result. */
struct json *arguments_parse(const char *text, size_t len, struct error *err);

#endif
