/* replay.c - compares a request with the next recorded one, says where they differ, and feeds the recorded
 * reply.
 */
#include "llm/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "json/json.h"
#include "base/mem.h"
#include "wire/api.h"

struct replay {
    struct buf file;
    size_t at;
    unsigned number; /* number of the latest request */
};

static int bad(const struct replay *p, const char *what, struct error *err)
{
    return error_set(err, ERROR_USAGE, 0, "the replay diverges at request %u: %s", p->number, what);
}

/* Returns the next line of a type, or NULL at the end. The caller frees it. */
static struct json *next_line(struct replay *p, const char *type)
{
    while (p->at < p->file.len) {
        const char *line = p->file.data + p->at, *eol = memchr(line, '\n', p->file.len - p->at);
        size_t n = eol ? (size_t)(eol - line) : p->file.len - p->at;
        p->at += n + 1;
        autojson struct json *j = json_parse(line, n, 0, NULL, NULL);
        if (!strcmp(json_text(json_get(j, "type")), type))
            return steal(&j);
    }
    return NULL;
}

struct replay *replay_open(const char *path, struct error *err)
{
    struct replay *p = xcalloc(1, sizeof *p);
    buf_init(&p->file, REPLAY_FILE_MAX);
    if (file_read(path, REPLAY_FILE_MAX, &p->file, err) < 0) {
        err->kind = ERROR_USAGE;
        error_wrap(err, "--replay");
        replay_close(p);
        return NULL;
    }
    return p;
}

void replay_close(struct replay *p)
{
    if (!p)
        return;
    buf_release(&p->file);
    free(p);
}

static struct json *body_of(const struct json *line)
{
    const char *body = json_text(json_get(line, "body"));
    return json_parse(body, strlen(body), JSON_DUPLICATES, NULL, NULL);
}

int replay_model(const char *path, struct replay_head *r, struct error *err)
{
    struct replay *p = replay_open(path, err);
    if (!p)
        return -1;
    autojson struct json *line = next_line(p, "request");
    autojson struct json *body = body_of(line);
    r->api = api_of_body(body);
    r->model = r->api == API_WORKERS_AI ? workers_ai_model(json_text(json_get(line, "url")))
                                        : xstrdup(json_str(json_get(body, "model")));
    r->blocks = !json_get(body, "tools");
    replay_close(p);
    return r->model
               ? 0
               : error_set(err, ERROR_USAGE, 0, "--replay %.200s: no recorded requests in this file", path);
}

static void add_content(struct buf *b, const struct json *content)
{
    buf_addstr(b, json_text(content));
    for (const struct json *p = json_type(content) == JSON_ARRAY ? json_first(content) : NULL; p;
         p = json_next(p))
        buf_addstr(b, json_text(json_get(p, "text")));
}

/* Returns what a message or an input item says as one text. Ids are left out, since some are made anew in
 * each run. */
static char *said(const struct json *m)
{
    struct buf b = BUF_INIT(0);
    const struct json *role = json_get(m, "role");
    buf_addf(&b, "%s: ", json_text(role ? role : json_get(m, "type")));
    add_content(&b, json_get(m, "content"));
    add_content(&b, json_get(m, "output"));
    for (const struct json *c = json_first(json_get(m, "tool_calls")); c; c = json_next(c))
        buf_addf(&b, " [%s %s]", json_text(json_get(json_get(c, "function"), "name")),
                 json_text(json_get(json_get(c, "function"), "arguments")));
    if (!strcmp(json_text(json_get(m, "type")), "function_call"))
        buf_addf(&b, "[%s %s]", json_text(json_get(m, "name")), json_text(json_get(m, "arguments")));
    return buf_steal(&b, NULL);
}

static char *difference(size_t i, const char *was, const char *is)
{
    size_t same = 0;
    while (was[same] && was[same] == is[same])
        same++;
    size_t from = same > 20 ? same - 20 : 0;
    return xasprintf("message %zu was \"...%.60s\" when it was recorded, and is \"...%.60s\" now", i + 1,
                     was + from, is + from);
}

static const struct json *said_in(const struct json *body)
{
    return json_get(body, "input") ? json_get(body, "input") : json_get(body, "messages");
}

static const char *tool_name(const struct json *tool)
{
    const struct json *f = json_get(tool, "function");
    return json_text(json_get(f ? f : tool, "name"));
}

static bool is_system(const struct json *message)
{
    return !strcmp(json_text(json_get(message, "role")), "system");
}

static int compare(const struct replay *p, const struct json *was, const struct json *is, struct error *err)
{
    const struct json *a = said_in(was), *b = said_in(is), *ta = json_get(was, "tools"),
                      *tb = json_get(is, "tools");
    for (size_t i = 0; i < json_size(ta) || i < json_size(tb); i++) {
        const char *x = tool_name(json_at(ta, i)), *y = tool_name(json_at(tb, i));
        if (strcmp(x, y)) {
            autofree char *what = xasprintf("tool %zu was %s when it was recorded, and is %s now", i + 1,
                                            *x ? x : "none", *y ? y : "none");
            return bad(p, what, err);
        }
    }
    for (size_t i = 0; i < json_size(a) && i < json_size(b); i++) {
        autofree char *x = said(json_at(a, i)), *y = said(json_at(b, i));
        if (!(is_system(json_at(a, i)) && is_system(json_at(b, i))) && strcmp(x, y)) {
            autofree char *what = difference(i, x, y);
            return bad(p, what, err);
        }
    }
    if (json_size(a) == json_size(b))
        return 0;
    autofree char *what = xasprintf("it had %zu messages when it was recorded, and has %zu now", json_size(a),
                                    json_size(b));
    return bad(p, what, err);
}

static enum http_end give(const struct json *line, const struct http_transfer *q, struct http_reply *reply,
                          struct error *err)
{
    const char *body = json_text(json_get(line, "body")), *end = json_text(json_get(line, "end"));
    reply->head.status = (int)json_int(json_get(line, "status"), 0);
    reply->began = reply->head.status != 0;
    for (const struct json *h = json_first(json_get(line, "headers")); h; h = json_next(h))
        http_header(&reply->head, json_text(h), strlen(json_text(h)), time(NULL));
    bool more = !*body || q->data(q->ctx, reply, body, strlen(body));
    if (!strcmp(end, "aborted")) {
        error_set(err, ERROR_CANCELLED, 0, "the recorded session was interrupted here");
        return HTTP_ABORTED;
    }
    if (!strcmp(end, "lost")) {
        failure_set(&reply->failure, FAILURE_NETWORK, "the connection was lost when this was recorded");
        return HTTP_LOST;
    }
    return more ? HTTP_WHOLE : HTTP_STOPPED;
}

enum http_end replay_post(struct replay *p, const struct http_transfer *q, struct http_reply *reply,
                          struct error *err)
{
    *reply = (struct http_reply){.life.content_at = clock_ms()};
    p->number++;
    autojson struct json *request = next_line(p, "request"), *was = body_of(request);
    autojson struct json *is = json_parse(q->body, q->len, 0, NULL, NULL);
    if (!request) {
        bad(p, "the recording has no more requests", err);
        return HTTP_ABORTED;
    }
    if (compare(p, was, is, err) < 0)
        return HTTP_ABORTED;
    autojson struct json *line = next_line(p, "reply");
    if (!line || json_bool(json_get(line, "cut"), false)) {
        bad(p, "its reply was recorded only in part", err);
        return HTTP_ABORTED;
    }
    return give(line, q, reply, err);
}
