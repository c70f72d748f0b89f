/* fuzz_connect.c - what E2B's SDK sends that is no plain JSON: rows of envelopes (rpc.c) and forms with files
 * (multipart.c). The first byte picks one; the bytes stand in a block of exactly their size.
 */
#include "tests/fuzz/fuzz.h"

#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "clients/multipart.h"
#include "clients/rpc.h"

static void envelopes(const char *text, size_t size)
{
    struct rpc_reader r = {text, size};
    struct error err;

    for (struct json *m; (m = rpc_next(&r, &err)); json_free(m))
        check(json_type(m) == JSON_OBJECT && r.at <= text + size && r.left == (size_t)(text + size - r.at));
    check(err.kind || r.left == 0);
}

static void form(const char *text, size_t size)
{
    struct multipart_part part;
    struct multipart m;
    struct error err = {0};
    int rc;

    if (multipart_begin(&m, "multipart/form-data; boundary=B", text, size, &err) < 0)
        return;
    while ((rc = multipart_next(&m, &part, &err)) > 0) {
        check(part.content >= text && part.content + part.len <= text + size);
        free(part.file_name);
    }
    check(rc == 0 || err.kind == ERROR_USAGE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    char *text = fuzz_exact(data + 1, size - 1);

    (data[0] & 1 ? form : envelopes)(text, size - 1);
    if (data[0] & 2) { /* the type of a body is the client's, too */
        struct multipart m;
        struct error err;
        char *type = fuzz_exact(data + 1, size - 1);

        if (memchr(type, 0, size - 1))
            (void)multipart_begin(&m, type, "", 0, &err);
        free(type);
    }
    free(text);
    return 0;
}
