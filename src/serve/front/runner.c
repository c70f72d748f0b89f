/* runner.c - the front's side of one runner: its process, the queue of requests, and what comes back.
 *
 * RULE: A cancel hits the request that it names, and no other.
 */
#include "front/runner.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "json/json.h"
#include "process/loop.h"
#include "front/reaper.h"
#include "operations/runner_messages.h"
#include "front/runner_request.h"
#include "front/starter.h"

#define READ_MOST 64 /* pieces at a time, so that one runner does not hold up the others */

struct runner {
    struct runner *next; /* in the list of those that are ending */
    struct loop *loop;
    void (*ready)(void *ctx, struct runner *r, const struct error *err);
    void (*gone)(void *ctx, struct runner *r, bool replaced);
    void (*idle)(void *ctx);
    char *(*notice)(void *ctx);
    void (*process)(void *ctx, const struct json *said);
    void *ctx;
    int starter; /* these are for the process that replaces this one */
    char *name;  /* owned, or NULL */
    int64_t idle_ms;
    bool only;
    pid_t pid; /* 0: the reaper has it */
    int sock;  /* -1: it is closed */
    struct message_reader in;
    struct message_writer out;
    struct pending *asks; /* the queue of requests */
    bool running;         /* the first of them was sent */
    bool cancelling;      /* and then cancelled */
    uint64_t number;      /* of the last request */
    uint64_t start;       /* the last one whose sandbox may start; 0: nothing was said of that */
    struct json *facts;
    bool freed;     /* its owner has freed it; it exists until its connection is closed */
    unsigned depth; /* how many calls of the owner's functions are under way; nothing is freed during one */
    int64_t done_at;
};

/* The loop knows a timer by its context, so each of ours has the address of another member as its context. */
#define CONTAINER_OF(ctx, member) ((struct runner *)(void *)((char *)(ctx)-offsetof(struct runner, member)))

static struct runner *ending; /* those that were freed by their owners, but are still connected */

static void on_socket(void *ctx);
static void on_dropped(void *ctx);

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
    free(r->name);
    free(r);
}

static void enter(struct runner *r)
{
    r->depth++;
}

/* False: r was freed. */
static bool leave(struct runner *r)
{
    if (--r->depth == 0 && r->freed && r->sock < 0) {
        destroy(r);
        return false;
    }
    return !r->freed;
}

/* Lets the process end by itself. */
static void leave_to_reaper(struct runner *r)
{
    if (r->pid > 0)
        reaper_take(r->loop, r->pid);
    r->pid = 0;
}

/* Lets the runner end by itself, since its owner has no use for it any more. */
static void abandon(struct runner *r)
{
    while (r->asks) {
        struct pending *a = r->asks;

        r->asks = a->next;
        request_free(a);
    }
    r->freed = true;
    r->next = ending;
    ending = r;
    leave_to_reaper(r);
    if (r->sock < 0 && r->depth == 0)
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
    return reaper_settle(loop, ms);
}

void runner_let_go(void)
{
    while (ending)
        destroy(ending);
    reaper_let_go();
}

/* Sends what is queued. A failure will show on the reading side. */
static void flush(struct runner *r)
{
    if (r->sock < 0)
        return;
    int rc = writer_send(&r->out, r->sock);
    bool full = rc > 0 || (rc < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
    loop_watch(r->loop, r->sock, full ? POLLIN | POLLOUT : POLLIN, on_socket, r);
}

/* Takes the first request out of the queue. */
static struct pending *take_first(struct runner *r)
{
    struct pending *a = r->asks;

    r->asks = a->next;
    r->running = r->cancelling = false;
    loop_timer_stop(r->loop, r);
    return a;
}

/* Returns the result with what its notices are to say too; NULL: they need not. The caller frees it. */
static struct json *with_notice(const struct runner *r, const struct json *result)
{
    const struct json *notices = json_get(result, "notices");
    autofree char *text = notices && r->notice ? r->notice(r->ctx) : NULL;

    if (!text)
        return NULL;
    struct json *all = json_copy(notices), *out = json_copy(result);
    json_add(all, json_string(text));
    json_set(out, "notices", all);
    return out;
}

static void tell_idle(const struct runner *r)
{
    if (!r->asks && !r->freed && r->idle)
        r->idle(r->ctx);
}

/* Answers a request that has left the queue, since its listener may ask for the next one. False: r was
 * freed. */
static bool answer(struct runner *r, struct pending *a, const struct json *result, const struct error *err)
{
    r->done_at = clock_ms();
    enter(r);
    if (!a->forgotten && a->listener.done) {
        autojson struct json *more = err ? NULL : with_notice(r, result);
        a->listener.done(a->listener.ctx, err ? NULL : more ? more : result, err);
    }
    request_free(a);
    tell_idle(r);
    return leave(r);
}

static bool finish_first(struct runner *r, const struct json *result, const struct error *err)
{
    return answer(r, take_first(r), result, err);
}

void runner_end(struct runner *r)
{
    struct error err;

    if (!r || r->freed)
        return;
    error_set(&err, ERROR_SANDBOX, 0, "the sandbox was ended");
    enter(r);
    while (r->asks && !r->freed)
        finish_first(r, NULL, &err);
    if (!leave(r))
        return;
    if (r->sock >= 0) {
        loop_timer_stop(r->loop, r);
        loop_timer_stop(r->loop, &r->asks);
        autojson struct json *message = json_object_of({"end", json_boolean(true)});
        writer_add(&r->out, message);
        flush(r);
    }
    abandon(r);
}

/* ---- to the child ---- */

/* Sends the first request, if none runs. */
static void pump(struct runner *r)
{
    struct pending *a = r->asks;

    if (r->running || !a || r->sock < 0 || a->dropped)
        return;
    r->running = true;
    a->passed = a->fd >= 0;
    writer_add_line(&r->out, spill_copy(&a->line), fd_steal(&a->fd));
    flush(r);
}

static void send_start(struct runner *r)
{
    autojson struct json *message = json_object_of({"start", json_integer((int64_t)r->start)});

    if (r->sock < 0)
        return;
    writer_add(&r->out, message);
    flush(r);
}

void runner_let_start(struct runner *r)
{
    r->start = r->number;
    send_start(r);
}

/* Starts a process for r, which has none. -1 with err. */
static int start_process(struct runner *r, bool again, struct error *err)
{
    int sock;
    pid_t pid = starter_start(r->starter, r->name, r->idle_ms, &sock, err);

    if (pid < 0)
        return -1;
    r->pid = pid;
    r->sock = sock;
    messages_init(&r->in);
    writer_init(&r->out);
    loop_watch(r->loop, r->sock, POLLIN, on_socket, r);
    bool may_start = r->start && r->start == r->number;
    if (again) {
        struct pending *a = request_new(++r->number, "again", NULL, false);

        a->again = true;
        a->next = r->asks;
        r->asks = a;
    }
    if (may_start) /* "again" waits for the sandbox, too */
        r->start = r->number;
    if (r->start)
        send_start(r);
    pump(r);
    return 0;
}

/* ---- its death ---- */

/* Takes out the request that fails with the process: it was read, or two processes have ended before they
 * read it. NULL: none fails; those that wait may go to the next process. */
static struct pending *take_lost(struct runner *r, bool unread)
{
    struct pending *a = r->asks;

    if (a && a->again) { /* it was for that process alone */
        request_free(take_first(r));
        a = r->asks;
    } else if (r->running && (!unread || r->cancelling || a->passed)) {
        return take_first(r);
    }
    r->running = r->cancelling = false;
    return a && !a->dropped && a->deaths++ > 0 ? take_first(r) : NULL;
}

/* The process has ended, or cannot be trusted any more. unread: it has not read the whole request that was
 * sent. */
static void lose_sandbox(struct runner *r, const char *why, bool unread)
{
    struct error err;

    error_set(&err, ERROR_SANDBOX, 0, "the process that held the sandbox has ended: %s", why);
    unread = unread || writer_waits(&r->out);
    disconnect(r);
    messages_release(&r->in);
    if (r->pid > 0)
        kill(r->pid, SIGKILL);
    leave_to_reaper(r);
    enter(r);
    struct pending *lost = take_lost(r, unread);
    bool replaced = r->asks && !r->only && start_process(r, true, NULL) == 0;
    if (replaced)
        loop_timer(r->loop, 0, on_dropped, &r->asks);
    if (lost)
        answer(r, lost, NULL, &err);
    while (r->asks && !r->freed && !replaced)
        finish_first(r, NULL, &err);
    if (!r->freed && r->gone)
        r->gone(r->ctx, r, replaced);
    leave(r);
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
        request_free(a);
        tell_idle(r);
        if (!leave(r))
            return;
        p = &r->asks; /* the owner may have asked or cancelled more */
    }
    pump(r);
}

static void drop_pending(struct runner *r, struct pending *a)
{
    a->dropped = true;
    loop_timer(r->loop, 0, on_dropped, &r->asks);
}

uint64_t runner_ask(struct runner *r, const char *operation, const struct json *arguments, int fd,
                    const struct runner_listener *l)
{
    struct pending *a = request_new(++r->number, operation, arguments, l->event != NULL), **last = &r->asks;

    a->fd = fd;
    a->listener = *l;
    while (*last)
        last = &(*last)->next;
    *last = a;
    if (r->sock < 0)
        drop_pending(r, a);
    pump(r);
    return a->number;
}

void runner_process(struct runner *r, const struct json *m)
{
    autojson struct json *message = json_object_of({"process", json_borrowed(m)});

    if (r->sock < 0)
        return;
    writer_add(&r->out, message);
    flush(r);
}

/* ---- cancel ---- */

static void on_deaf(void *ctx)
{
    lose_sandbox(ctx, "it ignored a cancel and was killed", false);
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

        writer_add(&r->out, message);
        r->cancelling = true;
        flush(r);
        loop_timer(r->loop, clock_ms() + RUNNER_CANCEL_MS, on_deaf, r);
        return;
    }
    drop_pending(r, a);
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

static bool take_process(struct runner *r, const struct json *said)
{
    enter(r);
    if (r->process)
        r->process(r->ctx, said);
    return leave(r);
}

/* False: r was freed, or its sandbox is lost. */
static bool take_message(struct runner *r, const struct json *m)
{
    const struct json *id = json_get(m, "id"), *result = json_get(m, "result"), *error = json_get(m, "error");
    struct error err;

    if (!id && (json_get(m, "ready") || json_get(m, "failed")))
        return take_ready(r, m);
    if (!id && json_get(m, "process"))
        return take_process(r, json_get(m, "process"));
    if (!r->running || json_int(id, 0) != (int64_t)r->asks->number) {
        lose_sandbox(r, "it answered a request that nobody had sent", false);
        return false;
    }
    if (json_get(m, "event"))
        return take_event(r, m);
    if (!result && !error) {
        lose_sandbox(r, "its answer cannot be understood", false);
        return false;
    }
    if (error)
        error_from_json(&err, error);
    if (!finish_first(r, result, error ? &err : NULL))
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
        destroy(r);
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
            lose_sandbox(r, err.text, false);
            there = false;
        } else if (there && n <= 0) {
            /* A socket whose other end was closed with unread bytes says ECONNRESET (unix(7) does not
             * tell). */
            bool unread = n < 0 && errno == ECONNRESET;
            lose_sandbox(r, n == 0 || unread ? "it was killed, or ended by itself" : strerror(errno), unread);
            there = false;
        }
    }
    leave(r);
}

/* ---- start ---- */

struct runner *runner_start(const struct runner_options *o, struct error *err)
{
    struct runner *r = xcalloc(1, sizeof *r);

    *r = (struct runner){.loop = o->loop,
                         .ready = o->ready,
                         .gone = o->gone,
                         .idle = o->idle,
                         .notice = o->notice,
                         .process = o->process,
                         .ctx = o->ctx,
                         .starter = o->starter,
                         .name = xstrdup(o->name),
                         .idle_ms = o->idle_ms,
                         .only = o->only,
                         .sock = -1};
    if (start_process(r, o->again, err) < 0) {
        free(r->name);
        free(r);
        return NULL;
    }
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
        n += !a->dropped;
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
