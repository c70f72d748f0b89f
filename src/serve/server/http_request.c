/* http_request.c - the functions by which a handler reads a request and answers it.
 *
 * RULE: What every URL of ours in an answer begins with is decided in one place (http_request_base).
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/percent.h"
#include "json/json.h"
#include "process/loop.h"
#include "server/media.h"
#include "server/private.h"
#include "server/questions_private.h"

struct loop *http_request_loop(const struct http_request *q)
{
    return q->s->o.loop;
}

struct runners *http_request_runners(const struct http_request *q)
{
    return q->s->o.runners;
}

void http_request_made(struct http_request *q, const struct lease *h)
{
    memcpy(q->made, lease_id(h), sizeof q->made);
}

struct server *http_request_server(const struct http_request *q)
{
    return q->s;
}

const struct route *http_request_route(const struct http_request *q)
{
    return q->route;
}

const char *http_request_param(const struct http_request *q, const char *name)
{
    for (size_t i = 0; i < q->params.n; i++)
        if (q->params.at[i].name_len == strlen(name)
            && !memcmp(q->params.at[i].name, name, q->params.at[i].name_len))
            return q->params.at[i].value;
    return "";
}

const char *http_request_query(const struct http_request *q, const char *name)
{
    struct http_request *keeps = (struct http_request *)q; /* only the cache of decoded values changes */

    for (const char *at = q->query; *at; at += strcspn(at, "&"), at += *at == '&') {
        size_t len = strcspn(at, "&"), key = strcspn(at, "=&");
        autofree char *found = percent_decode(at, key, true);

        if (!found || strcmp(found, name) != 0)
            continue;
        autofree char *value = percent_decode(at + key + (key < len), len - key - (key < len), true);
        if (!value)
            return NULL;
        argv_push(&keeps->queries, value);
        return q->queries.v[q->queries.n - 1];
    }
    return NULL;
}

const char *http_request_header(const struct http_request *q, const char *name)
{
    return q->s->mhd->lookup_connection_value(q->c->mhd, MHD_HEADER_KIND, name);
}

const char *http_request_cookie(const struct http_request *q, const char *name)
{
    return q->s->mhd->lookup_connection_value(q->c->mhd, MHD_COOKIE_KIND, name);
}

const struct json *http_request_body(const struct http_request *q)
{
    return q->body;
}

struct json *http_request_take_body(struct http_request *q)
{
    return steal(&q->body);
}

const char *http_request_text(const struct http_request *q, size_t *len)
{
    *len = q->text.len;
    return buf_str(&q->text.memory);
}

const char *http_request_base(const struct http_request *q)
{
    return q->s->o.public_url ? q->s->o.public_url : q->base;
}

bool http_request_has_token(const struct http_request *q)
{
    return q->token >= 0;
}

const char *http_request_client(const struct http_request *q)
{
    assert(q->client);
    return q->client;
}

bool http_request_wants_stream(const struct http_request *q)
{
    const char *accept = http_request_header(q, "Accept");

    return q->route->stream && accept && strcasestr(accept, q->route->stream);
}

void http_request_later(struct http_request *q, void (*gone)(void *ctx), void *ctx)
{
    q->gone = gone;
    q->gone_ctx = ctx;
}

void http_request_waits(struct http_request *q, bool waits)
{
    unsigned *own = q->token >= 0 ? &q->s->of_token[q->token] : NULL;

    if (q->counted == !waits)
        return;
    q->counted = !waits;
    q->s->in_flight += waits ? -1u : 1u;
    if (own)
        *own += waits ? -1u : 1u;
}

void http_request_release(struct http_request *q)
{
    loop_timer_stop(q->s->o.loop, q);
    free(q->method);
    free(q->path);
    free(q->query);
    free(q->base);
    free(q->secret);
    pattern_release(&q->params);
    body_release(q);
    spill_release(&q->out);
    argv_release(&q->queries);
    argv_release(&q->headers);
}

/* Headers of every answer: no browser is to store it, guess its type, show it in a frame or run it. */
static const char *const always[][2] = {
    {"X-Content-Type-Options", "nosniff"},
    {"Cache-Control", "no-store"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Frame-Options", "DENY"},
};

static void respond(struct http_request *q, int status, const char *type, struct MHD_Response *response)
{
    const struct mhd_api *mhd = q->s->mhd;

    if (q->answered || q->lost || !response) {
        if (response)
            mhd->destroy_response(response);
        q->answered = true;
        return;
    }
    if (type)
        mhd->add_response_header(response, "Content-Type", type);
    for (size_t i = 0; i < countof(always); i++)
        mhd->add_response_header(response, always[i][0], always[i][1]);
    for (size_t i = 0; i + 1 < q->headers.n; i += 2)
        mhd->add_response_header(response, q->headers.v[i], q->headers.v[i + 1]);
    if (q->c->close || q->s->draining)
        mhd->add_response_header(response, "Connection", "close");
    q->answered = true;
    q->status = status;
    q->response = response;
    http_request_wake(q);
}

/* Copies text. A long one waits on the disk until the client has read it. */
static struct MHD_Response *text_response(const struct http_request *q, const char *text, size_t len)
{
    struct spill s autorelease(spill_release) = SPILL_INIT(0);

    int fd = len > SPILL_MEMORY && spill_add(&s, text, len, NULL) == 0 ? spill_take_fd(&s) : -1;
    if (fd >= 0)
        return q->s->mhd->create_response_from_fd64(len, fd);
    return q->s->mhd->create_response_from_buffer(len, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
}

void answer_text(struct http_request *q, int status, const char *type, const char *text, size_t len)
{
    respond(q, status, type, text_response(q, text, len));
}

/* The last event of a stream. Takes body. */
static void end_events(struct http_request *q, const char *event, struct json *body)
{
    stream_sse(q, event, body);
    json_free(body);
    stream_end(q);
}

void answer_json(struct http_request *q, int status, struct json *body)
{
    if (q->streams) {
        end_events(q, "answer", body);
        return;
    }
    autofree char *text = body ? json_print(body) : xstrdup("");

    json_free(body);
    respond(q, status, *text ? "application/json" : NULL, text_response(q, text, strlen(text)));
}

void answer_header(struct http_request *q, const char *name, const char *value)
{
    argv_pushl(&q->headers, name, value, NULL);
}

/* The code for each status, where the handler gives none. */
static const struct {
    int status;
    const char *code;
} codes[] = {
    {400, "BAD_REQUEST"},        {401, "UNAUTHORIZED"},
    {403, "FORBIDDEN"},          {404, "NOT_FOUND"},
    {405, "METHOD_NOT_ALLOWED"}, {408, "TIMEOUT"},
    {409, "CONFLICT"},           {410, "SANDBOX_EXPIRED"},
    {413, "TOO_LARGE"},          {415, "UNSUPPORTED_MEDIA_TYPE"},
    {422, "INVALID_ARGUMENT"},   {429, "TOO_MANY_REQUESTS"},
    {501, "NOT_IMPLEMENTED"},    {502, "UPSTREAM_FAILED"},
    {503, "UNAVAILABLE"},        {507, "SANDBOX_FULL"},
};

static const char *code_of(int status)
{
    for (size_t i = 0; i < countof(codes); i++)
        if (codes[i].status == status)
            return codes[i].code;
    return "INTERNAL";
}

char *failure_text(const struct route *r, int status, const char *code, const char *detail)
{
    if (!code)
        code = code_of(status);
    autojson struct json *body = r && r->failure ? r->failure(r, status, code, detail)
                                                 : json_object_of({"code", json_string(code)},
                                                                  {"detail", json_string(detail)});
    return json_print(body);
}

/* Returns the route whose form errors have. OpenAI's clients ask for paths of /v1 that we do not have, so
 * these get errors in OpenAI's form. */
static const struct route *shape_of(const struct http_request *q)
{
    static const struct route v1 = {.failure = openai_failure};

    return !q->route && !strncmp(q->path, "/v1/", 4) ? &v1 : q->route;
}

void answer_error(struct http_request *q, int status, const char *code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    autofree char *detail = xvasprintf(fmt, ap);
    va_end(ap);
    if (q->streams) {
        end_events(q, "error",
                   json_object_of({"status", json_integer(status)},
                                  {"code", json_string(code ? code : code_of(status))},
                                  {"detail", json_string(detail)}));
        return;
    }
    if (q->queued && connection_ended(q->c)) {
        connection_refuse(q->c, status, code, detail);
        q->status = status;
        q->answered = true;
        http_request_lose(q);
        return;
    }
    autofree char *text = failure_text(shape_of(q), status, code, detail);
    if (status == 429 || status == 503)
        answer_header(q, "Retry-After", "1");
    answer_text(q, status, "application/json", text, strlen(text));
}

void answer_failure(struct http_request *q, const struct error *err)
{
    static const struct {
        enum error_kind kind;
        int code, status; /* code 0: any */
        const char *word;
    } rows[] = {
        {ERROR_USAGE, EPERM, 403, NULL},
        {ERROR_USAGE, ENOENT, 404, NULL},
        {ERROR_USAGE, EISDIR, 409, NULL},
        {ERROR_USAGE, ENOTDIR, 409, NULL},
        {ERROR_USAGE, ENOSPC, 507, NULL},
        {ERROR_USAGE, 0, 422, NULL},
        {ERROR_NETWORK, 0, 502, NULL},
        {ERROR_API, 0, 502, NULL},
        {ERROR_AUTH, 0, 502, NULL},
        {ERROR_BUSY, 0, 429, NULL},
        {ERROR_PROTOCOL, 0, 502, NULL},
        {ERROR_SANDBOX, ENOTSUP, 409, "NO_COPY"}, /* threads are running, for instance */
        {ERROR_SANDBOX, 0, 503, "SANDBOX_FAILED"},
        {ERROR_LIMIT, 0, 422, "LIMIT"},
        {ERROR_CONTEXT, 0, 422, "LIMIT"},
        {ERROR_CANCELLED, 0, 503, "CANCELLED"},
        {ERROR_SYSTEM, 0, 503, NULL},
        {ERROR_NONE, 0, 500, NULL},
    };
    size_t i = 0;

    while (i + 1 < countof(rows)
           && (rows[i].kind != err->kind || (rows[i].code && rows[i].code != err->code)))
        i++;
    answer_error(q, rows[i].status, rows[i].word, "%s", err->text);
}

void answer_file(struct http_request *q, const char *path, const char *name)
{
    autofree char *disposition = media_disposition(name);
    autoclose int fd = *path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
        answer_error(q, 404, NULL, "there is no such file");
        return;
    }
    answer_header(q, "Content-Disposition", disposition);
    answer_header(q, "Content-Security-Policy", "sandbox; default-src 'none'");
    respond(q, 200, media_type(name),
            q->s->mhd->create_response_from_fd64((uint64_t)st.st_size, fd_steal(&fd)));
}

void stream_begin(struct http_request *q, int status, const char *type)
{
    q->streams = true;
    respond(q, status, type,
            q->s->mhd->create_response_from_callback(MHD_SIZE_UNKNOWN, 16384, stream_read, q, NULL));
}

static void on_stream_silence(void *ctx)
{
    struct http_request *q = ctx;

    stream_send(q, ": still working\n\n", 17);
    loop_timer(q->s->o.loop, clock_ms() + STREAM_SILENT_MS, on_stream_silence, q);
}

void stream_begin_events(struct http_request *q)
{
    stream_begin(q, 200, "text/event-stream");
    loop_timer(q->s->o.loop, clock_ms() + STREAM_SILENT_MS, on_stream_silence, q);
}

void stream_send(struct http_request *q, const char *data, size_t len)
{
    if (q->lost || q->ended)
        return;
    if (q->out.len - q->out_at + len > STREAM_WAITING_MAX) {
        http_request_lose(q);
        return;
    }
    if (q->out_at > STREAM_WAITING_MAX) {
        spill_drop(&q->out, q->out_at);
        q->out_at = 0;
    }
    spill_keep(&q->out, data, len);
    http_request_wake(q);
}

bool http_request_streams(const struct http_request *q)
{
    return q->streams;
}

size_t stream_waits(const struct http_request *q)
{
    return q->out.len - q->out_at;
}

void stream_sse(struct http_request *q, const char *event, const struct json *json)
{
    autofree char *text = json_print(json);
    autofree char *all = xasprintf("%s%s%sdata: %s\n\n", event ? "event: " : "", event ? event : "",
                                   event ? "\n" : "", text);

    stream_send(q, all, strlen(all));
}

void stream_line(struct http_request *q, const struct json *json)
{
    autofree char *text = json_print(json);
    autofree char *all = xasprintf("%s\n", text);

    stream_send(q, all, strlen(all));
}

void stream_end(struct http_request *q)
{
    q->ended = true;
    loop_timer_stop(q->s->o.loop, q);
    http_request_wake(q);
}
