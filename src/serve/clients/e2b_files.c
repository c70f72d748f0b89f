/* e2b_files.c - E2B's SDK: files are read, written, listed, moved, removed and watched, anywhere in the
 * sandbox where code may do so. All of it is done inside (e2b_inside.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/random.h"
#include "front/processes.h"
#include "json/json.h"
#include "clients/e2b_inside.h"
#include "clients/multipart.h"
#include "clients/rpc.h"

#define UPLOAD_MAX (32u << 20) /* bytes of one request */
#define FILES_MOST 1000        /* in it */
#define WATCH      24          /* characters of the id of a watch */

/* ---- content ---- */

static void read_path(struct http_request *q)
{
    static const struct inside_shape shape = {.bytes = true};
    const char *asked = http_request_query(q, "path");
    autofree char *path = e2b_path(asked ? asked : "");

    inside_do(q, &shape, json_object_of({"do", json_string("read")}, {"path", json_string(path)}), NULL, 0);
}

/* Takes path and files, and asks for them to be written. */
static void write_inside(struct http_request *q, struct json *files, const char *content, size_t len)
{
    static const struct inside_shape shape = {.bytes = false};
    const char *encoding = http_request_header(q, "Content-Encoding");
    bool zipped = encoding && !strcasecmp(encoding, "gzip");

    inside_do(q, &shape,
              json_object_of({"do", json_string("write")}, {"files", files}, {"gzip", json_boolean(zipped)}),
              content, len);
}

static struct json *file_row(const char *name, size_t len)
{
    autofree char *path = e2b_path(name);

    return json_array_of(json_string(path), json_integer((int64_t)len));
}

/* The parts of a form, whose names are paths, or the one that the URL names. */
static void write_parts(struct http_request *q, const char *body, size_t size)
{
    const char *path = http_request_query(q, "path");
    struct buf content autorelease(buf_release) = BUF_INIT(0);
    autojson struct json *files = json_array();
    struct multipart_part part;
    struct multipart m;
    struct error err = {0};
    int rc = multipart_begin(&m, http_request_header(q, "Content-Type"), body, size, &err);

    while (rc == 0 && (rc = multipart_next(&m, &part, &err)) > 0) {
        autofree char *name = steal(&part.file_name);

        rc = 0;
        if (!name)
            continue;
        json_add(files, file_row(path ? path : name, part.len));
        buf_add(&content, part.content, part.len);
        if (json_size(files) > FILES_MOST)
            rc = error_set(&err, ERROR_USAGE, 400, "at most %d files may be written at once", FILES_MOST);
    }
    if (rc < 0)
        answer_error(q, err.code, NULL, "%s", err.text);
    else if (json_size(files) == 0 || (path && json_size(files) > 1))
        answer_error(q, 400, NULL, "the body must have one file for a path, and at least one");
    else
        write_inside(q, steal(&files), buf_str(&content), content.len);
}

static void write_path(struct http_request *q)
{
    const char *type = http_request_header(q, "Content-Type"), *path = http_request_query(q, "path");
    size_t len;
    const char *body = http_request_text(q, &len);

    if (type && !strncasecmp(type, "application/octet-stream", 24) && path)
        write_inside(q, json_array_of(file_row(path, len)), body, len);
    else
        write_parts(q, body, len);
}

/* ---- what is known of files ---- */

/* Asks for what the path of the message is to have done. */
static void do_with_path(struct http_request *q, const char *what, const char *member, const char *to)
{
    static const struct inside_shape shape = {.bytes = false};
    const struct json *message = http_request_body(q);
    autofree char *path = e2b_path(json_text(json_get(message, member))),
                  *other = to ? e2b_path(json_text(json_get(message, to))) : NULL;

    inside_do(q, &shape,
              json_object_of({"do", json_string(what)}, {"path", json_string(path)},
                             {"to", other ? json_string(other) : NULL},
                             {"depth", json_integer(json_int(json_get(message, "depth"), 1))}),
              NULL, 0);
}

static void stat_path(struct http_request *q)
{
    do_with_path(q, "stat", "path", NULL);
}

static void list_folder(struct http_request *q)
{
    do_with_path(q, "list", "path", NULL);
}

static void make_dir_at(struct http_request *q)
{
    do_with_path(q, "make", "path", NULL);
}

static void move_path(struct http_request *q)
{
    do_with_path(q, "move", "source", "destination");
}

static void remove_path(struct http_request *q)
{
    do_with_path(q, "remove", "path", NULL);
}

/* ---- watches ---- */

static struct json *watch_words(const char *what, const struct json *message, const char *watcher)
{
    autofree char *path = e2b_path(json_text(json_get(message, "path")));

    return json_object_of({"do", json_string(what)}, {"path", json_string(path)},
                          {"recursive", json_boolean(json_bool(json_get(message, "recursive"), false))},
                          {"watcher", watcher ? json_string(watcher) : NULL});
}

static void send_change(struct http_request *q, const struct json *line)
{
    rpc_send(q, json_copy(line));
}

static void watch_folder(struct http_request *q)
{
    static const struct inside_shape shape = {.line = send_change, .rpc = true};
    autojson struct json *message = rpc_first(q);

    if (message)
        inside_do(q, &shape, watch_words("watch", message, NULL), NULL, 0);
}

/* One whose events are asked for later. */
static void keep_watch(struct http_request *q)
{
    static const struct inside_shape shape = {.stays = true};
    char id[WATCH + 1];

    random_hex(id, WATCH);
    inside_do(q, &shape, watch_words("keep", http_request_body(q), id), NULL, 0);
}

static bool good_watch(struct http_request *q, const char *id)
{
    if (strlen(id) == WATCH && strspn(id, "0123456789abcdef") == WATCH)
        return true;
    answer_error(q, 404, NULL, "there is no such watch");
    return false;
}

static void ask_watch(struct http_request *q, bool forget)
{
    static const struct inside_shape shape = {.bytes = false};
    const char *id = json_text(json_get(http_request_body(q), "watcherId"));
    struct lease *h = e2b_box(q);
    struct client_process *p = h && forget ? process_find(h, 0, id) : NULL;

    if (!good_watch(q, id))
        return;
    if (p)
        process_signal(p, 9);
    inside_do(q, &shape,
              json_object_of({"do", json_string("events")}, {"watcher", json_string(id)},
                             {"forget", json_boolean(forget)}),
              NULL, 0);
}

static void events_of_watch(struct http_request *q)
{
    ask_watch(q, false);
}

static void end_watch(struct http_request *q)
{
    ask_watch(q, true);
}

static const char any_body[] = "{\"type\":\"object\"}";

#define FILESYSTEM "/filesystem.Filesystem/"
#define UNARY(name, operation, summary, function)                                                    \
    {                                                                                                \
        "POST", FILESYSTEM name, operation, summary, .body = any_body, .handle = function, RPC_UNARY \
    }

static const struct route rows[] = {
    {"GET", "/files", "e2b_read", "Read a file", .handle = read_path, E2B_ROUTE},
    {"POST", "/files", "e2b_write", "Write files", .handle = write_path, .accepts = "",
     .body_max = UPLOAD_MAX, .flags = ROUTE_HIDDEN | ROUTE_RAW, .failure = e2b_failure},
    UNARY("Stat", "e2b_stat", "What a path is", stat_path),
    UNARY("ListDir", "e2b_list_dir", "What is in a folder", list_folder),
    UNARY("MakeDir", "e2b_make_dir", "Make a folder", make_dir_at),
    UNARY("Move", "e2b_move", "Move a file or folder", move_path),
    UNARY("Remove", "e2b_rm", "Remove a file or folder", remove_path),
    UNARY("CreateWatcher", "e2b_keep_watch", "Watch a folder", keep_watch),
    UNARY("GetWatcherEvents", "e2b_watch_events", "What has changed there", events_of_watch),
    UNARY("RemoveWatcher", "e2b_end_watch", "Watch it no longer", end_watch),
    {"POST", FILESYSTEM "WatchDir", "e2b_watch_dir", "What changes in a folder", .handle = watch_folder,
     RPC_STREAM},
};

void e2b_file_routes(struct server *s)
{
    server_routes(s, rows, countof(rows));
}
