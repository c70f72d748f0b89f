/* exchange.c - see exchange.h. */
#include "llm/exchange.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/url.h"
#include "llm/adapt.h"
#include "llm/replay.h"
#include "llm/retry.h"
#include "llm/trace.h"

#define AFTER_FINISH_MS \
    3000 /* usage may follow the finish; a server that keeps the connection open is not waited for longer */
#define AFTER_DONE_MS 100 /* the last chunk mark, so that the connection can be used again */

void exchange_notice(const struct llm_listener *l, bool detail, const char *fmt, ...)
{
    if (!l || !l->notice)
        return;
    va_list ap;
    va_start(ap, fmt);
    autofree char *line = xvasprintf(fmt, ap);
    va_end(ap);
    l->notice(l->ctx, detail, line);
}

struct attempt {
    struct reply a;
    struct buf *raw; /* the whole body, for the trace; or NULL */
    struct buf error_body;
    size_t prompt;
};

static bool on_data(void *ctx, const struct http_reply *reply, const char *p, size_t n,
                    struct http_life *life)
{
    struct attempt *t = ctx;
    if (t->raw)
        buf_add(t->raw, p, n);
    if (reply->status >= 300) {
        buf_add(&t->error_body, p, n);
        return true;
    }
    const struct reader *rd = &t->a.reader;
    uint64_t before = rd->content;
    reply_feed(&t->a, p, n);
    if (t->a.enough || rd->failed)
        return false;
    int64_t now = clock_ms();
    if (rd->content != before)
        life->content_at = now;
    if (rd->done && !life->end_by)
        life->end_by = now + AFTER_DONE_MS;
    else if (rd->finished && !rd->done && (rd->content != before || !life->end_by))
        life->end_by = now + AFTER_FINISH_MS;
    return true;
}

static struct request_shape shape_of(const struct llm *m, const struct exchange *x, bool stream)
{
    const struct learnt *k = &m->learnt;
    return (struct request_shape){
        .o = &m->o,
        .origin = m->origin,
        .blocks = k->dialect == LLM_BLOCKS,
        .stream = stream,
        .stream_options = !k->no_stream_options,
        .temperature = !k->no_temperature,
        .effort = adapt_effort(m),
        .reasoning_back = k->thoughts_required ? LLM_BACK_REQUIRED : m->o.reasoning_back,
        .max_tokens_field = k->max_tokens_field,
        .max_tokens = request_max_tokens(&m->o, m->loopback, k->context),
        .nudged_text = x->nudged_text,
        .no_items = k->no_items,
        .stale = k->stale,
        .no_encrypted = k->no_encrypted,
        .no_summary = k->no_summary,
    };
}

/* Prompt and answer must fit the window together. The estimate is rough: only what cannot fit is refused
 * here. */
static char *make_body(const struct llm *m, const struct exchange *x, bool stream, size_t *prompt,
                       struct error *err)
{
    struct request_shape s = shape_of(m, x, stream);
    char *body = request_body(x->q, &s, prompt);
    if (m->learnt.context <= 0)
        return body;
    if ((int64_t)(*prompt / 4) > m->learnt.context) {
        free(body);
        char host[256];
        url_host(m->url, host, sizeof host);
        error_set(err, ERROR_LIMIT, 0,
                  "the context window of %s at %s is too small: about %zu tokens to read, the window is %d\n"
                  "%s",
                  m->o.model, host, *prompt / 4, m->learnt.context, remedy(REMEDY_LESS_CONTEXT, m->o.chat));
        return NULL;
    }
    int64_t left = m->learnt.context - (int64_t)((double)*prompt / REQUEST_BYTES_PER_TOKEN) - 64;
    int least = m->learnt.context / 16;
    if (s.max_tokens > 0 && left < s.max_tokens && s.max_tokens > least) {
        s.max_tokens = left > least ? (int)left : least > 0 ? least : 1;
        free(body);
        body = request_body(x->q, &s, prompt);
    }
    return body;
}

static enum http_end post_traced(struct llm *m, struct attempt *t, struct http_request *q,
                                 struct http_reply *reply, struct failure *f, struct error *err)
{
    static const char *const ends[] = {
        [HTTP_WHOLE] = "whole", [HTTP_STOPPED] = "stopped", [HTTP_LOST] = "lost", [HTTP_ABORTED] = "aborted"};
    struct buf lines = BUF_INIT(HTTP_HEADERS_MAX), raw = BUF_INIT(TRACE_BODY_MAX);
    char url[1024];
    url_show(m->url, url, sizeof url);
    trace_request(m->trace, m->o.api_key, url, q->headers, q->n_headers, q->body, q->len);
    q->header_lines = &lines;
    t->raw = &raw;
    trace_request(m->record, m->o.api_key, url, q->headers, q->n_headers, q->body, q->len);
    enum http_end end = m->replay ? replay_post(m->replay, q, reply, f, err)
                                  : http_post(m->http, m->loop, q, reply, f, err);
    trace_reply(m->trace, m->o.api_key, reply->status, &lines, &raw, ends[end]);
    trace_reply(m->record, m->o.api_key, reply->status, &lines, &raw, ends[end]);
    t->raw = NULL;
    buf_release(&lines);
    buf_release(&raw);
    return end;
}

static enum http_end post(struct llm *m, struct attempt *t, const char *body, bool stream,
                          struct http_reply *reply, struct failure *f, struct error *err)
{
    const char *headers[4];
    size_t n = 0;
    headers[n++] = "Content-Type: application/json";
    headers[n++] = stream ? "Accept: text/event-stream, application/json" : "Accept: application/json";
    if (m->auth)
        headers[n++] = m->auth;
    struct http_request q = {
        .url = m->url,
        .body = body,
        .len = strlen(body),
        .headers = headers,
        .n_headers = n,
        .connect_ms = m->o.connect_ms,
        .idle_ms = m->o.idle_ms,
        .quiet_ms = m->o.quiet_ms,
        .deadline = m->o.deadline,
        .ctx = t,
        .data = on_data,
        .ca_cert = m->o.ca_cert,
    };
    return m->trace || m->record || m->replay ? post_traced(m, t, &q, reply, f, err)
                                              : http_post(m->http, m->loop, &q, reply, f, err);
}

static void estimate_usage(const struct attempt *t, struct llm_reply *r)
{
    if (r->usage.input < 0) {
        r->usage.input = (int64_t)((double)t->prompt / REQUEST_BYTES_PER_TOKEN) + 1;
        r->usage.estimated = true;
    }
    if (r->usage.output < 0) {
        size_t n = strlen(r->text) + (r->reasoning ? strlen(r->reasoning) : 0);
        for (size_t i = 0; i < r->n_calls; i++)
            n += strlen(r->calls[i].call.arguments);
        r->usage.output = (int64_t)((double)n / REQUEST_BYTES_PER_TOKEN) + 1;
        r->usage.estimated = true;
    }
}

/* What the end of the transfer means. 0: r is a reply; 1: f; -1: err. */
static int conclude(struct attempt *t, enum http_end end, const struct http_reply *reply, struct llm_reply *r,
                    struct failure *f)
{
    if (end == HTTP_ABORTED) {
        struct failure ignored;
        reply_finish(&t->a, true, r, &ignored);
        return -1;
    }
    if (end == HTTP_LOST && (!reply->began || reply->status < 200))
        return 1; /* of an answer nothing came but interim ones */
    if (reply->status >= 300 || (reply->status && reply->status < 200)) {
        struct failure_headers h = {reply->content_type, reply->retry_after, reply->retry_after_ms,
                                    reply->should_retry, reply->location};
        failure_from_response(f, (int)reply->status, &h, buf_str(&t->error_body), t->error_body.len,
                              time(NULL));
        bool quoted = f->class == FAILURE_TOOL_USE
                      && !reply_failed_generation(t->a.q, buf_str(&t->error_body), t->error_body.len, r);
        return quoted ? 0 : 1;
    }
    struct failure why = {0};
    bool lost = end == HTTP_LOST;
    if (reply_finish(&t->a, lost, r, &why) == 0)
        return 0;
    if (!lost)
        *f = why;
    else if (t->a.reader.failed && why.class != FAILURE_TRUNCATED)
        *f = why; /* the service said what was wrong before the connection went */
    else if (f->class != FAILURE_PROTOCOL && !f->never)
        f->class = FAILURE_TRUNCATED;
    return 1;
}

static void tell_trouble(struct trace *t, const struct llm_listener *l)
{
    autofree char *line = trace_trouble(t);
    if (line)
        exchange_notice(l, false, "%s", line);
}

/* One attempt; as conclude. shown, reasoned: what was passed on. */
static int attempt(struct llm *m, struct exchange *x, bool stream, struct llm_reply *r, struct failure *f,
                   bool *shown, bool *reasoned, struct error *err)
{
    struct attempt t = {.error_body = BUF_INIT(HTTP_ERROR_MAX)};
    autofree char *body = make_body(m, x, stream, &t.prompt, err);
    if (!body)
        return -1;
    if (m->o.unsent) {
        m->o.unsent(m->o.unsent_ctx, body);
        return error_set(err, ERROR_CANCELLED, 0, "the request was not sent");
    }
    enum reply_mode mode = m->learnt.dialect == LLM_BLOCKS ? REPLY_MODE_BLOCKS
                           : x->nudged_text                ? REPLY_MODE_NUDGED
                                                           : REPLY_MODE_NATIVE;
    struct http_reply reply;
    reply_init(&t.a, mode, x->q, x->l);
    t.a.text_calls.awaited = m->learnt.thoughts_unopened;
    enum http_end end = post(m, &t, body, stream, &reply, f, err);
    tell_trouble(m->trace, x->l);
    tell_trouble(m->record, x->l);
    int rc = conclude(&t, end, &reply, r, f);
    if (rc == 0) {
        /* a call all the same, only told in an error */
        bool quoted = reply.status >= 300 || t.a.reader.failed_generation;
        x->structured = r->n_calls && (t.a.reader.calls.n > 0 || quoted);
        m->learnt.thoughts_unopened = m->learnt.thoughts_unopened || t.a.unsaid;
        x->from_block = !x->structured && t.a.from_block;
    }
    if (rc == 0 || t.a.shown)
        estimate_usage(&t, r); /* a reply that broke off was paid for too */
    *shown = t.a.shown;
    *reasoned = t.a.reasoned;
    reply_release(&t.a);
    buf_release(&t.error_body);
    return rc;
}

static int wait_for(struct llm *m, int ms, struct error *err)
{
    int64_t until = clock_ms() + (m->replay ? 0 : ms); /* what is played back is not worth a wait */
    for (int64_t now; (now = clock_ms()) < until;) {
        if (m->loop && loop_cancelled(m->loop))
            return error_set(err, ERROR_CANCELLED, 0, "interrupted");
        if (m->o.deadline && now >= m->o.deadline)
            return error_set(err, ERROR_LIMIT, 0,
                             "the time for this question is used up (waiting to ask again)");
        int64_t left = until - now;
        if (m->o.deadline && m->o.deadline - now < left)
            left = m->o.deadline - now;
        if (m->loop)
            loop_wait(m->loop, (int)left);
        else
            poll(NULL, 0, (int)left);
    }
    return 0;
}

/* Every wait is shown, so that nobody wonders what the time goes into. */
static void tell_wait(const struct llm *m, const struct exchange *x, struct retry_choice c,
                      const struct failure *f, const struct retry *t)
{
    char host[256], said[250];
    bool rarely = f->class == FAILURE_TOOL_USE || f->once; /* of that kind there is one more try */
    unsigned most = rarely ? t->attempts + 1 : RETRY_MAX + 1;
    url_host(m->url, host, sizeof host);
    failure_brief(f, m->o.api_key, said, sizeof said);
    if (f->status)
        exchange_notice(x->l, false, "%s %s (%d: %s); try %u of %u in %.*f s", host,
                        f->status == 400             ? "refused the model's call"
                        : failure_is_busy(f->status) ? "is busy"
                                                     : "failed",
                        f->status, *said ? said : "no message", t->attempts + 1, most, c.wait_ms < 10000,
                        c.wait_ms / 1000.0);
    else
        exchange_notice(x->l, false, "%s; try %u of %u in %.*f s", *said ? said : "no message",
                        t->attempts + 1, most, c.wait_ms < 10000, c.wait_ms / 1000.0);
}

#define TELL_LOADING_MS 30000

static void tell_loading(const struct llm *m, const struct exchange *x, const struct retry *t)
{
    int64_t waited = clock_ms() - t->poll_since;
    if (waited % TELL_LOADING_MS < RETRY_POLL_MS)
        exchange_notice(x->l, false, "the server is loading %s; waiting, at most 5 minutes%s",
                        *m->o.model ? m->o.model : "the model",
                        waited < RETRY_POLL_MS ? "" : " (it still is)");
}

/* Carry out a decision. 0 go on, 1 there is nothing to try, -1 err. */
static int prepare(struct llm *m, const struct exchange *x, struct retry_choice c, const struct failure *f,
                   const struct retry *t, bool *stream, struct error *err)
{
    char said[250];
    switch (c.what) {
    case RETRY_NO:
        return 1;
    case RETRY_DOWNGRADE:
        return adapt(m, x, f, stream, err);
    case RETRY_WITHOUT_STREAM:
        failure_brief(f, m->o.api_key, said, sizeof said);
        exchange_notice(x->l, true, "the stream broke off (%s); asking again without streaming", said);
        *stream = false;
        return 0;
    case RETRY_POLL:
        if (x->nudged_text) /* there is an answer; what is asked about it is not worth a wait */
            return 1;
        tell_loading(m, x, t);
        return wait_for(m, c.wait_ms, err);
    case RETRY_WAIT:
        if (x->nudged_text || (m->o.deadline && clock_ms() + c.wait_ms > m->o.deadline))
            return 1;
        tell_wait(m, x, c, f, t);
        return wait_for(m, c.wait_ms, err);
    }
    return 1;
}

static double dice(void)
{
    return (double)(clock_us() % 1009) / 1009;
}

static void add_usage(struct llm_usage *sum, const struct llm_usage *u)
{
    sum->input = (sum->input > 0 ? sum->input : 0) + (u->input > 0 ? u->input : 0);
    sum->output = (sum->output > 0 ? sum->output : 0) + (u->output > 0 ? u->output : 0);
    if (u->reasoning >= 0)
        sum->reasoning = (sum->reasoning > 0 ? sum->reasoning : 0) + u->reasoning;
    sum->estimated = sum->estimated || u->estimated;
}

/* Put the reply of the last attempt into r, keeping r's sums. */
static void take(struct llm_reply *r, struct llm_reply *got, bool count)
{
    struct llm_usage usage = r->usage;
    unsigned requests = r->requests;
    double s = r->seconds;
    if (count)
        add_usage(&usage, &got->usage);
    llm_reply_release(r);
    *r = *got;
    *got = (struct llm_reply){0};
    r->usage = usage;
    r->requests = requests + count;
    r->seconds = s;
}

static int give_up(struct llm *m, const struct failure *f, bool shown, struct llm_reply *r, struct error *err)
{
    if (shown && (f->class == FAILURE_TRUNCATED || f->class == FAILURE_NETWORK)) {
        r->truncated = true;
        r->finish = LLM_FINISH_OTHER;
        char said[250];
        failure_brief(f, m->o.api_key, said, sizeof said);
        free(r->cause);
        r->cause = xstrdup(said);
        return 0;
    }
    if (f->class == FAILURE_CONTEXT && f->context > 0)
        m->learnt.context = f->context;
    return failure_error(f, &m->o, m->url, err);
}

int exchange_run(struct llm *m, struct exchange *x, struct llm_reply *r, struct error *err)
{
    struct retry retry = {0};
    bool stream = m->o.stream && !m->learnt.no_stream;
    if (!m->http && !m->replay && !(m->http = http_new(err)))
        return -1;
    adapt_tell_effort(m, x);
    for (;;) {
        struct llm_reply got = {0};
        struct failure f = {0};
        bool shown = false, reasoned = false;
        int rc = attempt(m, x, stream, &got, &f, &shown, &reasoned, err);
        take(r, &got, rc == 0 || shown);
        if (rc == 0) {
            adapt_told_model(m, x, r);
            return 0;
        }
        if (rc < 0)
            return -1;
        adapt_failure(m, &f);
        if (f.class == FAILURE_GONE && !shown && adapt_next_model(m, x, &f)) {
            retry = (struct retry){0};
            stream = m->o.stream && !m->learnt.no_stream;
            continue;
        }
        struct retry_choice c = retry_decide(&retry, &f, shown, stream, clock_ms(), dice());
        int p = prepare(m, x, c, &f, &retry, &stream, err);
        f.tries = retry.attempts + (p > 0);
        if (p > 0)
            return give_up(m, &f, shown, r, err);
        if (p < 0)
            return -1;
        if (f.class == FAILURE_EMPTY_RESULT)
            m->learnt.no_stream = true; /* it will not stream next time either */
        if (reasoned && x->l && x->l->restarted)
            x->l->restarted(x->l->ctx);
    }
}
