/* child_process.c - processes beside the interpreter: what the front asks of them, at any time, and what it
 * is told. What one writes is limited as the output of a cell is. */
#include <signal.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/size.h"
#include "json/json.h"
#include "child/child_private.h"
#include "sandbox/sandbox.h"

#define WAITING_MOST 200 /* messages that wait for the sandbox */

/* Of one that runs. */
struct beside {
    struct beside *next;
    uint32_t number;
    uint64_t output; /* bytes that it has written */
    bool flooded;    /* that was too much */
};

static struct beside **find_beside(struct runner_child *c, uint32_t number)
{
    struct beside **at = &c->beside;

    while (*at && (*at)->number != number)
        at = &(*at)->next;
    return at;
}

static void forget_beside(struct runner_child *c, uint32_t number)
{
    struct beside **at = find_beside(c, number), *gone = *at;

    if (!gone)
        return;
    *at = gone->next;
    free(gone);
}

void child_process_free(struct runner_child *c)
{
    while (c->beside)
        forget_beside(c, c->beside->number);
    json_free(steal(&c->process_waiting));
}

/* Takes more. */
static void tell_beside(struct runner_child *c, uint32_t number, struct json *more)
{
    autojson struct json *owned = more;

    json_set_int(owned, "id", number);
    autojson struct json *message = json_object_of({"process", json_borrowed(owned)});
    runner_child_send(c, message);
}

static void tell_failed(struct runner_child *c, uint32_t number, const char *why)
{
    forget_beside(c, number);
    tell_beside(c, number, json_object_of({"error", json_string(why)}));
}

/* More than one may write ends it, as it ends a cell. */
static void pass_output(struct runner_child *c, const struct process_event *e)
{
    struct beside *b = *find_beside(c, e->number);
    uint64_t most = (uint64_t)sandbox_options(c->sandbox)->max_output;
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    if (!b || b->flooded)
        return;
    b->output += e->len;
    if (most && b->output > most) {
        b->flooded = true;
        sandbox_process_signal(c->sandbox, e->number, SIGKILL);
        return;
    }
    base64_add(&text, (const unsigned char *)e->data, e->len);
    tell_beside(c, e->number,
                json_object_of({"stream", json_string(e->what == PROCESS_STDERR ? "stderr" : "stdout")},
                               {"data", json_string_n(buf_str(&text), text.len)}));
}

static void pass_end(struct runner_child *c, uint32_t number, int64_t status)
{
    const struct beside *b = *find_beside(c, number);
    autofree char *why = b && b->flooded ? xasprintf("it wrote more than %s (--max-output)",
                                                     size_text(sandbox_options(c->sandbox)->max_output).text)
                                         : NULL;

    if (!b)
        return;
    forget_beside(c, number);
    tell_beside(c, number,
                json_object_of({"status", json_integer(status)}, {"why", why ? json_string(why) : NULL}));
}

static void on_beside(void *ctx, const struct process_event *e)
{
    struct runner_child *c = ctx;

    if (e->number == 0) {
        while (c->beside)
            pass_end(c, c->beside->number, e->value);
        return;
    }
    switch (e->what) {
    case PROCESS_STARTED:
        tell_beside(c, e->number, json_object_of({"pid", json_integer(e->value)}));
        break;
    case PROCESS_WROTE:
        tell_beside(c, e->number, json_object_of({"wrote", json_integer(e->value)}));
        break;
    case PROCESS_ENDED:
        pass_end(c, e->number, e->value);
        break;
    case PROCESS_FAILED: {
        autofree char *why = xasprintf("%.*s", (int)(e->len < 200 ? e->len : 200), e->data);
        tell_failed(c, e->number, why);
        break;
    }
    case PROCESS_STDOUT:
    case PROCESS_STDERR:
    default:
        pass_output(c, e);
    }
}

static void start_beside(struct runner_child *c, const struct json *m)
{
    uint32_t number = (uint32_t)json_int(json_get(m, "id"), 0);
    struct argv words autorelease(argv_release) = ARGV_INIT, env autorelease(argv_release) = ARGV_INIT;
    struct error err;

    for (const struct json *w = json_first(json_get(m, "words")); w; w = json_next(w))
        argv_push(&words, json_text(w));
    for (const struct json *e = json_first(json_get(m, "envs")); e; e = json_next(e)) {
        autofree char *one = xasprintf("%s=%s", json_key(e), json_text(e));
        argv_push(&env, one);
    }
    struct beside *b = xcalloc(1, sizeof *b);
    *b = (struct beside){.next = c->beside, .number = number};
    c->beside = b;
    sandbox_set_process_listener(c->sandbox, on_beside, c);
    if (sandbox_process_start(c->sandbox,
                              &(struct process_start){.number = number,
                                                      .words = &words,
                                                      .env = &env,
                                                      .folder = json_str(json_get(m, "cwd")),
                                                      .fed = json_bool(json_get(m, "stdin"), false)},
                              &err)
        < 0)
        tell_failed(c, number, err.text);
}

void child_process_up(struct runner_child *c)
{
    autojson struct json *waiting = steal(&c->process_waiting);

    for (const struct json *m = json_first(waiting); m; m = json_next(m))
        child_process(c, m);
}

void child_process_failed(struct runner_child *c, const char *why)
{
    autojson struct json *waiting = steal(&c->process_waiting);

    for (const struct json *m = json_first(waiting); m; m = json_next(m))
        if (!strcmp(json_text(json_get(m, "do")), "start"))
            tell_failed(c, (uint32_t)json_int(json_get(m, "id"), 0), why);
}

static void feed_beside(struct runner_child *c, uint32_t number, const struct json *m)
{
    const char *text = json_text(json_get(m, "data"));
    struct buf bytes autorelease(buf_release) = BUF_INIT(PROCESS_INPUT_MAX);

    if (base64_read(text, strlen(text), &bytes) == 0)
        sandbox_process_input(c->sandbox, number, buf_str(&bytes), bytes.len);
}

void child_process(struct runner_child *c, const struct json *m)
{
    const char *what = json_text(json_get(m, "do"));
    uint32_t number = (uint32_t)json_int(json_get(m, "id"), 0);

    c->used = true;
    if (!c->sandbox)
        return;
    if (!c->told) { /* the sandbox is still starting, or it is attached to */
        if (!c->process_waiting)
            c->process_waiting = json_array();
        if (json_size(c->process_waiting) < WAITING_MOST)
            json_add(c->process_waiting, json_copy(m));
        else if (!strcmp(what, "start"))
            tell_failed(c, number, "the sandbox is still starting");
    } else if (!strcmp(what, "start")) {
        start_beside(c, m);
    } else if (!strcmp(what, "input")) {
        feed_beside(c, number, m);
    } else if (!strcmp(what, "close")) {
        sandbox_process_close(c->sandbox, number);
    } else if (!strcmp(what, "freeze")) {
        sandbox_freeze(c->sandbox, json_bool(json_get(m, "freeze"), false));
    } else if (!strcmp(what, "hold")) {
        sandbox_process_hold(c->sandbox, number, json_bool(json_get(m, "hold"), false));
    } else if (!strcmp(what, "signal")) {
        sandbox_process_signal(c->sandbox, number, (int)json_int(json_get(m, "number"), SIGKILL));
    }
}
