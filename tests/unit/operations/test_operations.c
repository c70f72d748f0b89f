/* test_operations.c - the table of operations, the checker of arguments, and the reader of messages. */
#include "tests/unit/unit.h"

#include "base/mem.h"
#include "json/json.h"
#include "operations/operations.h"
#include "operations/runner_messages.h"

static void table(void **state)
{
    (void)state;
    size_t n = 0;
    for (const struct operation *o; (o = operation_at(n)); n++) {
        assert_ptr_equal(operation_find(o->name), o);
        assert_true(*o->title && *o->description);
        assert_string_equal(json_text(json_get(o->arguments, "type")), "object");
        assert_string_equal(json_text(json_get(o->result, "type")), "object");
        for (const struct json *r = json_first(json_get(o->result, "required")); r; r = json_next(r))
            assert_non_null(json_get(json_get(o->result, "properties"), json_text(r)));
    }
    assert_int_equal(n, 10);
    assert_null(operation_find("fly"));
}

static void checks(void **state)
{
    static const struct {
        const char *operation, *arguments, *said; /* said NULL: it fits */
    } rows[] = {
        {"run_code", "{\"code\":\"1\"}", NULL},
        {"run_code", "{\"code\":\"1\",\"language\":\"python3\",\"timeout\":0.5}", NULL},
        {"run_code", "{}", "code: is missing"},
        {"run_code", "{\"code\":null}", "code: must be a string"},
        {"run_code", "{\"code\":\"1\",\"timeout\":\"5\"}", "timeout: must be a number"},
        {"run_code", "{\"code\":\"1\",\"timeout\":0}", "timeout: must be more than 0"},
        {"run_code", "{\"code\":\"1\",\"timeout\":86401}", "timeout: must be at most 86400"},
        {"run_code", "{\"code\":\"1\",\"language\":\"C\"}",
         "language: must be one of \"py\", \"python\", \"python3\", \"sh\", \"bash\", \"sql\", \"js\", "
         "\"javascript\", \"nodejs\", \"ts\", \"typescript\""},
        {"run_code", "{\"code\":\"1\",\"Code\":\"2\"}", "Code: there is no such field"},
        {"run_code", "{\"code\":\"1\",\"a\\u001b[31m\":2}", "a: there is no such field"},
        {"run_code", "[]", "the arguments: must be an object"},
        {"execute_command", "{\"command\":\"ls\"}", NULL},
        {"execute_command", "{\"command\":[\"ls\",\"-l\"]}", NULL},
        {"execute_command", "{\"command\":[]}", "command: must have at least 1 entries"},
        {"execute_command", "{\"command\":[\"ls\",1]}", "command[1]: must be a string"},
        {"execute_command", "{\"command\":\"\"}", "command: must have at least 1 characters"},
        {"execute_command", "{\"command\":5}", "command: must be a string or array"},
        {"put_file", "{\"name\":\"\",\"content\":\"\"}", "name: must have at least 1 characters"},
        {"reset", "{}", NULL},
        {"reset", NULL, NULL},
        {"reset", "{\"a\":{}}", "a: there is no such field"},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct error err = {0};
        const char *text = rows[i].arguments;
        autojson struct json *arguments = text ? json_parse(text, strlen(text), 0, NULL, &err) : NULL;
        int rc = operation_check(operation_find(rows[i].operation), arguments, &err);

        assert_int_equal(rc, rows[i].said ? -1 : 0);
        assert_string_equal(rc < 0 ? message_of(&err) : "", rows[i].said ? rows[i].said : "");
        assert_true(rc == 0 || err.kind == ERROR_USAGE);
    }
}

static void messages(void **state)
{
    struct message_reader in;
    struct error err;

    (void)state;
    messages_init(&in);
    assert_null(messages_next(&in, &err));
    assert_int_equal(err.kind, ERROR_NONE);
    assert_true(messages_feed(&in, "{\"a\":1}\n{\"b\"", 12));
    struct json *one = messages_next(&in, &err);
    assert_int_equal(json_int(json_get(one, "a"), 0), 1);
    json_free(one);
    assert_null(messages_next(&in, &err));
    assert_int_equal(err.kind, ERROR_NONE);
    assert_true(messages_feed(&in, ":2}\n", 4));
    one = messages_next(&in, &err);
    assert_int_equal(json_int(json_get(one, "b"), 0), 2);
    json_free(one);
    static const char *const bad[] = {"\n", "[]\n", "{\n", "{} {}\n", "\"x\"\n"};
    for (size_t i = 0; i < countof(bad); i++) {
        assert_true(messages_feed(&in, bad[i], strlen(bad[i])));
        assert_null(messages_next(&in, &err));
        assert_int_equal(err.kind, ERROR_PROTOCOL);
    }
    messages_release(&in);
}

/* A line without end is refused, and its memory is given back. */
static void long_message(void **state)
{
    size_t piece = 1 << 15;
    autofree char *text = xmalloc(piece);
    struct message_reader in;
    struct error err = {0};

    (void)state;
    memset(text, 'x', piece);
    messages_init(&in);
    for (int i = 0; i < 3000 && !err.kind; i++) {
        if (!messages_feed(&in, text, piece))
            break;
        assert_null(messages_next(&in, &err));
    }
    assert_int_equal(err.kind, ERROR_PROTOCOL);
    assert_string_equal(message_of(&err), "a message larger than 64 MiB");
    messages_release(&in);
}

static void errors(void **state)
{
    struct error a, b;

    (void)state;
    error_set(&a, ERROR_BUSY, 7, "full\ntry later");
    autojson struct json *j = error_to_json(&a);
    error_from_json(&b, j);
    assert_int_equal(b.kind, ERROR_BUSY);
    assert_int_equal(b.code, 7);
    assert_string_equal(b.text, "full");
    assert_string_equal(b.remedy, "try later");
    error_from_json(&b, NULL);
    assert_int_equal(b.kind, ERROR_SYSTEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table),        cmocka_unit_test(checks), cmocka_unit_test(messages),
        cmocka_unit_test(long_message), cmocka_unit_test(errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
