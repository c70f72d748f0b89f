/* option.h - the table of options: flag, letter, YAML key, environment variable, type, default, range,
 * help. The command line, the environment, config.yaml, --help, "sandpiper config" and the test of the
 * manual pages all use it.
 */
#ifndef CONFIG_OPTION_H
#define CONFIG_OPTION_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

enum option_type {
    OPTION_BOOL, /* bool; the flag takes no argument and sets it */
    /* bool; the flag takes no argument and clears it (--no-stream); key and variable are the positive */
    OPTION_NOT,
    OPTION_STRING, /* const char * */
    OPTION_FILE,   /* the same, a path; in config.yaml from that file's folder, or from ~/ */
    OPTION_SECRET, /* const char *, masked when shown; never a flag: argv can be read by everyone */
    OPTION_CHOICE, /* const char *, one of choices; a flag without arg chooses its own name */
    /* const char *, one of choices or of the engines in config.yaml; checked when all layers are read */
    OPTION_ENGINE,
    OPTION_LIST, /* struct argv; the flag adds to it; config.yaml: one word, or a list of them */
    /* struct argv; a command in config.yaml: a list of words, or one string cut at blanks */
    OPTION_WORDS,
    OPTION_PATHS,  /* struct argv; the flag adds to it; config.yaml: one path, or a list of them */
    OPTION_INT,    /* int */
    OPTION_NUMBER, /* double */
    OPTION_SIZE,   /* int64_t, bytes */
    OPTION_TIME,   /* int64_t, milliseconds */
};

/* Which commands take an option. */
enum {
    FOR_ASK = 1 << 0, /* a question, a script, the chat */
    FOR_EXEC = 1 << 1,
    FOR_CONFIG = 1 << 2,      /* all settings */
    FOR_CONFIG_PAGE = 1 << 3, /* those that its page of help shows */
    FOR_REPLY = 1 << 4,
    FOR_REQUEST = 1 << 5,
    FOR_PS = 1 << 6,
    FOR_RM = 1 << 7,
    FOR_FORK = 1 << 8,
    FOR_GC = 1 << 9,
    FOR_DOCTOR = 1 << 10,
    FOR_MODELS = 1 << 11,
    FOR_SESSIONS = 1 << 12,
    FOR_RECEIPT = 1 << 13,
    FOR_RERUN = 1 << 14,
    FOR_PACKAGES = 1 << 15,
    FOR_SERVE = 1 << 16,
    FOR_MCP = 1 << 17,
    FOR_BOT = 1 << 18,
    FOR_BATCH = 1 << 19,
    FOR_NONE = 1 << 20, /* help, version */
    FOR_ALL = FOR_NONE - 1,
    /* those with a question; with a model; with code; with a sandbox, of one name or with hosts */
    FOR_QUESTIONS = FOR_ASK | FOR_REQUEST | FOR_CONFIG | FOR_SERVE | FOR_BOT | FOR_BATCH,
    FOR_MODEL = FOR_QUESTIONS | FOR_DOCTOR,
    FOR_CODE = FOR_QUESTIONS | FOR_EXEC | FOR_MCP,
    FOR_SANDBOX = FOR_CODE | FOR_DOCTOR | FOR_RERUN,
    FOR_NAMED = FOR_ASK | FOR_REQUEST | FOR_CONFIG | FOR_EXEC,
    FOR_NETWORK = FOR_NAMED | FOR_DOCTOR,
    FOR_OUTPUT = FOR_ASK | FOR_REQUEST | FOR_CONFIG
};

struct option {
    const char *flag; /* without "--"; NULL: none */
    char letter;      /* 0: none */
    const char *key;  /* in config.yaml; NULL: none */
    const char *env;  /* NULL: none */
    enum option_type type;
    size_t offset;         /* in struct config */
    const char *def;       /* as text; NULL: not set, 0, false */
    const char *min, *max; /* as text, of the numeric types; NULL: no bound */
    const char *choices;
    const char *arg;   /* name of the argument in --help; NULL: the flag takes none */
    const char *help;  /* one line */
    const char *group; /* its heading in --help */
    int commands;      /* FOR_...: where the flag means something; elsewhere it is a usage error */
    bool dotenv;       /* .env may set its variable too */
    bool usual;        /* on the first screen of --help */
};

extern const struct option option_table[];
extern const size_t option_count;
#define OPTION_MAX     120
#define ENGINE_CHOICES "auto|docker|podman|bwrap" /* those that are built in */

bool option_is_list(const struct option *o); /* its value is a struct argv */
const struct option *option_by_flag(const char *flag, size_t len);
/* The one for these commands (FOR_...), else any. */
const struct option *option_by_letter(char letter, int commands);
const struct option *option_by_key(const char *key);
const struct option *option_by_env(const char *name);

struct nearest;
/* Each of these commands (FOR_...), without its dashes. */
void flags_offer(struct nearest *near, int commands);
const char *nearest_key(const char *word);

/* The text of --help. topic: what help_find() gave for a word ("all", the name of a command), or NULL for
 * the first screen. */
void option_help(struct buf *out, const char *topic);
const char *help_find(const char *word); /* NULL: there is no such page */
/* The name of the i-th page, each but "all"; *line is what it is about, in a few words. NULL: there are no
 * more. */
const char *help_page(size_t i, const char **line);
bool help_is_command(const char *word); /* is the page that of a command? */
/* Does that page list the option? NULL: the options of a question. */
bool help_shows(const char *page, const struct option *o);
/* FOR_... of that page. */
int help_commands(const char *page);

#endif
