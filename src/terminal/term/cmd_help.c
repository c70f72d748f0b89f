/* cmd_help.c - /help and "sandpiper help chat". */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "term/commands.h"
#include "term/private.h"

#define COLUMNS 79

/* What else can be typed. */
static const struct {
    const char *typed, *help;
    bool usual;
} others[] = {
    {"!CODE", "run Python in the same interpreter", true},
    {"!sh CODE", "run a shell in the sandbox; likewise !sql, !js and !ts", false},
    {" /...", "a question that starts with a slash: put a space first", true},
    {"@FILE", "in a question: adds that file, as /put does", false},
    {"a line ending in \\", "continues, as does a block between lines of \"\"\"", true},
    {"Alt-Enter", "begins a new line", false},
    {"Tab", "completes commands, models, sessions and files", false},
    {"Ctrl-C", "stops what is running; twice kills the code", true},
    {"Ctrl-D", "ends the chat", false},
    {"Enter, while an answer comes", "queues what was typed; Esc takes it back", false},
    {"Esc, twice", "at an empty prompt: edits the last question", false},
    {"Up, Down", "move in a text of several lines, then in the history", false},
    {"Ctrl-R", "searches the history", true},
    {"Ctrl-X Ctrl-E", "opens the line in VISUAL or EDITOR", false},
};

static void add_columns(struct buf *out, const char *left, const char *help)
{
    buf_addf(out, "%-20s %s\n", left, help);
}

static void add_help_row(struct buf *out, const struct chat_command *c)
{
    autofree char *usage = xasprintf("%s %s", c->name, c->argument);

    add_columns(out, usage, c->help);
}

static void add_one(struct buf *out, const struct chat_command *c)
{
    add_help_row(out, c);
    if (c->more)
        buf_addf(out, "%s", c->more);
    if (c->aliases)
        buf_addf(out, "Also: %s\n", c->aliases);
}

/* Only their names, for those that are not on the first screen. */
static void add_names(struct buf *out)
{
    size_t column = 0;

    for (size_t i = 0; commands[i]; i++) {
        const struct chat_command *c = commands[i];
        size_t n = strlen(c->name) + 1;

        if (!c->help || c->usual)
            continue;
        if (!column || column + n > COLUMNS) {
            buf_addstr(out, column ? "\n     " : "More:");
            column = strlen("More:");
        }
        buf_addf(out, " %s", c->name);
        column += n;
    }
}

static void add_list(struct buf *out, bool all)
{
    for (size_t i = 0; commands[i]; i++)
        if (commands[i]->help && (all || commands[i]->usual))
            add_help_row(out, commands[i]);
    for (size_t i = 0; i < countof(others); i++)
        if (all || others[i].usual)
            add_columns(out, others[i].typed, others[i].help);
    if (all)
        return;
    add_names(out);
    buf_addstr(out, "\n/help all lists all commands, /help COMMAND explains one.\n");
}

void term_help(struct buf *out)
{
    add_list(out, true);
}

static void slash_help(struct term *t, const char *argument)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);
    const struct chat_command *c = command_named(argument);
    bool all = !strcmp(argument, "all");

    if (*argument && !all && !c) {
        command_unknown(t, argument);
        return;
    }
    if (c)
        add_one(&text, c);
    else
        add_list(&text, all);
    term_print_wrapped(t, buf_str(&text));
}

static const char *const *names_of_commands(struct term *t)
{
    (void)t;
    return command_words();
}

const struct chat_command command_help = {
    .name = "/help",
    .aliases = "help ?",
    .argument = "[COMMAND|all]",
    .help = "this list, or more about one command",
    .run = slash_help,
    .names = names_of_commands,
    .usual = true,
};
