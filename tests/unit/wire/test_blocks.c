/* test_blocks.c - the grammar of blocks, thinking and leaked calls over streamed text: every cut gives the
 * same, prefixes never run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "wire/reply.h"
#include "calls/blocks.h"

/* "text|state|code" with state T text, O other fence, C open, X closed. */
static char *grammar(const char *s, size_t n, size_t cut, bool whole)
{
    struct blocks b;
    struct buf out = BUF_INIT(0);
    blocks_init(&b);
    for (size_t at = 0; at < n;) {
        size_t k = cut == SIZE_MAX ? 1 : at < cut ? cut - at : n - at;
        char *piece = xmemdup0(s + at, k);
        blocks_feed(&b, piece, k, &out);
        free(piece);
        at += k;
    }
    blocks_end(&b, whole, &out);
    buf_addf(&out, "|%c|%s", "TOCX"[b.state], b.state >= BLOCKS_CODE ? buf_str(&b.code) : "");
    blocks_release(&b);
    return buf_steal(&out, NULL);
}

static void is(const char *in, const char *want)
{
    size_t n = strlen(in);
    for (size_t cut = 0; cut <= n; cut++) {
        autofree char *got = grammar(in, n, cut, true);
        assert_string_equal(got, want);
    }
    autofree char *got = grammar(in, n, SIZE_MAX, true);
    assert_string_equal(got, want);
}

static void fences(void **state)
{
    (void)state;
    is("hi", "hi|T|");
    is("```python\nx\n```\n", "|X|x\n");
    is("```python\nx\n```", "|X|x\n");
    is("a\n\n```py\nx\ny\n```\nmore", "a\n\n|X|x\ny\n");
    is("```Python3\nx\n```\n", "|X|x\n");
    is("```PYTHON title=\"a\"\nx\n```\n", "|X|x\n");
    is("``` python \nx\n```\n", "|X|x\n");
    is("```\nx\n```\n", "```\nx\n```\n|T|");
    is("```text\nx\n```\n", "```text\nx\n```\n|T|");
    is("```pythonx\nx\n```\n", "```pythonx\nx\n```\n|T|");
    is("```bash\nls\n```\n```python\nx\n```\n", "```bash\nls\n```\n|X|x\n");
    is("````markdown\n```python\nx\n```\n````\nend", "````markdown\n```python\nx\n```\n````\nend|T|");
    is("````python\ns = '''\n```\n'''\n````\n", "|X|s = '''\n```\n'''\n");
    is("~~~python\n```\nx\n~~~\n", "|X|```\nx\n");
    is("```python\nx\n~~~\n```\n", "|X|x\n~~~\n");
    is("```python\nx\n````\n", "|X|x\n");
    is("```python\nx\n``` \n", "|X|x\n");
    is("```python\nx\n```py\ny\n```\n", "|X|x\n```py\ny\n");
    is("1. do\n   ```python\n   if a:\n       b\n   ```\n", "1. do\n|X|if a:\n    b\n");
    is("```python\r\nx\r\n```\r\n", "|X|x\n");
    is("```python print(1)```\nend", "```python print(1)```\nend|T|");
    is("use ```python\nx\n```\n", "use ```python\nx\n```\n|O|");
    is("``python\nx\n", "``python\nx\n|T|");
    is("```python\nx = 1", "|C|x = 1");
    is("```python\n", "|C|");
    is("```python", "```python|T|");
    is("```python\n```\n", "|X|");
    is("`a` and ``b``\n`", "`a` and ``b``\n`|T|");
    is("   \n  text", "   \n  text|T|");
    is("```python\nx\n```\nThe output is 9\n```python\ny\n```\n", "|X|x\n");
}

static void prefixes_never_run(void **state)
{
    (void)state;
    const char *s = "So:\n```python\nprint('``')\nx\n```\nand";
    size_t end = (size_t)(strstr(s, "\nand") - s);
    for (size_t n = 0; n <= strlen(s); n++) {
        autofree char *got = grammar(s, n, 0, false);
        bool closed = strstr(got, "|X|") != NULL;
        assert_int_equal(closed, n > end);
        if (closed)
            assert_string_equal(got, "So:\n|X|print('``')\nx\n");
    }
}

/* Text goes out as soon as it can be nothing else. */
static void held_back_no_longer_than_needed(void **state)
{
    (void)state;
    struct blocks b;
    struct buf out = BUF_INIT(0);
    blocks_init(&b);
    blocks_feed(&b, "abc", 3, &out);
    assert_string_equal(buf_str(&out), "abc");
    blocks_feed(&b, "\n``", 3, &out);
    assert_string_equal(buf_str(&out), "abc\n");
    blocks_feed(&b, "x", 1, &out);
    assert_string_equal(buf_str(&out), "abc\n``x");
    blocks_release(&b);
    buf_release(&out);
}

static const struct llm_tool python = {"execute_python", "", "{}", "code"};

/* A reply of pieces (NULL-terminated), then a finish. */
static int reply(enum reply_mode mode, const char *const *pieces, const char *finish, struct llm_reply *r,
                 struct buf *heard);

static void hear(void *ctx, const char *s, size_t n)
{
    buf_add(ctx, s, n);
}

static int reply(enum reply_mode mode, const char *const *pieces, const char *finish, struct llm_reply *r,
                 struct buf *heard)
{
    struct prompts none = {0};
    struct llm_request q = {.prompts = &none, .tools = {&python, 1}};
    struct llm_listener l = {.ctx = heard, .text = hear};
    struct reply a;
    struct failure f;
    *r = (struct llm_reply){0};
    reply_init(&a, mode, &q, &l);
    for (; *pieces; pieces++) {
        struct buf b = BUF_INIT(0);
        /* the tests write JSON escapes */
        buf_addf(&b, "data: {\"choices\":[{\"delta\":{\"content\":\"%s\"}}]}\n\n", *pieces);
        reply_feed(&a, b.data, b.len);
        buf_release(&b);
    }
    if (finish) {
        char end[128];
        snprintf(end, sizeof end,
                 "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"%s\"}]}\n\ndata: [DONE]\n\n", finish);
        reply_feed(&a, end, strlen(end));
    }
    int rc = reply_finish(&a, finish == NULL, r, &f);
    reply_release(&a);
    return rc;
}

static void block_replies(void **state)
{
    (void)state;
    struct llm_reply r;
    struct buf heard = BUF_INIT(0);
    const char *const closed[] = {"Let me.\\n``", "`python\\nprint(1)\\n``", "`\\nThe output is 2", NULL};
    /* the transfer was stopped at the fence */
    assert_int_equal(reply(REPLY_MODE_BLOCKS, closed, NULL, &r, &heard), 0);
    assert_int_equal(r.n_calls, 1);
    assert_null(r.calls[0].problem);
    assert_string_equal(r.calls[0].call.arguments, "{\"code\":\"print(1)\\n\"}");
    assert_string_equal(r.text, "Let me.");
    assert_string_equal(buf_str(&heard), "Let me.\n");
    llm_reply_release(&r);
    buf_clear(&heard);

    const char *const open[] = {"```python\\nprint(1)", NULL};
    assert_int_equal(reply(REPLY_MODE_BLOCKS, open, "stop", &r, &heard), 0);
    assert_int_equal(r.n_calls, 1);
    assert_null(r.calls[0].problem);
    llm_reply_release(&r);
    assert_int_equal(reply(REPLY_MODE_BLOCKS, open, "length", &r, &heard), 0);
    assert_int_equal(r.n_calls, 1);
    assert_non_null(strstr(r.calls[0].problem, "cut off"));
    assert_string_equal(r.calls[0].call.arguments, "{}");
    assert_int_equal(r.finish, LLM_FINISH_LENGTH);
    llm_reply_release(&r);
    assert_int_equal(reply(REPLY_MODE_BLOCKS, open, NULL, &r, &heard), -1); /* cut by the network */
    assert_int_equal(r.n_calls, 0);
    llm_reply_release(&r);
    const char *const almost[] = {"```python\\nprint(1)\\n```", NULL};
    assert_int_equal(reply(REPLY_MODE_BLOCKS, almost, "length", &r, &heard), 0);
    assert_non_null(r.calls[0].problem);
    llm_reply_release(&r);
    const char *const empty[] = {"```python\\n\\n```\\n", NULL};
    assert_int_equal(reply(REPLY_MODE_BLOCKS, empty, "stop", &r, &heard), 0);
    assert_string_equal(r.calls[0].problem, "the block is empty");
    llm_reply_release(&r);
    buf_release(&heard);
}

static void native_replies(void **state)
{
    (void)state;
    struct llm_reply r;
    struct buf heard = BUF_INIT(0);
    const char *const block[] = {"Try:\\n```python\\nprint(1)\\n```\\nok", NULL};
    assert_int_equal(reply(REPLY_MODE_NATIVE, block, "stop", &r, &heard), 0);
    assert_int_equal(r.n_calls, 0);
    assert_string_equal(r.text, "Try:\n```python\nprint(1)\n```\nok");
    assert_string_equal(buf_str(&heard), r.text);
    assert_true(reply_has_block(r.text));
    llm_reply_release(&r);
    buf_clear(&heard);
    /* words around it: an answer, given again */
    assert_int_equal(reply(REPLY_MODE_NUDGED, block, "stop", &r, &heard), 0);
    assert_int_equal(r.n_calls, 0);
    assert_string_equal(r.text, "Try:\n```python\nprint(1)\n```\nok");
    llm_reply_release(&r);
    buf_clear(&heard);
    const char *const bare[] = {"\\n``", "`python\\nprint(1)\\n``", "`\\n \\n", NULL};
    assert_int_equal(reply(REPLY_MODE_NUDGED, bare, "stop", &r, &heard), 0);
    assert_int_equal(r.n_calls, 1);
    assert_string_equal(r.calls[0].call.arguments, "{\"code\":\"print(1)\\n\"}");
    assert_string_equal(r.text, "");
    llm_reply_release(&r);
    buf_clear(&heard);
    const char *const json[] = {"Sure.\\n", "```js", "on\\n{\\\"na", "me\\\": \\\"x\\\"}\\n```\\nok", NULL};
    assert_int_equal(reply(REPLY_MODE_NATIVE, json, "stop", &r, &heard), 0);
    assert_string_equal(buf_str(&heard), "Sure.\n```json\n{\"name\": \"x\"}\n```\nok");
    llm_reply_release(&r);
    assert_false(reply_has_block("```json\n{}\n```"));
    assert_false(reply_has_block("no"));
    buf_release(&heard);
}

static void endless_text_is_cut(void **state)
{
    (void)state;
    struct prompts none = {0};
    struct llm_request q = {.prompts = &none, .tools = {&python, 1}};
    struct reply a;
    struct failure f;
    struct llm_reply r = {0};
    struct buf b = BUF_INIT(0);
    buf_addstr(&b, "data: {\"choices\":[{\"delta\":{\"content\":\"");
    for (int i = 0; i < 10000; i++)
        buf_addstr(&b, "-001\xc3\xa4");
    buf_addstr(&b, "\"}}]}\n\n");
    reply_init(&a, REPLY_MODE_NATIVE, &q, NULL);
    int n = 0;
    while (n < 100 && reply_feed(&a, b.data, b.len))
        n++;
    assert_true(n < 30);
    assert_int_equal(reply_finish(&a, false, &r, &f), 0);
    assert_int_equal(r.finish, LLM_FINISH_LENGTH);
    assert_true(strlen(r.text) <= 1 << 20 && strlen(r.text) > (1 << 20) - 8);
    reply_release(&a);
    llm_reply_release(&r);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fences),
        cmocka_unit_test(prefixes_never_run),
        cmocka_unit_test(held_back_no_longer_than_needed),
        cmocka_unit_test(block_replies),
        cmocka_unit_test(native_replies),
        cmocka_unit_test(endless_text_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
