/* prompts.c - see prompts.h. One table of keys; everything unknown in a file is an error. */
#include "config/prompts.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "config/embedded.h"
#include "config/ydoc.h"

struct text {
    const char *section, *key; /* section NULL: at the top */
    size_t offset;
    bool optional;
};

#define T(member) offsetof(struct prompt_texts, member)
static const struct text texts[] = {
    {NULL, "role", T(role), false},
    {NULL, "model", T(model), true},
    {NULL, "reasoning_effort", T(reasoning_effort), true},
    {NULL, "tools", T(tools), false},
    {"system", "native", T(system_native), false},
    {"system", "blocks", T(system_blocks), false},
    {"examples", "table", T(examples_table), false},
    {"examples", "json", T(examples_json), false},
    {NULL, "nudge", T(nudge), false},
    {"blocks", "ok", T(blocks_ok), false},
    {"blocks", "failed", T(blocks_failed), false},
    {"blocks", "malformed", T(blocks_malformed), false},
    {"blocks", "interrupted", T(blocks_interrupted), false},
    {"blocks", "no_more", T(blocks_no_more), false},
    {"tool", "description", T(tool_description), false},
    {"tool", "code", T(tool_code), false},
    {NULL, "empty", T(empty), false},
    {NULL, "no_more_code", T(no_more_code), false},
    {NULL, "same_code", T(same_code), false},
    {NULL, "same_output", T(same_output), false},
};

static char **at(struct prompt_texts *p, const struct text *t)
{
    return (char **)(void *)((char *)p + t->offset);
}

/* A list of words as one string; anything else as it is. */
static char *joined(const struct ydoc *y)
{
    struct buf out = BUF_INIT(YDOC_MAX);

    if (y->type == YDOC_TEXT)
        return ydoc_nothing(y) ? NULL : xstrdup(y->text);
    for (size_t i = 0; y->type == YDOC_LIST && i < y->n; i++) {
        if (y->v[i].type != YDOC_TEXT || !*y->v[i].text) {
            buf_release(&out);
            return NULL;
        }
        buf_addf(&out, "%s%s", i ? " " : "", y->v[i].text);
    }
    return out.len ? buf_steal(&out, NULL) : NULL;
}

static int apply_one(struct prompt_texts *p, const char *section, const struct ydoc *y, const char *name,
                     struct error *err)
{
    for (size_t i = 0; i < countof(texts); i++) {
        const struct text *t = &texts[i];

        if (strcmp(t->key, y->key) != 0
            || (section ? !t->section || strcmp(t->section, section) != 0 : t->section != NULL))
            continue;
        bool list = strcmp(t->key, "tools") == 0;
        autofree char *text = list || y->type == YDOC_TEXT ? joined(y) : NULL;
        if (!text)
            return error_set(err, ERROR_USAGE, 0, "%s:%d: %s: expected %s, found %s", name, y->line, y->key,
                             list ? "a list of tools" : "a text", ydoc_kind(y));
        if (list && strcmp(text, "execute_python") != 0)
            return error_set(err, ERROR_USAGE, 0, "%s:%d: tools: the only tool is execute_python", name,
                             y->line);
        free(*at(p, t));
        *at(p, t) = steal(&text);
        return 0;
    }
    return error_set(err, ERROR_USAGE, 0, "%s:%d: unknown key %s%s%.60s", name, y->key_line,
                     section ? section : "", section ? "." : "", y->key);
}

static bool is_section(const char *key)
{
    for (size_t i = 0; i < countof(texts); i++)
        if (texts[i].section && strcmp(texts[i].section, key) == 0)
            return true;
    return false;
}

int prompts_apply(struct prompt_texts *p, const char *text, size_t len, const char *name, struct error *err)
{
    struct ydoc *root;
    int status = ydoc_parse(text, len, name, &root, err);

    if (status == 0 && root && root->type != YDOC_MAP && !ydoc_nothing(root))
        status = error_set(err, ERROR_USAGE, 0, "%s:%d: expected a map of texts, found %s", name, root->line,
                           ydoc_kind(root));
    for (size_t i = 0; status == 0 && root && i < root->n; i++) {
        const struct ydoc *y = &root->v[i];

        if (!is_section(y->key)) {
            status = apply_one(p, NULL, y, name, err);
            continue;
        }
        if (y->type != YDOC_MAP)
            status = error_set(err, ERROR_USAGE, 0, "%s:%d: %s: expected a map of texts, found %s", name,
                               y->line, y->key, ydoc_kind(y));
        for (size_t k = 0; status == 0 && k < y->n; k++)
            status = apply_one(p, y->key, &y->v[k], name, err);
    }
    ydoc_free(root);
    return status;
}

/* The user's own file, by the same rule as config.yaml: it decides what the model is told. */
static int apply_file(struct prompt_texts *p, struct error *err)
{
    autofree char *path = xdg_path(XDG_CONFIG, "prompts/python.yaml");
    struct buf text autorelease(buf_release) = BUF_INIT(YDOC_MAX);
    struct stat st;

    if (!path || stat(path, &st) < 0)
        return 0;
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return error_set(err, ERROR_USAGE, 0, "%s belongs to another user (uid %u) and was not read", path,
                         (unsigned)st.st_uid);
    if (file_read(path, YDOC_MAX, &text, err) < 0)
        return -1;
    return prompts_apply(p, buf_str(&text), text.len, path, err);
}

int prompts_load(struct prompt_texts *p, struct error *err)
{
    *p = (struct prompt_texts){0};
    if (prompts_apply(p, prompts_yaml, EMBED_SIZE(prompts_yaml), "prompts/python.yaml", err) < 0
        || apply_file(p, err) < 0)
        return -1;
    for (size_t i = 0; i < countof(texts); i++)
        if (!texts[i].optional && !*at(p, &texts[i]))
            return error_set(err, ERROR_USAGE, 0, "prompts/python.yaml: %s%s%s is missing",
                             texts[i].section ? texts[i].section : "", texts[i].section ? "." : "",
                             texts[i].key);
    if (p->model && strcmp(p->model, "any") == 0) {
        free(p->model);
        p->model = NULL;
    }
    return 0;
}

void prompts_release(struct prompt_texts *p)
{
    for (size_t i = 0; i < countof(texts); i++) {
        free(*at(p, &texts[i]));
        *at(p, &texts[i]) = NULL;
    }
}
