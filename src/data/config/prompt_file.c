/* prompt_file.c - reads YAML into struct prompts, file over file, and finds the agents of a pipeline.
 * Anything unknown in a file is an error.
 */
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

/* Packages, as a text or as a list of texts. */
static int apply_with(struct prompts *p, const struct ydoc *y, struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(YDOC_MAX);

    if (y->type != YDOC_LIST) {
        if (check_text(y, err) < 0)
            return -1;
        set_text(&p->with, y->text);
        return 0;
    }
    for (size_t i = 0; i < y->n; i++) {
        if (y->v[i].type != YDOC_TEXT)
            return ydoc_error(&y->v[i], err, "with: expected the name of a package, found %s",
                              ydoc_kind(&y->v[i]));
        buf_addf(&text, "%s%s", i ? "," : "", y->v[i].text);
    }
    set_text(&p->with, y->n ? buf_str(&text) : NULL);
    return 0;
}

static int apply_one(struct prompts *p, const char *section, const struct ydoc *y, struct error *err)
{
    for (size_t i = 0; i < prompt_n_keys; i++) {
        const struct prompt_key *k = &prompt_keys[i];

        if (strcmp(k->key, y->key) != 0
            || (section ? !k->section || strcmp(k->section, section) != 0 : k->section != NULL))
            continue;
        if (k->offset == offsetof(struct prompts, with))
            return apply_with(p, y, err);
        if (check_text(y, err) < 0)
            return -1;
        set_text(prompt_at(p, k), y->text);
        return 0;
    }
    return ydoc_key_error(y, err, "unknown key %s%s%.60s", section ? section : "", section ? "." : "",
                          y->key);
}

/* Store what the model is told of the tool that y names, in tools or in languages. */
static int apply_tool(struct prompts *p, bool first, const char *section, const struct ydoc *y,
                      struct error *err)
{
    bool languages = !strcmp(section, "languages");
    struct prompt_tool *tools = languages ? p->languages : p->tools;
    size_t i = 0, *n = languages ? &p->n_languages : &p->n_tools;

    if (check_text(y, err) < 0)
        return -1;
    while (i < *n && strcmp(tools[i].name, y->key) != 0)
        i++;
    if (i == *n && (!first || i == PROMPT_TOOLS_MAX))
        return ydoc_key_error(y, err, "%s: unknown tool %.60s", section, y->key);
    if (i == *n)
        tools[(*n)++] = (struct prompt_tool){xstrdup(y->key), NULL};
    set_text(&tools[i].description, y->text);
    return 0;
}

static bool is_tools(const char *key)
{
    return !strcmp(key, "tools") || !strcmp(key, "languages");
}

static bool is_prompt_section(const char *key)
{
    for (size_t i = 0; i < prompt_n_keys; i++)
        if (prompt_keys[i].section && !strcmp(prompt_keys[i].section, key))
            return true;
    return false;
}

/* The members of a section, or the tools. first: this file may name tools. */
static int apply_section(struct prompts *p, bool first, const struct ydoc *y, struct error *err)
{
    bool tools = is_tools(y->key);

    if (y->type != YDOC_MAP)
        return ydoc_error(y, err, "%s: expected a map of texts, found %s", y->key, ydoc_kind(y));
    for (size_t i = 0; i < y->n; i++)
        if ((tools ? apply_tool(p, first, y->key, &y->v[i], err) : apply_one(p, y->key, &y->v[i], err)) < 0)
            return -1;
    return 0;
}

int prompts_apply(struct prompts *p, struct ydoc *root, struct error *err)
{
    autoydoc struct ydoc *owned = root;
    bool first = p->n_tools == 0;

    if (!owned)
        return -1;
    if (root->type != YDOC_MAP && !ydoc_nothing(root))
        return ydoc_error(root, err, "expected a map of texts, found %s", ydoc_kind(root));
    for (size_t i = 0; i < root->n; i++) {
        const struct ydoc *y = &root->v[i];
        bool section = is_tools(y->key) || is_prompt_section(y->key);

        if ((section ? apply_section(p, first, y, err) : apply_one(p, NULL, y, err)) < 0)
            return -1;
    }
    return 0;
}

static const struct builtin {
    const char *name, *text, *end;
} builtins[] = {
    {AGENT_PYTHON, prompts_yaml, prompts_yaml_end},
    {"files", files_yaml, files_yaml_end},
    {"code", code_yaml, code_yaml_end},
    {"pipelines", pipelines_yaml, pipelines_yaml_end},
};

/* The compiled-in file of that name, and the user's own. Where a file is not there its text is empty. path
 * must live as long as what is parsed from it. */
struct file_pair {
    const struct builtin *builtin;
    char *path;
    struct buf text;
};

static void pair_release(struct file_pair *f)
{
    free(f->path);
    buf_release(&f->text);
}

/* The user's own file must meet the same rules as config.yaml, since it decides what the model is told. */
static int pair_read(struct file_pair *f, const char *name, struct error *err)
{
    autofree char *below = xasprintf("prompts/%s.yaml", name);
    struct stat st;

    for (size_t i = 0; i < countof(builtins); i++)
        if (!strcmp(builtins[i].name, name))
            f->builtin = &builtins[i];
    f->path = xdg_path(XDG_CONFIG, below);
    if (!f->path || stat(f->path, &st) < 0) {
        free(steal(&f->path));
        return 0;
    }
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return error_set(err, ERROR_USAGE, 0, "%s belongs to another user (uid %u) and was not read", f->path,
                         (unsigned)st.st_uid);
    return file_read(f->path, YDOC_MAX, &f->text, err);
}

static struct ydoc *builtin_parse(const struct builtin *b, struct error *err)
{
    return ydoc_parse(b->text, (size_t)(b->end - b->text), b->name, err);
}

/* A file that names tools takes the place of those of python.yaml, for an agent of its own. */
static int apply_own(struct prompts *p, struct ydoc *root, bool own, struct error *err)
{
    if (own && ydoc_get(root, "tools"))
        prompts_release_tools(p);
    return prompts_apply(p, root, err);
}

static int load_over(struct prompts *p, const char *name, struct error *err)
{
    bool other = strcmp(name, AGENT_PYTHON) != 0;
    autorelease(pair_release) struct file_pair f = {.text = BUF_INIT(YDOC_MAX)};

    if (pair_read(&f, name, err) < 0)
        return -1;
    if (!f.builtin && !f.path)
        return error_set(
            err, ERROR_USAGE, 0,
            "there is no agent \"%.60s\"\nIts file is prompts/%.60s.yaml in the configuration folder", name,
            name);
    if (f.builtin && apply_own(p, builtin_parse(f.builtin, err), other, err) < 0)
        return -1;
    if (!f.path)
        return 0;
    return apply_own(p, ydoc_parse(buf_str(&f.text), f.text.len, f.path, err), other && !f.builtin, err);
}

static int check_name(const char *name, struct error *err)
{
    size_t len = strlen(name);

    if (len > 0 && len <= 32 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == len
        && strcmp(name, "pipelines") != 0)
        return 0;
    return error_set(err, ERROR_USAGE, 0, "\"%.60s\" is not a valid name of an agent", name);
}

int prompts_load(struct prompts *p, const char *agent, struct error *err)
{
    *p = (struct prompts){0};
    if (check_name(agent, err) < 0 || load_over(p, AGENT_PYTHON, err) < 0
        || (strcmp(agent, AGENT_PYTHON) != 0 && load_over(p, agent, err) < 0))
        return -1;
    for (size_t i = 0; i < prompt_n_keys; i++)
        if (!prompt_keys[i].optional && !*prompt_at(p, &prompt_keys[i]))
            return error_set(err, ERROR_USAGE, 0, "prompts/python.yaml: %s%s%s is missing",
                             prompt_keys[i].section ? prompt_keys[i].section : "",
                             prompt_keys[i].section ? "." : "", prompt_keys[i].key);
    if (p->model && !strcmp(p->model, "any"))
        free((char *)steal(&p->model));
    return 0;
}

/* Load the agents that the list y names. */
static int load_agents(struct pipeline *p, const struct ydoc *y, struct error *err)
{
    if (y->type != YDOC_LIST || y->n == 0 || y->n > PIPELINE_MAX)
        return ydoc_error(y, err, "%s: expected a list of 1 to %d agents, found %s", y->key, PIPELINE_MAX,
                          ydoc_kind(y));
    for (size_t i = 0; i < y->n; i++) {
        if (y->v[i].type != YDOC_TEXT)
            return ydoc_error(&y->v[i], err, "%s: expected the name of an agent, found %s", y->key,
                              ydoc_kind(&y->v[i]));
        if (prompts_load(&p->v[p->n++], y->v[i].text, err) < 0)
            return -1;
    }
    return 0;
}

static void add_names(const struct ydoc *map, char **names)
{
    for (size_t i = 0; map && map->type == YDOC_MAP && i < map->n; i++) {
        autofree char *before = *names;

        *names = xasprintf("%s%s%.60s", before ? before : "", before ? ", " : "", map->v[i].key);
    }
}

static int find_pipeline(struct pipeline *p, const struct ydoc *own, const struct ydoc *builtin,
                         const char *name, struct error *err)
{
    const struct ydoc *y = own ? ydoc_get(own, name) : NULL;
    autofree char *names = NULL;

    y = y ? y : ydoc_get(builtin, name);
    if (y)
        return load_agents(p, y, err);
    add_names(builtin, &names);
    add_names(own, &names);
    return error_set(err, ERROR_USAGE, 0, "--agents: there is no pipeline \"%.60s\"; there is %s", name,
                     names);
}

int pipeline_load(struct pipeline *p, const char *name, struct error *err)
{
    autorelease(pair_release) struct file_pair f = {.text = BUF_INIT(YDOC_MAX)};

    *p = (struct pipeline){0};
    if (!name) {
        p->n = 1;
        return prompts_load(&p->v[0], AGENT_PYTHON, err);
    }
    if (pair_read(&f, "pipelines", err) < 0)
        return -1;
    autoydoc struct ydoc *builtin = builtin_parse(f.builtin, err);
    autoydoc struct ydoc *own = f.path ? ydoc_parse(buf_str(&f.text), f.text.len, f.path, err) : NULL;
    return !builtin || (f.path && !own) ? -1 : find_pipeline(p, own, builtin, name, err);
}

int pipeline_packages(const char *name,
                      int (*each)(void *ctx, const char *agent, const char *with, struct error *err),
                      void *ctx, struct error *err)
{
    struct pipeline p autorelease(pipeline_release) = {0};
    autofree char *own = xdg_path(XDG_CONFIG, "prompts");

    if (!own || access(own, F_OK) < 0) /* those that are built in ask for none */
        return 0;
    if (pipeline_load(&p, name, err) < 0)
        return -1;
    for (size_t i = 0; i < p.n; i++)
        if (p.v[i].with && each(ctx, p.v[i].role, p.v[i].with, err) < 0)
            return -1;
    return 0;
}

void pipeline_release(struct pipeline *p)
{
    for (size_t i = 0; i < p->n; i++)
        prompts_release(&p->v[i]);
    p->n = 0;
}
