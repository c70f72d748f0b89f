/* exchange.c - llm_ask: one reply of the model by as many tries as it takes. A try is a body, a transfer and
 * its answer; after a failure the request is changed (adapt.c), or repeated (retry.c), or given up.
 *
 * RULE: Bytes left over from a bad reply are not read as the next one: its connection is closed.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/url.h"
#include "llm/adapt.h"
#include "llm/learnt.h"
#include "llm/llm.h"
#include "llm/private.h"
#include "llm/replay.h"
#include "llm/trace.h"
#include "process/loop.h"
#include "wire/reply.h"
#include "wire/request.h"

#define AFTER_FINISH_MS \
    3000 /* ms; usage may follow the finish, and the server may then keep the connection open */
#define AFTER_DONE_MS 100 /* ms for the last chunk mark, so that the connection can be used again */

/* Is it asked whether the code of an earlier reply is to be run? */
static bool asks_to_run(const struct llm_request *q)
{
    return q->about && !q->objection;
}

static void tell_phase(const struct exchange *x, struct phase_now now)
{
    if (x->l && x->l->phase)
        x->l->phase(x->l->ctx, &now);
}

/* One try, and its outcome. */
struct exchange_try {
    struct exchange *x;
    struct reply a;
    struct buf *raw; /* the whole body, for the trace; or NULL */
    struct buf error_body;
    size_t prompt;
    struct http_reply http;
    struct llm_reply got;
    struct failure f;
    struct phase_now phase; /* the last one that was told of the reply */
};

static void watch_phase(struct exchange_try *t)
{
    struct phase_now now;

    if (!reply_phase(&t->a, &now) || (now.phase == t->phase.phase && now.lines == t->phase.lines))
        return;
    t->phase = now;
    tell_phase(t->x, now);
}

static bool on_reply_data(void *ctx, struct http_reply *reply, const char *p, size_t n)
{
    struct exchange_try *t = ctx;
    struct http_life *life = &reply->life;
    if (t->raw)
        buf_add(t->raw, p, n);
    if (reply->head.status >= 300) {
        buf_add(&t->error_body, p, n);
        return true;
    }
    const struct reader *rd = &t->a.reader;
    uint64_t before = rd->content;
    reply_feed(&t->a, p, n);
    if (t->a.enough || rd->failed)
        return false;
    int64_t now = clock_ms();
    if (rd->content != before) {
        life->content_at = now;
        watch_phase(t);
    }
    if (rd->done && !life->end_by)
        life->end_by = now + AFTER_DONE_MS;
    else if (rd->finished && !rd->done && (rd->content != before || !life->end_by))
        life->end_by = now + AFTER_FINISH_MS;
    return true;
}

/* Prompt and answer must fit the window together. The estimate is rough, so only what cannot possibly fit is
 * refused here. */
static char *make_body(const struct exchange *x, size_t *prompt, struct error *err)
{
    const struct llm *m = x->m;
    struct request_shape s = {.o = &m->o,
                              .learnt = m->learnt,
                              .origin = m->origin,
                              .stream = x->stream,
                              .max_tokens = request_max_tokens(&m->o, m->loopback, m->learnt->context)};
    char *body = request_body(x->q, &s, prompt);
    if (m->learnt->context <= 0)
        return body;
    if ((int64_t)(*prompt / 4) > m->learnt->context) {
        free(body);
        autofree char *host = url_host(m->url);
        return error_null(
            err, ERROR_CONTEXT, 0,
            "the context window of %s at %s is too small: about %zu tokens to read, the window is %d\n"
            "%s",
            m->o.model, host, *prompt / 4, m->learnt->context, remedy(REMEDY_LESS_CONTEXT, m->o.chat));
    }
    int64_t left = m->learnt->context - (int64_t)((double)*prompt / REQUEST_BYTES_PER_TOKEN) - 64;
    int least = m->learnt->context / 16;
    if (s.max_tokens > 0 && left < s.max_tokens && s.max_tokens > least) {
        s.max_tokens = left > least ? (int)left : least > 0 ? least : 1;
        free(body); /* before the next is made: it may have many MiB */
        body = request_body(x->q, &s, prompt);
    }
    return body;
}

static enum http_end post_traced(struct exchange_try *t, struct http_transfer *q, struct error *err)
{
    static const char *const ends[] = {
        [HTTP_WHOLE] = "whole", [HTTP_STOPPED] = "stopped", [HTTP_LOST] = "lost", [HTTP_ABORTED] = "aborted"};
    const struct llm *m = t->x->m;
    struct buf lines autorelease(buf_release) = BUF_INIT(HTTP_HEADERS_MAX),
                     raw autorelease(buf_release) = BUF_INIT(TRACE_BODY_MAX);
    autofree char *url = url_show(m->url);
    trace_request(m->trace, m->o.api_key, url, q);
    trace_request(m->record, m->o.api_key, url, q);
    q->header_lines = &lines;
    t->raw = &raw;
    enum http_end end = m->replay ? replay_post(m->replay, q, &t->http, err)
                                  : http_post(m->http, q, &t->http, err);
    struct trace_reply reply = {t->http.head.status, &lines, &raw, ends[end]};
    trace_reply(m->trace, m->o.api_key, &reply);
    trace_reply(m->record, m->o.api_key, &reply);
    t->raw = NULL;
    return end;
}

static enum http_end post(struct exchange_try *t, const char *body, struct error *err)
{
    const struct llm *m = t->x->m;
    const char *headers[] = {
        "Content-Type: application/json",
        t->x->stream ? "Accept: text/event-stream, application/json" : "Accept: application/json", m->auth};
    struct http_transfer q = {
        .url = m->url,
        .body = body,
        .len = strlen(body),
        .headers = headers,
        .n_headers = m->auth ? 3 : 2,
        .connect_ms = m->s.connect_ms,
        .idle_ms = m->s.idle_ms,
        .quiet_ms = m->s.quiet_ms,
        .deadline = m->s.deadline,
        .loop = m->loop,
        .ctx = t,
        .data = on_reply_data,
        .ca_cert = m->s.ca_cert,
    };
    return m->trace || m->record || m->replay ? post_traced(t, &q, err)
                                              : http_post(m->http, &q, &t->http, err);
}

static void estimate_usage(const struct exchange_try *t, struct llm_reply *r)
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

/* Decides what the end of the transfer means. 0: t->got is a reply; 1: t->f says what failed; -1: err. */
static int conclude(struct exchange_try *t, enum http_end end)
{
    const struct failure_head *head = &t->http.head;
    struct failure why = {0};
    bool lost = end == HTTP_LOST;
    if (end == HTTP_ABORTED) {
        reply_finish(&t->a, true, &t->got, &why);
        return -1;
    }
    t->f = t->http.failure;
    if (lost && (!t->http.began || head->status < 200))
        return 1; /* nothing of the final answer came */
    if (head->status >= 300 || (head->status && head->status < 200)) {
        const char *body = buf_str(&t->error_body);
        size_t len = t->error_body.len;
        failure_from_response(&t->f, head, body, len);
        return t->f.class != FAILURE_TOOL_USE || reply_failed_generation(t->a.q, body, len, &t->got);
    }
    if (reply_finish(&t->a, lost, &t->got, &why) == 0)
        return 0;
    /* When the connection was lost, prefer the error that the service reported before. */
    if (!lost || (t->a.reader.failed && why.class != FAILURE_TRUNCATED))
        t->f = why;
    else if (t->f.class != FAILURE_PROTOCOL && !t->f.never)
        t->f.class = FAILURE_TRUNCATED;
    return 1;
}

static void tell_trouble(const struct exchange *x, struct trace *t)
{
    autofree char *line = trace_trouble(t);
    if (line)
        exchange_notice(x, false, "%s", line);
}

/* Learns about the model from a good reply. */
static void learn(struct exchange_try *t)
{
    struct exchange *x = t->x;
    /* It is still a call, though the service quoted it in an error. */
    bool quoted = t->http.head.status >= 300 || t->a.reader.failed_generation;
    x->structured = t->got.n_calls && (t->a.reader.calls.n > 0 || quoted);
    x->from_block = !x->structured && t->a.from_block;
    x->m->learnt->thoughts_unopened |= t->a.retracted;
    if (x->m->learnt->tools_found)
        learnt_keep_tools(x->m->s.kept, x->m->learnt);
    x->m->learnt->tools_found = false;
}

/* Returns as conclude does. The caller releases t. */
static int attempt(struct exchange_try *t, struct error *err)
{
    const struct llm *m = t->x->m;
    autofree char *body = make_body(t->x, &t->prompt, err);
    if (!body)
        return -1;
    if (m->s.unsent) {
        m->s.unsent(m->s.unsent_ctx, body);
        return error_set(err, ERROR_CANCELLED, 0, "the request was not sent");
    }
    enum reply_mode mode = m->learnt->dialect == DIALECT_BLOCKS ? REPLY_MODE_BLOCKS
                           : asks_to_run(t->x->q)               ? REPLY_MODE_NUDGED
                                                                : REPLY_MODE_NATIVE;
    reply_init(&t->a, mode, t->x->q, t->x->l);
    t->a.text_calls.awaited = m->learnt->thoughts_unopened;
    if (!t->x->retry.poll_since) /* else it is still loading the model, as far as is known */
        tell_phase(t->x, (struct phase_now){.phase = PHASE_ASKING});
    enum http_end end = post(t, body, err);
    tell_trouble(t->x, m->trace);
    tell_trouble(t->x, m->record);
    int rc = conclude(t, end);
    if (rc == 0)
        learn(t);
    if (rc == 0 || t->a.shown)
        estimate_usage(t, &t->got); /* a reply that broke off was paid for too */
    return rc;
}

static void attempt_release(struct exchange_try *t)
{
    reply_release(&t->a);
    llm_reply_release(&t->got);
    buf_release(&t->error_body);
}

/* Shows every wait, so that nobody wonders where the time goes. */
static void tell_wait(const struct exchange *x, const struct failure *f, int wait_ms)
{
    char said[250];
    autofree char *host = url_host(x->m->url);
    bool rarely = f->class == FAILURE_TOOL_USE || f->once; /* such failures get only one more try */
    unsigned tried = x->retry.attempts + 1;
    failure_brief(f, x->m->o.api_key, said, sizeof said);
    const char *what = f->status == 400             ? "refused the model's tool call"
                       : failure_is_busy(f->status) ? "is busy"
                                                    : "failed";
    bool says_more = *said && !(f->status == 429 && strcasestr(said, "rate limit"));
    autofree char *trouble = !f->status         ? xstrdup(*said ? said : "No message")
                             : f->status == 429 ? xasprintf("Rate limit reached at %s", host)
                                                : xasprintf("%s %s", host, what);
    autofree char *status = f->status ? xasprintf(" (%d%s%s)", f->status, says_more ? ": " : "",
                                                  says_more ? said : "")
                                      : xstrdup("");
    autofree char *wait = failure_wait_text(wait_ms, tried, rarely ? tried : RETRY_MAX + 1);

    exchange_notice(x, false, "%s%s. %s", trouble, status, wait);
}

#define TELL_LOADING_MS 30000

static void tell_loading(const struct exchange *x)
{
    const char *model = x->m->o.model;
    int64_t waited = clock_ms() - x->retry.poll_since;
    if (waited % TELL_LOADING_MS < RETRY_POLL_MS)
        exchange_notice(x, false, "the server is loading %s; waiting up to 5 minutes%s",
                        *model ? model : "the model", waited < RETRY_POLL_MS ? "" : " (still loading)");
}

/* Carries out a decision. 0: go on; 1: there is nothing to try; -1: err. */
static int prepare_next_try(struct exchange *x, struct retry_choice c, const struct failure *f,
                            struct error *err)
{
    char said[250];
    bool waits = c.what == RETRY_POLL || c.what == RETRY_WAIT;
    int64_t deadline = c.what == RETRY_WAIT ? x->m->s.deadline : 0;
    /* There is an answer already, so the question about it is not worth a wait. */
    if (c.what == RETRY_NO || (waits && asks_to_run(x->q)) || (deadline && clock_ms() + c.wait_ms > deadline))
        return 1;
    if (c.what == RETRY_DOWNGRADE)
        return adapt(x, f, err);
    if (c.what == RETRY_WITHOUT_STREAM) {
        failure_brief(f, x->m->o.api_key, said, sizeof said);
        exchange_notice(x, true, "the stream broke off (%s); asking again without streaming", said);
        x->stream = false;
        return 0;
    }
    if (c.what == RETRY_POLL) {
        tell_phase(x, (struct phase_now){.phase = PHASE_LOADING});
        tell_loading(x);
    } else {
        tell_wait(x, f, c.wait_ms);
        tell_phase(x, (struct phase_now){.phase = PHASE_RETRYING, .until = clock_ms() + c.wait_ms});
    }
    /* playing back a recording needs no wait */
    return retry_wait(x->m->loop, x->m->replay ? 0 : c.wait_ms, x->m->s.deadline, err);
}

/* Adds a number of tokens, where -1 means that it is unknown. */
static void add_tokens(int64_t *sum, int64_t n)
{
    if (n >= 0)
        *sum = n + (*sum > 0 ? *sum : 0);
}

static void add_usage(struct llm_usage *sum, const struct llm_usage *u)
{
    add_tokens(&sum->input, u->input);
    add_tokens(&sum->output, u->output);
    add_tokens(&sum->reasoning, u->reasoning);
    add_tokens(&sum->cached, u->cached);
    sum->estimated = sum->estimated || u->estimated;
}

/* Moves the reply of the last attempt into r, but keeps r's sums. */
static void take_reply(struct llm_reply *r, struct llm_reply *got, bool count)
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

static int give_up_exchange(struct exchange_try *t, struct llm_reply *r, struct error *err)
{
    struct llm *m = t->x->m;
    const struct failure *f = &t->f;
    if (t->a.shown && (f->class == FAILURE_TRUNCATED || f->class == FAILURE_NETWORK)) {
        r->truncated = true;
        r->finish = LLM_FINISH_OTHER;
        char said[250];
        failure_brief(f, m->o.api_key, said, sizeof said);
        xreplace(&r->cause, xstrdup(said));
        return 0;
    }
    if (f->class == FAILURE_CONTEXT && f->context > 0)
        m->learnt->context = f->context;
    return failure_error(f, &m->o, m->url, err);
}

static void begin_exchange(struct exchange *x)
{
    x->retry = (struct retry){0};
    x->stream = x->m->o.stream && !x->m->learnt->no_stream;
}

/* Makes one try and decides what follows. 0: r is the answer; 1: try again; -1: err. */
static int try_once(struct exchange *x, struct exchange_try *t, struct llm_reply *r, struct error *err)
{
    struct llm *m = x->m;
    struct failure *f = &t->f;
    int rc = attempt(t, err);
    bool shown = t->a.shown;
    take_reply(r, &t->got, rc == 0 || shown);
    if (rc == 0)
        adapt_tell_model(x, r);
    if (rc <= 0)
        return rc;
    if (m->http)
        http_forget_connections(m->http);
    adapt_failure(x, f);
    if (f->class == FAILURE_GONE && !shown && adapt_next_model(x, f)) {
        begin_exchange(x);
        return 1;
    }
    struct retry_now now = {shown, x->stream, clock_ms(), retry_jitter()};
    struct retry_choice c = retry_decide(&x->retry, f, now);
    int p = prepare_next_try(x, c, f, err);
    f->tries = x->retry.attempts + (p > 0);
    if (p)
        return p < 0 ? -1 : give_up_exchange(t, r, err);
    if (f->class == FAILURE_EMPTY_RESULT)
        m->learnt->no_stream = true; /* it will not stream the next time either */
    if (t->a.reasoned && x->l && x->l->restarted)
        x->l->restarted(x->l->ctx);
    return 1;
}

/* Adds to r's usage and requests, and replaces the rest of r. */
static int run_exchange(struct exchange *x, struct llm_reply *r, struct error *err)
{
    int rc;
    if (!x->m->http && !x->m->replay && !(x->m->http = http_take(err)))
        return -1;
    begin_exchange(x);
    adapt_tell_unsent(x);
    do {
        struct exchange_try t = {.x = x, .error_body = BUF_INIT(HTTP_ERROR_MAX)};
        rc = try_once(x, &t, r, err);
        attempt_release(&t);
    } while (rc > 0);
    return rc;
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
    if (asks_to_run(x->q) && x->from_block && m->learnt->dialect != DIALECT_BLOCKS) {
        m->learnt->dialect = DIALECT_BLOCKS;
        exchange_notice(x, false, "%s writes its code as text; its python blocks are run from now on",
                        m->o.model);
    }
    learnt_keep_dialect(m->s.kept, &m->o, m->learnt);
}

int llm_ask(struct llm *m, const struct llm_request *q, const struct llm_listener *l, struct llm_reply *r,
            struct error *err)
{
    struct exchange x = {.m = m, .q = q, .l = l};
    int64_t start = clock_us();
    *r = (struct llm_reply){.usage = LLM_USAGE_UNKNOWN};
    int rc = conversation_check(q->conversation, err);
    if (!rc)
        rc = run_exchange(&x, r, err);
    if (!rc) {
        r->unsure = is_unsure(m, q, r);
        learn_dialect(&x);
    }
    if (!r->text)
        r->text = xstrdup("");
    r->seconds = (double)(clock_us() - start) / 1e6;
    return rc;
}
