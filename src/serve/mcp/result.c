/* result.c - makes the answer of a tool: text for the model, figures as images, files as links, and all of it
 * again as structured content. */
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "mcp/mcp_private.h"

#define TEXT_MAX   (64u << 10) /* bytes of output for the model. The structured content has all of it. */
#define IMAGES_MAX (4u << 20)  /* bytes of all image files in a result. Any further one is only named. */
#define BLOB_MAX   (4u << 20)  /* bytes of any other file in a result. A longer one is only named. */

static void add_text(struct json *content, const char *text)
{
    json_add(content, json_object_of({"type", json_string("text")}, {"text", json_string(text)}));
}

/* Adds the text, of a long one only its head and tail, and how much was between them. */
static void add_cut(struct buf *out, const char *text)
{
    size_t len = strlen(text);

    if (len <= TEXT_MAX) {
        buf_add(out, text, len);
        return;
    }
    size_t head = utf8_cut(text, len, TEXT_MAX / 2), tail = utf8_cut(text, len, len - TEXT_MAX / 2);
    buf_add(out, text, head);
    buf_addf(out, "\n[%zu of %zu bytes are left out here]\n", tail - head, len);
    buf_add(out, text + tail, len - tail);
}

static void add_result_line(struct buf *out, const char *text)
{
    if (*text && out->len && buf_last(out) != '\n')
        buf_addch(out, '\n');
    buf_addstr(out, text);
}

static bool is_image(const char *type)
{
    static const char *const shown[] = {"image/png", "image/jpeg", "image/gif", "image/webp"};

    for (size_t i = 0; i < countof(shown); i++)
        if (!strcmp(type, shown[i]))
            return true;
    return false;
}

bool mcp_is_text(const struct buf *bytes)
{
    return utf8_valid(buf_str(bytes), bytes->len) && !memchr(buf_str(bytes), 0, bytes->len);
}

/* Returns the file's bytes as base64. NULL: it is too large, or gone. The caller frees it. */
static char *encoded(const char *path, size_t max)
{
    struct buf bytes autorelease(buf_release) = BUF_INIT(max), code = BUF_INIT(0);

    if (!*path || file_read(path, max, &bytes, NULL) < 0)
        return NULL;
    base64_add(&code, (const unsigned char *)buf_str(&bytes), bytes.len);
    return buf_steal(&code, NULL);
}

struct json *mcp_type(const struct json *type)
{
    const char *text = json_text(type);
    size_t len = strcspn(text, "; ");

    return len ? json_string_n(text, len) : NULL;
}

static void add_image(struct json *content, const char *code, const char *type)
{
    json_add(content, json_object_of({"type", json_string("image")}, {"data", json_string(code)},
                                     {"mimeType", json_string(type)}));
}

static void add_link(struct json *content, const struct mcp_answer *a, const struct json *file)
{
    const char *name = json_text(json_get(file, "name"));
    autofree char *uri = mcp_uri(a->sandbox, name);

    if (!a->request->revision->links) {
        autofree char *line = xasprintf("file: %s (%s)", name, uri);
        add_text(content, line);
        return;
    }
    json_add(content,
             json_object_of({"type", json_string("resource_link")}, {"uri", json_string(uri)},
                            {"name", json_string(name)}, {"mimeType", mcp_type(json_get(file, "type"))},
                            {"size", json_integer(json_int(json_get(file, "size"), 0))}));
}

/* Adds the file as an image, if it is one that is still to be shown. room: bytes that are left for images. */
static bool add_shown(struct json *content, const struct json *file, size_t *room)
{
    const char *type = json_text(json_get(file, "type"));
    autofree char *code = is_image(type) ? encoded(json_text(json_get(file, "path")), *room) : NULL;

    if (!code)
        return false;
    add_image(content, code, type);
    *room -= strlen(code) / 4 * 3 < *room ? strlen(code) / 4 * 3 : *room;
    return true;
}

/* Shows images, and names files and any figure that is too large to be shown. */
static void add_files(struct json *content, const struct mcp_answer *a)
{
    const char *value = json_str(json_get(json_get(a->result, "data"), "image/png"));
    size_t room = IMAGES_MAX;

    if (value)
        add_image(content, value, "image/png");
    for (const struct json *f = json_first(json_get(a->result, "files")); f; f = json_next(f)) {
        bool shown = add_shown(content, f, &room);

        if (!shown || strcmp(json_text(json_get(f, "kind")), "figure") != 0)
            add_link(content, a, f);
    }
}

static struct json *file_for_client(const struct mcp_answer *a, const struct json *file)
{
    static const char *const shown[] = {"name", "size", "type", "kind"};
    autofree char *uri = mcp_uri(a->sandbox, json_text(json_get(file, "name")));
    struct json *f = json_object();

    json_copy_some(f, file, shown, countof(shown));
    json_set_str(f, "uri", uri);
    return f;
}

/* Returns the result with the handle, and without the paths of this machine. */
static struct json *structured(const struct mcp_answer *a)
{
    struct json *s = json_object();

    for (const struct json *p = json_first(a->result); p; p = json_next(p))
        if (!strcmp(json_key(p), "files")) {
            struct json *files = json_array();

            for (const struct json *f = json_first(p); f; f = json_next(f))
                json_add(files, file_for_client(a, f));
            json_set(s, "files", files);
        } else if (strcmp(json_key(p), "path") != 0) {
            json_set(s, json_key(p), json_copy(p));
        }
    json_set_str(s, "sandbox", a->sandbox);
    return s;
}

static struct json *file_schema(void)
{
    static const char text[] =
        "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"size\":{\"type\":\"integer\"},"
        "\"type\":{\"type\":\"string\",\"description\":\"MIME type\"},\"kind\":{\"type\":\"string\","
        "\"enum\":[\"file\",\"figure\"]},\"uri\":{\"type\":\"string\",\"description\":\"For "
        "resources/read\"}},"
        "\"required\":[\"name\",\"size\",\"uri\"]}";

    return json_parse(text, sizeof text - 1, 0, NULL, NULL);
}

/* Changes the schema of a result as structured() changes the result. */
struct json *mcp_result_schema(const struct operation *o)
{
    struct json *schema = json_copy(o->result), *properties = json_object(), *required = json_array();

    for (const struct json *p = json_first(json_get(schema, "properties")); p; p = json_next(p))
        if (!strcmp(json_key(p), "files")) {
            json_set(properties, "files",
                     json_object_of({"type", json_string("array")}, {"items", file_schema()}));
        } else if (strcmp(json_key(p), "path") != 0) {
            json_set(properties, json_key(p), json_copy(p));
        }
    json_set(properties, "sandbox",
             json_object_of({"type", json_string("string")},
                            {"description", json_string("The handle of the sandbox, for later calls")}));
    for (const struct json *r = json_first(json_get(schema, "required")); r; r = json_next(r))
        if (strcmp(json_text(r), "path") != 0)
            json_add(required, json_copy(r));
    json_add(required, json_string("sandbox"));
    return json_set_all(schema, {"properties", properties}, {"required", required});
}

static void answer(const struct mcp_answer *a, struct json *content, bool is_error)
{
    if (a->apart) {
        autofree char *line = xasprintf(
            "[New sandbox %s. To keep its variables and files, pass \"sandbox\": \"%s\" in the next call.]",
            a->sandbox, a->sandbox);
        add_text(content, line);
    }
    mcp_result(a->request, json_object_of({"content", content}, {"structuredContent", structured(a)},
                                          {"isError", json_boolean(is_error)}));
}

void mcp_tool_error(const struct mcp_request *q, const char *text)
{
    struct json *content = json_array();

    add_text(content, text);
    mcp_result(q, json_object_of({"content", content}, {"isError", json_boolean(true)}));
}

static void answer_text(const struct mcp_answer *a, const char *text)
{
    struct json *content = json_array();

    add_text(content, text);
    answer(a, content, false);
}

/* Answers with what code or a command wrote, and the files that it made. */
static void answer_output(const struct mcp_answer *a, const struct buf *text, bool is_error)
{
    struct json *content = json_array();

    add_text(content, text->len ? text->data : "(no output)");
    add_files(content, a);
    answer(a, content, is_error);
}

/* ---- one function for each operation ---- */

static void add_notices(struct buf *text, const struct json *result)
{
    for (const struct json *n = json_first(json_get(result, "notices")); n; n = json_next(n))
        add_result_line(text, json_text(n));
}

static void show_code(const struct mcp_answer *a)
{
    const struct json *r = a->result, *error = json_get(r, "error");
    const char *status = json_text(json_get(r, "status")),
               *traceback = json_text(json_get(error, "traceback"));
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    add_cut(&text, json_text(json_get(r, "output")));
    add_result_line(&text, traceback);
    if (!*traceback || strcmp(status, "exception") != 0) /* it says which limit was reached */
        add_result_line(&text, json_text(json_get(error, "text")));
    add_result_line(&text, json_text(json_get(error, "hint")));
    add_notices(&text, r);
    answer_output(a, &text,
                  strcmp(status, "ok") != 0
                      && (strcmp(status, "exit") != 0 || json_int(json_get(r, "exit_code"), 0) != 0));
}

static void show_command(const struct mcp_answer *a)
{
    int code = (int)json_int(json_get(a->result, "exit_code"), 0);
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    add_cut(&text, json_text(json_get(a->result, "output")));
    if (code != 0) {
        add_result_line(&text, "[exit code ");
        buf_addf(&text, "%d]", code);
    }
    add_notices(&text, a->result);
    answer_output(a, &text, code != 0);
}

static void show_put(const struct mcp_answer *a)
{
    autofree char *line = xasprintf("Wrote /mnt/data/%s (%lld bytes).",
                                    json_text(json_get(a->result, "name")),
                                    (long long)json_int(json_get(a->result, "size"), 0));

    answer_text(a, line);
}

static void add_blob(struct json *content, const struct mcp_answer *a, const char *code)
{
    autofree char *uri = mcp_uri(a->sandbox, json_text(json_get(a->result, "name")));
    struct json *blob = json_object_of({"uri", json_string(uri)},
                                       {"mimeType", mcp_type(json_get(a->result, "type"))},
                                       {"blob", json_string(code)});

    json_add(content, json_object_of({"type", json_string("resource")}, {"resource", blob}));
}

/* Shows text as text, an image as an image, and any other small file as bytes. A larger file is only named.
 */
static void show_file(const struct mcp_answer *a)
{
    const char *path = json_text(json_get(a->result, "path")), *type = json_text(json_get(a->result, "type"));
    struct buf bytes autorelease(buf_release) = BUF_INIT(BLOB_MAX),
                     text autorelease(buf_release) = BUF_INIT(0);
    struct json *content = json_array();

    if (file_read(path, BLOB_MAX, &bytes, NULL) < 0) {
        add_text(content, "The file is too large to be shown whole; read a part of it with Python.");
        add_link(content, a, a->result);
    } else if (mcp_is_text(&bytes)) {
        add_cut(&text, buf_str(&bytes));
        add_text(content, buf_str(&text));
    } else {
        autofree char *code = encoded(path, BLOB_MAX);

        if (code && is_image(type))
            add_image(content, code, type);
        else if (code)
            add_blob(content, a, code);
    }
    answer(a, content, false);
}

static void show_file_list(const struct mcp_answer *a)
{
    struct buf all autorelease(buf_release) = BUF_INIT(0), text autorelease(buf_release) = BUF_INIT(0);
    int64_t more = json_int(json_get(a->result, "more"), 0);

    for (const struct json *f = json_first(json_get(a->result, "files")); f; f = json_next(f))
        buf_addf(&all, "%s (%lld bytes)\n", json_text(json_get(f, "name")),
                 (long long)json_int(json_get(f, "size"), 0));
    if (more > 0)
        buf_addf(&all, "... and %lld more\n", (long long)more);
    add_cut(&text, buf_str(&all));
    answer_text(a, text.len ? text.data : "/mnt/data is empty.");
}

static void show_reset(const struct mcp_answer *a)
{
    answer_text(a, "Python was restarted: variables cleared, files kept.");
}

static void show_fork(const struct mcp_answer *a)
{
    autofree char *line = xasprintf(
        "The copy is the sandbox %s. To work in it, pass \"sandbox\": \"%s\". The "
        "sandbox that was copied, %s, is as it was.",
        a->sandbox, a->sandbox, json_text(json_get(a->result, "copy_of")));

    answer_text(a, line);
}

static void show_packages(const struct mcp_answer *a)
{
    autofree char *line = xasprintf("Installed now: %s", json_text(json_get(a->result, "packages")));

    answer_text(a, line);
}

void mcp_show_result(const struct mcp_answer *a)
{
    static const struct {
        const char *operation;
        mcp_shape *show;
    } shows[] = {
        {"run_code", show_code}, {"execute_command", show_command}, {"put_file", show_put},
        {"get_file", show_file}, {"list_files", show_file_list},    {"reset", show_reset},
        {"fork", show_fork},     {"add_packages", show_packages},
    };

    if (!a->result) {
        autofree char *text = error_message(a->err);
        mcp_tool_error(a->request, text);
        return;
    }
    for (size_t i = 0; i < countof(shows); i++)
        if (!strcmp(shows[i].operation, a->about))
            shows[i].show(a);
}
