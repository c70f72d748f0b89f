/* test_json.c - the one door for JSON: what it refuses, repairs, and keeps. */
#include "tests/unit/unit.h"

#include <locale.h>

#include "base/buf.h"
#include "base/error.h"
#include "json/json.h"
#include "base/mem.h"

#define R "\xef\xbf\xbd"

static struct json *parse(const char *text)
{
    return json_parse(text, strlen(text), 0, NULL, NULL);
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int at;
    } rows[] = {
        {"", 0},
        {"  ", 2},
        {"{", 1},
        {"[1,2", 4},
        {"\"abc", 4},
        {"\"a\\", 3},
        {"\"a\\u12", 6},
        {"tru", 3},
        {"-", 1},
        {"1.", 2},
        {"1e", 2},
        {"{\"a\"", 4},
        {"{\"a\":", 5},
        {"{\"a\":1", 6},
        {"{\"a\":1,", 7},
        {"nul!", 0},
        {"None", 0},
        {"NaN", 0},
        {"Infinity", 0},
        {"'a'", 0},
        {"{a:1}", 1},
        {"{\"a\" 1}", 5},
        {"[1 2]", 3},
        {"[1,]", 3},
        {"{\"a\":1,}", 7},
        {"[,1]", 1},
        {"01", 0},
        {"-01", 1},
        {"+1", 0},
        {".5", 0},
        {"1.x", 2},
        {"0x10", 1},
        {"1 2", 2},
        {"{}{}", 2},
        {"{} x", 3},
        {"[}", 1},
        {"{]", 1},
        {"[1}", 2},
        {"\"a\nb\"", 2},
        {"\"\t\"", 1},
        {"\"\\x41\"", 1},
        {"\"\\u12g4\"", 1},
        {"// c\n1", 0},
        {"\v1", 0},
        {"\xc2\xa0"
         "1",
         0},
        {"{1:2}", 1},
        {"1-2", 1},
        {"--1", 1},
        {"]", 0},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct error e = {0};
        struct json *j = json_parse(rows[i].text, strlen(rows[i].text), 0, NULL, &e);
        if (j != NULL || e.kind != ERROR_PROTOCOL || e.code != rows[i].at)
            fail_msg("%s: %s", rows[i].text, j != NULL ? "accepted" : e.text);
    }
    assert_null(json_parse("1\0", 2, 0, NULL, NULL));
    assert_null(json_parse("\"\0\"", 3, 0, NULL, NULL));
    assert_null(json_parse(NULL, 0, 0, NULL, NULL));
}

static void accepts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *printed;
    } rows[] = {
        {"null", "null"},
        {" true\r\n\t", "true"},
        {"-0", "-0"},
        {"0", "0"},
        {"-12", "-12"},
        {"1.5", "1.5"},
        {"0.1", "0.1"},
        {"\"\"", "\"\""},
        {"[]", "[]"},
        {"{}", "{}"},
        {"[[],{}]", "[[],{}]"},
        {"{\"a\":[1,{\"b\":null}]}", "{\"a\":[1,{\"b\":null}]}"},
        {"\xef\xbb\xbf{}", "{}"},
        {"{\"\":1}", "{\"\":1}"},
        {"{\"a\":1,\"A\":2}", "{\"a\":1,\"A\":2}"},
        {"\"\\u00e9\\ud83d\\ude00\\n\\/\"", "\"é😀\\n/\""},
        {"\"\\\"\\\\\\b\\f\\r\\t\"", "\"\\\"\\\\\\b\\f\\r\\t\""},
        {"{\"a\":1}", "{\"a\":1}"},
        {" [ 1 , 2 ] ", "[1,2]"},
        {"{ \"a\" : 1 , \"b\" : 2 }", "{\"a\":1,\"b\":2}"},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        autojson struct json *j = parse(rows[i].text);
        if (j == NULL)
            fail_msg("%s", rows[i].text);
        autofree char *text = json_print(j);
        assert_string_equal(text, rows[i].printed);
    }
}

static void repairs_instead_of_losing(void **state)
{
    (void)state;
    static const struct {
        const char *text, *str;
    } rows[] = {
        {"\"a\\u0000b\"", "a" R "b"},
        {"\"\\ud800\"", R},
        {"\"\\udc00x\"", R "x"},
        {"\"\\ud800\\ud83d\\ude00\"", R "😀"},
        {"\"\\ud83d\\n\"", R "\n"},
        {"\"\\ud83d\\u0041\"", R "A"},
        {"\"\\ud800\\u0000\"", R R},
        {"\"a\xff"
         "b\"",
         "a" R "b"},
        {"\"\xe2\x82\"", R},
        {"\"\xed\xa0\x80\"", R R R},
        {"\"\xc0\x80\"", R R},
        {"\"\\ud83d\\ude00\\ude00\"", "😀" R},
        {"\"\xf0\x9f\x98\"", R},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        autojson struct json *j = parse(rows[i].text);
        if (j == NULL || strcmp(json_str(j), rows[i].str) != 0)
            fail_msg("%s: %s", rows[i].text, j != NULL ? json_str(j) : "refused");
        struct buf nested = BUF_INIT(0); /* the same within other text, behind a byte order mark */
        buf_addf(&nested, "\xef\xbb\xbf [1, {\"k\": %s, \"l\": [%s]}, \"tail\" ] ", rows[i].text,
                 rows[i].text);
        autojson struct json *n = json_parse(nested.data, nested.len, 0, NULL, NULL);
        assert_string_equal(json_str(json_get(json_at(n, 1), "k")), rows[i].str);
        assert_string_equal(json_str(json_at(json_get(json_at(n, 1), "l"), 0)), rows[i].str);
        assert_string_equal(json_str(json_at(n, 2)), "tail");
        buf_release(&nested);
    }
    autojson struct json *key = parse("{\"a\\u0000\":1}");
    assert_int_equal(json_int(json_get(key, "a" R), 0), 1);
    assert_null(json_get(key, "a"));
}

static void depth(void **state)
{
    (void)state;
    char text[2 * 300 + 1];
    for (size_t n = JSON_DEPTH; n <= JSON_DEPTH + 1; n++) {
        memset(text, '[', n);
        memset(text + n, ']', n);
        struct error e = {0};
        autojson struct json *j = json_parse(text, 2 * n, 0, NULL, &e);
        assert_int_equal(j != NULL, n <= JSON_DEPTH);
        if (j == NULL)
            assert_int_equal(e.code, JSON_DEPTH);
    }
    size_t million = 1000000;
    char *deep = xmalloc(million);
    memset(deep, '[', million);
    assert_null(json_parse(deep, million, 0, NULL, NULL));
    free(deep);
}

static void too_long(void **state)
{
    (void)state;
    size_t n = JSON_BYTES + 1;
    char *text = xmalloc(n);
    memset(text, ' ', n);
    text[0] = '1';
    struct error e = {0};
    assert_null(json_parse(text, n, 0, NULL, &e));
    assert_int_equal(e.kind, ERROR_LIMIT);
    assert_non_null(strstr(e.text, "16,777,217 bytes"));
    autojson struct json *j = json_parse(text, n - 1, 0, NULL, &e);
    assert_int_equal(json_int(j, 0), 1);
    free(text);
}

/* "[1,1,...]" with n values, the array among them */
static char *ones(size_t n)
{
    struct buf b = BUF_INIT(0);
    for (size_t i = 1; i < n; i++)
        buf_addstr(&b, i == 1 ? "[1" : ",1");
    buf_addch(&b, ']');
    return buf_steal(&b, NULL);
}

/* A text of a few bytes a value would take forty times its size. It is refused before anything is built. */
static void too_many_values(void **state)
{
    (void)state;
    static const struct {
        int flags;
        size_t most;
        const char *said;
    } rows[] = {{0, JSON_VALUES, "more than 200,000 values"},
                {JSON_LONG, JSON_VALUES, "more than 200,000 values"},
                {JSON_FEW, JSON_FEW_VALUES, "more than 50,000 values"}};
    for (size_t i = 0; i < countof(rows); i++) {
        autofree char *most = ones(rows[i].most), *more = ones(rows[i].most + 1);
        struct error e = {0};
        size_t at;
        autojson struct json *j = json_parse(most, strlen(most), rows[i].flags, NULL, &e);
        assert_int_equal(json_size(j), rows[i].most - 1);
        assert_null(json_parse(more, strlen(more), rows[i].flags, NULL, &e));
        assert_int_equal(e.kind, ERROR_LIMIT);
        assert_non_null(strstr(e.text, rows[i].said));
        assert_true(json_valid(more, strlen(more), &at)); /* which keeps nothing */
        assert_false(json_valid(more, strlen(more) - 1, &at));
        assert_int_equal(at, strlen(more) - 1);
    }
    size_t n = JSON_BYTES;
    autofree char *text = xmalloc(n);
    memset(text, '1', n);
    text[0] = '[';
    text[n - 1] = ']';
    for (size_t i = 2; i < n - 1; i += 2)
        text[i] = ',';
    int64_t start = cpu_us();
    assert_null(json_parse(text, n - 1, 0, NULL, NULL));
    assert_true(cpu_us() - start < 50000);
}

/* One broken byte makes three; that of a whole text would be three times its size. */
static void too_much_to_repair(void **state)
{
    (void)state;
    size_t n = 4u << 20;
    autofree char *text = xmalloc(n);
    memset(text, 0xff, n);
    text[0] = text[n - 1] = '"';
    struct error e = {0};
    assert_null(json_parse(text, n, 0, NULL, &e));
    assert_non_null(strstr(e.text, "not UTF-8"));
    memset(text + (n >> 3), 'x', n - (n >> 3) - 1);
    autojson struct json *j = json_parse(text, n, 0, NULL, &e);
    assert_int_equal(strlen(json_str(j)), n - 2 + 2 * ((n >> 3) - 1));
}

/* A long string is read by our own decoder, a short one by cJSON: the same text, alone and inside a long one.
 */
static void long_strings(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "a",
        "\\n",
        "\\\"\\\\\\/\\b\\f\\r\\t",
        "\\u0041",
        "\\u00e9",
        "\\u20AC",
        "\\ud83d\\ude00",
        "\\u0000",
        "\\ud800",
        "\\udc00x",
        "\\ud800\\ud83d\\ude00",
        "\\ud83d\\n",
        "é",
        "€",
        "😀",
        "\xff",
        "\xe2\x82",
        "\xed\xa0\x80",
        "\xc0\x80x",
        "\xf0\x9f\x98",
        "\x7f",
        "abcdefgh\\n",
    };
    for (size_t i = 0; i < countof(pieces); i++)
        for (size_t k = 0; k < countof(pieces); k++)
            for (size_t pad = 0; pad < 9; pad++) {
                struct buf in = BUF_INIT(0), want = BUF_INIT(0);
                autofree char *one = xasprintf("\"%.*s%s%s\"", (int)pad, "........", pieces[i], pieces[k]);
                autojson struct json *is = json_parse(one, strlen(one), 0, NULL, NULL);
                buf_addstr(&in, "[\"\",{\"k\":[true,\"");
                for (int n = 0; n < 100; n++) {
                    buf_addf(&in, "%.*s.", (int)strlen(one) - 2, one + 1); /* the dot ends a character */
                    buf_addf(&want, "%s.", json_str(is));
                }
                buf_addf(&in, "\"]},1e999,%s]", one);
                autojson struct json *j = json_parse(in.data, in.len, 0, NULL, NULL);
                assert_string_equal(json_str(json_at(json_get(json_at(j, 1), "k"), 1)), want.data);
                assert_string_equal(json_str(json_at(j, 3)), json_str(is));
                autofree char *printed = json_print(j);
                assert_non_null(strstr(printed, ",1e999,\""));
                buf_release(&in);
                buf_release(&want);
            }
}

/* {"k0":0,"k1":1,...,KEY:"late"} */
static char *many_keys(size_t n, const char *key)
{
    struct buf b = BUF_INIT(0);
    buf_addch(&b, '{');
    for (size_t i = 0; i < n; i++)
        buf_addf(&b, "\"k%zu\":%zu,", i, i);
    buf_addf(&b, "\"%s\":\"late\"}", key);
    return buf_steal(&b, NULL);
}

static void duplicates(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 5, 11, 12, 13, 14, 40, 5000};
    for (size_t i = 0; i < countof(sizes); i++) {
        size_t n = sizes[i];
        autofree char *fine = many_keys(n, "other"), *bad = many_keys(n, "k0"),
                      *escaped = many_keys(n, "\\u006b0");
        autojson struct json *ok = parse(fine);
        assert_int_equal(json_size(ok), n + 1);
        struct error e = {0};
        assert_null(json_parse(bad, strlen(bad), 0, NULL, &e));
        assert_non_null(strstr(e.text, "\"k0\""));
        assert_null(json_parse(escaped, strlen(escaped), 0, NULL, &e));
        autojson struct json *first = json_parse(bad, strlen(bad), JSON_DUPLICATES, NULL, &e);
        assert_int_equal(json_size(first), n);
        assert_int_equal(json_int(json_get(first, "k0"), -1), 0);
    }
    assert_null(parse("{\"x\":[{\"a\":1,\"a\":1}]}"));
    autojson struct json *thrice = json_parse("{\"a\":1,\"a\":2,\"b\":3,\"a\":4}", 25, JSON_DUPLICATES, NULL,
                                              NULL);
    autofree char *text = json_print(thrice);
    assert_string_equal(text, "{\"a\":1,\"b\":3}");
}

static void many_keys_stay_linear(void **state)
{
    (void)state;
    autofree char *text = many_keys(JSON_VALUES - 2, "k7");
    int64_t start = cpu_us();
    assert_null(parse(text));
    assert_true(cpu_us() - start < 5000000); /* n^2 would take minutes */
}

static void prefix(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t used;
    } rows[] = {
        {"{\"a\":1} rest", 7}, {"  [1] [2]", 5}, {"12abc", 2},         {"\"x\"\"y\"", 3},
        {"true,", 4},          {"{}", 2},        {"\"\\u0000\" x", 8},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        size_t used = 0;
        autojson struct json *j = json_parse(rows[i].text, strlen(rows[i].text), JSON_PREFIX, &used, NULL);
        assert_non_null(j);
        assert_int_equal(used, rows[i].used);
    }
    assert_null(json_parse("{\"a\":", 5, JSON_PREFIX, NULL, NULL));
}

static void every_prefix_is_refused(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[1,-2.5e3,\"x\\u00e9\\ud83d\\ude00\xe2\x82\xac\",true,null,{\"b\":{}}]"
                               ",\"c\":9007199254740993}";
    for (size_t n = 0; n < sizeof(text) - 1; n++) {
        char *exact = xmalloc(n + 1); /* so that asan sees a byte read too many */
        memcpy(exact, text, n);
        exact = xrealloc(exact, n != 0 ? n : 1);
        struct error e = {0};
        assert_null(json_parse(exact, n, 0, NULL, &e));
        assert_int_equal(e.code, n); /* "the text ends early" is told apart by its place */
        free(exact);
    }
    assert_non_null(text);
    autojson struct json *j = parse(text);
    assert_non_null(j);
}

static void big_numbers_keep_their_digits(void **state)
{
    (void)state;
    static const char *const same[] = {
        "9007199254740993",
        "[9007199254740993,1,18446744073709551615]",
        "-9223372036854775808",
        "123456789012345678901234567890",
        "1000000000000000",
        "1e999",
        "-1E+400",
        "[0.1,1e5,{\"a\":9007199254740993,\"b\":2}]",
        "0.1234567890123456789012345678901234567890123456789012345678901234567890",
        "[1111111111111111111111111111111111111111111111111111111111111111111111111,7]",
    };
    for (size_t i = 0; i < countof(same); i++) {
        autojson struct json *j = parse(same[i]);
        assert_non_null(j);
        autofree char *text = json_print(j);
        assert_string_equal(text, same[i]);
        autojson struct json *copy = json_copy(j);
        autofree char *again = json_print(copy);
        assert_string_equal(again, same[i]);
    }
    autojson struct json *j = parse(
        "[9007199254740993,1e999,-1e999,99999999999999999999,1e3,-9223372036854775808,1.9,-1.9]");
    assert_true(json_int(json_at(j, 0), 0) == 9007199254740993);
    assert_true(json_int(json_at(j, 1), 7) == 7);
    assert_true(json_double(json_at(j, 1), 7) == 7);
    assert_true(json_int(json_at(j, 3), 0) == INT64_MAX);
    assert_true(json_int(json_at(j, 4), 0) == 1000);
    assert_true(json_double(json_at(j, 4), 0) == 1000);
    assert_true(json_int(json_at(j, 5), 0) == INT64_MIN);
    assert_true(json_int(json_at(j, 6), 0) == 1);
    assert_true(json_int(json_at(j, 7), 0) == -1);
    for (size_t i = 0; i < json_size(j); i++)
        assert_int_equal(json_type(json_at(j, i)), JSON_NUMBER);
    /* A repair before a big number moves it in the copy but not in the text. */
    autojson struct json *moved = parse("[\"\\u0000\xff\",9007199254740993,\"\\ud800\",9007199254740995]");
    autofree char *text = json_print(moved);
    assert_string_equal(text, "[\"" R R "\",9007199254740993,\"" R "\",9007199254740995]");
}

static void numbers_do_not_depend_on_the_locale(void **state)
{
    (void)state;
    const char *got = setlocale(LC_ALL, "de_DE.UTF-8");
    if (got == NULL)
        got = setlocale(LC_ALL, "fr_FR.UTF-8");
    autojson struct json *j = parse("[1.5,2.5e1]");
    autofree char *text = json_print(j);
    assert_string_equal(text, "[1.5,2.5e1]");
    assert_true(json_double(json_at(j, 1), 0) == 25);
    setlocale(LC_ALL, "C");
}

static void reading(void **state)
{
    (void)state;
    autojson struct json *j = parse("{\"s\":\"x\",\"n\":2,\"t\":true,\"f\":false,\"z\":null,\"a\":[10,20],"
                                    "\"o\":{\"k\":1},\"e\":\"\",\"zero\":0,\"ea\":[],\"eo\":{}}");
    assert_string_equal(json_str(json_get(j, "s")), "x");
    assert_null(json_str(json_get(j, "n")));
    assert_null(json_get(j, "S"));
    assert_null(json_get(json_get(j, "a"), "s"));
    assert_null(json_get(NULL, "s"));
    assert_int_equal(json_int(json_at(json_get(j, "a"), 1), 0), 20);
    assert_null(json_at(json_get(j, "a"), 2));
    assert_null(json_at(json_get(j, "o"), 0));
    assert_int_equal(json_size(j), 11);
    assert_int_equal(json_size(json_get(j, "s")), 0);
    assert_true(json_bool(json_get(j, "t"), false));
    assert_true(json_bool(json_get(j, "n"), true));
    assert_int_equal(json_int(json_get(j, "s"), 9), 9);
    assert_int_equal(json_type(NULL), JSON_NULL);
    static const char *const falsy[] = {"f", "z", "e", "zero", "ea", "eo", "missing"}, *const truthy[] = {
                                                                                           "s", "n", "t", "a",
                                                                                           "o"};
    for (size_t i = 0; i < countof(falsy); i++)
        assert_false(json_truthy(json_get(j, falsy[i])));
    for (size_t i = 0; i < countof(truthy); i++)
        assert_true(json_truthy(json_get(j, truthy[i])));
    const struct json *m = json_first(j);
    assert_string_equal(json_key(m), "s");
    assert_string_equal(json_key(json_next(m)), "n");
    assert_null(json_next(NULL));
    assert_null(json_next(j));
    autofree char *text = json_print(NULL);
    assert_string_equal(text, "null");
}

static void is_text(const struct json *j, const char *text)
{
    char *printed = json_print(j);
    assert_string_equal(printed, text);
    free(printed);
}

static void building_at_once(void **state)
{
    (void)state;
    static const char *const some[] = {"b", "none", "a"};
    autojson struct json *j = json_object_of(
        {"b", json_string("x")}, {"left out", NULL},
        {"a", json_array_of(json_integer(1), json_object_of({"c", NULL}))});
    is_text(j, "{\"b\":\"x\",\"a\":[1,{}]}");
    autojson struct json *to = parse("{\"a\":0,\"z\":0}");
    json_copy_some(to, j, some, 2);
    is_text(to, "{\"a\":0,\"z\":0,\"b\":\"x\"}");
    json_copy_all(to, j);
    is_text(to, "{\"a\":[1,{}],\"z\":0,\"b\":\"x\"}");
    json_copy_all(to, NULL);
    is_text(to, "{\"a\":[1,{}],\"z\":0,\"b\":\"x\"}");
}

static void building(void **state)
{
    (void)state;
    autojson struct json *j = json_object();
    json_set_str(j, "a", "x\xff\"\n\x01");
    json_set_str(j, "none", NULL);
    json_set_int(j, "i", 1234567890123456789);
    json_set_int(j, "m", INT64_MIN);
    json_set_int(j, "t", 1000000000000000);
    json_set_bool(j, "b", true);
    json_set(j, "n", json_string_n("a\0b", 3));
    json_set(j, "d", json_number(0.25));
    json_set(j, "nan", json_number(0.0 / 0.0));
    json_set(j, "bad\xff", json_null());
    struct json *arr = json_array();
    for (int i = 0; i < 3; i++)
        json_add(arr, json_integer(i));
    json_set(j, "arr", arr);
    json_set_bool(j, "b", false); /* replaces, in its place */
    autofree char *text = json_print(j);
    assert_string_equal(text,
                        "{\"a\":\"x" R
                        "\\\"\\n\\u0001\",\"none\":null,\"i\":1234567890123456789,\"m\":-9223372036854775808,"
                        "\"t\":1000000000000000,\"b\":false,\"n\":\"a" R "b\",\"d\":0.25,\"nan\":null,\"bad" R
                        "\":null,\"arr\":[0,1,2]}");
    autojson struct json *again = parse(text);
    assert_non_null(again);
    assert_true(json_int(json_get(again, "i"), 0) == 1234567890123456789);
    assert_true(json_int(json_get(j, "m"), 0) == INT64_MIN);
    autojson struct json *copy = json_copy(json_get(j, "arr"));
    json_add(copy, json_string(""));
    assert_int_equal(json_size(json_get(j, "arr")), 3);
    assert_int_equal(json_size(copy), 4);
    json_free(NULL);
    autojson struct json *empty = json_string_n(NULL, 0);
    assert_string_equal(json_str(empty), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses),
        cmocka_unit_test(accepts),
        cmocka_unit_test(repairs_instead_of_losing),
        cmocka_unit_test(depth),
        cmocka_unit_test(too_long),
        cmocka_unit_test(too_many_values),
        cmocka_unit_test(too_much_to_repair),
        cmocka_unit_test(long_strings),
        cmocka_unit_test(duplicates),
        cmocka_unit_test(many_keys_stay_linear),
        cmocka_unit_test(prefix),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(big_numbers_keep_their_digits),
        cmocka_unit_test(numbers_do_not_depend_on_the_locale),
        cmocka_unit_test(reading),
        cmocka_unit_test(building),
        cmocka_unit_test(building_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
