/* args.c - walks argv against the option table and says what a wrong word was probably meant to be.
 * getopt_long is not used: it permutes and abbreviates, prints by itself, and cannot suggest.
 */
#include "config/args.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/scrub.h"
#include "conversation/conversation.h"
#include "config/option.h"

enum operands { OPERANDS_NONE, OPERANDS_ONE, OPERANDS_NAMES };

static const struct {
    const char *name; /* as the user writes it */
    int options;      /* FOR_... */
    enum operands operands;
} commands[] = {
    [COMMAND_ASK] = {"", FOR_ASK, OPERANDS_ONE},
    [COMMAND_BATCH] = {"batch", FOR_BATCH, OPERANDS_NAMES},
    [COMMAND_BOT] = {"bot", FOR_BOT, OPERANDS_NAMES},
    [COMMAND_CHAT] = {"chat", FOR_ASK, OPERANDS_NONE},
    [COMMAND_EXEC] = {"exec", FOR_EXEC, OPERANDS_ONE},
    [COMMAND_CONFIG] = {"config", FOR_CONFIG | FOR_CONFIG_PAGE, OPERANDS_NONE},
    [COMMAND_DEBUG] = {"debug", FOR_REPLY | FOR_REQUEST, OPERANDS_ONE},
    [COMMAND_DEBUG_REPLY] = {"debug reply", FOR_REPLY, OPERANDS_NONE},
    [COMMAND_DEBUG_REQUEST] = {"debug request", FOR_REQUEST, OPERANDS_ONE},
    [COMMAND_DOCTOR] = {"doctor", FOR_DOCTOR, OPERANDS_NONE},
    [COMMAND_FORK] = {"fork", FOR_FORK, OPERANDS_NAMES},
    [COMMAND_GC] = {"gc", FOR_GC, OPERANDS_NONE},
    [COMMAND_MCP] = {"mcp", FOR_MCP, OPERANDS_NONE},
    [COMMAND_MODELS] = {"models", FOR_MODELS, OPERANDS_ONE},
    [COMMAND_PACKAGES] = {"packages", FOR_PACKAGES, OPERANDS_NAMES},
    [COMMAND_PS] = {"ps", FOR_PS, OPERANDS_NONE},
    [COMMAND_RECEIPT] = {"receipt", FOR_RECEIPT, OPERANDS_NAMES},
    [COMMAND_RERUN] = {"rerun", FOR_RERUN, OPERANDS_NAMES},
    [COMMAND_RM] = {"rm", FOR_RM, OPERANDS_NAMES},
    [COMMAND_RUNNER] = {"runner", ~0, OPERANDS_NONE}, /* it is given its front's options, and uses some */
    [COMMAND_SERVE] = {"serve", FOR_SERVE, OPERANDS_NONE},
    [COMMAND_SESSIONS] = {"sessions", FOR_SESSIONS, OPERANDS_NAMES},
    [COMMAND_HELP] = {"help", FOR_NONE, OPERANDS_ONE},
    [COMMAND_VERSION] = {"version", FOR_NONE, OPERANDS_NONE},
};

static void add_arg(struct args *a, const struct option *o, const char *value, bool letter)
{
    a->v = xreallocarray(a->v, a->n + 1, sizeof(*a->v));
    a->v[a->n++] = (struct arg){.option = o, .value = value, .letter = letter};
    if (o->flag && !strcmp(o->flag, "version"))
        a->version = true;
    if (o->flag && !strcmp(o->flag, "help"))
        a->help = true;
}

/* Options that people type out of habit from other programs, each where its hint helps. */
static const struct habit {
    const char *word;
    int commands;
    const char *hint;
} habits[] = {
    {"-a", FOR_ASK | FOR_EXEC | FOR_RERUN | FOR_BATCH, "Did you mean --add FILE?"},
    {"-o", FOR_ASK, "--out DIR saves files, --json prints events."},
    {"-o", FOR_EXEC, "Did you mean --out DIR?"},
    {"-i", FOR_ASK, "A chat needs no option: sandpiper"},
    {"--interactive", FOR_ASK, "A chat needs no option: sandpiper"},
    {"--file", FOR_ASK | FOR_EXEC | FOR_RERUN | FOR_BATCH, "Did you mean --add FILE?"},
    {"--files", FOR_ASK | FOR_EXEC | FOR_RERUN | FOR_BATCH, "Did you mean --add FILE?"},
    {"--tokens", FOR_SERVE, "--token-file FILE holds the tokens of clients."},
    {"--auth", FOR_SERVE, "--token-file FILE holds the tokens of clients."},
    {"--api-key", FOR_SERVE, "--token-file FILE: tokens of clients; OPENAI_API_KEY=...: the model's key."},
    {"--host", FOR_SERVE, "Did you mean --listen IP:PORT?"},
    {"--port", FOR_SERVE, "Did you mean --listen IP:PORT?"},
    {"--key", FOR_ALL, "The key comes from the environment: export OPENAI_API_KEY=..."},
    {"--api-key", FOR_ALL, "The key comes from the environment: export OPENAI_API_KEY=..."},
    {"--list-models", FOR_ALL, "sandpiper models lists them."},
    {"--output", FOR_ASK, "--out DIR saves files, --json prints events."},
    {"--yes", FOR_ALL, "Code runs without asking; only rm --all and sessions rm --older ask (-f)."},
    {"-y", FOR_ALL, "Code runs without asking; only rm --all and sessions rm --older ask (-f)."},
    {"--session", FOR_ASK,
     "-c continues the last session here, -r ID another; sandpiper sessions lists them."},
    {"--url", FOR_ALL, "Did you mean --base-url URL?"},
    {"--endpoint", FOR_ALL, "Did you mean --base-url URL?"},
    {"--api-base", FOR_ALL, "Did you mean --base-url URL?"},
    {"--engine", FOR_ALL, "Did you mean --sandbox docker, podman or bwrap?"},
    {"--docker", FOR_ALL, "Did you mean --sandbox docker?"},
    {"--podman", FOR_ALL, "Did you mean --sandbox podman?"},
    {"--bwrap", FOR_ALL, "Did you mean --sandbox bwrap?"},
    {"--no-color", FOR_ALL, "Did you mean --color never?"},
};

/* here: FOR_... of the command that was typed */
static const char *habit(const char *word, int here)
{
    for (size_t i = 0; i < countof(habits); i++)
        if (habits[i].commands & here && !strcmp(word, habits[i].word))
            return habits[i].hint;
    return NULL;
}

/* "doctr" is not a question, nor is "sesion". A word further from any command is left to the model, and so is
 * "what", which is one letter from chat. */
static bool is_slip(const char *word, const char *command)
{
    size_t n = strlen(command);
    unsigned d = edit_distance(word, strlen(word), command, n);
    bool begins = (*word | 0x20) == *command;

    return n >= 4 && ((d == 1 && (begins || n > 4)) || (d == 2 && begins && n >= 7));
}

/* Is it the first word of a command? Those of two words, such as debug reply, are completed by operand(). */
static bool begins_command(size_t i)
{
    return *commands[i].name && !strchr(commands[i].name, ' ');
}

/* Of which commands is it an option? As "batch, receipt and sessions". That config shows any setting says
 * nothing of this one. */
static char *whose(const struct option *o)
{
    struct buf names = BUF_INIT(0);
    const char *last = NULL;

    for (size_t i = 0; i < countof(commands); i++)
        if (o->commands & commands[i].options & ~FOR_CONFIG && i != COMMAND_RUNNER) {
            if (last)
                buf_addf(&names, "%s%s", names.len ? ", " : "", last);
            last = commands[i].name;
        }
    buf_addf(&names, "%s%s", names.len ? " and " : "", last);
    return buf_steal(&names, NULL);
}

static const char *page_of(enum command command)
{
    bool debug = command == COMMAND_DEBUG_REPLY || command == COMMAND_DEBUG_REQUEST;

    return help_find(debug ? "debug" : commands[command].name);
}

/* What an unknown --option of this command probably stands for: an option, a habit, or a command written as
 * an option. As long as no command was typed, one may follow: then an option of any command counts that no
 * option of a question is as near as. */
static bool suggest(enum command command, const char *option, const char *lists, char *line, size_t size)
{
    int here = commands[command].options;
    const char *word = option + 2, *best;
    struct nearest near = {.word = word, .len = strlen(word)};

    flags_offer(&near, here);
    for (size_t i = 0; i < countof(habits); i++)
        if (habits[i].commands & here && habits[i].word[1] == '-')
            nearest_offer(&near, habits[i].word + 2);
    for (size_t i = 0; i < countof(commands) && command == COMMAND_ASK; i++)
        if (begins_command(i) && (!strcmp(word, commands[i].name) || is_slip(word, commands[i].name)))
            nearest_offer(&near, commands[i].name);
    if (command == COMMAND_ASK && !nearest_found(&near))
        flags_offer(&near, ~0);
    if (!(best = nearest_found(&near)))
        return false;

    autofree char *flag = xasprintf("--%s", best);
    const char *hint = habit(flag, here);
    const struct option *o = option_by_flag(best, strlen(best));

    if (hint)
        snprintf(line, size, "%s", hint);
    else if (o && !(o->commands & here)) {
        autofree char *names = whose(o);

        snprintf(line, size, "Did you mean %s? It is an option of %s.", flag, names);
    } else if (o)
        snprintf(line, size, "Did you mean %s? %s", flag, lists);
    else
        snprintf(line, size, "Did you mean sandpiper %s, without dashes?", best);
    return true;
}

/* len: without "=value" */
static int unknown_option(enum command command, const char *word, size_t len, struct error *err)
{
    const char *page = page_of(command);
    autofree char *shown = scrub_line(word, SCRUB_TERMINAL), *option = xmemdup0(word, len);
    autofree char *lists = page ? xasprintf("sandpiper help %s lists its options.", page)
                                : xstrdup("sandpiper help all lists all options.");
    const char *hint = habit(option, commands[command].options);
    char line[160];

    if (hint || strchr(word, ' '))
        snprintf(line, sizeof line, "%s", hint ? hint : "Put -- before a question that starts with a dash.");
    else if (word[1] != '-' || !suggest(command, option, lists, line, sizeof line))
        snprintf(line, sizeof line, "%s", lists);
    return error_set(err, ERROR_USAGE, 0, "unknown option %.60s\n%s", shown, line);
}

/* o is no option of the command that was typed. letter: it was written as -o. */
static int not_taken(const struct args *a, const struct option *o, bool letter, struct error *err)
{
    int here = commands[a->command].options;
    autofree char *flag = letter ? xasprintf("-%c", o->letter) : xasprintf("--%s", o->flag);
    const char *hint = letter && o->letter == 'f' ? "Did you mean --add FILE?" : habit(flag, here);

    if (here != FOR_ASK)
        return error_set(err, ERROR_USAGE, 0, "%s has no option %s", commands[a->command].name, flag);
    autofree char *names = whose(o);

    return error_set(err, ERROR_USAGE, 0, "%s is an option of %s, not of a question%s%s", flag, names,
                     hint ? "\n" : "", hint ? hint : "");
}

/* "--name", "--name=value", or "--name" and the next word. Returns the number of words used, or -1. */
static int long_option(struct args *a, char *const *argv, struct error *err)
{
    const char *name = argv[0] + 2, *eq = strchr(name, '=');
    size_t len = eq ? (size_t)(eq - name) : strlen(name);
    const struct option *o = option_by_flag(name, len);

    if (!o)
        return unknown_option(a->command, argv[0], len + 2, err);
    if (!o->arg) {
        if (eq)
            return error_set(err, ERROR_USAGE, 0, "--%s takes no argument", o->flag);
        add_arg(a, o, NULL, false);
        return 1;
    }
    if (!eq && !argv[1] && !(o->commands & commands[a->command].options))
        return not_taken(a, o, false, err);
    if (!eq && !argv[1])
        return error_set(err, ERROR_USAGE, 0, "--%s needs an argument: --%s %s", o->flag, o->flag, o->arg);
    add_arg(a, o, eq ? eq + 1 : argv[1], false);
    return eq ? 1 : 2;
}

/* "-q", "-qv", "-mNAME", "-m NAME". */
static int short_options(struct args *a, char *const *argv, struct error *err)
{
    int here = commands[a->command].options;

    for (const char *p = argv[0] + 1; *p; p++) {
        const struct option *o = option_by_letter(*p, here);

        if (!o || (!(o->commands & here) && habit(argv[0], here)))
            return unknown_option(a->command, argv[0], strlen(argv[0]), err);
        if (!o->arg) {
            add_arg(a, o, NULL, true);
            continue;
        }
        if (!p[1] && !argv[1] && !(o->commands & here))
            return not_taken(a, o, true, err);
        if (!p[1] && !argv[1])
            return error_set(err, ERROR_USAGE, 0, "-%c needs an argument: -%c %s", *p, *p, o->arg);
        add_arg(a, o, p[1] ? p + 1 : argv[1], true);
        return p[1] ? 1 : 2;
    }
    return 1;
}

static int first_word(struct args *a, const char *word, bool *is_command, struct error *err)
{
    const char *near = NULL;

    *is_command = true;
    for (size_t i = 0; i < countof(commands); i++)
        if (begins_command(i) && !strcmp(word, commands[i].name)) {
            a->command = (enum command)i;
            return 0;
        }
    for (size_t i = 0; i < countof(commands) && !near; i++)
        if (begins_command(i) && is_slip(word, commands[i].name))
            near = commands[i].name;
    if (near)
        return error_set(err, ERROR_USAGE, 0,
                         "unknown command \"%s\"; did you mean %s?\n"
                         "To ask it as a question: sandpiper -p \"%s\"",
                         word, near, word);
    *is_command = false;
    return 0;
}

/* "--help all", "--help exec", "exec --help": find out which page is wanted. */
static void help_wanted(struct args *a, const char *next)
{
    a->help_topic = next ? help_find(next) : NULL;
    if (!a->help_topic)
        a->help_topic = page_of(a->command);
}

/* Does each option belong to this command? */
static int check_options(const struct args *a, struct error *err)
{
    for (size_t i = 0; i < a->n; i++)
        if (!(a->v[i].option->commands & commands[a->command].options))
            return not_taken(a, a->v[i].option, a->v[i].letter, err);
    return 0;
}

static int no_page(const char *word, struct error *err)
{
    struct buf pages = BUF_INIT(0);
    const char *name, *line;

    for (size_t i = 0; (name = help_page(i, &line)); i++)
        buf_addf(&pages, "%s%s", i ? ", " : "", name);
    error_set(err, ERROR_USAGE, 0,
              "no help page \"%.40s\"; there are: %s\nTo ask a question: sandpiper -p \"help ...\"", word,
              buf_str(&pages));
    buf_release(&pages);
    return -1;
}

static int operand(struct args *a, const char *word, bool literal, struct error *err)
{
    if (a->command == COMMAND_HELP) {
        if (a->help_topic || !(a->help_topic = help_find(word)))
            return no_page(word, err);
        return 0;
    }
    if (a->command == COMMAND_DEBUG) {
        if (strcmp(word, "reply") != 0 && strcmp(word, "request") != 0)
            return error_set(err, ERROR_USAGE, 0,
                             "unknown command \"debug %.40s\"; there are debug reply and debug request\n"
                             "To ask a question: sandpiper -p \"debug ...\"",
                             word);
        a->command = !strcmp(word, "reply") ? COMMAND_DEBUG_REPLY : COMMAND_DEBUG_REQUEST;
        return 0;
    }
    if (a->command == COMMAND_DEBUG_REPLY)
        return error_set(err, ERROR_USAGE, 0, "debug reply takes no arguments: it reads the body from stdin");
    if (commands[a->command].operands == OPERANDS_NAMES) {
        argv_push(&a->names, word);
        return 0;
    }
    if (a->command == COMMAND_CONFIG)
        return error_set(err, ERROR_USAGE, 0,
                         "config takes no arguments\n"
                         "To change a setting, edit config.yaml; sandpiper config says where it is");
    if (commands[a->command].operands == OPERANDS_NONE)
        return error_set(err, ERROR_USAGE, 0,
                         "%s takes no arguments\nTo ask a question: sandpiper -p \"%s ...\"",
                         commands[a->command].name, commands[a->command].name);
    if (a->operand && a->command == COMMAND_MODELS)
        return error_set(err, ERROR_USAGE, 0,
                         "models takes one argument, a part of the names to list\n"
                         "To ask a question: sandpiper -p \"models ...\"");
    if (a->operand && check_options(a, err) < 0)
        return -1;
    if (a->operand)
        return error_set(err, ERROR_USAGE, 0,
                         "put the whole question in quotes: sandpiper \"%.40s %.40s ...\"", a->operand, word);
    a->operand = word;
    a->operand_is_stdin = !literal && !strcmp(word, "-");
    return 0;
}

static const char *value_of_flag(const struct args *a, const char *flag)
{
    for (size_t i = a->n; i-- > 0;)
        if (a->v[i].option->flag && !strcmp(a->v[i].option->flag, flag))
            return a->v[i].value ? a->v[i].value : "";
    return NULL;
}

/* From FILE or -c CODE on, all words belong to the code, even those that begin with a dash, as with python3.
 */
static bool code_named(const struct args *a)
{
    return a->command == COMMAND_EXEC && (a->operand || value_of_flag(a, "code"));
}

static int check_rm(const struct args *a, struct error *err)
{
    if (!value_of_flag(a, "all") != (a->names.n > 0))
        return error_set(err, ERROR_USAGE, 0,
                         "rm needs the names of sandboxes, or --all alone: sandpiper rm NAME...\n"
                         "To ask it as a question: sandpiper -p rm");
    return 0;
}

static int check_exec(const struct args *a, struct error *err)
{
    const char *how = value_of_flag(a, "stdin"), *code = value_of_flag(a, "code");

    if (how && !strcmp(how, "script"))
        return error_set(err, ERROR_USAGE, 0,
                         "--stdin script is for questions\nTo run stdin as Python: sandpiper exec -");
    if (how && !strcmp(how, "data") && !code && (!a->operand || a->operand_is_stdin))
        return error_set(err, ERROR_USAGE, 0,
                         "--stdin data: stdin is already the code\n"
                         "Give the code as a file or with -c: sandpiper exec FILE");
    return 0;
}

/* prompt: -p was given with text. */
static int check_question(const struct args *a, bool prompt, const char *text, struct error *err)
{
    const char *how = value_of_flag(a, "stdin");

    if (prompt && a->operand)
        return error_set(err, ERROR_USAGE, 0,
                         "two questions: one with -p and one without; put one question in quotes");
    if ((prompt || a->operand) && how && !strcmp(how, "script"))
        return error_set(
            err, ERROR_USAGE, 0,
            "--stdin script cannot be combined with a question: the questions are read from stdin\n"
            "To give stdin as data: --stdin data");
    if (!prompt)
        text = a->operand_is_stdin ? NULL : a->operand;
    if (text && strspn(text, " \t\r\n") == strlen(text))
        return error_set(err, ERROR_USAGE, 0, "the question is empty");
    if (text && strlen(text) > QUESTION_MAX)
        return error_set(
            err, ERROR_USAGE, 0,
            "the question is too long (%zu bytes, at most %zu)\nPut long text into a file and use --add.",
            strlen(text), QUESTION_MAX);
    return 0;
}

/* Checks that need the whole line. */
static int check_line(const struct args *a, bool prompt, const char *text, struct error *err)
{
    if (a->command == COMMAND_DEBUG)
        return error_set(err, ERROR_USAGE, 0,
                         "debug needs reply or request: sandpiper debug reply < BODY\n"
                         "To ask it as a question: sandpiper -p debug");
    if (check_options(a, err) < 0)
        return -1;
    if (a->command == COMMAND_DEBUG_REQUEST && !prompt && !a->operand)
        return error_set(err, ERROR_USAGE, 0,
                         "debug request needs a question: sandpiper debug request \"how many?\"");
    switch (a->command) {
    case COMMAND_RM:
        return check_rm(a, err);
    case COMMAND_FORK:
        return a->names.n == 2
                   ? 0
                   : error_set(err, ERROR_USAGE, 0,
                               "fork needs the name of a sandbox and one for its copy: sandpiper "
                               "fork NAME NEW\nTo ask it as a question: sandpiper -p \"fork ...\"");
    case COMMAND_CHAT:
        return prompt ? error_set(err, ERROR_USAGE, 0,
                                  "chat takes no question; to ask one: sandpiper -p \"QUESTION\"")
                      : 0;
    case COMMAND_EXEC:
        return check_exec(a, err);
    case COMMAND_ASK:
    case COMMAND_DEBUG_REQUEST:
        return check_question(a, prompt, text, err);
    default:
        return 0;
    }
}

int args_parse(struct args *a, int argc, char *const *argv, struct error *err)
{
    bool options = true, first = true, prompt = false;
    const char *text = NULL;

    *a = (struct args){.command = COMMAND_ASK};
    for (int i = 1; i < argc;) {
        const char *word = argv[i];
        bool is_command = false;
        int used = 1;

        if (options && !strcmp(word, "--"))
            options = first = false; /* no command can follow */
        else if (options && word[0] == '-' && word[1])
            used = word[1] == '-' ? long_option(a, argv + i, err) : short_options(a, argv + i, err);
        else if (first && first_word(a, word, &is_command, err) < 0)
            return -1;
        else {
            first = false;
            if (!is_command && operand(a, word, !options, err) < 0)
                return -1;
        }
        if (used < 0)
            return -1;
        i += used;
        if (a->help)
            help_wanted(a, i < argc ? argv[i] : NULL);
        if (a->version || a->help)
            return 0;
        if (code_named(a)) {
            a->rest = argv + i;
            break;
        }
    }
    if (a->command == COMMAND_HELP) {
        a->help = true;
        return 0;
    }
    if (a->command == COMMAND_VERSION && a->n == 0) {
        a->version = true;
        return 0;
    }
    for (size_t i = 0; i < a->n; i++)
        if (a->v[i].option->letter == 'p') {
            if (prompt)
                return error_set(err, ERROR_USAGE, 0, "-p was given twice; put the whole question in quotes");
            prompt = true;
            text = a->v[i].value;
        }
    return check_line(a, prompt, text, err);
}

void args_again(const struct args *a, int mask, struct argv *out)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct arg *arg = &a->v[i];

        if (arg->option->commands & mask)
            argv_pushf(out, "--%s%s%s", arg->option->flag, arg->value ? "=" : "",
                       arg->value ? arg->value : "");
    }
}

void args_release(struct args *a)
{
    free(a->v);
    argv_release(&a->names);
    *a = (struct args){0};
}
