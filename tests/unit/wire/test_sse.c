/* test_sse.c - the cutter: the same stream gives the same events however it is cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "wire/sse.h"

static void collect(void *ctx, const struct sse_event *e)
{
    buf_addf(ctx, "[%s%s|", e->name, e->error ? "!" : e->at_end ? "~" : "");
    buf_add(ctx, e->data, e->len);
    buf_addch(ctx, ']');
}

static char *events(const char *s, size_t n, size_t cut)
{
    struct buf out = BUF_INIT(0);
    struct sse sse;
    sse_init(&sse, 4096, collect, &out);
    for (size_t at = 0; at < n;) {
        size_t k = cut == SIZE_MAX ? 1 : at < cut ? cut - at : n - at;
        char *piece = xmemdup0(s + at, k);
        assert_int_equal(sse_feed(&sse, piece, k), 0);
        free(piece);
        at += k;
    }
    assert_int_equal(sse_end(&sse), 0);
    sse_release(&sse);
    return buf_steal(&out, NULL);
}

static void same(const char *in, const char *want)
{
    size_t n = strlen(in);
    for (size_t cut = 0; cut <= n; cut++) {
        autofree char *got = events(in, n, cut);
        assert_string_equal(got, want);
    }
    autofree char *got = events(in, n, SIZE_MAX);
    assert_string_equal(got, want);
}

static void framing(void **state)
{
    (void)state;
    same("data: a\n\ndata: b\n\n", "[|a][|b]");
    same("data: a\r\n\r\ndata: b\r\n\r\n", "[|a][|b]");
    same("data: a\r\rdata: b\r\r", "[|a][|b]");
    same("data:a\n\ndata:  b\n\n", "[|a][| b]");
    same("data: a\ndata: b\n\n", "[|a\nb]");
    same("\xef\xbb\xbf"
         "data: a\n\n",
         "[|a]");
    same("  data: a\n\n", "[|a]");
    same(": c\n\n:\n\ndata: a\nid: 1\nretry: 5\nnonsense\n\n", "[|a]");
    same("event: ping\ndata: a\n\ndata: b\n\n", "[ping|a][|b]");
    same("data:\n\ndata\n\ndata: a\n\n", "[|a]");
    same("data: a", "[~|a]");
    same("data: a\n", "[~|a]");
    same("data: a\n\ndata: [DONE]", "[|a][~|[DONE]]");
    same("error: x\n\ndata: a\n\n", "[!|x][|a]");
    same("data: a\nerror: x\n\n", "[|a][!|x]");
    same("database: a\n\n", "");
    same("\n\n\n", "");
    same("", "");
}

static void caps(void **state)
{
    (void)state;
    struct buf out = BUF_INIT(0);
    struct sse s;
    char line[600];
    memset(line, 'x', sizeof line);
    sse_init(&s, 1000, collect, &out);
    assert_int_equal(sse_feed(&s, line, 600), 0);
    assert_int_equal(sse_feed(&s, line, 600), -1); /* a line without an end */
    sse_release(&s);
    sse_init(&s, 1000, collect, &out);
    int rc = 0;
    for (int i = 0; i < 400 && !rc; i++) /* an event without an end */
        rc = sse_feed(&s, "data: aaaa\n", 11);
    assert_int_equal(rc, -1);
    sse_release(&s);
    sse_init(&s, 1000, collect, &out);
    buf_clear(&out);
    assert_int_equal(sse_feed(&s, "data: a\0b\n\n", 11), 0);
    assert_int_equal(out.len, 6);
    assert_memory_equal(out.data, "[|a\0b]", 6);
    sse_release(&s);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(framing), cmocka_unit_test(caps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
