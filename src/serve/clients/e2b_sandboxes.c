/* e2b_sandboxes.c - E2B's SDK: sandboxes are made, listed, found again and ended, and end by themselves at
 * the time that the client sets. What its API has and we have not (templates, networks, volumes, secrets) is
 * refused with a sentence, which the SDK shows.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/percent.h"
#include "front/processes.h"
#include "clients/e2b.h"

#define ENVD_VERSION "0.6.1" /* of the part inside the sandbox; tells the SDK what it may ask for */
#define TIMEOUT_MOST 86400   /* seconds */
#define PAGE         100

static const char create_body[] =
    "{\"type\":\"object\",\"properties\":{\"templateID\":{\"type\":\"string\"},"
    "\"timeout\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":86400},"
    "\"metadata\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},"
    "\"envVars\":{\"type\":\"object\",\"propertyNames\":{\"pattern\":\"^[^=]+$\"},"
    "\"additionalProperties\":{\"type\":\"string\"}}}}";

static const char fork_body[] =
    "{\"type\":\"object\",\"properties\":{\"timeout\":{\"type\":\"integer\",\"minimum\":0,"
    "\"maximum\":86400},\"count\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":20}}}";

static const char timeout_body[] =
    "{\"type\":\"object\",\"properties\":{\"timeout\":{\"type\":\"integer\",\"minimum\":0,"
    "\"maximum\":86400}}}";

/* ---- what is known of one ---- */

static struct lease *box_of(const struct http_request *q, const char *id)
{
    return runners_find(http_request_runners(q), http_request_client(q), id, NULL);
}

const struct json *e2b_facts(const struct http_request *q)
{
    const struct lease *h = box_of(q, e2b_sandbox(q));

    return h ? lease_facts(h) : NULL;
}

void e2b_step_envs(struct client_call *c, const struct json *facts)
{
    const struct json *envs = json_get(facts, "envs");

    if (json_size(envs) == 0)
        return;
    autofree char *values = json_print(envs), /* which Python reads as its own */
        *code = xasprintf("__import__('os').environ.update(%s)", values);
    client_step(c, "run_code", json_object_of({"code", json_string(code)}));
}

static struct json *time_of(int64_t at)
{
    time_t t = (time_t)at;
    char text[32] = "";
    struct tm tm;

    if (gmtime_r(&t, &tm))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return json_string(text);
}

static struct json *template_of(const struct json *facts)
{
    const char *template = json_str(json_get(facts, "template"));

    return json_string(template ? template : "sandpiper");
}

#define NO_NETWORK "these sandboxes have no network that could be set up"
#define NO_VOLUMES "there are no volumes here: put files into the sandbox"

/* As it is listed. An end that it does not have is told as one that is far away: clients want one. */
static struct json *describe_box(const struct lease *h)
{
    const struct json *facts = lease_facts(h), *metadata = json_get(facts, "metadata"),
                      *up = lease_living(h) ? runner_facts(lease_living(h)) : NULL;
    int64_t until = lease_until(h), cpus = (int64_t)json_double(json_get(up, "cpus"), 1);

    return json_object_of({"templateID", template_of(facts)}, {"sandboxID", json_string(lease_id(h))},
                          {"clientID", json_string("sandpiper")}, {"startedAt", time_of(lease_created(h))},
                          {"endAt", time_of(until ? until : (int64_t)time(NULL) + TIMEOUT_MOST)},
                          {"envdVersion", json_string(ENVD_VERSION)},
                          {"cpuCount", json_integer(cpus > 0 ? cpus : 1)},
                          {"memoryMB", json_integer(json_int(json_get(up, "memory"), 0) >> 20)},
                          {"diskSizeMB", json_integer(json_int(json_get(up, "data_size"), 0) >> 20)},
                          {"state", json_string(lease_paused(h) ? "paused" : "running")},
                          {"allowInternetAccess", json_boolean(false)},
                          {"metadata", json_truthy(metadata) ? json_copy(metadata) : json_object()});
}

/* What a client is told that has made one or comes back to one. The token goes back to whom it came from: the
 * SDK sends it to the sandbox in another header. */
static struct json *ticket(const struct http_request *q, const struct json *facts, const char *id)
{
    const char *key = http_request_header(q, "X-Api-Key");

    return json_object_of({"templateID", template_of(facts)}, {"sandboxID", json_string(id)},
                          {"clientID", json_string("sandpiper")}, {"envdVersion", json_string(ENVD_VERSION)},
                          {"envdAccessToken", key ? json_string(key) : NULL},
                          {"trafficAccessToken", key ? json_string(key) : json_null()},
                          {"domain", json_null()});
}

/* ---- one is made ---- */

/* What is asked for and cannot be had. NULL: nothing is. */
static const char *cannot_have(const struct json *body)
{
    static const char *const known[] = {"", "base", "code-interpreter-v1", "sandpiper"};
    static const char *const absent[][2] = {
        {"mcp", "there is no MCP gateway in these sandboxes"},
        {"network", NO_NETWORK},
        {"iam", "these sandboxes have no identities"},
        {"volumeMounts", NO_VOLUMES},
    };
    const char *template = json_text(json_get(body, "templateID"));
    bool found = false;

    for (size_t i = 0; i < countof(known); i++)
        found |= !strcmp(template, known[i]);
    if (!found)
        return "there are no templates here: leave the template out, and every sandbox has the image that "
               "the server was started with";
    for (size_t i = 0; i < countof(absent); i++)
        if (json_truthy(json_get(body, absent[i][0])))
            return absent[i][1];
    /* Earlier releases, which say "secure" too, ask for it unless they are told not to. */
    if (json_truthy(json_get(body, "allow_internet_access")) && !json_get(body, "secure"))
        return "these sandboxes have no network: leave allow_internet_access out";
    if (json_truthy(json_get(body, "autoPause")) && !json_bool(json_get(body, "autoPauseMemory"), true))
        return "a sandbox is paused with its memory here: leave the mode out";
    return NULL;
}

static void answer_create(struct client_call *c)
{
    struct lease *h = lease_call_sandbox(&c->call);
    const struct json *timeout = json_get(c->body, "timeout");
    struct json *facts = json_object_of({"template", json_copy(json_get(c->body, "templateID"))},
                                        {"metadata", json_copy(json_get(c->body, "metadata"))},
                                        {"envs", json_copy(json_get(c->body, "envVars"))},
                                        {"pauses", json_copy(json_get(c->body, "autoPause"))});

    if (!h) {
        json_free(facts);
        answer_error(c->q, 502, NULL, "the sandbox was not found: it ended at once");
        return;
    }
    if (!lease_set_facts(h, facts)) {
        answer_error(c->q, 400, NULL, "metadata and envs: must have at most %d bytes together", LEASE_FACTS);
        return;
    }
    if (timeout)
        lease_set_until(h, (int64_t)time(NULL) + json_int(timeout, 0));
    answer_json(c->q, 201, ticket(c->q, lease_facts(h), lease_id(h)));
}

static void make_box(struct http_request *q)
{
    static const struct client_shape shape = {.answer = answer_create, .gone = 502};
    const char *why = cannot_have(http_request_body(q));

    if (why) {
        answer_error(q, 400, NULL, "%s", why);
        return;
    }
    struct client_call *c = client_new(q, &shape, NULL);
    if (!c)
        return;
    client_step(c, "info", json_object()); /* which it has only once it is up */
    autojson struct json *facts = json_object_of({"envs", json_copy(json_get(c->body, "envVars"))});
    e2b_step_envs(c, facts);
    client_go(c);
}

/* ---- all of them ---- */

struct box_list {
    const struct http_request *q;
    struct json *list;
    int64_t skip, most;
    bool more;
};

/* Does it have all that the filter names, as in "user=abc&app=prod", encoded once more? */
static bool has_metadata(const struct json *metadata, const char *filter)
{
    for (const char *at = filter; *at; at += strcspn(at, "&"), at += *at == '&') {
        size_t len = strcspn(at, "&"), key = strcspn(at, "=&");
        autofree char *once = percent_decode(at, key, true), *name = NULL, *again = NULL, *value = NULL;

        if (key >= len)
            return false;
        again = percent_decode(at + key + 1, len - key - 1, true);
        name = once ? percent_decode(once, strlen(once), false) : NULL;
        value = again ? percent_decode(again, strlen(again), false) : NULL;
        const char *has = name ? json_str(json_get(metadata, name)) : NULL;
        if (!value || !has || strcmp(has, value) != 0)
            return false;
    }
    return true;
}

static void add_box(void *ctx, struct lease *h)
{
    struct box_list *l = ctx;
    const char *metadata = http_request_query(l->q, "metadata"), *state = http_request_query(l->q, "state");

    if (lease_outer(h) || (state && !strstr(state, lease_paused(h) ? "paused" : "running"))
        || (metadata && !has_metadata(json_get(lease_facts(h), "metadata"), metadata)) || l->skip-- > 0)
        return;
    if ((int64_t)json_size(l->list) < l->most)
        json_add(l->list, describe_box(h));
    else
        l->more = true;
}

static int64_t query_number(const char *text, int64_t otherwise)
{
    char *end = NULL;
    long n = text ? strtol(text, &end, 10) : 0;

    return text && *text && !*end && n >= 0 ? n : otherwise;
}

static void list_boxes(struct http_request *q)
{
    struct box_list l = {q, json_array(), query_number(http_request_query(q, "nextToken"), 0),
                         query_number(http_request_query(q, "limit"), PAGE), false};
    int64_t first = l.skip;

    if (l.most < 1 || l.most > PAGE)
        l.most = PAGE;
    runners_each(http_request_runners(q), http_request_client(q), add_box, &l);
    if (l.more) {
        autofree char *next = xasprintf("%lld", (long long)(first + l.most));
        answer_header(q, "X-Next-Token", next);
    }
    answer_json(q, 200, l.list);
}

/* ---- one of them ---- */

/* NULL: there is none, and the client has been told. */
static struct lease *named_box(struct http_request *q)
{
    struct lease *h = box_of(q, http_request_param(q, "id"));

    if (!h || lease_outer(h)) {
        answer_error(q, 404, NULL, "%s", E2B_GONE);
        return NULL;
    }
    return h;
}

static void get_box(struct http_request *q)
{
    struct lease *h = named_box(q);

    if (h)
        answer_json(q, 200, describe_box(h));
}

/* body: may have a timeout. longer: never ends it earlier than it would have. */
static void set_end(struct lease *h, const struct json *body, bool longer)
{
    const struct json *timeout = json_get(body, "timeout");
    int64_t until = (int64_t)time(NULL) + json_int(timeout, 0);

    if (timeout && !(longer && lease_until(h) >= until))
        lease_set_until(h, until);
}

static void set_timeout(struct http_request *q)
{
    struct lease *h = named_box(q);

    if (!h)
        return;
    set_end(h, http_request_body(q), false);
    answer_json(q, 204, NULL);
}

static void connect_box(struct http_request *q)
{
    struct lease *h = named_box(q);

    struct error err;
    bool paused = h && lease_paused(h);

    if (!h)
        return;
    if (!lease_runner(http_request_runners(q), h, &err)) { /* which also lets it go on */
        answer_failure(q, &err);
        return;
    }
    set_end(h, http_request_body(q), !paused);
    answer_json(q, 200, ticket(q, lease_facts(h), lease_id(h)));
}

static void pause_box(struct http_request *q)
{
    struct lease *h = named_box(q);

    if (!h)
        return;
    if (lease_paused(h))
        answer_error(q, 409, NULL, "the sandbox is paused already");
    else if (!lease_pause(h))
        answer_error(q, 400, NULL, "the sandbox cannot be paused while code runs in it, or while it starts");
    else
        answer_json(q, 204, NULL);
}

static void no_snapshots(struct http_request *q)
{
    answer_error(q, 400, NULL,
                 "no snapshots are kept here: fork() copies a sandbox at once, and pause() keeps one");
}

/* ---- copies ---- */

struct not_copied {
    const char *outer;
    bool any;
};

static void look_if_nested(void *ctx, struct lease *h)
{
    struct not_copied *n = ctx;

    n->any |= lease_outer(h) && !strcmp(lease_outer(h), n->outer);
}

static void look_at_process(void *ctx, const struct client_process *p)
{
    struct not_copied *n = ctx;

    n->any |= !process_hidden(p);
}

/* What is known of a copy, as its client is told. NULL: it has ended meanwhile. */
static struct json *tell_copy(struct client_call *c, const char *id)
{
    struct lease *h = box_of(c->q, id);

    if (!h)
        return NULL;
    if (json_get(c->body, "facts"))
        lease_set_facts(h, json_copy(json_get(c->body, "facts")));
    set_end(h, c->body, false);
    return json_object_of({"sandbox", ticket(c->q, lease_facts(h), id)});
}

/* Each copy was made of the one before, in which nothing has run, and the call is with the last one. */
static void answer_fork(struct client_call *c)
{
    struct json *list = json_array();
    int64_t count = json_int(json_get(c->body, "count"), 1);
    const char *source = http_request_param(c->q, "id");

    for (const struct json *k = json_first(c->kept); k; k = json_next(k)) {
        const char *next = json_next(k) ? json_text(json_get(json_at(json_next(k), 1), "copy_of"))
                                        : c->call.sandbox;
        struct json *copy = strcmp(next, source) != 0 ? tell_copy(c, next) : NULL;
        if (copy)
            json_add(list, copy);
    }
    while ((int64_t)json_size(list) < count) {
        struct json *why = json_object_of({"code", json_integer(429)},
                                          {"message", json_string("there was no room for this copy")});
        json_add(list, json_object_of({"error", why}));
    }
    answer_json(c->q, 201, list);
}

static void fork_box(struct http_request *q)
{
    static const struct client_shape one = {.answer = answer_fork, .gone = 404},
                                     many = {.answer = answer_fork,
                                             .gone = 404,
                                             .may_fail = "fork",
                                             .stops = true};
    struct lease *h = named_box(q);
    int64_t count = json_int(json_get(http_request_body(q), "count"), 1);
    struct not_copied n = {.outer = http_request_param(q, "id")};

    if (!h)
        return;
    runners_each(http_request_runners(q), http_request_client(q), look_if_nested, &n);
    process_each(h, look_at_process, &n);
    if (n.any) {
        answer_error(q, 409, NULL,
                     "commands that run, and code contexts, are not copied: end them before fork()");
        return;
    }
    struct client_call *c = client_in(q, count > 1 ? &many : &one, n.outer, NULL);
    if (!c)
        return;
    if (!c->body)
        c->body = json_object();
    if (lease_facts(h))
        json_set(c->body, "facts", json_copy(lease_facts(h)));
    for (int64_t i = 0; i < count; i++)
        client_step(c, "fork", json_object());
    client_go(c);
}

static void answer_end(struct client_call *c)
{
    answer_json(c->q, 204, NULL);
}

static void end_box(struct http_request *q)
{
    static const struct client_shape shape = {.answer = answer_end, .gone = 404};
    struct client_call *c = client_in(q, &shape, http_request_param(q, "id"), NULL);

    if (c)
        client_end(c);
}

static void box_health(struct http_request *q)
{
    if (box_of(q, e2b_sandbox(q)))
        answer_json(q, 204, NULL);
    else
        answer_error(q, 502, NULL, "the sandbox was not found");
}

/* ---- what there is not ---- */

static void no_metrics(struct http_request *q)
{
    if (named_box(q))
        answer_json(q, 200, json_array());
}

static void no_network(struct http_request *q)
{
    answer_error(q, 400, NULL, NO_NETWORK);
}

static void no_templates(struct http_request *q)
{
    answer_error(q, 400, NULL,
                 "there are no templates here: every sandbox has the image that the server was started with");
}

static void no_volumes(struct http_request *q)
{
    answer_error(q, 400, NULL, NO_VOLUMES);
}

static void no_secrets(struct http_request *q)
{
    answer_error(q, 400, NULL, "no secrets are kept here: give a sandbox its values with envs");
}

static const struct route rows[] = {
    {"POST", "/v2/sandboxes", "e2b_create", "Make a sandbox", .body = create_body, .handle = make_box,
     E2B_ROUTE},
    {"POST", "/sandboxes", "e2b_create_1", "Make a sandbox", .body = create_body, .handle = make_box,
     E2B_ROUTE}, /* of earlier releases */
    {"GET", "/v2/sandboxes", "e2b_list", "The sandboxes of this token", .handle = list_boxes, E2B_ROUTE},
    {"GET", "/sandboxes/{id}", "e2b_get", "A sandbox", .handle = get_box, E2B_ROUTE},
    {"DELETE", "/sandboxes/{id}", "e2b_delete", "End a sandbox", .handle = end_box, E2B_ROUTE},
    {"POST", "/sandboxes/{id}/timeout", "e2b_timeout", "Set when it ends", .body = timeout_body,
     .handle = set_timeout, E2B_ROUTE},
    {"POST", "/sandboxes/{id}/refreshes", "e2b_refresh", "It is still used", .body = timeout_body,
     .handle = connect_box, E2B_ROUTE},
    {"POST", "/v2/sandboxes/{id}/connect", "e2b_connect", "Come back to it", .body = timeout_body,
     .handle = connect_box, E2B_ROUTE},
    {"POST", "/sandboxes/{id}/connect", "e2b_connect_1", "Come back to it", .body = timeout_body,
     .handle = connect_box, E2B_ROUTE},
    {"POST", "/sandboxes/{id}/pause", "e2b_pause", "All in it stands still", .body = timeout_body,
     .handle = pause_box, E2B_ROUTE},
    {"POST", "/sandboxes/{id}/resume", "e2b_resume", "It goes on", .body = timeout_body,
     .handle = connect_box, E2B_ROUTE},
    {"POST", "/sandboxes/{id}/snapshots", "e2b_snapshot", "Refused", .handle = no_snapshots, E2B_ROUTE},
    {"POST", "/sandboxes/{id}/fork", "e2b_fork", "Copies of it", .body = fork_body, .handle = fork_box,
     E2B_ROUTE},
    {"GET", "/snapshots", "e2b_snapshots", "Refused", .handle = no_snapshots, E2B_ROUTE},
    {"GET", "/health", "e2b_health", "Is the sandbox there?", .handle = box_health, E2B_ROUTE},
    {"GET", "/sandboxes/{id}/metrics", "e2b_metrics", "Nothing is measured", .handle = no_metrics, E2B_ROUTE},
    {"PUT", "/sandboxes/{id}/network", "e2b_network", "Refused", .handle = no_network, E2B_ROUTE},
    {"POST", "/v3/templates", "e2b_template", "Refused", .handle = no_templates, E2B_ROUTE},
    {"GET", "/templates", "e2b_templates", "Refused", .handle = no_templates, E2B_ROUTE},
    {"GET", "/v2/templates", "e2b_templates_2", "Refused", .handle = no_templates, E2B_ROUTE},
    {"GET", "/templates/aliases/{name}", "e2b_alias", "Refused", .handle = no_templates, E2B_ROUTE},
    {"POST", "/volumes", "e2b_volume", "Refused", .handle = no_volumes, E2B_ROUTE},
    {"GET", "/volumes", "e2b_volumes", "Refused", .handle = no_volumes, E2B_ROUTE},
    {"GET", "/volumes/{id}", "e2b_get_volume", "Refused", .handle = no_volumes, E2B_ROUTE},
    {"DELETE", "/volumes/{id}", "e2b_end_volume", "Refused", .handle = no_volumes, E2B_ROUTE},
    {"POST", "/secrets", "e2b_secret", "Refused", .handle = no_secrets, E2B_ROUTE},
    {"GET", "/secrets", "e2b_secrets", "Refused", .handle = no_secrets, E2B_ROUTE},
    {"GET", "/secrets/{id}", "e2b_get_secret", "Refused", .handle = no_secrets, E2B_ROUTE},
};

void e2b_sandbox_routes(struct server *s)
{
    server_routes(s, rows, countof(rows));
}
