/* custom_engine.c - reads the entries of "engines:", built in and the user's, and checks their names,
 * words and settings. engine_settle.c puts the settings into the commands. /
 */
#include "config/custom_engine.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fill.h"
#include "base/mem.h"
#include "base/value.h"
#include "config/custom_engine_parts.h"
#include "config/embedded.h"
#include "config/option.h"
#include "yaml/fields.h"
#include "yaml/ydoc.h"

#define E(member) offsetof(struct custom_engine, member)
static const struct field fields[] = {
    {"start", F_COMMAND, E(start), NULL, false, 0},
    {"like", F_STRING, E(like), NULL, true, 0},
    {"with", F_OTHER, 0, NULL, true, 0},
    {"about", F_STRING, E(about), NULL, false, 0},
    {"settings", F_OTHER, 0, NULL, false, 0},
    {"must", F_STRINGS, E(must), NULL, false, 0},
    {"env", F_STRINGS, E(env), NULL, false, 0},
    {"queue", F_STRING, E(queue), NULL, false, 0},
    {"open", F_COMMAND, E(open), NULL, false, 0},
    {"state", F_COMMAND, E(state), NULL, false, 0},
    {"close", F_COMMAND, E(close), NULL, false, 0},
    {"before", F_COMMAND, E(before), NULL, false, 0},
    {"after", F_COMMAND, E(after), NULL, false, 0},
    {"gives", F_STRINGS, E(gives), NULL, false, 0},
    {"failures", F_OTHER, 0, NULL, false, 0},
};
static const struct schema schema = {fields, countof(fields)};

static const struct field failure_fields[] = {
    {"says", F_STRING, offsetof(struct engine_meaning, says), NULL, false, 0},
    {"means", F_STRING, offsetof(struct engine_meaning, means), NULL, false, 0},
    {"remedy", F_STRING, offsetof(struct engine_meaning, remedy), NULL, false, 0},
};
static const struct schema failure_schema = {failure_fields, countof(failure_fields)};

#define COMMANDS                                                                            \
    {                                                                                       \
        {"open", E(open)}, {"state", E(state)}, {"close", E(close)}, {"before", E(before)}, \
            {"start", E(start)}, {"after", E(after)},                                       \
    }
static const struct engine_command { /* a member of struct custom_engine */
    const char *name;
    size_t offset;
} engine_commands[ENGINE_COMMANDS] = COMMANDS;

struct argv *engine_command(const struct custom_engine *e, size_t i)
{
    return (struct argv *)(void *)((char *)e + engine_commands[i].offset);
}

struct custom_engine *custom_engine_find(const struct custom_engines *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (!strcmp(all->v[i].name, name))
            return &all->v[i];
    return NULL;
}

/* ---- settings ---- */

struct engine_setting *engine_setting_find(const struct custom_engine *e, const char *name, size_t len)
{
    for (size_t i = 0; i < e->n_settings; i++)
        if (strlen(e->settings[i].name) == len && !memcmp(e->settings[i].name, name, len))
            return &e->settings[i];
    return NULL;
}

const char *custom_engine_setting(const struct custom_engine *e, const char *name)
{
    const struct engine_setting *s = engine_setting_find(e, name, strlen(name));

    return s && s->value.n && *s->value.v[0] ? s->value.v[0] : NULL;
}

/* A value goes into a word of a command: it cannot become an option there, nor a line. A list is for
 * options. */
static int check_value(const struct ydoc *y, const char *name, bool list, struct error *err)
{
    if (y->type != YDOC_TEXT)
        return ydoc_expected(y, list ? "a list of words" : "a word", err);
    for (const char *p = y->text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            return ydoc_error(y, err, "%s: a control character", name);
    if (!list && *y->text == '-')
        return ydoc_error(y, err, "%s: expected a word that does not begin with -, found \"%.60s\"", name,
                          y->text);
    return 0;
}

static int setting_read(struct engine_setting *s, const struct ydoc *y, struct error *err)
{
    argv_release(&s->value);
    if (s->list && y->type == YDOC_TEXT)
        return ydoc_nothing(y) ? 0 : fields_read_command(y, &s->value, err);
    if (!s->list && check_value(y, s->name, false, err) < 0)
        return -1;
    if (!s->list)
        argv_push(&s->value, ydoc_nothing(y) ? "" : y->text);
    for (size_t i = 0; s->list && i < y->n; i++) {
        if (check_value(&y->v[i], s->name, true, err) < 0)
            return -1;
        argv_push(&s->value, y->v[i].text);
    }
    return 0;
}

static int read_settings(struct custom_engine *e, const struct ydoc *map, struct error *err)
{
    if (map->type != YDOC_MAP)
        return ydoc_expected(map, "a map: the names of settings, each with its default", err);
    for (size_t i = 0; i < map->n; i++) {
        const struct ydoc *y = &map->v[i];
        struct engine_setting *s = engine_setting_find(e, y->key, strlen(y->key));

        if (value_choice(y->key, CUSTOM_ENGINE_PLACEHOLDERS) && !value_choice(y->key, "memory"))
            return ydoc_key_error(y, err, "settings: {%.40s} has a meaning of its own", y->key);
        if (!s) {
            e->settings = xreallocarray(e->settings, e->n_settings + 1, sizeof *e->settings);
            s = &e->settings[e->n_settings++];
            *s = (struct engine_setting){.name = xstrdup(y->key), .list = y->type == YDOC_LIST};
        }
        if (setting_read(s, y, err) < 0)
            return -1;
    }
    return 0;
}

static int with_read(struct custom_engine *e, const struct ydoc *map, struct error *err)
{
    if (map->type != YDOC_MAP)
        return ydoc_expected(map, "a map: settings of the engine and their values", err);
    for (size_t i = 0; i < map->n; i++) {
        const struct ydoc *y = &map->v[i];
        struct engine_setting *s = engine_setting_find(e, y->key, strlen(y->key));
        struct buf known autorelease(buf_release) = BUF_INIT(0);

        for (size_t k = 0; k < e->n_settings; k++)
            buf_addf(&known, "%s%s", k ? ", " : "", e->settings[k].name);
        if (!s)
            return ydoc_key_error(y, err, "with: %s has no setting %.40s; there are: %s", e->name, y->key,
                                  known.len ? buf_str(&known) : "none");
        if (setting_read(s, y, err) < 0)
            return -1;
    }
    return 0;
}

static int read_failures(struct custom_engine *e, const struct ydoc *list, struct error *err)
{
    if (list->type != YDOC_LIST)
        return ydoc_expected(list, "a list of {says, means, remedy}", err);
    for (size_t i = 0; i < list->n; i++) {
        e->failures = xreallocarray(e->failures, e->n_failures + 1, sizeof *e->failures);
        struct engine_meaning *f = &e->failures[e->n_failures++];

        *f = (struct engine_meaning){0};
        if (fields_read(&failure_schema, &list->v[i], false, f, err) < 0)
            return -1;
        if (!f->says || !f->remedy)
            return ydoc_error(&list->v[i], err, "failures: each needs says and remedy");
    }
    return 0;
}

/* ---- checks ---- */

static bool name_is_good(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= CUSTOM_ENGINE_NAME_MAX
           && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == len && *name != '-' && *name != '_';
}

/* All that may stand in braces in a command of this engine. The caller frees. */
static char *placeholders_of(const struct custom_engine *e)
{
    struct buf names = BUF_INIT(0);

    buf_addstr(&names, CUSTOM_ENGINE_PLACEHOLDERS);
    for (size_t i = 0; i < e->n_settings; i++)
        buf_addf(&names, "|%s", e->settings[i].name);
    for (size_t i = 0; i < e->gives.n; i++)
        buf_addf(&names, "|%s", e->gives.v[i]);
    return buf_steal(&names, NULL);
}

static int check_command(const struct custom_engine *e, size_t i, const struct ydoc *entry, struct error *err)
{
    const struct argv *words = engine_command(e, i);
    const char *what = engine_commands[i].name, *program = words->n ? words->v[0] : "", *at;
    const struct ydoc *found = ydoc_get(entry, what), *y = found ? found : entry;
    autofree char *names = placeholders_of(e);
    size_t len;

    if (words->n > CUSTOM_ENGINE_WORDS_MAX)
        return ydoc_error(y, err, "%s: at most %d words, found %zu", what, CUSTOM_ENGINE_WORDS_MAX, words->n);
    for (size_t k = 0; k < words->n; k++)
        if ((len = text_unknown(words->v[k], names, &at)) > 0)
            return ydoc_error(y, err, "%s: unknown placeholder {%.*s}; expected one of %s", what,
                              len > 40 ? 40 : (int)len, at, names);
    /* the working directory is not the user's to trust */
    if (words->n && strcmp(program, "{inside}") != 0
        && (!*program || strchr(program, '{') || (strchr(program, '/') && *program != '/')))
        return ydoc_error(y, err, "%s: expected a program in PATH or an absolute path as the first word",
                          what);
    return 0;
}

static bool mentions(const struct argv *words, const char *text)
{
    for (size_t i = 0; i < words->n; i++)
        if (strstr(words->v[i], text))
            return true;
    return false;
}

/* Names of variables; one may end in *, but not be it. */
static int check_env(const struct custom_engine *e, const struct ydoc *entry, struct error *err)
{
    const struct ydoc *y = ydoc_get(entry, "env");

    for (size_t i = 0; y && i < e->env.n; i++) {
        const char *name = e->env.v[i];
        size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

        if (len == 0 || (name[len] && strcmp(name + len, "*") != 0))
            return ydoc_error(y, err,
                              "env: expected the name of a variable, or the beginning of names and *");
    }
    return 0;
}

static int check_engine(struct custom_engine *e, const struct ydoc *entry, struct error *err)
{
    const struct ydoc *start = ydoc_get(entry, "start");

    if (!e->start.n)
        return ydoc_key_error(entry, err, "engines: %s: start is missing", e->name);
    for (size_t i = 0; i < ENGINE_COMMANDS; i++)
        if (check_command(e, i, entry, err) < 0)
            return -1;
    if (!mentions(&e->start, "{python}") && !mentions(&e->start, "{inside}")
        && !mentions(&e->before, "{python}"))
        return ydoc_error(start ? start : entry, err,
                          "start: expected \"{python}\" after the word that starts Python");
    if (mentions(&e->after, "{") && e->after.n && !mentions(&e->after, "{name}"))
        return ydoc_error(entry, err, "after: expected {name}, by which it finds what to remove");
    e->queue_ms = 60000;
    if (e->queue && (!value_time(e->queue, &e->queue_ms) || e->queue_ms < 1000 || e->queue_ms > 604800000))
        return ydoc_error(entry, err, "queue: expected a time from 1s to 168h, found \"%.40s\"", e->queue);
    return check_env(e, entry, err);
}

/* ---- entries ---- */

static void argv_copy(struct argv *to, const struct argv *from)
{
    *to = (struct argv)ARGV_INIT;
    for (size_t i = 0; i < from->n; i++)
        argv_push(to, from->v[i]);
}

/* All that e has not said yet as base has it. */
static void copy_base(struct custom_engine *e, const struct custom_engine *base)
{
    static const size_t lists[] = {E(env), E(gives), E(must)};

    xreplace(&e->about, xstrdup(base->about));
    xreplace(&e->queue, xstrdup(base->queue));
    for (size_t i = 0; i < ENGINE_COMMANDS; i++)
        argv_copy(engine_command(e, i), engine_command(base, i));
    for (size_t i = 0; i < countof(lists); i++)
        argv_copy((struct argv *)(void *)((char *)e + lists[i]),
                  (const struct argv *)(const void *)((const char *)base + lists[i]));
    e->settings = xcalloc(base->n_settings + 1, sizeof *e->settings);
    for (; e->n_settings < base->n_settings; e->n_settings++) {
        const struct engine_setting *s = &base->settings[e->n_settings];

        e->settings[e->n_settings] = (struct engine_setting){.name = xstrdup(s->name), .list = s->list};
        argv_copy(&e->settings[e->n_settings].value, &s->value);
    }
    e->failures = xcalloc(base->n_failures + 1, sizeof *e->failures);
    for (; e->n_failures < base->n_failures; e->n_failures++) {
        const struct engine_meaning *f = &base->failures[e->n_failures];

        e->failures[e->n_failures] = (struct engine_meaning){xstrdup(f->says), xstrdup(f->means),
                                                             xstrdup(f->remedy)};
    }
}

static int read_members(struct custom_engine *e, const struct ydoc *entry, bool builtin, struct error *err)
{
    const struct ydoc *settings = ydoc_get(entry, "settings"), *with = ydoc_get(entry, "with"),
                      *failures = ydoc_get(entry, "failures");

    if (fields_read(&schema, entry, builtin, e, err) < 0 || (settings && read_settings(e, settings, err) < 0)
        || (with && with_read(e, with, err) < 0) || (failures && read_failures(e, failures, err) < 0))
        return -1;
    return check_engine(e, entry, err);
}

/* The engine that an entry of the user's is like: the one that it names, or the built-in one of its own name.
 * NULL without err: none. */
static const struct custom_engine *base_of(const struct custom_engines *builtin, const struct ydoc *entry,
                                           struct error *err)
{
    const struct ydoc *like = ydoc_get(entry, "like");
    const struct custom_engine *base = custom_engine_find(
        builtin, like && like->type == YDOC_TEXT ? like->text : entry->key);
    struct buf known autorelease(buf_release) = BUF_INIT(0);

    for (size_t i = 0; i < builtin->n; i++)
        buf_addf(&known, "%s%s", i ? ", " : "", builtin->v[i].name);
    if (like && !base)
        ydoc_error(like, err, "like: expected one of %s", buf_str(&known));
    return base;
}

static struct custom_engine *add_engine(struct custom_engines *all, const char *name)
{
    all->v = xreallocarray(all->v, all->n + 1, sizeof *all->v);
    all->v[all->n] = (struct custom_engine){.name = xstrdup(name)};
    return &all->v[all->n++];
}

static int read_user_entry(struct custom_engines *all, const struct custom_engines *builtin,
                           const struct ydoc *entry, struct error *err)
{
    struct error none = {0};
    const struct custom_engine *base;

    if (!name_is_good(entry->key))
        return ydoc_key_error(
            entry, err,
            "engines: expected a name of up to %d lower-case letters, digits, - and _, found \"%.60s\"",
            CUSTOM_ENGINE_NAME_MAX, entry->key);
    if (value_choice(entry->key, ENGINE_CHOICES))
        return ydoc_key_error(entry, err, "engines: %s is built in; choose another name", entry->key);
    if (all->n == CUSTOM_ENGINES_MAX)
        return ydoc_key_error(entry, err, "engines: at most %d can be defined", CUSTOM_ENGINES_MAX);
    if (entry->type != YDOC_MAP)
        return ydoc_expected(entry, "a map of fields", err);
    base = base_of(builtin, entry, &none);
    if (none.kind) {
        *err = none;
        return -1;
    }
    struct custom_engine *e = add_engine(all, entry->key);
    e->line = entry->key_line;
    e->written = fields_json(entry);
    if (base)
        copy_base(e, base);
    return read_members(e, entry, false, err);
}

int builtin_engines_read(struct custom_engines *all, struct error *err)
{
    autoydoc struct ydoc *map = ydoc_parse(engines_yaml, EMBED_SIZE(engines_yaml), "engines.yaml", err);

    for (size_t i = 0; map && i < map->n; i++)
        if (read_members(add_engine(all, map->v[i].key), &map->v[i], true, err) < 0)
            return -1;
    return map ? 0 : -1;
}

int custom_engines_read(struct custom_engines *all, const struct ydoc *map, struct error *err)
{
    struct custom_engines builtin autorelease(custom_engines_release) = {0};

    if (map->type != YDOC_MAP)
        return ydoc_expected(map, "a map: the names of engines, each with its start", err);
    if (builtin_engines_read(&builtin, err) < 0)
        return -1;
    for (size_t i = 0; i < map->n; i++)
        if (read_user_entry(all, &builtin, &map->v[i], err) < 0)
            return -1;
    return 0;
}

static void custom_engine_release(struct custom_engine *e)
{
    char *const strings[] = {e->name, e->written, e->about, e->queue, e->like};

    for (size_t i = 0; i < countof(strings); i++)
        free(strings[i]);
    for (size_t i = 0; i < ENGINE_COMMANDS; i++)
        argv_release(engine_command(e, i));
    argv_release(&e->env);
    argv_release(&e->gives);
    argv_release(&e->must);
    for (size_t i = 0; i < e->n_settings; i++) {
        free(e->settings[i].name);
        argv_release(&e->settings[i].value);
    }
    for (size_t i = 0; i < e->n_failures; i++) {
        free(e->failures[i].says);
        free(e->failures[i].means);
        free(e->failures[i].remedy);
    }
    free(e->settings);
    free(e->failures);
    *e = (struct custom_engine){0};
}

void custom_engines_release(struct custom_engines *all)
{
    for (size_t i = 0; i < all->n; i++)
        custom_engine_release(&all->v[i]);
    free(all->v);
    *all = (struct custom_engines){0};
}
