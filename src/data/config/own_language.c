/* own_language.c - reads "languages:" of config.yaml where it is a map. */
#include "config/own_language.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "conversation/language.h"
#include "yaml/fields.h"
#include "yaml/ydoc.h"

#define L(member) offsetof(struct own_language, member)
static const struct field own_fields[] = {
    {"run", F_COMMAND, L(run), NULL, false, 0},
    {"ends", F_STRINGS, L(ends), NULL, false, 0},
    {"about", F_STRING, L(about), NULL, false, 0},
};
static const struct schema own_schema = {own_fields, countof(own_fields)};

static int read_own_language(struct own_language *l, const struct ydoc *y, struct error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t len = strlen(y->key), files = 0;

    l->name = xstrdup(y->key);
    if (len == 0 || len > 30 || strspn(y->key, letters) != len)
        return ydoc_key_error(y, err, "\"%.40s\" is no name of a language (small letters, digits, - and _)",
                              y->key);
    if (language_of_tag(y->key, len))
        return ydoc_key_error(y, err, "there is a language %.40s already", y->key);
    if (fields_read(&own_schema, y, false, l, err) < 0)
        return -1;
    for (size_t i = 0; i < l->run.n; i++)
        files += strstr(l->run.v[i], "{file}") != NULL;
    if (l->run.n < 2 || l->run.n > 64 || files != 1 || strchr(l->run.v[0], '{'))
        return ydoc_error(y, err, "%.40s: run is to be a program and its words, one of them with {file}",
                          y->key);
    for (size_t i = 0; i < l->ends.n; i++)
        if (!*l->ends.v[i] || strlen(l->ends.v[i]) > 10
            || strspn(l->ends.v[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
                   != strlen(l->ends.v[i]))
            return ydoc_error(y, err, "%.40s: ends: \"%.20s\" is no end of a file's name", y->key,
                              l->ends.v[i]);
    return 0;
}

int own_languages_read(struct own_languages *all, const struct ydoc *map, struct error *err)
{
    if (map->n > OWN_LANGUAGES_MAX)
        return ydoc_error(map, err, "languages: at most %d, found %zu", OWN_LANGUAGES_MAX, map->n);
    for (size_t i = 0; i < map->n; i++) {
        all->v = xreallocarray(all->v, all->n + 1, sizeof *all->v);
        all->v[all->n] = (struct own_language){0};
        if (read_own_language(&all->v[all->n++], &map->v[i], err) < 0)
            return -1;
    }
    return 0;
}

void own_languages_release(struct own_languages *all)
{
    for (size_t i = 0; i < all->n; i++) {
        free(all->v[i].name);
        free(all->v[i].about);
        argv_release(&all->v[i].run);
        argv_release(&all->v[i].ends);
    }
    free(all->v);
    *all = (struct own_languages){0};
}
