/* foreign.c - reads foreign.json into routes, and answers their requests from its templates. */
#include "server/foreign.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/embed.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/template.h"
#include "operations/operations.h"
#include "front/runners.h"
#include "server/routes.h"

EMBED(foreign_json, "src/serve/server/foreign.json")

#define FILE_MAX (8u << 20)  /* that goes into JSON */
#define KEPT_MAX (64u << 20) /* bytes of JSON that all steps of one request keep */

struct foreign { /* a row of the data */
    struct route route;
    const struct json *row, *api;
};

struct foreign_call { /* one request on its way through the steps of its row */
    struct visit *q;
    const struct foreign *f;
    struct json *scope, *steps; /* steps: $steps, a part of scope */
    char id[RUNNERS_ID + 1];    /* of the sandbox; "": none */
    char outer[RUNNERS_ID + 1]; /* within which it is; its own, if it is in none */
    bool once;
    bool streams;
    const struct json *step; /* the one under way, and what is left of it: */
    struct json *arguments;  /* a list, each for one request */
    size_t next;
    struct json *kept;
    size_t kept_bytes;    /* of all steps */
    struct runner *asked; /* with request number */
    uint64_t number;
};

/* Gives {"$file": PATH} the file's bytes in base64; null if it cannot be read or is too large. */
static struct json *file_content(void *ctx, const struct json *path)
{
    struct buf bytes autorelease(buf_release) = BUF_INIT(FILE_MAX),
                     text autorelease(buf_release) = BUF_INIT(0);
    autoclose int fd = open(json_text(path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    (void)ctx;
    if (fd < 0 || file_read_open(fd, json_text(path), FILE_MAX, &bytes, NULL) < 0)
        return NULL;
    base64_add(&text, (const unsigned char *)buf_str(&bytes), bytes.len);
    return json_string_n(buf_str(&text), text.len);
}

static struct json *filled(const struct foreign_call *c, const struct json *template)
{
    static const struct template_word words[] = {{"$file", file_content}, {0}};

    return template_fill(template, c->scope, &(struct template_words){words, NULL});
}

static struct json *failure(const struct route *r, int status, const char *code, const char *detail)
{
    const struct foreign *f = r->data;
    autojson struct json *scope = json_object_of(
        {"status", json_integer(status)}, {"code", json_string(code)}, {"detail", json_string(detail)});

    return template_fill(json_get(f->api, "failure"), scope, NULL);
}

static struct lease *sandbox_of(const struct foreign_call *c)
{
    return *c->id ? runners_find(visit_runners(c->q), visit_client(c->q), c->id, NULL) : NULL;
}

static void call_free(struct foreign_call *c)
{
    json_free(c->scope);
    json_free(c->arguments);
    json_free(c->kept);
    free(c);
}

static void end_sandbox(struct foreign_call *c)
{
    struct lease *h = sandbox_of(c);

    if (h)
        runners_stop(visit_runners(c->q), h);
}

/* End the sandbox before the answer is given, since the request must not be touched after that. */
static void finish_sandbox(struct foreign_call *c)
{
    if (c->once || json_bool(json_get(c->f->row, "ends"), false))
        end_sandbox(c);
}

static void client_gone(void *ctx)
{
    struct foreign_call *c = ctx;

    if (c->number)
        runner_forget(c->asked, c->number);
    if (c->once)
        end_sandbox(c);
    call_free(c);
}

static void begin_stream(struct foreign_call *c)
{
    if (!c->streams)
        stream_begin(c->q, 200, "application/x-ndjson");
    c->streams = true;
}

static void answer(struct foreign_call *c)
{
    const struct json *row = c->f->row, *body = json_get(row, "answer"), *file = json_get(row, "file");

    finish_sandbox(c);
    if (json_get(row, "lines")) {
        autojson struct json *lines = filled(c, json_get(row, "lines"));
        begin_stream(c);
        for (const struct json *line = json_first(lines); line; line = json_next(line))
            stream_line(c->q, line);
        stream_end(c->q);
    } else if (file) {
        autojson struct json *where = filled(c, file);
        answer_file(c->q, json_text(json_get(where, "path")), json_text(json_get(where, "name")));
    } else {
        answer_json(c->q, (int)json_int(json_get(row, "status"), 200), body ? filled(c, body) : NULL);
    }
    call_free(c);
}

static void fail(struct foreign_call *c, const struct error *err)
{
    if (c->once)
        end_sandbox(c);
    if (c->streams) {
        json_set_str(c->scope, "detail", err->text);
        autojson struct json *line = filled(c, json_get(c->f->row, "broken"));
        stream_line(c->q, line);
        stream_end(c->q);
    } else {
        answer_failure(c->q, err);
    }
    call_free(c);
}

static void proceed(struct foreign_call *c);

static void set_now(struct foreign_call *c)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    json_set_int(c->scope, "now_ns", (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
}

static void on_event(void *ctx, const struct json *event)
{
    struct foreign_call *c = ctx;
    const struct json *template = json_get(json_get(c->f->row, "events"),
                                           json_text(json_get(event, "event")));

    if (!template)
        return;
    set_now(c);
    json_set(c->scope, "event", json_copy(event));
    autojson struct json *line = filled(c, template);
    begin_stream(c);
    stream_line(c->q, line);
}

/* Keep the result, or what the row's template makes of it. -1 with err: it is too much. */
static int keep(struct foreign_call *c, const struct json *result, struct error *err)
{
    const struct json *template = json_get(c->step, "result"),
                      *arguments = json_at(c->arguments, c->next - 1);

    json_set(c->scope, "result", json_copy(result));
    json_set(c->scope, "arguments", json_copy(arguments));
    autojson struct json *kept = template ? filled(c, template) : json_copy(result);
    autofree char *text = json_print(kept);
    c->kept_bytes += strlen(text);
    if (c->kept_bytes > KEPT_MAX)
        return error_set(err, ERROR_LIMIT, 0, "the answer is larger than %u MiB\nask for less at once",
                         KEPT_MAX >> 20);
    if (json_type(c->kept) == JSON_ARRAY) {
        json_add(c->kept, steal(&kept));
    } else {
        json_free(c->kept);
        c->kept = steal(&kept);
    }
    return 0;
}

static void on_done(void *ctx, const struct json *result, const struct error *err)
{
    struct foreign_call *c = ctx;
    struct error too_much;

    c->number = 0;
    if (err && !json_bool(json_get(c->step, "may_fail"), false))
        fail(c, err);
    else if (result && keep(c, result, &too_much) < 0)
        fail(c, &too_much);
    else
        proceed(c);
}

static void ask(struct foreign_call *c)
{
    const char *name = json_text(json_get(c->step, "do"));
    const struct json *arguments = json_at(c->arguments, c->next++);
    struct lease *h = sandbox_of(c);
    const struct runner_listener l = {
        .ctx = c, .event = json_get(c->f->row, "events") ? on_event : NULL, .done = on_done};
    struct error err = {0};

    if (!h)
        error_set(&err, ERROR_SANDBOX, 0, "the sandbox was ended meanwhile");
    else if (operation_check(operation_find(name), arguments, &err) == 0)
        c->asked = lease_runner(visit_runners(c->q), h, &err);
    if (err.kind == ERROR_NONE)
        c->number = runner_ask(c->asked, name, arguments, -1, &l);
    else
        fail(c, &err);
}

/* The arguments of each request that the step makes: with "each", one for each element. */
static struct json *arguments_of(const struct foreign_call *c, const struct json *step)
{
    const struct json *each = json_get(step, "each");
    autojson struct json *template = each ? json_object() : json_array();
    struct json *parts = each ? json_array() : template;

    if (each) {
        json_add(parts, json_copy(each));
        json_set(template, "$each", parts);
    }
    json_add(parts, json_copy(json_get(step, "arguments")));
    return filled(c, template);
}

static bool is_wanted(const struct foreign_call *c, const struct json *step)
{
    autojson struct json *when = filled(c, json_get(step, "when"));

    return !json_get(step, "when") || json_truthy(when);
}

/* Go to the next step whose condition holds. False: there is none. */
static bool next_step(struct foreign_call *c)
{
    const char *name = json_str(json_get(c->step, "keep"));

    if (name)
        json_set(c->steps, name, steal(&c->kept));
    json_free(steal(&c->kept));
    c->step = c->step ? json_next(c->step) : json_first(json_get(c->f->row, "steps"));
    while (c->step && !is_wanted(c, c->step))
        c->step = json_next(c->step);
    if (!c->step)
        return false;
    json_free(c->arguments);
    c->arguments = arguments_of(c, c->step);
    c->next = 0;
    c->kept = json_get(c->step, "each") ? json_array() : json_null();
    return true;
}

static void proceed(struct foreign_call *c)
{
    while (!c->step || c->next == json_size(c->arguments))
        if (!next_step(c)) {
            answer(c);
            return;
        }
    ask(c);
}

static bool is_or_is_within(const struct lease *h, const char *outer)
{
    const char *within = lease_within(h);

    return !strcmp(lease_id(h), outer) || (within && !strcmp(within, outer));
}

/* The sandbox of that id. NULL: there is none, and the client has been told. */
static struct lease *find_told(const struct foreign_call *c, const char *id)
{
    static const char *const absent[] = {
        [RUNNERS_UNKNOWN] = "there is no such sandbox",
        [RUNNERS_EXPIRED] = "the sandbox has expired: nobody used it for too long",
        [RUNNERS_STOPPED] = "the sandbox was ended",
    };
    enum runners_absent why = RUNNERS_UNKNOWN;
    struct lease *h = runners_find(visit_runners(c->q), visit_client(c->q), id, &why);

    if (h && *c->outer && !is_or_is_within(h, c->outer)) {
        h = NULL;
        why = RUNNERS_UNKNOWN;
    }
    if (!h)
        answer_error(c->q, why == RUNNERS_EXPIRED ? (int)json_int(json_get(c->f->api, "gone"), 410) : 404,
                     why == RUNNERS_EXPIRED ? "SANDBOX_EXPIRED" : NULL, "%s", absent[why]);
    return h;
}

/* A new sandbox, within outer unless that is NULL. NULL: there can be no more, and the client has been
 * told. */
static struct lease *make_told(const struct foreign_call *c, struct lease *outer)
{
    struct runners *rs = visit_runners(c->q);
    struct error err = {0};
    struct lease *h = outer ? runners_create_within(rs, visit_client(c->q), outer, &err)
                            : runners_create(rs, visit_client(c->q), NULL, &err);

    if (h)
        visit_made(c->q, h);
    else
        answer_failure(c->q, &err);
    return h;
}

/* The id that a template gives; "", which is nobody's, if it gives no text or one that is too long. */
static void fill_id(const struct foreign_call *c, const struct json *template, char id[RUNNERS_ID + 1])
{
    autojson struct json *value = template ? filled(c, template) : NULL;

    if (strlen(json_text(value)) <= RUNNERS_ID)
        snprintf(id, RUNNERS_ID + 1, "%s", json_text(value));
    else
        *id = 0;
}

struct ids_within {
    const char *outer;
    struct json *ids;
};

static void add_if_within(void *ctx, struct lease *h)
{
    struct ids_within *w = ctx;
    const char *within = lease_within(h);

    if (within && !strcmp(within, w->outer))
        json_add(w->ids, json_string(lease_id(h)));
}

/* Which sandbox the row works in. False: there is none, and the client has been told. */
static bool choose_sandbox(struct foreign_call *c)
{
    const struct json *how = json_get(c->f->row, "sandbox"), *within = json_get(c->f->row, "within");
    const char *word = json_text(how);
    struct lease *h, *outer = NULL;
    struct ids_within inner = {.outer = c->outer, .ids = json_array()};

    json_set(c->scope, "within", inner.ids);
    if (!how)
        return true;
    fill_id(c, within, c->outer);
    if (within && !(outer = find_told(c, c->outer)))
        return false;
    c->once = !strcmp(word, "once");
    if (c->once || !strcmp(word, "new")) {
        h = make_told(c, outer);
    } else {
        char id[RUNNERS_ID + 1];
        fill_id(c, how, id);
        h = find_told(c, id);
    }
    if (!h)
        return false;
    snprintf(c->id, sizeof c->id, "%s", lease_id(h));
    json_set_str(c->scope, "sandbox", c->id);
    if (!*c->outer)
        memcpy(c->outer, c->id, sizeof c->outer);
    lease_use(h);
    runners_each(visit_runners(c->q), visit_client(c->q), add_if_within, &inner);
    return true;
}

/* The parts in braces of the route's path, and the headers and the query that templates may name. */
static struct json *parts_of_path(const struct foreign_call *c)
{
    struct json *path = json_object();

    for (const char *p = c->f->route.path; (p = strchr(p, '{')); p++) {
        autofree char *name = xmemdup0(p + 1, strcspn(p + 1, ".}"));
        json_set_str(path, name, visit_param(c->q, name));
    }
    return path;
}

static void make_scope(struct foreign_call *c)
{
    struct json *headers = json_object();

    c->scope = json_object();
    for (const struct json *h = json_first(json_get(c->f->api, "headers")); h; h = json_next(h))
        if (visit_header(c->q, json_text(h)))
            json_set_str(headers, json_text(h), visit_header(c->q, json_text(h)));
    json_set(c->scope, "header", headers);
    json_set(c->scope, "path", parts_of_path(c));
    struct json *body = visit_take_body(c->q);
    json_set(c->scope, "body", body ? body : json_null());
    json_set(c->scope, "steps", c->steps = json_object());
}

/* The fixed answer that the row has for a request like this one; NULL: it is to be carried out. */
static struct json *answer_instead(const struct foreign_call *c)
{
    const struct json *rules = json_get(c->f->row, "instead");

    for (const struct json *rule = json_first(rules); rule; rule = json_next(rule)) {
        autojson struct json *applies = filled(c, json_at(rule, 0));
        if (json_truthy(applies))
            return filled(c, json_at(rule, 1));
    }
    return NULL;
}

static void handle(struct visit *q)
{
    struct foreign_call *c = xcalloc(1, sizeof *c);
    struct json *instead;

    c->q = q;
    c->f = visit_route(q)->data;
    make_scope(c);
    if ((instead = answer_instead(c))) {
        answer_json(q, 200, instead);
        call_free(c);
    } else if (choose_sandbox(c)) {
        visit_later(q, client_gone, c);
        proceed(c);
    } else {
        call_free(c);
    }
}

static void read_route(struct foreign *f, const struct json *api, const struct json *row)
{
    const char *route = json_text(json_get(row, "route")), *space = strchr(route, ' ');

    assert(space);
    *f = (struct foreign){.row = row, .api = api};
    f->route = (struct route){
        .method = xmemdup0(route, (size_t)(space - route)),
        .path = space + 1,
        .operation = json_str(json_get(row, "operation")),
        .summary = json_str(json_get(row, "summary")),
        .body = json_get(row, "body") ? json_print(json_get(row, "body")) : NULL,
        .handle = handle,
        .flags = ROUTE_HIDDEN | (json_bool(json_get(api, "basic"), false) ? ROUTE_BASIC : 0),
        .failure = failure,
    };
}

void foreign_routes(struct server *s)
{
    /* Made once and kept: the server borrows them. */
    static struct foreign rows[64];
    static struct route routes[countof(rows)];
    static size_t n;
    static struct json *data;

    if (!data)
        data = json_parse(foreign_json, EMBED_SIZE(foreign_json), 0, NULL, NULL);
    assert(data);
    for (const struct json *api = n ? NULL : json_first(data); api; api = json_next(api))
        for (const struct json *row = json_first(json_get(api, "routes")); row; row = json_next(row)) {
            assert(n < countof(rows));
            read_route(&rows[n], api, row);
            routes[n] = rows[n].route;
            routes[n].data = &rows[n];
            n++;
        }
    server_routes(s, routes, n);
}
