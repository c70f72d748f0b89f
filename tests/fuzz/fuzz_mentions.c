/* fuzz_mentions.c - a question with names of files in it: whatever is found lies within the text, in order,
 * and what is written is the text with names put in. The files are those of the tree that it runs in. A URL
 * or a file that cannot be read is ERROR_USAGE. */
#include "tests/fuzz/fuzz.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/inputs.h"
#include "base/mem.h"
#include "base/mentions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_exact(data, size);
    struct mentions m = {0};
    struct inputs in = {0};
    struct error e = {0};
    struct buf out = BUF_INIT(0);
    size_t at = 0;

    if (mentions_open(&m, text, size, &in, &e) < 0) {
        check(e.kind == ERROR_USAGE && e.text[0]);
    } else {
        for (size_t i = 0; i < m.n; i++) {
            check(m.v[i].at >= at && m.v[i].len >= 2 && m.v[i].at + m.v[i].len <= size);
            check(m.v[i].file < in.n && text[m.v[i].at] == '@');
            at = m.v[i].at + m.v[i].len;
        }
        check(m.n <= MENTIONS_MAX);
        for (size_t i = 0; i < in.n; i++)
            mentions_name(&m, i, "inside");
        mentions_write(&m, text, size, &out);
        check(m.n > 0 || (out.len == size && (size == 0 || memcmp(out.data, text, size) == 0)));
        check(m.left.n <= 3);
    }
    buf_release(&out);
    mentions_release(&m);
    inputs_release(&in);
    free(text);
    return 0;
}
