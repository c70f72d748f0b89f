/* /v1/chat/completions as pure data: requests read and refused, the name of a conversation, the table of
 * places, replies. */
#include "tests/unit/unit.h"

#include "base/mem.h"
#include "json/json.h"
#include "openai/chat_key.h"
#include "openai/chat_request.h"
#include "openai/chat_table.h"
#include "openai/openai_reply.h"

static struct json *parsed(const char *text)
{
    struct json *j = json_parse(text, strlen(text), 0, NULL, NULL);

    assert_non_null(j);
    return j;
}

#define USER(text) "{\"role\":\"user\",\"content\":" text "}"
#define SAID(text) "{\"role\":\"assistant\",\"content\":" text "}"

static void what_is_asked(void **state)
{
    (void)state;
    struct chat_request r;
    struct chat_refusal no;
    autojson struct json *body = parsed(
        "{\"model\":\"gpt-x\",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"temperature\":0."
        "2,"
        "\"frobnicate\":{\"a\":1},\"tools\":[],\"n\":1,\"stop\":null,\"reasoning_effort\":\"low\","
        "\"messages\":["
        "{\"role\":\"system\",\"content\":\"Be brief.\"}," USER("\"one\"") "," SAID("\"1\"") "," USER(
            "\"two\"") ","
                       "{\"role\":\"developer\",\"content\":[{\"type\":\"text\",\"text\":\"In "
                       "German.\"}]}," USER("[{\"type\":\"text\",\"text\":\" three "
                                            "\"},{\"type\":\"text\",\"text\":\"four\"}]") "]}");
    autofree char *said = NULL;

    assert_int_equal(chat_request_read(&openai_chat, body, &r, &no), 0);
    assert_string_equal(r.model, "gpt-x");
    assert_string_equal(r.effort, "low");
    assert_true(r.stream && r.include_usage);
    autofree char *ignored = json_print(r.ignored);
    assert_string_equal(ignored, "[\"temperature\",\"frobnicate\"]");
    assert_string_equal(r.system, "Be brief.\n\nIn German.");
    assert_string_equal(r.input, "two\n\nthree\n\nfour");
    assert_int_equal(r.prefix, 3);
    said = json_print(r.history);
    assert_string_equal(said,
                        "[{\"role\":\"user\",\"text\":\"one\"},{\"role\":\"assistant\",\"text\":\"1\"}]");
    chat_request_release(&r);
}

static void files_in_parts(void **state)
{
    (void)state;
    struct chat_request r;
    struct chat_refusal no;
    autojson struct json *body = parsed("{\"messages\":[" USER(
        "[{\"type\":\"text\",\"text\":\"look\"},{\"type\":\"image_url\",\"image_url\":"
        "{\"url\":\"data:image/png;base64,QUJD\"}}]") "," SAID("\"fine\"") "," USER("[{\"type\":\"file\","
                                                                                    "\"file\":{"
                                                                                    "\"filename\":\"a."
                                                                                    "csv\",\"file_data\":"
                                                                                    "\"data:text/"
                                                                                    "csv;base64,YQ==\"}},"
                                                                                    "{\"type\":\"image_"
                                                                                    "url\",\"image_url\":"
                                                                                    "\"data:image/"
                                                                                    "jpeg;base64,QUJE\"}"
                                                                                    "]") "]}");

    assert_int_equal(chat_request_read(&openai_chat, body, &r, &no), 0);
    autofree char *earlier = json_print(r.earlier_files), *files = json_print(r.files);
    assert_string_equal(earlier, "[{\"name\":\"image-1.png\",\"content\":\"QUJD\",\"encoding\":\"base64\"}]");
    assert_string_equal(files, "[{\"name\":\"a.csv\",\"content\":\"YQ==\",\"encoding\":\"base64\"},"
                               "{\"name\":\"image-3.jpg\",\"content\":\"QUJE\",\"encoding\":\"base64\"}]");
    assert_true(*r.input);
    chat_request_release(&r);
}

static void what_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *body, *param;
    } rows[] = {
        {"[]", "body"},
        {"{}", "messages"},
        {"{\"messages\":[]}", "messages"},
        {"{\"messages\":\"hello\"}", "messages"},
        {"{\"messages\":[17]}", "messages[0]"},
        {"{\"messages\":[{\"role\":\"user\"}]}", "messages[0].content"},
        {"{\"messages\":[" USER("\" \"") "]}", "messages"},
        {"{\"messages\":[" USER("\"a\"") "," SAID("\"b\"") "]}", "messages"},
        {"{\"messages\":[{\"role\":\"robot\",\"content\":\"x\"}]}", "messages[0].role"},
        {"{\"messages\":[" USER("\"a\"") ",{\"role\":\"tool\",\"content\":\"x\",\"tool_call_id\":\"1\"}]}",
         "messages[1]"},
        {"{\"messages\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\"}]}]}",
         "messages[0]"},
        {"{\"messages\":[" USER(
             "[{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://x.example/a.png\"}}]") "]}",
         "messages[0].content[0]"},
        {"{\"messages\":[" USER("[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"input_audio\"}]") "]}",
         "messages[0].content[1]"},
        {"{\"messages\":[{\"role\":\"system\",\"content\":[{\"type\":\"image_url\",\"image_url\":"
         "{\"url\":\"data:image/png;base64,QUJD\"}}]}]}",
         "messages[0].content[0]"},
        {"{\"messages\":[" USER("\"a\"") "],\"n\":2}", "n"},
        {"{\"messages\":[" USER("\"a\"") "],\"n\":\"1\"}", "n"},
        {"{\"messages\":[" USER("\"a\"") "],\"tools\":[{\"type\":\"function\"}]}", "tools[0]"},
        {"{\"messages\":[" USER("\"a\"") "],\"functions\":[{}]}", "functions"},
        {"{\"messages\":[" USER("\"a\"") "],\"tool_choice\":\"required\"}", "tool_choice"},
        {"{\"messages\":[" USER("\"a\"") "],\"response_format\":{\"type\":\"xml\"}}", "response_format"},
        {"{\"messages\":[" USER("\"a\"") "],\"stop\":[\"x\"]}", "stop"},
        {"{\"messages\":[" USER("\"a\"") "],\"logprobs\":true}", "logprobs"},
        {"{\"messages\":[" USER("\"a\"") "],\"modalities\":[\"text\",\"audio\"]}", "modalities"},
        {"{\"messages\":[" USER("\"a\"") "],\"model\":7}", "model"},
        {"{\"messages\":[" USER("\"a\"") "],\"stream\":\"yes\"}", "stream"},
        {"{\"messages\":[" USER("\"a\"") "],\"stream\":true,\"stream_options\":[]}", "stream_options"},
    };

    for (size_t i = 0; i < countof(rows); i++) {
        struct chat_request r;
        struct chat_refusal no;
        autojson struct json *body = parsed(rows[i].body);

        assert_int_equal(chat_request_read(&openai_chat, body, &r, &no), -1);
        assert_string_equal(no.param, rows[i].param);
        assert_true(strlen(no.message) > strlen(no.param) + 5);
        assert_non_null(no.code);
        chat_request_release(&r);
    }
}

static void key_of(const char *messages, size_t n, char out[SHA256_HEX])
{
    autofree char *text = xasprintf("[%s]", messages);
    autojson struct json *list = parsed(text);

    chat_key_begin(out);
    chat_key_add(list, 0, n, out);
}

static void the_name_of_what_was_said(void **state)
{
    (void)state;
    char after[SHA256_HEX], other[SHA256_HEX];
    static const char *const same[] = {
        USER("\"hi\"") "," SAID("\"Hello!\"") "," USER("\"more\""),
        USER("[{\"type\":\"text\",\"text\":\"hi\"}]") "," SAID("\" Hello! \\n\"") "," USER("\"less\""),
        USER("\"hi\"") "," SAID("[{\"type\":\"text\",\"text\":\"Hello!\"}]"),
        "{\"content\":\"hi\",\"name\":\"ann\",\"role\":\"user\"},{\"role\":\"assistant\",\"content\":\"Hello!"
        "\","
        "\"tool_calls\":[],\"refusal\":null}",
    };
    static const char *const others[] = {
        SAID("\"hi\"") "," SAID("\"Hello!\""),
        USER("\"hi\"") "," SAID("\"Hello\""),
        USER("\"hiHello!\"") "," SAID("\"\""),
        "{\"role\":\"system\",\"content\":\"hi\"}," SAID("\"Hello!\""),
        USER("[{\"type\":\"text\",\"text\":\"hi\"},{\"type\":\"image_url\",\"image_url\":\"data:,x\"}"
             "]") "," SAID("\"Hello!\""),
    };

    key_of(USER("\"hi\""), 1, after);
    chat_key_answer("Hello!\n", NULL, after);
    for (size_t i = 0; i < countof(same); i++) {
        key_of(same[i], 2, other);
        assert_string_equal(other, after);
    }
    for (size_t i = 0; i < countof(others); i++) {
        key_of(others[i], 2, other);
        assert_string_not_equal(other, after);
    }
}

static void put(struct chat_table *t, const char *said, const char *sandbox)
{
    struct chat_place p = {.turn = "1"};

    snprintf(p.sandbox, sizeof p.sandbox, "%s", sandbox);
    snprintf(p.names[CHAT_SAID], SHA256_HEX, "%s", said);
    snprintf(p.names[CHAT_ID], SHA256_HEX, "id of %s", sandbox);
    chat_table_put(t, "a", &p);
}

static const char *take_of(struct chat_table *t, const char *client, const char *name)
{
    static struct chat_place p;

    return chat_table_take(t, client, name, &p) ? p.sandbox : "none";
}

static const char *take(struct chat_table *t, const char *name)
{
    return take_of(t, "a", name);
}

static void places(void **state)
{
    (void)state;
    struct chat_table *t = chat_table_new(3);

    put(t, "a", "s1");
    assert_string_equal(take(t, "b"), "none");
    assert_string_equal(take(t, "a"), "s1");
    assert_string_equal(take(t, "a"), "none"); /* nobody else goes on from there meanwhile */
    put(t, "a", "s1");
    put(t, "a", "s2"); /* two that said the same, each with its own */
    assert_string_equal(take(t, "a"), "s2");
    assert_string_equal(take(t, "id of s1"), "s1"); /* either name takes it, and the other is gone with it */
    assert_string_equal(take(t, "a"), "none");
    put(t, "", "s1");
    assert_string_equal(take(t, ""), "none");
    assert_string_equal(take(t, "id of s1"), "s1");
    put(t, "a", "s1");
    put(t, "b", "s2");
    put(t, "c", "s3");
    put(t, "d", "s4");
    assert_string_equal(take(t, "a"), "none");
    for (int i = 0; i < 4; i++) /* another client neither finds nor pushes out any */
        chat_table_put(t, "b", &(struct chat_place){.sandbox = "of b", .names = {"of b"}});
    assert_string_equal(take_of(t, "b", "b"), "none");
    assert_string_equal(take(t, "of b"), "none");
    assert_string_equal(take(t, "b"), "s2");
    assert_string_equal(take(t, "d"), "s4");
    assert_string_equal(take(t, "c"), "s3");
    chat_table_free(t);
}

struct sent {
    size_t n;
    char *text[16];
};

static void keep(void *ctx, const char *event, const struct json *object)
{
    struct sent *s = ctx;

    assert_null(event);
    assert_true(s->n < countof(s->text));
    s->text[s->n++] = json_print(object);
}

static void chunks(void **state)
{
    (void)state;
    struct sent got = {0};
    struct openai_reply r;
    const struct chat_request asked = {.stream = true, .include_usage = true};
    autojson struct json *usage = parsed("{\"input_tokens\":5,\"cached_tokens\":null,\"output_tokens\":3,"
                                         "\"reasoning_tokens\":2,\"cost\":null}");
    autojson struct json *note = parsed("{\"session\":\"s\"}");
    autojson struct json *events = parsed(
        "[{\"type\":\"notice\"},{\"type\":\"text\",\"reply\":1,\"text\":\"a\"},{\"type\":\"tool_call\"},"
        "{\"type\":\"text\",\"reply\":2,\"text\":\"b\"}]");
#define CHUNK                                                                                    \
    "{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":7,\"model\":\"m\"," \
    "\"choices\":["
#define DELTA(delta, finish)                                                                     \
    CHUNK "{\"index\":0,\"delta\":{" delta "},\"logprobs\":null,\"finish_reason\":" finish "}]," \
          "\"usage\":null"
    static const char *const wanted[] = {
        DELTA("\"role\":\"assistant\",\"content\":\"\"", "null") "}",
        DELTA("\"content\":\"a\"", "null") "}",
        DELTA("", "null") ",\"sandpiper\":{\"type\":\"tool_call\",\"data\":null}}",
        DELTA("\"content\":\"\\n\\n\"", "null") "}",
        DELTA("\"content\":\"b\"", "null") "}",
        DELTA("", "\"stop\"") ",\"sandpiper\":{\"session\":\"s\"}}",
        CHUNK "],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":3,\"total_tokens\":8,"
              "\"prompt_tokens_details\":{\"cached_tokens\":0},\"completion_tokens_details\":"
              "{\"reasoning_tokens\":2}}}",
        "{\"error\":{\"message\":\"no\",\"type\":\"rate_limit_error\",\"param\":null,\"code\":\"X\"}}",
    };

    openai_reply_init(&r, &openai_chat, "1", "m", &asked, NULL);
    r.created = 7;
    r.send = keep;
    r.ctx = &got;
    for (const struct json *e = json_first(events); e; e = json_next(e))
        openai_reply_event(&r, e);
    openai_reply_end(&r, &(struct openai_end){
                             .answer = "never mind", .finish = "stop", .usage = usage, .annotation = note});
    r.shape->failed(&r, 429, "X", "no");
    assert_int_equal(got.n, countof(wanted));
    for (size_t i = 0; i < got.n; i++) {
        assert_string_equal(got.text[i], wanted[i]);
        free(got.text[i]);
    }
    assert_string_equal(buf_str(&r.text), "a\n\nb");
    openai_reply_release(&r);
    assert_string_equal(openai_finish("code_failed", "x"), "stop");
    assert_string_equal(openai_finish("limit", "x"), "length");
    assert_null(openai_finish("limit", ""));
    assert_null(openai_finish("no_answer", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked),   cmocka_unit_test(files_in_parts),
        cmocka_unit_test(what_is_refused), cmocka_unit_test(the_name_of_what_was_said),
        cmocka_unit_test(places),          cmocka_unit_test(chunks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
