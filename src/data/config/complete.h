/* complete.h - what Tab offers on the command line, for every shell: the words of the option table, the
 * pages of help, and names that others know (models, sandboxes, ...), which are asked for by a callback.
 * The scripts in setup/completion only carry words to "sandpiper debug complete" and lines back.
 */
#ifndef CONFIG_COMPLETE_H
#define CONFIG_COMPLETE_H

#include <stddef.h>

struct argv;
struct buf;

/* Names that are not in the option table. */
enum complete_names {
    NAMES_NONE,
    NAMES_MODEL,
    NAMES_PROVIDER,
    NAMES_SANDBOX,
    NAMES_SESSION,
    NAMES_ENGINE, /* those of config.yaml; the built-in ones are choices */
};

struct complete_source {
    /* Add the names of that kind that are known without asking anybody, each alone or with a tab and a
     * description behind it. */
    void (*add)(void *ctx, enum complete_names kind, struct argv *out);
    void *ctx;
};

/* words: those behind the program's name; the last is the one being typed, possibly empty. out gets a line
 * for each word that fits: the word, and with a tab its description where there is one. A line that begins
 * with a tab asks the shell for its own: "\tfile" or "\tfolder". A name with a character that a shell
 * would read otherwise than as part of a word is left out. */
void complete_line(struct buf *out, char *const *words, size_t n, const struct complete_source *source);

#endif
