/* report.c - prints the values in force, for "sandpiper config". */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "config/config.h"
#include "config/endpoint.h"
#include "base/value.h"

/* One line per value: untrusted text (a folder's .env) must not reach a terminal unscrubbed or break the
 * line.
 */
static void quoted(struct buf *out, const char *s)
{
    struct buf clean autorelease(buf_release) = BUF_INIT(0);

    scrub_text(s, strlen(s), SCRUB_TERMINAL, &clean);
    buf_addch(out, '"');
    for (const char *p = buf_str(&clean); *p; p++) {
        if (strchr("\"\\\n\t", *p))
            buf_addch(out, '\\');
        buf_addch(out, *p == '\n' ? 'n' : *p == '\t' ? 't' : *p);
    }
    buf_addch(out, '"');
}

static void words(struct buf *out, const struct argv *a)
{
    buf_addch(out, '[');
    for (size_t i = 0; i < a->n; i++) {
        buf_addstr(out, i ? ", " : "");
        quoted(out, a->v[i]);
    }
    buf_addch(out, ']');
}

static void add_value(struct buf *out, const struct config *c, const struct option *o)
{
    const char *at = (const char *)c + o->offset;
    char text[64];

    switch (o->type) {
    case OPTION_BOOL:
    case OPTION_NOT:
        buf_addstr(out, *(const bool *)(const void *)at ? "true" : "false");
        return;
    case OPTION_STRING:
    case OPTION_FILE:
    case OPTION_CHOICE:
    case OPTION_ENGINE:
        quoted(out, *(const char *const *)(const void *)at);
        return;
    case OPTION_SECRET:
        buf_addstr(out, "set, not shown");
        return;
    case OPTION_INT:
        buf_addf(out, "%d", *(const int *)(const void *)at);
        return;
    case OPTION_NUMBER:
        buf_addf(out, "%g", *(const double *)(const void *)at);
        return;
    case OPTION_SIZE:
        value_size_text(*(const int64_t *)(const void *)at, text, sizeof text);
        break;
    case OPTION_TIME:
        value_time_text(*(const int64_t *)(const void *)at, text, sizeof text);
        break;
    case OPTION_LIST:
    case OPTION_WORDS:
    case OPTION_PATHS:
        words(out, (const void *)at);
        return;
    }
    buf_addstr(out, text);
}

static bool has_value(const struct config *c, const struct option *o, size_t i)
{
    const char *at = (const char *)c + o->offset;

    if (c->source[i].kind != SOURCE_DEFAULT || o->def)
        return true;
    if (o->type == OPTION_STRING || o->type == OPTION_FILE || o->type == OPTION_CHOICE
        || o->type == OPTION_ENGINE || o->type == OPTION_SECRET)
        return *(const char *const *)(const void *)at != NULL;
    return o->type == OPTION_BOOL;
}

static void from(struct buf *out, size_t start, const struct source *s)
{
    autofree char *text = source_text(s);

    buf_addf(out, "%*s# from %s\n", out->len - start < 40 ? (int)(40 - (out->len - start)) : 1, "", text);
}

/* A line of the endpoint: a comment, since the line is no setting. */
static void print_comment(struct buf *out, const char *key, const char *value, const struct source *s)
{
    size_t start = out->len;

    buf_addf(out, "# %s: ", key);
    quoted(out, value);
    from(out, start, s);
}

static void print_engines(const struct config *c, struct buf *out)
{
    if (c->engines.n > 0 && c->engines.v[0].line) /* one that is built in comes last */
        buf_addstr(out, "engines:\n");
    for (size_t i = 0; i < c->engines.n; i++) {
        const struct custom_engine *e = &c->engines.v[i];
        const struct source s = {SOURCE_FILE, e->line, c->file};
        size_t start = out->len;

        if (!e->line)
            continue;
        buf_addf(out, "  %s: %s", e->name, e->written);
        from(out, start, &s);
    }
}

static void print_endpoint(const struct config *c, const struct endpoint *e, struct buf *out)
{
    int len;

    if (!e->found) {
        buf_addf(out, "# none configured%s\n",
                 c->discover ? "; sandpiper looks for a model server on this machine" : "");
        return;
    }
    print_comment(out, "provider", e->provider, &e->provider_source);
    print_comment(out, "base_url", e->base_url, &e->url_source);
    if (e->folders_place)
        buf_addstr(
            out,
            "# this URL comes from the folder's .env: you are asked before the first question goes there\n");
    size_t start = out->len;
    const char *api = value_choice_at(MODEL_APIS, e->api, &len);
    buf_addf(out, "# api: %.*s", len, api);
    from(out, start, &e->api_source);
    if (e->model) {
        print_comment(out, "model", e->model, &e->model_source);
        const struct model_facts f = endpoint_facts(c, e, e->model);
        const char *dialect = value_choice_at(DIALECTS, f.dialect, &len);
        buf_addf(out, "# profile: {dialect: %.*s, context: %d, max_tokens: %d}\n", len, dialect, f.context,
                 c->max_tokens ? c->max_tokens : f.max_tokens);
    } else {
        buf_addstr(out, "# model: the first that the server lists\n");
    }
    start = out->len;
    if (e->key || e->key_command) {
        buf_addf(out, "# key: %s%s",
                 e->key ? "set, not shown" : "what its command prints: ", e->key ? "" : e->key_command->v[0]);
        from(out, start, &e->key_source);
    } else {
        buf_addf(out, "# key: none%s%s\n", e->unbound ? "; " : "", e->unbound ? e->unbound : "");
    }
}

/* Returns how many settings were left out since they have their default. */
static unsigned print_settings(const struct config *c, struct buf *out)
{
    unsigned left_out = 0;

    for (size_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];
        size_t start = out->len;

        if (!o->key)
            continue;
        if (!c->all && c->source[i].kind == SOURCE_DEFAULT) {
            left_out++;
            continue;
        }
        if (!has_value(c, o, i)) {
            buf_addf(out, "# %s: not set\n", o->key);
            continue;
        }
        /* A secret is not shown and cannot be read back, so it is a comment. */
        buf_addf(out, "%s%s: ", o->type == OPTION_SECRET ? "# " : "", o->key);
        add_value(out, c, o);
        from(out, start, &c->source[i]);
    }
    return left_out;
}

int config_print(struct config *c, struct buf *out, struct error *err)
{
    struct endpoint e;
    int status = endpoint_look(c, &e, err);

    if (status == 0) {
        print_endpoint(c, &e, out);
        buf_addf(out, "\n# %s%s\n", c->file ? c->file : "no home directory, so no config.yaml",
                 !c->file || c->file_read ? "" : " (does not exist)");
        unsigned left_out = print_settings(c, out);
        print_engines(c, out);
        if (left_out)
            buf_addf(out, "# %u settings are at their defaults: sandpiper config --all\n", left_out);
    }
    endpoint_release(&e);
    return status;
}
