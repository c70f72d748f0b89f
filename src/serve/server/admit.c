/* admit.c - decides whether a request is let in. The checks have this order, so that somebody without a
 * token learns nothing: is it one well-formed request, was it meant for us and sent by a program (guard.h),
 * is the token good, is there such a route, is the body of the right type and size? All this is checked
 * before the body is read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "operations/operations.h"
#include "server/guard.h"
#include "server/private.h"
#include "server/token.h"

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
    HEADERS
};
static const char *const names[HEADERS] = {
    "Host",   "Content-Length", "Transfer-Encoding", "Content-Type",   "Authorization",
    "Origin", "Sec-Fetch-Site", "X-Api-Key",         "X-Access-Token", "E2B-Traffic-Access-Token",
};

struct headers_seen {
    const char *value[HEADERS];
    bool twice, odd;
};

static enum MHD_Result see(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct headers_seen *seen = cls;

    (void)kind;
    /* With a blank before the colon, or a folded line, another program might read another header. */
    if (name[strcspn(name, " \t\r\n\v\f")] || (value && value[strcspn(value, "\r\n")]))
        seen->odd = true;
    for (size_t i = 0; i < HEADERS; i++)
        if (!strcasecmp(names[i], name)) {
            seen->twice |= seen->value[i] != NULL;
            seen->value[i] = value ? value : "";
        }
    return MHD_YES;
}

static bool refuse(struct visit *q, int status, const char *code, const char *detail)
{
    answer_error(q, status, code, "%s", detail);
    return false;
}

static bool is_method(const struct visit *q, const struct route *r)
{
    return !strcmp(q->method, r->method) || (!strcmp(q->method, "HEAD") && !strcmp(r->method, "GET"));
}

/* Returns the route of this request. NULL: there is none, and allow names the methods that its path has. */
static const struct route *find(struct visit *q, struct buf *allow)
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

static bool well_formed(struct visit *q, const char *version, const struct headers_seen *h)
{
    const char *length = h->value[LENGTH], *encoding = h->value[ENCODING];

    if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
        return refuse(q, 400, NULL, "only HTTP/1.0 and HTTP/1.1 are supported");
    if (q->path[0] != '/' || strchr(q->path, ' ') || strchr(q->query, ' '))
        return refuse(q, 400, NULL, "the target of the request must be a path");
    if (!h->value[HOST] && !strcmp(version, "HTTP/1.1"))
        return refuse(q, 400, NULL, "the request needs the header Host");
    if (h->twice || h->odd || (length && encoding) || (encoding && strcasecmp(encoding, "chunked") != 0)
        || (encoding && !strcmp(version, "HTTP/1.0"))
        || (length && (!*length || length[strspn(length, "0123456789")])))
        return refuse(q, 400, NULL, "the headers do not say clearly where the request ends");
    return true;
}

static bool meant_for_us(struct visit *q, const struct headers_seen *h)
{
    const struct server_options *o = &q->s->o;

    if (!guard_host(o->address, o->hosts, h->value[HOST]))
        return refuse(q, 403, NULL,
                      "the host name in Host is not allowed (serve --allow-host NAME allows it)");
    if (!guard_origin(o->address, o->hosts, h->value[ORIGIN]) || !guard_fetch_site(h->value[FETCH_SITE]))
        return refuse(q, 403, NULL, "pages of other sites have no access");
    if (!o->public_url)
        q->base = xasprintf("http://%s", h->value[HOST] ? h->value[HOST] : "localhost");
    return true;
}

bool visit_takes_body(const struct visit *q)
{
    return !strcmp(q->method, "POST");
}

static bool good_body(struct visit *q, const struct headers_seen *h)
{
    const char *length = h->value[LENGTH];
    bool comes = h->value[ENCODING] || (length && strtoull(length, NULL, 10) > 0);

    q->text_max = q->route->body_max ? q->route->body_max : SERVER_BODY_MAX;
    if (visit_takes_body(q) && (comes || h->value[TYPE]) && !guard_json(h->value[TYPE]))
        return refuse(q, 415, NULL,
                      "the body must be application/json (with curl: --json BODY in place of -d BODY)");
    if (length && (strlen(length) > 18 || strtoull(length, NULL, 10) > q->text_max)) {
        answer_error(q, 413, NULL, "the body is larger than %zu bytes", q->text_max);
        return false;
    }
    buf_init(&q->text, q->text_max);
    return true;
}

/* Tells a client that asks too much at once to wait, before anything of its request is kept. */
static bool under_limits(struct visit *q)
{
    if (q->route->flags & ROUTE_PUBLIC)
        return true;
    if (q->s->draining)
        return refuse(q, 503, "SHUTTING_DOWN", "the server is shutting down");
    if (!(q->route->flags & ROUTE_AT_ONCE)
        && (q->s->in_flight >= IN_FLIGHT_MAX || q->s->of_token[q->token] >= IN_FLIGHT_ONE))
        return refuse(q, 429, NULL, "too many requests are in progress");
    return true;
}

bool admit_headers(struct visit *q, const char *version)
{
    struct headers_seen h = {0};
    struct buf allow autorelease(buf_release) = BUF_INIT(1024);
    bool ok;

    q->s->mhd->get_connection_values(q->c->mhd, MHD_HEADER_KIND, see, &h);
    if (!well_formed(q, version, &h) || !meant_for_us(q, &h)) {
        q->c->close = true;
        return false;
    }
    q->token = tokens_find(q->s->o.tokens, token_given(h.value[AUTHORIZATION], &q->secret));
    for (size_t i = API_KEY; i < HEADERS && q->token < 0; i++)
        q->token = tokens_find(q->s->o.tokens, h.value[i]);
    q->client = q->token < 0 ? NULL : tokens_client(q->s->o.tokens, (size_t)q->token);
    q->route = find(q, &allow);
    if (q->token < 0 && !(q->route && q->route->flags & ROUTE_PUBLIC)) {
        answer_header(q, "WWW-Authenticate", "Bearer");
        ok = refuse(q, 401, NULL, "this needs the header Authorization: Bearer TOKEN");
    } else if (!q->route && allow.len > 0) {
        answer_header(q, "Allow", buf_str(&allow));
        ok = refuse(q, 405, NULL, "this path does not support the method");
    } else if (!q->route) {
        ok = refuse(q, 404, NULL, "there is nothing at this path");
    } else {
        ok = good_body(q, &h) && under_limits(q);
    }
    q->c->close = !ok && (h.value[ENCODING] || h.value[LENGTH]);
    return ok;
}

/* Two APIs may have the same path. Then the body tells which one is meant. A route with ROUTE_BASIC is only
 * for clients that send their token in the URL, so that a mistake in a request of ours is reported as such.
 */
static bool find_by_body(struct visit *q)
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
    json_set(body, name, json_copy(json_get(body, other)));
    json_drop(body, other);
}

bool admit_body(struct visit *q)
{
    struct error err = {0};

    if (q->route->flags & ROUTE_RAW || !visit_takes_body(q))
        return true;
    if (q->text.len == 0)
        buf_addstr(&q->text, "{}");
    q->body = json_parse(q->text.data, q->text.len, JSON_FEW, NULL, &err);
    if (!q->body && err.kind == ERROR_LIMIT)
        return refuse(q, 413, NULL, err.text);
    if (!q->body)
        return refuse(q, 400, "INVALID_JSON", err.text);
    take_other_name(q->route, q->body);
    if (q->schema && schema_check(q->schema, q->body, "", &err) < 0 && !find_by_body(q))
        return refuse(q, 422, NULL, err.text);
    return true;
}
