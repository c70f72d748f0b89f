/* completions.c - serves /v1 for OpenAI's clients, in either of its two shapes (openai/shape.h). The client
 * keeps the conversation and sends all of it each time. What it sent up to the last answer, or the id of
 * that answer, leads to the interpreter of that conversation.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/random.h"
#include "json/json.h"
#include "openai/chat_key.h"
#include "openai/chat_request.h"
#include "openai/openai_reply.h"
#include "server/parked.h"
#include "server/question_run.h"
#include "server/questions_private.h"

#define OWN_NAME "sandpiper" /* what clients may call the configured model */

struct completion {
    struct http_question base;
    char said[SHA256_HEX]; /* the key of all that the client sent */
    struct json *story;    /* owned; of a conversation whose sandbox gave way (parked.h), or NULL */
    struct openai_reply reply;
    struct json *unchecked; /* of the schema that the answer has to fit; or NULL */
    struct json *ignored;   /* of the request */
};

static struct completion *of(struct http_question *qn)
{
    return (struct completion *)qn;
}

/* Names the place in the conversation by the answer in the form in which the client has it and sends it
 * back. */
static void place(struct http_question *qn, const struct json *result)
{
    struct completion *c = of(qn);
    const char *answer = json_text(json_get(result, "answer"));

    memcpy(qn->place.names[CHAT_SAID], c->said, SHA256_HEX);
    chat_key_answer(c->reply.text.len ? buf_str(&c->reply.text) : answer, json_get(result, "calls"),
                    qn->place.names[CHAT_SAID]);
    chat_key_id(c->reply.id, qn->place.names[CHAT_ID]);
}

static struct json *annotation(struct http_question *qn, const struct json *result)
{
    static const char *const kept[] = {"status", "error", "computed", "notices"};
    struct json *out = json_object_of({"session", json_string(qn->place.sandbox)},
                                      {"new_interpreter", json_boolean(qn->call.made)},
                                      {"steps", steal(&qn->steps)}, {"files", question_files(qn, result)});

    for (size_t i = 0; i < countof(kept); i++)
        json_set(out, kept[i], json_copy(json_get(result, kept[i])));
    if (json_size(of(qn)->unchecked))
        json_set(out, "unchecked", json_copy(of(qn)->unchecked));
    if (json_size(of(qn)->ignored))
        json_set(out, "ignored", json_copy(of(qn)->ignored));
    return out;
}

static void use_model(struct openai_reply *r, const struct json *result)
{
    const char *model = json_str(json_get(result, "model"));

    if (!model)
        return;
    xreplace(&r->model, xstrdup(model));
}

static void end_stream(struct completion *c)
{
    const char *last = c->reply.shape->last;

    if (last)
        stream_send(c->base.q, last, strlen(last));
    stream_end(c->base.q);
}

static void completion_answered(struct http_question *qn, const struct json *result)
{
    struct openai_reply *r = &of(qn)->reply;
    const char *answer = json_text(json_get(result, "answer"));
    autojson struct json *note = annotation(qn, result);
    const struct openai_end end = {.answer = answer,
                                   .finish = openai_finish(json_text(json_get(result, "status")), answer),
                                   .calls = json_get(result, "calls"),
                                   .usage = json_get(result, "usage"),
                                   .annotation = note};

    use_model(r, result);
    if (!r->send) {
        answer_json(qn->q, 200, r->shape->whole(r, &end));
        return;
    }
    openai_reply_end(r, &end);
    end_stream(of(qn));
}

/* Some clients repeat a request by themselves after a 429 or a 503, so x-should-retry says whether that may
 * help.
 */
static void completion_failed(struct http_question *qn, int status, const char *code, const char *detail)
{
    struct openai_reply *r = &of(qn)->reply;
    bool again = strcmp(code, "NOT_CONFIGURED") != 0 && (status == 429 || status == 503);

    if (!r->begun) {
        answer_header(qn->q, "x-should-retry", again ? "true" : "false");
        answer_error(qn->q, status, code, "%s", detail);
        return;
    }
    r->shape->failed(r, status, code, detail);
    end_stream(of(qn));
}

/* ---- streamed ---- */

static void send_completion_event(void *ctx, const char *event, const struct json *object)
{
    struct completion *c = ctx;

    if (!c->base.q->streams)
        stream_begin(c->base.q, 200, "text/event-stream");
    stream_sse(c->base.q, event, object);
}

static void stream_event(struct http_question *qn, const struct json *object)
{
    openai_reply_event(&of(qn)->reply, object);
}

static void stream_silent(struct http_question *qn)
{
    openai_reply_begin(&of(qn)->reply);
    stream_send(qn->q, ": still working\n\n", 17);
}

static void completion_release(struct http_question *qn)
{
    openai_reply_release(&of(qn)->reply);
    json_free(of(qn)->unchecked);
    json_free(of(qn)->ignored);
    json_free(of(qn)->story);
}

static const struct question_shape whole = {.place = place,
                                            .answered = completion_answered,
                                            .failed = completion_failed,
                                            .release = completion_release},
                                   stream = {.event = stream_event,
                                             .place = place,
                                             .answered = completion_answered,
                                             .failed = completion_failed,
                                             .silent = stream_silent,
                                             .release = completion_release};

/* ---- the request ---- */

static const char *configured(const struct http_request *q)
{
    return q->s->o.model ? q->s->o.model : OWN_NAME;
}

/* What was said before is the client's, unless it names only the last answer. */
static struct json *completion_arguments(struct chat_request *r, const struct completion *c, const char *turn)
{
    struct json *out = json_object_of(
        {"input", json_string(r->input)}, {"system", r->system ? json_string(r->system) : NULL},
        {"effort", r->effort ? json_string(r->effort) : NULL}, {"files", steal(&r->files)},
        {"earlier_files", steal(&r->earlier_files)}, {"history", steal(&r->history)},
        {"turn", json_string(turn)}, {"form", r->form ? json_copy(r->form) : NULL},
        {"tools", steal(&r->tools)}, {"must_call", json_boolean(r->must_call)},
        {"one_call", json_boolean(r->one_call)},
        {"results", json_size(r->results) ? steal(&r->results) : NULL},
        /* what may be refused in the end is not sent before */
        {"stream", json_boolean(r->stream && !r->form && !r->must_call)});

    for (const struct json *told = json_first(c->story); told; told = json_next(told))
        if (r->previous || !strcmp(json_key(told), "goes_on"))
            json_set(out, json_key(told), json_copy(told));
    return out;
}

static void start_reply(struct completion *c, const struct chat_request *r)
{
    const struct http_request *q = c->base.q;
    char hex[25];

    random_hex(hex, sizeof hex - 1);
    openai_reply_init(&c->reply, http_request_route(q)->data, hex, configured(q), r, http_request_body(q));
    c->reply.created = (int64_t)time(NULL);
    c->reply.ctx = c;
    c->reply.send = r->stream ? send_completion_event : NULL;
    c->reply.container = c->base.place.sandbox;
}

static void refuse_completion(struct http_request *q, const char *message, const char *param,
                              const char *code)
{
    answer_json(q, 400, openai_error(message, "invalid_request_error", *param ? param : NULL, code));
}

/* Returns the sandbox of the conversation that the client continues. NULL: there is none; or the client
 * names only the last answer, of which the sandbox no longer has the conversation (turn). */
static struct lease *find_sandbox(struct completion *c, const struct chat_request *r)
{
    struct http_request *q = c->base.q;
    struct chat_place *p = &c->base.place;
    char name[SHA256_HEX];

    if (!r->previous && !r->prefix)
        return NULL;
    if (r->previous)
        chat_key_id(r->previous, name);
    else
        memcpy(name, c->said, sizeof name);
    if (!chat_table_take(q->s->chats, http_request_client(q), name, p))
        return NULL;
    if (r->previous && !*p->turn) {
        chat_table_put(q->s->chats, http_request_client(q), p);
        return NULL;
    }
    const char *client = http_request_client(q);
    enum runners_absent why;
    struct lease *h = runners_find(http_request_runners(q), client, p->sandbox, &why);
    if (!h && why == RUNNERS_GAVE_WAY)
        c->story = parked_story(q->s->parked, client, p->sandbox);
    if (c->story)
        memcpy(c->base.parked, p->sandbox, sizeof c->base.parked);
    return h;
}

/* Finds the sandbox for this request; *h NULL: it needs a new one. False: the request was refused. */
static bool completion_sandbox(struct completion *c, const struct chat_request *r, struct lease **h)
{
    struct http_request *q = c->base.q;

    chat_key_begin(c->said);
    chat_key_add(r->list, 0, r->prefix, c->said);
    *h = find_sandbox(c, r);
    if (!*h && r->previous && !c->story) {
        refuse_completion(
            q,
            "previous_response_id: the conversation of this answer has ended or was continued already; "
            "send all of it as input",
            "previous_response_id", "previous_response_not_found");
        return false;
    }
    if (r->previous)
        memcpy(c->said, c->base.place.names[CHAT_SAID], SHA256_HEX);
    chat_key_add(r->list, r->prefix, r->size, c->said);
    return true;
}

static void ask_completion(struct http_request *q, struct chat_request *r)
{
    struct completion *c = xcalloc(1, sizeof *c);
    struct lease *h;

    c->base = (struct http_question){.q = q, .shape = r->stream ? &stream : &whole};
    if (!completion_sandbox(c, r, &h)) {
        free(c);
        return;
    }
    start_reply(c, r);
    c->unchecked = steal(&r->unchecked);
    c->ignored = steal(&r->ignored);
    question_ask(&c->base, h, completion_arguments(r, c, h ? c->base.place.turn : ""));
}

void completions_route(struct http_request *q)
{
    struct chat_request r;
    struct chat_refusal no;

    if (chat_request_read(http_request_route(q)->data, http_request_body(q), &r, &no) == 0)
        ask_completion(q, &r);
    else
        refuse_completion(q, no.message, no.param, no.code);
    chat_request_release(&r);
}

void models_route(struct http_request *q)
{
    const char *const names[] = {OWN_NAME, q->s->o.model};

    answer_json(q, 200, openai_models(names, q->s->o.model ? 2 : 1));
}

void model_route(struct http_request *q)
{
    const char *name = http_request_param(q, "model");

    if (strcmp(name, OWN_NAME) != 0 && strcmp(name, configured(q)) != 0)
        answer_error(q, 404, "model_not_found", "there is no model %.100s here; use the model " OWN_NAME,
                     name);
    else
        answer_json(q, 200, openai_model(name));
}

struct json *openai_failure(const struct route *r, int status, const char *code, const char *detail)
{
    (void)r;
    return openai_error(detail, openai_error_type(status), NULL, status == 401 ? "invalid_api_key" : code);
}
