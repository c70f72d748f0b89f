/* librechat.c - LibreChat's code interpreter (npm: @librechat/agents). A run is alone, so its interpreter is
 * started afresh; what stays is the session's files, and a session is a sandbox. A file's id is its name. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "clients/client_call.h"
#include "clients/multipart.h"

static const char exec_body[] =
    "{\"type\":\"object\",\"required\":[\"lang\",\"code\"],\"properties\":{\"code\":{\"type\":\"string\"},"
    "\"lang\":{\"enum\":[\"py\",\"bash\",\"js\",\"ts\"]},\"args\":{\"type\":[\"array\",\"null\"],"
    "\"maxItems\":0},\"files\":{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"object\"}}}}";

static void add_librechat_file(struct json *files, const struct client_call *c, const struct json *row)
{
    const struct json *name = json_get(row, "name");

    if (strcmp(json_text(json_get(row, "kind")), "figure") != 0)
        json_add(files, json_object_of({"id", json_copy(name)}, {"fileId", json_copy(name)},
                                       {"name", json_copy(name)}, {"filename", json_copy(name)},
                                       {"size", json_copy(json_get(row, "size"))},
                                       {"storage_session_id", json_string(c->call.sandbox)}));
}

static void librechat_answer(struct client_call *c)
{
    const struct json *run = client_kept(c, "run_code"), *error = json_get(run, "error");
    const char *trace = json_text(json_get(error, "traceback"));
    autofree char *failed = xasprintf("%s%s", json_text(json_get(run, "stderr")),
                                      *trace ? trace : json_text(json_get(error, "text")));
    struct json *files = json_array();

    for (const struct json *k = json_first(c->kept); k; k = json_next(k))
        if (!strcmp(json_text(json_at(k, 0)), "put_file"))
            add_librechat_file(files, c, json_at(k, 1));
    for (const struct json *f = json_first(json_get(run, "files")); f; f = json_next(f))
        add_librechat_file(files, c, f);
    answer_json(c->q, 200,
                json_object_of({"message", json_string("success")},
                               {"session_id", json_string(c->call.sandbox)},
                               {"storage_session_id", json_string(c->call.sandbox)},
                               {"stdout", json_copy(json_get(run, "stdout"))},
                               {"stderr", json_string(failed)}, {"files", files}));
}

static const struct client_shape shape = {.answer = librechat_answer};

static void librechat_exec(struct http_request *q)
{
    const char *session = ""; /* which has the files */

    for (const struct json *f = json_first(json_get(http_request_body(q), "files")); f; f = json_next(f)) {
        const struct json *in_one = json_get(f, "storage_session_id");
        const char *in = json_text(in_one ? in_one : json_get(f, "session_id"));

        if (*session && strcmp(session, in) != 0) {
            answer_error(q, 400, NULL, "files: must be of one session; upload them together");
            return;
        }
        session = in;
    }
    struct client_call *c = *session ? client_in(q, &shape, session, NULL) : client_new(q, &shape, NULL);
    if (!c)
        return;
    if (*session)
        client_step(c, "reset", json_object());
    client_step(c, "run_code",
                json_object_of({"code", json_copy(json_get(c->body, "code"))},
                               {"language", json_copy(json_get(c->body, "lang"))}));
    client_go(c);
}

static void librechat_upload(struct http_request *q)
{
    struct error err = {0};
    autojson struct json *puts = multipart_puts(q, &err);
    struct client_call *c = puts ? client_new(q, &shape, NULL) : NULL;

    if (!puts)
        answer_error(q, 400, NULL, "%s", err.text);
    if (!c)
        return;
    for (const struct json *p = json_first(puts); p; p = json_next(p))
        client_step(c, "put_file", json_copy(p));
    client_go(c);
}

static const struct route rows[] = {
    {"POST", "/exec", "librechat_exec", "Run code", .body = exec_body, .handle = librechat_exec,
     .flags = ROUTE_HIDDEN},
    {"POST", "/upload", "librechat_upload", "Files for a run", .handle = librechat_upload, .accepts = "",
     .body_max = 11u << 20 /* goes in as JSON */, .flags = ROUTE_HIDDEN | ROUTE_RAW},
};

void librechat_routes(struct server *s)
{
    server_routes(s, rows, countof(rows));
}
