/* admit.c - decides whether a request is let in. The checks have this order, so that somebody without a
 * token learns nothing: is it one well-formed request, was it meant for us and sent by a program (guard.h),
 * is the token good, is there such a route, is the body of the right type and size? All this is checked
 * before the body is read.
 *
 * RULE: Who may ask the server anything is found out before the body is read, and a stranger without a token
 *     learns nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/json_schema.h"
#include "operations/operations.h"
#include "server/guard.h"
#include "server/private.h"
#include "server/token.h"

#define BUFFER_MOST (1u << 20) /* bytes; the library's buffer is smaller */

/* The headers that must not come twice, because two programs that read them could take different ones. */
enum {
    HOST,
    LENGTH,
    ENCODING,
    TYPE,
    AUTHORIZATION,
    ORIGIN,
    FETCH_SITE,
    API_KEY, /* from here on: where clients of other services put a token */
    ACCESS_TOKEN,
    TRAFFIC_TOKEN,
    FORWARDED_PROTO, /* from here on: what a proxy writes, of which several lines are one list */
    FORWARDED_HOST,
    HEADERS
};
static const char *const names[HEADERS] = {
    "Host",
    "Content-Length",
    "Transfer-Encoding",
    "Content-Type",
    "Authorization",
    "Origin",
    "Sec-Fetch-Site",
    "X-Api-Key",
    "X-Access-Token",
    "E2B-Traffic-Access-Token",
    "X-Forwarded-Proto",
    "X-Forwarded-Host",
};

struct headers_seen {
    const char *value[HEADERS];
    bool twice, odd;
    const char *end; /* in the library's buffer: where what was seen last ends */
    bool hidden;     /* there is more between two of them than the end of a line */
};

/* The library ends a name or a value at a NUL byte, and drops what follows on that line and what is on a
 * folded one. All that it has read is in one buffer, so what it dropped shows as a gap. Where two pieces do
 * not lie in one buffer (of another version of the library), nothing is known. */
static void follows(struct headers_seen *seen, const char *next, size_t most)
{
    uintptr_t gap = (uintptr_t)next - (uintptr_t)seen->end;

    seen->hidden |= gap > most && gap < BUFFER_MOST;
}

static enum MHD_Result see(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct headers_seen *seen = cls;

    (void)kind;
    follows(seen, name, strlen("\r\n"));
    if (value)
        seen->end = value + strlen(value);
    /* With a blank before the colon, or a folded line, another program might read another header. */
    if (name[strcspn(name, " \t\r\n\v\f")] || (value && value[strcspn(value, "\r\n")]))
        seen->odd = true;
    for (size_t i = 0; i < HEADERS; i++)
        if (!strcasecmp(names[i], name)) {
            seen->twice |= i < FORWARDED_PROTO && seen->value[i];
            seen->value[i] = value ? value : "";
        }
    return MHD_YES;
}

static bool refuse_request(struct http_request *q, int status, const char *code, const char *detail)
{
    answer_error(q, status, code, "%s", detail);
    return false;
}

static bool is_method(const struct http_request *q, const struct route *r)
{
    return !strcmp(q->method, r->method) || (!strcmp(q->method, "HEAD") && !strcmp(r->method, "GET"));
}

/* Returns the route of this request. NULL: there is none, and allow names the methods that its path has. */
static const struct route *find_route(struct http_request *q, struct buf *allow)
{
    for (size_t t = 0; t < q->s->n_tables; t++)
        for (size_t i = 0; i < q->s->tables[t].n; i++) {
            const struct route *r = &q->s->tables[t].rows[i];

            if (!pattern_match(r->path, q->path, &q->params))
                continue;
            if (is_method(q, r)) {
                q->schema = q->s->tables[t].schemas[i];
                return r;
            }
            pattern_release(&q->params);
            if (!strstr(buf_str(allow), r->method))
                buf_addf(allow, "%s%s", allow->len ? ", " : "", r->method);
        }
    return NULL;
}

/* The status for this value of Content-Length, which may be NULL: 400 if it is no number, 413 if it has more
 * digits than any size; or 0. */
static int status_of(const char *length)
{
    if (!length)
        return 0;
    return !*length || length[strspn(length, "0123456789")] ? 400 : strlen(length) > 18 ? 413 : 0;
}

/* Reads the headers. What lies around them must be what the end of a line is. */
static void see_all(struct http_request *q, const struct request_line *line, struct headers_seen *h)
{
    const struct mhd_api *mhd = q->s->mhd;
    const union MHD_ConnectionInfo *size = mhd->get_connection_info(q->c->mhd,
                                                                    MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

    h->end = line->method + strlen(line->method);
    follows(h, line->target, 1);
    h->end = line->target + q->target_len;
    follows(h, line->version, 1);
    h->end = line->version + strlen(line->version);
    mhd->get_connection_values(q->c->mhd, MHD_HEADER_KIND, see, h);
    if (size)
        follows(h, line->method + size->header_size, strlen("\r\n\r\n"));
}

static bool well_formed(struct http_request *q, const char *version, const struct headers_seen *h)
{
    const char *length = h->value[LENGTH], *encoding = h->value[ENCODING];

    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
        return refuse_request(q, 400, NULL, "only HTTP/1.0 and HTTP/1.1 are supported");
    if (q->path[0] != '/' || strchr(q->path, ' ') || strchr(q->query, ' '))
        return refuse_request(q, 400, NULL, "the target of the request must be a path");
    if (h->hidden)
        return refuse_request(q, 400, NULL, "there is a NUL byte in the headers, or a line that is folded");
    if (!h->value[HOST] && !strcmp(version, "HTTP/1.1"))
        return refuse_request(q, 400, NULL, "the request needs the header Host");
    if (h->twice || h->odd || (length && encoding) || (encoding && strcasecmp(encoding, "chunked") != 0)
        || (encoding && !strcmp(version, "HTTP/1.0")) || status_of(length) == 400)
        return refuse_request(q, 400, NULL, "the headers do not say clearly where the request ends");
    return true;
}

/* Our address as the client used it, or as a proxy that the user named says that it did. */
static bool take_base(struct http_request *q, const struct headers_seen *h)
{
    const struct server_options *o = &q->s->o;
    bool proxy = guard_proxy(o->address, o->proxies, q->c->address);
    const char *by = proxy ? h->value[FORWARDED_PROTO] : NULL, *to = proxy ? h->value[FORWARDED_HOST] : NULL;
    autofree char *scheme = guard_last(by ? by : "http");
    autofree char *host = to ? guard_last(to) : xstrdup(h->value[HOST] ? h->value[HOST] : "localhost");
    bool https = !strcasecmp(scheme, "https");

    if (!https && strcasecmp(scheme, "http") != 0)
        return refuse_request(q, 400, NULL, "X-Forwarded-Proto must be http or https");
    if (to && (!*host || !guard_host(o->address, o->hosts, host)))
        return refuse_request(
            q, 403, NULL,
            "the host name in X-Forwarded-Host is not allowed (serve --allow-host NAME allows it)");
    q->base = xasprintf("%s://%s", https ? "https" : "http", host);
    return true;
}

static bool meant_for_us(struct http_request *q, const struct headers_seen *h)
{
    const struct server_options *o = &q->s->o;

    if (!guard_host(o->address, o->hosts, h->value[HOST]))
        return refuse_request(q, 403, NULL,
                              "the host name in Host is not allowed (serve --allow-host NAME allows it)");
    if (!guard_origin(o->address, o->hosts, h->value[ORIGIN]) || !guard_fetch_site(h->value[FETCH_SITE]))
        return refuse_request(q, 403, NULL, "pages of other sites have no access");
    return o->public_url || take_base(q, h);
}

bool http_request_takes_body(const struct http_request *q)
{
    return !strcmp(q->method, "POST");
}

/* Pages of other sites can send some types without asking, but no page gets as far as this. */
static bool good_type(const struct route *r, const char *type)
{
    size_t len = r->accepts ? strlen(r->accepts) : 0;

    if (!r->accepts)
        return guard_json(type);
    return len == 0 || (type && !strncasecmp(type, r->accepts, len) && strchr("; \t", type[len]) != NULL);
}

static bool good_body(struct http_request *q, const struct headers_seen *h)
{
    const char *length = h->value[LENGTH];
    bool comes = h->value[ENCODING] || (length && strtoull(length, NULL, 10) > 0);

    q->text.max = q->route->body_max ? q->route->body_max : SERVER_BODY_MAX;
    if (http_request_takes_body(q) && (comes || h->value[TYPE]) && !good_type(q->route, h->value[TYPE]))
        return refuse_request(
            q, 415, NULL, "the body must be application/json (with curl: --json BODY in place of -d BODY)");
    if (length && (status_of(length) || strtoull(length, NULL, 10) > q->text.max)) {
        answer_error(q, 413, NULL, "the body is larger than %zu bytes", q->text.max);
        return false;
    }
    return true;
}

/* Tells a client that asks too much at once to wait, before anything of its request is kept. */
static bool under_limits(struct http_request *q)
{
    if (q->route->flags & ROUTE_PUBLIC)
        return true;
    if (q->s->draining)
        return refuse_request(q, 503, "SHUTTING_DOWN", "the server is shutting down");
    if (q->route->flags & ROUTE_AT_ONCE)
        return true;
    unsigned own = q->s->of_token[q->token];
    if (own >= IN_FLIGHT_ONE || (own >= IN_FLIGHT_LEAST && q->s->in_flight >= IN_FLIGHT_MAX))
        return refuse_request(q, 429, NULL, "too many requests are in progress");
    return true;
}

/* Releases of E2B's SDK send no key that does not begin with "e2b_". */
static int find_key(const struct tokens *tokens, const char *key)
{
    static const char before[] = "e2b_";
    int token = tokens_find(tokens, key);

    return token < 0 && key && !strncmp(key, before, strlen(before))
               ? tokens_find(tokens, key + strlen(before))
               : token;
}

bool admit_headers(struct http_request *q, const struct request_line *line)
{
    struct headers_seen h = {0};
    struct buf allow autorelease(buf_release) = BUF_INIT(1024);
    bool ok;

    see_all(q, line, &h);
    if (!well_formed(q, line->version, &h) || !meant_for_us(q, &h)) {
        q->c->close = true;
        return false;
    }
    q->token = tokens_find(q->s->o.tokens, token_given(h.value[AUTHORIZATION], &q->secret));
    for (size_t i = API_KEY; i < FORWARDED_PROTO && q->token < 0; i++)
        q->token = find_key(q->s->o.tokens, h.value[i]);
    q->client = q->token < 0 ? NULL : tokens_client(q->s->o.tokens, (size_t)q->token);
    q->route = find_route(q, &allow);
    if (q->token < 0 && !(q->route && q->route->flags & ROUTE_PUBLIC)) {
        answer_header(q, "WWW-Authenticate", "Bearer");
        ok = refuse_request(q, 401, NULL, "this needs the header Authorization: Bearer TOKEN");
    } else if (!q->route && allow.len > 0) {
        answer_header(q, "Allow", buf_str(&allow));
        ok = refuse_request(q, 405, NULL, "this path does not support the method");
    } else if (!q->route) {
        ok = refuse_request(q, 404, NULL, "there is nothing at this path");
    } else {
        ok = good_body(q, &h) && under_limits(q);
    }
    q->c->close = !ok && (h.value[ENCODING] || h.value[LENGTH]);
    return ok;
}

/* libmicrohttpd 0.9.75 writes the headers of its own answer twice when Content-Length is no number. It
 * tells a logger that it refuses a request before it answers, but not which; then its answer finds the
 * socket closed. */
void admit_logged(void *server, const char *fmt, va_list ap)
{
    const struct server *s = server;

    (void)fmt;
    (void)ap;
    for (struct connection *c = s->connections; c; c = c->next) {
        bool reads = c->q && !c->q->checked && !c->close;
        int status = reads
                         ? status_of(s->mhd->lookup_connection_value(c->mhd, MHD_HEADER_KIND, names[LENGTH]))
                         : 0;
        if (!status)
            continue;
        c->close = true;
        connection_refuse(c, status, NULL,
                          status == 413 ? "the body is too large"
                                        : "the headers do not say clearly where the request ends");
        shutdown(c->fd, SHUT_WR);
    }
}

/* Two APIs may have the same path. Then the body tells which one is meant. A route with ROUTE_BASIC is only
 * for clients that send their token in the URL, so that a mistake in a request of ours is reported as such.
 */
static bool find_by_body(struct http_request *q)
{
    for (size_t t = 0; t < q->s->n_tables; t++)
        for (size_t i = 0; i < q->s->tables[t].n; i++) {
            const struct route *r = &q->s->tables[t].rows[i];
            const struct json *schema = q->s->tables[t].schemas[i];

            if (r == q->route || strcmp(r->path, q->route->path) != 0 || !is_method(q, r) || !schema
                || (r->flags & ROUTE_BASIC && !q->secret) || schema_check(schema, q->body, "", NULL) < 0)
                continue;
            q->route = r;
            q->schema = schema;
            return true;
        }
    return false;
}

/* Two APIs that are much alike may call one member differently. */
static void take_other_name(const struct route *r, struct json *body)
{
    const char *other = r->other_name[0], *name = r->other_name[1];

    if (!other || !json_get(body, other) || json_get(body, name))
        return;
    json_move(body, name, body, other);
}

bool admit_body(struct http_request *q)
{
    struct error err = {0};

    if (spill_load(&q->text, &err) < 0)
        return refuse_request(q, 503, NULL, err.text);
    if (q->route->flags & ROUTE_RAW || !http_request_takes_body(q))
        return true;
    if (q->text.len == 0)
        (void)spill_add(&q->text, "{}", 2, NULL);
    q->body = json_parse(buf_str(&q->text.memory), q->text.len, JSON_FEW, NULL, &err);
    spill_release(&q->text);
    if (!q->body && err.kind == ERROR_LIMIT)
        return refuse_request(q, 413, NULL, err.text);
    if (!q->body)
        return refuse_request(q, 400, "INVALID_JSON", err.text);
    take_other_name(q->route, q->body);
    if (q->schema && schema_check(q->schema, q->body, "", &err) < 0 && !find_by_body(q))
        return refuse_request(q, 422, NULL, err.text);
    return true;
}
