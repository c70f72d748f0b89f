/* fetch.c - downloads the file with libcurl, and refuses each address that is not public when the socket is
 * opened.
 */
#include "fetch/fetch.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/url.h"
#include "llm/http.h"
#include "process/signals.h"

#define CONNECT_MS 10000
#define IDLE_MS    30000

struct fetch {
    const struct fetch_options *o;
    size_t size;
    int error; /* errno of a failed write; 0: none failed */
    bool too_large;
};

static bool on_body(void *ctx, struct http_reply *reply, const char *p, size_t n)
{
    struct fetch *f = ctx;

    reply->life.content_at = clock_ms();
    if (reply->head.status != 200)
        return false;
    f->too_large = n > f->o->max - f->size;
    while (n && !f->too_large && !f->error) {
        ssize_t written = write(f->o->fd, p, n);
        if (written < 0 && errno != EINTR) {
            f->error = errno;
        } else if (written > 0) {
            p += written;
            n -= (size_t)written;
            f->size += (size_t)written;
        }
    }
    return !f->too_large && !f->error;
}

/* Describes how the transfer ended, in words for the client who gave the URL. */
static int outcome(const struct fetch *f, enum http_end end, const struct http_reply *reply,
                   struct error *err)
{
    autofree char *host = url_host(f->o->url);

    if (f->error) {
        errno = f->error;
        return error_errno(err, "what %s sent cannot be stored", host);
    }
    if (f->too_large) {
        return error_set(err, ERROR_LIMIT, 0, "%s sent more than %s\nGive the URL of a smaller file.", host,
                         size_text(f->o->max).text);
    }
    if (end == HTTP_LOST && reply->failure.class == FAILURE_FATAL)
        return error_set(err, ERROR_USAGE, 0, "%s", reply->failure.message);
    if (end == HTTP_LOST)
        return error_set(err, ERROR_NETWORK, 0, "%s", reply->failure.message);
    if (reply->head.status >= 300 && reply->head.status < 400)
        return error_set(err, ERROR_API, reply->head.status,
                         "%s redirects to another URL (%d), which is not followed\n"
                         "Give the URL of the file itself.",
                         host, reply->head.status);
    if (reply->head.status != 200)
        return error_set(err, ERROR_API, reply->head.status, "%s answered %d instead of sending the file",
                         host, reply->head.status);
    return 0;
}

int fetch_url(const struct fetch_options *o, size_t *size, struct error *err)
{
    struct fetch f = {.o = o};
    struct http_reply reply;

    if (strncmp(o->url, "https://", 8) != 0)
        return error_set(err, ERROR_USAGE, 0, "files are only fetched from URLs that start with https://");
    if (url_check(o->url, "the file's URL", err) < 0)
        return -1;
    struct http *h = http_new(err);
    if (!h)
        return -1;
    const struct http_transfer q = {.url = o->url,
                                    .ca_cert = o->ca_cert,
                                    .connect_ms = CONNECT_MS < o->ms ? CONNECT_MS : o->ms,
                                    .idle_ms = IDLE_MS,
                                    .quiet_ms = IDLE_MS,
                                    .deadline = clock_ms() + o->ms,
                                    .loop = o->loop,
                                    .body_max = SIZE_MAX, /* on_body counts */
                                    .may_connect = o->may_connect ? o->may_connect : address_is_public,
                                    .ctx = &f,
                                    .data = on_body};
    enum http_end end = http_post(h, &q, &reply, err);
    http_free(h);
    *size = f.size;
    if (end != HTTP_ABORTED)
        return outcome(&f, end, &reply, err);
    if (!o->loop || !loop_cancelled(o->loop))
        return error_set(err, ERROR_LIMIT, 0, "the download did not end within %d s", o->ms / 1000);
    return -1;
}
