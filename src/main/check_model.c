/* check_model.c - the model's side of doctor: is there a key, does the endpoint answer, does it have the
 * model, does a tool call work. The call decides: it is one small request, made as a question would make it.
 * The list of models only adds detail.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "chat/conversation.h"
#include "config/prompt_file.h"
#include "wire/reply.h"
#include "llm/models.h"
#include "main/command.h"
#include "show/show.h"

#define LIST_MS     10000
#define CALL_MS     120000 /* a local server may have to load the model first */
#define CALL_TOKENS 1024   /* a model that thinks first needs some tokens for that */

static const char question[] = "Use execute_python to compute 6 * 7. Run print(6 * 7).";

static const struct llm_tool tool = {
    "execute_python",
    "Run Python code and return what it prints.",
    "{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\"}},\"required\":[\"code\"]}",
    "code",
};
static const struct prompts prompts = {
    .system_native = "You compute by calling the tool execute_python. Call it at once.",
    .system_blocks = "You compute by writing Python. Reply with one ```python block and nothing else.",
};

struct check {
    struct config *c;
    struct loop *loop;
    struct prompts texts;
    struct endpoint endpoint;
    struct service service; /* points at other members */
    struct llm_models list;
    bool listed;
    char *model, *found;
    struct llm_options o;
    struct llm_session session;
    struct buf *out;
};

static void add_line(struct check *k, const char *label, const char *text)
{
    autofree char *clean = scrub_line(text, SCRUB_TERMINAL);

    buf_addf(k->out, "        %-9s%s\n", label, clean);
}

static const struct llm_model *in_list(const struct check *k)
{
    return k->model ? llm_models_find(&k->list, k->model) : NULL;
}

static void tell_place(struct check *k)
{
    const struct endpoint *e = &k->endpoint;

    if (!e->found)
        return;
    autofree char *from = e->key ? xasprintf(", key from %s", e->key_name) : xstrdup(", no key");
    autofree char *text = xasprintf("%s%s", e->base_url, from);
    add_line(k, "endpoint", text);
    if (!e->key && e->unbound)
        add_line(k, "key", e->unbound);
}

/* The model has answered, so it is in memory now and its window is known. */
static void learn_window(struct check *k, const struct llm_model *m)
{
    struct llm_models_query q;
    struct llm_model now;

    if (!m || !m->unloaded)
        return;
    models_query(&k->endpoint, LIST_MS, 0, &q);
    if (llm_models_ask_local(&q, k->model, k->loop, &now) < 0)
        return;
    known_merge(k->c, &now, &k->o);
    llm_model_release(&now);
}

static void tell_model(struct check *k)
{
    const struct llm_model *m = in_list(k);
    time_t now = time(NULL);
    char window[32];
    int days;

    learn_window(k, m);
    if (k->o.context > 0) {
        show_count((unsigned long long)k->o.context, window);
        autofree char *text = xasprintf("%s tokens", window);
        add_line(k, "window", text);
    }
    if (k->listed && !m && k->list.n)
        add_line(k, "note", "it is not in the service's list of models");
    if (m && llm_model_days_left(m, now, &days)) {
        autofree char *text = xasprintf("ends on %s%s%s", m->ends, m->replaced_by ? "; its successor: " : "",
                                        m->replaced_by ? m->replaced_by : "");
        add_line(k, days <= MODELS_WARN_DAYS ? "weaker" : "note", text);
    }
    if (k->list.server == LLM_SERVER_OLLAMA && k->o.context > 0 && k->o.context < MODELS_SMALL_WINDOW)
        add_line(k, "weaker",
                 "this context window is small; enlarge it: OLLAMA_CONTEXT_LENGTH=65536 ollama serve");
}

/* Suggest the nearest name when the model is not in the list. */
static void tell_nearest(struct check *k)
{
    const struct llm_model *near = k->listed && k->model && !in_list(k)
                                       ? llm_models_nearest(&k->list, k->model)
                                       : NULL;

    if (near) {
        autofree char *text = xasprintf("it lists %s: -m %s", near->id, near->id);
        add_line(k, "nearest", text);
    }
}

static int failed(struct check *k, const struct error *err)
{
    autofree char *clean = scrub_line(err->text, SCRUB_TERMINAL);

    buf_addf(k->out, "%-8sdoes not work: %s\n", "model", clean);
    for (const char *line = err->remedy; *line; line += *line == '\n') {
        size_t n = strcspn(line, "\n"), blanks = strspn(line, " ");
        autofree char *step = xmemdup0(line + blanks, n - blanks);

        add_line(k, "remedy", step);
        line += n;
    }
    tell_nearest(k);
    tell_place(k);
    return error_exit_code(err);
}

/* Ask for the list, for its details. A missing list or no answer is not the model's failure; refused
 * credentials are. */
static int get_list(struct check *k, struct error *err)
{
    struct llm_models_query q;
    struct error why = {0};

    models_query(&k->endpoint, LIST_MS, 0, &q);
    k->listed = llm_models_get(&q, k->loop, &k->list, &why) == 0;
    if (k->listed || (why.kind != ERROR_AUTH && why.kind != ERROR_CANCELLED && why.kind != ERROR_NETWORK))
        return 0;
    *err = why;
    return -1;
}

static void fill_options(struct check *k, const char *model, struct llm_options *o)
{
    const struct llm_model *m = llm_models_find(&k->list, model);

    setup_llm(k->c, &k->endpoint, model, o);
    if (m)
        known_merge(k->c, m, o);
    o->reasoning_effort = k->c->reasoning_effort ? k->c->reasoning_effort : k->texts.reasoning_effort;
    o->max_tokens = CALL_TOKENS;
}

/* As for a question: if the service no longer has a default model, use the next one in the list. */
static bool model_gone(void *ctx, const char *model, struct llm_options *next, char advice[LLM_ADVICE])
{
    struct check *k = ctx;
    const char *name = model_after(&k->service, model, advice, LLM_ADVICE);

    if (!name)
        return false;
    free(k->model);
    k->model = xstrdup(name);
    fill_options(k, k->model, next);
    k->o.dialect = next->dialect;
    k->o.context = next->context;
    return true;
}

static int prepare(struct check *k, struct error *err)
{
    k->c->ask = ask_about_folder;
    k->c->ask_ctx = k->loop;
    if (prompts_load(&k->texts, err) < 0 || endpoint_choose(k->c, &k->endpoint, err) < 0)
        return -1;
    print_notices(k->c);
    if (k->texts.model && k->endpoint.model_source.kind == SOURCE_DEFAULT)
        k->endpoint.model = k->texts.model, k->endpoint.models = NULL;
    if (model_settle(&k->service, &k->model, &k->found, err) < 0 || get_list(k, err) < 0)
        return -1;
    fill_options(k, k->model, &k->o);
    setup_llm_session(k->c, &k->session);
    k->session.gone = model_gone;
    k->session.gone_ctx = k;
    k->session.deadline = clock_ms() + CALL_MS;
    return 0;
}

/* Returns 0 and writes into *how how the model called the tool. */
static int judge(const struct check *k, const struct llm_reply *r, const char **how, struct error *err)
{
    if (r->n_calls && !r->calls[0].problem)
        *how = k->o.dialect == LLM_BLOCKS ? "code as text" : "tool call";
    else if (k->o.dialect == LLM_AUTO && reply_has_block(r->text))
        *how = "code as text";
    else if (r->n_calls)
        return error_set(err, ERROR_API, 0,
                         "%s sent a tool call that cannot be used: %s\nUse another "
                         "model, or --dialect blocks, "
                         "which asks for code as text.",
                         k->model, r->calls[0].problem);
    else if (r->finish == LLM_FINISH_LENGTH)
        return error_set(err, ERROR_API, 0,
                         "%s had not called the tool after %d tokens\nUse another model, "
                         "or a lower --reasoning-effort.",
                         k->model, CALL_TOKENS);
    else
        return error_set(err, ERROR_API, 0,
                         "%s answers, but does not call the tool offered\n"
                         "Use another model, or --dialect blocks, which asks for code as text.",
                         k->model);
    return 0;
}

static int call(struct check *k, const char **how, double *seconds, struct error *err)
{
    struct conversation conversation;
    struct llm_reply reply = {0};
    struct llm *m = llm_new(&k->o, &k->session, k->loop, err);
    struct llm_request q = {.conversation = &conversation, .prompts = &prompts, .tools = {&tool, 1}};

    conversation_init(&conversation);
    conversation_user(&conversation, question, sizeof question - 1);
    int status = m ? llm_ask(m, &q, NULL, &reply, err) : -1;
    if (status == 0)
        status = judge(k, &reply, how, err);
    *seconds = reply.seconds;
    llm_reply_release(&reply);
    conversation_release(&conversation);
    llm_free(m);
    return status;
}

static void works(struct check *k, const char *how, double seconds)
{
    autofree char *line = xasprintf("works: %s of %s, %s after %.2f s", k->model,
                                    endpoint_title(&k->endpoint), how, seconds);
    autofree char *clean = scrub_line(line, SCRUB_TERMINAL);

    buf_addf(k->out, "%-8s%s\n", "model", clean);
    tell_place(k);
    tell_model(k);
}

int check_model(struct config *c, struct loop *loop, struct buf *out)
{
    struct check k = {.c = c, .loop = loop, .out = out, .service = {c, &k.endpoint, loop, false}};
    struct error err = {0};
    const char *how = "";
    double seconds = 0;
    int status = 0;

    if (prepare(&k, &err) < 0 || call(&k, &how, &seconds, &err) < 0)
        status = failed(&k, &err);
    else
        works(&k, how, seconds);
    llm_models_release(&k.list);
    prompts_release(&k.texts);
    endpoint_release(&k.endpoint);
    free(k.model);
    free(k.found);
    return status;
}
