/* fuzz_clients.c - other people's clients (dify.c, e2b.c, sandboxfusion.c, agentcube.c, librechat.c): a
 * body from the network, and what a runner answers, which holds text from a sandbox. The front and HTTP
 * are stand-ins: this defines what those rooms would. The first byte picks the route, the second what the
 * request names; then parts that end with a NUL: the body, and for each step of the runner's a letter (e
 * event, r result, x error, g the client leaves) and its JSON.
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "front/processes.h"
#include "front/queue.h"
#include "json/json.h"
#include "json/json_schema.h"
#include "operations/operations.h"
#include "clients/client_call.h"
#include "server/private.h"

struct lease {
    const char *id, *outer;
    struct json *facts;
};

static struct lease made = {"made", NULL, NULL}, box = {"box", NULL, NULL}, inner = {"inner", "box", NULL};
static const char *const names[] = {"box", "inner", "gone", ""};

static const struct route *routes[128];
static size_t n_routes;
static char figure[] = "/tmp/fuzz-clients-XXXXXX";

static struct {
    struct http_request q;
    struct json *body;
    const char *text; /* the body as it came */
    size_t len;
    unsigned names; /* which of them each header or part of the path has */
    unsigned answers;
    bool streaming, called, gone;
    struct lease_call *call; /* the one that is under way */
    bool asked;
} now;

/* ---- what http_request.c and daemon.c do ---- */

void server_routes(struct server *s, const struct route *rows, size_t n)
{
    (void)s;
    for (size_t i = 0; i < n; i++)
        routes[n_routes++] = &rows[i];
}

static const char *name_of(const char *what)
{
    return names[now.names >> (strlen(what) & 3) * 2 & 3];
}

const struct json *http_request_body(const struct http_request *q)
{
    (void)q;
    return now.body;
}

struct json *http_request_take_body(struct http_request *q)
{
    (void)q;
    return steal(&now.body);
}

struct runners *http_request_runners(const struct http_request *q)
{
    return (struct runners *)(uintptr_t)q;
}

const char *http_request_client(const struct http_request *q)
{
    (void)q;
    return "client";
}

const char *http_request_header(const struct http_request *q, const char *name)
{
    (void)q;
    return *name_of(name) ? name_of(name) : NULL;
}

const char *http_request_param(const struct http_request *q, const char *name)
{
    (void)q;
    return name_of(name);
}

const char *http_request_query(const struct http_request *q, const char *name)
{
    return http_request_header(q, name);
}

const char *http_request_text(const struct http_request *q, size_t *len)
{
    (void)q;
    *len = now.len;
    return now.text;
}

struct loop *http_request_loop(const struct http_request *q)
{
    return (struct loop *)(uintptr_t)q;
}

void http_request_waits(struct http_request *q, bool waits)
{
    check(q && !waits);
}

void http_request_lose(struct http_request *q)
{
    (void)q;
    check(false); /* no process runs whose output could be too much */
}

void http_request_made(struct http_request *q, const struct lease *h)
{
    (void)q;
    check(h == &made);
}

void http_request_later(struct http_request *q, void (*gone)(void *ctx), void *ctx)
{
    q->gone = gone;
    q->gone_ctx = ctx;
}

static void answered(struct json *body)
{
    check(!now.answers++ && !now.streaming);
    if (body) {
        autofree char *text = json_print(body);
        autojson struct json *again = json_parse(text, strlen(text), JSON_LONG, NULL, NULL);

        check(again != NULL);
    }
    json_free(body);
}

void answer_json(struct http_request *q, int status, struct json *body)
{
    (void)q;
    check(status >= 200 && status < 600);
    answered(body);
}

/* In the form of the client's own errors, where it has one. */
static void fail(const struct route *r, int status, const char *code, const char *detail)
{
    answered(r->failure ? r->failure(r, status, code, detail) : NULL);
}

void answer_error(struct http_request *q, int status, const char *code, const char *fmt, ...)
{
    check(status >= 400 && status < 600 && fmt);
    fail(q->route, status, code, "a detail");
}

void answer_failure(struct http_request *q, const struct error *err)
{
    check(err->kind && err->text[0]);
    fail(q->route, 500, "CODE", err->text);
}

void answer_file(struct http_request *q, const char *path, const char *name)
{
    (void)q;
    check(path && name);
    answered(NULL);
}

void stream_begin(struct http_request *q, int status, const char *type)
{
    check(status == 200 && type && !now.streaming && !now.answers);
    now.streaming = q->streams = true;
}

void stream_line(struct http_request *q, const struct json *json)
{
    autofree char *text = json_print(json);

    check(q->streams && now.streaming && !now.answers && !strchr(text, '\n'));
}

void stream_send(struct http_request *q, const char *data, size_t len)
{
    check(q->streams && now.streaming && !now.answers && (data || !len));
}

bool http_request_streams(const struct http_request *q)
{
    return q->streams;
}

size_t stream_waits(const struct http_request *q)
{
    (void)q;
    return 0;
}

void answer_header(struct http_request *q, const char *name, const char *value)
{
    (void)q;
    check(name && value && !strpbrk(value, "\r\n"));
}

void stream_end(struct http_request *q)
{
    (void)q;
    check(now.streaming && !now.answers++);
}

/* ---- what the front does ---- */

const char *lease_id(const struct lease *h)
{
    return h->id;
}

const char *lease_outer(const struct lease *h)
{
    return h->outer;
}

void lease_use(struct lease *h)
{
    check(h);
}

/* Half of them live: those whose names say so. */
struct runner *lease_living(const struct lease *h)
{
    return now.names & 0x20 ? (struct runner *)(uintptr_t)h : NULL;
}

struct runner *lease_runner(struct runners *rs, struct lease *h, struct error *err)
{
    (void)rs;
    if (!lease_living(h))
        error_set(err, ERROR_SANDBOX, 0, "it cannot be started");
    return lease_living(h);
}

const struct json *runner_facts(const struct runner *r)
{
    check(r);
    return NULL;
}

int64_t lease_created(const struct lease *h)
{
    check(h);
    return 1;
}

int64_t lease_until(const struct lease *h)
{
    check(h);
    return 2;
}

void lease_set_until(struct lease *h, int64_t until)
{
    check(h && until >= 0);
}

bool lease_pause(struct lease *h)
{
    return lease_living(h);
}

bool lease_paused(const struct lease *h)
{
    return !lease_living(h);
}

const struct json *lease_facts(const struct lease *h)
{
    return h->facts;
}

bool lease_set_facts(struct lease *h, struct json *facts)
{
    json_free(h->facts);
    h->facts = facts;
    return true;
}

struct lease *runners_find(struct runners *rs, const char *client, const char *id, enum runners_absent *why)
{
    (void)rs;
    (void)client;
    if (!strcmp(id, box.id))
        return &box;
    if (!strcmp(id, inner.id))
        return &inner;
    if (why)
        *why = !strcmp(id, "gone") ? RUNNERS_EXPIRED : RUNNERS_UNKNOWN;
    return NULL;
}

void runners_each(struct runners *rs, const char *client, void (*fn)(void *ctx, struct lease *h), void *ctx)
{
    (void)rs;
    (void)client;
    fn(ctx, &box);
    fn(ctx, &inner);
}

void lease_call_begin(struct lease_call *c, struct runners *rs, const char *client, const struct lease *h)
{
    *c = (struct lease_call){.runners = rs, .client = client};
    snprintf(c->sandbox, sizeof c->sandbox, "%s", h->id);
}

int lease_call_ask(struct lease_call *c, const char *operation, const struct json *arguments,
                   const struct runner_listener *l, struct error *err)
{
    const struct operation *o = operation_find(operation);

    check(o && !now.call && !now.answers);
    if (operation_check(o, arguments, err) < 0)
        return -1;
    c->listener = *l;
    now.call = c;
    return 0;
}

int lease_call_make(struct lease_call *c, struct runners *rs, const struct queue_want *w, struct error *err)
{
    check(!w->outer || w->outer == &box || w->outer == &inner);
    c->runners = rs;
    c->client = w->client;
    if (!(now.names & 0x40))
        return error_set(err, ERROR_BUSY, 0, "too many sandboxes");
    snprintf(c->sandbox, sizeof c->sandbox, "%s", made.id);
    if (c->given)
        c->given(c->given_ctx, &made, true);
    return 0;
}

struct lease *lease_call_sandbox(const struct lease_call *c)
{
    return !strcmp(c->sandbox, made.id) ? &made : !strcmp(c->sandbox, box.id) ? &box : &inner;
}

void lease_call_leave(struct lease_call *c)
{
    check(!now.call || now.call == c);
    now.call = NULL;
}

void lease_call_end(const struct lease_call *c)
{
    check(c->sandbox[0] && !now.answers);
}

/* ---- processes: none can be started, so none is found ---- */

int process_start(struct lease *h, const struct process_want *want, struct process_watch *w,
                  struct error *err)
{
    check(h && !w->of);
    json_free(want->config);
    return error_set(err, ERROR_BUSY, 0, "too many processes");
}

struct client_process *process_find(const struct lease *h, int64_t pid, const char *tag)
{
    (void)pid;
    (void)tag;
    check(h);
    return NULL;
}

void process_each(const struct lease *h, void (*fn)(void *ctx, const struct client_process *p), void *ctx)
{
    (void)ctx;
    check(h && fn);
}

void process_leave(struct process_watch *w)
{
    check(!w->of);
}

/* Nothing asks for these, as there is no process. */
void process_join(struct client_process *p, struct process_watch *w)
{
    check(!p && !w);
}

int process_input(struct client_process *p, const char *data, size_t len, struct error *err)
{
    check(!p && !data && !len && !err);
    return -1;
}

void process_close(struct client_process *p)
{
    check(!p);
}

void process_signal(struct client_process *p, int number)
{
    check(!p && !number);
}

void process_hold(struct client_process *p, bool hold)
{
    check(!p && !hold);
}

int64_t process_pid(const struct client_process *p)
{
    check(!p);
    return 0;
}

const char *process_tag(const struct client_process *p)
{
    check(!p);
    return NULL;
}

bool process_hidden(const struct client_process *p)
{
    check(!p);
    return false;
}

const struct json *process_config(const struct client_process *p)
{
    check(!p);
    return NULL;
}

/* ---- one request ---- */

/* No file of this machine but ours is read: a path in a result is one that the runner has made. */
static void own_paths(struct json *result)
{
    for (const struct json *f = json_first(json_get(result, "files")); f; f = json_next(f))
        if (json_get(f, "path"))
            json_set_str((struct json *)(uintptr_t)f, "path", figure);
    if (json_get(result, "path"))
        json_set_str(result, "path", figure);
}

static void fail_step(void)
{
    struct error err = {0};
    struct lease_call *c = steal(&now.call);

    error_set(&err, ERROR_SANDBOX, 0, "the sandbox was lost");
    c->listener.done(c->listener.ctx, NULL, &err);
}

static void step(const char *text, size_t len)
{
    autojson struct json *json = len ? json_parse(text + 1, len - 1, 0, NULL, NULL) : NULL;
    struct lease_call *c = now.call;

    if (len && *text == 'e' && c->listener.event) {
        if (json_type(json) == JSON_OBJECT)
            c->listener.event(c->listener.ctx, json);
    } else if (len && *text == 'g') {
        now.call = NULL;
        now.gone = true;
        now.q.gone(now.q.gone_ctx);
    } else if (len && *text == 'r' && json_type(json) == JSON_OBJECT) {
        own_paths(json);
        now.call = NULL;
        c->listener.done(c->listener.ctx, json, NULL);
    } else {
        fail_step();
    }
}

static void serve(const struct route *r, const char *text, size_t size)
{
    size_t len = strnlen(text, size);
    autojson struct json *schema = r->body ? json_parse(r->body, strlen(r->body), 0, NULL, NULL) : NULL;

    check(!r->body || schema);
    now.body = json_parse(text, len, 0, NULL, NULL);
    now.text = text;
    now.len = len;
    now.q.route = r;
    if (!r->body || schema_check(schema, now.body, "", NULL) == 0) {
        r->handle(&now.q);
        for (size_t at = len + 1; now.call; at += len + 1) {
            len = at < size ? strnlen(text + at, size - at) : 0;
            step(text + (at < size ? at : 0), len);
        }
        check(now.gone ? now.answers == 0 : now.answers == 1);
    }
    json_free(steal(&now.body));
    for (struct lease *const *h = (struct lease *const[]){&made, &box, &inner, NULL}; *h; h++)
        json_free(steal(&(*h)->facts));
}

static void remove_figure(void)
{
    unlink(figure);
}

static void prepare(void)
{
    int fd = mkstemp(figure);

    check(fd >= 0 && write(fd, "\x89PNG\r\n\x1a\n", 8) == 8);
    close(fd);
    atexit(remove_figure);
    dify_routes(NULL);
    e2b_routes(NULL);
    fusion_routes(NULL);
    agentcube_routes(NULL);
    librechat_routes(NULL);
    check(n_routes > 10 && n_routes < 128);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!n_routes)
        prepare();
    if (size < 2)
        return 0;
    char *text = fuzz_exact(data + 2, size - 2);

    memset(&now, 0, sizeof now);
    now.names = data[1];
    serve(routes[data[0] % n_routes], text, size - 2);
    free(text);
    return 0;
}
