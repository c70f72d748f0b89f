/* question_run.c - finds or makes the sandbox, asks its runner, and collects the events until the answer. */
#include "server/question_run.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "openai/openai_reply.h"
#include "process/loop.h"
#include "server/parked.h"
#include "server/sandboxes.h"

static void question_release(struct http_question *qn)
{
    loop_timer_stop(http_request_loop(qn->q), qn);
    json_free(qn->steps);
    free(qn->asked);
    qn->shape->release(qn);
    free(qn);
}

/* For the case that its sandbox gives way. */
static void keep_question(const struct http_question *qn, const struct json *result)
{
    const char *client = http_request_client(qn->q);
    struct parked *p = qn->q->s->parked;

    if (*qn->parked)
        parked_moved(p, client, qn->parked, qn->place.sandbox);
    parked_note(p, http_request_runners(qn->q), client, qn->place.sandbox, qn->asked, result, qn->steps);
}

/* Puts the conversation back into the table, at its new place if the question was answered. Its sandbox may
 * go from now on when the client needs another one (lease_set_spare). One that was made for this question
 * and has no answer is of no use to anybody, so it is ended. */
static void settle_question(struct http_question *qn, const struct json *result, bool answered)
{
    struct lease *h = lease_call_sandbox(&qn->call);
    const char *turn = json_str(json_get(result, "turn"));

    if (answered && qn->shape->place)
        qn->shape->place(qn, result);
    if (answered)
        keep_question(qn, result);
    if (turn && strlen(turn) < sizeof qn->place.turn)
        memcpy(qn->place.turn, turn, strlen(turn) + 1);
    if (h && qn->call.made && !answered)
        runners_stop(http_request_runners(qn->q), h);
    if (qn->call.made && !answered) {
        memcpy(qn->place.sandbox, qn->parked, sizeof qn->parked); /* it can be asked for once more */
        if (*qn->parked && qn->shape->place)
            chat_table_put(qn->q->s->chats, http_request_client(qn->q), &qn->place);
    } else if (h) {
        if (qn->shape->place)
            chat_table_put(qn->q->s->chats, http_request_client(qn->q), &qn->place);
        if (qn->spare)
            lease_set_spare(h, true);
    }
}

/* ---- what the code did ---- */

struct json *question_files(const struct http_question *qn, const struct json *result)
{
    struct json *out = json_array();

    for (const struct json *f = json_first(json_get(result, "files")); f; f = json_next(f)) {
        const char *name = json_text(json_get(f, "name"));
        autofree char *url = sandbox_file_url(qn->q, qn->place.sandbox, name);

        json_add(out, json_object_of({"name", json_string(name)},
                                     {"size", json_integer(json_int(json_get(f, "size"), 0))},
                                     {"url", json_string(url)}));
    }
    return out;
}

/* Adds a step for a cell, or for a call that could not become one. */
static void add_step(struct http_question *qn, const struct json *call)
{
    qn->step = json_object_of({"code", json_string(json_str(json_get(call, "code")))});
    json_add(qn->steps, qn->step);
}

static void end_step(struct http_question *qn, const struct json *result)
{
    static const char *const kept[][2] = {
        {"status", "status"}, {"output", "model_text"}, {"error", "error"}, {"seconds", "seconds"}};
    if (!qn->step)
        return;
    for (size_t i = 0; i < countof(kept); i++)
        json_set(qn->step, kept[i][0], json_copy(json_get(result, kept[i][1])));
    qn->step = NULL;
}

/* Returns the event without paths of this machine, which clients must not learn. */
static struct json *cleaned(const struct http_question *qn, const struct json *object)
{
    struct json *out = json_copy(object);

    if (json_is(out, "file")) {
        const char *name = json_text(json_get(out, "name"));
        autofree char *url = sandbox_file_url(qn->q, qn->place.sandbox, name);

        json_set_all(out, {"url", json_string(url)}, {"path", json_string(name)});
    } else if (json_is(out, "tool_result")) {
        json_set(out, "output_path", json_null());
    }
    return out;
}

static struct json *notice_of(const struct json *event)
{
    return json_object_of({"type", json_string("notice")}, {"v", json_integer(1)},
                          {"question", json_integer(0)}, {"level", json_string("info")},
                          {"text", json_copy(json_get(event, "text"))});
}

static void on_question_silence(void *ctx)
{
    struct http_question *qn = ctx;

    qn->shape->silent(qn);
    loop_timer(http_request_loop(qn->q), clock_ms() + QUESTION_SILENT_MS, on_question_silence, qn);
}

static void heard(struct http_question *qn)
{
    if (qn->shape->silent)
        loop_timer(http_request_loop(qn->q), clock_ms() + QUESTION_SILENT_MS, on_question_silence, qn);
}

static void on_question_event(void *ctx, const struct json *event)
{
    struct http_question *qn = ctx;
    const struct json *object = json_get(event, "agent");
    const char *kind = json_text(json_get(event, "event"));

    if (json_is(object, "tool_call"))
        add_step(qn, object);
    else if (json_is(object, "tool_result"))
        end_step(qn, object);
    if (!qn->shape->event || (!object && strcmp(kind, "notice") != 0))
        return;
    autojson struct json *out = object ? cleaned(qn, object) : notice_of(event);
    heard(qn);
    qn->shape->event(qn, out);
}

/* ---- the end ---- */

/* The HTTP status for each status of a question without an answer: 429 or 503 where the same request may
 * succeed later. */
static const struct {
    const char *status, *code;
    int http;
} failures[] = {
    {"no_answer", "MODEL_FAILED", 502},
    {"no_sandbox", "SANDBOX_FAILED", 503},
    {"limit", "LIMIT", 422},
    {"try_later", "MODEL_BUSY", 429},
    {"refused", "MODEL_REFUSED", 502},
    {"usage", "INVALID_ARGUMENT", 422},
    {"interrupted", "INTERRUPTED", 503},
    {"terminated", "INTERRUPTED", 503},
};

static void fail_result(struct http_question *qn, const struct json *result)
{
    const char *status = json_text(json_get(result, "status")), *why = json_str(json_get(result, "error"));
    size_t i = 0;

    while (i + 1 < countof(failures) && strcmp(failures[i].status, status) != 0)
        i++;
    qn->shape->failed(qn, failures[i].http, failures[i].code, why ? why : status);
}

/* The question could not be asked at all, for a reason that has nothing to do with the client's request. */
static void fail_error(struct http_question *qn, const struct error *err)
{
    autofree char *why = err->kind == ERROR_BUSY ? xstrdup(err->text) : error_message(err);
    bool configured = err->kind != ERROR_USAGE && err->kind != ERROR_AUTH;

    qn->shape->failed(qn, err->kind == ERROR_BUSY ? 429 : 503,
                      !configured                  ? "NOT_CONFIGURED"
                      : err->kind == ERROR_BUSY    ? "TOO_MANY_REQUESTS"
                      : err->kind == ERROR_SANDBOX ? "SANDBOX_FAILED"
                                                   : "UNAVAILABLE",
                      why);
}

static void count_question(const struct http_question *qn, const struct json *usage)
{
    struct server_counts *n = &qn->q->s->counts;
    double cost = json_double(json_get(usage, "cost"), -1);

    histogram_add(&n->question_seconds, HISTOGRAM_SECONDS, (double)(clock_ms() - qn->q->began_ms) / 1000);
    histogram_add(&n->tokens, HISTOGRAM_TOKENS,
                  json_double(json_get(usage, "input_tokens"), 0)
                      + json_double(json_get(usage, "output_tokens"), 0));
    if (cost >= 0)
        histogram_add(&n->cost, HISTOGRAM_DOLLARS, cost);
}

static void on_question_done(void *ctx, const struct json *result, const struct error *err)
{
    struct http_question *qn = ctx;
    const char *status = json_text(json_get(result, "status")),
               *answer = json_str(json_get(result, "answer"));
    bool answered = result && openai_finish(status, answer);

    settle_question(qn, result, answered);
    if (answered)
        count_question(qn, json_get(result, "usage"));
    if (answered)
        qn->shape->answered(qn, result);
    else if (result)
        fail_result(qn, result);
    else
        fail_error(qn, err);
    question_release(qn);
}

/* The client has left, so the question is ended. Its conversation can be continued from where it was
 * before. */
static void on_asker_gone(void *ctx)
{
    struct http_question *qn = ctx;

    lease_call_leave(&qn->call);
    settle_question(qn, NULL, false);
    question_release(qn);
}

static void on_question_given(void *ctx, struct lease *h, bool made)
{
    struct http_question *qn = ctx;

    (void)made;
    http_request_waits(qn->q, false);
    memcpy(qn->place.sandbox, lease_id(h), sizeof qn->call.sandbox);
    if (qn->shape->begin)
        qn->shape->begin(qn);
}

/* The sandbox h, or a new one that comes now or later. */
static int begin_call(struct http_question *qn, struct lease *h, struct error *err)
{
    struct runners *rs = http_request_runners(qn->q);
    const struct queue_want w = {.client = http_request_client(qn->q)};

    qn->call.made = !h;
    qn->spare = !h || lease_spare(h);
    qn->call.given = on_question_given;
    qn->call.given_ctx = qn;
    if (!h)
        return lease_call_make(&qn->call, rs, &w, err);
    lease_call_begin(&qn->call, rs, w.client, h);
    on_question_given(qn, h, false);
    return 0;
}

void question_ask(struct http_question *qn, struct lease *h, struct json *arguments)
{
    autojson struct json *owned = arguments;
    const struct runner_listener l = {qn, on_question_event, on_question_done};
    struct error err = {0};

    qn->steps = json_array();
    qn->asked = parked_question(owned);
    if (begin_call(qn, h, &err) < 0 || lease_call_ask(&qn->call, "ask", owned, &l, &err) < 0) {
        on_question_done(qn, NULL, &err);
        return;
    }
    http_request_waits(qn->q, qn->call.place.rs != NULL);
    http_request_later(qn->q, on_asker_gone, qn);
    heard(qn);
}
