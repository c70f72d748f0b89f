/* cmd_complete.c - "sandpiper debug complete WORD...": what Tab offers for a line of the shell
 * (config/complete.h). Names come from what is on this machine; nothing is asked for over a network, no
 * question is put to the user, and a broken configuration only means fewer names.
 */
#include <string.h>
#include <unistd.h>

#include "ask/service.h"
#include "base/buf.h"
#include "base/mem.h"
#include "config/complete.h"
#include "llm/models.h"
#include "main/command.h"
#include "saved/saved.h"
#include "records/registry.h"
#include "store/db.h"

#define SESSIONS_SHOWN 30

struct typed_line {
    char *const *words;
    size_t n;
};

/* The options that decide which list of models counts. */
static bool names_endpoint(const char *word)
{
    return !strncmp(word, "--provider", 10) || !strncmp(word, "--base-url", 10)
           || !strncmp(word, "--config", 8);
}

static int load_line(const struct typed_line *t, struct config *c)
{
    struct argv line autorelease(argv_release) = ARGV_INIT;
    struct error err = {0};

    argv_pushl(&line, "sandpiper", "models", (char *)NULL);
    for (size_t i = 0; i + 1 < t->n; i++) {
        bool joined = strchr(t->words[i], '=');

        if (!names_endpoint(t->words[i]) || (!joined && i + 2 >= t->n))
            continue;
        argv_push(&line, t->words[i]);
        if (!joined)
            argv_push(&line, t->words[++i]);
    }
    return config_load(c, (int)line.n, line.v, environ, &err);
}

static void add_list(const char *base_url, struct argv *out)
{
    struct llm_models m;

    if (llm_models_cached(base_url, MODELS_KEPT_S, &m) == 0)
        for (size_t i = 0; i < m.n; i++)
            argv_push(out, m.v[i].id);
    llm_models_release(&m);
}

static void add_models(struct config *c, struct argv *out)
{
    struct local_place places[LOCAL_MAX];
    struct endpoint e = {0};
    struct error err = {0};

    if (endpoint_look(c, &e, &err) == 0 && e.found) {
        add_list(e.base_url, out);
    } else {
        size_t n = c->discover ? local_places(c, places) : 0;

        for (size_t i = 0; i < n; i++)
            add_list(places[i].url, out);
    }
    endpoint_release(&e);
}

static void add_sandbox(void *ctx, const char *name, const struct registry_holder *holder,
                        const struct record *r)
{
    (void)holder;
    if (r)
        argv_push(ctx, name);
}

static void add_sessions(struct argv *out)
{
    autofree char *place = saved_place();
    struct error err = {0};
    struct db *db = place ? db_open(place, false, &err) : NULL;

    sessions_names(db, SESSIONS_SHOWN, "", out);
    db_close(db);
}

static void add_configured(const struct typed_line *t, enum complete_names kind, struct argv *out)
{
    struct config c;

    if (load_line(t, &c) == 0) {
        if (kind == NAMES_MODEL)
            add_models(&c, out);
        for (size_t i = 0; kind == NAMES_PROVIDER && i < config_providers(&c)->n; i++)
            argv_push(out, config_providers(&c)->v[i].name);
        for (size_t i = 0; kind == NAMES_ENGINE && i < c.engines.n; i++)
            argv_push(out, c.engines.v[i].name);
        if (kind == NAMES_ENGINE)
            builtin_engines_names(out);
    }
    config_release(&c);
}

static void add_completions(void *ctx, enum complete_names kind, struct argv *out)
{
    if (kind == NAMES_SANDBOX)
        registry_each(add_sandbox, out);
    else if (kind == NAMES_SESSION)
        add_sessions(out);
    else
        add_configured(ctx, kind, out);
}

int cmd_complete(char *const *words, size_t n)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    struct typed_line typed = {words, n};
    struct complete_source source = {add_completions, &typed};

    complete_line(&out, words, n, &source);
    return print_out(buf_str(&out), out.len);
}
