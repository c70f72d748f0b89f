/* check_model.c - the model's side of doctor: key, endpoint, model, tool calls, streaming, dialect. One
 * small request decides, made as a question would make it; the list of models only adds detail. What
 * failed gets the line with the remedy; what stands above it was in order, what would come below it could
 * not be seen.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ask/service.h"
#include "ask/setup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/size.h"
#include "conversation/conversation.h"
#include "config/prompt_file.h"
#include "llm/llm.h"
#include "llm/models.h"
#include "main/command.h"
#include "process/signals.h"
#include "show/show.h"
#include "wire/reply.h"

#define LIST_MS     10000
#define CALL_MS     120000 /* a local server may have to load the model first */
#define CALL_TOKENS 1024   /* a model that thinks first needs some tokens for that */

static const char question[] = "Use execute_python to compute 6 * 7. Run print(6 * 7).";

static const char as_text[] = "code as text";

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
    bool asked;  /* the model answered, and it is its answer that is looked at */
    bool no_key; /* the service needs a key, and none is set */
};

static const struct llm_model *in_list(const struct check *k)
{
    return k->model ? llm_models_find(&k->list, k->model) : NULL;
}

static void tell_key(const struct endpoint *e)
{
    if (e->key) {
        autofree char *text = xasprintf("from %s", e->key_name);

        doctor_line("key", "ok", text);
    } else {
        doctor_line("key", e->unbound ? "no" : "ok", e->unbound ? e->unbound : "no key is sent");
    }
}

static void tell_endpoint(const struct check *k)
{
    const struct endpoint *e = &k->endpoint;
    const char *title = endpoint_title(e);
    autofree char *name = strcmp(title, e->base_url) != 0 ? xasprintf(" (%s)", title) : xstrdup("");
    autofree char *text = k->list.n ? xasprintf("%s%s lists %zu model%s", e->base_url, name, k->list.n,
                                                k->list.n == 1 ? "" : "s")
                                    : xasprintf("%s%s", e->base_url, name);

    doctor_line("endpoint", "ok", text);
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
    autofree char *window = NULL;
    int days;

    learn_window(k, m);
    if (k->o.facts.context > 0)
        window = xasprintf("of %s tokens", count_text(k->o.facts.context).text);
    autofree char *text = xasprintf("%s, context window %s%s", k->model, window ? window : "not known",
                                    k->listed && !m && k->list.n ? "; it is not in the service's list" : "");
    doctor_line("model", "ok", text);
    if (m && llm_model_days_left(m, now, &days)) {
        autofree char *end = xasprintf(
            "%sto be retired on %s%s%s", days <= MODELS_WARN_DAYS ? "weaker: " : "", m->ends,
            m->replaced_by ? "; use instead: " : "", m->replaced_by ? m->replaced_by : "");
        doctor_line("", "", end);
    }
    if (k->list.server == LLM_SERVER_OLLAMA && k->o.facts.context > 0
        && k->o.facts.context < MODELS_SMALL_WINDOW)
        doctor_line(
            "", "",
            "weaker: this context window is small; enlarge it: OLLAMA_CONTEXT_LENGTH=65536 ollama serve");
}

/* Suggest the nearest name when the model is not in the list. */
static void tell_nearest(struct check *k)
{
    const struct llm_model *near = k->listed && k->model && !in_list(k)
                                       ? llm_models_nearest(&k->list, k->model)
                                       : NULL;

    if (near) {
        autofree char *text = xasprintf("it lists %s: -m %s", near->id, near->id);
        doctor_line("", "", text);
    }
}

/* What is wrong gets its line below those of what is right. */
static int tell_failure(struct check *k, const struct error *err)
{
    bool key = err->kind == ERROR_AUTH || k->no_key, place = err->kind == ERROR_NETWORK;

    if (k->endpoint.found && !key)
        tell_key(&k->endpoint);
    if (k->endpoint.found && !key && !place && (k->listed || k->asked)) /* it has answered */
        tell_endpoint(k);
    if (k->asked)
        tell_model(k);
    doctor_line(key ? "key" : place ? "endpoint" : k->asked ? "tool calls" : "model", "no", err->text);
    doctor_lines("", "", err->remedy);
    tell_nearest(k);
    return error_exit_code(err);
}

/* Ask for the list, for its details. A missing list or no answer is not the model's failure; refused
 * credentials are. */
static int ask_for_models(struct check *k, struct error *err)
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
    xreplace(&k->model, xstrdup(name));
    fill_options(k, k->model, next);
    k->o.facts.dialect = next->facts.dialect;
    k->o.facts.context = next->facts.context;
    return true;
}

static int prepare_check(struct check *k, struct error *err)
{
    k->c->ask = ask_about_folder;
    k->c->ask_ctx = k->loop;
    if (prompts_load(&k->texts, AGENT_PYTHON, err) < 0 || endpoint_choose(k->c, &k->endpoint, err) < 0)
        return -1;
    print_notices(k->c);
    model_prefer(&k->endpoint, k->texts.model);
    if (model_settle(&k->service, &k->model, &k->found, err) < 0)
        return -1;
    k->no_key = endpoint_check_key(&k->endpoint, err) < 0;
    if (k->no_key || ask_for_models(k, err) < 0)
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
        *how = k->o.facts.dialect == DIALECT_BLOCKS ? as_text : "tool call";
    else if (k->o.facts.dialect == DIALECT_AUTO && reply_has_block(r->text))
        *how = as_text;
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

static int call(struct check *k, struct llm_reply *reply, const char **how, struct error *err)
{
    struct conversation conversation;
    struct llm *m = llm_new(&k->o, &k->session, k->loop, err);
    struct llm_request q = {.conversation = &conversation, .prompts = &prompts, .tools = {&tool, 1}};

    conversation_init(&conversation);
    conversation_user(&conversation, question, sizeof question - 1);
    int status = m ? llm_ask(m, &q, NULL, reply, err) : -1;
    if (status == 0) {
        k->asked = true;
        status = judge(k, reply, how, err);
    }
    conversation_release(&conversation);
    llm_free(m);
    return status;
}

static void works(struct check *k, const struct llm_reply *r, const char *how)
{
    bool blocks = !strcmp(how, as_text);
    autofree char *line = xasprintf("%s after %.2f s", how, r->seconds);

    tell_key(&k->endpoint);
    tell_endpoint(k);
    tell_model(k);
    doctor_line("tool calls", "ok", line);
    doctor_line("streaming", "ok",
                r->streamed   ? "replies are streamed"
                : k->o.stream ? "replies are not streamed: the service sends them whole"
                              : "replies are not streamed (--no-stream)");
    doctor_line("dialect", "ok",
                k->o.facts.dialect == DIALECT_AUTO
                    ? blocks ? "blocks, detected just now" : "native, detected just now"
                : blocks ? "blocks (code in the model's text)"
                         : "native (tool calls)");
}

int check_model(struct config *c, struct loop *loop)
{
    struct check k = {.c = c, .loop = loop, .service = {c, &k.endpoint, loop, false}};
    struct llm_reply reply = {0};
    struct error err = {0};
    const char *how = "";
    int status = 0;

    if (prepare_check(&k, &err) < 0 || call(&k, &reply, &how, &err) < 0)
        status = loop_cancelled(loop) ? 0 : tell_failure(&k, &err);
    else
        works(&k, &reply, how);
    llm_reply_release(&reply);
    llm_models_release(&k.list);
    prompts_release(&k.texts);
    endpoint_release(&k.endpoint);
    free(k.model);
    free(k.found);
    return status;
}
