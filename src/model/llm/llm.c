/* llm.c - the front of this room: options, what the session learnt about an endpoint, and one reply from one
 * exchange. */
#include "llm/llm.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/url.h"
#include "base/value.h"
#include "wire/api.h"
#include "llm/adapt.h"
#include "llm/exchange.h"
#include "llm/learnt.h"
#include "llm/replay.h"
#include "llm/trace.h"

static void options_release(struct llm_options *o)
{
    free((char *)o->provider);
    free((char *)o->base_url);
    free((char *)o->model);
    free_secret((char *)o->api_key);
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
    to->reasoning_effort = xstrdup(from->reasoning_effort);
}

static void endpoint_release(struct llm *m)
{
    free(m->url);
    free(m->origin);
    free_secret(m->auth);
    m->url = m->origin = m->auth = NULL;
}

/* Refuses a line break in a key, because what follows it would be another header. */
static int key_check(const struct llm_options *o, struct error *err)
{
    for (const char *p = o->api_key; p && *p; p++)
        if (iscntrl((unsigned char)*p))
            return error_set(err, ERROR_USAGE, 0,
                             "the API key%s%s contains a line break or another control character",
                             o->key_name ? " from " : "", o->key_name ? o->key_name : "");
    return 0;
}

#define KEPT_BLOCKS       "blocks"
#define KEPT_NATIVE       "native"
#define KEPT_RESPONSES    "responses"
#define KEPT_NO_RESPONSES "none"
#define KEPT_GONE         "gone"

static void recall_dialect(struct llm *m)
{
    autofree char *dialect = learnt_load(m->s.kept, m->key, "dialect");
    if (dialect && !strcmp(dialect, KEPT_BLOCKS)) {
        m->learnt->dialect = DIALECT_BLOCKS;
        m->learnt->kept = KEPT_BLOCKS;
    } else if (dialect && !strcmp(dialect, KEPT_NATIVE)) {
        m->learnt->native_seen = true;
        m->learnt->kept = KEPT_NATIVE;
    }
}

static void recall_responses(struct llm *m)
{
    autofree char *tools = learnt_load(m->s.kept, m->key, "tools");
    if (tools && !strcmp(tools, KEPT_RESPONSES)) {
        m->learnt->api = API_RESPONSES;
    } else if (tools && !strcmp(tools, KEPT_NO_RESPONSES)) {
        adapt_without_responses(m);
    }
}

/* Recalls what another session found out within the last day. What the user or the profile says need not be
 * found out. */
static void recall_kept(struct llm *m)
{
    m->learnt->gone = llm_is_gone(&m->o, m->s.kept);
    if (m->learnt->dialect == DIALECT_AUTO)
        recall_dialect(m);
    if (m->learnt->api == API_CHAT_COMPLETIONS)
        recall_responses(m);
}

void llm_keep_tools(struct llm *m)
{
    learnt_store(m->s.kept, m->key, "tools",
                 m->learnt->api == API_RESPONSES ? KEPT_RESPONSES : KEPT_NO_RESPONSES);
}

/* Keeps what was found out here for other sessions, for a day. What the user or the profile says need not be
 * found out. */
static void keep_dialect(struct llm *m)
{
    struct llm_learnt *k = m->learnt;
    const char *dialect = k->dialect == DIALECT_BLOCKS ? KEPT_BLOCKS : k->native_seen ? KEPT_NATIVE : NULL;
    if (m->o.facts.dialect != DIALECT_AUTO || !dialect || (k->kept && !strcmp(k->kept, dialect)))
        return;
    learnt_store(m->s.kept, m->key, "dialect", dialect);
    k->kept = dialect;
}

/* Takes ownership of key. What this session learnt of an earlier model is used again. */
static struct learnt_of *find_learnt(struct llm *m, char *key, bool *fresh)
{
    for (size_t i = 0; i < m->n_all; i++)
        if (!strcmp(m->all[i]->key, key)) {
            free(key);
            return m->all[i];
        }
    struct learnt_of *l = xcalloc(1, sizeof *l);
    l->key = key;
    m->all = xreallocarray(m->all, m->n_all + 1, sizeof *m->all);
    m->all[m->n_all++] = l;
    *fresh = true;
    return l;
}

/* Takes values from the options and, where they leave something open, from what was learnt. */
static void recall(struct llm *m, char *key)
{
    const struct llm_options *o = &m->o;
    bool fresh = false;
    struct learnt_of *l = find_learnt(m, key, &fresh);
    m->learnt = &l->learnt;
    m->key = l->key;
    if (fresh) {
        l->learnt.api = o->api;
        l->learnt.max_tokens_field = o->service.max_completion_tokens ? MAX_TOKENS_NEW : MAX_TOKENS_OLD;
    }
    if (o->facts.context > 0)
        l->learnt.context = o->facts.context;
    if (o->facts.dialect != DIALECT_AUTO)
        l->learnt.dialect = o->facts.dialect;
    if (fresh)
        recall_kept(m);
}

static char *key_of(const struct llm_options *o)
{
    autofree char *shown = url_show(o->base_url);
    int len;
    const char *api = value_choice_at(MODEL_APIS, o->api, &len);
    return xasprintf("%s %s%s%.*s", shown, o->model ? o->model : "", o->api ? " " : "", o->api ? len : 0,
                     api);
}

bool llm_is_gone(const struct llm_options *o, const char *kept)
{
    autofree char *key = key_of(o), *model = learnt_load(kept, key, "model");
    return model && !strcmp(model, KEPT_GONE);
}

void llm_keep_gone(struct llm *m)
{
    m->learnt->gone = true;
    learnt_store(m->s.kept, m->key, "model", KEPT_GONE);
}

int llm_use_api(struct llm *m, enum model_api api, struct error *err)
{
    char *url = api_url(api, m->o.base_url, m->o.model, err);
    if (!url)
        return -1;
    free(m->url);
    free(m->origin);
    m->url = url;
    m->o.api = m->learnt->api = api;
    m->origin = key_of(&m->o);
    m->loopback = url_is_loopback(url);
    return 0;
}

int llm_reconfigure(struct llm *m, const struct llm_options *o, struct error *err)
{
    autofree char *url = NULL;
    if (key_check(o, err) || !(url = api_url(o->api, o->base_url, o->model ? o->model : "", err)))
        return -1;
    struct llm_options copy;
    options_copy(&copy, o); /* before the release, because o may point into our own strings */
    options_release(&m->o);
    endpoint_release(m);
    m->o = copy;
    m->configured = copy.api;
    if (m->o.api_key)
        m->auth = m->o.key_header ? xasprintf("api-key: %s", m->o.api_key)
                                  : xasprintf("Authorization: Bearer %s", m->o.api_key);
    recall(m, key_of(&m->o));
    return llm_use_api(m, m->learnt->api, err);
}

/* Opens the recording to play back first, because a new recording may empty the same file. */
static int open_files(struct llm *m, const struct llm_session *s, struct error *err)
{
    if ((s->replay && !(m->replay = replay_open(s->replay, err)))
        || (s->trace && !(m->trace = trace_open(s->trace, false, err)))
        || (s->record && !(m->record = trace_open(s->record, true, err))))
        return -1;
    trace_of(m->trace, s->agent);
    return 0;
}

struct llm *llm_new(const struct llm_options *o, const struct llm_session *s, struct loop *loop,
                    struct error *err)
{
    struct llm *m = xcalloc(1, sizeof *m);
    m->loop = loop;
    m->s = *s;
    m->s.ca_cert = xstrdup(s->ca_cert);
    m->s.kept = xstrdup(s->kept);
    m->s.connect_ms = s->connect_ms > 0 ? s->connect_ms : 10000;
    m->s.idle_ms = s->idle_ms > 0 ? s->idle_ms : 300000;
    m->s.quiet_ms = s->quiet_ms > 0 ? s->quiet_ms : 600000;
    if (open_files(m, s, err) || llm_reconfigure(m, o, err)) {
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
    for (size_t i = 0; i < m->n_all; i++) {
        free(m->all[i]->key);
        free(m->all[i]);
    }
    free(m->all);
    free((char *)m->s.ca_cert);
    free((char *)m->s.kept);
    free(m);
}

void llm_set_deadline(struct llm *m, int64_t deadline)
{
    m->s.deadline = deadline;
}
void llm_set_context(struct llm *m, int context)
{
    m->learnt->context = m->o.facts.context = context;
}
bool llm_sees(const struct llm *m)
{
    return m->o.facts.vision && !m->learnt->no_images && m->learnt->api != API_WORKERS_AI;
}
size_t llm_first_image(const struct llm *m, const struct conversation *c)
{
    return request_first_image(c, m->learnt);
}
const char *llm_model(const struct llm *m)
{
    return m->o.model;
}
const char *llm_origin(const struct llm *m)
{
    return m->origin;
}
bool llm_output_answers(const struct llm *m)
{
    return m->o.facts.output_answers && m->learnt->dialect == DIALECT_BLOCKS;
}
const struct model_facts *llm_facts(const struct llm *m)
{
    return &m->o.facts;
}

int llm_context(const struct llm *m)
{
    return m->learnt->context;
}

/* In auto: an unknown model that has made no native call ends a reply that has a Python block in it, and
 * there is a tool that could run it. */
static bool is_unsure(const struct llm *m, const struct llm_request *q, const struct llm_reply *r)
{
    bool takes_code = false;

    for (size_t i = 0; i < q->tools.n; i++)
        takes_code |= q->tools.v[i].code_key != NULL;
    return takes_code && m->learnt->dialect == DIALECT_AUTO && !m->learnt->native_seen && !q->about
           && q->prompts->nudge && !r->n_calls && !r->truncated && !r->refusal && r->finish == LLM_FINISH_STOP
           && reply_has_block(r->text);
}

/* Learns from this reply how the model calls. When it sends a block after being asked whether code is to be
 * run, its dialect is blocks. */
static void learn_dialect(const struct exchange *x)
{
    struct llm *m = x->m;
    if (x->structured)
        m->learnt->native_seen = true;
    if (x->q->about && x->from_block && m->learnt->dialect != DIALECT_BLOCKS) {
        m->learnt->dialect = DIALECT_BLOCKS;
        exchange_notice(x, false, "%s writes its code as text; its python blocks are run from now on",
                        m->o.model);
    }
    keep_dialect(m);
}

int llm_ask(struct llm *m, const struct llm_request *q, const struct llm_listener *l, struct llm_reply *r,
            struct error *err)
{
    struct exchange x = {.m = m, .q = q, .l = l};
    int64_t start = clock_us();
    *r = (struct llm_reply){.usage = LLM_USAGE_UNKNOWN};
    int rc = conversation_check(q->conversation, err);
    if (!rc)
        rc = exchange_run(&x, r, err);
    if (!rc) {
        r->unsure = is_unsure(m, q, r);
        learn_dialect(&x);
    }
    if (!r->text)
        r->text = xstrdup("");
    r->seconds = (double)(clock_us() - start) / 1e6;
    return rc;
}
