/* recipe.c - fills a recipe's commands, starts them, and says what they complain of. */
#include "engine/recipe.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fill.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "engine/client.h"
#include "engine/inside.h"
#include "process/child.h"

#define FACT_MAX 200
#define FACTS    16

/* The value of a fact; NULL: it is not known. */
static const char *recipe_fact(const struct argv *facts, const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; facts && i < facts->n; i++)
        if (!strncmp(facts->v[i], name, len) && facts->v[i][len] == '=')
            return facts->v[i] + len + 1;
    return NULL;
}

void recipe_fill(const struct argv *words, const struct text_vars *vars, const struct argv *facts,
                 struct argv *out)
{
    struct text_var known[FACTS];
    char *names[FACTS];
    size_t n = 0;

    for (; facts && n < facts->n && n < FACTS; n++) {
        names[n] = xmemdup0(facts->v[n], strcspn(facts->v[n], "="));
        known[n] = (struct text_var){names[n], facts->v[n] + strlen(names[n]) + 1};
    }
    for (size_t i = 0; i < words->n; i++) {
        autofree char *half = text_fill(words->v[i], vars);
        autofree char *word = text_fill(half, &(struct text_vars){known, n});

        argv_push(out, word);
    }
    while (n > 0)
        free(names[--n]);
}

static bool fact_is_good(const char *value, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)value[i]) && !strchr("._:/@,+-", value[i]))
            return false;
    return len > 0 && len <= FACT_MAX && *value != '-';
}

/* A fact from its line, "NAME=VALUE", if it is wanted. */
static void take_fact(const struct argv *gives, const char *line, size_t len, struct argv *facts)
{
    const char *value = memchr(line, '=', len);

    for (size_t i = 0; value && i < gives->n; i++) {
        size_t n = strlen(gives->v[i]);

        if ((size_t)(value - line) == n && !memcmp(line, gives->v[i], n) && !recipe_fact(facts, gives->v[i])
            && fact_is_good(value + 1, len - n - 1))
            argv_pushf(facts, "%.*s", (int)len, line);
    }
}

bool recipe_facts(const struct argv *gives, const char *text, struct argv *facts)
{
    bool all = true;

    for (const char *p = text; *p;) {
        size_t len = strcspn(p, "\n");

        take_fact(gives, p, trimmed_length(p, len, " \t\r"), facts);
        p += len + (p[len] == '\n');
    }
    for (size_t i = 0; i < gives->n; i++)
        all = all && recipe_fact(facts, gives->v[i]);
    return all;
}

struct child *recipe_start(const struct engine_recipe *r, struct child_options o, struct error *err)
{
    return client_start_with(o, &r->env, err);
}

static const struct engine_failure *failure_of(const struct engine_recipe *r, const char *said)
{
    for (size_t i = 0; i < r->n_failures; i++)
        if (strcasestr(said, r->failures[i].says))
            return &r->failures[i];
    return NULL;
}

char *recipe_complaint(const struct engine_recipe *r, const struct child *c)
{
    const char *text = buf_str(&c->err_text);
    /* ours first: what a client says of it afterwards is only that it ended */
    static const char *const ours[] = {INSIDE_FAILED, "bwrap: "};
    const char *at = NULL;

    for (size_t i = 0; i < countof(ours) && !at; i++)
        at = strstr(text, ours[i]);
    for (size_t i = 0; i < r->n_failures && !at; i++)
        at = strcasestr(text, r->failures[i].says);
    if (!at)
        return client_complaint(c);
    while (at > text && at[-1] != '\n')
        at--;
    size_t len = strcspn(at, "\n");
    autofree char *line = xmemdup0(at, len > 400 ? 400 : len);
    return scrub_line(line, SCRUB_TERMINAL);
}

void recipe_explain(const struct engine_recipe *r, const char *said, struct error *err)
{
    const struct engine_failure *f = failure_of(r, said);
    const char *ours = strstr(said, INSIDE_FAILED), *bwrap = strstr(said, "bwrap: "), *remedy;

    if (ours) {
        ours += strlen(INSIDE_FAILED);
        remedy = strstr(ours, INSIDE_REMEDY);
        error_set(err, ERROR_SANDBOX, 0, "on the other machine: %.*s\n%.300s",
                  remedy ? (int)(remedy - ours) : 300, ours,
                  remedy ? remedy + strlen(INSIDE_REMEDY) : "sandpiper doctor says what works there");
    } else if (bwrap && strstr(said, "amespace")) {
        error_set(err, ERROR_SANDBOX, 0,
                  "user namespaces are not allowed on the other machine (%.200s)\n"
                  "ask its administrator for them, or have Apptainer installed and name it: with: {walls: "
                  "apptainer, image: FILE}",
                  bwrap);
    } else if (f) {
        error_set(err, ERROR_SANDBOX, 0, "%.300s%s%.200s%s\n%.300s", f->means ? f->means : said,
                  f->means ? " (" : "", f->means ? said : "", f->means ? ")" : "", f->remedy);
    } else {
        error_set(err, ERROR_SANDBOX, 0, "%.300s\nsee what is started: sandpiper exec --dry-run --sandbox %s",
                  said, r->name);
    }
}
