/* test_items.c - what is carried over: fragments made whole, nothing kept that only an answer may hold, all
 * or nothing over the cap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json/json.h"
#include "base/mem.h"
#include "wire/reasoning_items.h"

static void keep(struct reasoning_items *k, const struct json *item)
{
    reasoning_items_keep(k, item, -1);
}

static void feed(struct reasoning_items *k, void (*take)(struct reasoning_items *, const struct json *),
                 const char *text)
{
    autojson struct json *j = json_parse(text, strlen(text), 0, NULL, NULL);
    assert_non_null(j);
    take(k, j);
}

static void details(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "{\"type\":\"reasoning.text\",\"index\":0,\"text\":\"a\",\"format\":\"f\",\"signature\":null}",
        "{\"type\":\"reasoning.text\",\"index\":0,\"text\":\"b\"}",
        /* the signature alone */
        "{\"type\":\"reasoning.text\",\"index\":0,\"text\":null,\"signature\":\"s\"}",
        "{\"type\":\"reasoning.summary\",\"index\":0,\"summary\":\"x\"}",
        "{\"type\":\"reasoning.summary\",\"index\":1,\"summary\":\"y\"}",
        /* no index: each is whole */
        "{\"type\":\"reasoning.encrypted\",\"data\":\"E1\"}",
        "{\"type\":\"reasoning.encrypted\",\"data\":\"E2\"}",
        "[1]",
        "\"text\"",
    };
    struct reasoning_items k = {0};
    for (size_t i = 0; i < countof(pieces); i++)
        feed(&k, reasoning_items_add_detail, pieces[i]);
    autofree char *s = reasoning_items_text(&k);
    assert_string_equal(
        s, "[{\"type\":\"reasoning.text\",\"index\":0,\"format\":\"f\",\"signature\":\"s\",\"text\":\"ab\"},"
           "{\"type\":\"reasoning.summary\",\"index\":0,\"summary\":\"x\"},{\"type\":\"reasoning.summary\","
           "\"index\":1,\"summary\":\"y\"},"
           "{\"type\":\"reasoning.encrypted\",\"data\":\"E1\"},{\"type\":\"reasoning.encrypted\",\"data\":"
           "\"E2\"}]");
    reasoning_items_release(&k);
    assert_null(reasoning_items_text(&k));
}

static void output_items(void **state)
{
    (void)state;
    struct reasoning_items k = {0};
    feed(&k, keep,
         "{\"type\":\"reasoning\",\"id\":\"r\",\"summary\":[],\"content\":null,\"encrypted_content\":\"E\","
         "\"status\":\"completed\",\"new\":{\"a\":1}}");
    feed(&k, keep, "{\"type\":\"web_search_call\",\"id\":\"w\"}");
    feed(&k, keep,
         "{\"type\":\"message\",\"id\":\"m\",\"phase\":\"commentary\",\"status\":\"completed\",\"content\":[{"
         "\"text\":\"long\"}]}");
    feed(&k, keep,
         "{\"type\":\"function_call\",\"id\":\"f\",\"call_id\":\"c\",\"name\":\"n\",\"arguments\":\"long\"}");
    feed(&k, keep, "{\"type\":7}");
    autofree char *s = reasoning_items_text(&k);
    assert_string_equal(
        s,
        "[{\"type\":\"reasoning\",\"id\":\"r\",\"summary\":[],\"encrypted_content\":\"E\",\"new\":{\"a\":1}},"
        "{\"type\":\"message\",\"id\":\"m\",\"phase\":\"commentary\"},{\"type\":\"function_call\",\"id\":"
        "\"f\",\"call_id\":\"c\"}]");
    reasoning_items_release(&k);
}

static void over_the_cap(void **state)
{
    (void)state;
    struct reasoning_items k = {0}, p = {0};
    size_t n = 0;
    autofree char *big = xmalloc(100001);
    memset(big, 'x', 100000);
    big[100000] = '\0';
    autofree char *item = xasprintf("{\"type\":\"reasoning\",\"id\":\"r\",\"encrypted_content\":\"%s\"}",
                                    big);
    autofree char *piece = xasprintf("{\"type\":\"reasoning.text\",\"index\":0,\"text\":\"%s\"}", big);
    for (; n < REASONING_ITEMS_MAX / 100000 - 1; n++) {
        feed(&k, keep, item);
        feed(&p, reasoning_items_add_detail, piece);
    }
    assert_false(k.lost || p.lost);
    for (; n < REASONING_ITEMS_MAX / 100000 + 3; n++) {
        feed(&k, keep, item);
        feed(&p, reasoning_items_add_detail, piece);
    }
    assert_true(k.lost && p.lost);
    assert_null(reasoning_items_text(&k));
    assert_null(reasoning_items_text(&p));
    reasoning_items_release(&k);
    reasoning_items_release(&p);
}

/* An item of 200,000 members, each looked for among the others, would take minutes. */
static void too_many_members(void **state)
{
    (void)state;
    struct reasoning_items k = {0}, p = {0}, grown = {0};
    autojson struct json *item = json_object();
    json_set_str(item, "type", "reasoning");
    for (size_t i = json_size(item); i < REASONING_MEMBERS_MAX; i++) {
        autofree char *name = xasprintf("m%zu", i);
        autofree char *piece = xasprintf("{\"type\":\"reasoning.text\",\"index\":0,\"%s\":1}", name);
        json_set_int(item, name, 1);
        if (i < REASONING_MEMBERS_MAX - 3)
            feed(&grown, reasoning_items_add_detail, piece);
    }
    keep(&k, item);
    reasoning_items_add_detail(&p, item);
    assert_false(k.lost || p.lost || grown.lost);
    json_set_int(item, "one more", 1);
    keep(&k, item);
    reasoning_items_add_detail(&p, item);
    feed(&grown, reasoning_items_add_detail,
         "{\"type\":\"reasoning.text\",\"index\":0,\"a\":1,\"b\":1,\"c\":1}");
    assert_true(k.lost && p.lost && grown.lost);
    reasoning_items_release(&k);
    reasoning_items_release(&p);
    reasoning_items_release(&grown);
}

/* Items that overlap end in any order; they go back in that of the output. */
static void out_of_order(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        int64_t place;
    } order[] = {{"b", 1}, {"c", -1}, {"a", 0}, {"e", 7}, {"d", 3}};
    struct reasoning_items k = {0};
    for (size_t i = 0; i < countof(order); i++) {
        autojson struct json *o = json_object();
        json_set_str(o, "type", "message");
        json_set_str(o, "id", order[i].id);
        reasoning_items_keep(&k, o, order[i].place);
    }
    autofree char *s = reasoning_items_text(&k);
    assert_string_equal(s, "[{\"type\":\"message\",\"id\":\"a\"},{\"type\":\"message\",\"id\":\"b\"},{"
                           "\"type\":\"message\",\"id\":\"c\"},"
                           "{\"type\":\"message\",\"id\":\"d\"},{\"type\":\"message\",\"id\":\"e\"}]");
    reasoning_items_release(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(out_of_order), cmocka_unit_test(details),
                                       cmocka_unit_test(output_items), cmocka_unit_test(over_the_cap),
                                       cmocka_unit_test(too_many_members)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
