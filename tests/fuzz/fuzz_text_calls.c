/* fuzz_text_calls.c - any bytes as the text of a reply: the same text, thoughts and calls however it is
 * cut; with calls that the API has, all of it is text; a byte is never both lost and not part of a call;
 * what would run was there as a whole when it was found. The first byte picks how the reply ended.
 */
#include "tests/fuzz/fuzz.h"

#include "base/buf.h"
#include "json/json.h"
#include "calls/text_calls.h"

static const struct llm_tool tool = {"execute_python", "", "{}", "code"};
static const struct llm_toolset tools = {&tool, 1};

struct result {
    struct buf text, thoughts;
    struct calls calls;
    bool enough;
};

static void took(struct text_calls *k, struct result *r, struct buf *text, struct buf *thoughts)
{
    if (k->retracted) {
        buf_add(&r->thoughts, buf_str(&r->text), r->text.len);
        buf_clear(&r->text);
        k->retracted = false;
    }
    buf_add(&r->thoughts, buf_str(thoughts), thoughts->len);
    buf_add(&r->text, buf_str(text), text->len);
    buf_clear(text);
    buf_clear(thoughts);
}

static void run(const char *s, size_t n, uint32_t seed, enum text_end how, bool awaited, struct result *r)
{
    struct text_calls k;
    struct buf text = BUF_INIT(0), thoughts = BUF_INIT(0);
    *r = (struct result){0};
    text_calls_init(&k, &tools, &text, &thoughts);
    k.awaited = awaited;
    while (n > 0 && !r->enough) {
        size_t piece = seed != 0 ? fuzz_piece(&seed, n) : n;
        r->enough = text_calls_feed(&k, s, piece);
        took(&k, r, &text, &thoughts);
        s += piece;
        n -= piece;
    }
    text_calls_end(&k, how);
    took(&k, r, &text, &thoughts);
    calls_move(&r->calls, &k.calls);
    text_calls_release(&k);
    buf_release(&text);
    buf_release(&thoughts);
}

static void release(struct result *r)
{
    buf_release(&r->text);
    buf_release(&r->thoughts);
    calls_release(&r->calls);
}

static bool same_bytes(const struct buf *a, const struct buf *b)
{
    return a->len == b->len && memcmp(buf_str(a), buf_str(b), a->len) == 0;
}

static void check_same(const struct result *a, const struct result *b)
{
    check(same_bytes(&a->text, &b->text) && same_bytes(&a->thoughts, &b->thoughts));
    check(a->calls.n == b->calls.n && a->enough == b->enough);
    for (size_t i = 0; i < a->calls.n; i++)
        check(strcmp(a->calls.v[i].call.arguments, b->calls.v[i].call.arguments) == 0
              && (a->calls.v[i].problem == NULL) == (b->calls.v[i].problem == NULL));
}

static void check_calls(const struct calls *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct json *j = json_parse(c->v[i].call.arguments, strlen(c->v[i].call.arguments), 0, NULL, NULL);
        check(json_type(j) == JSON_OBJECT && c->v[i].call.id != NULL);
        if (c->v[i].problem == NULL)
            check(strcmp(c->v[i].call.name, tool.name) == 0 && json_str(json_get(j, "code")) != NULL);
        json_free(j);
    }
}

/* Nothing came but text: every byte of it is there, in its place. */
static void check_nothing_lost(const struct result *r, const char *s, size_t n)
{
    if (r->calls.n > 0 || r->thoughts.len > 0 || r->enough)
        return;
    size_t skip = n - r->text.len; /* an empty thought may have gone, and the white space behind it */
    check(r->text.len <= n && memcmp(buf_str(&r->text), s + skip, r->text.len) == 0);
    check(skip == 0 || memmem(s, skip, "ink>", 4) != NULL || memmem(s, skip, "INK]", 4) != NULL
          || memmem(s, skip, "ght>", 4) != NULL || memmem(s, skip, "ing>", 4) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *s = fuzz_exact(data + 1, size - 1);
    enum text_end how = data[0] % 3;
    bool awaited = data[0] & 0x40;
    struct result whole, cut, all;
    run(s, size - 1, 0, how, awaited, &whole);
    run(s, size - 1, (uint32_t)size * 2 + 1, how, awaited, &cut);
    run(s, size - 1, 0, TEXT_ONLY, awaited, &all);
    check_same(&whole, &cut);
    check_calls(&whole.calls);
    check(all.calls.n == 0);
    check_nothing_lost(&whole, s, size - 1);
    release(&whole);
    release(&cut);
    release(&all);
    free(s);
    return 0;
}
