/* prompt_file.c - see prompt_file.h. Anything unknown in a file is an error. */
#include "config/prompt_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "config/embedded.h"
#include "yaml/ydoc.h"

static void set_text(const char **at, const char *text)
{
    free((char *)*at);
    *at = xstrdup(text);
}

static int check_text(const struct ydoc *y, struct error *err)
{
    if (y->type == YDOC_TEXT && !ydoc_nothing(y))
        return 0;
    return ydoc_error(y, err, "%s: expected a text, found %s", y->key, ydoc_kind(y));
}

static int apply_one(struct prompts *p, const char *section, const struct ydoc *y, struct error *err)
{
    for (size_t i = 0; i < prompt_n_keys; i++) {
        const struct prompt_key *k = &prompt_keys[i];

        if (strcmp(k->key, y->key) != 0
            || (section ? !k->section || strcmp(k->section, section) != 0 : k->section != NULL))
            continue;
        if (check_text(y, err) < 0)
            return -1;
        set_text(prompt_at(p, k), y->text);
        return 0;
    }
    return ydoc_key_error(y, err, "unknown key %s%s%.60s", section ? section : "", section ? "." : "",
                          y->key);
}

/* Store what the model is told of the tool that y names. */
static int apply_tool(struct prompts *p, bool first, const struct ydoc *y, struct error *err)
{
    size_t i = 0;

    if (check_text(y, err) < 0)
        return -1;
    while (i < p->n_tools && strcmp(p->tools[i].name, y->key) != 0)
        i++;
    if (i == p->n_tools && (!first || i == PROMPT_TOOLS_MAX))
        return ydoc_key_error(y, err, "tools: there is no tool %.60s", y->key);
    if (i == p->n_tools)
        p->tools[p->n_tools++] = (struct prompt_tool){xstrdup(y->key), NULL};
    set_text(&p->tools[i].description, y->text);
    return 0;
}

static bool is_section(const char *key)
{
    for (size_t i = 0; i < prompt_n_keys; i++)
        if (prompt_keys[i].section && strcmp(prompt_keys[i].section, key) == 0)
            return true;
    return false;
}

int prompts_apply(struct prompts *p, struct ydoc *root, struct error *err)
{
    bool first = p->n_tools == 0;
    int status = !root ? -1
                 : root->type == YDOC_MAP || ydoc_nothing(root)
                     ? 0
                     : ydoc_error(root, err, "expected a map of texts, found %s", ydoc_kind(root));

    for (size_t i = 0; status == 0 && i < root->n; i++) {
        const struct ydoc *y = &root->v[i];
        bool tools = strcmp(y->key, "tools") == 0;

        if (!tools && !is_section(y->key)) {
            status = apply_one(p, NULL, y, err);
            continue;
        }
        if (y->type != YDOC_MAP)
            status = ydoc_error(y, err, "%s: expected a map of texts, found %s", y->key, ydoc_kind(y));
        for (size_t k = 0; status == 0 && k < y->n; k++)
            status = tools ? apply_tool(p, first, &y->v[k], err) : apply_one(p, y->key, &y->v[k], err);
    }
    ydoc_free(root);
    return status;
}

/* The user's own file must meet the same rules as config.yaml, since it decides what the model is told. */
static int apply_file(struct prompts *p, struct error *err)
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
    return prompts_apply(p, ydoc_parse(buf_str(&text), text.len, path, err), err);
}

int prompts_load(struct prompts *p, struct error *err)
{
    struct ydoc *builtin = ydoc_parse(prompts_yaml, EMBED_SIZE(prompts_yaml), "prompts/python.yaml", err);

    *p = (struct prompts){0};
    if (prompts_apply(p, builtin, err) < 0 || apply_file(p, err) < 0)
        return -1;
    for (size_t i = 0; i < prompt_n_keys; i++)
        if (!prompt_keys[i].optional && !*prompt_at(p, &prompt_keys[i]))
            return error_set(err, ERROR_USAGE, 0, "prompts/python.yaml: %s%s%s is missing",
                             prompt_keys[i].section ? prompt_keys[i].section : "",
                             prompt_keys[i].section ? "." : "", prompt_keys[i].key);
    if (p->model && strcmp(p->model, "any") == 0)
        free((char *)steal(&p->model));
    return 0;
}
