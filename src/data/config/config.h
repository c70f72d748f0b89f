/* config.h - the settings, and where each value came from. Only main reads it, and gives each room its own
 * small option struct; this one is never passed down. Layers, each overriding the one before: built-in
 * default, config.yaml, .env of the working directory, environment, flags.
 *
 * The working directory may be hostile: only the keys and base URLs of providers, SANDPIPER_PROVIDER and
 * SANDPIPER_MODEL are read from .env. Nothing here prints: messages for the user are in notices.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/argv.h"
#include "base/sha256.h"
#include "config/args.h"
#include "config/custom_engine.h"
#include "config/dotenv.h"
#include "config/folder.h"
#include "config/option.h"
#include "config/own_language.h"
#include "config/provider.h"
#include "config/source.h"

struct buf;
struct error;
struct json;

/* What each layer says about the endpoint. Kept apart because a key, and a model, belong to the endpoint of
 * their own layer (endpoint.h). */
struct config_choice {
    struct chosen {
        const char *value; /* NULL: this layer says nothing */
        struct source from;
    } provider, base_url, model, api_key;
};

/* What serve, mcp and bot tell the process that speaks with strangers (main/front.h): each option of the
 * table whose value is in here, and nothing else. So no key can be in here. */
struct front_settings {
    const char *listen, *token_file; /* token_file NULL: a fresh token */
    const char *public_url, *model;  /* or NULL */
    const char *log;                 /* "off", "text", "json" */
    const char *ca_cert;             /* or NULL */
    struct argv allow_hosts, proxies, allow_packages, languages;
    int max_sandboxes, pool_size;
    int64_t ttl, queue; /* ms */
    bool quiet, verbose;
    /* bot */
    const char *api_url;      /* or NULL: the service's own */
    int per_user, per_server; /* questions in an hour; 0: no limit */
    /* batch; some are of other commands too */
    const char *output, *out_dir, *template, *prepare, *jobs, *only, *settle, *format; /* or NULL */
    int limit, shuffle, epochs, max_errors; /* 0: none; epochs at least 1 */
    int max_starting;                       /* 0: by the processors */
    int max_tokens_total;                   /* 0: no limit */
    double max_cost;                        /* dollars; 0: no limit */
    bool retry_failed;
};

struct config {
    struct args args; /* the command line as it was parsed */
    bool all, force;  /* rm */
    const char *resume;
    bool go_on, rerun, save;
    bool again;       /* /resume in the chat: start over, with the session that resume names */
    int64_t older;    /* ms; 0: not given */
    const char *code; /* exec -c; NULL: a file */

    /* questions */
    const char *prompt, *system, *stdin_mode;
    struct argv add;
    const char *upload, *agents; /* agents: the name of a pipeline; NULL: one agent */
    struct argv allow_folders;   /* that an agent may look at */
    struct argv with;            /* packages, "seaborn,polars>=1" */
    const char *requirements;    /* a file of more; or NULL */
    const char *language;        /* of exec's code; NULL: by the name of its file */
    int64_t cooldown;            /* ms; a version of a package that is younger is not taken */
    bool allow_install;          /* the model may install packages without a question to the user */
    struct argv mounts;          /* "DIR", "DIR:rw": seen by the code where they are */
    int max_rounds;
    int64_t max_time; /* ms; 0: no limit */
    /* model */
    const char *provider, *base_url, *api, *api_key, *dialect, *vision, *reasoning_effort, *dotenv_how;
    struct argv api_key_command;
    bool stream, discover, allow_insecure, snapshots, offline;
    int max_tokens, context; /* 0: not set */
    double temperature;      /* < 0: not set */
    int64_t connect_timeout, idle_timeout, quiet_timeout;
    /* sandbox */
    const char *sandbox, *image, *runtime, *sandbox_name;
    struct argv allow_net, secrets; /* "HOST,..." and "NAME=HOST": model/proxy/rules.h */
    int64_t net_max_sent, net_max_received;
    int net_max_requests;
    int64_t queue_timeout; /* ms; 0: as the engine has it */
    int64_t sandbox_idle;  /* ms */
    int64_t timeout, memory, data_size, max_file, max_files_total, max_output;
    double cpus;
    int pids;
    /* serve and mcp */
    struct front_settings front; /* some are of every command */
    bool fetch_urls;
    /* output and the rest */
    bool json, json_result; /* json_result: json is set too */
    bool show_reasoning, usage, notify, dry_run;
    int status; /* debug reply; 0: 200 */
    struct argv headers;
    const char *check; /* "asked", "always": compute answers a second time */
    const char *trace, *record, *replay;
    const char *color, *figures, *figure_format, *render, *config_path;

    struct source source[OPTION_MAX]; /* by index in option_table */
    struct config_choice choice[SOURCE_KINDS];
    struct dotenv dotenv;
    char dotenv_digest[SHA256_HEX]; /* of its text; "": there is none */
    /* Asks the user a question of yes or no, or says that there is nobody to ask. NULL: there is not. */
    enum folder_answer (*ask)(void *ctx, const char *question);
    void *ask_ctx;
    /* .env decides where questions go: a line to print even with --quiet; or NULL */
    const char *said;
    struct providers providers;                 /* read by config_providers() */
    struct profiles profiles, builtin_profiles; /* of models: those of config.yaml, and our own, see below */
    struct custom_engines engines;              /* of config.yaml */
    struct own_languages own_languages;         /* likewise */
    const char *file;                           /* config.yaml as it was looked for; NULL: no home */
    bool file_read;                             /* it was there */
    struct argv notices;                        /* warnings, one line each */
    struct argv pool;                           /* owns the strings above */
    char *const *env;
};

/* Read the command line, config.yaml, .env and the environment. With --version or --help no file is read.
 * Errors are ERROR_USAGE. Call config_release also after a failure. */
int config_load(struct config *c, int argc, char *const *argv, char *const *env, struct error *err);
void config_release(struct config *c);

/* The built-in providers and those of config.yaml; our own profiles of models. Only who asks a model needs
 * them, and reading the built-in ones takes longer than all else here, so it is done at the first call. */
struct providers *config_providers(const struct config *c);
const struct profiles *config_builtin_profiles(const struct config *c);

/* member: &c->memory, ... */
const struct source *config_source(const struct config *c, const void *member);
/* environment; empty counts as not set */
const char *config_env(const struct config *c, const char *name);
/* a copy that lives as long as c */
const char *config_keep(struct config *c, const char *s);

/* The value of an option as it was written. text: NULL for a flag that takes none. where goes in front of
 * messages: "config.yaml:3: timeout", "SANDPIPER_TIMEOUT", "--timeout". */
struct setting {
    const struct option *option;
    const char *text, *where;
    struct source from;
};
int config_set(struct config *c, const struct setting *s, struct error *err);
int config_apply_yaml(struct config *c, struct ydoc *root, struct error *err);
int config_apply_dotenv(struct config *c, const char *text, size_t len, struct error *err);

/* What a front is told, as JSON, and back. Strings point into j. Release the settings' lists with
 * front_settings_release(). */
struct json *front_settings_write(const struct front_settings *f);
void front_settings_read(struct front_settings *f, const struct json *j);
void front_settings_release(struct front_settings *f);

/* Can the file of certificates be used, if one is named? -1: ERROR_USAGE. */
int config_check_ca_cert(const struct config *c, struct error *err);

/* "sandpiper config": YAML, one line a value with where it came from; keys masked. */
int config_print(struct config *c, struct buf *out, struct error *err);

#endif
