/* http.c - see http.h. libcurl's multi interface with one easy handle; the loop's descriptors ride along in
 * its poll. Timers are ours: libcurl's low-speed limit is inexact, and comments or one byte a second would
 * defeat it.
 */
#include "llm/http.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/url.h"
#include "llm/certificates.h"
#include "llm/curl_load.h"

struct http {
    const struct curl_api *curl;
    CURLM *multi;
    CURL *easy;
    char error[CURL_ERROR_SIZE];
};

struct transfer {
    struct http *h;
    const struct http_request *q;
    struct http_reply *reply;
    struct http_life life;
    int64_t byte_at; /* the latest byte either way */
    curl_off_t moved;
    size_t body, headers;
    bool stopped, too_big, headers_big;
    bool interim; /* the present head is one of status 1xx */
    bool head;    /* the head of an answer is whole, and of one that is final */
};

struct http *http_new(struct error *err)
{
    const struct curl_api *curl = curl_load(err);
    if (!curl)
        return NULL;
    struct http *h = xcalloc(1, sizeof *h);
    h->curl = curl;
    h->multi = curl->multi_init();
    h->easy = curl->easy_init();
    if (!h->multi || !h->easy) {
        http_free(h);
        error_set(err, ERROR_SYSTEM, 0, "libcurl could not be initialised");
        return NULL;
    }
    return h;
}

void http_free(struct http *h)
{
    if (!h)
        return;
    if (h->easy)
        h->curl->easy_cleanup(h->easy);
    if (h->multi)
        h->curl->multi_cleanup(h->multi);
    free(h);
}

static bool header_value(const char *line, size_t n, const char *name, char *out, size_t size)
{
    size_t k = strlen(name);
    if (n <= k || line[k] != ':' || strncasecmp(line, name, k))
        return false;
    const char *v = line + k + 1, *end = line + n;
    while (v < end && (*v == ' ' || *v == '\t'))
        v++;
    while (end > v && (unsigned char)end[-1] <= ' ')
        end--;
    snprintf(out, size, "%.*s", (int)(end - v), v);
    return true;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    struct http_reply *r = t->reply;
    n *= size;
    r->began = true;
    t->headers += n;
    if (t->headers > HTTP_HEADERS_MAX) {
        t->headers_big = true;
        return 0;
    }
    /* a new head (after 100 Continue or a proxy's CONNECT): forget the last */
    if (n > 5 && !strncmp(p, "HTTP/", 5)) {
        const char *status = memchr(p, ' ', n);
        *r = (struct http_reply){.began = true};
        t->interim = status && status[1] == '1';
        t->head = false;
    } else if (n && (*p == '\r' || *p == '\n')) {
        t->head = !t->interim;
    }
    if (t->q->header_lines)
        buf_add(t->q->header_lines, p, n);
    header_value(p, n, "content-type", r->content_type, sizeof r->content_type);
    header_value(p, n, "retry-after", r->retry_after, sizeof r->retry_after);
    header_value(p, n, "retry-after-ms", r->retry_after_ms, sizeof r->retry_after_ms);
    header_value(p, n, "x-should-retry", r->should_retry, sizeof r->should_retry);
    header_value(p, n, "location", r->location, sizeof r->location);
    return n;
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    n *= size;
    t->reply->began = true;
    if (!t->reply->status)
        t->h->curl->easy_getinfo(t->h->easy, CURLINFO_RESPONSE_CODE, &t->reply->status);
    bool error = t->reply->status >= 300;
    t->body += n;
    if (t->body > (error ? HTTP_ERROR_MAX : HTTP_REPLY_MAX)) {
        t->too_big = !error;
        t->stopped = error; /* what came of an error is enough */
        return 0;
    }
    if (!t->q->data(t->q->ctx, t->reply, p, n, &t->life)) {
        t->stopped = true;
        return 0;
    }
    return n;
}

static int on_progress(void *ctx, curl_off_t dltotal, curl_off_t dlnow, curl_off_t ultotal, curl_off_t ulnow)
{
    struct transfer *t = ctx;
    (void)dltotal;
    (void)ultotal;
    if (dlnow + ulnow != t->moved) {
        t->moved = dlnow + ulnow;
        t->byte_at = clock_ms();
    }
    return 0;
}

static struct curl_slist *set_options(struct http *h, struct transfer *t, const struct http_request *q)
{
    const struct curl_api *c = h->curl;
    CURL *e = h->easy;
    c->easy_reset(e);
    struct curl_slist *headers = c->slist_append(NULL, "Expect:");
    for (size_t i = 0; i < q->n_headers; i++)
        headers = c->slist_append(headers, q->headers[i]);
    c->easy_setopt(e, CURLOPT_URL, q->url);
    c->easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    c->easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    if (url_is_loopback(q->url))
        /* a proxy cannot reach our loopback, and must not see what goes there */
        c->easy_setopt(e, CURLOPT_PROXY, "");
    if (q->body) {
        c->easy_setopt(e, CURLOPT_POST, 1L);
        c->easy_setopt(e, CURLOPT_POSTFIELDS, q->body);
        c->easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->len);
    }
    c->easy_setopt(e, CURLOPT_HTTPHEADER, headers);
    c->easy_setopt(e, CURLOPT_USERAGENT, "sandpiper/" VERSION);
    c->easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "");
    c->easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    c->easy_setopt(e, CURLOPT_QUICK_EXIT, 1L); /* do not wait for a resolver thread after a cancel */
    c->easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
    c->easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)q->connect_ms);
    c->easy_setopt(e, CURLOPT_ERRORBUFFER, h->error);
    c->easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    c->easy_setopt(e, CURLOPT_HEADERDATA, t);
    c->easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    c->easy_setopt(e, CURLOPT_WRITEDATA, t);
    c->easy_setopt(e, CURLOPT_NOPROGRESS, 0L);
    c->easy_setopt(e, CURLOPT_XFERINFOFUNCTION, on_progress);
    c->easy_setopt(e, CURLOPT_XFERINFODATA, t);
    certificates_use(c, e, q->ca_cert);
    return headers;
}

/* libcurl's poll with the loop's descriptors. It reports no hang-ups of extra descriptors, so those are
 * polled once more. */
static void wait_and_serve(struct http *h, struct loop *loop, int timeout_ms)
{
    struct pollfd fds[72]; /* 64 watches and the signal pipe */
    struct curl_waitfd extra[72];
    size_t n = loop ? loop_fds(loop, fds, countof(fds)) : 0;
    for (size_t i = 0; i < n; i++)
        extra[i] = (struct curl_waitfd){
            .fd = fds[i].fd,
            .events = (short)((fds[i].events & POLLIN ? CURL_WAIT_POLLIN : 0)
                              | (fds[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0))};
    int ready = 0;
    h->curl->multi_poll(h->multi, extra, (unsigned)n, loop ? loop_timeout(loop, timeout_ms) : timeout_ms,
                        &ready);
    if (!loop)
        return;
    for (size_t i = 0; i < n; i++)
        fds[i].revents = 0;
    if (n && ready > 0 && poll(fds, n, 0) < 0)
        n = 0;
    loop_serve(loop, fds, n);
}

static int64_t sooner(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

/* 0 go on, 1 ended by end_by, -1 ended by f or err. */
static int check_timers(struct transfer *t, int64_t now, struct failure *f, struct error *err, bool *abort)
{
    const struct http_request *q = t->q;
    if (t->life.end_by && now >= t->life.end_by)
        return 1;
    char host[256];
    url_host(q->url, host, sizeof host);
    if (q->deadline && now >= q->deadline) {
        error_set(err, ERROR_LIMIT, 0, "the time limit for this question was reached (while waiting for %s)",
                  host);
        *abort = true;
        return -1;
    }
    if (now - t->byte_at >= q->idle_ms) {
        failure_set(f, FAILURE_NETWORK, "%s sent nothing for %d s", host, q->idle_ms / 1000);
        f->hint = REMEDY_IDLE_TIMEOUT;
        f->once = true;
        return -1;
    }
    if (now - t->life.content_at >= q->quiet_ms) {
        failure_set(f, FAILURE_NETWORK, "%s sent only keep-alives, no content, for %d s", host,
                    q->quiet_ms / 1000);
        f->hint = REMEDY_ASK_OR_MODEL;
        f->never = true;
        return -1;
    }
    return 0;
}

static int next_timeout(const struct transfer *t, int64_t now)
{
    int64_t at = sooner(t->byte_at + t->q->idle_ms, t->life.content_at + t->q->quiet_ms);
    at = sooner(at, t->q->deadline);
    at = sooner(at, t->life.end_by);
    int64_t left = at - now;
    return left < 0 ? 0 : left > 1000 ? 1000 : (int)left;
}

/* A certain failure: with its next step, and not tried again. */
#define CERTAIN(f, step, ...) \
    (failure_set(f, FAILURE_NETWORK, __VA_ARGS__), (f)->hint = (step), (f)->never = true)

/* The proxy said no, or there is none where one should be. True when that was it. */
static bool describe_proxy(const struct transfer *t, CURLcode code, const char *why, const char *host,
                           struct failure *f)
{
    long answered = 0;
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(host, ":"), host);
    t->h->curl->easy_getinfo(t->h->easy, CURLINFO_HTTP_CONNECTCODE, &answered);
    if (answered >= 300) {
        CERTAIN(f, answered == 407 ? REMEDY_PROXY_CREDENTIALS : REMEDY_PROXY_REFUSES,
                "the proxy refused to connect to %s (%ld)", host, answered);
        t->reply->began = false; /* what came was the proxy's */
        return true;
    }
    if (code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_PROXY) {
        CERTAIN(f, REMEDY_PROXY_UNREACHABLE, "cannot reach %s through the proxy: %s", host, why);
        return true;
    }
    /* its words name what it could not connect to */
    if (code == CURLE_COULDNT_CONNECT && host[0] != '[' && !strstr(why, name)) {
        CERTAIN(f, REMEDY_PROXY_DOWN, "cannot reach %s: the proxy does not answer: %s", host, why);
        return true;
    }
    return false;
}

/* "OpenSSL/3.0: error:0A000410:SSL routines::sslv3 alert handshake failure": what a person can read of it. */
static const char *tls_words(const char *why)
{
    const char *at = strstr(why, "routines:");
    const char *last = at ? strrchr(at, ':') : NULL;
    return last && last[1] ? last + 1 : why;
}

static bool describe_tls(CURLcode code, const char *why, const char *host, struct failure *f)
{
    if (code == CURLE_SSL_CONNECT_ERROR && strcasestr(why, "wrong version number"))
        CERTAIN(f, REMEDY_HTTP_URL, "%s does not speak TLS", host);
    else if (code == CURLE_SSL_CONNECT_ERROR
             && (strcasestr(why, "unsupported protocol") || strcasestr(why, "protocol version")))
        CERTAIN(f, REMEDY_TLS_OLD, "%s uses a TLS version older than 1.2", host);
    else if (code == CURLE_SSL_CONNECT_ERROR)
        failure_set(f, FAILURE_NETWORK, "%s: TLS connection failed: %s", host, tls_words(why));
    else
        return false;
    return true;
}

/* The connection stood, and then it did not. */
static void describe_lost(const struct transfer *t, CURLcode code, const char *why, const char *host,
                          struct failure *f)
{
    if (strcasestr(why, "reset"))
        failure_set(f, FAILURE_NETWORK, "%s reset the connection", host);
    else if (code == CURLE_GOT_NOTHING)
        failure_set(f, FAILURE_NETWORK, "%s closed the connection without an answer", host);
    else if (t->reply->began && !t->head)
        failure_set(f, FAILURE_NETWORK, "%s closed the connection in the middle of its headers", host);
    else if (code == CURLE_PARTIAL_FILE || (t->reply->began && code == CURLE_RECV_ERROR))
        failure_set(f, FAILURE_NETWORK, "%s closed the connection early", host);
    else
        failure_set(f, FAILURE_NETWORK, "the connection to %s failed: %s", host, why);
}

#define TOO_LARGE \
    ((CURLcode)100) /* CURLE_TOO_LARGE of 8.6; before it a line that libcurl has no room for is "out of \
                       memory" */

static void describe(struct transfer *t, CURLcode code, struct failure *f)
{
    struct http *h = t->h;
    char host[256];
    const char *why = *h->error ? h->error : h->curl->easy_strerror(code);
    long os = 0;
    h->curl->easy_getinfo(h->easy, CURLINFO_OS_ERRNO, &os);
    url_host(t->q->url, host, sizeof host);
    if (t->too_big) {
        failure_set(f, FAILURE_PROTOCOL, "a reply larger than %u MiB", HTTP_REPLY_MAX >> 20);
    } else if (t->headers_big) {
        failure_set(f, FAILURE_PROTOCOL, "headers larger than %u KiB", HTTP_HEADERS_MAX >> 10);
    } else if (!t->head && (code == CURLE_OUT_OF_MEMORY || code == TOO_LARGE)) {
        failure_set(f, FAILURE_PROTOCOL, "headers longer than any service needs");
    } else if (describe_proxy(t, code, why, host, f)
               || certificates_describe(code, why, host, t->q->ca_cert, f)
               || describe_tls(code, why, host, f)) {
        return;
    } else if (code == CURLE_COULDNT_CONNECT && os == ECONNREFUSED) {
        failure_set(f, FAILURE_NETWORK, "cannot reach %s (connection refused)", host);
        f->hint = REMEDY_SERVER_RUNNING;
        f->never = url_is_loopback(t->q->url);
    } else if (code == CURLE_COULDNT_RESOLVE_HOST) {
        failure_set(f, FAILURE_NETWORK, "cannot reach %s: unknown host", host);
        f->hint = REMEDY_CHECK_URL;
        /* libcurl does not tell a name that is not there from a resolver that is not; the second is tried
         * once more */
        f->once = true;
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
        failure_set(f, FAILURE_NETWORK, "cannot reach %s: no connection within %d s", host,
                    t->q->connect_ms / 1000);
    } else if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY
               || code == CURLE_BAD_CONTENT_ENCODING || code == CURLE_URL_MALFORMAT) {
        failure_set(f, FAILURE_PROTOCOL, "%s", strstr(why, "HTTP/0.9") ? "a reply that is not HTTP" : why);
        f->hint = REMEDY_NO_SERVICE;
    } else {
        describe_lost(t, code, why, host, f);
    }
}

static enum http_end run(struct transfer *t, struct loop *loop, struct failure *f, struct error *err)
{
    struct http *h = t->h;
    for (;;) {
        int running = 0, left = 0;
        h->curl->multi_perform(h->multi, &running);
        for (CURLMsg *m; (m = h->curl->multi_info_read(h->multi, &left));) {
            if (m->msg != CURLMSG_DONE)
                continue;
            if (m->data.result == CURLE_OK && (t->head || !t->reply->began))
                /* libcurl takes an end in the middle of a head for that of an empty answer */
                return HTTP_WHOLE;
            if (t->stopped)
                return HTTP_STOPPED;
            describe(t, m->data.result, f);
            return HTTP_LOST;
        }
        bool abort = false;
        int end = check_timers(t, clock_ms(), f, err, &abort);
        if (end)
            return end > 0 ? HTTP_STOPPED : abort ? HTTP_ABORTED : HTTP_LOST;
        if (loop && loop_cancelled(loop)) {
            error_set(err, ERROR_CANCELLED, 0, "interrupted");
            return HTTP_ABORTED;
        }
        wait_and_serve(h, loop, next_timeout(t, clock_ms()));
    }
}

enum http_end http_post(struct http *h, struct loop *loop, const struct http_request *q,
                        struct http_reply *reply, struct failure *f, struct error *err)
{
    int64_t now = clock_ms();
    struct transfer t = {.h = h, .q = q, .reply = reply, .life = {.content_at = now}, .byte_at = now};
    *reply = (struct http_reply){0};
    h->error[0] = '\0';
    struct curl_slist *headers = set_options(h, &t, q);
    h->curl->multi_add_handle(h->multi, h->easy);
    enum http_end end = run(&t, loop, f, err);
    if (!reply->status)
        h->curl->easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &reply->status);
    /* closes the connection unless the answer was read to its end */
    h->curl->multi_remove_handle(h->multi, h->easy);
    h->curl->slist_free_all(headers);
    return end;
}
