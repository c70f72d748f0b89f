/* test_json_schema.c - values against schemas, and schemas by themselves. */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/json_schema.h"

static int check_text(const char *schema, const char *value, struct error *err)
{
    autojson struct json *s = json_parse(schema, strlen(schema), 0, NULL, NULL);
    autojson struct json *v = json_parse(value, strlen(value), 0, NULL, NULL);

    *err = (struct error){0};
    assert_non_null(s);
    return schema_check(s, v, "", err);
}

static void schemas(void **state)
{
    static const struct {
        const char *schema, *good, *bad, *said;
    } rows[] = {
        {"{\"type\":\"integer\"}", "3", "3.5", "the arguments: must be an integer"},
        {"{\"type\":[\"string\",\"null\"]}", "null", "1", "the arguments: must be a string or null"},
        {"{\"const\":\"py\"}", "\"py\"", "\"js\"", "the arguments: must be \"py\""},
        {"{\"enum\":[1,2]}", "2", "3", "the arguments: must be one of 1, 2"},
        {"{\"maxLength\":2}", "\"\xc3\xbc\xc3\xbc\"", "\"abc\"",
         "the arguments: must have at most 2 characters"},
        {"{\"maxProperties\":1}", "{\"a\":1}", "{\"a\":1,\"b\":2}",
         "the arguments: must have at most 1 entries"},
        {"{\"properties\":{\"a\":{\"properties\":{\"b\":{\"type\":\"boolean\"}}}}}", "{\"a\":{\"b\":true}}",
         "{\"a\":{\"b\":1}}", "a.b: must be a boolean"},
        {"{\"additionalProperties\":{\"type\":\"string\"}}", "{\"x\":\"y\"}", "{\"x\":1}",
         "x: must be a string"},
        {"{\"minProperties\":1}", "{\"a\":1}", "{}", "the arguments: must have at least 1 entries"},
        {"{\"properties\":{\"a\":false}}", "{\"b\":1}", "{\"a\":1}", "a: must not be there"},
        /* two branches of one type, and one of another */
        {"{\"anyOf\":[{\"type\":\"object\",\"required\":[\"a\"]},{\"type\":\"object\",\"required\":[\"b\"]},"
         "{\"type\":\"null\"}]}",
         "{\"b\":1}", "{\"c\":1}", "the arguments: is none of the 2 forms that it may have"},
        {"{\"anyOf\":[{\"type\":\"string\",\"maxLength\":1},{\"type\":\"null\"}]}", "null", "\"ab\"",
         "the arguments: must have at most 1 characters"},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "null", "1",
         "the arguments: must be a string or null"},
        {"{\"oneOf\":[{\"type\":\"integer\"},{\"minimum\":5}]}", "3", "7",
         "the arguments: is 2 of the forms of which it may have one"},
        {"{\"allOf\":[{\"type\":\"integer\"},{\"minimum\":5}]}", "7", "3",
         "the arguments: must be at least 5"},
        {"{\"$ref\":\"#/$defs/a~1b\",\"$defs\":{\"a/b\":{\"type\":\"string\"}}}", "\"x\"", "1",
         "the arguments: must be a string"},
        /* a tree; and a schema that is nothing but itself */
        {"{\"$defs\":{\"n\":{\"type\":\"object\",\"properties\":{\"v\":{\"type\":\"integer\"},\"down\":"
         "{\"anyOf\":[{\"$ref\":\"#/$defs/n\"},{\"type\":\"null\"}]}},\"required\":[\"v\"]}},"
         "\"$ref\":\"#/$defs/n\"}",
         "{\"v\":1,\"down\":{\"v\":2,\"down\":null}}", "{\"v\":1,\"down\":{\"v\":2,\"down\":{\"v\":\"3\"}}}",
         "down.down.v: must be an integer"},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct error err;

        assert_int_equal(check_text(rows[i].schema, rows[i].good, &err), 0);
        assert_int_equal(check_text(rows[i].schema, rows[i].bad, &err), -1);
        assert_string_equal(message_of(&err), rows[i].said);
    }
}

/* Neither a schema that refers to itself nor one whose branches double each time keeps the checker. */
static void far(void **state)
{
    struct buf wide = BUF_INIT(0);
    struct error err;

    (void)state;
    assert_int_equal(check_text("{\"$ref\":\"#\"}", "1", &err), -1);
    assert_int_equal(err.kind, ERROR_LIMIT);
    buf_addstr(&wide, "{\"$ref\":\"#/$defs/0\",\"$defs\":{\"40\":false");
    for (int i = 0; i < 40; i++)
        buf_addf(&wide, ",\"%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/%d\"},{\"$ref\":\"#/$defs/%d\"}]}", i, i + 1,
                 i + 1);
    buf_addstr(&wide, "}}");
    assert_int_equal(check_text(buf_str(&wide), "1", &err), -1);
    buf_release(&wide);
}

static void surveys(void **state)
{
    static const struct {
        const char *schema, *said; /* the words that are not checked; or why it is refused */
        bool good;
    } rows[] = {
        {"{\"type\":\"object\",\"properties\":{\"pattern\":{\"type\":\"string\"}}}", "[]", true},
        {"{\"properties\":{\"a\":{\"pattern\":\"x\"},\"b\":{\"format\":\"date\",\"pattern\":\"y\"}}}",
         "[\"pattern\",\"format\"]", true},
        {"{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"$ref\":\"#\"}}}", "[]", true},
        {"{\"$ref\":\"#/$defs/a\"}",
         "the schema has no #/$defs/a: \"$ref\" may point only into the schema itself", false},
        {"{\"$ref\":\"http://x/y\"}",
         "the schema has no http://x/y: \"$ref\" may point only into the schema itself", false},
        {"{\"items\":3}", "the schema holds what is no schema: an object, true or false", false},
        {"{\"anyOf\":[{\"type\":\"text\"}]}", "the schema has a type that is none of JSON's", false},
        {"[]", "the schema holds what is no schema: an object, true or false", false},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct error err = {0};
        autojson struct json *s = json_parse(rows[i].schema, strlen(rows[i].schema), 0, NULL, NULL);
        autojson struct json *unchecked = schema_survey(s, &err);
        autofree char *text = unchecked ? json_print(unchecked) : NULL;

        assert_int_equal(unchecked != NULL, rows[i].good);
        assert_string_equal(text ? text : message_of(&err), rows[i].said);
    }
}

/* Deeper, or longer, than a schema may be. */
static void surveys_of_too_much(void **state)
{
    struct buf deep = BUF_INIT(0), wide = BUF_INIT(0);
    struct error err = {0};

    (void)state;
    for (int i = 0; i < SCHEMA_DEPTH; i++)
        buf_addstr(&deep, "{\"items\":");
    buf_addstr(&deep, "{}");
    for (int i = 0; i < SCHEMA_DEPTH; i++)
        buf_addch(&deep, '}');
    autojson struct json *d = json_parse(buf_str(&deep), deep.len, 0, NULL, NULL);
    assert_null(schema_survey(d, &err));
    assert_string_equal(message_of(&err), "the schema is nested more than 64 deep");
    buf_addf(&wide, "{\"title\":\"%*s\"}", SCHEMA_BYTES, "");
    autojson struct json *w = json_parse(buf_str(&wide), wide.len, 0, NULL, NULL);
    err = (struct error){0};
    assert_null(schema_survey(w, &err));
    assert_string_equal(message_of(&err), "the schema is longer than 64 KiB");
    buf_release(&deep);
    buf_release(&wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schemas),
        cmocka_unit_test(far),
        cmocka_unit_test(surveys),
        cmocka_unit_test(surveys_of_too_much),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
