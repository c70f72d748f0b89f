/* fuzz_script.c - whatever stands on stdin: each question is valid text that is not blank, and an error says
 * which line. */
#include "tests/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/utf8.h"
#include "pipe/script.h"
#include "process/loop.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("script", MFD_CLOEXEC), r;
    struct loop *loop = loop_new();
    struct buf q = BUF_INIT(0);
    struct error err = {0};
    struct script s;
    size_t total = 0;

    check(fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
    script_init(&s, fd, loop);
    check(script_begin(&s, &err) == 0 && script_check(&s, false, &err) == 0);
    long left = script_left(&s), n = 0;
    for (; (r = script_next(&s, &q, &err)) > 0; n++) {
        check(q.len > 0 && q.len <= QUESTION_MAX && !prompt_blank(q.data, q.len));
        check(utf8_valid(q.data, q.len) && !memchr(q.data, 0, q.len));
        total += q.len;
    }
    check(total <= size);
    check(left < 0 || (r == 0 && left == n));
    check(r == 0 || (err.kind == ERROR_USAGE && strstr(err.text, "line ")));
    script_release(&s);
    buf_release(&q);
    check(lseek(fd, 0, SEEK_SET) == 0);
    if (prompt_read(fd, loop, &q, &err) == 0)
        check(utf8_valid(q.data, q.len) && !memchr(q.data, 0, q.len));
    buf_release(&q);
    loop_free(loop);
    close(fd);
    return 0;
}
