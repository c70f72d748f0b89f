/* operations.h - what a sandbox can be asked: one table (operations.json, built in) of names, descriptions
 * and JSON schemas. The routes, the tools of MCP, their checks and openapi.json are made from it.
 */
#ifndef RUNNER_OPERATIONS_H
#define RUNNER_OPERATIONS_H

#include <stddef.h>

struct error;
struct json;

struct operation {
    const char *name;             /* run_code, ... */
    const char *title;            /* "Run Python" */
    const char *description;      /* for models and for people */
    const struct json *arguments; /* its schema, an object */
    const struct json *result;    /* likewise */
};

/* Parsed on first use and kept. NULL: no such operation, or i is past the last. */
const struct operation *operation_at(size_t i);
const struct operation *operation_find(const char *name);
/* Do these arguments (NULL: none) fit? ERROR_USAGE, one line that names the field. */
int operation_check(const struct operation *o, const struct json *arguments, struct error *err);

/* Does value fit schema? The words that are understood: type (one or a list), properties, required, items,
 * enum, const, anyOf, the bounds of numbers, strings (in characters), arrays and objects,
 * additionalProperties. The branches of anyOf have different
 * types. All others are passed over. what: its name in the error, "" for the whole.
 * ERROR_USAGE. */
int schema_check(const struct json *schema, const struct json *value, const char *what, struct error *err);

#endif
