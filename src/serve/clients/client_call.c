/* client_call.c - carries out what other people's clients ask of a sandbox, one step after another. */
#include "clients/client_call.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "server/routes.h"

#define FILE_MAX (8u << 20)  /* that goes into JSON */
#define KEPT_MAX (64u << 20) /* bytes of JSON that all steps of one request keep */

static void call_free(struct client_call *c)
{
    json_free(c->body);
    json_free(c->steps);
    json_free(c->kept);
    free(c);
}

static void on_gone(void *ctx)
{
    struct client_call *c = ctx;

    lease_call_leave(&c->call);
    call_free(c);
}

/* The sandbox ends before the answer is given, since the request must not be touched after that. */
static void answer(struct client_call *c)
{
    if (c->once)
        lease_call_end(&c->call);
    c->shape->answer(c);
    call_free(c);
}

static void fail(struct client_call *c, const struct error *err)
{
    if (c->once)
        lease_call_end(&c->call);
    if (http_request_streams(c->q))
        c->shape->broken(c, err->text);
    else
        answer_failure(c->q, err);
    call_free(c);
}

/* Does that operation's failure leave only its result out? */
static bool may_fail(const struct client_call *c)
{
    return c->shape->may_fail && !strcmp(c->shape->may_fail, json_text(json_at(c->now, 0)));
}

static int keep_result(struct client_call *c, const struct json *result, struct error *err)
{
    const char *operation = json_text(json_at(c->now, 0));
    struct json *kept = c->shape->keep ? c->shape->keep(operation, json_at(c->now, 1), result)
                                       : json_copy(result);
    autofree char *text = json_print(kept);

    json_add(c->kept, json_array_of(json_string(operation), kept));
    c->kept_bytes += strlen(text);
    if (c->kept_bytes > KEPT_MAX)
        return error_set(err, ERROR_LIMIT, 0, "the answer is larger than %u MiB\nask for less at once",
                         KEPT_MAX >> 20);
    return 0;
}

static void on_client_event(void *ctx, const struct json *event)
{
    struct client_call *c = ctx;

    c->shape->event(c, event);
}

static void on_client_done(void *ctx, const struct json *result, const struct error *err)
{
    struct client_call *c = ctx;
    struct error too_much;

    if (err && !may_fail(c))
        fail(c, err);
    else if (err && c->shape->stops)
        answer(c);
    else if (result && keep_result(c, result, &too_much) < 0)
        fail(c, &too_much);
    else
        client_go(c);
}

void client_step(struct client_call *c, const char *operation, struct json *arguments)
{
    json_add(c->steps, json_array_of(json_string(operation), arguments));
}

void client_go(struct client_call *c)
{
    const struct runner_listener l = {c, c->shape->event ? on_client_event : NULL, on_client_done};
    struct error err = {0};

    c->now = c->now ? json_next(c->now) : json_first(c->steps);
    if (!c->now)
        answer(c);
    else if (lease_call_ask(&c->call, json_text(json_at(c->now, 0)), json_at(c->now, 1), &l, &err) < 0)
        on_client_done(c, NULL, &err);
}

void client_end(struct client_call *c)
{
    c->once = true;
    answer(c);
}

const struct json *client_kept(const struct client_call *c, const char *operation)
{
    for (const struct json *k = json_first(c->kept); k; k = json_next(k))
        if (!strcmp(json_text(json_at(k, 0)), operation))
            return json_at(k, 1);
    return NULL;
}

void client_line(struct client_call *c, struct json *line)
{
    autojson struct json *owned = line;

    if (!http_request_streams(c->q))
        stream_begin(c->q, 200, "application/x-ndjson");
    stream_line(c->q, owned);
}

/* ---- which sandbox ---- */

static void on_client_given(void *ctx, struct lease *h, bool made)
{
    struct http_request *q = ((struct client_call *)ctx)->q;

    (void)made;
    http_request_waits(q, false);
    http_request_made(q, h);
}

static struct client_call *call_new(struct http_request *q, const struct client_shape *shape)
{
    struct client_call *c = xcalloc(1, sizeof *c);

    *c = (struct client_call){.q = q,
                              .shape = shape,
                              .body = http_request_take_body(q),
                              .steps = json_array(),
                              .kept = json_array(),
                              .call.given = on_client_given,
                              .call.given_ctx = c};
    http_request_later(q, on_gone, c);
    return c;
}

static bool is_or_is_within(const struct lease *h, const char *outer)
{
    const char *nested = lease_outer(h);

    return !strcmp(lease_id(h), outer) || (nested && !strcmp(nested, outer));
}

/* NULL: there is none, and the client has been told. */
static struct lease *find(struct http_request *q, const struct client_shape *shape, const char *id,
                          const char *outer)
{
    static const char *const absent[] = {
        [RUNNERS_UNKNOWN] = "there is no such sandbox",
        [RUNNERS_EXPIRED] = "the sandbox has expired: nobody used it for too long",
        [RUNNERS_STOPPED] = "the sandbox was ended",
        [RUNNERS_GAVE_WAY] = "the sandbox gave way to another one",
    };
    enum runners_absent why = RUNNERS_UNKNOWN;
    struct lease *h = runners_find(http_request_runners(q), http_request_client(q), id ? id : "", &why);

    if (h && outer && !is_or_is_within(h, outer)) {
        h = NULL;
        why = RUNNERS_UNKNOWN;
    }
    if (!h)
        answer_error(q,
                     why != RUNNERS_EXPIRED ? 404
                     : shape->gone          ? shape->gone
                                            : 410,
                     why == RUNNERS_EXPIRED ? "SANDBOX_EXPIRED" : NULL, "%s", absent[why]);
    return h;
}

static struct client_call *call_in_new(struct http_request *q, const struct client_shape *shape,
                                       const struct queue_want *w)
{
    struct error err = {0};
    struct client_call *c = call_new(q, shape);

    if (lease_call_make(&c->call, http_request_runners(q), w, &err) < 0) {
        fail(c, &err);
        return NULL;
    }
    http_request_waits(q, c->call.place.rs != NULL);
    return c;
}

struct client_call *client_new(struct http_request *q, const struct client_shape *shape, const char *outer)
{
    const struct queue_want w = {.client = http_request_client(q),
                                 .outer = outer ? find(q, shape, outer, NULL) : NULL};

    return outer && !w.outer ? NULL : call_in_new(q, shape, &w);
}

struct client_call *client_once(struct http_request *q, const struct client_shape *shape)
{
    const struct queue_want w = {.client = http_request_client(q), .once = true};
    struct client_call *c = call_in_new(q, shape, &w);

    if (c)
        c->once = c->call.made = true;
    return c;
}

struct client_call *client_in(struct http_request *q, const struct client_shape *shape, const char *id,
                              const char *outer)
{
    if (outer && !find(q, shape, outer, NULL))
        return NULL;
    struct lease *h = find(q, shape, id, outer);
    if (!h)
        return NULL;
    lease_use(h);
    struct client_call *c = call_new(q, shape);
    lease_call_begin(&c->call, http_request_runners(q), http_request_client(q), h);
    return c;
}

/* ---- values ---- */

struct json *client_file(const struct json *path)
{
    struct buf bytes autorelease(buf_release) = BUF_INIT(FILE_MAX),
                     text autorelease(buf_release) = BUF_INIT(0);
    autoclose int fd = open(json_text(path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0 || file_read_open(fd, json_text(path), FILE_MAX, &bytes, NULL) < 0)
        return NULL;
    base64_add(&text, (const unsigned char *)buf_str(&bytes), bytes.len);
    return json_string_n(buf_str(&text), text.len);
}

struct json *client_png(const struct json *file)
{
    return !strcmp(json_text(json_get(file, "kind")), "figure") && json_is(file, "image/png")
               ? client_file(json_get(file, "path"))
               : NULL;
}
