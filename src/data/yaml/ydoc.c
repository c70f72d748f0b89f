/* ydoc.c - builds a tree from libyaml's events. libyaml's own documents are not used: they resolve aliases
 * silently. */
#include "yaml/ydoc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"

#define DEPTH_MAX 16

struct yaml_reader {
    yaml_parser_t parser;
    const char *file;
    struct error *err;
};

static int line_of(const yaml_event_t *e)
{
    return (int)e->start_mark.line + 1;
}

/* What is not closed is noticed far behind it, so its line is told as well. */
static int next(struct yaml_reader *r, yaml_event_t *e)
{
    const yaml_parser_t *p = &r->parser;

    if (yaml_parser_parse(&r->parser, e))
        return 0;
    const yaml_mark_t *m = p->problem_mark.line || p->problem_mark.column ? &p->problem_mark
                                                                          : &p->context_mark;
    const char *problem = p->problem ? p->problem : "unreadable", *at = (const char *)p->buffer.pointer;
    autofree char *from = p->context && p->context_mark.line != m->line
                              ? xasprintf(", %s from line %zu", p->context, p->context_mark.line + 1)
                              : NULL;
    bool tab = at && *at == '\t' && strstr(problem, "cannot start any token");
    return error_set(r->err, ERROR_USAGE, 0, "%s:%zu: invalid YAML: %s%s%s", r->file, m->line + 1, problem,
                     tab ? ": a tab (indent with spaces)" : "", from ? from : "");
}

static void release_node(struct ydoc *y)
{
    for (size_t i = 0; i < y->n; i++)
        release_node(&y->v[i]);
    free(y->v);
    free(y->key);
    free(y->text);
}

void ydoc_free(struct ydoc *root)
{
    if (root)
        release_node(root);
    free(root);
}

static struct ydoc *grow(struct ydoc *y)
{
    if ((y->n & (y->n - 1)) == 0)
        y->v = xreallocarray(y->v, y->n ? y->n * 2 : 1, sizeof(*y->v));
    y->v[y->n] = (struct ydoc){.file = y->file};
    return &y->v[y->n++];
}

static int read_scalar(struct yaml_reader *r, const yaml_event_t *e, char **out)
{
    const char *s = (const char *)e->data.scalar.value;
    size_t len = e->data.scalar.length;

    if (memchr(s, 0, len) || !utf8_valid(s, len))
        return error_set(r->err, ERROR_USAGE, 0, "%s:%d: a value contains a NUL or invalid UTF-8", r->file,
                         line_of(e));
    xreplace(out, xmemdup0(s, len));
    return 0;
}

static int refuse_alias(const struct yaml_reader *r, const yaml_event_t *e)
{
    return error_set(r->err, ERROR_USAGE, 0, "%s:%d: aliases (*%s) are not supported", r->file, line_of(e),
                     e->data.alias.anchor);
}

static int read_value(struct yaml_reader *r, const yaml_event_t *e, struct ydoc *y, int depth);

static int read_key(struct yaml_reader *r, const yaml_event_t *e, struct ydoc *map, struct ydoc **member)
{
    autofree char *key = NULL;

    if (e->type == YAML_ALIAS_EVENT)
        return refuse_alias(r, e);
    if (e->type != YAML_SCALAR_EVENT)
        return error_set(r->err, ERROR_USAGE, 0, "%s:%d: a key must be a word", r->file, line_of(e));
    if (read_scalar(r, e, &key) < 0)
        return -1;
    if (!*key)
        return error_set(r->err, ERROR_USAGE, 0, "%s:%d: a key is empty", r->file, line_of(e));
    const struct ydoc *twin = ydoc_get(map, key);
    if (twin)
        return error_set(r->err, ERROR_USAGE, 0, "%s:%d: %.60s: duplicate key, first on line %d", r->file,
                         line_of(e), key, twin->key_line);
    *member = grow(map);
    (*member)->key = steal(&key);
    (*member)->key_line = line_of(e);
    return 0;
}

static int read_member(struct yaml_reader *r, const yaml_event_t *key, struct ydoc *map, int depth)
{
    yaml_event_t value autorelease(yaml_event_delete) = {0};
    struct ydoc *member = NULL;

    if (read_key(r, key, map, &member) < 0 || next(r, &value) < 0)
        return -1;
    return read_value(r, &value, member, depth + 1);
}

/* Read the members of a map or the elements of a list, up to the closing event. */
static int read_items(struct yaml_reader *r, struct ydoc *y, yaml_event_type_t end, int depth)
{
    for (;;) {
        yaml_event_t e autorelease(yaml_event_delete) = {0};

        if (next(r, &e) < 0)
            return -1;
        if (e.type == end)
            return 0;
        if (y->type == YDOC_MAP ? read_member(r, &e, y, depth) < 0
                                : read_value(r, &e, grow(y), depth + 1) < 0)
            return -1;
    }
}

static int read_value(struct yaml_reader *r, const yaml_event_t *e, struct ydoc *y, int depth)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;

    y->line = line_of(e);
    if (depth > DEPTH_MAX)
        return error_set(r->err, ERROR_USAGE, 0, "%s:%d: nested more than %d deep", r->file, y->line,
                         DEPTH_MAX);
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        anchor = e->data.scalar.anchor;
        tag = e->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = e->data.sequence_start.anchor;
        tag = e->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = e->data.mapping_start.anchor;
        tag = e->data.mapping_start.tag;
        break;
    case YAML_ALIAS_EVENT:
        return refuse_alias(r, e);
    default:
        return error_set(r->err, ERROR_USAGE, 0, "%s:%d: expected a value here", r->file, y->line);
    }
    if (anchor || tag)
        return error_set(r->err, ERROR_USAGE, 0, "%s:%d: %s (%s) are not supported", r->file, y->line,
                         anchor ? "anchors" : "tags", anchor ? anchor : tag);
    if (e->type == YAML_SCALAR_EVENT) {
        y->type = YDOC_TEXT;
        y->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        return read_scalar(r, e, &y->text);
    }
    free(steal(&y->text));
    y->type = e->type == YAML_MAPPING_START_EVENT ? YDOC_MAP : YDOC_LIST;
    return read_items(r, y, y->type == YDOC_MAP ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT, depth);
}

static int read_stream(struct yaml_reader *r, struct ydoc *root)
{
    bool any = false;

    for (;;) {
        yaml_event_t e autorelease(yaml_event_delete) = {0};

        if (next(r, &e) < 0)
            return -1;
        if (e.type == YAML_STREAM_END_EVENT)
            return 0;
        if (e.type == YAML_DOCUMENT_START_EVENT && any)
            return error_set(r->err, ERROR_USAGE, 0, "%s:%d: only one YAML document is allowed per file",
                             r->file, line_of(&e));
        if (e.type == YAML_SCALAR_EVENT || e.type == YAML_SEQUENCE_START_EVENT
            || e.type == YAML_MAPPING_START_EVENT || e.type == YAML_ALIAS_EVENT) {
            any = true;
            if (read_value(r, &e, root, 1) < 0)
                return -1;
        }
    }
}

struct ydoc *ydoc_parse(const char *text, size_t len, const char *file, struct error *err)
{
    struct yaml_reader r = {.file = file, .err = err};
    struct ydoc *root = xcalloc(1, sizeof(*root));
    int status;

    *root = (struct ydoc){.type = YDOC_TEXT, .file = file, .text = xstrdup("")};
    if (len > YDOC_MAX)
        status = error_set(err, ERROR_USAGE, 0, "%s is too large: %zu bytes, the limit is %zu", file, len,
                           YDOC_MAX);
    else if (!yaml_parser_initialize(&r.parser))
        status = error_set(err, ERROR_SYSTEM, 0, "%s: out of memory", file);
    else {
        /* libyaml takes a byte order mark for a column, to the left of which the next line would be */
        size_t mark = len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0;

        yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&r.parser, (const unsigned char *)text + mark, len - mark);
        status = read_stream(&r, root);
        yaml_parser_delete(&r.parser);
    }
    if (status < 0)
        ydoc_free(steal(&root));
    return root;
}

int ydoc_error(const struct ydoc *y, struct error *err, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    autofree char *text = xvasprintf(fmt, args);
    va_end(args);
    return error_set(err, ERROR_USAGE, 0, "%s:%d: %s", y->file, y->line, text);
}

int ydoc_key_error(const struct ydoc *y, struct error *err, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    autofree char *text = xvasprintf(fmt, args);
    va_end(args);
    return error_set(err, ERROR_USAGE, 0, "%s:%d: %s", y->file, y->key_line, text);
}

int ydoc_expected(const struct ydoc *y, const char *what, struct error *err)
{
    const char *key = y->key ? y->key : "this";

    if (y->type == YDOC_TEXT && !ydoc_nothing(y) && strcmp(key, "api_key") != 0)
        return ydoc_error(y, err, "%.60s: expected %s, found \"%.60s\"", key, what, y->text);
    return ydoc_error(y, err, "%.60s: expected %s, found %s", key, what, ydoc_kind(y));
}

const struct ydoc *ydoc_get(const struct ydoc *map, const char *key)
{
    if (!map || map->type != YDOC_MAP)
        return NULL;
    for (size_t i = 0; i < map->n; i++)
        if (map->v[i].key && !strcmp(map->v[i].key, key))
            return &map->v[i];
    return NULL;
}

bool ydoc_nothing(const struct ydoc *y)
{
    return y->type == YDOC_TEXT && !y->quoted
           && (!*y->text || !strcmp(y->text, "~") || !strcmp(y->text, "null"));
}

const char *ydoc_kind(const struct ydoc *y)
{
    if (y->type == YDOC_TEXT)
        return ydoc_nothing(y) ? "nothing" : "a single value";
    if (!y->n)
        return y->type == YDOC_LIST ? "an empty list" : "an empty map";
    return y->type == YDOC_LIST ? "a list" : "a map";
}
