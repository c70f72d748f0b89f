/* commands.c - the commands that begin with a slash. */
#include "term/commands.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "term/private.h"

static const char *const off[] = {"off", NULL}, *const on_off[] = {"on", "off", NULL},
                         *const copy_words[] = {"code", NULL},
                         *const formats[] = {"md", "json", "py", "ipynb", NULL};

const struct chat_command commands[] = {
    {"/help", "help ?", "[COMMAND|all]", "this list, or more about one command", .run = slash_help,
     .names = names_of_commands, .usual = true},
    {"/code", NULL, "", "the code that ran for the last question", .act = slash_code, .usual = true},
    {"/raw", NULL, "", "the last answer as the model wrote it", .act = slash_raw},
    {"/copy", NULL, "[code]", "copy the last answer, or code, to the clipboard", .run = slash_copy,
     .words = copy_words,
     .more = "Uses the terminal's clipboard (OSC 52), over ssh too. In tmux it needs\n"
             "set -g set-clipboard on, or allow-passthrough on.\n"},
    {"/retry", NULL, "", "ask the last question again if it got no answer", .act = slash_retry,
     .usual = true},
    {"/clear", NULL, "", "clear the conversation; variables are kept", .act = slash_clear, .usual = true},
    {"/undo", NULL, "", "remove the last question and its answer", .act = slash_undo,
     .more = "They are removed from the conversation; variables and files stay as they are.\n"},
    {"/reset", NULL, "", "restart Python: variables cleared, the rest kept", .act = slash_reset,
     .usual = true,
     .more = "Starts a fresh Python: variables and imports are gone. Files and the\n"
             "conversation are kept, and the model is told with the next question.\n"},
    {"/edit", NULL, "", "edit the last code and run it", .act = slash_edit, .usual = true,
     .more = "Opens the code of the last question in VISUAL or EDITOR, and runs what comes\n"
             "back as your own code, if it was changed.\n"},
    {"/run", NULL, "FILE|CODE", "run a Python file of this machine, or CODE", .run = slash_run, .files = true,
     .more = "The file is read here and runs in the sandbox, as !CODE does.\n"},
    {"/last", NULL, "", "the last output in full", .act = slash_last,
     .more = "Through PAGER if it is longer than the screen.\n"},
    {"/vars", NULL, "", "the variables: types, shapes, sizes", .act = slash_vars},
    {"/timeout", NULL, "[TIME]", "how long one run of code may take, such as 5m", .run = slash_timeout},
    {"/sandbox", NULL, "", "where code runs, and its limits", .act = slash_sandbox},
    {"/doctor", NULL, "", "check the model and the sandbox engines", .act = slash_doctor,
     .more = "\"sandpiper doctor\" with the options and the model of this chat; it costs one\n"
             "small request.\n"},
    {"/verbose", NULL, "[on|off]", "show tokens, timings and what the model is told", .run = slash_verbose,
     .words = on_off},
    {"/model", NULL, "[NAME]", "change the model; without NAME: show it", .run = slash_model,
     .names = names_of_models, .usual = true,
     .more = "The conversation goes on with the new model. Tab completes names.\n"},
    {"/models", NULL, "[TEXT]", "the models of the service whose names contain TEXT", .run = slash_models},
    {"/system", NULL, "[TEXT|off]", "set custom instructions; without TEXT: show them", .run = slash_system,
     .words = off, .usual = true, .more = "TEXT is added to what the model is told before every question.\n"},
    {"/plots", NULL, "[N]", "list the figures of this session; show figure N again", .run = slash_plots,
     .usual = true},
    {"/files", NULL, "", "what is in /mnt/data, and what was saved where", .act = slash_files, .usual = true},
    {"/get", NULL, "NAME [PATH]", "copy a file out to this folder, or to PATH", .run = slash_get,
     .names = names_of_saved, .files = true,
     .more = "NAME is as in /files. No file is ever replaced. Files that code makes in\n"
             "/mnt/data are saved automatically after each run; /get also copies your own,\n"
             "and those that were not saved (too large: --max-file, or the disk was full).\n"},
    {"/put", "/add", "FILE", "add a file or folder of yours to the next question", .run = slash_put,
     .files = true,
     .more = "It is copied into /mnt/data, and the model is told with the next question.\n"
             "The same as --add on the command line, and as @FILE in a question.\n"},
    {"/compact", NULL, "", "replace the conversation by a summary", .act = slash_compact,
     .more = "The model summarises the conversation; the summary takes its place. Variables\n"
             "and files are kept. This happens automatically when the window is nearly full.\n"},
    {"/sessions", NULL, "[TEXT]", "list saved sessions, or search them for TEXT", .run = slash_sessions},
    {"/resume", NULL, "[ID]", "continue another session; without ID: list them", .run = slash_resume,
     .names = names_of_sessions,
     .more = "The beginning of an ID is enough. The session that you leave is saved and can\n"
             "be resumed too; its sandbox ends.\n"},
    {"/rename", NULL, "TITLE", "give this session a title", .run = slash_rename},
    {"/export", NULL, "[FILE]", "write this session to a file: md, json, py or ipynb", .run = slash_export,
     .words = formats, .files = true,
     .more = "The extension of FILE sets the format: .md, .json, .py or .ipynb. With a format\n"
             "alone (/export md), or nothing, the file is named after the ID of the session.\n"
             "No file is replaced.\n"},
    {"/tokens", NULL, "", "tokens, time and price of this session", .act = slash_tokens},
    {"/exit", "/quit exit quit exit() quit() :q", "", "end (also quit, :q and Ctrl-D)", .act = slash_exit,
     .usual = true},
    {NULL, .argument = "LINE", .run = slash_unknown},
};

const char *const *command_words(void)
{
    static const char *words[countof(commands)];

    for (size_t i = 0; i < countof(commands); i++)
        words[i] = commands[i].name;
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

static const struct chat_command *called(const char *word, size_t n)
{
    const struct chat_command *c = commands;

    while (c->name && !is_called(c, word, n))
        c++;
    return c;
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

const struct chat_command *command_find(const char *line, char **argument)
{
    *argument = NULL;
    if (strchr(line, '\n'))
        return NULL;
    size_t n = *line == '/' ? word_length(line) : length_without_blanks(line);
    if (*line == '/' && line[n] && !isspace((unsigned char)line[n]))
        return NULL;
    const struct chat_command *c = called(line, n);
    if (!c->name && *line != '/')
        return NULL;
    *argument = trimmed(c->name ? line + n : line);
    return c;
}

const struct chat_command *command_named(const char *name)
{
    autofree char *word = xasprintf("%s%s", *name == '/' ? "" : "/", name);
    const struct chat_command *c = called(word, strlen(word));

    return c->name ? c : NULL;
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
    if (!c || !c->name)
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
