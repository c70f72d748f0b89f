/* complete.c - finds out which word of the line is wanted, and offers the words that fit. The line is not
 * parsed as args.c does it: it is unfinished, and nothing in it is an error.
 */
#include "config/complete.h"

#include <stdio.h>
#include <string.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/mem.h"
#include "config/option.h"

struct line {
    struct buf *out;
    const struct complete_source *source;
    const char *typed; /* the word so far */
    char *front;       /* what stands before it in the same shell word: "--color=", or "" */
};

static void offer(const struct line *l, const char *word, size_t len, const char *help)
{
    if (strncmp(word, l->typed, strlen(l->typed)) != 0 || len < strlen(l->typed))
        return;
    buf_addf(l->out, "%s%.*s%s%s\n", l->front, (int)len, word, help ? "\t" : "", help ? help : "");
}

static void offer_list(const struct line *l, const char *choices, char between)
{
    for (const char *p = choices; *p;) {
        const char *end = strchrnul(p, between);

        offer(l, p, (size_t)(end - p), NULL);
        p = *end ? end + 1 : end;
    }
}

static void offer_names(const struct line *l, enum complete_names kind)
{
    static const char harmless[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@._:/~+-";
    struct argv names autorelease(argv_release) = ARGV_INIT;

    if (kind != NAMES_NONE)
        l->source->add(l->source->ctx, kind, &names);
    for (size_t i = 0; i < names.n; i++) {
        size_t len = strcspn(names.v[i], "\t");

        if (names.v[i][0] != '-' && strspn(names.v[i], harmless) >= len)
            offer(l, names.v[i], len, names.v[i][len] ? names.v[i] + len + 1 : NULL);
    }
}

/* What stands in the place of an option's argument. */
static void offer_values(const struct line *l, const struct option *o)
{
    static const struct {
        const char *flag;
        enum complete_names names;
    } named[] = {
        {"model", NAMES_MODEL},    {"provider", NAMES_PROVIDER},    {"resume", NAMES_SESSION},
        {"sandbox", NAMES_ENGINE}, {"sandbox-name", NAMES_SANDBOX},
    };

    if (o->choices)
        offer_list(l, o->choices, '|');
    for (size_t i = 0; i < countof(named); i++)
        if (!strcmp(named[i].flag, o->flag))
            offer_names(l, named[i].names);
    if (!strcmp(o->arg, "FILE"))
        buf_addstr(l->out, "\tfile\n");
    if (!strncmp(o->arg, "DIR", 3))
        buf_addstr(l->out, "\tfolder\n");
}

static void offer_flags(const struct line *l, const char *command)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];
        char flag[40];

        if (!o->flag || !help_shows(command, o))
            continue;
        size_t n = (size_t)snprintf(flag, sizeof flag, "--%s", o->flag);
        offer(l, flag, n, o->help);
    }
}

static void offer_pages(const struct line *l, bool commands)
{
    const char *name, *help;

    for (size_t i = 0; (name = help_page(i, &help)); i++)
        if (!commands || help_is_command(name))
            offer(l, name, strlen(name), help);
}

/* A word that is no option: the command, or what the command takes. operand: its first one, or NULL. */
static void offer_operands(const struct line *l, const char *command, const char *operand)
{
    static const struct {
        const char *command, *operand, *words;
        enum complete_names names;
    } takes[] = {
        {"debug", NULL, "reply|request", NAMES_NONE},
        {"exec", NULL, "\tfile", NAMES_NONE},
        {"fork", NULL, "", NAMES_SANDBOX},
        {"models", NULL, "", NAMES_MODEL},
        {"packages", NULL, "list|rm|gc", NAMES_NONE},
        {"receipt", NULL, "", NAMES_SESSION},
        {"rerun", NULL, "\tfile", NAMES_NONE},
        {"rm", NULL, "", NAMES_SANDBOX},
        {"sessions", "export", "", NAMES_SESSION},
        {"sessions", "rm", "", NAMES_SESSION},
        {"sessions", "show", "", NAMES_SESSION},
        {"sessions", NULL, "list|show|search|rm|export", NAMES_NONE},
    };

    if (!command || !strcmp(command, "help"))
        offer_pages(l, !command);
    for (size_t i = 0; command && i < countof(takes); i++) {
        const char *first = takes[i].operand;

        if (strcmp(takes[i].command, command) != 0 || (first && strcmp(first, operand ? operand : "") != 0))
            continue;
        if (takes[i].words[0] == '\t')
            buf_addf(l->out, "%s\n", takes[i].words);
        else
            offer_list(l, takes[i].words, '|');
        offer_names(l, takes[i].names);
        return;
    }
}

/* The option that waits for an argument behind this word, or NULL. */
static const struct option *waits(const char *command, const char *word)
{
    const struct option *o = NULL;

    if (word[0] != '-' || !word[1])
        return NULL;
    if (word[1] == '-')
        o = option_by_flag(word + 2, strlen(word + 2));
    else
        for (const char *p = word + 1; *p; p++) {
            o = option_by_letter(*p, command ? help_commands(command) : FOR_ASK);
            if (o && o->arg && p[1])
                return NULL; /* -mNAME */
        }
    return o && o->arg ? o : NULL;
}

struct typed_words {
    const char *command, *operand;
    const struct option *waiting; /* for the word that is typed */
};
/* words[0 .. n-2] are finished. Returns false where the last one is a question, or the code's own. */
static bool read_finished(char *const *words, size_t n, struct typed_words *f)
{
    *f = (struct typed_words){0};
    for (size_t i = 0; i + 1 < n; i++) {
        const struct option *o = waits(f->command, words[i]);

        if (!strcmp(words[i], "--"))
            return false;
        if (o && i + 2 == n)
            f->waiting = o;
        else if (o)
            i++;
        else if (words[i][0] == '-')
            continue;
        else if (!f->command && help_is_command(words[i]))
            f->command = words[i];
        else if (!f->command)
            return false;
        else if (!f->operand)
            f->operand = words[i];
    }
    return true;
}

void complete_line(struct buf *out, char *const *words, size_t n, const struct complete_source *source)
{
    struct typed_words f;
    const char *word = n ? words[n - 1] : "", *equals = strchr(word, '=');
    struct line l = {.out = out, .source = source, .typed = word};

    if (!read_finished(words, n, &f))
        return;
    if (!f.waiting && !strncmp(word, "--", 2) && equals) {
        f.waiting = option_by_flag(word + 2, (size_t)(equals - word) - 2);
        l.typed = equals + 1;
    }
    autofree char *front = xmemdup0(word, (size_t)(l.typed - word));
    l.front = front;
    if (f.waiting && f.waiting->arg)
        offer_values(&l, f.waiting);
    else if (*word == '-')
        offer_flags(&l, f.command);
    else
        offer_operands(&l, f.command, f.operand);
}
