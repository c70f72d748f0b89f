/* config.c - applies the layers one over the other, and keeps the source of each value. */
#include "config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "config/layers.h"
#include "base/value.h"

char *source_text(const struct source *s)
{
    const char *file = s->name ? s->name : "config.yaml";

    switch (s->kind) {
    case SOURCE_FILE:
        return s->line ? xasprintf("%.200s:%d", file, s->line) : xasprintf("%.200s", file);
    case SOURCE_DOTENV:
        return xasprintf(".env:%d %.60s", s->line, s->name);
    case SOURCE_ENV:
        return xasprintf("environment %.60s", s->name);
    case SOURCE_FLAG:
        return xasprintf("option %.60s", s->name);
    default:
        return xstrdup("default");
    }
}

const char *config_keep(struct config *c, const char *s)
{
    argv_push(&c->pool, s);
    return c->pool.v[c->pool.n - 1];
}

const char *config_env(const struct config *c, const char *name)
{
    size_t len = strlen(name);

    for (char *const *e = c->env; e && *e; e++)
        if (!strncmp(*e, name, len) && (*e)[len] == '=')
            return (*e)[len + 1] ? *e + len + 1 : NULL;
    return NULL;
}

const struct source *config_source(const struct config *c, const void *member)
{
    size_t offset = (size_t)((const char *)member - (const char *)c);

    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].offset == offset)
            return &c->source[i];
    return &c->source[OPTION_MAX - 1]; /* this last source is always the default */
}

/* Read a numeric option's text as a double for the range check; sizes and times stay far below 2^53. */
static bool read_numeric(const struct option *o, const char *text, double *v)
{
    int64_t n;

    if (o->type == OPTION_NUMBER)
        return value_number(text, v);
    if (o->type == OPTION_SIZE   ? !value_size(text, &n)
        : o->type == OPTION_TIME ? !value_time(text, &n)
                                 : !value_int(text, &n))
        return false;
    *v = (double)n;
    return true;
}

const char *config_expectation(const struct option *o)
{
    static const char *const expected[] = {
        [OPTION_BOOL] = "true or false",
        [OPTION_NOT] = "true or false",
        [OPTION_INT] = "a whole number",
        [OPTION_NUMBER] = "a number",
        [OPTION_SIZE] = "a size such as 512m or 1g",
        [OPTION_TIME] = "a time such as 90, 90s or 2m",
    };

    return expected[o->type] ? expected[o->type] : "a string";
}

/* "small" or "large" if the number is out of the option's range, and the bound that it breaks; or NULL. */
static const char *misfit(const struct option *o, double v, const char **bound)
{
    double limit;

    *bound = o->min && read_numeric(o, o->min, &limit) && v < limit ? o->min : NULL;
    if (*bound)
        return "small";
    *bound = o->max && read_numeric(o, o->max, &limit) && v > limit ? o->max : NULL;
    return *bound ? "large" : NULL;
}

int config_wrong(const struct setting *s, struct error *err)
{
    const struct option *o = s->option;
    autofree char *shown = scrub_line(s->text, SCRUB_TERMINAL);
    const char *bound, *how;
    double v;

    bool unit = o->type == OPTION_SIZE || o->type == OPTION_TIME;
    if ((o->min || o->max) && read_numeric(o, s->text, &v) && (how = misfit(o, v, &bound)))
        return error_set(err, ERROR_USAGE, 0, "%s: %.60s is too %s; the %s is %s%s%s", s->where, shown, how,
                         bound == o->min ? "minimum" : "maximum", bound, unit ? "\nwrite " : "",
                         unit ? config_expectation(o) : "");
    if (o->type == OPTION_CHOICE)
        return error_set(err, ERROR_USAGE, 0, "%s: expected one of %s, found \"%.60s\"", s->where, o->choices,
                         shown);
    bool range = !unit && o->min && o->max;
    return error_set(err, ERROR_USAGE, 0, "%s: expected %s%s%s%s%s, found \"%.60s\"", s->where,
                     config_expectation(o), range ? " from " : "", range ? o->min : "", range ? " to " : "",
                     range ? o->max : "", shown);
}

static int set_numeric(const struct setting *s, void *at, struct error *err)
{
    const struct option *o = s->option;
    const char *bound;
    double v;

    if (!read_numeric(o, s->text, &v) || misfit(o, v, &bound))
        return config_wrong(s, err);
    if (o->type == OPTION_INT)
        *(int *)at = (int)v;
    else if (o->type == OPTION_NUMBER)
        *(double *)at = v;
    else
        *(int64_t *)at = (int64_t)v;
    return 0;
}

/* A path in a file is relative to that file's folder, not to a working directory that may belong to somebody
 * else. No shell expands its "~/", so that is done here. */
static const char *keep_path(struct config *c, const char *path, const char *file)
{
    const char *slash = strrchr(file, '/'), *home = config_env(c, "HOME");
    autofree char *whole = NULL;

    if (!strncmp(path, "~/", 2) && home)
        whole = xasprintf("%s%s", home, path + 1);
    else if (*path != '/' && slash)
        whole = xasprintf("%.*s/%s", (int)(slash - file), file, path);
    return config_keep(c, whole ? whole : path);
}

static int config_empty(const struct setting *s, struct error *err)
{
    const struct option *o = s->option;

    if (s->from.kind == SOURCE_FLAG && o->arg)
        return error_set(err, ERROR_USAGE, 0, "%s needs a value, as in --%s %s", s->where, o->flag, o->arg);
    return error_set(err, ERROR_USAGE, 0, "%s: expected a %s, found nothing", s->where,
                     o->type == OPTION_PATHS ? "path" : "string");
}

int config_set(struct config *c, const struct setting *s, struct error *err)
{
    const struct option *o = s->option;
    const struct source *from = &s->from;
    const char *text = s->text;
    void *at = (char *)c + o->offset;
    bool on = true;

    switch (o->type) {
    case OPTION_BOOL:
    case OPTION_NOT:
        if (text && !value_bool(text, &on))
            return config_wrong(s, err);
        /* a flag such as --no-stream has no text */
        *(bool *)at = text || o->type == OPTION_BOOL ? on : false;
        break;
    case OPTION_CHOICE:
        if (text && !value_choice(text, o->choices))
            return config_wrong(s, err);
        /* a flag such as --plain has no text: it stands for the last choice */
        *(const char **)at = text ? config_keep(c, text) : strrchr(o->choices, '|') + 1;
        break;
    case OPTION_LIST:
    case OPTION_WORDS:
        if (at == &c->allow_net && !strcmp(text, "none")) { /* whatever was said before, of secrets too */
            argv_release(&c->allow_net);
            argv_release(&c->secrets);
            break;
        }
        if (at == &c->with && !strcmp(text, "none")) {
            argv_release(&c->with);
            break;
        }
        argv_push(at, text);
        break;
    case OPTION_PATHS:
        if (!*text)
            return config_empty(s, err);
        argv_push(at, from->kind == SOURCE_FILE ? keep_path(c, text, from->name) : text);
        break;
    case OPTION_ENGINE:
    case OPTION_FILE:
    case OPTION_STRING:
    case OPTION_SECRET:
        if (!*text && !(o->letter && strchr("cps", o->letter)))
            return config_empty(s, err);
        *(const char **)at = o->type == OPTION_FILE && from->kind == SOURCE_FILE
                                 ? keep_path(c, text, from->name)
                                 : config_keep(c, text);
        break;
    default:
        if (set_numeric(s, at, err) < 0)
            return -1;
    }
    c->source[(size_t)(o - option_table)] = *from;
    struct chosen *chosen = at == (void *)&c->provider      ? &c->choice[from->kind].provider
                            : at == (void *)&c->base_url    ? &c->choice[from->kind].base_url
                            : at == (void *)&c->front.model ? &c->choice[from->kind].model
                            : at == (void *)&c->api_key     ? &c->choice[from->kind].api_key
                                                            : NULL;
    if (chosen)
        *chosen = (struct chosen){*(const char **)at, *from};
    return 0;
}

static int apply_defaults(struct config *c, struct error *err)
{
    c->temperature = -1;
    for (size_t i = 0; i < option_count; i++) {
        const struct setting s = {
            &option_table[i], option_table[i].def, "default", {SOURCE_DEFAULT, 0, NULL}};
        if (s.text && config_set(c, &s, err) < 0)
            return -1;
    }
    return 0;
}

static int apply_environment(struct config *c, struct error *err)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];
        const struct setting s = {o, o->env ? config_env(c, o->env) : NULL, o->env, {SOURCE_ENV, 0, o->env}};

        if (s.text && config_set(c, &s, err) < 0)
            return -1;
    }
    return 0;
}

static int apply_flags(struct config *c, const struct args *a, struct error *err)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct arg *arg = &a->v[i];
        autofree char *name = arg->letter ? xasprintf("-%c", arg->option->letter)
                                          : xasprintf("--%s", arg->option->flag);
        const struct setting s = {arg->option, arg->value, name, {SOURCE_FLAG, 0, config_keep(c, name)}};

        if (config_set(c, &s, err) < 0)
            return -1;
    }
    return 0;
}

/* The value of an option that must be known before the layers are read, from its flag or the environment; or
 * NULL. */
static const char *named_early(const struct config *c, const struct args *a, size_t offset, const char *env)
{
    const char *named = config_env(c, env);

    for (size_t i = 0; i < a->n; i++)
        if (a->v[i].option->offset == offset)
            named = a->v[i].value;
    return named;
}

/* Find config.yaml: --config, SANDPIPER_CONFIG, or the standard place. A file that was named must exist.
 */
static bool find_file(struct config *c, const struct args *a)
{
    const char *named = named_early(c, a, offsetof(struct config, config_path), "SANDPIPER_CONFIG");
    autofree char *standard = NULL;

    if (!named)
        standard = xdg_path(XDG_CONFIG, "config.yaml");
    if (named || standard)
        c->file = config_keep(c, named ? named : standard);
    return named != NULL;
}

/* The value from config.yaml is in c already. */
static bool wants_dotenv(const struct config *c, const struct args *a)
{
    const char *how = named_early(c, a, offsetof(struct config, dotenv_how), "SANDPIPER_DOTENV");

    return strcmp(how ? how : c->dotenv_how, "ignore") != 0;
}

/* A built-in file that cannot be read is a fault of ours, which any test would find. */
struct providers *config_providers(const struct config *c)
{
    struct providers *p = &((struct config *)c)->providers;
    struct error err;

    if (!p->n && providers_builtin(p, &err) < 0)
        abort();
    return p;
}

const struct profiles *config_builtin_profiles(const struct config *c)
{
    struct profiles *p = &((struct config *)c)->builtin_profiles;
    struct error err;

    if (!p->n && profiles_builtin(p, &err) < 0)
        abort();
    return p;
}

/* Files inside are in memory, so by default they may take half of it: where they fill it, no code runs that
 * could remove one. */
static void leave_room(struct config *c)
{
    if (config_source(c, &c->data_size)->kind == SOURCE_DEFAULT && c->data_size > c->memory / 2)
        c->data_size = c->memory / 2;
}

static int load_layers(struct config *c, const struct args *a, struct error *err)
{
    bool must = find_file(c, a);

    if (c->file && config_load_yaml(c, must, err) < 0)
        return -1;
    if ((wants_dotenv(c, a) && config_load_dotenv(c, err) < 0) || apply_environment(c, err) < 0
        || apply_flags(c, a, err) < 0)
        return -1;
    c->json |= c->json_result;
    leave_room(c);
    config_tell_unread(c);
    return custom_engines_settle(c, err);
}

int config_load(struct config *c, int argc, char *const *argv, char *const *env, struct error *err)
{
    *c = (struct config){.env = env};
    if (args_parse(&c->args, argc, argv, err) < 0)
        return -1;
    if (c->args.version || c->args.help)
        return 0;
    return apply_defaults(c, err) < 0 ? -1 : load_layers(c, &c->args, err);
}

void config_release(struct config *c)
{
    for (size_t i = 0; i < c->pool.n; i++) /* it contains keys */
        explicit_bzero(c->pool.v[i], strlen(c->pool.v[i]));
    argv_release(&c->pool);
    for (size_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];

        if (option_is_list(o))
            argv_release((struct argv *)(void *)((char *)c + o->offset));
    }
    args_release(&c->args);
    argv_release(&c->notices);
    dotenv_release(&c->dotenv);
    providers_release(&c->providers);
    profiles_release(&c->profiles);
    profiles_release(&c->builtin_profiles);
    custom_engines_release(&c->engines);
    own_languages_release(&c->own_languages);
}
