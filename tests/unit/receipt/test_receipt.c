/* test_receipt.c - a receipt as JSON and back, receipts that are no such thing, and what counts as the
 * same result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "receipt/compare.h"
#include "receipt/receipt.h"

#define SHA  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define DATA "{\"name\":\"a.csv\",\"size\":3,\"sha256\":\"" SHA "\",\"piece\":1}"
#define CODE                                                                                               \
    "{\"code\":\"1\",\"question\":1,\"own\":false,\"restart\":false,\"status\":\"ok\",\"exception\":null," \
    "\"stdout\":\"a\\nb\\n\",\"stderr\":\"\",\"value\":\"1\",\"files\":[{\"name\":\"f/x.txt\",\"size\":1," \
    "\"sha256\":null,\"kind\":\"file\"}]}"
#define QUESTION                                                                                     \
    "{\"text\":\"q\",\"time\":\"2026-11-27T03:00:00Z\",\"model\":\"m\",\"service\":null,\"answer\":" \
    "\"It is 1.\"}"
#define PLACE                                                                                  \
    "{\"piece\":1,\"engine\":\"bwrap\",\"image\":null,\"runtime\":null,\"python\":\"3.11.2\"," \
    "\"packages\":{\"numpy\":\"1.24.2\"},\"sandpiper\":\"0.1.0\"}"
#define WHOLE                                                                                     \
    "{\"receipt\":1,\"made\":\"2026-11-27T03:00:00Z\",\"sandpiper\":\"0.1.0\",\"session\":\"s\"," \
    "\"questions\":[" QUESTION "],\"data\":[" DATA "],\"code\":[" CODE "],\"places\":[" PLACE "]}"

static void test_there_and_back(void **state)
{
    struct receipt r = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(receipt_read(WHOLE, strlen(WHOLE), &r, &err), 0);
    assert_int_equal(r.n_pieces, 1);
    assert_string_equal(r.pieces[0].files[0].name, "f/x.txt");
    assert_string_equal(r.places[0].packages.v[0], "numpy 1.24.2");
    autojson struct json *o = receipt_json(&r);
    autofree char *text = json_print(o);
    assert_string_equal(text, WHOLE);
    receipt_release(&r);
}

/* The receipt with the first occurrence of old replaced. */
static char *changed(const char *old, const char *new)
{
    const char *at = strstr(WHOLE, old);

    assert_non_null(at);
    return xasprintf("%.*s%s%s", (int)(at - WHOLE), WHOLE, new, at + strlen(old));
}

static void test_what_is_no_receipt(void **state)
{
    static const struct {
        const char *old, *new, *says;
    } cases[] = {
        {WHOLE, "", "not a valid receipt"},
        {WHOLE, "[]", "not a receipt of sandpiper"},
        {WHOLE, "{\"a\":1}", "not a receipt of sandpiper"},
        {"\"receipt\":1", "\"receipt\":2", "newer than this sandpiper"},
        {"\"receipt\":1", "\"receipt\":\"1\"", "receipt is no number"},
        {"\"data\":[", "\"data\":7,\"x\":[", "data is no list"},
        {"\"data\":[", "\"data\":[1,", "data[0] is no object"},
        {"a.csv", "../a.csv", "data[0].name is no name of a file below /mnt/data"},
        {"a.csv", "/etc/passwd", "data[0].name is no name"},
        {"a.csv", "a/./b", "data[0].name is no name"},
        {"a.csv", "a//b", "data[0].name is no name"},
        {"a.csv", "", "data[0].name is no name"},
        {"a.csv", "a\\nb", "data[0].name is no name"},
        {"f/x.txt", "f/../../x", "code[0].files[0].name is no name"},
        {SHA, "0123", "data[0].sha256 is not 64 hexadecimal digits"},
        {"\"size\":3", "\"size\":-1", "data[0].size is out of range"},
        {"\"size\":3", "\"size\":1e99", "data[0].size is out of range"},
        {"\"piece\":1}", "\"piece\":0}", "data[0].piece is out of range"},
        {"\"question\":1", "\"question\":2", "code[0].question is out of range"},
        {"\"own\":false", "\"own\":0", "code[0].own is neither true nor false"},
        {"\"ok\"", "\"fine\"", "code[0].status is none"},
        {"\"ok\"", "\"not_run\"", "code[0].status is none"},
        {"\"code\":\"1\"", "\"code\":null", "code[0].code is no string"},
        {"\"kind\":\"file\"", "\"kind\":\"x\"", "code[0].files[0].kind is none"},
        {"T03:00:00Z\",\"model", "\",\"model", "questions[0].time is no time"},
        {"\"1.24.2\"", "1", "places[0].packages has a member"},
        {"\"numpy\"", "\"a b\"", "places[0].packages has a member"},
        {"\"packages\":{\"numpy\":\"1.24.2\"}", "\"packages\":[]", "places[0].packages is no object"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct receipt r = {0};
        struct error err = {0};
        autofree char *text = changed(cases[i].old, cases[i].new);

        assert_int_equal(receipt_read(text, strlen(text), &r, &err), -1);
        assert_int_equal(err.kind, ERROR_USAGE);
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s: %s", cases[i].new, err.text);
        receipt_release(&r);
    }
}

static void test_limits(void **state)
{
    struct buf deep = BUF_INIT(0), many = BUF_INIT(0);
    struct receipt r = {0};
    struct error err = {0};

    (void)state;
    for (int i = 0; i < 100000; i++)
        buf_addstr(&deep, "{\"a\":");
    assert_int_equal(receipt_read(buf_str(&deep), deep.len, &r, &err), -1);
    buf_addstr(&many, "\"code\":[");
    for (int i = 0; i < RECEIPT_PIECES; i++)
        buf_addstr(&many, CODE ",");
    autofree char *text = changed("\"code\":[", buf_str(&many));
    assert_int_equal(receipt_read(text, strlen(text), &r, &err), -1);
    assert_non_null(strstr(err.text, "code has too many elements"));
    receipt_release(&r);
    buf_release(&deep);
    buf_release(&many);
}

/* ---- what is the same */

static struct receipt with_output(const char *text, const char *answer)
{
    struct receipt r = {0};
    struct receipt_question *q = receipt_add_question(&r);
    struct receipt_piece *p = receipt_add_piece(&r);

    *q = (struct receipt_question){.text = xstrdup("q"), .answer = xstrdup(answer), .time = 1795748400};
    *p = (struct receipt_piece){
        .code = xstrdup("1"), .question = 1, .out[0] = xstrdup(text), .out[1] = xstrdup("")};
    r.made = 1795834800; /* the day after */
    return r;
}

static void test_outputs(void **state)
{
    static const struct {
        const char *then, *now, *again, *answer; /* again NULL: there is no second run */
        const char *where;                       /* of the first difference; NULL: there is none */
        size_t changing;
    } cases[] = {
        {"a\nb\n", "a\nb\n", NULL, "", NULL, 0},
        {"a\nb\n", "a\nc\n", NULL, "", "piece 1, line 2 of its output", 0},
        {"a\nb\n", "a\nc\n", "a\nc\n", "", "piece 1, line 2 of its output", 0},
        {"a\nb\n", "a\n", "a\n", "", "piece 1, line 2 of its output", 0},
        {"a\n", "a\nb\n", "a\nb\n", "", "piece 1, line 2 of its output", 0},
        {"a\n", "b\n", "b\n", "", "piece 1, its output", 0},
        {"", "b\n", "b\n", "", "piece 1, its output", 0},
        /* addresses, and numbers to 12 digits */
        {"<A at 0x7f3a5c1d2e50>", "<A at 0x7f11223344a0>", NULL, "", NULL, 0},
        {"0.30000000000000004", "0.30000000000000010", NULL, "", NULL, 0},
        {"0.3000001", "0.3", NULL, "", "piece 1, its output", 0},
        {"12", "13", NULL, "", "piece 1, its output", 0},
        /* a set, but no list */
        {"{'a', 'b'}", "{'b', 'a'}", NULL, "", NULL, 0},
        {"['a', 'b']", "['b', 'a']", NULL, "", "piece 1, its output", 0},
        /* what is another again */
        {"took 0.31 s", "took 0.35 s", "took 0.29 s", "It is 5.", NULL, 1},
        {"took 0.31 s", "took 0.35 s", "took 0.35 s", "It is 5.", "piece 1, its output", 0},
        {"took 0.31 s, 5", "took 0.35 s, 6", "took 0.29 s, 6", "It is 5.", "piece 1, its output", 0},
        {"rolled 4", "rolled 2", "rolled 6", "You rolled 4.", "piece 1, its output", 0},
        {"mean 0.4821", "mean 0.5012", "mean 0.4911", "About 0.48.", "piece 1, its output", 0},
        {"a b", "c", "d e f", "", NULL, 1},
        {"1\n2\n", "1\n", "1\n2\n3\n", "none", NULL, 1},
        {"7\n2\n", "1\n", "1\n2\n3\n", "It is 7", "piece 1, its output", 0},
        /* the day of then and today */
        {"on 2026-11-27 it was 5", "on 2026-11-28 it was 5", NULL, "", NULL, 1},
        {"on 2026-11-26 it was 5", "on 2026-11-28 it was 5", NULL, "", "piece 1, its output", 0},
        {"on 2026-11-27 it was 5", "on 2026-11-28 it was 6", NULL, "", "piece 1, its output", 0},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct receipt then = with_output(cases[i].then, cases[i].answer),
                       now = with_output(cases[i].now, ""),
                       again = with_output(cases[i].again ? cases[i].again : "", "");
        struct comparison c = {0};

        receipt_compare(&then, &now, cases[i].again ? &again : NULL, &c);
        if (!c.where != !cases[i].where || (c.where && strcmp(c.where, cases[i].where) != 0)
            || c.changing.n != cases[i].changing)
            fail_msg("%s, %s: %s, %zu changing", cases[i].then, cases[i].now, c.where, c.changing.n);
        comparison_release(&c);
        receipt_release(&then);
        receipt_release(&now);
        receipt_release(&again);
    }
}

static void add_file(struct receipt *r, const char *name, char digit)
{
    struct receipt_file *f = receipt_add_file(&r->pieces[0]);

    f->name = xstrdup(name);
    memset(f->sha256, digit, SHA256_HEX - 1);
}

static void test_files_and_versions(void **state)
{
    struct receipt then = with_output("", ""), now = with_output("", ""), again = with_output("", "");
    struct comparison c = {0};

    (void)state;
    add_file(&then, "same.txt", 'a'), add_file(&now, "same.txt", 'a'), add_file(&again, "same.txt", 'a');
    add_file(&then, "plot.png", 'a'), add_file(&now, "plot.png", 'b'), add_file(&again, "plot.png", 'b');
    add_file(&then, "t.xlsx", 'a'), add_file(&now, "t.xlsx", 'b'), add_file(&again, "t.xlsx", 'c');
    receipt_add_packages(receipt_add_place(&then), "python 3.11.2\nnumpy 1.24.2\nsix 1.0\n");
    receipt_add_packages(receipt_add_place(&now), "python 3.12.1\nnumpy 2.0\n");
    receipt_compare(&then, &now, &again, &c);
    assert_int_equal(c.differences, 0);
    assert_int_equal(c.files, 1);
    assert_string_equal(c.changing.v[0], "piece 1, its file t.xlsx");
    assert_string_equal(c.not_compared.v[0], "plot.png");
    assert_int_equal(c.versions.n, 2);
    assert_string_equal(c.versions.v[0], "Python 3.11.2 (here 3.12.1)");
    assert_string_equal(c.versions.v[1], "numpy 1.24.2 (here 2.0)");
    comparison_release(&c);
    add_file(&then, "gone.txt", 'a');
    add_file(&now, "new.txt", 'a');
    receipt_compare(&then, &now, NULL, &c);
    assert_int_equal(c.differences, 3); /* without a second run t.xlsx is one */
    comparison_release(&c);
    receipt_release(&then);
    receipt_release(&now);
    receipt_release(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_what_is_no_receipt),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_files_and_versions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
