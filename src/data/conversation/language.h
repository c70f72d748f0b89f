/* language.h - what is a language's own: how code in it is fenced, coloured, read and run. One row a
 * language; the first is the one that code is run in when nobody says another.
 */
#ifndef CHAT_LANGUAGE_H
#define CHAT_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>

struct language_module {
    const char *package, *module; /* what is installed, and under which name code imports it */
};

/* Lists end with NULL. What is not there is NULL. */
struct language {
    const char *name; /* for people */
    const char *tool; /* the name of the tool that runs it */
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
    const char *one_table;                 /* stands in a line that makes the only table of a file */
    const char *const *ends;               /* how names of its files end, behind the dot */
    /* Its interpreter, as guest/languages.py names it; NULL: Python's own worker. And what that keeps from
     * cell to cell, for people. */
    const char *interpreter, *keeps;
    const char *program; /* that it needs inside, beside Python; or NULL */
    const char *package; /* of --with, which brings its program along; or NULL */
    const char *kind;    /* what that is told of the code; or NULL */
    /* Or each piece of code is a program of its own, from a file: its command, in which {file} stands for
     * that. And what a model is told of it. */
    const char *const *run;
    const char *about;
    const char *magic; /* goes before code that Python's worker runs as a cell of a notebook; or NULL */
};

extern const struct language languages[];
#define LANGUAGES_OWN_MAX 16
/* Add one of the user's own, whose strings stay for good. No more than that many. */
void language_define(const struct language *l);
/* Whose tool has that name; NULL: none. */
const struct language *language_of_tool(const char *tool);

/* Whose fence has this tag, or who is called so, len bytes in any case; NULL: none. */
const struct language *language_of_tag(const char *tag, size_t len);
/* Of a file's path, by its end; NULL: it has none of these. */
const struct language *language_of_path(const char *path);
/* Is it run in Python's worker? NULL is. */
bool language_is_python(const struct language *l);
/* "python, sh": the first tag of each; the caller frees. */
char *language_names(void);

#endif
