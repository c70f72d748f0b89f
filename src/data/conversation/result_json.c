/* result_json.c - keeps the answer, files and cost of a question from its events, and writes them as one
 * object when it ends.
 */
#include "conversation/result_json.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conversation/event_json.h"
#include "json/json.h"

#define FILES_MOST 10000

struct result {
    char *session, *model;
    struct json *id, *files; /* files: name -> object, in the order in which they were made */
    bool asking;
};

struct result *result_new(void)
{
    struct result *r = xcalloc(1, sizeof *r);

    r->files = json_object();
    return r;
}

void result_free(struct result *r)
{
    if (!r)
        return;
    free(r->session);
    free(r->model);
    json_free(r->id);
    json_free(r->files);
    free(r);
}

void result_task(struct result *r, const struct json *id)
{
    json_free(r->id);
    r->id = json_copy(id);
}

/* A file that is made again is the same one, at its latest path. */
static void add_made_file(struct result *r, const struct event *e)
{
    struct json *file = json_object_of({"name", json_string(e->file.name)},
                                       {"path", json_string(e->file.path)},
                                       {"size", json_integer((int64_t)e->file.size)});

    if (json_size(r->files) < FILES_MOST || json_get(r->files, e->file.name))
        json_set(r->files, e->file.name, file);
    else
        json_free(file);
}

static struct json *file_list(const struct result *r)
{
    struct json *list = json_array();

    for (const struct json *f = json_first(r->files); f; f = json_next(f))
        json_add(list, json_copy(f));
    return list;
}

/* What is asked for by those who compare answers: "FINAL ANSWER: 17" in the last place where it stands, or
 * with 17 in a line below it; else all of the answer, as it is. */
static struct json *final_answer(const char *answer)
{
    static const char mark[] = "final answer:";
    const char *from = NULL;

    for (const char *at = answer; (at = strcasestr(at, mark)); at++)
        from = at + strlen(mark);
    if (!from)
        return json_string(answer);
    while (isspace((unsigned char)*from) || *from == '*')
        from++;
    const char *end = from + strcspn(from, "\n");
    while (end > from && (isspace((unsigned char)end[-1]) || end[-1] == '*'))
        end--;
    return json_string_n(from, (size_t)(end - from));
}

/* The members that every result begins with. */
static struct json *result_of(const struct result *r, const struct event *e, enum question_status status)
{
    return json_object_of({"type", json_string("result")}, {"v", json_integer(1)},
                          {"question", json_integer(e->question)}, {"id", json_copy(r->id)},
                          {"session", json_string(r->session)}, {"model", json_string(r->model)},
                          {"status", json_string(event_json_status(status))},
                          {"exit_code", json_integer(question_exit_code(status))});
}

static struct json *closed(struct result *r, const struct event *e)
{
    const char *answer = e->done.answer && *e->done.answer ? e->done.answer : NULL;
    struct json *o = result_of(r, e, e->done.status);

    json_set_all(o, {"answer", json_string(answer)},
                 {"final_answer", answer ? final_answer(answer) : json_null()},
                 {"error", json_string(e->done.error)}, {"files", file_list(r)},
                 {"usage", event_json_usage(e)}, {"computed", event_json_computed(&e->done.computed)});
    r->asking = false;
    return o;
}

/* A task that could not be asked has a result too. */
static struct json *not_asked(const struct result *r, const struct event *e)
{
    struct json *o = result_of(r, e, QUESTION_USAGE);

    json_set_all(o, {"answer", json_null()}, {"final_answer", json_null()},
                 {"error", json_string(e->notice.text)}, {"files", json_array()}, {"usage", json_null()},
                 {"computed", json_null()});
    return o;
}

struct json *result_event(struct result *r, const struct event *e)
{
    switch (e->type) {
    case EVENT_SESSION:
        xreplace(&r->session, xstrdup(e->session.id));
        xreplace(&r->model, xstrdup(e->session.model));
        return NULL;
    case EVENT_QUESTION:
        json_free(r->files);
        r->files = json_object();
        r->asking = true;
        return NULL;
    case EVENT_FILE:
        add_made_file(r, e);
        return NULL;
    case EVENT_NOTICE:
        return e->notice.level == NOTICE_ERROR && !r->asking ? not_asked(r, e) : NULL;
    case EVENT_DONE:
        return closed(r, e);
    default:
        return NULL;
    }
}
