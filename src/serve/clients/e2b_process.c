/* e2b_process.c - E2B's SDK: commands. Each is a process beside the interpreter (front/processes.h): started,
 * fed and signalled while it runs, watched by any number of clients, and not by the client that has left.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "front/processes.h"
#include "process/loop.h"
#include "clients/e2b.h"
#include "clients/e2b_flow.h"
#include "clients/rpc.h"

#define ALIVE_MS  30000        /* a stream says that it is alive, and its sandbox is in use */
#define START_MAX (256u << 10) /* bytes of a command, which is kept while it runs */

struct watcher { /* a request whose answer is what a process does */
    struct http_request *q;
    struct process_watch watch;
    struct throttle flow;
};

/* ---- which sandbox, which process ---- */

/* The process that a message names. NULL: there is none. */
static struct client_process *find_process(const struct lease *h, const struct json *message)
{
    const struct json *selector = json_get(message, "process");

    return h ? process_find(h, json_int(json_get(selector, "pid"), 0), json_str(json_get(selector, "tag")))
             : NULL;
}

/* The same for a unary call. NULL: the client has been told. */
static struct client_process *process_of(struct http_request *q, const struct json *message)
{
    const struct lease *h = e2b_box(q);
    struct client_process *p = find_process(h, message);

    if (!h)
        answer_error(q, 502, NULL, "%s", E2B_GONE);
    else if (!p)
        answer_error(q, 404, NULL, "there is no such process: it has ended, or never was");
    return p;
}

/* ---- streams: a process is started, or watched ---- */

static void watcher_free(struct watcher *w)
{
    loop_timer_stop(http_request_loop(w->q), w);
    throttle_end(&w->flow);
    process_leave(&w->watch);
    free(w);
}

static void on_watcher_gone(void *ctx)
{
    watcher_free(ctx);
}

static void on_alive(void *ctx)
{
    struct watcher *w = ctx;

    rpc_send(w->q, json_object_of({"event", json_object_of({"keepalive", json_object()})}));
    loop_timer(http_request_loop(w->q), clock_ms() + ALIVE_MS, on_alive, w);
}

static struct json *end_event(const struct json *event)
{
    int status = (int)json_int(json_get(event, "status"), 0);
    const char *why = json_str(json_get(event, "why"));
    bool exited = WIFEXITED(status);
    autofree char *signalled = exited ? NULL : xasprintf("signal: %s", strsignal(WTERMSIG(status)));

    if (!why)
        why = signalled;
    return json_object_of({"exitCode", json_integer(exited ? WEXITSTATUS(status) : -1)},
                          {"exited", json_boolean(exited)}, {"status", json_string(why ? why : "exited")},
                          {"error", why ? json_string(why) : NULL});
}

static void on_process_event(void *ctx, const struct json *event)
{
    struct watcher *w = ctx;
    const struct json *pid = json_get(event, "pid"), *stream = json_get(event, "stream"),
                      *error = json_get(event, "error");
    struct http_request *q = w->q;
    struct json *told;

    if (json_get(event, "wrote"))
        return;
    if (pid)
        told = json_object_of({"start", json_object_of({"pid", json_copy(pid)})});
    else if (stream)
        told = json_object_of(
            {"data", json_object_of({json_text(stream), json_copy(json_get(event, "data"))})});
    else
        told = error ? NULL : json_object_of({"end", end_event(event)});
    if (told)
        rpc_send(q, json_object_of({"event", told}));
    if (stream && !w->flow.slow)
        throttle_look(&w->flow);
    if (pid || stream)
        return;
    watcher_free(w);
    rpc_end(q, error ? "unavailable" : NULL, error ? json_text(error) : NULL);
}

static struct watcher *watcher_new(struct http_request *q)
{
    struct watcher *w = xcalloc(1, sizeof *w);

    w->q = q;
    w->watch.event = on_process_event;
    w->watch.ctx = w;
    w->flow = (struct throttle){.q = q, .watch = &w->watch};
    http_request_later(q, on_watcher_gone, w);
    loop_timer(http_request_loop(q), clock_ms() + ALIVE_MS, on_alive, w);
    return w;
}

/* What is asked for and cannot be had. NULL: nothing. The caller frees it. */
static char *cannot_start(const struct http_request *q, const struct json *message)
{
    const struct json *config = json_get(message, "process");
    autofree char *text = json_print(message);

    if (strlen(text) > START_MAX)
        return xasprintf("a command, its arguments and its environment must have at most %u KiB together",
                         START_MAX >> 10);
    if (json_truthy(json_get(message, "pty")))
        return xstrdup("there are no pseudo-terminals here: run the command without one");
    if (!*json_text(json_get(config, "cmd")))
        return xstrdup("process: must have a command");
    for (const struct json *e = json_first(json_get(config, "envs")); e; e = json_next(e))
        if (!*json_key(e) || strchr(json_key(e), '=') || !json_str(e))
            return xstrdup("envs: must be texts, and a name must have no = in it");
    for (const struct json *a = json_first(json_get(config, "args")); a; a = json_next(a))
        if (!json_str(a))
            return xstrdup("args: must be texts");
    return e2b_other_user(q);
}

/* The environment of the sandbox, and above it that of the process; its folder is /mnt/data if none is
 * named. */
static struct json *process_config_of(const struct lease *h, const struct json *message)
{
    struct json *config = json_copy(json_get(message, "process")), *envs = json_object();
    autofree char *cwd = e2b_path(json_text(json_get(config, "cwd")));

    if (json_type(json_get(lease_facts(h), "envs")) == JSON_OBJECT)
        json_copy_all(envs, json_get(lease_facts(h), "envs"));
    if (json_type(json_get(config, "envs")) == JSON_OBJECT)
        json_copy_all(envs, json_get(config, "envs"));
    json_set(config, "envs", envs);
    json_set_str(config, "cwd", cwd);
    return config;
}

static const char *rpc_code_of(const struct error *err)
{
    return err->kind == ERROR_BUSY ? "resource_exhausted" : "unavailable";
}

static void begin_process(struct http_request *q)
{
    autojson struct json *message = rpc_first(q);
    struct lease *h = e2b_box(q);
    struct error err;

    if (!message)
        return;
    autofree char *why = cannot_start(q, message);
    if (why || !h) {
        rpc_end(q, why ? "invalid_argument" : "unavailable", why ? why : E2B_GONE);
        return;
    }
    const struct process_want want = {.config = process_config_of(h, message),
                                      .tag = json_str(json_get(message, "tag")),
                                      .fed = json_bool(json_get(message, "stdin"), false),
                                      .timeout_ms = rpc_timeout_ms(q)};
    struct watcher *w = watcher_new(q);
    if (process_start(h, &want, &w->watch, &err) == 0)
        return;
    http_request_later(q, NULL, NULL);
    watcher_free(w);
    rpc_end(q, rpc_code_of(&err), err.text);
}

static void connect_process(struct http_request *q)
{
    autojson struct json *message = rpc_first(q);
    const struct lease *h = e2b_box(q);
    struct client_process *p = message ? find_process(h, message) : NULL;

    if (!message)
        return;
    if (!p) {
        rpc_end(q, h ? "not_found" : "unavailable",
                h ? "there is no such process: it has ended, or never was" : E2B_GONE);
        return;
    }
    struct watcher *w = watcher_new(q);
    process_join(p, &w->watch);
    rpc_send(
        q, json_object_of(
               {"event", json_object_of({"start", json_object_of({"pid", json_integer(process_pid(p))})})}));
}

/* ---- unary calls ---- */

static void add_process(void *ctx, const struct client_process *p)
{
    if (process_pid(p) && !process_hidden(p))
        json_add(ctx, json_object_of({"config", json_copy(process_config(p))},
                                     {"pid", json_integer(process_pid(p))},
                                     {"tag", process_tag(p) ? json_string(process_tag(p)) : NULL}));
}

static void list_processes(struct http_request *q)
{
    const struct lease *h = e2b_box(q);
    struct json *list = json_array();

    if (h)
        process_each(h, add_process, list);
    answer_json(q, 200, json_object_of({"processes", list}));
}

/* input: of a message, {"stdin": base64}. -1: it cannot be taken, with the status for the answer in
 * err->code. */
static int feed_process(struct client_process *p, const struct json *input, struct error *err)
{
    const char *data = json_str(json_get(input, "stdin"));
    struct buf bytes autorelease(buf_release) = BUF_INIT(PROCESS_UNREAD);

    if (!data)
        return error_set(err, ERROR_USAGE, 400,
                         json_get(input, "pty") ? "there are no pseudo-terminals here" : "stdin: is missing");
    if (base64_read(data, strlen(data), &bytes) < 0)
        return error_set(err, ERROR_USAGE, 400, "stdin: must be base64, of at most 1 MiB");
    if (process_input(p, data, bytes.len, err) < 0) {
        err->code = err->kind == ERROR_BUSY ? 429 : 400;
        return -1;
    }
    return 0;
}

static void send_input(struct http_request *q)
{
    const struct json *message = http_request_body(q);
    struct client_process *p = process_of(q, message);
    struct error err;

    if (!p)
        return;
    if (feed_process(p, json_get(message, "input"), &err) < 0)
        answer_error(q, err.code, NULL, "%s", err.text);
    else
        answer_json(q, 200, json_object());
}

static void send_signal(struct http_request *q)
{
    const struct json *name = json_get(http_request_body(q), "signal");
    struct client_process *p = process_of(q, http_request_body(q));
    bool term = !strcmp(json_text(name), "SIGNAL_SIGTERM") || json_int(name, 0) == SIGTERM,
         killed = !strcmp(json_text(name), "SIGNAL_SIGKILL") || json_int(name, 0) == SIGKILL;

    if (!p)
        return;
    if (!term && !killed) {
        answer_error(q, 400, NULL, "signal: must be SIGNAL_SIGTERM or SIGNAL_SIGKILL");
        return;
    }
    process_signal(p, term ? SIGTERM : SIGKILL);
    answer_json(q, 200, json_object());
}

static void close_stdin(struct http_request *q)
{
    struct client_process *p = process_of(q, http_request_body(q));

    if (!p)
        return;
    process_close(p);
    answer_json(q, 200, json_object());
}

/* Its messages: which process, then what it is fed. */
static void stream_input(struct http_request *q)
{
    struct rpc_reader r;
    struct error err = {0};
    struct client_process *p = NULL;

    r.at = http_request_text(q, &r.left);
    for (struct json *m; !err.kind && (m = rpc_next(&r, &err)); json_free(m)) {
        const struct json *start = json_get(m, "start"), *data = json_get(m, "data");

        if (start)
            p = find_process(e2b_box(q), start);
        if (!p)
            error_set(&err, ERROR_USAGE, 404, "there is no such process: it has ended, or never was");
        else if (data)
            (void)feed_process(p, json_get(data, "input"), &err);
    }
    if (!err.kind)
        rpc_send(q, json_object());
    rpc_end(q,
            !err.kind         ? NULL
            : err.code == 404 ? "not_found"
            : err.code == 429 ? "resource_exhausted"
                              : "invalid_argument",
            err.text);
}

static void no_terminal(struct http_request *q)
{
    answer_error(q, 400, NULL, "there are no pseudo-terminals here: run the command without one");
}

static const char any_body[] = "{\"type\":\"object\"}";

#define PROCESS "/process.Process/"

static const struct route rows[] = {
    {"POST", PROCESS "Start", "e2b_start", "Start a process and watch it", .handle = begin_process,
     RPC_STREAM},
    {"POST", PROCESS "Connect", "e2b_watch", "Watch a process", .handle = connect_process, RPC_STREAM},
    {"POST", PROCESS "StreamInput", "e2b_stream_input", "Feed a process", .handle = stream_input, RPC_STREAM},
    {"POST", PROCESS "List", "e2b_processes", "The processes", .body = any_body, .handle = list_processes,
     RPC_UNARY},
    {"POST", PROCESS "SendInput", "e2b_input", "Feed a process", .body = any_body, .handle = send_input,
     RPC_UNARY},
    {"POST", PROCESS "SendSignal", "e2b_signal", "Signal a process", .body = any_body, .handle = send_signal,
     RPC_UNARY},
    {"POST", PROCESS "CloseStdin", "e2b_close", "End its stdin", .body = any_body, .handle = close_stdin,
     RPC_UNARY},
    {"POST", PROCESS "Update", "e2b_resize", "Refused", .body = any_body, .handle = no_terminal, RPC_UNARY},
};

void e2b_process_routes(struct server *s)
{
    server_routes(s, rows, countof(rows));
}
