/* language.h - what is a language's own: how code in it is fenced, coloured and read. One row a language; the
 * first is the one that code is run in when nobody says another.
 */
#ifndef CHAT_LANGUAGE_H
#define CHAT_LANGUAGE_H

#include <stddef.h>

struct language_module {
    const char *package, *module; /* what is installed, and under which name code imports it */
};

/* Lists end with NULL. */
struct language {
    const char *name; /* for people */
    const char *const
        *tags; /* behind the fence of a block that is to be run, any case; the first is what we write */
    const char *const *keywords;
    const char *comment; /* begins one, which ends with its line */
    const char *quotes;  /* the characters that open and close a string; three of one go over lines */
    const struct language_module *modules; /* whose names differ; the last has NULL */
    const char *import;                    /* begins a line that brings a module in */
    const char *loop;                      /* begins one that repeats the indented lines below it */
    const char *const *binders;            /* words in front of a name that the code makes by them */
    const char *reads_table, *reads_json;  /* stands in a line that reads such a file */
};

extern const struct language languages[];

/* Whose fence has this tag, len bytes in any case; NULL: a block that is only to be read. */
const struct language *language_of_tag(const char *tag, size_t len);

#endif
