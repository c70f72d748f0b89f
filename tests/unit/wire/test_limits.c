/* test_limits.c - the sizes at which reading a reply ends: each at its limit and one beyond, in one piece and
 * in many. What is read at a limit is a reply, what is beyond is one clear error (or, where a model only
 * talks too long, a reply cut by length).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "json/json.h"
#include "base/mem.h"
#include "wire/reply.h"

#define MIB (1u << 20)

struct got {
    int rc;
    struct llm_reply r;
    struct failure f;
};

static void read_in(const struct buf *body, size_t piece, struct got *g)
{
    static const struct llm_tool tool = {"execute_python", "", "{}", "code"};
    static const struct prompts none = {0};
    struct llm_request q = {.prompts = &none, .tools = {&tool, 1}};
    struct reply a;
    *g = (struct got){0};
    reply_init(&a, REPLY_MODE_NATIVE, &q, NULL);
    for (size_t at = 0, n; at < body->len; at += n) {
        n = body->len - at < piece ? body->len - at : piece;
        if (!reply_feed(&a, body->data + at, n))
            break;
    }
    g->rc = reply_finish(&a, false, &g->r, &g->f);
    reply_release(&a);
}

/* In one piece, as libcurl gives it, and in a size that no boundary falls on. NULL word: it must be a reply.
 */
static void expect(const struct buf *body, const char *word, struct got *g)
{
    const size_t pieces[] = {SIZE_MAX, 16384, 9973};
    for (size_t i = 0; i < countof(pieces); i++) {
        if (i)
            llm_reply_release(&g->r);
        read_in(body, pieces[i], g);
        if (!word != !g->rc || (word && (g->f.class != FAILURE_PROTOCOL || !strstr(g->f.message, word))))
            fail_msg("%zu bytes in pieces of %zu: rc %d, class %d, %s", body->len, pieces[i], g->rc,
                     g->f.class, g->f.message);
    }
}

static void fill(struct buf *b, char c, size_t n)
{
    char *p = buf_space(b, n);
    assert_non_null(p);
    memset(p, c, n);
    b->len += n;
    buf_end(b);
}

static const char done[] =
    "data: {\"choices\":[{\"delta\":{\"content\":\"end\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/* An event whose data has n bytes, most of them in a member that nobody reads. */
static void add_event(struct buf *b, size_t n)
{
    static const char head[] = "data: {\"choices\":[],\"pad\":\"", tail[] = "\"}";
    size_t own = sizeof head - 1 - 6 + sizeof tail - 1;
    buf_addstr(b, head);
    fill(b, 'x', n - own);
    buf_addstr(b, tail);
    buf_addstr(b, "\n\n");
}

static void an_event(void **state)
{
    (void)state;
    struct got g;
    for (size_t over = 0; over < 2; over++) {
        struct buf b = BUF_INIT(0);
        add_event(&b, 8 * MIB + over);
        buf_addstr(&b, done);
        expect(&b, over ? "one event is larger than 8 MiB" : NULL, &g);
        if (!over)
            assert_string_equal(g.r.text, "end");
        llm_reply_release(&g.r);
        buf_release(&b);
    }
}

static void a_stream(void **state)
{
    (void)state;
    struct got g;
    for (size_t over = 0; over < 2; over++) {
        struct buf b = BUF_INIT(0);
        size_t want = 64 * MIB - (sizeof done - 1) + over * 32768; /* what follows the end does not count */
        while (want - b.len > 8 * MIB)
            add_event(&b, 4 * MIB);
        buf_addch(&b, ':');
        fill(&b, 'c', want - b.len - 1);
        buf_addch(&b, '\n');
        buf_addstr(&b, done);
        assert_int_equal(b.len, 64 * MIB + over * 32768);
        expect(&b, over ? "a reply larger than 64 MiB" : NULL, &g);
        llm_reply_release(&g.r);
        buf_release(&b);
    }
}

static void a_document(void **state)
{
    (void)state;
    static const char head[] = "{\"choices\":[{\"message\":{\"content\":\"",
                      tail[] = "\"},\"finish_reason\":\"stop\"}]}";
    struct got g;
    for (size_t over = 0; over < 2; over++) {
        struct buf b = BUF_INIT(0);
        buf_addstr(&b, head);
        fill(&b, 'x', 16 * MIB + over - (sizeof head - 1) - (sizeof tail - 1));
        buf_addstr(&b, tail);
        expect(&b, over ? "more than 16 MiB" : NULL, &g);
        if (!over) {
            assert_int_equal(strlen(g.r.text), MIB);
            assert_int_equal(g.r.finish, LLM_FINISH_LENGTH);
        }
        llm_reply_release(&g.r);
        buf_release(&b);
    }
}

static void nesting(void **state)
{
    (void)state;
    struct got g;
    for (size_t i = 0; i < 4; i++) {
        struct buf b = BUF_INIT(0);
        size_t depth = 200 + i % 2;
        buf_addstr(&b, i < 2 ? "data: {\"deep\":" : "{\"deep\":");
        fill(&b, '[', depth - 1); /* the object is one level */
        fill(&b, ']', depth - 1);
        buf_addstr(&b, ",\"choices\":[{\"message\":{\"content\":\"end\"},\"finish_reason\":\"stop\"}]}");
        buf_addstr(&b, i < 2 ? "\n\ndata: [DONE]\n\n" : "");
        expect(&b, depth > 200 ? "nested more than 200 deep" : NULL, &g);
        if (depth == 200)
            assert_string_equal(g.r.text, "end");
        llm_reply_release(&g.r);
        buf_release(&b);
    }
}

/* A string of n bytes in one field, whole or in deltas of 64 KiB. */
static void add_field(struct buf *b, const char *before, const char *after, size_t n, bool streamed)
{
    size_t step = streamed ? 64u << 10 : n;
    for (size_t at = 0, k; at < n; at += k) {
        k = n - at < step ? n - at : step;
        buf_addf(b, "%s{\"choices\":[{\"index\":0,\"%s\":%s", streamed ? "data: " : "",
                 streamed ? "delta" : "message", before);
        fill(b, 'x', k);
        buf_addf(b, "%s%s}]}%s", after, streamed ? "" : ",\"finish_reason\":\"stop\"",
                 streamed ? "\n\n" : "");
    }
    if (streamed)
        buf_addstr(b, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
}

static void text_and_reasoning(void **state)
{
    (void)state;
    struct got g;
    for (size_t i = 0; i < 8; i++) {
        struct buf b = BUF_INIT(0);
        bool text = i % 2, over = i / 2 % 2, streamed = i / 4;
        add_field(&b, text ? "{\"content\":\"" : "{\"reasoning_content\":\"", "\"}", MIB + over, streamed);
        expect(&b, NULL, &g);
        assert_int_equal(strlen(text ? g.r.text : g.r.reasoning), MIB);
        assert_int_equal(g.r.finish, over ? LLM_FINISH_LENGTH : LLM_FINISH_STOP);
        llm_reply_release(&g.r);
        buf_release(&b);
    }
}

/* Arguments are never cut: half a program is none. */
static void arguments(void **state)
{
    (void)state;
    static const char frame[] = "{\"code\":\"\"}";
    struct got g;
    for (size_t i = 0; i < 4; i++) {
        struct buf b = BUF_INIT(0);
        size_t over = i % 2, n = MIB + over - (sizeof frame - 1);
        bool streamed = i / 2;
        if (streamed) {
            buf_addstr(&b, "data: "
                           "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":"
                           "{\"name\":\"execute_python\","
                           "\"arguments\":\"{\\\"code\\\":\\\"\"}}]}}]}\n\n");
            for (size_t at = 0, k; at < n; at += k) {
                k = n - at < 65536 ? n - at : 65536;
                buf_addstr(
                    &b,
                    "data: "
                    "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"");
                fill(&b, 'x', k);
                buf_addstr(&b, "\"}}]}}]}\n\n");
            }
            buf_addstr(&b, "data: "
                           "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{"
                           "\"arguments\":\"\\\"}\"}}]},"
                           "\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n");
        } else {
            buf_addstr(&b, "{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":"
                           "\"execute_python\",\"arguments\":\"{\\\"code\\\":\\\"");
            fill(&b, 'x', n);
            buf_addstr(&b, "\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]}");
        }
        expect(&b, NULL, &g);
        assert_int_equal(g.r.n_calls, 1);
        if (over) {
            assert_non_null(strstr(g.r.calls[0].problem, "more than 1 MiB"));
            assert_string_equal(g.r.calls[0].call.arguments, "{}");
        } else {
            assert_null(g.r.calls[0].problem);
            assert_int_equal(strlen(g.r.calls[0].call.arguments), MIB);
        }
        llm_reply_release(&g.r);
        buf_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event), cmocka_unit_test(a_stream),           cmocka_unit_test(a_document),
        cmocka_unit_test(nesting),  cmocka_unit_test(text_and_reasoning), cmocka_unit_test(arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
