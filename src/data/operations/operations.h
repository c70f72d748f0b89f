/* operations.h - the operations of a sandbox: one table (operations.json, built in) of names, descriptions
 * and JSON schemas. The routes, the tools of MCP, their checks and openapi.json are made from it.
 */
#ifndef OPERATIONS_OPERATIONS_H
#define OPERATIONS_OPERATIONS_H

#include <stddef.h>

struct error;
struct json;

struct operation {
    const char *name;             /* run_code, ... */
    const char *title;            /* "Run Python" */
    const char *description;      /* for models and for people */
    const struct json *arguments; /* the schema of its arguments, which are an object */
    const struct json *result;    /* the schema of its result, which is an object too */
};

/* Parsed on first use and kept. NULL: no such operation, or i is past the last. */
const struct operation *operation_at(size_t i);
const struct operation *operation_find(const char *name);
/* Checks the arguments, which may be NULL. 0, or -1 with ERROR_USAGE: one line that names the field. */
int operation_check(const struct operation *o, const struct json *arguments, struct error *err);

#endif
