/* fuzz_sse.c - the same stream gives the same events however it is cut; no event holds more than the cap;
 * names hold no line end. */
#include "tests/fuzz/fuzz.h"

#include "base/buf.h"
#include "wire/sse.h"

#define CAP 4096

static void collect(void *ctx, const struct sse_event *e)
{
    check(e->len <= CAP && e->data[e->len] == '\0' && memchr(e->data, '\r', e->len) == NULL);
    check(strpbrk(e->name, "\r\n") == NULL);
    buf_addf(ctx, "[%s %d %d %zu ", e->name, e->error, e->at_end, e->len);
    buf_add(ctx, e->data, e->len);
    buf_addch(ctx, ']');
}

static int run(const char *s, size_t n, uint32_t seed, struct buf *out)
{
    struct sse sse;
    int rc = 0;
    sse_init(&sse, CAP, collect, out);
    while (n > 0 && rc == 0) {
        size_t k = seed != 0 ? fuzz_piece(&seed, n) : n;
        rc = sse_feed(&sse, s, k);
        s += k;
        n -= k;
    }
    if (rc == 0)
        rc = sse_end(&sse);
    sse_release(&sse);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *s = fuzz_exact(data, size);
    struct buf whole = BUF_INIT(0), cut = BUF_INIT(0);
    int a = run(s, size, 0, &whole), b = run(s, size, (uint32_t)size * 2 + 1, &cut);
    check(a == b && whole.len == cut.len && memcmp(buf_str(&whole), buf_str(&cut), whole.len) == 0);
    buf_release(&whole);
    buf_release(&cut);
    free(s);
    return 0;
}
