/* tab.c - finds the word before the cursor, and what completes it. In a question an @ begins a word: the
 * name of a file.
 */
#include "term/tab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <readline/readline.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/quoting.h"
#include "base/utf8.h"
#include "show/show.h"

static struct { /* readline's callbacks have no context argument */
    struct candidates (*fn)(void *ctx, const char *line, size_t start);
    void *ctx;
    const char *const *words; /* those that are searched now */
} tab;

static size_t word_end(const char *word)
{
    return strcspn(word, "\t");
}

static char *next_word(const char *text, int state)
{
    static size_t at;
    size_t len = strlen(text);

    if (!state)
        at = 0;
    while (tab.words[at]) {
        const char *w = tab.words[at++];
        autofree char *name = xmemdup0(w, word_end(w));
        autofree char *word = name_quote(name, (char)rl_completion_quote_character);

        if (!strncmp(word, text, len))
            return strdup(word); /* readline frees it */
    }
    return NULL;
}

static const char *about(const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; tab.words[i]; i++)
        if (word_end(tab.words[i]) == n && !strncmp(tab.words[i], word, n) && tab.words[i][n])
            return tab.words[i] + n + 1;
    return "";
}

/* A line for each, since what they are about tells them apart. */
static void list_with_about(char **matches, int n, int longest)
{
    int room = show_width(STDOUT_FILENO) - longest - 3;

    rl_crlf();
    for (int i = 1; i <= n; i++) {
        const char *text = about(matches[i]);
        size_t len = strlen(text);

        while (len && utf8_columns(text, len) > room)
            while (len && ((unsigned char)text[--len] & 0xc0) == 0x80)
                ;
        fprintf(rl_outstream, "%-*s  %.*s\n", longest, matches[i], (int)len, text);
    }
    rl_on_new_line();
}

static char **complete(const char *text, int start, int end)
{
    struct candidates c = tab.fn(tab.ctx, rl_line_buffer, (size_t)start);

    (void)end;
    rl_attempted_completion_over = !c.files; /* otherwise readline completes file names */
    tab.words = c.words;
    rl_completion_display_matches_hook = NULL;
    if (!c.words)
        return NULL;
    for (size_t i = 0; c.words[i]; i++)
        if (c.words[i][word_end(c.words[i])])
            rl_completion_display_matches_hook = list_with_about;
    char **found = rl_completion_matches(text, next_word);
    if (!found && c.files)
        rl_completion_display_matches_hook = NULL;
    return found;
}

/* Where words end. Quotes mean something to commands; in a question an apostrophe is one. */
static char *word_breaks(void)
{
    bool command = *rl_line_buffer == '/';

    rl_completer_quote_characters = command ? "\"'" : "";
    return (char *)(command || *rl_line_buffer == '!' ? " \t\n" : " \t\n@");
}

static int is_escaped(char *line, int at)
{
    int backslashes = 0;

    while (at > backslashes && line[at - backslashes - 1] == '\\')
        backslashes++;
    return backslashes % 2;
}

/* readline frees what these two return. */
static char *quote(char *name, int match, char *open)
{
    (void)match;
    return name_quote(name, *open);
}

static char *unquote(char *text, int open)
{
    autofree char *whole = open ? xasprintf("%c%s%c", open, text, open) : xstrdup(text);

    return name_unquote(whole);
}

void tab_setup(struct candidates (*fn)(void *ctx, const char *line, size_t start), void *ctx)
{
    tab.fn = fn;
    tab.ctx = ctx;
    rl_attempted_completion_function = complete;
    rl_completion_query_items = -1;
    rl_completer_word_break_characters = " \t\n"; /* a model's name may contain any other character */
    rl_completion_word_break_hook = word_breaks;
    rl_completer_quote_characters = "";
    rl_filename_quote_characters = QUOTING_CHARACTERS;
    rl_filename_quoting_function = quote;
    rl_filename_dequoting_function = unquote;
    rl_char_is_quoted_p = is_escaped;
}
