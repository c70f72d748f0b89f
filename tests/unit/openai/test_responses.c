/* Responses as pure data: requests read and refused, the name of a conversation of items, the answer as a
 * whole and as events. */
#include "tests/unit/unit.h"

#include "base/mem.h"
#include "json/json.h"
#include "openai/chat_key.h"
#include "openai/chat_request.h"
#include "openai/openai_reply.h"

static struct json *parsed(const char *text)
{
    struct json *j = json_parse(text, strlen(text), 0, NULL, NULL);

    assert_non_null(j);
    return j;
}

#define USER(text) "{\"role\":\"user\",\"content\":" text "}"
#define SAID(text)                                                                            \
    "{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"status\":\"completed\"," \
    "\"content\":[{\"type\":\"output_text\",\"text\":" text ",\"annotations\":[]}]}"
#define THOUGHT "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}"
#define CALLED  "{\"type\":\"code_interpreter_call\",\"id\":\"ci_1\",\"code\":\"1\",\"container_id\":\"c\"}"

static void a_text_alone(void **state)
{
    (void)state;
    struct chat_request r;
    struct chat_refusal no;
    autojson struct json *body = parsed(
        "{\"model\":\"gpt-x\",\"input\":\" go \",\"instructions\":\"Be brief.\",\"store\":false,"
        "\"reasoning\":{\"effort\":\"low\",\"summary\":\"auto\"},\"text\":{\"verbosity\":\"low\"},"
        "\"max_output_tokens\":9,\"include\":[\"reasoning.encrypted_content\"],\"metadata\":{}}");

    assert_int_equal(chat_request_read(&openai_responses, body, &r, &no), 0);
    assert_string_equal(r.model, "gpt-x");
    assert_string_equal(r.effort, "low");
    assert_string_equal(r.system, "Be brief.");
    assert_string_equal(r.input, "go");
    assert_true(!r.stream && !r.code && !r.logs && !r.previous);
    autofree char *ignored = json_print(r.ignored);
    assert_string_equal(ignored, "[\"max_output_tokens\",\"text.verbosity\",\"reasoning.summary\"]");
    assert_int_equal(r.size, 1);
    assert_int_equal(r.prefix, 0);
    chat_request_release(&r);
}

#define PICTURE                                                                 \
    "{\"type\":\"input_image\",\"detail\":\"auto\",\"image_url\":\"data:image/" \
    "png;base64,QUJD\"}"
#define TABLE                                                                               \
    "{\"type\":\"input_file\",\"filename\":\"a.csv\",\"file_data\":\"data:text/csv;base64," \
    "YQ==\"}"

static void a_list_of_items(void **state)
{
    (void)state;
    struct chat_request r;
    struct chat_refusal no;
    static const char *const items[] = {
        "{\"role\":\"developer\",\"content\":\"In German.\"}",
        USER("[{\"type\":\"input_text\",\"text\":\"one\"}," PICTURE "]"),
        THOUGHT,
        SAID("\"I look.\\n\\n\""),
        CALLED,
        SAID("\"1\""),
        THOUGHT,
        USER("[" TABLE ",{\"type\":\"input_text\",\"text\":\"two\"}]"),
    };
    struct json *list = json_array(), *body = parsed("{\"instructions\":\"Be brief.\",\"stream\":true,"
                                                     "\"tools\":[{\"type\":\"code_interpreter\","
                                                     "\"container\":{\"type\":\"auto\"}}],"
                                                     "\"include\":[\"code_interpreter_call.outputs\"]}");

    for (size_t i = 0; i < countof(items); i++)
        json_add(list, parsed(items[i]));
    json_set(body, "input", list);
    assert_int_equal(chat_request_read(&openai_responses, body, &r, &no), 0);
    autofree char *said = json_print(r.history), *earlier = json_print(r.earlier_files),
                  *files = json_print(r.files);
    assert_string_equal(said, "[{\"role\":\"user\",\"text\":\"one\"},{\"role\":\"assistant\",\"text\":"
                              "\"I look.\\n\\n1\"}]");
    assert_string_equal(earlier, "[{\"name\":\"image-1.png\",\"content\":\"QUJD\",\"encoding\":\"base64\"}]");
    assert_string_equal(files, "[{\"name\":\"a.csv\",\"content\":\"YQ==\",\"encoding\":\"base64\"}]");
    assert_string_equal(r.system, "Be brief.\n\nIn German.");
    assert_string_equal(r.input, "two");
    assert_true(r.stream && r.code && r.logs);
    assert_int_equal(r.prefix, 6);
    assert_int_equal(r.size, 8);
    chat_request_release(&r);
    json_free(body);
}

static void what_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *body, *param;
    } rows[] = {
        {"[]", "body"},
        {"{}", "input"},
        {"{\"input\":[]}", "input"},
        {"{\"input\":7}", "input"},
        {"{\"input\":\" \"}", "input"},
        {"{\"messages\":[" USER("\"a\"") "]}", "input"},
        {"{\"input\":[\"a\"]}", "input[0]"},
        {"{\"input\":[" USER("\"a\"") "," SAID("\"b\"") "]}", "input"},
        {"{\"input\":[{\"role\":\"robot\",\"content\":\"x\"}]}", "input[0].role"},
        {"{\"input\":[{\"type\":\"message\",\"content\":\"x\"}]}", "input[0].role"},
        {"{\"input\":[" USER("\"a\"") ",{\"type\":\"function_call\",\"name\":\"f\"}]}", "input[1]"},
        {"{\"input\":[" USER("\"a\"") ",{\"type\":\"function_call_output\",\"output\":\"1\"}]}", "input[1]"},
        {"{\"input\":[{\"type\":\"item_reference\",\"id\":\"msg_1\"}]}", "input[0]"},
        {"{\"input\":[{\"type\":\"compaction\"}]}", "input[0]"},
        {"{\"input\":[" USER("[{\"type\":\"input_image\",\"file_id\":\"file-1\"}]") "]}",
         "input[0].content[0]"},
        {"{\"input\":[" USER("[{\"type\":\"input_file\",\"file_url\":\"https://x.example/a.pdf\"}]") "]}",
         "input[0].content[0]"},
        {"{\"input\":[" USER("[{\"type\":\"input_audio\"}]") "]}", "input[0].content[0]"},
        {"{\"input\":\"a\",\"instructions\":[]}", "instructions"},
        {"{\"input\":\"a\",\"tools\":[{\"type\":\"function\"}]}", "tools[0]"},
        {"{\"input\":\"a\",\"tools\":[{\"type\":\"code_interpreter\",\"container\":\"cntr_1\"}]}",
         "tools[0]"},
        {"{\"input\":\"a\",\"tools\":{}}", "tools"},
        {"{\"input\":\"a\",\"tool_choice\":\"required\"}", "tool_choice"},
        {"{\"input\":\"a\",\"text\":{\"format\":{\"type\":\"xml\"}}}", "text.format"},
        {"{\"input\":\"a\",\"text\":\"plain\"}", "text"},
        {"{\"input\":\"a\",\"reasoning\":\"low\"}", "reasoning"},
        {"{\"input\":\"a\",\"reasoning\":{\"effort\":1}}", "reasoning.effort"},
        {"{\"input\":\"a\",\"background\":true}", "background"},
        {"{\"input\":\"a\",\"conversation\":\"conv_1\"}", "conversation"},
        {"{\"input\":\"a\",\"prompt\":{\"id\":\"pmpt_1\"}}", "prompt"},
        {"{\"input\":\"a\",\"top_logprobs\":2}", "top_logprobs"},
        {"{\"input\":\"a\",\"previous_response_id\":7}", "previous_response_id"},
        {"{\"input\":[" SAID("\"b\"") "," USER("\"c\"") "],\"previous_response_id\":\"resp_1\"}", "input"},
        {"{\"input\":\"a\",\"stream\":1}", "stream"},
    };

    for (size_t i = 0; i < countof(rows); i++) {
        struct chat_request r;
        struct chat_refusal no;
        autojson struct json *body = parsed(rows[i].body);

        assert_int_equal(chat_request_read(&openai_responses, body, &r, &no), -1);
        assert_string_equal(no.param, rows[i].param);
        assert_true(strlen(no.message) > strlen(no.param) + 5);
        assert_non_null(no.code);
        chat_request_release(&r);
    }
}

/* As the client has it: the items that it was sent, one text of them, or a text in the place of the list. */
static void the_name_of_what_was_said(void **state)
{
    (void)state;
    char wanted[SHA256_HEX], key[SHA256_HEX];
    static const char *const same[] = {
        "[" USER("\"hi\"") "," SAID("\"I look.\\n\\n\"") "," CALLED "," SAID("\"1\"") "]",
        "[" USER("\"hi\"") "," THOUGHT "," SAID("\"I look.\\n\\n1\"") "]",
        "[" USER("[{\"type\":\"input_text\",\"text\":\"hi\"}]") ",{\"role\":\"assistant\",\"content\":"
                                                                "\"I look.\\n\\n1\"}]",
    };
    autojson struct json *text = parsed("\"hi\"");

    chat_key_begin(wanted);
    chat_key_add(text, 0, 1, wanted);
    chat_key_answer("I look.\n\n1", NULL, wanted);
    for (size_t i = 0; i < countof(same); i++) {
        autojson struct json *list = parsed(same[i]);

        chat_key_begin(key);
        chat_key_add(list, 0, json_size(list), key);
        assert_string_equal(key, wanted);
    }
    chat_key_id("resp_1", wanted);
    chat_key_id("resp_2", key);
    assert_string_not_equal(key, wanted);
}

/* ---- replies ---- */

struct sent {
    struct json *events; /* all, in order */
};

static void keep(void *ctx, const char *event, const struct json *object)
{
    struct sent *s = ctx;

    assert_string_equal(event, json_text(json_get(object, "type")));
    assert_int_equal(json_int(json_get(object, "sequence_number"), -1), json_size(s->events));
    json_add(s->events, json_copy(object));
}

static void start(struct openai_reply *r, struct sent *s, const struct chat_request *asked)
{
    autojson struct json *body = parsed("{\"metadata\":{\"a\":\"b\"},\"previous_response_id\":\"resp_0\"}");

    openai_reply_init(r, &openai_responses, "1", "m", asked, body);
    s->events = json_array();
    r->container = "box";
    r->send = keep;
    r->ctx = s;
}

static void play(struct openai_reply *r, const char *text)
{
    autojson struct json *events = parsed(text);

    for (const struct json *e = json_first(events); e; e = json_next(e))
        openai_reply_event(r, e);
}

static char *types_of(const struct json *events)
{
    struct buf out = BUF_INIT(0);

    for (const struct json *e = json_first(events); e; e = json_next(e))
        buf_addf(&out, "%s ", json_text(json_get(e, "type")) + 9);
    return buf_steal(&out, NULL);
}

static const struct json *last_response(const struct sent *s)
{
    return json_get(json_at(s->events, json_size(s->events) - 1), "response");
}

#define WORK                                                                                                \
    "[{\"type\":\"notice\"},{\"type\":\"text\",\"reply\":1,\"text\":\"Let me\"},{\"type\":\"text\","        \
    "\"reply\":1,\"text\":\" see.\"},{\"type\":\"tool_call\",\"code\":\"6*7\"},{\"type\":\"tool_output\"}," \
    "{\"type\":\"tool_result\",\"model_text\":\"42\"},{\"type\":\"text\",\"reply\":2,\"text\":\"42.\"}]"
#define MESSAGE_ADDED "output_item.added content_part.added "
#define MESSAGE_DONE  "output_text.done content_part.done output_item.done "
#define CALL_ALL                                                                            \
    "output_item.added code_interpreter_call.in_progress code_interpreter_call_code.delta " \
    "code_interpreter_call_code.done code_interpreter_call.interpreting "                   \
    "code_interpreter_call.completed output_item.done "

static void as_events(void **state)
{
    (void)state;
    struct sent s;
    struct openai_reply r;
    const struct chat_request asked = {.stream = true};
    autojson struct json *usage = parsed("{\"input_tokens\":5,\"output_tokens\":3,\"reasoning_tokens\":2}");
    autojson struct json *note = parsed("{\"session\":\"box\"}");

    start(&r, &s, &asked);
    play(&r, WORK);
    openai_reply_end(
        &r, &(struct openai_end){.answer = "42.", .finish = "stop", .usage = usage, .annotation = note});
    autofree char *types = types_of(s.events);
    assert_string_equal(types, "created in_progress " MESSAGE_ADDED "output_text.delta output_text.delta "
                               "output_text.delta " MESSAGE_DONE MESSAGE_ADDED
                               "output_text.delta " MESSAGE_DONE "completed ");
    const struct json *whole = last_response(&s);
    autofree char *output = json_print(json_get(whole, "output")),
                  *spent = json_print(json_get(whole, "usage"));
    assert_string_equal(
        output,
        "[{\"id\":\"msg_1_0\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\","
        "\"content\":"
        "[{\"type\":\"output_text\",\"text\":\"Let me see.\\n\\n\",\"annotations\":[],\"logprobs\":[]}],"
        "\"phase\":\"commentary\"},"
        "{\"id\":\"msg_1_1\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\","
        "\"content\":"
        "[{\"type\":\"output_text\",\"text\":\"42.\",\"annotations\":[],\"logprobs\":[]}],"
        "\"phase\":\"final_answer\"}]");
    assert_string_equal(spent, "{\"input_tokens\":5,\"input_tokens_details\":{\"cached_tokens\":0,"
                               "\"cache_write_tokens\":0},\"output_tokens\":3,\"output_tokens_details\":"
                               "{\"reasoning_tokens\":2},\"total_tokens\":8}");
    assert_string_equal(json_text(json_get(whole, "status")), "completed");
    assert_string_equal(json_text(json_get(whole, "previous_response_id")), "resp_0");
    assert_string_equal(json_text(json_get(json_get(whole, "metadata"), "a")), "b");
    assert_string_equal(json_text(json_get(json_get(whole, "sandpiper"), "session")), "box");
    assert_string_equal(buf_str(&r.text), "Let me see.\n\n42.");
    openai_reply_release(&r);
    json_free(s.events);
}

static void calls_for_who_asks(void **state)
{
    (void)state;
    struct sent s;
    struct openai_reply r;
    const struct chat_request asked = {.stream = true, .code = true, .logs = true};

    start(&r, &s, &asked);
    play(&r, "[{\"type\":\"tool_call\",\"code\":\"6*7\"},{\"type\":\"tool_result\",\"model_text\":\"42\"},"
             "{\"type\":\"tool_call\",\"code\":null},{\"type\":\"tool_result\",\"model_text\":\"no\"}]");
    openai_reply_end(&r, &(struct openai_end){.answer = "Cut", .finish = "length"});
    autofree char *types = types_of(s.events);
    assert_string_equal(types, "created in_progress " CALL_ALL MESSAGE_ADDED "output_text.delta " MESSAGE_DONE
                               "incomplete ");
    const struct json *whole = last_response(&s);
    autofree char *call = json_print(json_at(json_get(whole, "output"), 0)),
                  *why = json_print(json_get(whole, "incomplete_details"));
    assert_string_equal(call,
                        "{\"id\":\"ci_1_0\",\"type\":\"code_interpreter_call\",\"status\":\"completed\","
                        "\"code\":\"6*7\",\"container_id\":\"box\",\"outputs\":[{\"type\":\"logs\","
                        "\"logs\":\"42\"}]}");
    assert_string_equal(why, "{\"reason\":\"max_output_tokens\"}");
    openai_reply_release(&r);
    json_free(s.events);
}

/* It ends in the middle of a message: what was said stays said. */
static void a_failure_on_the_way(void **state)
{
    (void)state;
    struct sent s;
    struct openai_reply r;
    const struct chat_request asked = {.stream = true};

    start(&r, &s, &asked);
    play(&r, "[{\"type\":\"text\",\"reply\":1,\"text\":\"Let\"}]");
    r.shape->failed(&r, 429, "MODEL_BUSY", "come back later");
    const struct json *error = json_at(s.events, json_size(s.events) - 1),
                      *response = json_get(json_at(s.events, json_size(s.events) - 2), "response");
    autofree char *why = json_print(json_get(response, "error"));
    assert_string_equal(json_text(json_get(response, "status")), "failed");
    assert_string_equal(why, "{\"code\":\"rate_limit_exceeded\",\"message\":\"come back later\"}");
    assert_string_equal(json_text(json_get(error, "type")), "error");
    assert_string_equal(json_text(json_get(error, "message")), "come back later");
    assert_string_equal(json_text(json_get(json_get(error, "error"), "code")), "MODEL_BUSY");
    openai_reply_release(&r);
    json_free(s.events);
}

static void as_a_whole(void **state)
{
    (void)state;
    struct sent s;
    struct openai_reply r;
    const struct chat_request asked = {.code = true};
    autojson struct json *note = parsed("{\"steps\":[{\"code\":\"6*7\",\"output\":\"42\"}],"
                                        "\"files\":[{\"name\":\"a.csv\"},{\"name\":\"in/b.csv\"}]}");

    start(&r, &s, &asked);
    autojson struct json *o = r.shape->whole(
        &r, &(struct openai_end){.answer = "42.", .finish = "stop", .annotation = note});
    const struct json *output = json_get(o, "output"), *call = json_at(output, 0);
    assert_int_equal(json_size(output), 2);
    assert_true(json_is(call, "code_interpreter_call") && json_type(json_get(call, "outputs")) == JSON_NULL);
    const struct json *part = json_at(json_get(json_at(output, 1), "content"), 0);
    autofree char *files = json_print(json_get(part, "annotations"));
    assert_string_equal(json_text(json_get(part, "text")), "42.");
    assert_string_equal(files, "[{\"type\":\"container_file_citation\",\"container_id\":\"box\",\"file_id\":"
                               "\"a.csv\",\"filename\":\"a.csv\",\"start_index\":3,\"end_index\":3}]");
    assert_string_equal(json_text(json_get(o, "status")), "completed");
    assert_string_equal(json_text(json_get(o, "id")), "resp_1");
    assert_int_equal(json_size(s.events), 0);
    openai_reply_release(&r);
    json_free(s.events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_alone),
        cmocka_unit_test(a_list_of_items),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(the_name_of_what_was_said),
        cmocka_unit_test(as_events),
        cmocka_unit_test(calls_for_who_asks),
        cmocka_unit_test(a_failure_on_the_way),
        cmocka_unit_test(as_a_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
