/* child_files.c - the operations on files: put_file, get_file, list_files. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_type.h"
#include "base/mem.h"
#include "json/json.h"
#include "child/child_private.h"
#include "sandbox/sandbox.h"

#define DELIVERED_MAX 500
#define CONTENT_MAX   (24u << 20)

static struct delivered *find_delivered(struct runner_child *c, const char *name)
{
    for (size_t i = 0; i < c->n_delivered; i++)
        if (!strcmp(c->delivered[i].name, name))
            return &c->delivered[i];
    return NULL;
}

/* A figure is not a file inside the sandbox, so this copy of it is the only one. */
void runner_child_delivered(struct runner_child *c, const char *name, const char *path)
{
    struct delivered *d = find_delivered(c, name);

    if (!d && c->n_delivered == DELIVERED_MAX) {
        free(c->delivered[0].name);
        free(c->delivered[0].path);
        memmove(c->delivered, c->delivered + 1, --c->n_delivered * sizeof *d);
    }
    if (!d) {
        c->delivered = xreallocarray(c->delivered, c->n_delivered + 1, sizeof *d);
        d = &c->delivered[c->n_delivered++];
        *d = (struct delivered){.name = xstrdup(name)};
    }
    xreplace(&d->path, xstrdup(path));
}

/* Everything that is printed names files by their path. */
const char *runner_child_file(const struct json *arguments)
{
    static const char folder[] = "/mnt/data/";
    const char *name = json_text(json_get(arguments, "name"));

    return !strncmp(name, folder, strlen(folder)) ? name + strlen(folder) : name;
}

/* ---- in ---- */

/* Returns the content of the request as an open file. -1 with err. */
static int content_fd(const struct json *arguments, struct error *err)
{
    struct buf bytes autorelease(buf_release) = BUF_INIT(CONTENT_MAX);
    const char *content = json_str(json_get(arguments, "content"));
    bool base64 = !strcmp(json_text(json_get(arguments, "encoding")), "base64");

    if (!content)
        return error_set(err, ERROR_USAGE, 0, "content: is missing");
    if (base64 ? base64_read(content, strlen(content), &bytes) < 0 : !buf_addstr(&bytes, content))
        return error_set(err, ERROR_USAGE, 0, "content: %s",
                         base64 ? "must be base64" : "is too long for one message");
    autoclose int fd = memfd_create("content", MFD_CLOEXEC);
    if (fd < 0 || fd_write_all(fd, buf_str(&bytes), bytes.len) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return error_errno(err, "the content cannot be saved");
    return fd_steal(&fd);
}

int child_put_file(struct runner_child *c, const struct json *arguments, struct json **result,
                   struct error *err)
{
    const char *name = runner_child_file(arguments);
    autoclose int own = c->put < 0 ? content_fd(arguments, err) : -1;
    int fd = c->put >= 0 ? c->put : own;
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        return error_set(err, ERROR_USAGE, EISDIR, "%s is a folder; only a file can be written", name);
    int64_t size = sandbox_put(c->sandbox, name, fd, err);
    if (size < 0)
        return -1;
    *result = json_object_of({"name", json_string(name)}, {"size", json_integer(size)});
    return 0;
}

/* ---- out ---- */

/* Makes the file for a copy, which exists until the next request. */
static int new_copy(struct runner_child *c, struct error *err)
{
    const char *folder = sandbox_options(c->sandbox)->session_dir;
    autofree char *path = folder ? xasprintf("%s/got-XXXXXX", folder) : NULL;

    if (!path)
        return error_set(err, ERROR_SYSTEM, 0,
                         "there is no folder to copy a file to\nset XDG_STATE_HOME to one with room");
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "%s", path);
    c->got = steal(&path);
    return fd;
}

void child_drop_copy(struct runner_child *c)
{
    if (c->got)
        unlink(c->got);
    free(steal(&c->got));
}

static struct json *file_to_json(const char *name, const char *path, int64_t size)
{
    return json_object_of({"name", json_string(name)}, {"size", json_integer(size)},
                          {"type", json_string(file_type(name))}, {"path", json_string(path)});
}

int child_get_file(struct runner_child *c, const struct json *arguments, struct json **result,
                   struct error *err)
{
    const char *name = runner_child_file(arguments);
    autoclose int fd = new_copy(c, err);
    const struct delivered *d = find_delivered(c, name);
    struct stat st;

    if (fd < 0)
        return -1;
    int64_t size = sandbox_get(c->sandbox, name, fd, err);
    if (size >= 0)
        *result = file_to_json(name, c->got, size);
    else if (err->kind == ERROR_USAGE && d && stat(d->path, &st) == 0)
        *result = file_to_json(name, d->path, st.st_size);
    return *result ? 0 : -1;
}

static void add_listed_file(void *ctx, const char *name, int64_t size)
{
    json_add(ctx, json_object_of({"name", json_string(name)}, {"size", json_integer(size)}));
}

int child_list_files(struct runner_child *c, const struct json *arguments, struct json **result,
                     struct error *err)
{
    autojson struct json *files = json_array();
    int64_t more = sandbox_each_file(c->sandbox, add_listed_file, files, err);

    (void)arguments;
    if (more < 0)
        return -1;
    *result = json_object_of({"files", steal(&files)}, {"more", json_integer(more)});
    return 0;
}
