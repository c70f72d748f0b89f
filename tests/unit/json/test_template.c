/* test_template.c - JSON made from JSON by a template: each word, and what is not there. */
#include "tests/unit/unit.h"

#include "base/mem.h"
#include "json/json.h"
#include "json/template.h"

static struct json *parse(const char *text)
{
    struct error err = {0};
    struct json *j = json_parse(text, strlen(text), 0, NULL, &err);

    if (!j)
        fail_msg("%s: %s", text, err.text);
    return j;
}

static struct json *twice(void *ctx, const struct json *argument)
{
    (void)ctx;
    return json_str(argument) ? NULL : json_number(2 * json_double(argument, 0));
}

static void words(void **state)
{
    (void)state;
    static const char scope[] =
        "{\"body\": {\"code\": \"print(1)\", \"files\": {\"a\": \"QQ==\", \"b\": null}, \"n\": 3,"
        " \"empty\": [], \"cells\": [\"x\", \"y\"]}, \"item\": \"outer\", \"status\": \"timeout\"}";
    static const struct template_word own[] = {{"$twice", twice}, {0}};
    static const struct {
        const char *template, *result;
    } rows[] = {
        {"1", "1"},
        {"\"a\"", "\"a\""},
        {"\"$body.code\"", "\"print(1)\""},
        {"\"$$body\"", "\"$body\""},
        {"\"$\"", "{\"body\":{\"code\":\"print(1)\",\"files\":{\"a\":\"QQ==\",\"b\":null},\"n\":3,\"empty\":["
                  "],\"cells\":[\"x\","
                  "\"y\"]},\"item\":\"outer\",\"status\":\"timeout\"}"},
        {"\"$body.cells.1\"", "\"y\""},
        {"\"$body.cells.x\"", "null"},
        {"\"$body.cells.9999999999999999999999\"", "null"},
        {"\"$body.code.further\"", "null"},
        {"\"$nothing.at.all\"", "null"},
        {"\"$item\"", "\"outer\""},
        {"[\"$body.n\", {\"a\": \"$body.n\", \"b?\": \"$nothing\", \"c?\": 1, \"d\": \"$nothing\"}]",
         "[3,{\"a\":3,\"c\":1,\"d\":null}]"},
        {"{\"$case\": [\"$status\", {\"ok\": 1, \"timeout\": \"$body.n\"}, 9]}", "3"},
        {"{\"$case\": [\"$body.n\", {\"ok\": 1}, 9]}", "9"},
        {"{\"$case\": [\"$body.n\", {\"ok\": 1}]}", "null"},
        {"{\"$if\": [\"$body.empty\", 1, 2]}", "2"},
        {"{\"$if\": [\"$body.files\", 1]}", "1"},
        {"{\"$or\": [\"$nothing\", \"$body.empty\", \"$body.n\", 4]}", "3"},
        {"{\"$or\": [\"$nothing\", \"\"]}", "\"\""},
        {"{\"$or\": []}", "null"},
        {"{\"$each\": [\"$body.cells\", {\"c\": \"$item\", \"k\": \"$key\", \"i\": \"$index\"}]}",
         "[{\"c\":\"x\",\"k\":null,\"i\":0},{\"c\":\"y\",\"k\":null,\"i\":1}]"},
        {"{\"$each\": [\"$body.files\", [\"$key\", \"$item\"]]}", "[[\"a\",\"QQ==\"],[\"b\",null]]"},
        {"{\"$each\": [\"$body.n\", 1]}", "[]"},
        {"{\"$object\": [\"$body.files\", {\"$text\": [\"/\", \"$key\"]}, \"$item\"]}", "{\"/a\":\"QQ==\"}"},
        {"{\"$object\": [\"$body.cells\", \"$item\", \"$index\"]}", "{\"x\":0,\"y\":1}"},
        {"{\"$list\": [1, null, [2, null, 3], \"$nothing\", {\"$each\": [\"$body.cells\", \"$item\"]}]}",
         "[1,2,3,\"x\",\"y\"]"},
        {"{\"$text\": [\"a\", \"$body.n\", null, true, \"$body.code\"]}", "\"a3print(1)\""},
        {"{\"$lines\": [\"\", \"a\", null, \"b\\n\", \"c\"]}", "\"a\\nb\\nc\""},
        {"{\"$seconds\": \"5s\"}", "5"},
        {"{\"$seconds\": \"1500ms\"}", "1.5"},
        {"{\"$seconds\": \"2m\"}", "120"},
        {"{\"$seconds\": 7}", "7"},
        {"{\"$seconds\": \"soon\"}", "null"},
        {"{\"$seconds\": \"-1s\"}", "null"},
        {"{\"$seconds\": \"inf\"}", "null"},
        {"{\"$seconds\": null}", "null"},
        {"{\"$over\": [\"$body.n\", 2]}", "1.5"},
        {"{\"$over\": [\"$body.n\", 0]}", "null"},
        {"{\"$over\": [\"$nothing\", 1000]}", "null"},
        {"{\"$twice\": \"$body.n\"}", "6"},
        {"{\"$twice\": \"text\"}", "null"},
        {"{\"$unknown\": 1}", "{\"$unknown\":1}"},
        {"{}", "{}"},
    };
    autojson struct json *s = parse(scope);

    for (size_t i = 0; i < countof(rows); i++) {
        autojson struct json *t = parse(rows[i].template);
        autojson struct json *made = template_fill(t, s, &(struct template_words){own, NULL});
        autofree char *text = json_print(made);
        if (strcmp(text, rows[i].result) != 0)
            fail_msg("%s: %s instead of %s", rows[i].template, text, rows[i].result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
