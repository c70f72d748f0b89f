/* processes.c - what a client's processes are known by, who watches them, and what is asked of their runner.
 *
 * RULE: What a client has started ends with its sandbox, and a sandbox whose process is watched is in use.
 */
#include "front/processes.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "process/loop.h"
#include "front/lease.h"

struct client_process {
    struct client_process *next;
    struct lease *lease;
    uint32_t number; /* by which its runner knows it */
    int64_t pid;     /* inside; 0: not known yet */
    char *tag;
    struct json *config;
    size_t unread; /* bytes of its stdin that were not written yet */
    unsigned held; /* so many watches are slow */
    bool hidden;
    bool late; /* it was killed because its time was up */
    bool open; /* it has a stdin that was not closed */
    struct process_watch *watches;
};

static struct loop *loop_of(const struct client_process *p)
{
    return p->lease->rs->o.loop;
}

static void process_free(struct client_process *p)
{
    struct client_process **at = &p->lease->processes;

    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    loop_timer_stop(loop_of(p), p);
    json_free(p->config);
    free(p->tag);
    free(p);
}

/* A watch may leave while it is told. */
static void tell_watches(struct client_process *p, const struct json *event)
{
    for (struct process_watch *w = p->watches, *next; w; w = next) {
        next = w->next;
        w->event(w->ctx, event);
    }
}

static void end_process(struct client_process *p, const struct json *event)
{
    struct process_watch *w;

    p->lease->used = clock_ms();
    while ((w = p->watches)) {
        process_leave(w);
        w->event(w->ctx, event);
    }
    process_free(p);
}

/* Takes m. */
static void ask_runner(const struct client_process *p, struct json *m)
{
    json_set_int(m, "id", p->number);
    if (p->lease->runner)
        runner_process(p->lease->runner, m);
    json_free(m);
}

static void on_time_up(void *ctx)
{
    struct client_process *p = ctx;

    p->late = true;
    process_signal(p, SIGKILL);
}

static struct json *vector_of(const struct json *config)
{
    struct json *words = json_array_of(json_copy(json_get(config, "cmd")));

    for (const struct json *a = json_first(json_get(config, "args")); a; a = json_next(a))
        json_add(words, json_copy(a));
    return words;
}

int process_start(struct lease *h, const struct process_want *want, struct process_watch *w,
                  struct error *err)
{
    autojson struct json *config = want->config;
    struct client_process *p;
    size_t n = 0;

    for (p = h->processes; p; p = p->next)
        n++;
    if (n >= PROCESSES_MOST)
        return error_set(err, ERROR_BUSY, 0, "at most %d processes may run in a sandbox at once",
                         PROCESSES_MOST);
    if (!lease_runner(h->rs, h, err))
        return -1;
    p = xcalloc(1, sizeof *p);
    *p = (struct client_process){.next = h->processes,
                                 .lease = h,
                                 .number = ++h->process_number,
                                 .tag = xstrdup(want->tag),
                                 .hidden = want->hidden,
                                 .open = want->fed,
                                 .config = steal(&config)};
    h->processes = p;
    process_join(p, w);
    if (want->timeout_ms > 0)
        loop_timer(loop_of(p), clock_ms() + want->timeout_ms, on_time_up, p);
    ask_runner(p, json_object_of({"do", json_string("start")}, {"words", vector_of(p->config)},
                                 {"envs", json_copy(json_get(p->config, "envs"))},
                                 {"cwd", json_copy(json_get(p->config, "cwd"))},
                                 {"stdin", json_boolean(want->fed)}));
    return 0;
}

struct client_process *process_find(const struct lease *h, int64_t pid, const char *tag)
{
    struct client_process *p = h->processes;

    while (p && (tag ? !p->tag || strcmp(p->tag, tag) != 0 : !p->pid || p->pid != pid))
        p = p->next;
    return p;
}

void process_join(struct client_process *p, struct process_watch *w)
{
    w->of = p;
    w->next = p->watches;
    p->watches = w;
}

void process_leave(struct process_watch *w)
{
    struct process_watch **at = w->of ? &w->of->watches : NULL;

    if (!at)
        return;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    w->of = NULL;
}

int process_input(struct client_process *p, const char *data, size_t len, struct error *err)
{
    if (!p->open)
        return error_set(err, ERROR_USAGE, 0, "its stdin is closed, or it was started without one");
    if (p->unread + len > PROCESS_UNREAD)
        return error_set(err, ERROR_BUSY, 0, "%zu bytes of its stdin wait to be read; at most %d may",
                         p->unread, PROCESS_UNREAD);
    p->unread += len;
    lease_use(p->lease);
    ask_runner(p, json_object_of({"do", json_string("input")}, {"data", json_string(data)}));
    return 0;
}

void process_close(struct client_process *p)
{
    p->open = false;
    ask_runner(p, json_object_of({"do", json_string("close")}));
}

void process_signal(struct client_process *p, int number)
{
    ask_runner(p, json_object_of({"do", json_string("signal")}, {"number", json_integer(number)}));
}

void process_hold(struct client_process *p, bool hold)
{
    bool was = p->held > 0;

    p->held += hold ? 1 : -1u;
    if (was != (p->held > 0))
        ask_runner(p, json_object_of({"do", json_string("hold")}, {"hold", json_boolean(hold)}));
}

int64_t process_pid(const struct client_process *p)
{
    return p->pid;
}

const char *process_tag(const struct client_process *p)
{
    return p->tag;
}

bool process_hidden(const struct client_process *p)
{
    return p->hidden;
}

const struct json *process_config(const struct client_process *p)
{
    return p->config;
}

void process_each(const struct lease *h, void (*fn)(void *ctx, const struct client_process *p), void *ctx)
{
    for (const struct client_process *p = h->processes; p; p = p->next)
        fn(ctx, p);
}

bool processes_watched(const struct lease *h)
{
    const struct client_process *p = h->processes;

    while (p && !p->watches)
        p = p->next;
    return p != NULL;
}

void processes_hear(struct lease *h, const struct json *said)
{
    int64_t number = json_int(json_get(said, "id"), 0);
    struct client_process *p = h->processes;

    while (p && p->number != number)
        p = p->next;
    if (!p)
        return;
    if (json_get(said, "wrote")) {
        int64_t n = json_int(json_get(said, "wrote"), 0);
        p->unread -= n > 0 && (size_t)n < p->unread ? (size_t)n : p->unread;
        tell_watches(p, said);
    } else if (json_get(said, "status") && p->late) {
        autojson struct json *late = json_copy(said);
        json_set_str(late, "why", "its time was up");
        end_process(p, late);
    } else if (json_get(said, "status") || json_get(said, "error")) {
        end_process(p, said);
    } else {
        p->pid = json_int(json_get(said, "pid"), p->pid);
        tell_watches(p, said);
    }
}

void processes_end(struct lease *h, const char *why)
{
    autojson struct json *event = json_object_of({"error", json_string(why)});

    while (h->processes)
        end_process(h->processes, event);
}
