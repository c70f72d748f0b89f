/* llm.c - the model that is asked: its options, its URL, and the files of the session. exchange.c asks it. */
#include "llm/curl_load.h"
#include "llm/llm.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/url.h"
#include "wire/api.h"
#include "wire/request.h"
#include "llm/learnt.h"
#include "llm/private.h"
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

int llm_use_api(struct llm *m, enum model_api api, struct error *err)
{
    char *url = api_url(api, m->o.base_url, m->o.model, err);
    if (!url)
        return -1;
    free(m->url);
    free(m->origin);
    m->url = url;
    m->o.api = m->learnt->api = api;
    m->origin = learnt_key(&m->o);
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
    m->learnt = learnt_about(&m->all, &m->o, m->s.kept);
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

bool llm_preload(void)
{
    return curl_load(NULL) != NULL;
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
    http_keep(m->http);
    trace_close(m->trace);
    trace_close(m->record);
    replay_close(m->replay);
    endpoint_release(m);
    options_release(&m->o);
    learnt_release(&m->all);
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
bool llm_in_blocks(const struct llm *m)
{
    return m->learnt->dialect == DIALECT_BLOCKS;
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

void exchange_notice(const struct exchange *x, bool detail, const char *fmt, ...)
{
    const struct llm_listener *l = x->l;
    if (!l || !l->notice)
        return;
    va_list ap;
    va_start(ap, fmt);
    autofree char *line = xvasprintf(fmt, ap);
    va_end(ap);
    l->notice(l->ctx, detail, line);
}
