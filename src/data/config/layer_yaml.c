/* layer_yaml.c - reads config.yaml into struct config: options, providers, models. Anything unknown or of a
 * wrong type is an error with its line. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "config/config.h"
#include "config/layers.h"
#include "base/value.h"
#include "yaml/ydoc.h"

/* The elements of a list, each as if it stood alone. */
static int yaml_list(struct config *c, const struct option *o, const struct ydoc *y, struct error *err)
{
    for (size_t i = 0; i < y->n; i++) {
        autofree char *where = xasprintf("%s:%d: %s", y->file, y->v[i].line, o->key);
        const struct setting s = {o, y->v[i].text, where, {SOURCE_FILE, y->key_line, y->file}};

        if (y->v[i].type != YDOC_TEXT)
            return error_set(err, ERROR_USAGE, 0, "%s: expected %s, found %s", where,
                             o->type == OPTION_PATHS ? "a path" : "a string", ydoc_kind(&y->v[i]));
        if (config_set(c, &s, err) < 0)
            return -1;
    }
    return 0;
}

static int yaml_option(struct config *c, const struct option *o, const struct ydoc *y, struct error *err)
{
    autofree char *where = xasprintf("%s:%d: %s", y->file, y->line, o->key);
    const struct setting s = {o, y->text, where, {SOURCE_FILE, y->key_line, y->file}};
    bool text = y->type == YDOC_TEXT && !ydoc_nothing(y);

    if ((o->type == OPTION_PATHS || o->type == OPTION_LIST) && y->type == YDOC_LIST)
        return yaml_list(c, o, y, err);
    if (o->type == OPTION_WORDS) {
        if (fields_read_command(y, (struct argv *)(void *)((char *)c + o->offset), err) < 0)
            return -1;
        c->source[(size_t)(o - option_table)] = s.from;
        return 0;
    }
    if (!text)
        return error_set(err, ERROR_USAGE, 0, "%s: expected %s, found %s", where,
                         o->type == OPTION_CHOICE ? o->choices : config_expectation(o), ydoc_kind(y));
    if ((o->type == OPTION_BOOL || o->type == OPTION_NOT)
        && (y->quoted || !value_choice(y->text, "true|false|on|off")))
        return config_wrong(&s, err);
    if (y->quoted && (o->type == OPTION_INT || o->type == OPTION_NUMBER))
        return error_set(err, ERROR_USAGE, 0, "%s: expected %s, found a string in quotes", where,
                         config_expectation(o));
    return config_set(c, &s, err);
}

/* The members of a section: "artifacts: {upload: URL}" is the option artifacts.upload. */
static int yaml_section(struct config *c, const struct ydoc *map, struct error *err)
{
    for (size_t i = 0; i < map->n; i++) {
        autofree char *key = xasprintf("%s.%s", map->key, map->v[i].key);
        const struct option *o = option_by_key(key);

        if (!o)
            return ydoc_key_error(&map->v[i], err, "unknown key %.60s", key);
        if (yaml_option(c, o, &map->v[i], err) < 0)
            return -1;
    }
    return 0;
}

static bool is_option_section(const char *key)
{
    size_t len = strlen(key);

    for (size_t i = 0; i < option_count; i++) {
        const char *name = option_table[i].key;

        if (name && !strncmp(name, key, len) && name[len] == '.')
            return true;
    }
    return false;
}

static int yaml_member(struct config *c, const struct ydoc *y, struct error *err)
{
    const struct option *o = option_by_key(y->key);

    if (y->type == YDOC_MAP && is_option_section(y->key))
        return yaml_section(c, y, err);
    if (!strcmp(y->key, "providers"))
        return providers_read(config_providers(c), y, false, err);
    if (!strcmp(y->key, "models"))
        return profiles_read(&c->profiles, y, err);
    if (!strcmp(y->key, "engines"))
        return custom_engines_read(&c->engines, y, err);
    if (!strcmp(y->key, "languages") && y->type == YDOC_MAP)
        return own_languages_read(&c->own_languages, y, err);
    if (o)
        return yaml_option(c, o, y, err);
    const char *near = nearest_key(y->key);
    if (near)
        return ydoc_key_error(y, err, "unknown key %.60s; did you mean %s?", y->key, near);
    return ydoc_key_error(
        y, err, "unknown key %.60s; expected an option, providers, models or engines (sandpiper-config(5))",
        y->key);
}

int config_apply_yaml(struct config *c, struct ydoc *root, struct error *err)
{
    autoydoc struct ydoc *owned = root;

    if (!owned)
        return -1;
    if (root->type != YDOC_MAP && !ydoc_nothing(root))
        return ydoc_error(root, err, "expected a map of options (key: value), found %s", ydoc_kind(root));
    for (size_t i = 0; i < root->n; i++)
        if (yaml_member(c, &root->v[i], err) < 0)
            return -1;
    return 0;
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

/* A file that another user owns could redirect everything we send; a file that others can read exposes the
 * key. */
int config_load_yaml(struct config *c, bool must, struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);
    autoclose int fd = open(c->file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd < 0) {
        if (!must && (errno == ENOENT || errno == ENOTDIR))
            return 0;
        return error_set(err, ERROR_USAGE, errno, "%s: %s", c->file, strerror(errno));
    }
    if (fstat(fd, &st) < 0 || S_ISDIR(st.st_mode))
        return error_set(err, ERROR_USAGE, 0, "%s: not a regular file", c->file);
    if (S_ISREG(st.st_mode) && st.st_uid != geteuid() && st.st_uid != 0)
        return error_set(err, ERROR_USAGE, 0, "%s belongs to another user (uid %u) and was not read", c->file,
                         (unsigned)st.st_uid);
    fd_nonblock(fd, false); /* opening must not wait for a writer, but reading from a pipe may */
    if (file_read_open(fd, c->file, YDOC_MAX, &text, err) < 0)
        return -1;
    c->file_read = true;
    if (config_apply_yaml(c, ydoc_parse(buf_str(&text), text.len, c->file, err), err) < 0)
        return -1;
    if (S_ISREG(st.st_mode) && (st.st_mode & 077) && holds_key(c))
        argv_pushf(&c->notices, "%s contains a key and is readable by others: chmod 600 %s", c->file,
                   c->file);
    return 0;
}
