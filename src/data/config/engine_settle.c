/* engine_settle.c - finds the engine that was chosen, and puts the values of settings into the commands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fill.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/value.h"
#include "config/config.h"
#include "config/custom_engine_parts.h"

#define HELP_TEXT_AT 14
#define HELP_COLUMNS 79

/* How many sandboxes a program has at once, where the user does not say what they are to share. */
static int sandboxes_of(const struct config *c)
{
    int64_t jobs = 0;

    if (!c->front.jobs || !value_int(c->front.jobs, &jobs) || jobs < 0 || jobs > 1000)
        jobs = 0;
    if (c->args.command == COMMAND_BATCH || c->args.command == COMMAND_RUNNER
        || c->args.command == COMMAND_SERVE)
        return jobs > 0 ? (int)jobs : c->front.max_sandboxes;
    return 1;
}

/* The setting that the word names and that has no value: then it is left out. NULL: there is none. */
static const struct engine_setting *empty_setting(const struct custom_engine *e, const char *word)
{
    for (size_t i = 0; i < e->n_settings; i++) {
        const struct engine_setting *s = &e->settings[i];
        autofree char *place = xasprintf("{%s}", s->name);

        if (strstr(word, place) && (!s->value.n || !*s->value.v[0]))
            return s;
    }
    return NULL;
}

static void add_settled(const struct custom_engine *e, const char *word, struct argv *out)
{
    struct text_var *vars = xcalloc(e->n_settings + 1, sizeof *vars);
    size_t len = strlen(word);
    const struct engine_setting *alone = len > 2 && *word == '{' ? engine_setting_find(e, word + 1, len - 2)
                                                                 : NULL;

    for (size_t i = 0; i < e->n_settings; i++)
        vars[i] = (struct text_var){e->settings[i].name,
                                    e->settings[i].value.n ? e->settings[i].value.v[0] : ""};
    autofree char *filled = text_fill(word, &(struct text_vars){vars, e->n_settings});
    free(vars);
    if (empty_setting(e, word))
        return;
    if (!alone || !alone->list)
        argv_push(out, filled);
    for (size_t i = 0; alone && alone->list && i < alone->value.n; i++)
        argv_push(out, alone->value.v[i]);
}

/* An image from config.yaml is for docker and podman, and so is one that was named farther away than the
 * engine was. NULL: there is no such setting. */
static struct engine_setting *takes_image(const struct config *c)
{
    const struct custom_engine *e = custom_engine_find(&c->engines, c->sandbox);
    enum source_kind from = config_source(c, &c->image)->kind;

    return e && from >= SOURCE_ENV && from >= config_source(c, &c->sandbox)->kind
               ? engine_setting_find(e, "image", strlen("image"))
               : NULL;
}

bool custom_engine_takes_image(const struct config *c)
{
    return takes_image(c) != NULL;
}

/* Put the settings into its commands. A setting's default may hold a placeholder of the engine's. */
static void settle_one(struct custom_engine *e, const struct config *c)
{
    struct engine_setting *s = engine_setting_find(e, "sandboxes", strlen("sandboxes"));

    if (s && (!s->value.n || !*s->value.v[0])) {
        argv_release(&s->value);
        argv_pushf(&s->value, "%d", sandboxes_of(c));
    }
    for (size_t i = 0; i < ENGINE_COMMANDS; i++) {
        struct argv *words = engine_command(e, i), settled = ARGV_INIT;

        for (size_t k = 0; k < words->n; k++)
            add_settled(e, words->v[k], &settled);
        argv_release(words);
        *words = settled;
    }
    if (c->queue_timeout)
        e->queue_ms = c->queue_timeout;
}

static int check_musts(const struct custom_engine *e, struct error *err)
{
    for (size_t i = 0; i < e->must.n; i++)
        if (!custom_engine_setting(e, e->must.v[i]))
            return error_set(err, ERROR_USAGE, 0,
                             "%s: %s is not set\nset it%s in config.yaml: engines: {%s: {with: {%s: VALUE}}}",
                             e->name, e->must.v[i],
                             strcmp(e->must.v[i], "image") != 0 ? "" : " with --image, or", e->name,
                             e->must.v[i]);
    const char *walls = custom_engine_setting(e, "walls");
    if (walls && !value_choice(walls, "auto|bwrap|apptainer"))
        return error_set(err, ERROR_USAGE, 0,
                         "%s: walls: expected one of auto|bwrap|apptainer, found \"%.40s\"", e->name, walls);
    return 0;
}

static int unknown_engine(const struct config *c, const struct custom_engines *builtin, struct error *err)
{
    struct buf known autorelease(buf_release) = BUF_INIT(0);
    const struct source *from = config_source(c, &c->sandbox);
    char where[300];

    for (size_t i = 0; i < builtin->n; i++)
        buf_addf(&known, "|%s", builtin->v[i].name);
    for (size_t i = 0; i < c->engines.n; i++)
        if (!custom_engine_find(builtin, c->engines.v[i].name))
            buf_addf(&known, "|%s", c->engines.v[i].name);
    if (from->kind == SOURCE_FILE)
        snprintf(where, sizeof where, "%.200s:%d: sandbox", from->name, from->line);
    else
        snprintf(where, sizeof where, "%.200s", from->name);
    autofree char *shown = scrub_line(c->sandbox, SCRUB_TERMINAL);
    return error_set(err, ERROR_USAGE, 0, "%s: expected one of %s%s, found \"%.60s\"%s", where,
                     ENGINE_CHOICES, buf_str(&known), shown,
                     strchr(shown, ':') ? "\nname the engine alone, and its image with --image" : "");
}

/* Move the built-in engine of that name into all. False: there is none. */
static bool take_builtin(struct custom_engines *all, struct custom_engines *builtin, const char *name)
{
    struct custom_engine *e = custom_engine_find(builtin, name);

    if (!e)
        return false;
    all->v = xreallocarray(all->v, all->n + 1, sizeof *all->v);
    all->v[all->n++] = *e;
    *e = builtin->v[--builtin->n];
    return true;
}

int custom_engines_settle(struct config *c, struct error *err)
{
    struct custom_engines builtin autorelease(custom_engines_release) = {0};
    const struct custom_engine *chosen;

    if (!value_choice(c->sandbox, ENGINE_CHOICES) && !custom_engine_find(&c->engines, c->sandbox)) {
        if (builtin_engines_read(&builtin, err) < 0)
            return -1;
        if (!take_builtin(&c->engines, &builtin, c->sandbox))
            return unknown_engine(c, &builtin, err);
    }
    struct engine_setting *image = takes_image(c);
    if (image) {
        argv_release(&image->value);
        argv_push(&image->value, c->image);
    }
    for (size_t i = 0; i < c->engines.n; i++)
        settle_one(&c->engines.v[i], c);
    chosen = custom_engine_find(&c->engines, c->sandbox);
    return chosen ? check_musts(chosen, err) : 0;
}

void builtin_engines_names(struct argv *out)
{
    struct custom_engines builtin autorelease(custom_engines_release) = {0};

    if (builtin_engines_read(&builtin, NULL) == 0)
        for (size_t i = 0; i < builtin.n; i++)
            argv_push(out, builtin.v[i].name);
}

void builtin_engines_help(struct buf *out)
{
    struct custom_engines builtin autorelease(custom_engines_release) = {0};

    if (builtin_engines_read(&builtin, NULL) != 0)
        return;
    for (size_t i = 0; i < builtin.n; i++) {
        const struct custom_engine *e = &builtin.v[i];

        buf_addf(out, "  %-11s %s\n", e->name, e->about ? e->about : "");
        size_t at = HELP_TEXT_AT + strlen("settings:");
        buf_addf(out, "%*ssettings:", HELP_TEXT_AT, "");
        for (size_t k = 0; k < e->n_settings; k++) {
            size_t len = strlen(e->settings[k].name) + 2;

            if (at + len > HELP_COLUMNS) {
                buf_addf(out, "\n%*s", HELP_TEXT_AT + 1, "");
                at = HELP_TEXT_AT + 1;
            }
            buf_addf(out, " %s%s", e->settings[k].name, k + 1 < e->n_settings ? "," : "\n");
            at += len;
        }
    }
}
