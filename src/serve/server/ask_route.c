/* ask_route.c - serves POST /ask, a question in our own shape. A session is a sandbox and the conversation
 * that its runner has, and its id is the sandbox's. With Accept: text/event-stream the events are sent as
 * they happen. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "server/parked.h"
#include "server/question_run.h"
#include "server/questions_private.h"
#include "server/sandboxes.h"

static struct json *answer_of(struct http_question *qn, const struct json *result)
{
    static const char *const kept[] = {"usage", "computed", "status", "error", "model", "notices"};
    struct json *out = json_object_of({"output", json_string(json_str(json_get(result, "answer")))},
                                      {"session", json_string(qn->place.sandbox)},
                                      {"files", question_files(qn, result)});

    for (size_t i = 0; i < countof(kept); i++)
        json_set(out, kept[i], json_copy(json_get(result, kept[i])));
    json_set(out, "steps", steal(&qn->steps));
    return out;
}

static void ask_answered(struct http_question *qn, const struct json *result)
{
    answer_json(qn->q, 200, answer_of(qn, result));
}

static void ask_failed(struct http_question *qn, int status, const char *code, const char *detail)
{
    answer_error(qn->q, status, code, "%s", detail);
}

static void ask_begin_stream(struct http_question *qn)
{
    stream_begin_events(qn->q);
}

static void ask_event(struct http_question *qn, const struct json *object)
{
    stream_sse(qn->q, json_text(json_get(object, "type")), object);
}

static void ask_release_nothing(struct http_question *qn)
{
    (void)qn;
}

static const struct question_shape whole = {.answered = ask_answered,
                                            .failed = ask_failed,
                                            .release = ask_release_nothing},
                                   stream = {.begin = ask_begin_stream,
                                             .event = ask_event,
                                             .answered = ask_answered,
                                             .failed = ask_failed,
                                             .release = ask_release_nothing};

/* story: of a conversation that goes on in another sandbox, or NULL. */
static struct json *ask_arguments(struct http_request *q, bool streams, const struct json *story)
{
    static const char *const names[] = {"input", "files", "model", "effort", "system"};
    struct json *out = json_object_of({"stream", json_boolean(streams)});
    autojson struct json *body = http_request_take_body(q);

    for (size_t i = 0; i < countof(names); i++)
        json_move(out, names[i], body, names[i]);
    for (const struct json *told = json_first(story); told; told = json_next(told))
        json_set(out, json_key(told), json_copy(told));
    return out;
}

/* Returns the sandbox of the session. NULL: it has given way, and *story is what is told in another one; or
 * there is no such session, and the request was answered. */
static struct lease *sandbox_of_session(struct http_request *q, const char *session, struct json **story)
{
    const char *client = http_request_client(q), *id = parked_now(q->s->parked, client, session);
    enum runners_absent why;
    struct lease *h = runners_find(http_request_runners(q), client, id, &why);

    *story = !h && why == RUNNERS_GAVE_WAY ? parked_story(q->s->parked, client, id) : NULL;
    return h || *story ? h : sandbox_of(q, session, NULL);
}

void ask_route(struct http_request *q)
{
    const struct json *body = http_request_body(q);
    const char *session = json_str(json_get(body, "session"));
    autojson struct json *story = NULL;
    bool streams = http_request_wants_stream(q);
    struct lease *h = session ? sandbox_of_session(q, session, &story) : NULL;

    if (session && !h && !story)
        return;
    struct http_question *qn = xcalloc(1, sizeof *qn);
    *qn = (struct http_question){.q = q, .shape = streams ? &stream : &whole};
    if (story)
        snprintf(qn->parked, sizeof qn->parked, "%s", session);
    question_ask(qn, h, ask_arguments(q, streams, story));
}
