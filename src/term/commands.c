/* commands.c - the commands that begin with a slash. */
#include "term/commands.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"

#define WORD_MAX_LEN 24

const struct command commands[] = {
    {COMMAND_HELP, "/help", "", "this list"},
    {COMMAND_CODE, "/code", "", "the code that ran for the last question"},
    {COMMAND_RETRY, "/retry", "", "ask the last question again if it got no answer"},
    {COMMAND_CLEAR, "/clear", "", "clear the conversation; variables are kept"},
    {COMMAND_RESET, "/reset", "", "restart Python: variables are cleared, files and conversation kept"},
    {COMMAND_MODEL, "/model", "[NAME]", "change the model; without NAME: show it"},
    {COMMAND_SYSTEM, "/system", "[TEXT|off]", "set custom instructions; without TEXT: show them"},
    {COMMAND_EXIT, "/exit", "", "end (also /quit and Ctrl-D)"},
    {COMMAND_EXIT, "/quit", NULL, NULL},
    {COMMAND_NONE, NULL, NULL, NULL},
};

const char *const *command_words(void)
{
    static const char *words[countof(commands)];

    for (size_t i = 0; i < countof(commands); i++)
        words[i] = commands[i].name;
    return words;
}

static size_t word_length(const char *line)
{
    size_t n = 1;

    while (isalpha((unsigned char)line[n]))
        n++;
    return n;
}

enum command_id command_find(const char *line, const char **argument)
{
    size_t n;

    *argument = "";
    if (*line != '/')
        return COMMAND_NONE;
    n = word_length(line);
    if ((line[n] && !isspace((unsigned char)line[n])) || strchr(line, '\n'))
        return COMMAND_NONE;
    *argument = line + n + strspn(line + n, " \t");
    for (const struct command *c = commands; c->name; c++)
        if (strlen(c->name) == n && !strncmp(c->name, line, n))
            return c->id;
    return COMMAND_UNKNOWN;
}

/* Number of letters to change, add, drop or swap with the next one to make b from a; both have at most
 * WORD_MAX_LEN. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t d[WORD_MAX_LEN + 1][WORD_MAX_LEN + 1];

    for (size_t i = 0; i <= na; i++)
        for (size_t j = 0; j <= nb; j++) {
            size_t best = i ? d[i - 1][j] + 1 : j;

            if (i && j) {
                size_t change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]), more = d[i][j - 1] + 1;

                best = change < best ? change : best;
                best = more < best ? more : best;
            }
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    return d[na][nb];
}

const char *command_nearest(const char *line)
{
    size_t n = word_length(line), best = (size_t)-1;
    const char *name = commands[0].name;

    if (n > WORD_MAX_LEN)
        n = WORD_MAX_LEN;
    for (const struct command *c = commands; c->name; c++) {
        size_t d = distance(line, n, c->name, strlen(c->name));

        if (n > 1 && !strncmp(c->name, line, n))
            d = 0; /* a is a prefix of b */
        if (d < best) {
            best = d;
            name = c->name;
        }
    }
    return name;
}
