/* runner.c - the front's side of one runner: its process, the queue of requests, and what comes back. */
#include "runner/runner.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "json/json.h"
#include "process/loop.h"
#include "runner/runner_messages.h"
#include "runner/starter.h"

#define READ_MOST 64    /* pieces at a time, so that one runner does not hold up the others */
#define END_MS    20000 /* for a runner to end by itself */
#define REAP_MS   5     /* the first wait before it is reaped; each further wait is twice as long */
#define REAP_MOST 200   /* ms; up to this */

struct pending {
    struct pending *next;
    uint64_t number;
    struct json *message;
    int fd;
    struct runner_listener listener;
    bool forgotten, dropped;
};

struct runner {
    struct runner *next; /* in the list of those that are ending */
    struct loop *loop;
    void (*ready)(void *ctx, struct runner *r, const struct error *err);
    void (*gone)(void *ctx, struct runner *r);
    void *ctx;
    pid_t pid; /* 0: the process was reaped */
    int sock;  /* -1: it is closed */
    struct message_reader in;
    struct message_writer out;
    struct pending *asks; /* the queue of requests */
    bool running;         /* the first of them was sent */
    uint64_t number;      /* of the last request */
    struct json *facts;
    bool freed;     /* its owner has freed it; it exists until its process has ended */
    unsigned depth; /* how many calls of the owner's functions are under way; nothing is freed during one */
    int64_t killed_at, reap_ms, done_at;
};

/* The loop knows a timer by its context, so each of ours has the address of another member as its context. */
#define CONTAINER_OF(ctx, member) ((struct runner *)(void *)((char *)(ctx)-offsetof(struct runner, member)))

static struct runner
    *ending; /* those that were freed by their owners, but whose processes still have to end */

static void on_socket(void *ctx);

static void ask_free(struct pending *a)
{
    json_free(a->message);
    fd_close(&a->fd);
    free(a);
}

static void disconnect(struct runner *r)
{
    if (r->sock >= 0)
        loop_unwatch(r->loop, r->sock);
    fd_close(&r->sock);
    writer_release(&r->out);
    loop_timer_stop(r->loop, r);
    loop_timer_stop(r->loop, &r->asks);
}

static void destroy(struct runner *r)
{
    disconnect(r);
    for (struct runner **p = &ending; *p; p = &(*p)->next)
        if (*p == r) {
            *p = r->next;
            break;
        }
    json_free(r->facts);
    messages_release(&r->in);
    free(r);
}

/* ---- its end ---- */

static bool reap(struct runner *r)
{
    int status;

    if (r->pid > 0 && waitpid(r->pid, &status, WNOHANG) != 0)
        r->pid = 0;
    return r->pid == 0;
}

/* Reaps the process, which ends by itself or is killed when its time is over. */
static void on_reap(void *ctx)
{
    struct runner *r = CONTAINER_OF(ctx, pid);

    if (reap(r)) {
        if (r->freed && r->depth == 0)
            destroy(r);
        return;
    }
    if (clock_ms() >= r->killed_at)
        kill(r->pid, SIGKILL);
    r->reap_ms = r->reap_ms < REAP_MOST ? r->reap_ms * 2 : REAP_MOST;
    loop_timer(r->loop, clock_ms() + r->reap_ms, on_reap, &r->pid);
}

static void reap_later(struct runner *r)
{
    r->reap_ms = REAP_MS;
    r->killed_at = clock_ms() + END_MS;
    loop_timer(r->loop, clock_ms() + REAP_MS, on_reap, &r->pid);
}

static void enter(struct runner *r)
{
    r->depth++;
}

/* False: r was freed. */
static bool leave(struct runner *r)
{
    if (--r->depth == 0 && r->freed && r->pid == 0) {
        loop_timer_stop(r->loop, &r->pid);
        destroy(r);
        return false;
    }
    return !r->freed;
}

/* Lets the runner end by itself, since its owner has no use for it any more. */
static void abandon(struct runner *r)
{
    while (r->asks) {
        struct pending *a = r->asks;

        r->asks = a->next;
        ask_free(a);
    }
    r->freed = true;
    r->next = ending;
    ending = r;
    if (r->pid > 0)
        reap_later(r);
    else if (r->depth == 0)
        destroy(r);
}

void runner_free(struct runner *r)
{
    if (!r || r->freed)
        return;
    disconnect(r);
    abandon(r);
}

unsigned runner_settle(struct loop *loop, int ms)
{
    int64_t until = clock_ms() + ms, now;
    unsigned signals = loop_end_signals(loop), n = 0;

    while (ending && (now = clock_ms()) < until && loop_end_signals(loop) == signals)
        loop_wait(loop, (int)(until - now));
    for (const struct runner *r = ending; r; r = r->next)
        n++;
    return n;
}

void runner_let_go(void)
{
    while (ending) {
        loop_timer_stop(ending->loop, &ending->pid);
        destroy(ending);
    }
}

/* Sends what is queued. A failure will show on the reading side. */
static void flush(struct runner *r)
{
    if (r->sock < 0)
        return;
    bool full = writer_send(&r->out, r->sock) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    loop_watch(r->loop, r->sock, full ? POLLIN | POLLOUT : POLLIN, on_socket, r);
}

/* Finishes the first request. It leaves the queue before its listener is called, which may ask for the next
 * one. */
static bool finish(struct runner *r, const struct json *result, const struct error *err)
{
    struct pending *a = r->asks;

    r->asks = a->next;
    r->running = false;
    r->done_at = clock_ms();
    loop_timer_stop(r->loop, r);
    enter(r);
    if (!a->forgotten && a->listener.done)
        a->listener.done(a->listener.ctx, err ? NULL : result, err);
    ask_free(a);
    return leave(r);
}

void runner_end(struct runner *r)
{
    struct error err;

    if (!r || r->freed)
        return;
    error_set(&err, ERROR_SANDBOX, 0, "the sandbox was ended");
    enter(r);
    while (r->asks && !r->freed)
        finish(r, NULL, &err);
    if (!leave(r))
        return;
    abandon(r);
    if (r->sock < 0)
        return;
    loop_timer_stop(r->loop, r);
    loop_timer_stop(r->loop, &r->asks);
    buf_addstr(&r->out.buf, "{\"end\":true}\n");
    flush(r);
}

/* The process has ended, or cannot be trusted any more, so all requests fail. */
static void lose_sandbox(struct runner *r, const char *why)
{
    struct error err;

    error_set(&err, ERROR_SANDBOX, 0, "the process that held the sandbox has ended: %s", why);
    if (r->pid > 0 && !reap(r)) {
        kill(r->pid, SIGKILL);
        reap_later(r);
    }
    disconnect(r);
    enter(r);
    while (r->asks && !r->freed)
        finish(r, NULL, &err);
    if (!r->freed && r->gone)
        r->gone(r->ctx, r);
    leave(r);
}

/* ---- to the child ---- */

/* Sends the first request, if none runs. */
static void pump(struct runner *r)
{
    struct pending *a = r->asks;

    if (r->running || !a || r->sock < 0 || a->dropped)
        return;
    r->running = true;
    writer_pass(&r->out, a->fd);
    a->fd = -1;
    json_line(a->message, &r->out.buf);
    json_free(steal(&a->message));
    flush(r);
}

/* Answers the requests that will never be sent. */
static void on_dropped(void *ctx)
{
    struct runner *r = CONTAINER_OF(ctx, asks);
    struct error err;

    if (r->sock >= 0)
        error_set(&err, ERROR_CANCELLED, 0, "cancelled before it began");
    else
        error_set(&err, ERROR_SANDBOX, 0, "the process that held the sandbox has ended");
    for (struct pending **p = &r->asks; *p;) {
        struct pending *a = *p;

        if (!a->dropped) {
            p = &a->next;
            continue;
        }
        *p = a->next;
        enter(r);
        if (!a->forgotten && a->listener.done)
            a->listener.done(a->listener.ctx, NULL, &err);
        ask_free(a);
        if (!leave(r))
            return;
        p = &r->asks; /* the owner may have asked or cancelled more */
    }
    pump(r);
}

static void drop(struct runner *r, struct pending *a)
{
    a->dropped = true;
    loop_timer(r->loop, 0, on_dropped, &r->asks);
}

uint64_t runner_ask(struct runner *r, const char *operation, const struct json *arguments, int fd,
                    const struct runner_listener *l)
{
    struct pending *a = xcalloc(1, sizeof *a), **last = &r->asks;

    a->number = ++r->number;
    a->fd = fd;
    a->listener = *l;
    a->message = json_object_of({"id", json_integer((int64_t)a->number)}, {"op", json_string(operation)},
                                {"arguments", arguments ? json_copy(arguments) : json_object()},
                                {"events", l->event ? json_boolean(true) : NULL});
    while (*last)
        last = &(*last)->next;
    *last = a;
    if (r->sock < 0)
        drop(r, a);
    pump(r);
    return a->number;
}

/* ---- cancel ---- */

static void on_deaf(void *ctx)
{
    lose_sandbox(ctx, "it ignored a cancel and was killed");
}

void runner_cancel(struct runner *r, uint64_t request)
{
    struct pending *a = r->asks;

    while (a && a->number != request)
        a = a->next;
    if (!a || a->dropped || r->sock < 0)
        return;
    if (a == r->asks && r->running) {
        autojson struct json *message = json_object_of({"cancel", json_integer((int64_t)request)});

        json_line(message, &r->out.buf);
        flush(r);
        loop_timer(r->loop, clock_ms() + RUNNER_CANCEL_MS, on_deaf, r);
        return;
    }
    drop(r, a);
}

void runner_forget(struct runner *r, uint64_t request)
{
    for (struct pending *a = r->asks; a; a = a->next)
        if (a->number == request)
            a->forgotten = true;
    runner_cancel(r, request);
}

/* ---- from the child ---- */

static bool take_ready(struct runner *r, const struct json *m)
{
    const struct json *failed = json_get(m, "failed");
    struct error err;

    if (failed)
        error_from_json(&err, failed);
    else if (!r->facts)
        r->facts = json_copy(m);
    enter(r);
    if (r->ready)
        r->ready(r->ctx, r, failed ? &err : NULL);
    return leave(r);
}

static bool take_event(struct runner *r, const struct json *m)
{
    struct pending *a = r->asks;

    if (a->forgotten || !a->listener.event)
        return true;
    enter(r);
    a->listener.event(a->listener.ctx, m);
    return leave(r);
}

/* False: r was freed, or its sandbox is lost. */
static bool take_message(struct runner *r, const struct json *m)
{
    const struct json *id = json_get(m, "id"), *result = json_get(m, "result"), *error = json_get(m, "error");
    struct error err;

    if (!id && (json_get(m, "ready") || json_get(m, "failed")))
        return take_ready(r, m);
    if (!r->running || json_int(id, 0) != (int64_t)r->asks->number) {
        lose_sandbox(r, "it answered a request that nobody had sent");
        return false;
    }
    if (json_get(m, "event"))
        return take_event(r, m);
    if (!result && !error) {
        lose_sandbox(r, "its answer cannot be understood");
        return false;
    }
    if (error)
        error_from_json(&err, error);
    if (!finish(r, result, error ? &err : NULL))
        return false;
    pump(r);
    return true;
}

/* Reads and drops what an abandoned runner still sends. It closes the connection when it ends. */
static void drain(struct runner *r)
{
    char waste[4096];
    ssize_t n;

    while ((n = recv(r->sock, waste, sizeof waste, MSG_DONTWAIT)) > 0)
        continue;
    if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        disconnect(r);
}

static void on_socket(void *ctx)
{
    struct runner *r = ctx;
    struct error err;
    bool there = true;

    if (loop_revents(r->loop) & POLLOUT)
        flush(r);
    if (r->freed) {
        drain(r);
        return;
    }
    enter(r);
    for (int i = 0; there && i < READ_MOST; i++) {
        ssize_t n = messages_read(&r->in, r->sock);

        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        for (struct json *m; there && n > 0 && (m = messages_next(&r->in, &err)); json_free(m))
            there = take_message(r, m) && r->sock >= 0;
        if (there && n > 0 && err.kind) {
            lose_sandbox(r, err.text);
            there = false;
        } else if (there && n <= 0) {
            lose_sandbox(r, n == 0 ? "it was killed, or ended by itself" : strerror(errno));
            there = false;
        }
    }
    leave(r);
}

/* ---- start ---- */

struct runner *runner_start(const struct runner_options *o, struct error *err)
{
    int sock;
    pid_t pid = starter_start(o->starter, o->name, o->idle_ms, &sock, err);

    if (pid < 0)
        return NULL;
    struct runner *r = xcalloc(1, sizeof *r);
    *r = (struct runner){
        .loop = o->loop, .ready = o->ready, .gone = o->gone, .ctx = o->ctx, .pid = pid, .sock = sock};
    messages_init(&r->in);
    writer_init(&r->out);
    loop_watch(r->loop, r->sock, POLLIN, on_socket, r);
    return r;
}

bool runner_busy(const struct runner *r)
{
    return r->asks != NULL;
}

bool runner_lost(const struct runner *r)
{
    return r->sock < 0;
}

unsigned runner_waits(const struct runner *r)
{
    unsigned n = 0;

    for (const struct pending *a = r->asks; a; a = a->next)
        n++;
    return n && r->running ? n - 1 : n;
}

int64_t runner_done_at(const struct runner *r)
{
    return r->done_at;
}

const struct json *runner_facts(const struct runner *r)
{
    return r->facts;
}
