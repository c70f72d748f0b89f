/* completions.c - /v1/chat/completions and /v1/models: what OpenAI's clients speak. The conversation is the
 * client's: it sends all of it each time, and what it sent up to the last answer finds the interpreter that
 * stands there. What the code did goes into the member "sandpiper".
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/random.h"
#include "json/json.h"
#include "openai/chat_reply.h"
#include "openai/chat_request.h"
#include "server/question_run.h"
#include "server/questions_private.h"

#define OWN_NAME "sandpiper" /* the model that is configured */

struct completion {
    struct question base;
    char id[48], said[SHA256_HEX]; /* said: the name of all that the client sent */
    char *model;
    struct chat_reply reply; /* points into this */
    bool usage, begun;
    struct buf text; /* of the stream so far */
    int64_t part;    /* the number of the reply that is being streamed */
};

static struct completion *of(struct question *qn)
{
    return (struct completion *)qn;
}

/* The answer as the client has it: that is what it sends back. */
static void place(const struct question *qn, const struct json *result, char key[SHA256_HEX])
{
    const struct completion *c = (const struct completion *)qn;

    chat_key_after(c->said, c->text.len ? buf_str(&c->text) : json_text(json_get(result, "answer")), key);
}

static struct json *annotation(struct question *qn, const struct json *result)
{
    static const char *const kept[] = {"status", "error", "computed", "notices"};
    struct json *out = json_object();

    json_set_str(out, "session", qn->place.sandbox);
    json_set_bool(out, "new_interpreter", qn->made);
    json_set(out, "steps", steal(&qn->steps));
    json_set(out, "files", question_files(qn, result));
    for (size_t i = 0; i < countof(kept); i++)
        json_set(out, kept[i], json_copy(json_get(result, kept[i])));
    return out;
}

static void use_model(struct completion *c, const struct json *result)
{
    const char *model = json_str(json_get(result, "model"));

    if (!model)
        return;
    free(c->model);
    c->reply.model = c->model = xstrdup(model);
}

static void answered(struct question *qn, const struct json *result)
{
    const char *answer = json_text(json_get(result, "answer"));
    const char *finish = chat_finish(json_text(json_get(result, "status")), answer);

    use_model(of(qn), result);
    answer_json(qn->q, 200,
                chat_completion(&of(qn)->reply, answer, finish, chat_usage(json_get(result, "usage")),
                                annotation(qn, result)));
}

/* Only what may work as it is, is tried again by the client. */
static void failed(struct question *qn, int status, const char *code, const char *detail)
{
    bool again = strcmp(code, "NOT_CONFIGURED") != 0 && (status == 429 || status == 503);

    answer_header(qn->q, "x-should-retry", again ? "true" : "false");
    answer_error(qn->q, status, code, "%s", detail);
}

/* ---- streamed ---- */

static void send_chunk(struct completion *c, struct json *chunk)
{
    stream_sse(c->base.q, NULL, chunk);
    json_free(chunk);
}

/* As late as possible: until then a failure still has a status of its own. */
static void begin(struct completion *c)
{
    if (c->begun)
        return;
    c->begun = true;
    stream_begin(c->base.q, 200, "text/event-stream");
    send_chunk(c, chat_first_chunk(&c->reply, NULL));
}

static void send_text(struct completion *c, const char *text)
{
    buf_addstr(&c->text, text);
    send_chunk(c, chat_chunk(&c->reply, text, strlen(text), NULL, NULL));
}

/* What is said beside the code stands in a paragraph of its own. */
static void stream_text(struct completion *c, const struct json *object)
{
    int64_t part = json_int(json_get(object, "reply"), 0);

    if (part != c->part && c->text.len)
        send_text(c, "\n\n");
    c->part = part;
    send_text(c, json_text(json_get(object, "text")));
}

static void stream_event(struct question *qn, const struct json *object)
{
    static const char *const told[] = {"tool_call", "tool_output", "tool_result", "file", "notice"};
    struct completion *c = of(qn);

    if (json_is(object, "text")) {
        begin(c);
        stream_text(c, object);
        return;
    }
    for (size_t i = 0; i < countof(told); i++)
        if (json_is(object, told[i])) {
            struct json *note = json_copy(object);

            if (strcmp(told[i], "notice") != 0)
                begin(c);
            json_set(note, "data", json_null()); /* a figure has a link; this is for a line of text */
            if (c->begun)
                send_chunk(c, chat_chunk(&c->reply, NULL, 0, NULL, note));
            else
                json_free(note);
        }
}

static void end_stream(struct completion *c)
{
    stream_send(c->base.q, "data: [DONE]\n\n", 14);
    stream_end(c->base.q);
}

static void stream_answered(struct question *qn, const struct json *result)
{
    const char *answer = json_text(json_get(result, "answer"));
    struct completion *c = of(qn);

    begin(c);
    if (!c->text.len && *answer)
        send_text(c, answer);
    send_chunk(c, chat_chunk(&c->reply, NULL, 0, chat_finish(json_text(json_get(result, "status")), answer),
                             annotation(qn, result)));
    if (c->usage)
        send_chunk(c, chat_usage_chunk(&c->reply, chat_usage(json_get(result, "usage"))));
    end_stream(c);
}

static void stream_failed(struct question *qn, int status, const char *code, const char *detail)
{
    if (!of(qn)->begun) {
        failed(qn, status, code, detail);
        return;
    }
    send_chunk(of(qn), chat_error(detail, chat_error_type(status), NULL, code));
    end_stream(of(qn));
}

static void stream_silent(struct question *qn)
{
    begin(of(qn));
    stream_send(qn->q, ": still working\n\n", 17);
}

static void release(struct question *qn)
{
    free(of(qn)->model);
    buf_release(&of(qn)->text);
}

static const struct question_shape whole = {NULL, place, answered, failed, NULL, release},
                                   stream = {stream_event,  place,         stream_answered,
                                             stream_failed, stream_silent, release};

/* ---- the request ---- */

static const char *configured(const struct visit *q)
{
    return q->s->o.model ? q->s->o.model : OWN_NAME;
}

static struct json *arguments_of(struct chat_request *r, const char *turn)
{
    struct json *out = json_object();

    json_set_str(out, "input", r->input);
    if (r->system)
        json_set_str(out, "system", r->system);
    if (r->effort)
        json_set_str(out, "effort", r->effort);
    json_set(out, "files", steal(&r->files));
    json_set(out, "earlier_files", steal(&r->earlier_files));
    json_set(out, "history", steal(&r->history));
    json_set_str(out, "turn", turn);
    json_set_bool(out, "stream", r->stream);
    return out;
}

static void name_reply(struct completion *c)
{
    char id[25];

    random_hex(id, sizeof id - 1);
    snprintf(c->id, sizeof c->id, "chatcmpl-%s", id);
    c->model = xstrdup(configured(c->base.q));
    c->reply = (struct chat_reply){c->id, (int64_t)time(NULL), c->model, c->usage};
}

static void ask(struct visit *q, struct chat_request *r)
{
    struct completion *c = xcalloc(1, sizeof *c);
    const struct json *body = visit_body(q);
    char owner[16];
    struct error err = {0};
    struct held *h = NULL;

    c->base = (struct question){.q = q, .shape = r->stream ? &stream : &whole};
    c->usage = r->include_usage;
    buf_init(&c->text, 0);
    snprintf(owner, sizeof owner, "%d", q->token);
    chat_request_key(body, json_size(json_get(body, "messages")), owner, c->said);
    if (r->prefix) {
        chat_request_key(body, r->prefix, owner, c->base.key);
        if (chat_table_take(q->s->chats, c->base.key, &c->base.place))
            h = runners_find(visit_runners(q), visit_client(q), c->base.place.sandbox, NULL);
    }
    if (!h) {
        c->base.made = true;
        c->base.place.turn[0] = '\0';
        h = question_room(q, &err);
    }
    if (!h) {
        free(c);
        answer_header(q, "x-should-retry", "true");
        answer_failure(q, &err);
        return;
    }
    name_reply(c);
    question_ask(&c->base, h, arguments_of(r, c->base.place.turn));
}

void completions_route(struct visit *q)
{
    struct chat_request r;
    struct chat_refusal no;

    if (chat_request_read(visit_body(q), &r, &no) == 0)
        ask(q, &r);
    else
        answer_json(q, 400,
                    chat_error(no.message, "invalid_request_error", *no.param ? no.param : NULL, no.code));
    chat_request_release(&r);
}

void models_route(struct visit *q)
{
    const char *const names[] = {OWN_NAME, q->s->o.model};

    answer_json(q, 200, chat_models(names, q->s->o.model ? 2 : 1, 0));
}

void model_route(struct visit *q)
{
    const char *name = visit_param(q, "model");

    if (strcmp(name, OWN_NAME) != 0 && strcmp(name, configured(q)) != 0)
        answer_error(q, 404, "model_not_found", "there is no model %.100s here; it is called " OWN_NAME,
                     name);
    else {
        autojson struct json *list = chat_models(&name, 1, 0);

        answer_json(q, 200, json_copy(json_at(json_get(list, "data"), 0)));
    }
}

struct json *openai_failure(const struct route *r, int status, const char *code, const char *detail)
{
    (void)r;
    return chat_error(detail, chat_error_type(status), NULL, status == 401 ? "invalid_api_key" : code);
}
