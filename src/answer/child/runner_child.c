/* runner_child.c - reads requests and cancels from the front's socket, carries out one request at a time,
 * and reports how it ended.
 */
#include "child/runner_child.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "json/json.h"
#include "process/loop.h"
#include "process/signals.h"
#include "child/child_private.h"
#include "operations/operations.h"
#include "operations/runner_messages.h"
#include "sandbox/sandbox.h"

#define CLAIM_MS    10000 /* for an earlier runner to release the sandbox */
#define CLAIM_STEP  20    /* ms */
#define NOTICES_MAX 20

/* Forgets what is known of the sandbox. */
static void child_forget(struct runner_child *c)
{
    json_free(steal(&c->notices));
    json_free(steal(&c->weaker));
    for (size_t i = 0; i < c->n_delivered; i++) {
        free(c->delivered[i].name);
        free(c->delivered[i].path);
    }
    free(steal(&c->delivered));
    c->n_delivered = 0;
    child_process_free(c);
    child_drop_copy(c);
    c->sandbox = NULL;
    c->lost = c->told = c->used = false;
}

void runner_child_free(struct runner_child *c)
{
    child_forget(c);
    loop_unwatch(c->loop, c->sock);
    messages_release(&c->in);
    fd_close(&c->put);
    json_free(c->next);
    free(c);
}

struct loop *runner_child_loop(struct runner_child *c)
{
    return c->loop;
}

struct sandbox *runner_child_sandbox(struct runner_child *c)
{
    return c->sandbox;
}

bool runner_child_wants_events(const struct runner_child *c)
{
    return c->events;
}

/* ---- to the front ---- */

/* Sends the whole message. The front always reads, so only its end, or a signal that ends us, stops this. */
void runner_child_send(struct runner_child *c, const struct json *message)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);
    size_t sent = 0;

    json_line(message, &line);
    while (!c->closed && sent < line.len) {
        ssize_t n = send(c->sock, line.data + sent, line.len - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n >= 0)
            sent += (size_t)n;
        else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
            c->closed = true;
        else if (errno != EINTR)
            loop_poll(c->loop, c->sock, POLLOUT, 1000);
        if (n < 0 && loop_check(c->loop) && loop_fatal(c->loop))
            return;
    }
}

void runner_child_event(struct runner_child *c, const char *kind, struct json *more)
{
    if (c->events) {
        autojson struct json *message = json_object_of({"id", json_integer(c->id)},
                                                       {"event", json_string(kind)});

        json_copy_all(message, more);
        runner_child_send(c, message);
    }
    json_free(more);
}

void runner_child_notice(void *ctx, bool detail, const char *line)
{
    struct runner_child *c = ctx;

    if (detail || json_size(c->notices) >= NOTICES_MAX)
        return;
    autofree char *shown = scrub_line(line, SCRUB_TERMINAL);
    if (!c->notices)
        c->notices = json_array();
    json_add(c->notices, json_string(shown));
    runner_child_event(c, "notice", json_object_of({"text", json_string(shown)}));
}

void runner_child_weaker(void *ctx, const char *line)
{
    struct runner_child *c = ctx;
    autofree char *shown = scrub_line(line, SCRUB_TERMINAL);

    c->weaker = c->weaker ? c->weaker : json_array();
    if (json_size(c->weaker) < NOTICES_MAX)
        json_add(c->weaker, json_string(shown));
}

struct json *runner_child_notices(struct runner_child *c)
{
    struct json *all = steal(&c->notices);

    return all ? all : json_array();
}

/* ---- from the front ---- */

/* A message to start may be older than the sandbox, or its request. */
static void let_start(struct runner_child *c)
{
    if (c->sandbox && c->id && c->id <= c->start)
        sandbox_hold_start(c->sandbox, false);
}

/* Takes m. */
static void take_message(struct runner_child *c, struct json *m)
{
    const struct json *cancel = json_get(m, "cancel");

    if (cancel) {
        int64_t id = json_int(cancel, 0);

        /* The request may also be done already, or not have begun. */
        if (c->id && id == c->id)
            loop_interrupt(c->loop);
        else if (c->next && id == json_int(json_get(c->next, "id"), 0))
            c->next_cancelled = true;
    } else if (json_get(m, "end")) {
        c->closed = c->remove = true;
        loop_interrupt(c->loop);
    } else if (json_get(m, "start")) {
        c->start = json_int(json_get(m, "start"), 0);
        let_start(c);
    } else if (json_get(m, "process")) {
        child_process(c, json_get(m, "process"));
    } else if (!c->next) { /* the front sends a request only when it has the answer to the last one */
        c->next = m;
        c->put = messages_fd(&c->in);
        return;
    } else {
        c->closed = true;
    }
    json_free(m);
}

static void on_socket(void *ctx)
{
    struct runner_child *c = ctx;
    ssize_t n = messages_read(&c->in, c->sock);
    struct error err = {0};

    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return;
    for (struct json *m; n > 0 && !c->closed && (m = messages_next(&c->in, &err));)
        take_message(c, m);
    if (n <= 0 || err.kind)
        c->closed = true;
    if (c->closed) {
        /* What runs is interrupted, as the supervisor would do when we are gone. */
        loop_unwatch(c->loop, c->sock);
        loop_interrupt(c->loop);
    }
}

struct runner_child *runner_child_new(struct loop *loop, int sock)
{
    struct runner_child *c = xcalloc(1, sizeof *c);

    c->loop = loop;
    c->sock = sock;
    c->put = -1;
    messages_init(&c->in);
    fd_nonblock(sock, true);
    loop_watch(loop, sock, POLLIN, on_socket, c);
    return c;
}

/* ---- the start ---- */

void runner_child_up(void *ctx, const struct sandbox *s)
{
    struct runner_child *c = ctx;
    if (c->told)
        return; /* it was replaced */
    c->told = true;
    const struct sandbox_options *o = sandbox_options(s);
    autojson struct json *message = json_object_of(
        {"ready", json_boolean(true)}, {"engine", json_string(sandbox_engine(s))},
        {"image", json_string(sandbox_image(s))}, {"memory", json_integer(o->run.memory)},
        {"cpus", json_number(o->run.cpus)}, {"data_size", json_integer(o->run.data_size)},
        {"weaker", steal(&c->weaker)});
    runner_child_send(c, message);
    child_process_up(c);
}

static void tell_failure(struct runner_child *c)
{
    struct error err;

    if (c->told || !sandbox_failed(c->sandbox, &err))
        return;
    c->told = true;
    autojson struct json *message = json_object_of({"failed", error_to_json(&err)});
    runner_child_send(c, message);
    child_process_failed(c, err.text);
}

/* Takes the sandbox's name. An earlier runner that was killed, or whose front was, may still hold it for a
 * moment.
 */
static void claim(struct runner_child *c)
{
    int64_t until = clock_ms() + CLAIM_MS;
    struct error err = {0};

    while (sandbox_claim(c->sandbox, &err) < 0 && err.code == EBUSY && clock_ms() < until && !c->closed
           && !loop_fatal(c->loop))
        loop_wait(c->loop, CLAIM_STEP);
}

/* ---- operations ---- */

static const struct {
    const char *name;
    int (*run)(struct runner_child *c, const struct json *arguments, struct json **result, struct error *err);
} table[] = {
    {"run_code", child_run_code},
    {"execute_command", child_execute},
    {"put_file", child_put_file},
    {"get_file", child_get_file},
    {"list_files", child_list_files},
    {"info", child_info},
    {"reset", child_reset},
    /* these are only for the front, not for its clients */
    {"run_with", child_run_with}, /* run_code with "env": variables for this code alone */
    {"copy_out", child_copy_out},
    {"copy_in", child_copy_in},
    {"hold", child_hold},
    {"again", child_again},
    {"another", child_another},
};

int runner_child_info(struct runner_child *c, struct json **result, struct error *err)
{
    return child_info(c, NULL, result, err);
}

static int perform(struct runner_child *c, const struct json *message, const struct runner_extra *extra,
                   struct json **result, struct error *err)
{
    const char *name = json_text(json_get(message, "op"));
    const struct json *arguments = json_get(message, "arguments");
    const struct operation *o = operation_find(name);

    if (o && operation_check(o, arguments, err) < 0)
        return -1;
    for (const struct runner_extra *e = extra; e && e->name; e++)
        if (!strcmp(name, e->name))
            return e->run(e->ctx, c, arguments, result, err);
    for (size_t i = 0; i < countof(table); i++)
        if (!strcmp(name, table[i].name))
            return table[i].run(c, arguments, result, err);
    return error_set(err, ERROR_USAGE, 0, "%.40s: there is no such operation", name);
}

static void serve_request(struct runner_child *c, const struct runner_extra *extra)
{
    autojson struct json *message = steal(&c->next);
    struct json *result = NULL;
    struct error err = {0};

    loop_arm(c->loop);
    if (c->next_cancelled)
        loop_interrupt(c->loop);
    c->next_cancelled = false;
    child_drop_copy(c);
    c->id = json_int(json_get(message, "id"), 0);
    c->events = json_bool(json_get(message, "events"), false);
    c->used = true;
    let_start(c);
    int rc = perform(c, message, extra, &result, &err);
    autojson struct json *answer = json_object_of(
        {"id", json_integer(c->id)}, {rc == 0 ? "result" : "error", rc == 0 ? result : error_to_json(&err)});
    c->id = 0;
    c->events = false;
    fd_close(&c->put);
    if (rc < 0)
        json_free(runner_child_notices(c));
    runner_child_send(c, answer);
}

bool runner_child_another(struct runner_child *c)
{
    if (!c->another)
        return false;
    child_forget(c);
    while (!c->next && !c->closed && !loop_fatal(c->loop))
        loop_wait(c->loop, -1);
    c->another = false;
    return c->next && !c->closed && !loop_fatal(c->loop);
}

int runner_child_run(struct runner_child *c, struct sandbox *s, const struct runner_extra *extra,
                     bool *remove)
{
    c->sandbox = s;
    claim(c);
    sandbox_start(s);
    while (!c->closed && !c->another && !loop_fatal(c->loop)) {
        tell_failure(c);
        if (c->next)
            serve_request(c, extra);
        else
            loop_wait(c->loop, -1);
    }
    /* A new sandbox that was never asked anything is of no use to anybody. */
    *remove = c->remove || (!c->used && !sandbox_continued(s));
    return loop_fatal(c->loop) ? 143 : 0;
}
