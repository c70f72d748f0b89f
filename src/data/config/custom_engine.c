/* custom_engine.c - reads the entries of "engines:" and checks their names and words. */
#include "config/custom_engine.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fill.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "config/config.h"
#include "yaml/fields.h"
#include "base/value.h"
#include "yaml/ydoc.h"

static const struct field fields[] = {
    {"start", F_COMMAND, offsetof(struct custom_engine, start), NULL, true, 0},
};
static const struct schema schema = {fields, countof(fields)};

static const struct custom_engine *custom_engine_find(const struct custom_engines *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (!strcmp(all->v[i].name, name))
            return &all->v[i];
    return NULL;
}

static bool name_is_good(const char *name)
{
    size_t len = strlen(name);

    return len > 0 && len <= CUSTOM_ENGINE_NAME_MAX
           && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == len && *name != '-' && *name != '_';
}

static int check_words(const struct custom_engine *e, const struct ydoc *start, struct error *err)
{
    bool python = false;
    const char *program = e->start.v[0], *at;
    size_t len;

    if (e->start.n > CUSTOM_ENGINE_WORDS_MAX)
        return ydoc_error(start, err, "start: at most %d words, found %zu", CUSTOM_ENGINE_WORDS_MAX,
                          e->start.n);
    for (size_t i = 0; i < e->start.n; i++) {
        const char *word = e->start.v[i];

        if ((len = text_unknown(word, CUSTOM_ENGINE_PLACEHOLDERS, &at)) > 0)
            return ydoc_error(start, err, "start: unknown placeholder {%.*s}; expected one of %s",
                              len > 40 ? 40 : (int)len, at, CUSTOM_ENGINE_PLACEHOLDERS);
        python |= strstr(word, "{python}") != NULL;
    }
    /* the working directory is not the user's to trust */
    if (!*program || strchr(program, '{') || (strchr(program, '/') && *program != '/'))
        return ydoc_error(start, err,
                          "start: expected a program in PATH or an absolute path as the first word");
    if (!python)
        return ydoc_error(start, err, "start: expected \"{python}\" after the word that starts Python");
    return 0;
}

static int read_one(struct custom_engines *all, const struct ydoc *entry, struct error *err)
{
    const struct ydoc *start = ydoc_get(entry, "start");

    if (!name_is_good(entry->key))
        return ydoc_key_error(
            entry, err,
            "engines: expected a name of up to %d lower-case letters, digits, - and _, found \"%.60s\"",
            CUSTOM_ENGINE_NAME_MAX, entry->key);
    if (value_choice(entry->key, ENGINE_CHOICES))
        return ydoc_key_error(entry, err, "engines: %s is built in; choose another name", entry->key);
    if (all->n == CUSTOM_ENGINES_MAX)
        return ydoc_key_error(entry, err, "engines: at most %d can be defined", CUSTOM_ENGINES_MAX);
    all->v = xreallocarray(all->v, all->n + 1, sizeof *all->v);
    struct custom_engine *e = &all->v[all->n++];
    *e = (struct custom_engine){.name = xstrdup(entry->key), .line = entry->key_line};
    if (fields_read(&schema, entry, false, e, err) < 0)
        return -1;
    return start ? check_words(e, start, err)
                 : ydoc_key_error(entry, err, "engines: %s: start is missing", entry->key);
}

int custom_engines_read(struct custom_engines *all, const struct ydoc *map, struct error *err)
{
    if (map->type != YDOC_MAP)
        return ydoc_expected(map, "a map: the names of engines, each with its start", err);
    for (size_t i = 0; i < map->n; i++)
        if (read_one(all, &map->v[i], err) < 0)
            return -1;
    return 0;
}

void custom_engines_release(struct custom_engines *all)
{
    for (size_t i = 0; i < all->n; i++) {
        free(all->v[i].name);
        argv_release(&all->v[i].start);
    }
    free(all->v);
    *all = (struct custom_engines){0};
}

int custom_engine_check_choice(const struct config *c, struct error *err)
{
    struct buf known autorelease(buf_release) = BUF_INIT(0);
    const struct source *from = config_source(c, &c->sandbox);
    char where[300];

    if (value_choice(c->sandbox, ENGINE_CHOICES) || custom_engine_find(&c->engines, c->sandbox))
        return 0;
    for (size_t i = 0; i < c->engines.n; i++)
        buf_addf(&known, "|%s", c->engines.v[i].name);
    if (from->kind == SOURCE_FILE)
        snprintf(where, sizeof where, "%.200s:%d: sandbox", from->name, from->line);
    else
        snprintf(where, sizeof where, "%.200s", from->name);
    autofree char *shown = scrub_line(c->sandbox, SCRUB_TERMINAL);
    return error_set(err, ERROR_USAGE, 0, "%s: expected one of %s%s, found \"%.60s\"", where, ENGINE_CHOICES,
                     buf_str(&known), shown);
}
