/* runner_ask.c - makes the model and the agent with the first question, attaches the client's files, asks,
 * and sends what happens to the front. It is the third listener of struct ask, beside the pipe and the chat:
 * its events go out as JSON.
 */
#include "child/runner_ask.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/agent.h"
#include "ask/setup.h"
#include "base/argv.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/inputs.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/sha256.h"
#include "config/config.h"
#include "conversation/event_json.h"
#include "conversation/result_json.h"
#include "json/json.h"
#include "ask/ask.h"
#include "operations/runner_messages.h"
#include "process/loop.h"
#include "sandbox/sandbox.h"

#define NOTICES_MAX 50
#define GONE                                                                                          \
    "[This conversation goes on in a new interpreter: all variables, imports and files in /mnt/data " \
    "from before are gone.]"

struct asker {
    struct config *config;
    const char *session;
    struct ask ask;
    bool open;
    char *model, *effort;       /* asked for in place of the configured ones; or NULL */
    struct argv given, names;   /* files that were given: digest and name; each one's name in the sandbox */
    struct runner_child *child; /* what follows is of the question under way */
    bool stream;
    struct event_json *events;
    struct result *results;
    struct json *notices;
    bool prepared;                /* the user's file has made what there is, of the files of --add too */
    struct json *line, *computed; /* of the end */
    struct error failed;          /* kind ERROR_NONE: the question was answered, or not asked */
    char salt[9];                 /* of the names of turns: no other process has made the same */
    unsigned turns;               /* how many were named */
    char turn[32];                /* where the conversation stands; "": at its beginning */
};

struct again { /* how it went to run code once more */
    size_t ran, failed;
};

static int give_event(void *ctx, struct json *object)
{
    struct asker *q = ctx;
    runner_child_event(q->child, "agent", json_object_of({"agent", object}));
    return 0;
}

static bool wanted(const struct asker *q, const struct event *e)
{
    switch (e->type) {
    case EVENT_SESSION: /* which service is asked is the server's affair */
        return false;
    case EVENT_TEXT:
    case EVENT_TOOL_OUTPUT:
        return q->stream;
    case EVENT_NOTICE:
        return e->notice.level != NOTICE_DETAIL;
    default:
        return true;
    }
}

static void send_event_line(void *ctx, const struct event *e)
{
    struct asker *q = ctx;

    if (!q->child)
        return;
    if (e->type == EVENT_QUESTION)
        runner_child_event(q->child, "begun", json_object());
    if (e->type == EVENT_PHASE && e->phase.phase == PHASE_RETRYING)
        runner_child_event(q->child, "retry",
                           json_object_of({"ms", json_integer(e->phase.until - clock_ms())}));
    struct json *line = result_event(q->results, e);
    if (line) {
        json_free(q->line);
        q->line = line;
    }
    if (e->type == EVENT_NOTICE && e->notice.level != NOTICE_DETAIL && json_size(q->notices) < NOTICES_MAX)
        json_add(q->notices, json_string_n(e->notice.text, strlen(e->notice.text)));
    if (e->type == EVENT_DONE) {
        json_free(q->computed);
        q->computed = event_json_computed(&e->done.computed);
    }
    if (wanted(q, e) && runner_child_wants_events(q->child))
        event_json(q->events, e);
}

struct asker *asker_new(struct config *c, const char *session)
{
    struct asker *q = xmalloc(sizeof *q);

    *q = (struct asker){
        .config = c, .session = session, .events = event_json_new(give_event, q), .results = result_new()};
    random_hex(q->salt, sizeof q->salt - 1);
    return q;
}

static void shut(struct asker *q)
{
    if (q->open)
        ask_release(&q->ask);
    q->open = false;
}

void asker_free(struct asker *q)
{
    q->child = NULL;
    shut(q);
    event_json_free(q->events);
    result_free(q->results);
    json_free(q->line);
    json_free(q->computed);
    free(q->model);
    free(q->effort);
    argv_release(&q->given);
    argv_release(&q->names);
    free(q);
}

/* ---- the model ---- */

/* The files of --add, which a batch has. */
static int attach_given(struct ask *a, struct error *err)
{
    struct inputs files autorelease(inputs_release) = {0};

    if (inputs_open(&files, "--add ", (const char *const *)a->c->add.v, err) < 0)
        return -1;
    for (size_t i = 0; i < files.n; i++)
        if (agent_attach(a->agent, files.v[i].path, files.v[i].fd, err) < 0)
            return -1;
    return 0;
}

static int make(struct asker *q, struct error *err)
{
    struct ask *a = &q->ask;

    ask_init(a, q->config, runner_child_loop(q->child));
    q->open = true;
    a->listener = (struct ask_listener){.event = send_event_line, .ctx = q};
    a->session = q->session;
    a->sandbox = runner_child_sandbox(q->child);
    if (config_check_ca_cert(a->c, err) < 0 || ask_choose_model(a, err) < 0 || ask_open(a, err) < 0)
        return -1;
    ask_begin(a);
    for (size_t i = 0; i < a->c->notices.n; i++)
        ask_notice(a, NOTICE_WARNING, a->c->notices.v[i]);
    ask_tell_model(a);
    return q->prepared ? 0 : attach_given(a, err);
}

static bool same(const char *a, const char *b)
{
    return !strcmp(a ? a : "", b ? b : "");
}

/* The model and the effort of this question. */
static int choose(struct asker *q, const struct json *arguments, struct error *err)
{
    const char *model = json_str(json_get(arguments, "model")),
               *effort = json_str(json_get(arguments, "effort"));
    struct ask *a = &q->ask;

    if (!q->open && make(q, err) < 0) {
        shut(q);
        return -1;
    }
    if (same(model, q->model) && same(effort, q->effort))
        return 0;
    a->effort = effort;
    int status = ask_change_model(a, model ? model : a->model, err);
    if (status == 0) {
        xreplace(&q->model, xstrdup(model));
        xreplace(&q->effort, xstrdup(effort));
    }
    a->effort = q->effort;
    return status;
}

/* ---- the conversation ---- */

static void load_answer(struct conversation *c, const struct json *said)
{
    const struct json *all = json_get(said, "calls");
    struct call *calls = xcalloc(json_size(all) + 1, sizeof *calls);
    size_t n = 0;

    if (!c->n || c->v[c->n - 1].role == TURN_ASSISTANT)
        conversation_user(c, "(no words)", 10);
    for (const struct json *call = json_first(all); call; call = json_next(call))
        calls[n++] = (struct call){.id = xstrdup(json_text(json_get(call, "id"))),
                                   .name = xstrdup(json_text(json_get(call, "name"))),
                                   .arguments = xstrdup(json_text(json_get(call, "arguments")))};
    conversation_assistant(c, json_text(json_get(said, "text")), calls, n);
    free(calls);
}

/* A service wants user and assistant in turns, beginning with the user. */
static void load_history(struct conversation *c, const struct json *history)
{
    for (const struct json *said = json_first(history); said; said = json_next(said)) {
        const char *text = json_text(json_get(said, "text")), *role = json_text(json_get(said, "role"));

        if (!strcmp(role, "assistant")) {
            load_answer(c, said);
        } else if (!strcmp(role, "result")) {
            conversation_answer_call(c, json_text(json_get(said, "id")), text);
        } else {
            conversation_interrupted(c);
            conversation_user(c, text, strlen(text));
        }
    }
}

/* Brings the conversation to where the client says it is. *fresh: it had to be begun afresh from the
 * client's words. */
static int stand(struct asker *q, const struct json *arguments, bool *fresh, struct error *err)
{
    const struct json *history = json_get(arguments, "history");
    const char *turn = json_text(json_get(arguments, "turn"));
    struct ask *a = &q->ask;

    *fresh = false;
    if (!history || (*turn && !strcmp(turn, q->turn)))
        return 0;
    if (*turn && !json_size(history))
        return error_set(err, ERROR_USAGE, 0,
                         "the process of this conversation has ended; send the whole conversation again");
    agent_clear(a->agent);
    q->turn[0] = '\0';
    load_history(&a->conversation, history);
    *fresh = json_size(history) > 0;
    if (*fresh && !json_get(arguments, "goes_on")
        && !sandbox_cells(a->sandbox)) /* else it has our variables, of which the agent tells by itself */
        agent_tell(a->agent, GONE);
    return 0;
}

/* Remove what a question that was not answered has left in the conversation: the client does not know of
 * it. */
static void take_back(struct asker *q, uint64_t before)
{
    struct conversation *c = &q->ask.conversation;
    size_t i = c->n;

    while (i && c->v[i - 1].serial != before)
        i--;
    if (i || !before)
        conversation_truncate(c, i);
    else
        q->turn[0] = '\0'; /* it was cut short meanwhile: next time it is made from the client's words */
}

/* ---- files ---- */

/* Two files may come with one name, each client knowing only its own. The same bytes under it are the same
 * file; others have the next free name. */
static const char *name_of(struct asker *q, const char *name, const struct buf *bytes)
{
    char digest[SHA256_HEX];

    sha256_hex(bytes->data, bytes->len, digest);
    autofree char *file = xasprintf("%s %s", digest, name);
    for (size_t i = 0; i < q->given.n; i++)
        if (!strcmp(q->given.v[i], file))
            return q->names.v[i];
    autofree char *free_one = name_not_taken(name, (const char *const *)q->names.v, q->names.n);
    argv_push(&q->given, file);
    argv_push(&q->names, free_one);
    return q->names.v[q->names.n - 1];
}

static int attach_one(struct asker *q, const struct json *file, struct error *err)
{
    const char *path = json_text(json_get(file, "name")), *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path, *text = json_text(json_get(file, "content"));
    bool encoded = !strcmp(json_text(json_get(file, "encoding")), "base64");
    struct buf bytes autorelease(buf_release) = BUF_INIT(0);

    if (!*name)
        return error_set(err, ERROR_USAGE, 0, "files: one has no name");
    if (encoded ? base64_read(text, strlen(text), &bytes) < 0 : !buf_addstr(&bytes, text))
        return error_set(err, ERROR_USAGE, 0, "%.200s: its content is not base64", name);
    autoclose int fd = memfd_create("file", MFD_CLOEXEC);
    if (fd < 0 || fd_write_all(fd, buf_str(&bytes), bytes.len) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return error_errno(err, "%.200s", name);
    return agent_attach(q->ask.agent, name_of(q, name, &bytes), fd, err);
}

static int attach(struct asker *q, const struct json *files, struct error *err)
{
    for (const struct json *file = json_first(files); file; file = json_next(file))
        if (attach_one(q, file, err) < 0)
            return -1;
    return 0;
}

/* ---- the question ---- */

/* The sandbox of this conversation has given way to another one: its code runs once more. -1 with err: it was
 * interrupted, or there is no sandbox. */
static int run_again(struct asker *q, const struct json *code, struct again *r, struct error *err)
{
    for (const struct json *cell = json_first(code); cell; cell = json_next(cell)) {
        struct cell_result result = {0};
        const char *text = json_text(json_get(cell, "code"));
        int status = sandbox_run(q->ask.sandbox, text, strlen(text), NULL, &result, err);

        if (status == 0 && result.status == CELL_INTERRUPTED)
            status = error_set(err, ERROR_CANCELLED, 0, "interrupted");
        r->ran++;
        r->failed += status == 0 && json_bool(json_get(cell, "worked"), false) && !cell_succeeded(&result);
        cell_result_release(&result);
        if (status < 0)
            return -1;
    }
    return 0;
}

/* Says what has become of its variables, to the client and to the model. */
static int bring_back(struct asker *q, const struct json *parked, struct error *err)
{
    bool whole = json_bool(json_get(parked, "whole"), false);
    struct again r = {0};

    if (whole && run_again(q, json_get(parked, "code"), &r, err) < 0)
        return -1;
    autofree char *what = !whole ? xstrdup("its variables and files are gone")
                          : r.failed
                              ? xasprintf("its code was run again, but %zu of %zu runs failed this time, so "
                                          "variables may be missing",
                                          r.failed, r.ran)
                          : r.ran ? xasprintf("its code was run again (%zu run%s), so the variables are back",
                                              r.ran, r.ran == 1 ? "" : "s")
                                  : NULL;
    if (!what)
        return 0; /* there was nothing in it */
    autofree char *user = xasprintf("The sandbox of this conversation had given way to another one: %s.",
                                    what);
    autofree char *model = xasprintf("[This conversation goes on in a new interpreter: %s.]", what);
    ask_notice(&q->ask, NOTICE_WARNING, user);
    agent_tell(q->ask.agent, whole ? model : GONE);
    return 0;
}

/* A question that could not be asked is reported in the same way as one that failed. */
static void not_asked(struct asker *q, const struct error *err)
{
    static const enum question_status statuses[] = {
        [ERROR_USAGE] = QUESTION_USAGE,           [ERROR_AUTH] = QUESTION_REFUSED,
        [ERROR_BUSY] = QUESTION_TRY_LATER,        [ERROR_SANDBOX] = QUESTION_NO_SANDBOX,
        [ERROR_CANCELLED] = QUESTION_INTERRUPTED, [ERROR_SYSTEM] = QUESTION_NO_ANSWER,
    };
    autofree char *why = error_message(err);
    struct event e = {.type = EVENT_DONE,
                      .done = {.status = err->kind < countof(statuses) ? statuses[err->kind] : 0,
                               .answer = "",
                               .error = why,
                               .usage = {.cost = -1, .cached = -1, .reasoning = -1}}};
    if (e.done.status == QUESTION_ANSWERED)
        e.done.status = QUESTION_NO_ANSWER;
    send_event_line(q, &e);
}

/* The calls of the client's tools, with which the last answer ended, have their results. */
static int take_results(struct asker *q, const struct json *results, struct error *err)
{
    struct conversation *c = &q->ask.conversation;

    if (!results)
        return 0;
    for (const struct json *r = json_first(results); r; r = json_next(r))
        if (!conversation_answer_call(c, json_text(json_get(r, "id")), json_text(json_get(r, "text"))))
            return error_set(err, ERROR_USAGE, 0, "the last answer made no call with the id %.100s",
                             json_text(json_get(r, "id")));
    const struct call *open = conversation_open_call(c, 0);
    return !open ? 0
                 : error_set(err, ERROR_USAGE, 0, "the call %.100s of %.64s has no result yet", open->id,
                             open->name);
}

static int offer_callers(struct asker *q, const struct json *arguments, struct error *err)
{
    agent_set_form(q->ask.agent, json_get(arguments, "form"));
    if (agent_set_callers(q->ask.agent, json_get(arguments, "tools"), err) < 0)
        return -1;
    agent_want_call(q->ask.agent, json_bool(json_get(arguments, "must_call"), false),
                    json_bool(json_get(arguments, "one_call"), false));
    return 0;
}

static void question(struct asker *q, const struct json *arguments, bool *fresh, struct error *err)
{
    const char *input = json_text(json_get(arguments, "input")),
               *system = json_str(json_get(arguments, "system"));
    struct ask *a = &q->ask;

    if (offer_callers(q, arguments, err) < 0 || stand(q, arguments, fresh, err) < 0)
        return;
    uint64_t before = a->conversation.n ? a->conversation.v[a->conversation.n - 1].serial : 0;
    agent_set_system(a->agent, system ? system : a->c->system);
    if (q->prepared)
        agent_tell(a->agent, json_text(json_get(arguments, "prepared")));
    if ((*fresh && attach(q, json_get(arguments, "earlier_files"), err) < 0)
        || attach(q, json_get(arguments, "files"), err) < 0
        || take_results(q, json_get(arguments, "results"), err) < 0) {
        agent_unattach(a->agent);
        return;
    }
    const struct json *parked = json_get(arguments, "goes_on");
    if (parked && bring_back(q, parked, err) < 0) {
        agent_unattach(a->agent);
        return;
    }
    enum question_status status = *input || !json_get(arguments, "results")
                                      ? agent_ask(a->agent, input, strlen(input), &q->failed)
                                      : agent_go_on(a->agent, &q->failed);
    if (question_has_answer(status) || !json_get(arguments, "history"))
        snprintf(q->turn, sizeof q->turn, "%s-%u", q->salt, ++q->turns);
    else
        take_back(q, before);
}

/* The calls that the client is to carry out; NULL: the question ended otherwise. */
static struct json *open_calls(const struct asker *q)
{
    struct json *out = NULL;
    const struct call *call;

    if (strcmp(json_text(json_get(q->line, "status")), "calls") != 0)
        return NULL;
    for (size_t i = 0; (call = conversation_open_call(&q->ask.conversation, i)); i++) {
        out = out ? out : json_array();
        json_add(out, json_object_of({"id", json_string(call->id)}, {"name", json_string(call->name)},
                                     {"arguments", json_string(call->arguments)}));
    }
    return out;
}

static struct json *result_of(struct asker *q, bool fresh)
{
    struct json *calls = open_calls(q);

    autojson struct json *sandbox = runner_child_notices(q->child);
    for (const struct json *n = json_first(sandbox); n; n = json_next(n))
        json_add(q->notices, json_copy(n));
    return json_set_all(steal(&q->line), {"computed", q->computed ? steal(&q->computed) : json_null()},
                        {"model", json_string(llm_model(q->ask.llm))}, {"turn", json_string(q->turn)},
                        {"fresh", json_boolean(fresh)}, {"calls", calls}, {"notices", steal(&q->notices)},
                        {"failed", q->failed.kind ? error_to_json(&q->failed) : json_null()});
}

int asker_run(void *ctx, struct runner_child *c, const struct json *arguments, struct json **result,
              struct error *err)
{
    struct asker *q = ctx;
    struct error why = {0};
    bool fresh = false;

    q->child = c;
    q->notices = json_array();
    q->failed = (struct error){0};
    q->stream = json_bool(json_get(arguments, "stream"), false);
    q->prepared = json_str(json_get(arguments, "prepared")) != NULL;
    int status = choose(q, arguments, err);
    if (status == 0) {
        question(q, arguments, &fresh, &why);
        if (why.kind)
            not_asked(q, &why);
        *result = result_of(q, fresh);
    }
    json_free(steal(&q->notices));
    q->child = NULL;
    return status;
}
