/* commands.c - finds the command that a line is, runs it, and completes it. */
#include "term/commands.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "term/private.h"

/* The Makefile reads the rows of the cmd_*.c: a line COMMAND(help) for command_help, by name. */
#define COMMAND(name) extern const struct chat_command command_##name;
#include CHAT_COMMANDS
#undef COMMAND

#define COMMAND(name) &command_##name,
const struct chat_command *const commands[] = {
#include CHAT_COMMANDS
    NULL,
};

const char *const *command_words(void)
{
    static const char *words[countof(commands)];

    for (size_t i = 0; commands[i]; i++)
        words[i] = commands[i]->name;
    return words;
}

/* Is this word, of n bytes, the name or an alias of c? */
static bool is_called(const struct chat_command *c, const char *word, size_t n)
{
    const char *a = c->aliases ? c->aliases : "";

    if (strlen(c->name) == n && !strncmp(c->name, word, n))
        return true;
    for (size_t len; *a; a += len + strspn(a + len, " ")) {
        len = strcspn(a, " ");
        if (len == n && !strncmp(a, word, n))
            return true;
    }
    return false;
}

/* NULL: there is none. */
static const struct chat_command *called(const char *word, size_t n)
{
    const struct chat_command *const *c = commands;

    while (*c && !is_called(*c, word, n))
        c++;
    return *c;
}

static size_t word_length(const char *line)
{
    size_t n = 1;

    while (isalpha((unsigned char)line[n]))
        n++;
    return n;
}

static size_t length_without_blanks(const char *s)
{
    size_t len = strlen(s);

    while (len && isspace((unsigned char)s[len - 1]))
        len--;
    return len;
}

static char *trimmed(const char *s)
{
    s += strspn(s, " \t");
    return xmemdup0(s, length_without_blanks(s));
}

void command_unknown(struct term *t, const char *line)
{
    int n = (int)strcspn(line, " \t");
    autofree char *word = xasprintf("%s%.*s", *line == '/' ? "" : "/", n, line);
    const char *near = command_nearest(word);

    term_sayf(t, NOTICE_ERROR, "Unknown command %s.%s%s%s (/help lists all.)", word,
              near ? " Did you mean " : "", near ? near : "", near ? "?" : "");
}

static const struct chat_command unknown = {.argument = "LINE", .run = command_unknown};

const struct chat_command *command_find(const char *line, char **argument)
{
    *argument = NULL;
    if (strchr(line, '\n'))
        return NULL;
    size_t n = *line == '/' ? word_length(line) : length_without_blanks(line);
    if (*line == '/' && line[n] && !isspace((unsigned char)line[n]))
        return NULL;
    const struct chat_command *c = called(line, n);
    if (!c && *line != '/')
        return NULL;
    *argument = trimmed(c ? line + n : line);
    return c ? c : &unknown;
}

const struct chat_command *command_named(const char *name)
{
    autofree char *word = xasprintf("%s%s", *name == '/' ? "" : "/", name);

    return called(word, strlen(word));
}

const char *command_nearest(const char *line)
{
    return nearest_name(line, word_length(line), command_words());
}

/* Does this word begin right behind an @, which begins one itself? */
static bool behind_at(const char *line, size_t start)
{
    return start && line[start - 1] == '@' && (start == 1 || isspace((unsigned char)line[start - 2]));
}

/* What stands between a command and the word at start: nothing but blanks, or one word? */
enum argument_place { PLACE_FIRST, PLACE_SECOND, PLACE_LATER };
static enum argument_place place_of(const char *between, size_t len)
{
    autofree char *text = xmemdup0(between, len && strchr("\"'", between[len - 1]) ? len - 1 : len);
    const char *word = text + strspn(text, " "), *end = word;

    while (*end && *end != ' ')
        end += *end == '\\' && end[1] ? 2 : 1;
    return !*word ? PLACE_FIRST : *end && !end[strspn(end, " ")] ? PLACE_SECOND : PLACE_LATER;
}

/* Tab: a command at the start of the line, the argument of one, or a file in a question. */
struct candidates command_complete(void *term, const char *line, size_t start)
{
    size_t n = *line == '/' ? word_length(line) : 0;
    const struct chat_command *c = n && start > n ? called(line, n) : NULL;

    if (!n)
        return (struct candidates){.files = behind_at(line, start)};
    if (!start)
        return (struct candidates){.words = command_words()};
    if (!c)
        return (struct candidates){0};
    enum argument_place place = place_of(line + n, start - n);
    bool listed = c->names || c->words;
    if (place == PLACE_FIRST && listed)
        return (struct candidates){.words = c->names ? c->names(term) : c->words,
                                   .files = c->files && c->words};
    return (struct candidates){.files = c->files && place == (listed ? PLACE_SECOND : PLACE_FIRST)};
}

bool command_obey(struct term *t, const char *line)
{
    autofree char *argument = NULL;
    const struct chat_command *c = command_find(line, &argument);

    if (!c)
        return false;
    if (*argument && c->act)
        term_sayf(t, NOTICE_ERROR,
                  "%s takes no argument. (To ask this as a question, put a space before it.)", c->name);
    else if (!*argument && *c->argument && *c->argument != '[')
        term_sayf(t, NOTICE_ERROR, "%s needs an argument: %s %s", c->name, c->name, c->argument);
    else if (c->act)
        c->act(t);
    else
        c->run(t, argument);
    return true;
}
