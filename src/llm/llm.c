/* llm.c - the room's front: options, the session's memory of an endpoint, and one reply from one or two exchanges. */
#include "llm/llm.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "llm/api.h"
#include "llm/exchange.h"
#include "llm/replay.h"
#include "llm/trace.h"
#include "llm/url.h"

static void options_release(struct llm_options *o)
{
    free((char *)o->provider);
    free((char *)o->base_url);
    free((char *)o->model);
    if (o->api_key)
        explicit_bzero((char *)o->api_key, strlen(o->api_key));
    free((char *)o->api_key);
    free((char *)o->key_name);
    free((char *)o->reasoning_effort);
    *o = (struct llm_options){0};
}

static void options_copy(struct llm_options *to, const struct llm_options *from)
{
    *to = *from;
    to->provider = xstrdup(from->provider);
    to->base_url = xstrdup(from->base_url);
    to->model = xstrdup(from->model ? from->model : "");
    to->api_key = from->api_key && *from->api_key ? xstrdup(from->api_key) : NULL;
    to->key_name = xstrdup(from->key_name);
    to->trace = to->record = to->replay = NULL;        /* opened already; copies would be dangling pointers */
    to->reasoning_effort = xstrdup(from->reasoning_effort);
    to->connect_ms = from->connect_ms > 0 ? from->connect_ms : 10000;
    to->idle_ms = from->idle_ms > 0 ? from->idle_ms : 300000;
    to->quiet_ms = from->quiet_ms > 0 ? from->quiet_ms : 600000;
}

static void endpoint_release(struct llm *m)
{
    free(m->url);
    free(m->origin);
    if (m->auth)
        explicit_bzero(m->auth, strlen(m->auth));
    free(m->auth);
    m->url = m->origin = m->auth = NULL;
}

/* A line break in a key would be a header of its own. */
static int key_check(const struct llm_options *o, struct error *err)
{
    for (const char *p = o->api_key; p && *p; p++)
        if (iscntrl((unsigned char)*p))
            return error_set(err, ERROR_USAGE, 0, "the API key%s%s holds a line break or another control character",
                             o->key_name ? " from " : "", o->key_name ? o->key_name : "");
    return 0;
}

/* What was learnt about one endpoint and model; it counts again when the session comes back to it. */
struct learnt {
    char *origin;
    int context;
    enum llm_dialect dialect;
    bool native_seen, no_stream, no_stream_options, no_reasoning_effort, no_temperature, no_items, no_encrypted, no_summary, empty_thoughts;
    bool thoughts_unopened;
    enum max_tokens_field max_tokens_field;
};

static struct learnt *find_learnt(struct llm *m, const char *origin)
{
    for (size_t i = 0; i < m->n_others; i++)
        if (!strcmp(m->others[i].origin, origin))
            return &m->others[i];
    return NULL;
}

static void remember(struct llm *m)
{
    if (!m->origin)
        return;
    struct learnt *k = find_learnt(m, m->origin);
    if (!k) {
        m->others = xreallocarray(m->others, m->n_others + 1, sizeof *m->others);
        k = &m->others[m->n_others++];
        k->origin = xstrdup(m->origin);
    }
    *k = (struct learnt){
        .origin = k->origin, .context = m->context, .dialect = m->dialect, .native_seen = m->native_seen, .no_stream = m->no_stream,
        .no_stream_options = m->no_stream_options, .no_reasoning_effort = m->no_reasoning_effort, .no_temperature = m->no_temperature,
        .no_items = m->no_items, .no_encrypted = m->no_encrypted, .no_summary = m->no_summary, .empty_thoughts = m->empty_thoughts,
        .max_tokens_field = m->max_tokens_field, .thoughts_unopened = m->thoughts_unopened,
    };
}

/* From the options, and where they leave something open, from what was learnt. */
static void recall(struct llm *m)
{
    static const struct learnt nothing = {.max_tokens_field = MAX_TOKENS_OLD};
    const struct learnt *found = find_learnt(m, m->origin), *k = found ? found : &nothing;
    m->context = m->o.context > 0 ? m->o.context : k->context;
    m->dialect = m->o.dialect == LLM_AUTO && found ? k->dialect : m->o.dialect;
    m->native_seen = k->native_seen;
    m->no_stream = k->no_stream;
    m->no_stream_options = k->no_stream_options;
    m->no_reasoning_effort = k->no_reasoning_effort;
    m->no_temperature = k->no_temperature;
    m->max_tokens_field = k->max_tokens_field;
    m->no_items = k->no_items;
    m->no_encrypted = k->no_encrypted;
    m->no_summary = k->no_summary;
    m->empty_thoughts = k->empty_thoughts;
    m->thoughts_unopened = k->thoughts_unopened;
}

int llm_reconfigure(struct llm *m, const struct llm_options *o, struct error *err)
{
    char *url = NULL, shown[512];
    if (key_check(o, err) || !(url = api_url(o->api, o->base_url, o->model ? o->model : "", err)))
        return -1;
    struct llm_options copy;
    remember(m);
    options_copy(&copy, o);            /* before the release: o may point into our own strings */
    options_release(&m->o);
    endpoint_release(m);
    m->o = copy;
    m->url = url;
    url_show(m->o.base_url, shown, sizeof shown);
    m->origin = xasprintf("%s %s%s%s", shown, m->o.model, o->api ? " " : "", o->api ? api_of(o->api)->name : "");
    if (m->o.api_key)
        m->auth = m->o.auth == LLM_API_KEY_HEADER ? xasprintf("api-key: %s", m->o.api_key) : xasprintf("Authorization: Bearer %s", m->o.api_key);
    m->loopback = url_loopback(url);
    recall(m);
    return 0;
}

/* The recording that is played back is read before a new one may empty the same file. */
static int open_files(struct llm *m, const struct llm_options *o, struct error *err)
{
    if ((o->replay && !(m->replay = replay_open(o->replay, err))) || (o->trace && !(m->trace = trace_open(o->trace, false, err)))
        || (o->record && !(m->record = trace_open(o->record, true, err))))
        return -1;
    return 0;
}

struct llm *llm_new(const struct llm_options *o, struct loop *loop, struct error *err)
{
    struct llm *m = xcalloc(1, sizeof *m);
    m->loop = loop;
    if (open_files(m, o, err) || llm_reconfigure(m, o, err)) {
        llm_free(m);
        return NULL;
    }
    return m;
}

void llm_free(struct llm *m)
{
    if (!m)
        return;
    http_free(m->http);
    trace_close(m->trace);
    trace_close(m->record);
    replay_close(m->replay);
    endpoint_release(m);
    options_release(&m->o);
    for (size_t i = 0; i < m->n_others; i++)
        free(m->others[i].origin);
    free(m->others);
    free(m);
}

void llm_set_deadline(struct llm *m, int64_t deadline) { m->o.deadline = deadline; }
const char *llm_model(const struct llm *m) { return m->o.model; }
const char *llm_origin(const struct llm *m) { return m->origin; }
int llm_context(const struct llm *m) { return m->context; }

void llm_reply_release(struct llm_reply *r)
{
    if (!r)
        return;
    free(r->text);
    free(r->reasoning);
    free(r->reasoning_field);
    free(r->cause);
    free(r->reasoning_items);
    for (size_t i = 0; i < r->n_calls; i++) {
        call_release(&r->calls[i].call);
        free(r->calls[i].problem);
        free(r->calls[i].sent_name);
        free(r->calls[i].sent_arguments);
    }
    free(r->calls);
    *r = (struct llm_reply){0};
}

/* DESIGN 5, auto: an unknown model that has made no native call and ends a reply with a python block in it. */
static bool wants_nudge(const struct llm *m, const struct llm_request *q, const struct llm_reply *r)
{
    return m->dialect == LLM_AUTO && !m->native_seen && q->prompts->nudge && !r->n_calls && !r->truncated && !r->refusal
        && r->finish == LLM_FINISH_STOP && answer_has_block(r->text);
}

/* Ask once more; what comes is the reply. A block in it means that this model calls so: the session is in blocks from here. */
static int ask_nudged(struct llm *m, struct exchange *x, struct llm_reply *r, struct error *err)
{
    autofree char *text = xstrdup(r->text);
    if (x->l && x->l->nudged)
        x->l->nudged(x->l->ctx);
    x->nudged_text = text;
    int rc = exchange_run(m, x, r, err);
    x->nudged_text = NULL;
    if (rc == 0 && x->from_block) {
        m->dialect = LLM_BLOCKS;
        exchange_notice(x->l, false, "%s writes its code as text; its python blocks are run from here on", m->o.model);
    }
    return rc;
}

int llm_ask(struct llm *m, const struct llm_request *q, const struct llm_listener *l, struct llm_reply *r, struct error *err)
{
    struct exchange x = {.q = q, .l = l};
    int64_t start = clock_us();
    *r = (struct llm_reply){.usage = {-1, -1, -1, false}};
    int rc = conversation_check(q->conversation, err);
    if (!rc)
        rc = exchange_run(m, &x, r, err);
    if (!rc && wants_nudge(m, q, r))
        rc = ask_nudged(m, &x, r, err);
    if (!rc && x.structured)
        m->native_seen = true;
    if (!r->text)
        r->text = xstrdup("");
    r->seconds = (double)(clock_us() - start) / 1e6;
    return rc;
}
