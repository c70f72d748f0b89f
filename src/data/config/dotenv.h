/* dotenv.h - parses the .env of the working directory: NAME=value lines. Nothing is expanded or run, and
 * nothing is put into the environment.
 *
 *     export NAME=value   # comment
 *     NAME='as it is'
 *     NAME="with \n \t \" \\ \$"        quoted values may span lines
 *
 * Of two lines with the same name the later counts. The directory may be hostile: config.c decides which
 * names are used at all.
 */
#ifndef CONFIG_DOTENV_H
#define CONFIG_DOTENV_H

#include <stddef.h>

struct error;

#define DOTENV_MAX ((size_t)64 * 1024)

struct dotenv_entry {
    char *name, *value;
    int line;
};

struct dotenv {
    struct dotenv_entry *v;
    size_t n;
    int bad_line; /* the first that could not be understood; 0: none */
    size_t bad;   /* how many */
};

/* Text to entries. Only a NUL, or more than 64 KiB, is an error: other programs' lines may be anything. */
int dotenv_parse(struct dotenv *d, const char *text, size_t len, struct error *err);
void dotenv_release(struct dotenv *d);
/* a value that is not empty, or NULL */
const struct dotenv_entry *dotenv_get(const struct dotenv *d, const char *name);

#endif
