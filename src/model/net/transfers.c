/* transfers.c - libcurl's multi interface, with an easy handle for each transfer. */
#include "net/transfers.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/argv.h"
#include "base/error.h"
#include "base/mem.h"
#include "llm/curl_load.h"
#include "process/loop.h"

#define CONNECT_MS 15000
#define HEAD_MAX   (64u << 10)

struct net_transfer {
    struct net_transfer *next;
    struct transfers *ts;
    CURL *easy;
    struct curl_slist *headers;
    struct buf sent, head, body;
    bool open, begun;
    void (*done)(void *ctx, const struct transfer_end *end);
    void *ctx;
    char error[CURL_ERROR_SIZE];
};

struct transfers {
    const struct curl_api *curl;
    CURLM *multi;
    struct loop *loop;
    const char *ca_cert;
    struct net_transfer *all;
};

struct transfers *transfers_new(struct loop *loop, const char *ca_cert, struct error *err)
{
    const struct curl_api *curl = curl_load(err);
    CURLM *multi = curl ? curl->multi_init() : NULL;

    if (curl && !multi)
        error_set(err, ERROR_SYSTEM, 0, "libcurl could not be initialised");
    if (!multi)
        return NULL;
    struct transfers *ts = xcalloc(1, sizeof *ts);
    *ts = (struct transfers){.curl = curl, .multi = multi, .loop = loop, .ca_cert = ca_cert};
    return ts;
}

void transfer_drop(struct net_transfer *t)
{
    if (!t)
        return;
    struct transfers *ts = t->ts;
    struct net_transfer **at = &ts->all;

    while (*at && *at != t)
        at = &(*at)->next;
    if (*at)
        *at = t->next;
    if (t->begun)
        ts->curl->multi_remove_handle(ts->multi, t->easy);
    if (t->easy)
        ts->curl->easy_cleanup(t->easy);
    ts->curl->slist_free_all(t->headers);
    buf_release(&t->sent);
    buf_release(&t->head);
    buf_release(&t->body);
    free(t);
}

void transfers_free(struct transfers *ts)
{
    if (!ts)
        return;
    while (ts->all)
        transfer_drop(ts->all);
    ts->curl->multi_cleanup(ts->multi);
    free(ts);
}

/* ---- one transfer ---- */

/* The last head counts: one of a proxy's CONNECT, or 100 Continue, may come before it. */
static size_t on_transfer_header(char *p, size_t size, size_t n, void *ctx)
{
    struct net_transfer *t = ctx;

    n *= size;
    if (n > 5 && !strncmp(p, "HTTP/", 5))
        buf_clear(&t->head);
    return buf_add(&t->head, p, n) ? n : 0;
}

static size_t on_transfer_body(char *p, size_t size, size_t n, void *ctx)
{
    struct net_transfer *t = ctx;

    n *= size;
    return buf_add(&t->body, p, n) ? n : 0;
}

static CURLcode set_transfer_body(struct net_transfer *t, const struct transfer_want *w)
{
    const struct curl_api *c = t->ts->curl;

    if (!w->body)
        return CURLE_OK;
    t->sent = *w->body;
    *w->body = (struct buf)BUF_INIT(0);
    CURLcode rc = c->easy_setopt(t->easy, CURLOPT_POST, 1L);
    rc = rc ? rc : c->easy_setopt(t->easy, CURLOPT_POSTFIELDS, buf_str(&t->sent));
    return rc ? rc : c->easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->sent.len);
}

static CURLcode set_transfer(struct net_transfer *t, const struct transfer_want *w)
{
    const struct curl_api *c = t->ts->curl;
    CURLcode rc = curl_common(c, t->easy, w->url, t->ts->ca_cert, w->ms < CONNECT_MS ? w->ms : CONNECT_MS);

    rc = rc ? rc : c->easy_setopt(t->easy, CURLOPT_PRIVATE, t);
    rc = rc ? rc : c->easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->error);
    if (w->open) {
        rc = rc ? rc : c->easy_setopt(t->easy, CURLOPT_CONNECT_ONLY, 1L);
        /* A peer that is offered HTTP/2 may choose it, and then there is no upgrade. */
        return rc ? rc : c->easy_setopt(t->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    }
    rc = rc ? rc : set_transfer_body(t, w);
    if (w->method)
        rc = rc ? rc : c->easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, w->method);
    for (size_t i = 0; w->headers && i < w->headers->n; i++)
        t->headers = c->slist_append(t->headers, w->headers->v[i]);
    t->headers = c->slist_append(t->headers, "Expect:"); /* no pause before a body */
    rc = rc ? rc : c->easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
    rc = rc ? rc : c->easy_setopt(t->easy, CURLOPT_TIMEOUT_MS, (long)w->ms);
    rc = rc ? rc : c->easy_setopt(t->easy, CURLOPT_ACCEPT_ENCODING, "");
    rc = rc ? rc : c->easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_transfer_header);
    rc = rc ? rc : c->easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
    rc = rc ? rc : c->easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_transfer_body);
    return rc ? rc : c->easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
}

struct net_transfer *transfers_begin(struct transfers *ts, const struct transfer_want *w, struct error *err)
{
    struct net_transfer *t = xcalloc(1, sizeof *t);

    *t = (struct net_transfer){.next = ts->all,
                               .ts = ts,
                               .easy = ts->curl->easy_init(),
                               .sent = BUF_INIT(0),
                               .head = BUF_INIT(HEAD_MAX),
                               .body = BUF_INIT(w->max ? w->max : 1),
                               .open = w->open,
                               .done = w->done,
                               .ctx = w->ctx};
    ts->all = t;
    CURLcode rc = t->easy ? set_transfer(t, w) : CURLE_OUT_OF_MEMORY;
    if (rc == CURLE_OK)
        t->begun = ts->curl->multi_add_handle(ts->multi, t->easy) == CURLM_OK;
    if (!t->begun) {
        error_set(err, ERROR_SYSTEM, 0, "libcurl cannot send this request: %s",
                  ts->curl->easy_strerror(rc ? rc : CURLE_FAILED_INIT));
        transfer_drop(t);
        return NULL;
    }
    return t;
}

/* ---- the end ---- */

static void end_transfer(struct net_transfer *t, CURLcode code)
{
    const struct curl_api *c = t->ts->curl;
    long status = 0;
    struct transfer_end end = {.head = buf_str(&t->head), .body = buf_str(&t->body), .body_len = t->body.len};

    c->easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    end.status = (int)status;
    end.too_large = t->body.full;
    end.why = code == CURLE_OK ? NULL
              : end.too_large  ? "the answer is too large"
              : *t->error      ? t->error
                               : c->easy_strerror(code);
    bool stays = t->open && code == CURLE_OK; /* until done() or its owner drops it */
    t->done(t->ctx, &end);
    if (!stays)
        transfer_drop(t);
}

static struct net_transfer *next_ended(struct transfers *ts, CURLcode *code)
{
    const struct CURLMsg *m;
    struct net_transfer *t = NULL;
    int left;

    while ((m = ts->curl->multi_info_read(ts->multi, &left)))
        if (m->msg == CURLMSG_DONE) {
            *code = m->data.result;
            ts->curl->easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
            return t;
        }
    return NULL;
}

void transfers_wait(struct transfers *ts, int ms)
{
    struct net_transfer *t;
    CURLcode code;
    int running;

    ts->curl->multi_perform(ts->multi, &running);
    while ((t = next_ended(ts, &code))) {
        end_transfer(t, code);
        ms = 0;
    }
    curl_wait(ts->curl, ts->multi, ts->loop, ms);
}

/* ---- a connection ---- */

int transfer_socket(const struct net_transfer *t)
{
    curl_socket_t fd = CURL_SOCKET_BAD;

    t->ts->curl->easy_getinfo(t->easy, CURLINFO_ACTIVESOCKET, &fd);
    return fd;
}

static ssize_t moved(CURLcode code, size_t n, bool end_is_lost)
{
    if (code == CURLE_OK && (n || !end_is_lost))
        return (ssize_t)n;
    errno = code == CURLE_AGAIN ? EAGAIN : ECONNRESET;
    return -1;
}

ssize_t transfer_send(struct net_transfer *t, const void *data, size_t len)
{
    size_t n = 0;
    CURLcode code = t->ts->curl->easy_send(t->easy, data, len, &n);

    return moved(code, n, false);
}

ssize_t transfer_receive(struct net_transfer *t, void *data, size_t len)
{
    size_t n = 0;
    CURLcode code = t->ts->curl->easy_recv(t->easy, data, len, &n);

    return moved(code, n, true);
}

char *transfer_header(const char *head, const char *name)
{
    size_t len = strlen(name);

    for (const char *line = head; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (!strncasecmp(line, name, len) && line[len] == ':') {
            const char *value = line + len + 1;

            value += strspn(value, " \t");
            return xmemdup0(value, trimmed_length(value, strcspn(value, "\r\n"), " \t"));
        }
    return NULL;
}
