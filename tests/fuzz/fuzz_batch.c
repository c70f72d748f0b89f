/* fuzz_batch.c - a file of rows: each row is found right when the file is opened and then reads the same,
 * or the file is refused in a line or two. The first byte chooses whether there is a template. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/utf8.h"
#include "batch/rows.h"
#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error e = {0};
    char path[64];
    int fd = memfd_create("rows", MFD_CLOEXEC);

    check(fd >= 0);
    check(size < 1 || write(fd, data + 1, size - 1) == (ssize_t)size - 1);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct rows *rs = rows_open(path, size && *data & 1 ? "{a} and {b}" : NULL, &e);
    if (!rs) {
        check(e.kind == ERROR_USAGE && e.text[0] && utf8_valid(e.text, strlen(e.text)));
    } else {
        check(rows_count(rs) > 0 && rows_count(rs) <= size);
        for (size_t i = 0; i < rows_count(rs); i++) {
            struct row r;

            rows_read(rs, i, &r);
            check(r.id && *r.id && json_str(json_get(r.ask, "input")) && *json_str(json_get(r.ask, "input")));
            rows_row_release(&r);
        }
    }
    rows_free(rs);
    close(fd);
    return 0;
}
