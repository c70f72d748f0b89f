/* fields.h - the members of a struct from a YAML map, each through a row of a table. What is unknown, of a
 * wrong type or out of range is an error that names file and line (ERROR_USAGE).
 */
#ifndef YAML_FIELDS_H
#define YAML_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

struct argv;
struct error;
struct ydoc;

enum field_type {
    F_STRING,    /* char * */
    F_STRINGS,   /* struct argv: one string, or a list of them */
    F_URL,       /* char * */
    F_VARIABLE,  /* char *: the name of an environment variable */
    F_VARIABLES, /* char *[KEY_VARIABLES + 1] */
    F_COMMAND,   /* struct argv: words, or one string cut at blanks */
    F_BOOL,
    F_CHOICE,      /* an enum, in the order of choices */
    F_CHOICE_BOOL, /* bool: the first of choices is true */
    F_CHOICES,     /* char *: one or more of choices, joined by | in the order of choices */
    F_COUNT,       /* int: tokens */
    F_NUMBER,      /* double from 0 to 2 */
    F_PRICE,       /* double[3]: dollars per million tokens; a list of [in, out] or [in, cached, out] */
    F_DATE,        /* char *: YYYY-MM-DD */
    F_JSON,        /* char *: a map, as the text of a JSON object */
    F_OTHER,       /* the caller reads it */
};

#define KEY_VARIABLES 4

struct field {
    const char *key;
    enum field_type type;
    size_t offset;
    const char *choices;
    bool users_only; /* a secret, or a permission: never built in */
    size_t has;      /* offset of a bool that is set when the map has this key; 0: none */
};

struct schema {
    const struct field *fields;
    size_t n;
};

/* The map's members into object. builtin: fields that are users_only count as unknown. */
int fields_read(const struct schema *s, const struct ydoc *map, bool builtin, void *object,
                struct error *err);
/* Copy each field that from has and into lacks, as their has members tell. Fields that share a has member are
 * copied together; those without one, and lists (F_STRINGS, F_VARIABLES, F_COMMAND), are left out. Strings
 * are not duplicated. */
void fields_merge(const struct schema *s, void *into, const void *from);
/* A command as YAML has it: a list of words, or one string cut at blanks. No shell. */
int fields_read_command(const struct ydoc *y, struct argv *out, struct error *err);

/* What y holds, as JSON, which YAML reads too. The caller frees. */
char *fields_json(const struct ydoc *y);

#endif
