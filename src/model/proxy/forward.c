/* forward.c - a request in the clear: libcurl asks the host and its answer is passed on as it comes. Where a
 * secret belongs to the host it is asked by https, and the secret is taken out of what it answers.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "llm/curl_load.h"
#include "proxy/mask.h"
#include "proxy/private.h"

#define ANSWER_HEAD_MAX (256 << 10)

struct forward {
    struct client *c;
    const struct net_rule *rule;
    const struct net_secret *secret;
    struct mask mask; /* nothing in it: there is no secret */
    struct buf head;  /* of the answer, as it goes to the code */
    int64_t body;     /* bytes of the request's body that are still to come */
    int status;
    bool first_line, begun; /* of the answer: its head was sent */
    bool chunked, bodiless, keep, private_address, packed;
    bool has_length;
};

static curl_socket_t open_checked(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct forward *f = ctx;

    (void)purpose;
    if (!rule_permits(f->rule, &address->addr)) {
        f->private_address = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* ---- the answer ---- */

static bool concerns_connection(const char *line)
{
    static const char *const names[] = {
        "Connection:", "Keep-Alive:", "Transfer-Encoding:", "Trailer:",
        "Upgrade:",    "Proxy-",      "Alt-Svc:",           "Strict-Transport-Security:"};

    for (size_t i = 0; i < countof(names); i++)
        if (!strncasecmp(line, names[i], strlen(names[i])))
            return true;
    return false;
}

/* line: "HTTP/1.1 404 Not Found", with the secret taken out */
static void restart_answer(struct forward *f, const char *line)
{
    const char *rest = strchr(line, ' ');
    int status = rest ? (int)strtol(rest, NULL, 10) : 502;

    f->status = status;
    buf_clear(&f->head);
    buf_addf(&f->head, "HTTP/1.1%s\r\n", rest ? rest : " 502 malformed");
    f->has_length = f->packed = false;
    f->bodiless = status == 204 || status == 304 || !strcmp(f->c->h.method, "HEAD");
}

/* How the body ends: by its length, in chunks, or, for old clients, with the connection. */
static bool send_head(struct forward *f)
{
    f->begun = true;
    f->chunked = !f->has_length && !f->bodiless && f->c->h.newer;
    f->keep = f->c->h.keep && (f->has_length || f->bodiless || f->chunked);
    if (f->packed) { /* it was asked not to */
        snprintf(f->c->refusal, sizeof f->c->refusal,
                 "the answer is compressed, so the secret cannot be taken out of it");
        return false;
    }
    if (f->chunked)
        buf_addstr(&f->head, "Transfer-Encoding: chunked\r\n");
    buf_addf(&f->head, "Connection: %s\r\n\r\n", f->keep ? "keep-alive" : "close");
    return client_write(f->c, f->head.data, f->head.len);
}

static bool take_answer_line(struct forward *f, const char *p, size_t n)
{
    autofree char *line = xmemdup0(p, n);

    line[strcspn(line, "\r\n")] = '\0';
    mask_text(&f->mask, line, strlen(line));
    if (!strncmp(line, "HTTP/", 5)) {
        restart_answer(f, line);
        return true;
    }
    if (!*line)
        return f->status < 200 || send_head(f);
    if (concerns_connection(line))
        return true;
    f->has_length |= !strncasecmp(line, "Content-Length:", 15);
    f->packed |= f->secret && !strncasecmp(line, "Content-Encoding:", 17) && !strcasestr(line, "identity");
    return buf_addf(&f->head, "%s\r\n", line);
}

static size_t on_answer_line(char *p, size_t size, size_t n, void *ctx)
{
    struct forward *f = ctx;

    n *= size;
    if (!client_may_receive(f->c, n)) /* also of trailers and of 1xx, which may come without end */
        return 0;
    return f->begun || take_answer_line(f, p, n) ? n : 0; /* begun: trailers */
}

static bool send_piece(struct forward *f, const char *p, size_t n)
{
    char size[32];

    if (!n)
        return true;
    if (!f->chunked)
        return client_write(f->c, p, n);
    snprintf(size, sizeof size, "%zx\r\n", n);
    return client_write(f->c, size, strlen(size)) && client_write(f->c, p, n)
           && client_write(f->c, "\r\n", 2);
}

static size_t on_answer_body(char *p, size_t size, size_t n, void *ctx)
{
    struct forward *f = ctx;
    struct buf told autorelease(buf_release) = BUF_INIT(0);

    n *= size;
    if (!f->begun || !client_may_receive(f->c, n))
        return 0;
    if (!f->secret)
        return send_piece(f, p, n) ? n : 0;
    mask_feed(&f->mask, p, n, &told);
    return send_piece(f, buf_str(&told), told.len) ? n : 0;
}

static bool end_answer(struct forward *f)
{
    struct buf rest autorelease(buf_release) = BUF_INIT(0);

    mask_end(&f->mask, &rest);
    return send_piece(f, buf_str(&rest), rest.len) && (!f->chunked || client_write(f->c, "0\r\n\r\n", 5));
}

/* ---- the request ---- */

static size_t on_request_body(char *p, size_t size, size_t n, void *ctx)
{
    struct forward *f = ctx;
    struct client *c = f->c;

    n *= size;
    if ((int64_t)n > f->body)
        n = (size_t)f->body;
    if (n && !c->in.len && client_read(c, IDLE_MS) <= 0)
        return CURL_READFUNC_ABORT;
    if (n > c->in.len)
        n = c->in.len;
    if (!client_may_send(c, n))
        return CURL_READFUNC_ABORT;
    memcpy(p, buf_str(&c->in), n);
    buf_drop(&c->in, n);
    f->body -= (int64_t)n;
    return n;
}

static struct curl_slist *add_code_header(const struct curl_api *api, struct curl_slist *list,
                                          const char *name, const char *value)
{
    autofree char *line = xasprintf(*value ? "%s: %s" : "%s;%s", name, value);
    struct curl_slist *longer = api->slist_append(list, line);

    if (!longer)
        mem_gone();
    return longer;
}

/* With a secret, whose header is ours: in pieces or packed, an answer could have it where it is not found. */
static bool is_kept_back(const struct forward *f, const char *ours, const char *name)
{
    return f->secret
           && (!strcasecmp(name, ours) || !strcasecmp(name, "Accept-Encoding") || !strcasecmp(name, "Range")
               || !strcasecmp(name, "If-Range"));
}

/* The code's own headers, but for what we set. */
static struct curl_slist *request_lines(const struct forward *f, const struct curl_api *api, size_t *bytes)
{
    const struct request_head *h = &f->c->h;
    const char *ours = !f->secret ? NULL : f->secret->header ? f->secret->header : "Authorization";
    struct curl_slist *list = NULL;
    /* libcurl's own, unless the code sends them */
    const char *no_type = "Content-Type:", *no_accept = "Accept:";

    for (size_t i = 0; i < h->n; i++) {
        no_type = strcasecmp(h->v[i].name, "Content-Type") ? no_type : NULL;
        no_accept = strcasecmp(h->v[i].name, "Accept") ? no_accept : NULL;
        if (is_kept_back(f, ours, h->v[i].name))
            continue;
        list = add_code_header(api, list, h->v[i].name, h->v[i].value);
        *bytes += strlen(h->v[i].name) + strlen(h->v[i].value) + 4;
    }
    list = api->slist_append(list, "Expect:");
    list = no_type ? api->slist_append(list, no_type) : list;
    list = no_accept ? api->slist_append(list, no_accept) : list;
    if (f->secret) {
        autofree char *value = xasprintf("%s%s", f->secret->header ? "" : "Bearer ", f->secret->value);

        list = add_code_header(api, list, ours, value);
        explicit_bzero(value, strlen(value));
        list = add_code_header(api, list, "Accept-Encoding", "identity");
    }
    return list;
}

static CURLcode set_method(const struct forward *f, const struct curl_api *api, CURL *easy)
{
    const struct request_head *h = &f->c->h;
    bool head = !strcmp(h->method, "HEAD");
    CURLcode rc = CURLE_OK;

    if (head)
        return api->easy_setopt(easy, CURLOPT_NOBODY, 1L);
    if (h->length > 0 || !strcmp(h->method, "POST")) {
        rc = api->easy_setopt(easy, CURLOPT_POST, 1L);
        rc = rc ? rc : api->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)h->length);
    }
    return rc ? rc : api->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, h->method);
}

/* Where libcurl is too old to take certificates from memory, those of the system count. */
static CURLcode set_certificates(const struct forward *f, const struct curl_api *api, CURL *easy)
{
#if LIBCURL_VERSION_NUM >= 0x074d00
    struct curl_blob blob = {f->c->g->ca_cert, f->c->g->ca_cert_len, CURL_BLOB_NOCOPY};

    if (f->c->g->ca_cert)
        return api->easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
#endif
    (void)api;
    (void)easy;
    return CURLE_OK;
}

static CURLcode set_request(struct forward *f, const struct curl_api *api, CURL *easy)
{
    const struct request_head *h = &f->c->h;
    bool v6 = strchr(h->host, ':');
    unsigned port = f->secret && h->port == 80 && !f->rule->port ? 443 : h->port;
    autofree char *url = xasprintf("%s://%s%s%s:%u%s%s", f->secret ? "https" : "http", v6 ? "[" : "", h->host,
                                   v6 ? "]" : "", port, *h->path == '/' ? "" : "/", h->path);
    CURLcode rc = curl_common(api, easy, url, NULL, CONNECT_MS);

    rc = rc ? rc : set_certificates(f, api, easy);
    rc = rc ? rc : set_method(f, api, easy);
    /* no proxy of our environment: the address that is checked must be the one that is connected to */
    rc = rc ? rc : api->easy_setopt(easy, CURLOPT_PROXY, "");
    rc = rc ? rc : api->easy_setopt(easy, CURLOPT_USERAGENT, NULL);
    rc = rc ? rc : api->easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    rc = rc ? rc : api->easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    rc = rc ? rc : api->easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    rc = rc ? rc : api->easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)IDLE_MS / 1000);
    rc = rc ? rc : api->easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_checked);
    rc = rc ? rc : api->easy_setopt(easy, CURLOPT_OPENSOCKETDATA, f);
    rc = rc ? rc : api->easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_answer_line);
    rc = rc ? rc : api->easy_setopt(easy, CURLOPT_HEADERDATA, f);
    rc = rc ? rc : api->easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_answer_body);
    rc = rc ? rc : api->easy_setopt(easy, CURLOPT_WRITEDATA, f);
    rc = rc ? rc : api->easy_setopt(easy, CURLOPT_READFUNCTION, on_request_body);
    return rc ? rc : api->easy_setopt(easy, CURLOPT_READDATA, f);
}

static const char *words_of(const struct forward *f, CURLcode rc)
{
    if (f->private_address)
        return "403 that name leads to no public address; write the address out in --allow-net";
    switch (rc) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return "502 that host is not known";
    case CURLE_PEER_FAILED_VERIFICATION:
        return "502 the certificate of that host is not trusted";
    case CURLE_OPERATION_TIMEDOUT:
        return "504 that host does not answer in time";
    default:
        return "502 that host does not answer";
    }
}

static bool finish(struct forward *f, CURLcode rc)
{
    struct client *c = f->c;

    if (rc == CURLE_OK && f->begun && end_answer(f) && !f->body) {
        client_over(c, f->status);
        return f->keep;
    }
    if (*c->refusal && !f->begun) {
        autofree char *words = xasprintf("403 %s", c->refusal);
        client_refuse(c, words);
    } else if (!f->begun || f->packed) {
        autofree char *words = f->packed ? xasprintf("502 %s", c->refusal) : xstrdup(words_of(f, rc));
        client_refuse(c, words);
    } else {
        if (!*c->refusal)
            snprintf(c->refusal, sizeof c->refusal, "%s",
                     rc == CURLE_OK ? "the answer came before the request was whole"
                                    : "the answer broke off");
        client_over(c, f->status);
    }
    return false;
}

/* Of this process: a connection to a host is kept for its next request. A connection's process has the one
 * that was made before the fork. */
static CURL *forward_handle;

/* A request that never leaves: what libcurl binds and allocates at its first is there before the fork. */
void forward_prepare(void)
{
    static const struct net_rule none = {.address = true};
    const struct curl_api *api = curl_load(NULL);
    struct forward f = {.rule = &none};

    forward_handle = api ? api->easy_init() : NULL;
    if (forward_handle
        && curl_common(api, forward_handle, "http://127.0.0.1:9/", NULL, CONNECT_MS) == CURLE_OK
        && api->easy_setopt(forward_handle, CURLOPT_OPENSOCKETFUNCTION, open_checked) == CURLE_OK
        && api->easy_setopt(forward_handle, CURLOPT_OPENSOCKETDATA, &f) == CURLE_OK)
        api->easy_perform(forward_handle);
}

bool forward_run(struct client *c, const struct net_rule *rule, const struct net_secret *secret)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    struct forward f = {
        .c = c, .rule = rule, .secret = secret, .head = BUF_INIT(ANSWER_HEAD_MAX), .body = c->h.length};
    const struct curl_api *api = curl_load(NULL);
    size_t bytes = strlen(c->h.method) + strlen(c->h.path) + strlen(c->h.host) + 30;

    CURL *easy = api ? forward_handle : NULL;
    CURLcode rc = easy ? CURLE_OK : CURLE_FAILED_INIT;
    if (easy)
        api->easy_reset(easy);
    if (secret)
        mask_init(&f.mask, secret->value);
    struct curl_slist *lines = easy ? request_lines(&f, api, &bytes) : NULL;
    rc = rc ? rc : set_request(&f, api, easy);
    rc = rc ? rc : api->easy_setopt(easy, CURLOPT_HTTPHEADER, lines);
    if (!rc && client_may_send(c, bytes) && (!c->h.expects || client_write(c, go_on, sizeof go_on - 1)))
        rc = api->easy_perform(easy);
    bool going = finish(&f, rc);
    if (api)
        api->slist_free_all(lines);
    mask_release(&f.mask);
    buf_release(&f.head);
    return going;
}
