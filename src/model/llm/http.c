/* http.c - one transfer of libcurl with our timers. It uses libcurl's multi interface with one easy handle,
 * and its poll includes the loop's descriptors. The timers are ours, because libcurl's low-speed limit is
 * inexact, and comments or one byte a second would defeat it.
 */
#include "llm/http.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/url.h"
#include "llm/certificates.h"
#include "llm/curl_load.h"
#include "process/signals.h"
#include "wire/reader.h"

#if LIBCURL_VERSION_NUM < 0x074b00
#define CURLOPT_AWS_SIGV4 ((CURLoption)(CURLOPTTYPE_STRINGPOINT + 305))
#endif

struct http {
    const struct curl_api *curl;
    CURLM *multi;
    CURL *easy;
    char error[CURL_ERROR_SIZE];
};

struct transfer {
    struct http *h;
    const struct http_transfer *q;
    struct http_reply *reply;
    int64_t byte_at; /* when the latest byte passed in either direction */
    curl_off_t moved, sent;
    size_t body, headers;
    size_t read;    /* of the file that is sent */
    int read_errno; /* why no more of it could be read; 0: it was shorter than it should be */
    bool stopped, too_big, headers_big, refused, unread;
    bool interim; /* the current head has a status 1xx */
    bool head;    /* the head of the final answer is complete */
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
        return error_null(err, ERROR_SYSTEM, 0, "libcurl could not be initialised");
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

static struct http *kept; /* its connections may do for the next request */

struct http *http_take(struct error *err)
{
    return kept ? steal(&kept) : http_new(err);
}

void http_keep(struct http *h)
{
    if (!h)
        return;
    http_free(kept);
    kept = h;
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
    /* A new head (after 100 Continue or a proxy's CONNECT) replaces the last one. */
    if (n > 5 && !strncmp(p, "HTTP/", 5)) {
        const char *status = memchr(p, ' ', n);
        r->head = (struct failure_head){0};
        t->interim = status && status[1] == '1';
        t->head = false;
    } else if (n && (*p == '\r' || *p == '\n')) {
        t->head = !t->interim;
    }
    if (t->q->header_lines)
        buf_add(t->q->header_lines, p, n);
    http_header(&r->head, p, n, time(NULL));
    return n;
}

static void note_status(struct transfer *t)
{
    long status = t->reply->head.status;
    if (!status)
        t->h->curl->easy_getinfo(t->h->easy, CURLINFO_RESPONSE_CODE, &status);
    t->reply->head.status = (int)status;
}

static size_t reply_max(const struct transfer *t)
{
    return t->q->body_max ? t->q->body_max : READER_REPLY_MAX;
}

static size_t on_http_body(char *p, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    n *= size;
    t->reply->began = true;
    note_status(t);
    bool error = t->reply->head.status >= 300;
    t->body += n;
    if (t->body > (error ? HTTP_ERROR_MAX : reply_max(t))) {
        t->too_big = !error;
        t->stopped = error; /* for an error, what came so far is enough */
        return 0;
    }
    if (!t->q->data(t->q->ctx, t->reply, p, n)) {
        t->stopped = true;
        return 0;
    }
    return n;
}

/* The file is read, not mapped: whoever truncates one that is mapped kills the program that reads it. */
static size_t on_read(char *p, size_t size, size_t n, void *ctx)
{
    struct transfer *t = ctx;
    size_t left = t->q->len - t->read;
    n *= size;
    if (!left)
        return 0;
    ssize_t got = pread(*t->q->file, p, n < left ? n : left, (off_t)t->read);
    if (got <= 0) {
        t->unread = true;
        t->read_errno = got < 0 ? errno : 0;
        return CURL_READFUNC_ABORT;
    }
    t->read += (size_t)got;
    return (size_t)got;
}

/* libcurl sends the body anew when a connection that was kept open turns out to be closed. */
static int on_seek(void *ctx, curl_off_t offset, int origin)
{
    struct transfer *t = ctx;
    if (origin != SEEK_SET || offset < 0 || (size_t)offset > t->q->len)
        return CURL_SEEKFUNC_FAIL;
    t->read = (size_t)offset;
    return CURL_SEEKFUNC_OK;
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
    if (ulnow != t->sent) { /* a large body on a slow line is content too */
        t->sent = ulnow;
        t->reply->life.content_at = t->byte_at;
    }
    if (t->q->sent)
        t->q->sent(t->q->ctx, (uint64_t)ulnow);
    return 0;
}

/* libcurl gives the address that it is about to connect to. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct transfer *t = ctx;
    (void)purpose;
    if (!t->q->may_connect(&address->addr)) {
        t->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static CURLcode set_body(struct http *h, struct transfer *t)
{
    const struct http_transfer *q = t->q;
    const struct curl_api *c = h->curl;
    CURL *e = h->easy;
    CURLcode rc = c->easy_setopt(e, CURLOPT_POST, 1L);
    if (q->file) {
        rc = rc ? rc : c->easy_setopt(e, CURLOPT_READFUNCTION, on_read);
        rc = rc ? rc : c->easy_setopt(e, CURLOPT_READDATA, t);
        rc = rc ? rc : c->easy_setopt(e, CURLOPT_SEEKFUNCTION, on_seek);
        rc = rc ? rc : c->easy_setopt(e, CURLOPT_SEEKDATA, t);
    } else {
        rc = rc ? rc : c->easy_setopt(e, CURLOPT_POSTFIELDS, q->body);
    }
    return rc ? rc : c->easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->len);
}

/* headers must live as long as the transfer. Any result but CURLE_OK means that this libcurl cannot do it. */
static CURLcode set_options(struct http *h, struct transfer *t, const struct curl_slist *headers)
{
    const struct http_transfer *q = t->q;
    const struct curl_api *c = h->curl;
    CURL *e = h->easy;
    c->easy_reset(e);
    CURLcode rc = curl_common(c, e, q->url, q->ca_cert, q->connect_ms);
    if (q->body || q->file)
        rc = rc ? rc : set_body(h, t);
    if (q->method)
        rc = rc ? rc : c->easy_setopt(e, CURLOPT_CUSTOMREQUEST, q->method);
    if (q->sign) {
        rc = rc ? rc : c->easy_setopt(e, CURLOPT_AWS_SIGV4, q->sign);
        rc = rc ? rc : c->easy_setopt(e, CURLOPT_USERPWD, q->user);
    }
    if (q->may_connect) {
        rc = rc ? rc : c->easy_setopt(e, CURLOPT_PROXY, "");
        rc = rc ? rc : c->easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, open_socket);
        rc = rc ? rc : c->easy_setopt(e, CURLOPT_OPENSOCKETDATA, t);
    }
    rc = rc ? rc : c->easy_setopt(e, CURLOPT_HTTPHEADER, headers);
    rc = rc ? rc : c->easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "");
    rc = rc ? rc : c->easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L);
    rc = rc ? rc : c->easy_setopt(e, CURLOPT_ERRORBUFFER, h->error);
    rc = rc ? rc : c->easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    rc = rc ? rc : c->easy_setopt(e, CURLOPT_HEADERDATA, t);
    rc = rc ? rc : c->easy_setopt(e, CURLOPT_WRITEFUNCTION, on_http_body);
    rc = rc ? rc : c->easy_setopt(e, CURLOPT_WRITEDATA, t);
    rc = rc ? rc : c->easy_setopt(e, CURLOPT_NOPROGRESS, 0L);
    rc = rc ? rc : c->easy_setopt(e, CURLOPT_XFERINFOFUNCTION, on_progress);
    return rc ? rc : c->easy_setopt(e, CURLOPT_XFERINFODATA, t);
}

static int64_t sooner(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

/* Returns what the timers say: -1 to go on, otherwise how the transfer ends. */
static int check_timers(struct transfer *t, int64_t now, struct error *err)
{
    const struct http_transfer *q = t->q;
    struct failure *f = &t->reply->failure;
    if (t->reply->life.end_by && now >= t->reply->life.end_by)
        return HTTP_STOPPED;
    autofree char *host = url_host(q->url);
    if (q->deadline && now >= q->deadline) {
        error_set(err, ERROR_LIMIT, 0, "the time limit for this question was reached (while waiting for %s)",
                  host);
        return HTTP_ABORTED;
    }
    if (now - t->byte_at >= q->idle_ms) {
        failure_set(f, FAILURE_NETWORK, "%s sent nothing for %d s", host, q->idle_ms / 1000);
        f->hint = REMEDY_IDLE_TIMEOUT;
        f->once = true;
        return HTTP_LOST;
    }
    if (now - t->reply->life.content_at >= q->quiet_ms) {
        failure_certain(f, REMEDY_ASK_OR_MODEL, "%s sent only keep-alives, no content, for %d s", host,
                        q->quiet_ms / 1000);
        return HTTP_LOST;
    }
    return -1;
}

static int next_timeout(const struct transfer *t, int64_t now)
{
    int64_t at = sooner(t->byte_at + t->q->idle_ms, t->reply->life.content_at + t->q->quiet_ms);
    at = sooner(at, t->q->deadline);
    at = sooner(at, t->reply->life.end_by);
    int64_t left = at - now;
    return left < 0 ? 0 : left > 1000 ? 1000 : (int)left;
}

struct loss { /* how a connection was lost, in libcurl's words */
    CURLcode code;
    const char *why, *host;
};

/* True when the proxy refused, or when there is no proxy where one is configured. */
static bool describe_proxy(const struct transfer *t, const struct loss *l)
{
    struct failure *f = &t->reply->failure;
    const char *why = l->why, *host = l->host;
    CURLcode code = l->code;
    long answered = 0;
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(host, ":"), host);
    t->h->curl->easy_getinfo(t->h->easy, CURLINFO_HTTP_CONNECTCODE, &answered);
    if (answered >= 300) {
        failure_certain(f, answered == 407 ? REMEDY_PROXY_CREDENTIALS : REMEDY_PROXY_REFUSES,
                        "the proxy refused to connect to %s (%ld)", host, answered);
        t->reply->began = false; /* what came was from the proxy */
        return true;
    }
    if (code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_PROXY) {
        failure_certain(f, REMEDY_PROXY_UNREACHABLE, "cannot reach %s through the proxy: %s", host, why);
        return true;
    }
    /* libcurl's words name what it could not connect to. */
    if (code == CURLE_COULDNT_CONNECT && host[0] != '[' && !strstr(why, name)) {
        failure_certain(f, REMEDY_PROXY_DOWN, "cannot reach %s: the proxy does not answer: %s", host, why);
        return true;
    }
    return false;
}

/* Returns what a person can read of "OpenSSL/3.0: error:0A000410:SSL routines::sslv3 alert handshake
 * failure". */
static const char *tls_words(const char *why)
{
    const char *at = strstr(why, "routines:");
    const char *last = at ? strrchr(at, ':') : NULL;
    return last && last[1] ? last + 1 : why;
}

static bool describe_tls(struct failure *f, const struct loss *l)
{
    const char *why = l->why, *host = l->host;
    CURLcode code = l->code;
    if (code == CURLE_SSL_CONNECT_ERROR && strcasestr(why, "wrong version number"))
        failure_certain(f, REMEDY_HTTP_URL, "%s does not speak TLS", host);
    else if (code == CURLE_SSL_CONNECT_ERROR
             && (strcasestr(why, "unsupported protocol") || strcasestr(why, "protocol version")))
        failure_certain(f, REMEDY_TLS_OLD, "%s uses a TLS version older than 1.2", host);
    else if (code == CURLE_SSL_CONNECT_ERROR)
        failure_set(f, FAILURE_NETWORK, "%s: TLS connection failed: %s", host, tls_words(why));
    else
        return false;
    return true;
}

/* The connection was established and then lost. */
static void describe_lost(const struct transfer *t, const struct loss *l)
{
    struct failure *f = &t->reply->failure;
    const char *why = l->why, *host = l->host;
    CURLcode code = l->code;
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

/* CURLE_TOO_LARGE of 8.6; an older libcurl reports "out of memory" for a line that it has no room for. */
#define TOO_LARGE ((CURLcode)100)

static void describe(struct transfer *t, CURLcode code)
{
    struct http *h = t->h;
    struct failure *f = &t->reply->failure;
    autofree char *host = url_host(t->q->url);
    const char *why = *h->error ? h->error : h->curl->easy_strerror(code);
    const struct loss l = {code, why, host};
    long os = 0;
    h->curl->easy_getinfo(h->easy, CURLINFO_OS_ERRNO, &os);
    if (t->q->may_connect
        && (code == CURLE_COULDNT_RESOLVE_HOST || (t->refused && code == CURLE_COULDNT_CONNECT))) {
        /* the same answer for both, so that nobody learns which names our network has */
        failure_set(f, FAILURE_FATAL, "%s is not known on the public internet", host);
    } else if (t->unread) {
        failure_set(f, FAILURE_FATAL, "%s",
                    t->read_errno ? strerror(t->read_errno) : "the file became shorter while it was sent");
    } else if (t->too_big) {
        failure_set(f, FAILURE_PROTOCOL, "a reply larger than %zu MiB", reply_max(t) >> 20);
    } else if (t->headers_big) {
        failure_set(f, FAILURE_PROTOCOL, "headers larger than %u KiB", HTTP_HEADERS_MAX >> 10);
    } else if (!t->head && (code == CURLE_OUT_OF_MEMORY || code == TOO_LARGE)) {
        failure_set(f, FAILURE_PROTOCOL, "headers longer than any service needs");
    } else if (describe_proxy(t, &l) || certificates_describe(code, why, host, t->q->ca_cert, f)
               || describe_tls(f, &l)) {
        return;
    } else if (code == CURLE_COULDNT_CONNECT && os == ECONNREFUSED) {
        failure_set(f, FAILURE_NETWORK, "cannot reach %s (connection refused)", host);
        f->hint = REMEDY_SERVER_RUNNING;
        f->never = url_is_loopback(t->q->url);
    } else if (code == CURLE_COULDNT_RESOLVE_HOST) {
        failure_set(f, FAILURE_NETWORK, "cannot reach %s: unknown host", host);
        f->hint = REMEDY_CHECK_URL;
        /* libcurl does not distinguish a name that does not exist from a resolver that does not work; the
         * second is worth one more try. */
        f->once = true;
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
        failure_set(f, FAILURE_NETWORK, "cannot reach %s: no connection within %d s", host,
                    t->q->connect_ms / 1000);
    } else if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY
               || code == CURLE_BAD_CONTENT_ENCODING || code == CURLE_URL_MALFORMAT) {
        failure_set(f, FAILURE_PROTOCOL, "%s", strstr(why, "HTTP/0.9") ? "a reply that is not HTTP" : why);
        f->hint = REMEDY_NO_SERVICE;
    } else {
        describe_lost(t, &l);
    }
}

/* Was there no connection at all, or none that we may use? */
static bool is_apart(CURLcode code)
{
    return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY
           || code == CURLE_COULDNT_CONNECT || code == CURLE_PROXY || code == CURLE_OPERATION_TIMEDOUT
           || code == CURLE_SSL_CONNECT_ERROR || certificates_refused(code);
}

static enum http_end run_transfer(struct transfer *t, struct error *err)
{
    struct http *h = t->h;
    struct loop *loop = t->q->loop;
    for (;;) {
        int running = 0, left = 0;
        h->curl->multi_perform(h->multi, &running);
        for (CURLMsg *m; (m = h->curl->multi_info_read(h->multi, &left));) {
            if (m->msg != CURLMSG_DONE)
                continue;
            if (m->data.result == CURLE_OK && (t->head || !t->reply->began))
                /* libcurl takes an end in the middle of a head for the end of an empty answer. */
                return HTTP_WHOLE;
            if (t->stopped)
                return HTTP_STOPPED;
            describe(t, m->data.result);
            t->reply->failure.apart = is_apart(m->data.result);
            return HTTP_LOST;
        }
        int end = check_timers(t, clock_ms(), err);
        if (end >= 0)
            return (enum http_end)end;
        if (loop && loop_cancelled(loop)) {
            error_set(err, ERROR_CANCELLED, 0, "interrupted");
            return HTTP_ABORTED;
        }
        curl_wait(h->curl, h->multi, loop, next_timeout(t, clock_ms()));
    }
}

void http_forget_connections(struct http *h)
{
    CURLM *fresh = h->curl->multi_init();
    if (!fresh)
        return;
    h->curl->multi_cleanup(h->multi);
    h->multi = fresh;
}

enum http_end http_post(struct http *h, const struct http_transfer *q, struct http_reply *reply,
                        struct error *err)
{
    int64_t now = clock_ms();
    struct transfer t = {.h = h, .q = q, .reply = reply, .byte_at = now};
    enum http_end end = HTTP_ABORTED;
    *reply = (struct http_reply){.life.content_at = now};
    h->error[0] = '\0';
    /* libcurl would sign that header although it is not sent */
    struct curl_slist *headers = q->sign ? NULL : h->curl->slist_append(NULL, "Expect:");
    for (size_t i = 0; i < q->n_headers; i++)
        headers = h->curl->slist_append(headers, q->headers[i]);
    CURLcode rc = set_options(h, &t, headers);
    if (rc || h->curl->multi_add_handle(h->multi, h->easy) != CURLM_OK) {
        error_set(err, ERROR_SYSTEM, 0, "this libcurl cannot make the request: %s",
                  rc ? h->curl->easy_strerror(rc) : "it takes no transfer");
    } else {
        end = run_transfer(&t, err);
        note_status(&t);
        /* This closes the connection unless the answer was read to its end. */
        h->curl->multi_remove_handle(h->multi, h->easy);
    }
    h->curl->slist_free_all(headers);
    return end;
}
