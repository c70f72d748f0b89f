/* upload.c - sends one file by PUT and tries again where that helps. A service is a row of a table: how its
 * URL is made, and which headers it wants.
 */
#include "upload/upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_type.h"
#include "base/mem.h"
#include "base/percent.h"
#include "base/url.h"
#include "conversation/phase.h"
#include "llm/http.h"
#include "llm/retry.h"

#define HEADERS_MAX 4
#define ERROR_BODY  4096

struct upload {
    const struct service *service;
    struct http *http;
    struct loop *loop;
    char *base;  /* the URL of the place, without a slash at its end */
    char *user;  /* S3: ACCESS_KEY:SECRET; or NULL */
    char *sign;  /* S3: what libcurl's AWS_SIGV4 takes; or NULL */
    char *query; /* Azure: the SAS token; or NULL */
    char *token; /* S3: a header with the session token; or NULL */
    char *ca_cert;
    int connect_ms, idle_ms;
    void (*phase)(void *ctx, const struct phase_now *now, const char *why);
    void *ctx;
};

static const char *variable(const char *name)
{
    const char *v = getenv(name);

    return v && *v ? v : NULL;
}

static char *encoded(const char *path)
{
    struct buf out = BUF_INIT(0);

    percent_encode(&out, path, "/");
    return buf_steal(&out, NULL);
}

static int open_s3(struct upload *u, const char *to, struct error *err)
{
    const char *key = variable("AWS_ACCESS_KEY_ID"), *secret = variable("AWS_SECRET_ACCESS_KEY");
    const char *named = variable("AWS_ENDPOINT_URL_S3") ? "AWS_ENDPOINT_URL_S3" : "AWS_ENDPOINT_URL";
    const char *region = variable("AWS_REGION"), *endpoint = variable(named);
    const char *token = variable("AWS_SESSION_TOKEN");

    if (!key || !secret)
        return error_set(err, ERROR_USAGE, 0,
                         "--upload: there are no credentials for %.200s\n"
                         "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                         to);
    region = region ? region : variable("AWS_DEFAULT_REGION");
    region = region ? region : "us-east-1";
    if (endpoint && url_check(endpoint, named, err) < 0)
        return -1;
    autofree char *amazon = xasprintf("https://s3.%s.amazonaws.com", region);
    autofree char *host = url_trim(endpoint ? endpoint : amazon), *path = encoded(to + strlen("s3://"));

    u->base = xasprintf("%s/%s", host, path);
    u->user = xasprintf("%s:%s", key, secret);
    u->sign = xasprintf("aws:amz:%s:s3", region);
    u->token = token ? xasprintf("x-amz-security-token: %s", token) : NULL;
    return 0;
}

static int open_azure(struct upload *u, const char *to, struct error *err)
{
    const char *token = variable("AZURE_STORAGE_SAS_TOKEN");

    if (!token)
        return error_set(err, ERROR_USAGE, 0,
                         "--upload: there are no credentials for %.200s\n"
                         "Set AZURE_STORAGE_SAS_TOKEN to a shared access signature that may create blobs",
                         to);
    u->base = xstrdup(to);
    u->query = xstrdup(token + strspn(token, "?"));
    return 0;
}

static const struct service {
    const char *scheme;
    int (*open)(struct upload *u, const char *to, struct error *err);
    const char *headers[2]; /* or NULL */
} services[] = {
    /* S3 takes no request without that header, and libcurl adds it from 8.0 on only */
    {"s3://", open_s3, {"x-amz-content-sha256: UNSIGNED-PAYLOAD"}},
    {"https://", open_azure, {"x-ms-blob-type: BlockBlob", "x-ms-version: 2020-10-02"}},
    {"http://", open_azure, {"x-ms-blob-type: BlockBlob", "x-ms-version: 2020-10-02"}},
};

static int check_address(const struct upload *u, const struct upload_options *o, struct error *err)
{
    if (url_check(u->base, "--upload", err) < 0)
        return -1;
    if (strpbrk(u->base, "?#"))
        return error_set(err, ERROR_USAGE, 0,
                         "--upload: the URL must not contain a query\n"
                         "A shared access signature belongs in AZURE_STORAGE_SAS_TOKEN");
    const char *path = strstr(u->base, "//") + 2;
    path = strchr(path, '/');
    if (!path || !path[1])
        return error_set(err, ERROR_USAGE, 0, "--upload: %.200s names no bucket or container", o->to);
    if (url_is_plain(u->base) && !url_is_loopback(u->base) && !o->insecure)
        return error_set(err, ERROR_USAGE, 0, "--upload: credentials are not sent over http:// to %.200s",
                         u->base);
    return 0;
}

struct upload *upload_new(const struct upload_options *o, struct error *err)
{
    struct upload *u = xcalloc(1, sizeof *u);
    autofree char *to = url_trim(o->to);

    u->loop = o->loop;
    u->connect_ms = o->connect_ms;
    u->idle_ms = o->idle_ms;
    u->ca_cert = xstrdup(o->ca_cert);
    u->phase = o->phase;
    u->ctx = o->ctx;
    for (size_t i = 0; i < countof(services) && !u->service; i++)
        if (!strncmp(to, services[i].scheme, strlen(services[i].scheme)))
            u->service = &services[i];
    if (!u->service)
        error_set(err, ERROR_USAGE, 0,
                  "--upload: expected s3://BUCKET/PREFIX or https://ACCOUNT.../CONTAINER/PREFIX, found "
                  "\"%.200s\"",
                  o->to);
    else if (u->service->open(u, to, err) == 0 && check_address(u, o, err) == 0) {
        xreplace(&u->base, xasprintf("%s/%s", u->base, o->session));
        return u;
    }
    upload_free(u);
    return NULL;
}

void upload_free(struct upload *u)
{
    if (!u)
        return;
    http_free(u->http);
    free_secret(u->user);
    free_secret(u->query);
    free_secret(u->token);
    free(u->base);
    free(u->sign);
    free(u->ca_cert);
    free(u);
}

struct upload_try {
    struct upload *u;
    const char *url, *name;
    int fd;
    size_t size;     /* of the file, when it was opened */
    struct buf body; /* the service's answer */
    int64_t told;    /* clock_ms() when the phase was last told */
    uint64_t sent;   /* the bytes that were told as sent */
};

static void tell_phase(struct upload_try *a, const struct phase_now *now, const char *why)
{
    a->told = clock_ms();
    if (a->u->phase)
        a->u->phase(a->u->ctx, now, why);
}

static void tell_sent(struct upload_try *a, uint64_t bytes)
{
    a->sent = bytes;
    tell_phase(a, &(struct phase_now){.phase = PHASE_UPLOADING, .done = bytes, .total = a->size}, NULL);
}

static void on_sent(void *ctx, uint64_t bytes)
{
    struct upload_try *a = ctx;

    if (bytes != a->sent && clock_ms() - a->told >= PHASE_TOLD_EVERY_MS)
        tell_sent(a, bytes);
}

static bool on_body(void *ctx, struct http_reply *reply, const char *p, size_t n)
{
    struct upload_try *a = ctx;

    (void)reply;
    buf_add(&a->body, p, n < ERROR_BODY - a->body.len ? n : ERROR_BODY - a->body.len);
    return true;
}

/* Copies the code in <Code>NoSuchBucket</Code>, or "". */
static void error_code(const struct buf *body, char *out, size_t size)
{
    const char *at = strstr(buf_str(body), "<Code>");
    size_t n = at ? strspn(at + 6, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") : 0;

    snprintf(out, size, "%.*s", (int)(n < size ? n : size - 1), at ? at + 6 : "");
}

/* Makes one attempt. 0: the file is there; 1: f says why it is not; -1: err says why no retry is made. */
static int put_to_server(struct upload_try *a, struct failure *f, struct error *err)
{
    struct upload *u = a->u;
    const char *kind = file_type(a->name);
    autofree char *type = xasprintf("Content-Type: %s%s", kind,
                                    !strcmp(kind, "text/plain") ? "; charset=utf-8" : "");
    autofree char *whole = u->query ? xasprintf("%s?%s", a->url, u->query) : xstrdup(a->url);
    const char *headers[HEADERS_MAX] = {type};
    size_t n = 1;
    struct http_reply reply;

    for (size_t i = 0; i < countof(u->service->headers) && u->service->headers[i]; i++)
        headers[n++] = u->service->headers[i];
    if (u->token)
        headers[n++] = u->token;
    const struct http_transfer q = {.url = whole,
                                    .method = "PUT",
                                    .file = &a->fd,
                                    .len = a->size,
                                    .user = u->user,
                                    .sign = u->sign,
                                    .headers = headers,
                                    .n_headers = n,
                                    .ca_cert = u->ca_cert,
                                    .connect_ms = u->connect_ms,
                                    .idle_ms = u->idle_ms,
                                    .quiet_ms = 2 * u->idle_ms,
                                    .loop = u->loop,
                                    .ctx = a,
                                    .sent = on_sent,
                                    .data = on_body};
    buf_clear(&a->body);
    tell_sent(a, 0);
    enum http_end end = http_post(u->http, &q, &reply, err);
    explicit_bzero(whole, strlen(whole));
    if (end == HTTP_ABORTED)
        return -1;
    if (end != HTTP_LOST && reply.head.status >= 200 && reply.head.status < 300)
        return 0;
    if (end == HTTP_LOST)
        *f = reply.failure;
    else
        failure_from_response(f, &reply.head, buf_str(&a->body), a->body.len);
    return 1;
}

static int upload_failure(const struct upload_try *a, const struct failure *f, struct error *err)
{
    autofree char *host = url_host(a->url);
    char code[64] = "";

    if (!f->status)
        return error_set(err, ERROR_NETWORK, 0, "%.200s was not uploaded to %s: %s", a->name, host,
                         f->message);
    error_code(&a->body, code, sizeof code);
    return error_set(err, ERROR_API, f->status, "%.200s was not uploaded to %s (%d%s%s)", a->name, host,
                     f->status, *code ? " " : "", code);
}

static void tell_wait(struct upload_try *a, const struct failure *f, unsigned tried, int ms)
{
    autofree char *host = url_host(a->url);
    char said[250], status[16] = "";

    if (f->status)
        snprintf(status, sizeof status, " (%d)", f->status);
    failure_brief(f, "", said, sizeof said);
    autofree char *wait = failure_wait_text(ms, tried + 1, RETRY_MAX + 1);
    autofree char *why = xasprintf("%s%s%s. %s", f->status ? host : said,
                                   !f->status                   ? ""
                                   : failure_is_busy(f->status) ? " is busy"
                                                                : " failed",
                                   status, wait);
    tell_phase(a, &(struct phase_now){.phase = PHASE_RETRYING, .until = clock_ms() + ms}, why);
}

static int put_and_retry(struct upload_try *a, struct error *err)
{
    struct retry retry = {0};

    for (;;) {
        struct failure f = {.retry_after = -1};
        int status = put_to_server(a, &f, err);

        if (status <= 0)
            return status;
        const struct retry_now now = {.ms = clock_ms(), .jitter = retry_jitter()};
        struct retry_choice next = retry_decide(&retry, &f, now);
        if (next.what != RETRY_WAIT)
            return upload_failure(a, &f, err);
        tell_wait(a, &f, retry.attempts, next.wait_ms);
        if (retry_wait(a->u->loop, next.wait_ms, 0, err) < 0)
            return -1;
    }
}

int upload_file(struct upload *u, const char *path, const char *name, char **url, struct error *err)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    autofree char *key = encoded(name), *where = xasprintf("%s/%s", u->base, key);
    struct upload_try a = {.u = u, .url = where, .name = name, .fd = fd};
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, "%.200s was not uploaded", name);
    if (!u->http && !(u->http = http_new(err)))
        return -1;
    a.size = (size_t)st.st_size;
    buf_init(&a.body, ERROR_BODY);
    int status = put_and_retry(&a, err);
    buf_release(&a.body);
    if (status == 0)
        *url = steal(&where);
    return status;
}
