/* config.c - the layers, one over the other, each value with its source. */
#include "config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "config/value.h"
#include "config/ydoc.h"

void source_text(const struct source *s, char *out, unsigned size)
{
    switch (s->kind) {
    case SOURCE_FILE:
        if (s->line)
            snprintf(out, size, "%.200s:%d", s->name ? s->name : "config.yaml", s->line);
        else
            snprintf(out, size, "%.200s", s->name ? s->name : "config.yaml");
        return;
    case SOURCE_DOTENV:
        snprintf(out, size, ".env:%d %.60s", s->line, s->name);
        return;
    case SOURCE_ENV:
        snprintf(out, size, "environment %.60s", s->name);
        return;
    case SOURCE_FLAG:
        snprintf(out, size, "flag %.60s", s->name);
        return;
    default:
        snprintf(out, size, "default");
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
        if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
            return (*e)[len + 1] ? *e + len + 1 : NULL;
    return NULL;
}

static size_t index_of(const struct option *o)
{
    return (size_t)(o - option_table);
}

const struct source *config_source(const struct config *c, const void *member)
{
    size_t offset = (size_t)((const char *)member - (const char *)c);

    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].offset == offset)
            return &c->source[i];
    return &c->source[OPTION_MAX - 1];      /* always the default */
}

/* A numeric option's text as one double, for the range check; sizes and times stay far below 2^53. */
static bool read_numeric(const struct option *o, const char *text, double *v)
{
    int64_t n;

    if (o->type == OPTION_NUMBER)
        return value_number(text, v);
    if (o->type == OPTION_SIZE ? !value_size(text, &n) : o->type == OPTION_TIME ? !value_time(text, &n) : !value_int(text, &n))
        return false;
    *v = (double)n;
    return true;
}

static const char *expectation(const struct option *o)
{
    switch (o->type) {
    case OPTION_SIZE:
        return "a size such as 512m or 1g";
    case OPTION_TIME:
        return "a time such as 90, 90s or 2m";
    case OPTION_INT:
        return "a whole number";
    case OPTION_NUMBER:
        return "a number";
    case OPTION_BOOL:
    case OPTION_NOT:
        return "true or false";
    default:
        return "a string";
    }
}

static int wrong(const struct option *o, const char *text, const char *where, struct error *err)
{
    autofree char *shown = scrub_line(text, SCRUB_TERMINAL);
    autofree char *range = NULL;

    if (o->type == OPTION_CHOICE)
        return error_set(err, ERROR_USAGE, 0, "%s: expected one of %s, found \"%.60s\"", where, o->choices, shown);
    range = o->min || o->max ? xasprintf(" from %s to %s", o->min, o->max) : xstrdup("");
    return error_set(err, ERROR_USAGE, 0, "%s: expected %s%s, found \"%.60s\"", where, expectation(o), range, shown);
}

static int set_numeric(const struct option *o, const char *text, void *at, const char *where, struct error *err)
{
    double v, bound;

    if (!read_numeric(o, text, &v) || (o->min && read_numeric(o, o->min, &bound) && v < bound) ||
        (o->max && read_numeric(o, o->max, &bound) && v > bound))
        return wrong(o, text, where, err);
    if (o->type == OPTION_INT)
        *(int *)at = (int)v;
    else if (o->type == OPTION_NUMBER)
        *(double *)at = v;
    else
        *(int64_t *)at = (int64_t)v;
    return 0;
}

int config_set(struct config *c, const struct option *o, const char *text, const struct source *from, const char *where, struct error *err)
{
    void *at = (char *)c + o->offset;
    bool on = true;

    switch (o->type) {
    case OPTION_BOOL:
    case OPTION_NOT:
        if (text && !value_bool(text, &on))
            return wrong(o, text, where, err);
        *(bool *)at = text || o->type == OPTION_BOOL ? on : false;     /* the flag --no-stream has no text */
        break;
    case OPTION_CHOICE:
        if (!value_choice(text, o->choices))
            return wrong(o, text, where, err);
        *(const char **)at = config_keep(c, text);
        break;
    case OPTION_LIST:
    case OPTION_WORDS:
        argv_push(at, text);
        break;
    case OPTION_STRING:
    case OPTION_SECRET:
        if (!*text && o->letter != 's' && o->letter != 'p')
            return error_set(err, ERROR_USAGE, 0, "%s: expected a string, found nothing", where);
        *(const char **)at = config_keep(c, text);
        break;
    default:
        if (set_numeric(o, text, at, where, err) < 0)
            return -1;
    }
    c->source[index_of(o)] = *from;
    struct chosen *chosen = at == (void *)&c->provider   ? &c->choice[from->kind].provider
                            : at == (void *)&c->base_url ? &c->choice[from->kind].base_url
                            : at == (void *)&c->model    ? &c->choice[from->kind].model
                            : at == (void *)&c->api_key  ? &c->choice[from->kind].api_key
                                                         : NULL;
    if (chosen)
        *chosen = (struct chosen){*(const char **)at, *from};
    return 0;
}

static int apply_defaults(struct config *c, struct error *err)
{
    static const struct source from = {SOURCE_DEFAULT, 0, NULL};

    c->temperature = -1;
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].def && config_set(c, &option_table[i], option_table[i].def, &from, "default", err) < 0)
            return -1;
    return 0;
}

/* ---- config.yaml */

static int yaml_option(struct config *c, const struct option *o, const struct ydoc *y, const char *name, struct error *err)
{
    autofree char *where = xasprintf("%s:%d: %s", name, y->line, o->key);
    struct source from = {SOURCE_FILE, y->key_line, name};
    bool text = y->type == YDOC_TEXT && !ydoc_nothing(y);

    if (o->type == OPTION_WORDS) {
        if (provider_read_command(y, name, (struct argv *)(void *)((char *)c + o->offset), err) < 0)
            return -1;
        c->source[index_of(o)] = from;
        return 0;
    }
    if (!text)
        return error_set(err, ERROR_USAGE, 0, "%s: expected %s, found %s", where, o->type == OPTION_CHOICE ? o->choices : expectation(o), ydoc_kind(y));
    if ((o->type == OPTION_BOOL || o->type == OPTION_NOT) && (y->quoted || (strcmp(y->text, "true") != 0 && strcmp(y->text, "false") != 0)))
        return wrong(o, y->text, where, err);
    if (y->quoted && (o->type == OPTION_INT || o->type == OPTION_NUMBER))
        return error_set(err, ERROR_USAGE, 0, "%s: expected %s, found a string in quotes", where, expectation(o));
    return config_set(c, o, y->text, &from, where, err);
}

int config_apply_yaml(struct config *c, const char *text, size_t len, const char *name, struct error *err)
{
    struct ydoc *root;
    int status = 0;

    name = config_keep(c, name);
    if (ydoc_parse(text, len, name, &root, err) < 0)
        return -1;
    if (root && ydoc_nothing(root))
        status = 0;
    else if (root && root->type != YDOC_MAP)
        status = error_set(err, ERROR_USAGE, 0, "%s:%d: expected a map of options (key: value), found %s", name, root->line, ydoc_kind(root));
    for (size_t i = 0; status == 0 && root && root->type == YDOC_MAP && i < root->n; i++) {
        const struct ydoc *y = &root->v[i];
        const struct option *o = option_by_key(y->key);
        const char *near;

        if (strcmp(y->key, "providers") == 0)
            status = providers_read(&c->providers, y, name, false, err);
        else if (strcmp(y->key, "models") == 0)
            status = profiles_read(&c->profiles, y, name, err);
        else if (o)
            status = yaml_option(c, o, y, name, err);
        else if ((near = nearest_key(y->key)) != NULL)
            status = error_set(err, ERROR_USAGE, 0, "%s:%d: unknown key %.60s; did you mean %s?", name, y->key_line, y->key, near);
        else
            status = error_set(err, ERROR_USAGE, 0, "%s:%d: unknown key %.60s; expected an option (sandpiper(1)), providers or models", name,
                               y->key_line, y->key);
    }
    ydoc_free(root);
    return status;
}

static bool holds_key(const struct config *c)
{
    if (c->choice[SOURCE_FILE].api_key.value)
        return true;
    for (size_t i = 0; i < c->providers.n; i++)
        if (c->providers.v[i].api_key)
            return true;
    return false;
}

/* S06: another owner's file could send everything we say elsewhere; one that others can read gives the key away. */
static int load_file(struct config *c, bool must, struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(YDOC_MAX + 1);
    autoclose int fd = open(c->file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    ssize_t n;

    if (fd < 0) {
        if (!must && (errno == ENOENT || errno == ENOTDIR))
            return 0;
        return error_set(err, ERROR_USAGE, errno, "%s: %s", c->file, strerror(errno));
    }
    if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))
        return error_set(err, ERROR_USAGE, 0, "%s: this is no file", c->file);
    if (S_ISREG(st.st_mode) && st.st_uid != geteuid() && st.st_uid != 0)
        return error_set(err, ERROR_USAGE, 0, "%s: the file belongs to another user (uid %u) and is not read", c->file, (unsigned)st.st_uid);
    while (text.len <= YDOC_MAX) {
        char piece[8192];
        n = read(fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set(err, ERROR_USAGE, errno, "%s: %s", c->file, strerror(errno));
        if (n == 0)
            break;
        buf_add(&text, piece, (size_t)n);
    }
    if (text.len > YDOC_MAX)
        return error_set(err, ERROR_USAGE, 0, "%s: the file has %lld bytes, at most %zu are read", c->file,
                         (long long)(st.st_size > (off_t)text.len ? st.st_size : (off_t)text.len), YDOC_MAX);
    c->file_read = true;
    if (config_apply_yaml(c, buf_str(&text), text.len, c->file, err) < 0)
        return -1;
    if (S_ISREG(st.st_mode) && (st.st_mode & 077) && holds_key(c))
        argv_pushf(&c->notices, "%s holds a key and can be read by others: chmod 600 %s", c->file, c->file);
    return 0;
}

/* ---- .env */

/* A variable that a provider's entry names: its key, its URL, or a part of its URL. */
static bool providers_variable(const struct config *c, const char *name)
{
    autofree char *braced = xasprintf("{%s}", name);

    for (size_t i = 0; i < c->providers.n; i++) {
        const struct provider *p = &c->providers.v[i];
        for (char *const *k = p->key_variable; *k; k++)
            if (strcmp(*k, name) == 0)
                return true;
        if ((p->url_variable && strcmp(p->url_variable, name) == 0) || (p->host_variable && strcmp(p->host_variable, name) == 0) ||
            strstr(p->base_url, braced))
            return true;
    }
    return false;
}

/* What would change how we reach the endpoint or trust it: never from a folder. */
static bool dangerous(const char *name)
{
    static const char *const names[] = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
                                        "REQUESTS_CA_BUNDLE", "SSLKEYLOGFILE", "CURL_HOME", "LD_PRELOAD", "LD_LIBRARY_PATH"};

    for (size_t i = 0; i < countof(names); i++)
        if (strcasecmp(names[i], name) == 0)
            return true;
    return strncmp(name, "SANDPIPER_", 10) == 0;
}

int config_apply_dotenv(struct config *c, const char *text, size_t len, struct error *err)
{
    if (dotenv_parse(&c->dotenv, text, len, err) < 0)
        return -1;
    if (c->dotenv.bad == 1)
        argv_pushf(&c->notices, ".env:%d: this line is not NAME=value; it is skipped", c->dotenv.bad_line);
    else if (c->dotenv.bad)
        argv_pushf(&c->notices, ".env:%d: this line and %zu more are not NAME=value; they are skipped", c->dotenv.bad_line, c->dotenv.bad - 1);
    for (size_t i = 0; i < c->dotenv.n; i++) {
        struct dotenv_entry *e = &c->dotenv.v[i];
        const struct option *o = option_by_env(e->name);

        if (o && o->dotenv) {
            struct source from = {SOURCE_DOTENV, e->line, e->name};
            autofree char *where = xasprintf(".env:%d: %s", e->line, e->name);
            if (*e->value && config_set(c, o, e->value, &from, where, err) < 0)
                return -1;
        } else if (!providers_variable(c, e->name)) {
            if (dangerous(e->name))
                argv_pushf(&c->notices, ".env:%d: %.60s is ignored: a folder's .env may name provider, model, key and base URL only", e->line, e->name);
            explicit_bzero(e->value, strlen(e->value));     /* not ours to keep */
        }
    }
    return 0;
}

static int load_dotenv(struct config *c, struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(DOTENV_MAX + 1);
    struct stat link, st;
    ssize_t n = 0;

    if (lstat(".env", &link) < 0)
        return 0;
    if (link.st_uid != geteuid())
        return error_set(err, ERROR_USAGE, 0, ".env: the file belongs to another user (uid %u) and is not read\nMove it away, or start from another folder.",
                         (unsigned)link.st_uid);
    autoclose int fd = open(".env", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0) {
        if (errno != ENOENT)
            argv_pushf(&c->notices, ".env cannot be read: %s", strerror(errno));
        return 0;
    }
    if (S_ISDIR(st.st_mode))        /* a virtual environment */
        return 0;
    if (!S_ISREG(st.st_mode)) {
        argv_push(&c->notices, ".env is no regular file; it is not read");
        return 0;
    }
    if (st.st_uid != geteuid())
        return error_set(err, ERROR_USAGE, 0, ".env: it points to a file of another user (uid %u) and is not read\nMove it away, or start from another folder.",
                         (unsigned)st.st_uid);
    if (st.st_size > (off_t)DOTENV_MAX)
        return error_set(err, ERROR_USAGE, 0, ".env: the file has %lld bytes, at most %zu are read", (long long)st.st_size, DOTENV_MAX);
    for (char *at; (at = buf_space(&text, DOTENV_MAX + 1 - text.len)) != NULL && (n = read(fd, at, DOTENV_MAX + 1 - text.len)) > 0; buf_end(&text))
        text.len += (size_t)n;
    return config_apply_dotenv(c, buf_str(&text), text.len, err);
}

/* ---- environment, flags, all of them */

static int apply_environment(struct config *c, struct error *err)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];
        const char *value = o->env ? config_env(c, o->env) : NULL;
        struct source from = {SOURCE_ENV, 0, o->env};

        if (value && config_set(c, o, value, &from, o->env, err) < 0)
            return -1;
    }
    return 0;
}

static int apply_flags(struct config *c, const struct args *a, struct error *err)
{
    for (size_t i = 0; i < a->n; i++) {
        const struct arg *arg = &a->v[i];
        char name[64];
        struct source from = {SOURCE_FLAG, 0, NULL};

        if (arg->letter)
            snprintf(name, sizeof name, "-%c", arg->option->letter);
        else
            snprintf(name, sizeof name, "--%s", arg->option->flag);
        from.name = config_keep(c, name);
        if (config_set(c, arg->option, arg->value, &from, name, err) < 0)
            return -1;
    }
    return 0;
}

/* Which config.yaml: --config, SANDPIPER_CONFIG, or the standard place. Those that were named must be there. */
static bool find_file(struct config *c, const struct args *a)
{
    const char *named = config_env(c, "SANDPIPER_CONFIG");
    autofree char *standard = NULL;

    for (size_t i = 0; i < a->n; i++)
        if (a->v[i].option->offset == offsetof(struct config, config_path))
            named = a->v[i].value;
    if (!named)
        standard = xdg_path(XDG_CONFIG, "config.yaml");
    if (named || standard)
        c->file = config_keep(c, named ? named : standard);
    return named != NULL;
}

static int load_layers(struct config *c, const struct args *a, struct error *err)
{
    bool must = find_file(c, a);

    if (providers_builtin(&c->providers, err) < 0)
        return -1;
    if (c->file && load_file(c, must, err) < 0)
        return -1;
    if (profiles_builtin(&c->profiles, err) < 0)       /* behind the user's: the first match counts */
        return -1;
    if (load_dotenv(c, err) < 0 || apply_environment(c, err) < 0 || apply_flags(c, a, err) < 0)
        return -1;
    return 0;
}

int config_load(struct config *c, int argc, char *const *argv, char *const *env, struct error *err)
{
    struct args a;
    int status = -1;

    *c = (struct config){.env = env};
    if (args_parse(&a, argc, argv, err) == 0) {
        c->command = a.command;
        c->operand = a.operand;
        c->operand_is_stdin = a.operand_is_stdin;
        c->version = a.version;
        c->help = a.help;
        status = 0;
        if (!a.version && !a.help && (status = apply_defaults(c, err)) == 0)
            status = load_layers(c, &a, err);
    }
    args_release(&a);
    return status;
}

void config_release(struct config *c)
{
    for (size_t i = 0; i < c->pool.n; i++)          /* keys among them */
        explicit_bzero(c->pool.v[i], strlen(c->pool.v[i]));
    argv_release(&c->pool);
    argv_release(&c->add);
    argv_release(&c->api_key_command);
    argv_release(&c->notices);
    dotenv_release(&c->dotenv);
    providers_release(&c->providers);
    profiles_release(&c->profiles);
}
