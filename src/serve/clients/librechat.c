/* librechat.c - LibreChat's code interpreter (npm: @librechat/agents). A run is alone, so its interpreter is
 * started afresh; what stays is the session's files, and a session is a sandbox. A file's id is its name. */
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "clients/client_call.h"
#include "clients/multipart.h"

#define UPLOAD_MAX (11u << 20) /* bytes; so much of it is one file that goes in as JSON */

static const char exec_body[] =
    "{\"type\":\"object\",\"required\":[\"lang\",\"code\"],\"properties\":{"
    "\"lang\":{\"enum\":[\"py\",\"bash\",\"js\",\"ts\"]},\"code\":{\"type\":\"string\"},"
    "\"args\":{\"type\":[\"array\",\"null\"],\"maxItems\":0},"
    "\"files\":{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"object\"}}}}";

static struct json *librechat_failure(const struct route *r, int status, const char *code, const char *detail)
{
    (void)r;
    (void)status;
    return json_object_of({"error", json_string(code)}, {"message", json_string(detail)});
}

/* A file as LibreChat knows it; row has its name. */
static struct json *librechat_file(const struct client_call *c, const struct json *row)
{
    const struct json *name = json_get(row, "name");

    return json_object_of({"id", json_copy(name)}, {"fileId", json_copy(name)}, {"name", json_copy(name)},
                          {"filename", json_copy(name)}, {"size", json_copy(json_get(row, "size"))},
                          {"storage_session_id", json_string(c->call.sandbox)});
}

static void librechat_answer_exec(struct client_call *c)
{
    const struct json *run = client_kept(c, "run_code"), *error = json_get(run, "error");
    struct buf failed autorelease(buf_release) = BUF_INIT(0);
    struct json *files = json_array();

    buf_addstr(&failed, json_text(json_get(run, "stderr")));
    buf_addstr(&failed,
               json_text(json_get(error, json_truthy(json_get(error, "traceback")) ? "traceback" : "text")));
    for (const struct json *f = json_first(json_get(run, "files")); f; f = json_next(f))
        if (strcmp(json_text(json_get(f, "kind")), "figure") != 0)
            json_add(files, librechat_file(c, f));
    answer_json(c->q, 200,
                json_object_of({"session_id", json_string(c->call.sandbox)},
                               {"stdout", json_copy(json_get(run, "stdout"))},
                               {"stderr", json_string_n(buf_str(&failed), failed.len)}, {"files", files}));
}

/* The session that has the files of a run; "": there are none. NULL: they are in several. */
static const char *session_of(const struct json *files)
{
    const char *session = "";

    for (const struct json *f = json_first(files); f; f = json_next(f)) {
        const char *in = json_text(json_get(f, "storage_session_id"));

        in = *in ? in : json_text(json_get(f, "session_id"));
        if (*session && strcmp(session, in) != 0)
            return NULL;
        session = in;
    }
    return session;
}

static void librechat_exec(struct http_request *q)
{
    static const struct client_shape shape = {.answer = librechat_answer_exec};
    const char *session = session_of(json_get(http_request_body(q), "files"));

    if (!session) {
        answer_error(q, 400, NULL, "files: must be of one session; upload them together");
        return;
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

static void librechat_answer_upload(struct client_call *c)
{
    struct json *files = json_array();

    for (const struct json *k = json_first(c->kept); k; k = json_next(k))
        json_add(files, librechat_file(c, json_at(k, 1)));
    answer_json(c->q, 200,
                json_object_of({"message", json_string("success")},
                               {"session_id", json_string(c->call.sandbox)}, {"files", files}));
}

static void librechat_upload(struct http_request *q)
{
    static const struct client_shape shape = {.answer = librechat_answer_upload};
    autojson struct json *puts = json_array();
    struct multipart_part part;
    struct multipart m;
    struct error err = {0};
    size_t len;
    const char *body = http_request_text(q, &len);
    int rc = multipart_begin(&m, http_request_header(q, "Content-Type"), body, len, &err) < 0
                 ? -1
                 : multipart_next(&m, &part, &err);

    for (; rc > 0; rc = multipart_next(&m, &part, &err)) {
        struct buf text autorelease(buf_release) = BUF_INIT(0);
        autofree char *name = part.file_name;

        base64_add(&text, (const unsigned char *)part.content, part.len);
        if (name)
            json_add(puts, json_object_of({"name", json_string(name)}, {"encoding", json_string("base64")},
                                          {"content", json_string_n(buf_str(&text), text.len)}));
    }
    if (rc < 0 || json_size(puts) == 0) {
        answer_error(q, 400, NULL, "%s", rc < 0 ? err.text : "the form has no file");
        return;
    }
    struct client_call *c = client_new(q, &shape, NULL);
    for (const struct json *p = c ? json_first(puts) : NULL; p; p = json_next(p))
        client_step(c, "put_file", json_copy(p));
    if (c)
        client_go(c);
}

static void librechat_answer_download(struct client_call *c)
{
    const struct json *file = client_kept(c, "get_file");

    answer_file(c->q, json_text(json_get(file, "path")), json_text(json_get(file, "name")));
}

static void librechat_answer_session(struct client_call *c)
{
    struct json *files = json_array();

    for (const struct json *f = json_first(json_get(client_kept(c, "list_files"), "files")); f;
         f = json_next(f))
        json_add(files, librechat_file(c, f));
    answer_json(c->q, 200, files);
}

static void librechat_in_session(struct http_request *q)
{
    static const struct client_shape download = {.answer = librechat_answer_download},
                                     list = {.answer = librechat_answer_session};
    const char *name = http_request_param(q, "name");
    struct client_call *c = client_in(q, *name ? &download : &list, http_request_param(q, "session"), NULL);

    if (!c)
        return;
    client_step(c, *name ? "get_file" : "list_files",
                *name ? json_object_of({"name", json_string(name)}) : json_object());
    client_go(c);
}

#define LIBRECHAT .flags = ROUTE_HIDDEN, .failure = librechat_failure
static const struct route rows[] = {
    {"POST", "/exec", "librechat_exec", "Run code", .body = exec_body, .handle = librechat_exec, LIBRECHAT},
    {"POST", "/upload", "librechat_upload", "Files for a run", .handle = librechat_upload, .accepts = "",
     .body_max = UPLOAD_MAX, .flags = ROUTE_HIDDEN | ROUTE_RAW, .failure = librechat_failure},
    {"GET", "/files/{session}", "librechat_files", "The files of a session", .handle = librechat_in_session,
     LIBRECHAT},
    {"GET", "/download/{session}/{name...}", "librechat_download", "A file", .handle = librechat_in_session,
     LIBRECHAT},
};

void librechat_routes(struct server *s)
{
    server_routes(s, rows, countof(rows));
}
