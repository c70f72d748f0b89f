/* e2b_inside.c - starts e2b_inside.py in a sandbox, feeds it, and answers with what it says. */
#include "clients/e2b_inside.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/embed.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/spill.h"
#include "front/processes.h"
#include "clients/e2b_flow.h"
#include "server/routes.h"
#include "clients/rpc.h"

EMBED(inside_py, "src/serve/clients/e2b_inside.py")

#define TIME_MS  60000        /* for what is no stream */
#define READ_MS  600000       /* for the content of a file, which the client may take slowly */
#define SAID_MAX (16u << 20)  /* bytes of an answer */
#define FED_MOST (256u << 10) /* at a time */
#define FAILED   "the sandbox could not do it: python3 did not answer there"

struct inside_job {
    struct http_request *q;
    const struct inside_shape *shape;
    struct process_watch watch;
    struct throttle flow;
    struct spill input; /* what it is fed: code inside may keep it from being read */
    struct buf said;
    size_t at;          /* bytes of input that it was fed */
    bool closed, begun; /* its stdin was closed; the stream of bytes has begun */
};

static void inside_free(struct inside_job *i)
{
    throttle_end(&i->flow);
    process_leave(&i->watch);
    spill_release(&i->input);
    buf_release(&i->said);
    free(i);
}

/* Nobody waits for it any more. */
static void inside_drop(struct inside_job *i, bool stays)
{
    struct client_process *p = i->watch.of;

    if (p && !stays)
        process_signal(p, SIGKILL);
    inside_free(i);
}

static void on_inside_gone(void *ctx)
{
    inside_drop(ctx, false);
}

static void refuse_inside(struct http_request *q, bool rpc, int status, const char *text)
{
    autojson struct json *code = rpc ? rpc_failure(NULL, status, NULL, text) : NULL;

    if (rpc)
        rpc_end(q, json_text(json_get(code, "code")), text);
    else if (http_request_streams(q))
        http_request_lose(q); /* what is there of the file is not all of it */
    else
        answer_error(q, status, NULL, "%s", text);
}

static void feed_inside(struct inside_job *i)
{
    struct client_process *p = i->watch.of;

    while (i->at < i->input.len) {
        autofree char *piece = xmalloc(FED_MOST);
        size_t n = spill_read(&i->input, i->at, piece, FED_MOST);
        struct buf text autorelease(buf_release) = BUF_INIT(0);

        if (n == 0)
            break; /* the disk has failed: it finds its content cut short */
        base64_add(&text, (const unsigned char *)piece, n);
        if (process_input(p, buf_str(&text), n, NULL) < 0)
            return; /* until it has read more */
        i->at += n;
    }
    if (!i->closed)
        process_close(p);
    i->closed = true;
}

/* Takes the first line of what it has said. NULL: there is no whole one. */
static struct json *take_said(struct inside_job *i)
{
    const char *end = i->said.len ? memchr(i->said.data, '\n', i->said.len) : NULL;
    size_t len = end ? (size_t)(end - i->said.data) : 0;
    struct json *line = end ? json_parse(i->said.data, len, JSON_LONG, NULL, NULL) : NULL;

    if (end)
        buf_drop(&i->said, len + 1);
    return line;
}

/* True: the request is over, and i is freed. */
static bool answer_line(struct inside_job *i, const struct json *line)
{
    const struct inside_shape *shape = i->shape;
    const struct json *failed = json_get(line, "failed"), *answer = json_get(line, "answer");
    struct http_request *q = i->q;

    if (failed) {
        int64_t status = json_int(json_at(failed, 0), 400);

        inside_drop(i, false);
        refuse_inside(q, shape->rpc, status >= 400 && status < 600 ? (int)status : 400,
                      json_text(json_at(failed, 1)));
        return true;
    }
    if (shape->bytes && answer) {
        stream_begin(q, 200, "application/octet-stream");
        i->begun = true;
        return false;
    }
    if (shape->line && !answer) {
        shape->line(q, line);
        throttle_look(&i->flow);
        return false;
    }
    inside_drop(i, shape->stays);
    if (shape->answer)
        shape->answer(q, answer);
    else
        answer_json(q, 200, json_copy(answer));
    return true;
}

static void hear_inside(struct inside_job *i, const char *data)
{
    bool over = false;

    i->said.max = SAID_MAX;
    if (base64_read(data, strlen(data), &i->said) < 0) {
        struct http_request *q = i->q;
        bool rpc = i->shape->rpc;

        inside_drop(i, false);
        refuse_inside(q, rpc, 413, "the answer is too large");
        return;
    }
    while (!over && !i->begun) {
        autojson struct json *line = take_said(i);

        if (!line)
            break;
        over = answer_line(i, line);
    }
    if (!over && i->begun && i->said.len > 0) {
        stream_send(i->q, i->said.data, i->said.len);
        buf_drop(&i->said, i->said.len);
        throttle_look(&i->flow);
    }
}

static void on_inside_event(void *ctx, const struct json *event)
{
    struct inside_job *i = ctx;
    const char *error = json_str(json_get(event, "error"));
    struct http_request *q = i->q;

    if (json_get(event, "wrote") || json_get(event, "pid")) {
        if (!i->closed)
            feed_inside(i);
    } else if (json_get(event, "stream")) {
        if (!strcmp(json_text(json_get(event, "stream")), "stdout"))
            hear_inside(i, json_text(json_get(event, "data")));
    } else if (i->begun && json_int(json_get(event, "status"), -1) == 0) {
        inside_free(i);
        stream_end(q);
    } else {
        bool rpc = i->shape->rpc;

        inside_free(i);
        refuse_inside(q, rpc, error ? 502 : 503, error ? error : FAILED);
    }
}

/* The bytes that it is fed: what it is to do, and the content of files. */
static int fill_input(struct inside_job *i, const struct json *words, const char *content, size_t len,
                      struct error *err)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);

    json_line(words, &line);
    i->input = (struct spill)SPILL_INIT(0);
    return spill_add(&i->input, buf_str(&line), line.len, err) < 0
                   || spill_add(&i->input, content, len, err) < 0
               ? -1
               : 0;
}

static int64_t time_for(const struct http_request *q, const struct inside_shape *shape)
{
    int64_t asked_ms = rpc_timeout_ms(q);

    if (shape->stays || (shape->line && asked_ms <= 0))
        return 0;
    return asked_ms > 0 ? asked_ms : shape->bytes ? READ_MS : TIME_MS;
}

void inside_do(struct http_request *q, const struct inside_shape *shape, struct json *words,
               const char *content, size_t len)
{
    autojson struct json *owned = words;
    autofree char *other = e2b_other_user(q);
    struct lease *h = e2b_box(q);
    struct error err;

    if (other || !h) {
        refuse_inside(q, shape->rpc, other ? 400 : 502, other ? other : E2B_GONE);
        return;
    }
    struct inside_job *i = xcalloc(1, sizeof *i);
    i->q = q;
    i->shape = shape;
    i->watch.event = on_inside_event;
    i->watch.ctx = i;
    i->flow = (struct throttle){.q = q, .watch = &i->watch};
    if (fill_input(i, owned, content, len, &err) < 0) {
        inside_free(i);
        refuse_inside(q, shape->rpc, 503, err.text);
        return;
    }
    const struct process_want want = {
        .config = json_object_of(
            {"cmd", json_string("python3")},
            {"args", json_array_of(json_string("-I"), json_string("-S"), json_string("-c"),
                                   json_string_n(inside_py, EMBED_SIZE(inside_py)))}),
        .tag = shape->stays ? json_text(json_get(owned, "watcher")) : NULL,
        .fed = true,
        .hidden = true,
        .timeout_ms = time_for(q, shape)};
    http_request_later(q, on_inside_gone, i);
    if (process_start(h, &want, &i->watch, &err) == 0)
        return;
    http_request_later(q, NULL, NULL);
    inside_free(i);
    refuse_inside(q, shape->rpc, err.kind == ERROR_BUSY ? 429 : 502, err.text);
}
