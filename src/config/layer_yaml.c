/* layer_yaml.c - config.yaml into struct config: options, providers, models. Everything unknown or of a wrong
 * type is an error with its line. */
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
#include "config/ydoc.h"

static int yaml_option(struct config *c, const struct option *o, const struct ydoc *y, const char *name,
                       struct error *err)
{
    autofree char *where = xasprintf("%s:%d: %s", name, y->line, o->key);
    struct source from = {SOURCE_FILE, y->key_line, name};
    bool text = y->type == YDOC_TEXT && !ydoc_nothing(y);

    if (o->type == OPTION_WORDS) {
        if (fields_read_command(y, name, (struct argv *)(void *)((char *)c + o->offset), err) < 0)
            return -1;
        c->source[(size_t)(o - option_table)] = from;
        return 0;
    }
    if (!text)
        return error_set(err, ERROR_USAGE, 0, "%s: expected %s, found %s", where,
                         o->type == OPTION_CHOICE ? o->choices : config_expectation(o), ydoc_kind(y));
    if ((o->type == OPTION_BOOL || o->type == OPTION_NOT)
        && (y->quoted || (strcmp(y->text, "true") != 0 && strcmp(y->text, "false") != 0)))
        return config_wrong(o, y->text, where, err);
    if (y->quoted && (o->type == OPTION_INT || o->type == OPTION_NUMBER))
        return error_set(err, ERROR_USAGE, 0, "%s: expected %s, found a string in quotes", where,
                         config_expectation(o));
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
        status = error_set(err, ERROR_USAGE, 0, "%s:%d: expected a map of options (key: value), found %s",
                           name, root->line, ydoc_kind(root));
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
            status = error_set(err, ERROR_USAGE, 0, "%s:%d: unknown key %.60s; did you mean %s?", name,
                               y->key_line, y->key, near);
        else
            status = error_set(
                err, ERROR_USAGE, 0,
                "%s:%d: unknown key %.60s; expected an option (sandpiper(1)), providers or models", name,
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

/* S06: another owner's file could send everything we say elsewhere; one that others can read gives the key
 * away. */
int config_load_yaml(struct config *c, bool must, struct error *err)
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
        return error_set(err, ERROR_USAGE, 0, "%s: not a regular file", c->file);
    if (S_ISREG(st.st_mode) && st.st_uid != geteuid() && st.st_uid != 0)
        return error_set(err, ERROR_USAGE, 0, "%s belongs to another user (uid %u) and was not read", c->file,
                         (unsigned)st.st_uid);
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
        return error_set(err, ERROR_USAGE, 0, "%s is too large: %lld bytes, the limit is %zu", c->file,
                         (long long)(st.st_size > (off_t)text.len ? st.st_size : (off_t)text.len), YDOC_MAX);
    c->file_read = true;
    if (config_apply_yaml(c, buf_str(&text), text.len, c->file, err) < 0)
        return -1;
    if (S_ISREG(st.st_mode) && (st.st_mode & 077) && holds_key(c))
        argv_pushf(&c->notices, "%s contains a key and is readable by others: chmod 600 %s", c->file,
                   c->file);
    return 0;
}
