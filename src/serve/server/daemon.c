/* daemon.c - drives libmicrohttpd. Our loop watches its epoll descriptor, and a request that has to wait
 * for its answer is suspended, so nothing here blocks.
 *
 * The library reads and writes HTTP. It leaves three things to us: deadlines for headers and body, clients
 * that leave while they wait, and closing a connection so that a client that is still sending can read a
 * refusal.
 */
#include <assert.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "json/json.h"
#include "openai/chat_table.h"
#include "mcp/mcp.h"
#include "process/loop.h"
#include "server/listen.h"
#include "server/parked.h"
#include "server/private.h"
#include "server/questions.h"

static void run_daemon(void *ctx)
{
    struct server *s = ctx;
    MHD_UNSIGNED_LONG_LONG ms;

    s->woken = false;
    s->mhd->run(s->daemon);
    if (s->woken)
        loop_timer(s->o.loop, clock_ms(), run_daemon, s);
    else if (s->mhd->get_timeout(s->daemon, &ms) == MHD_YES)
        loop_timer(s->o.loop, clock_ms() + (int64_t)ms, run_daemon, s);
    else
        loop_timer_stop(s->o.loop, s);
}

void connection_refuse(struct connection *c, int status, const char *code, const char *detail)
{
    const char *phrase = status == 408   ? "Request Timeout"
                         : status == 413 ? "Content Too Large"
                         : status == 429 ? "Too Many Requests"
                         : status == 503 ? "Service Unavailable"
                                         : "Bad Request";
    autofree char *body = failure_text(c->q ? c->q->route : NULL, status, code, detail);
    autofree char *text = xasprintf(
        "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nConnection: close\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        status, phrase, strlen(body), body);

    c->s->counts.answers[status / 100]++;
    if (send(c->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        c->close = false;
}

/* line: the first line of the request has been read. */
static void refuse_incomplete(struct connection *c, bool line)
{
    connection_refuse(c, 400, NULL,
                      line ? "the request ended before it was complete"
                           : "not an HTTP request, or it ends within its first line");
}

static void deadline(void *ctx)
{
    struct connection *c = ctx;

    if (!c->idle)
        connection_refuse(c, 408, NULL, "the request did not arrive in time");
    shutdown(c->fd, SHUT_RDWR);
}

/* A client that ends its side in the middle of a request is told so at once. The library does not always see
 * it: the end that comes with the last bytes makes no further event. */
static void look_for_end(void *ctx)
{
    struct connection *c = *(struct connection **)ctx;
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
    int unread = 0;

    if (c->idle || (c->q && (c->q->dispatched || c->q->response)))
        return;
    if (poll(&p, 1, 0) > 0 && ioctl(c->fd, FIONREAD, &unread) == 0 && unread == 0) {
        refuse_incomplete(c, c->q != NULL);
        shutdown(c->fd, SHUT_RDWR);
    } else {
        loop_timer(c->s->o.loop, clock_ms() + LOOK_MS, look_for_end, ctx);
    }
}

static void set_deadline(struct connection *c, int64_t ms)
{
    loop_timer(c->s->o.loop, clock_ms() + ms, deadline, c);
}

/* Counts the bytes that were received and sent on this connection. The client's end counts as one byte.
 * False: they are unknown (a unix socket). */
static bool count_bytes(const struct connection *c, uint64_t *came, uint64_t *went)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof info;

    if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0
        || len < offsetof(struct tcp_info, tcpi_bytes_sent) + sizeof info.tcpi_bytes_sent)
        return false;
    *came = info.tcpi_bytes_received;
    *went = info.tcpi_bytes_sent;
    return true;
}

/* The library silently closes a connection whose first line it cannot read, or that ends in the middle of a
 * request. Did this one end like that? */
static bool nothing_was_sent(const struct connection *c)
{
    uint64_t came, went;

    return count_bytes(c, &came, &went) && came > c->came + 1 && went == c->went;
}

static bool has_unread(const struct connection *c)
{
    int unread = 0;

    return ioctl(c->fd, FIONREAD, &unread) == 0 && unread > 0;
}

static void on_connection(void *cls, struct MHD_Connection *mc, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct server *s = cls;
    struct connection *c = *context;

    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info = s->mhd->get_connection_info(mc,
                                                                           MHD_CONNECTION_INFO_CONNECTION_FD);

        *context = c = xcalloc(1, sizeof *c);
        *c = (struct connection){.s = s, .next = s->connections, .at = &s->connections, .mhd = mc};
        c->fd = info->connect_fd;
        info = s->mhd->get_connection_info(mc, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        note_address(c, info ? info->client_addr : NULL);
        c->since = clock_ms();
        c->token = -1;
        c->self = c;
        if (c->next)
            c->next->at = &c->next;
        s->connections = c;
        s->n_connections++;
        s->counts.connections++;
        give_way(s, c);
        set_deadline(c, HEADER_MS);
        loop_timer(s->o.loop, clock_ms() + LOOK_MS, look_for_end, &c->self);
        return;
    }
    loop_timer_stop(s->o.loop, c);
    loop_timer_stop(s->o.loop, &c->self);
    loop_unwatch(s->o.loop, c->fd);
    look_at_made(c);
    if (nothing_was_sent(c)) {
        refuse_incomplete(c, c->began);
        c->close = true;
    }
    if (has_unread(c)) /* the library itself has refused it, as for headers that are too long */
        c->close = true;
    if (c->close)
        linger_begin(c);
    *c->at = c->next;
    if (c->next)
        c->next->at = c->at;
    s->n_connections--;
    s->woken = true; /* a library that had stopped listening at its limit begins again only when it is run */
    free(c);
}

/* The first line of a request was read: its URI, untouched. */
static void *on_uri(void *cls, const char *uri, struct MHD_Connection *mc)
{
    struct server *s = cls;
    const union MHD_ConnectionInfo *info = s->mhd->get_connection_info(mc,
                                                                       MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct http_request *q = xcalloc(1, sizeof *q);
    size_t len = strcspn(uri, "?");

    q->s = s;
    q->c = info->socket_context;
    q->c->q = q;
    q->c->idle = false;
    q->c->began = true;
    if (q->c->token >= 0)
        q->c->since = clock_ms();
    loop_timer(s->o.loop, clock_ms() + LOOK_MS, look_for_end, &q->c->self);
    q->token = -1;
    q->target_len = strlen(uri);
    q->text = q->out = (struct spill)SPILL_INIT(0);
    q->path = xmemdup0(uri, len);
    q->query = xstrdup(uri[len] ? uri + len + 1 : "");
    q->began_ms = clock_ms();
    return q;
}

static size_t leave_escaped(void *cls, struct MHD_Connection *mc, char *text)
{
    (void)cls;
    (void)mc;
    return strlen(text);
}

static void tell_gone(struct http_request *q)
{
    if (q->gone && !q->ended && (q->streams || !q->answered)) {
        void (*gone)(void *) = q->gone;

        q->gone = NULL;
        q->s->counts.gone++;
        gone(q->gone_ctx);
    }
}

bool connection_ended(const struct connection *c)
{
    char byte;

    return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Ends what the request has made, unless its client got the whole answer, which tells of it. */
static void end_unclaimed(struct http_request *q, bool sent)
{
    struct lease *h = *q->made ? runners_find(q->s->o.runners, http_request_client(q), q->made, NULL) : NULL;

    if (h && !(sent && q->status < 400))
        runners_stop(q->s->o.runners, h);
}

/* The token is named by the beginning of its hash, which lets nobody in. What a client wrote is scrubbed:
 * in the whole line an escape sequence could take some of the JSON away. */
static char *json_line_of(const struct http_request *q, int64_t ms)
{
    struct timespec now;
    struct tm tm;
    char when[32];

    clock_gettime(CLOCK_REALTIME, &now);
    autofree char *method = scrub_line(q->method, SCRUB_TERMINAL);
    autofree char *path = scrub_line(q->path, SCRUB_TERMINAL);
    size_t len = strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &tm));
    snprintf(when + len, sizeof when - len, ".%03ldZ", now.tv_nsec / 1000000);
    autojson struct json *o = json_object_of(
        {"time", json_string(when)}, {"method", json_string(method)}, {"path", json_string(path)},
        {"operation", json_string(q->route ? q->route->operation : NULL)},
        {"status", json_integer(q->status)}, {"ms", json_integer(ms)},
        {"bytes", json_integer((int64_t)q->size)},
        {"client", q->client ? json_string_n(q->client, strnlen(q->client, 8)) : json_null()});

    return json_print(o);
}

static void log_request(const struct http_request *q)
{
    const struct server_options *o = &q->s->o;
    int64_t ms = clock_ms() - q->began_ms;

    if (!o->log || !q->method)
        return;
    autofree char *line = o->log_json
                              ? json_line_of(q, ms)
                              : xasprintf("%s %s %d %lld ms", q->method, q->path, q->status, (long long)ms);
    o->log(o->ctx, line);
}

static void on_completed(void *cls, struct MHD_Connection *mc, void **con_cls,
                         enum MHD_RequestTerminationCode why)
{
    struct http_request *q = *con_cls;
    struct server *s = cls;

    (void)mc;
    if (!q)
        return;
    *con_cls = NULL;
    if (why != MHD_REQUEST_TERMINATED_COMPLETED_OK)
        tell_gone(q);
    http_request_waits(q, true); /* it is no longer in progress */
    histogram_add(&s->counts.seconds, HISTOGRAM_SECONDS, (double)(clock_ms() - q->began_ms) / 1000);
    log_request(q);
    end_unclaimed(q, why == MHD_REQUEST_TERMINATED_COMPLETED_OK);
    memcpy(q->c->made, q->made, sizeof q->made);
    q->c->made_for = q->client;
    q->c->q = NULL;
    q->c->idle = true;
    if (q->c->token >= 0)
        q->c->since = clock_ms();
    if (why == MHD_REQUEST_TERMINATED_COMPLETED_OK) {
        q->c->began = false;
        count_bytes(q->c, &q->c->came, &q->c->went);
    }
    set_deadline(q->c, connection_ended(q->c) ? LEFT_MS : IDLE_MS);
    if (q->response)
        s->mhd->destroy_response(q->response);
    http_request_release(q);
    free(q);
}

/* While a request is suspended the library does not look at its socket, so we look whether the client leaves.
 * One that only ends its sending side counts as gone too: none that waits for an answer does that. */
static void on_hangup(void *ctx)
{
    struct connection *c = ctx;

    if (c->q)
        http_request_lose(c->q);
}

void http_request_watch(struct http_request *q)
{
    if (q->suspended)
        loop_watch(q->s->o.loop, q->c->fd, POLLRDHUP, on_hangup, q->c);
}

static void suspend(struct http_request *q)
{
    q->suspended = true;
    if (!q->queued)
        http_request_watch(q);
    q->s->mhd->suspend_connection(q->c->mhd);
}

void http_request_wake(struct http_request *q)
{
    if (!q->suspended)
        return;
    q->suspended = false;
    loop_unwatch(q->s->o.loop, q->c->fd);
    q->s->mhd->resume_connection(q->c->mhd);
    /* The library goes on with it when it is run next, which no descriptor tells the loop. */
    q->s->woken = true;
    loop_timer(q->s->o.loop, clock_ms(), run_daemon, q->s);
}

void http_request_lose(struct http_request *q)
{
    q->lost = true;
    if (q->suspended)
        http_request_wake(q);
    else
        shutdown(q->c->fd, SHUT_RDWR);
}

ssize_t stream_read(void *ctx, uint64_t pos, char *out, size_t max)
{
    struct http_request *q = ctx;
    size_t left = q->out.len - q->out_at;

    (void)pos;
    if (q->lost)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (left == 0) {
        if (q->ended)
            return MHD_CONTENT_READER_END_OF_STREAM;
        suspend(q);
        return 0;
    }
    size_t n = spill_read(&q->out, q->out_at, out, max);
    if (n == 0)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    q->out_at += n;
    if (q->out_at == q->out.len) {
        spill_release(&q->out);
        q->out_at = 0;
    }
    return (ssize_t)n;
}

static enum MHD_Result send_answer(struct http_request *q)
{
    if (*q->made && connection_ended(q->c)) /* nobody would hear of what it has made */
        return MHD_NO;
    enum MHD_Result rc = q->s->mhd->queue_response(q->c->mhd, (unsigned)q->status, q->response);

    loop_timer_stop(q->s->o.loop, q->c);
    if (q->c->token >= 0)
        q->c->since = clock_ms();
    q->s->counts.answers[q->status / 100 % STATUS_CLASSES]++;
    q->s->mhd->destroy_response(q->response);
    q->response = NULL;
    return rc;
}

/* Called when the headers are there, for each piece of the body, at its end, and after each resume. */
static enum MHD_Result on_request(void *cls, struct MHD_Connection *mc, const char *url, const char *method,
                                  const char *version, const char *data, size_t *size, void **con_cls)
{
    struct http_request *q = *con_cls;

    (void)cls;
    (void)mc;
    if (!q || q->lost)
        return MHD_NO;
    if (!q->checked) {
        q->checked = true;
        q->method = xstrdup(method);
        q->s->counts.requests++;
        set_deadline(q->c, BODY_MS);
        loop_unwatch(q->s->o.loop, q->c->fd);
        /* A refusal now ends the connection; where no body follows it can wait for the next call. */
        bool good = admit_headers(q, &(struct request_line){method, url, version});
        if (q->token >= 0) {
            q->c->token = q->token;
            q->c->since = clock_ms();
            give_way(q->s, q->c);
        }
        if (!good && !q->c->close)
            return MHD_YES;
    } else if (*size > 0) {
        if (!body_take(q, data, *size))
            return MHD_NO;
        *size = 0;
        return MHD_YES;
    } else if (!q->dispatched && !q->response) {
        q->dispatched = true;
        loop_timer_stop(q->s->o.loop, q->c);
        body_read(q);
    }
    if (q->response)
        return send_answer(q);
    if (q->dispatched)
        suspend(q);
    return MHD_YES;
}

struct server *server_new(const struct server_options *o, struct error *err)
{
    const struct mhd_api *mhd = mhd_load(err);
    int fd = o->fd;

    struct server *s = xcalloc(1, sizeof *s);
    if (!mhd || token_make(s->signs, err) < 0) {
        fd_close(&fd);
        free(s);
        return NULL;
    }
    s->o = *o;
    s->mhd = mhd;
    s->bodies.loop = o->loop;
    /* clang-format off */
    s->daemon = mhd->start_daemon(MHD_USE_EPOLL | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME
                                      | MHD_USE_ERROR_LOG,
                                  0, NULL, NULL, on_request, s,
                                  MHD_OPTION_EXTERNAL_LOGGER, admit_logged, s,
                                  MHD_OPTION_LISTEN_SOCKET, (MHD_socket)fd,
                                  MHD_OPTION_CONNECTION_LIMIT,
                                  (unsigned)(CONNECTIONS_MAX + NEWCOMERS_MAX),
                                  MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(IDLE_MS / 1000 + 5),
                                  MHD_OPTION_URI_LOG_CALLBACK, on_uri, s,
                                  MHD_OPTION_UNESCAPE_CALLBACK, leave_escaped, NULL,
                                  MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
                                  MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
                                  MHD_OPTION_END);
    /* clang-format on */
    if (!s->daemon) {
        fd_close(&fd);
        free(s);
        return error_null(err, ERROR_SYSTEM, 0,
                          "libmicrohttpd could not start\nAre too many files open? (ulimit -n)");
    }
    s->epoll_fd = mhd->get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    loop_watch(o->loop, s->epoll_fd, POLLIN, run_daemon, s);
    builtin_routes(s);
    sandbox_routes(s);
    s->chats = chat_table_new(CHATS_MAX);
    s->parked = parked_new(CHATS_MAX);
    question_routes(s);
    mcp_routes(s);
    return s;
}

void server_routes(struct server *s, const struct route *rows, size_t n)
{
    struct route_table *t = &s->tables[s->n_tables];

    if (s->n_tables == ROUTE_TABLES_MAX)
        return;
    s->n_tables++;
    *t = (struct route_table){rows, n, xcalloc(n, sizeof(struct json *))};
    for (size_t i = 0; i < n; i++) {
        struct error err = {0};

        if (rows[i].body)
            t->schemas[i] = json_parse(rows[i].body, strlen(rows[i].body), 0, NULL, &err);
        assert(!rows[i].body || t->schemas[i]);
        assert(rows[i].body_max <= JSON_BYTES
               || rows[i].flags & ROUTE_RAW); /* a body that is taken must be one that can be parsed */
    }
}

void server_drain(struct server *s)
{
    s->draining = true;
    for (struct connection *c = s->connections; c; c = c->next)
        if (c->q && c->q->checked && !c->q->dispatched && !c->q->response)
            set_deadline(c, LAST_BODY_MS);
}

bool server_busy(const struct server *s)
{
    for (const struct connection *c = s->connections; c; c = c->next)
        if (c->q && c->q->checked)
            return true;
    return false;
}

void server_free(struct server *s)
{
    if (!s)
        return;
    /* The library must not be stopped while a connection is suspended. */
    for (struct connection *c = s->connections; c; c = c->next)
        if (c->q && c->q->suspended)
            http_request_lose(c->q);
    loop_unwatch(s->o.loop, s->epoll_fd);
    loop_timer_stop(s->o.loop, s);
    s->mhd->stop_daemon(s->daemon); /* closes the listening socket too */
    while (s->lingering)
        linger_end(s->lingering);
    mcp_free(s->mcp);
    for (size_t t = 0; t < s->n_tables; t++) {
        for (size_t i = 0; i < s->tables[t].n; i++)
            json_free(s->tables[t].schemas[i]);
        free(s->tables[t].schemas);
    }
    chat_table_free(s->chats);
    parked_free(s->parked);
    free(s);
}
