/* fetcher.c - fetches the file in the runner's process, and puts it into the sandbox. */
#include "main/fetcher.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "fetch/fetch.h"
#include "json/json.h"
#include "main/command.h"
#include "sandbox/sandbox.h"

#define FETCH_MS 60000

int fetcher_run(void *ctx, struct runner_child *child, const struct json *arguments, struct json **result,
                struct error *err)
{
    const struct config *c = ctx;
    const char *name = runner_child_file(arguments);
    struct fetch_options o = {
        .url = json_text(json_get(arguments, "url")),
        .max = (size_t)c->data_size,
        .ms = FETCH_MS,
        .ca_cert = c->front.ca_cert,
        .loop = runner_child_loop(child),
    };
    size_t size;

    if (!c->fetch_urls)
        return error_set(err, ERROR_USAGE, EPERM,
                         "files are not fetched from URLs here (serve --fetch-urls allows it)");
    autoclose int fd = memfd_create("fetched", MFD_CLOEXEC);
    o.fd = fd;
    if (fd < 0)
        return error_errno(err, "the file cannot be saved");
    if (fetch_url(&o, &size, err) < 0)
        return -1;
    if (lseek(fd, 0, SEEK_SET) < 0)
        return error_errno(err, "the file cannot be read");
    int64_t put = sandbox_put(runner_child_sandbox(child), name, fd, err);
    if (put < 0)
        return -1;
    *result = json_object_of({"name", json_string(name)}, {"size", json_integer(put)});
    return 0;
}
