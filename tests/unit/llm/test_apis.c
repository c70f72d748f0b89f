/* test_apis.c - the bodies of Responses and Workers AI, URLs, and a session that goes from API to API and
 * back: what each may be sent. Through llm_ask with "unsent" in the place of the network, so that origins are
 * the real ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/error.h"
#include "json/json.h"
#include "base/mem.h"
#include "wire/api.h"
#include "llm/llm.h"

static const struct llm_tool tool = {"execute_python", "Runs it.", "{\"type\":\"object\"}", "code"};
static const struct prompts prompts = {
    .system_native = "NATIVE", .system_blocks = "BLOCKS", .nudge = "NUDGE"};

static void take(void *ctx, const char *body)
{
    struct buf *b = ctx;
    buf_clear(b);
    buf_addstr(b, body);
}

static struct llm_options options(enum model_api api)
{
    return (struct llm_options){.provider = "x",
                                .base_url = "https://h.example/v1",
                                .model = "m",
                                .api = api,
                                .facts.dialect = DIALECT_NATIVE,
                                .stream = true,
                                .facts.temperature = -1};
}

static void ask(struct llm *m, const struct conversation *c)
{
    struct llm_request q = {.conversation = c, .prompts = &prompts, .tools = {&tool, 1}};
    struct llm_reply r;
    struct error err = {0};
    assert_int_equal(llm_ask(m, &q, NULL, &r, &err), -1);
    assert_int_equal(err.kind, ERROR_CANCELLED);
    llm_reply_release(&r);
}

/* What a reply left behind: a call and its result, with what the service gave beside it. */
static void turn(struct conversation *c, const struct llm *m, const char *id, const char *items,
                 const char *reasoning)
{
    struct call k = {xstrdup(id), xstrdup("execute_python"), xstrdup("{\"code\":\"1\"}"), NULL};
    struct turn *t = conversation_assistant(c, "let me", &k, 1);
    t->origin = xstrdup(llm_origin(m));
    t->reasoning_items = xstrdup(items);
    t->reasoning = xstrdup(reasoning);
    t->reasoning_field = reasoning ? xstrdup("reasoning_content") : NULL;
    conversation_result(c, id, RESULT_OK, "1", 1);
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

#define ITEMS                                                                                              \
    "[{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"SECRET\"},{\"type\":" \
    "\"message\",\"id\":\"msg_1\"},"                                                                       \
    "{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"call_from_responses\"}]"

/* chat completions, Responses, Workers AI and back, at one base URL and with one model: each gets its own
 * things alone. */
static void from_api_to_api(void **state)
{
    (void)state;
    struct conversation c;
    struct buf body = BUF_INIT(0);
    struct error err = {0};
    struct llm_options chat = options(API_CHAT_COMPLETIONS), responses = options(API_RESPONSES),
                       own = options(API_WORKERS_AI);
    struct llm *m = llm_new(&chat, &(struct llm_session){.unsent = take, .unsent_ctx = &body}, NULL, &err);
    conversation_init(&c);
    conversation_user(&c, "q", 1);
    turn(&c, m, "call_from_chat", "[{\"type\":\"reasoning.text\",\"text\":\"DETAILS\"}]", NULL);
    turn(&c, m, "call_from_chat2", NULL, "THOUGHT");
    assert_int_equal(llm_reconfigure(m, &responses, &err), 0);
    turn(&c, m, "call_from_responses", ITEMS, "SUMMARY");
    assert_int_equal(conversation_check(&c, &err), 0);

    ask(m, &c);
    const char *s = buf_str(&body);
    assert_non_null(
        strstr(s, "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"SECRET\"},{"
                  "\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\","
                  "\"text\":\"let me\",\"annotations\":[]}],\"id\":\"msg_1\""));
    assert_non_null(
        strstr(s, "{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"call_from_responses\""));
    assert_null(strstr(s, "DETAILS"));
    assert_null(strstr(s, "THOUGHT"));
    assert_null(strstr(s, "call_from_chat"));
    assert_int_equal(count(s, "\"function_call\""), 3);
    assert_int_equal(count(s, "\"function_call_output\""), 3);

    assert_int_equal(llm_reconfigure(m, &chat, &err), 0);
    ask(m, &c);
    s = buf_str(&body);
    assert_non_null(strstr(s, "\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"DETAILS\"}]"));
    assert_non_null(strstr(s, "\"reasoning_content\":\"THOUGHT\""));
    assert_non_null(strstr(s, "call_from_chat2"));
    assert_null(strstr(s, "SECRET"));
    assert_null(strstr(s, "rs_1"));
    assert_null(strstr(s, "call_from_responses"));
    assert_int_equal(count(s, "\"tool_call_id\""), 3);

    assert_int_equal(llm_reconfigure(m, &own, &err), 0);
    ask(m, &c);
    s = buf_str(&body);
    assert_null(strstr(s, "DETAILS"));
    assert_null(strstr(s, "SECRET"));
    assert_null(strstr(s, "THOUGHT"));
    assert_int_equal(count(s, "\"name\":\"execute_python\",\"arguments\""), 3);

    assert_int_equal(llm_reconfigure(m, &responses, &err), 0);
    ask(m, &c);
    assert_non_null(strstr(buf_str(&body), "SECRET"));
    responses.model = "another";
    assert_int_equal(llm_reconfigure(m, &responses, &err), 0);
    ask(m, &c);
    assert_null(strstr(buf_str(&body), "SECRET"));
    assert_null(strstr(buf_str(&body), "fc_1"));
    llm_free(m);
    conversation_release(&c);
    buf_release(&body);
}

/* One conversation whose only reply has these items, as Responses input. */
static char *input_of(const char *items, const char *text, size_t calls)
{
    struct conversation c;
    struct buf body = BUF_INIT(0);
    struct error err = {0};
    struct llm_options o = options(API_RESPONSES);
    struct llm *m = llm_new(&o, &(struct llm_session){.unsent = take, .unsent_ctx = &body}, NULL, &err);
    struct call k[2] = {{xstrdup("c1"), xstrdup("execute_python"), xstrdup("{}"), NULL},
                        {xstrdup("c2"), xstrdup("execute_python"), xstrdup("{}"), NULL}};
    conversation_init(&c);
    conversation_user(&c, "q", 1);
    struct turn *t = conversation_assistant(&c, text, k, calls);
    t->origin = xstrdup(llm_origin(m));
    t->reasoning_items = xstrdup(items);
    for (size_t i = 0; i < 2; i++) {
        if (i < calls)
            conversation_result(&c, i ? "c2" : "c1", RESULT_OK, "1", 1);
        else
            call_release(&k[i]);
    }
    ask(m, &c);
    autojson struct json *j = json_parse(buf_str(&body), body.len, 0, NULL, NULL);
    char *s = json_print(json_get(j, "input"));
    llm_free(m);
    conversation_release(&c);
    buf_release(&body);
    return s;
}

/* What cannot stand by itself is left out, ids and all; broken items too; calls that are not among the items
 * come behind them. */
static void items_that_do_not_stand(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "[{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]},{\"type\":\"function_call\",\"id\":\"fc_"
        "1\",\"call_id\":\"c1\"}]",
        "[{\"type\":\"reasoning\",\"id\":\"rs_1\",\"encrypted_content\":\"E\"},{\"type\":\"function_call\","
        "\"id\":\"fc_1\",\"call_id\":\"gone\"}]",
        "[{\"type\":\"reasoning\",\"id\":\"rs_1\",\"encrypted_content\":5,\"content\":[]}]",
        "not json",
    };
    for (size_t i = 0; i < countof(bad); i++) {
        autofree char *s = input_of(bad[i], "text", 1);
        assert_null(strstr(s, "rs_1"));
        assert_null(strstr(s, "\"id\""));
        assert_non_null(strstr(
            s, "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":"
               "\"text\",\"annotations\":[]}]},{\"type\":\"function_call\",\"call_id\":\"c1\""));
    }
    autofree char *s = input_of("[{\"type\":\"reasoning\",\"id\":\"rs_1\",\"encrypted_content\":\"E\"},{"
                                "\"type\":\"function_call\",\"id\":\"fc_2\",\"call_id\":\"c2\"}]",
                                "", 2);
    assert_non_null(strstr(
        s, "\"encrypted_content\":\"E\"},{\"type\":\"function_call\",\"id\":\"fc_2\",\"call_id\":\"c2\""));
    assert_non_null(strstr(s, "{\"type\":\"function_call\",\"call_id\":\"c1\""));
    assert_null(strstr(s, "\"role\":\"assistant\""));
}

static void fields(void **state)
{
    (void)state;
    struct conversation c;
    struct buf body = BUF_INIT(0);
    struct error err = {0};
    struct llm_options o = options(API_RESPONSES);
    conversation_init(&c);
    conversation_user(&c, "q", 1);
    o.max_tokens = 5;
    o.facts.temperature = 0.5;
    o.reasoning_effort = "low";
    o.reasoning_summary = true;
    struct llm *m = llm_new(&o, &(struct llm_session){.unsent = take, .unsent_ctx = &body}, NULL, &err);
    ask(m, &c);
    assert_string_equal(
        buf_str(&body),
        "{\"model\":\"m\",\"instructions\":\"NATIVE\",\"input\":[{\"role\":\"user\",\"content\":\"q\"}],"
        "\"tools\":[{\"type\":\"function\",\"name\":\"execute_python\",\"description\":\"Runs "
        "it.\",\"parameters\":{\"type\":\"object\"},\"strict\":false}],"
        "\"max_output_tokens\":16,\"temperature\":0.5,\"reasoning\":{\"effort\":\"low\",\"summary\":\"auto\"}"
        ","
        "\"include\":[\"reasoning.encrypted_content\"],\"store\":false,\"stream\":true}");
    o.facts.no_reasoning = true;
    o.reasoning_effort = NULL;
    o.facts.dialect = DIALECT_BLOCKS;
    o.stream = false;
    assert_int_equal(llm_reconfigure(m, &o, &err), 0);
    ask(m, &c);
    assert_string_equal(
        buf_str(&body),
        "{\"model\":\"m\",\"instructions\":\"BLOCKS\",\"input\":[{\"role\":\"user\",\"content\":\"q\"}],"
        "\"max_output_tokens\":16,\"temperature\":0.5,\"store\":false,\"stream\":false}");
    o = options(API_WORKERS_AI);
    assert_int_equal(llm_reconfigure(m, &o, &err), 0);
    ask(m, &c);
    assert_string_equal(
        buf_str(&body),
        "{\"messages\":[{\"role\":\"system\",\"content\":\"NATIVE\"},{\"role\":\"user\",\"content\":\"q\"}],"
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"execute_python\",\"description\":\"Runs "
        "it.\",\"parameters\":{\"type\":\"object\"}}}],"
        "\"max_tokens\":4096,\"stream\":true}");
    llm_free(m);
    conversation_release(&c);
    buf_release(&body);
}

static void urls(void **state)
{
    (void)state;
    static const struct {
        enum model_api api;
        const char *base, *model, *url;
    } cases[] = {
        {API_RESPONSES, "https://h/v1", "m", "https://h/v1/responses"},
        {API_RESPONSES, "https://h/v1/responses", "m", "https://h/v1/responses"},
        {API_RESPONSES, "https://h/openai/v1/?api-version=1", "m",
         "https://h/openai/v1/responses?api-version=1"},
        {API_WORKERS_AI, "https://h/accounts/a", "@cf/meta/l", "https://h/accounts/a/ai/run/@cf/meta/l"},
        {API_WORKERS_AI, "https://h/accounts/a/ai/v1", "@cf/meta/l",
         "https://h/accounts/a/ai/run/@cf/meta/l"},
        {API_WORKERS_AI, "https://h/accounts/a/ai/", "@cf/meta/l", "https://h/accounts/a/ai/run/@cf/meta/l"},
        {API_WORKERS_AI, "https://h/accounts/a/ai/run", "@cf/meta/l",
         "https://h/accounts/a/ai/run/@cf/meta/l"},
        {API_WORKERS_AI, "https://g/v1/a/gw/workers-ai", "@cf/meta/l",
         "https://g/v1/a/gw/workers-ai/@cf/meta/l"},
        {API_WORKERS_AI, "https://h/a?x=1", "m n?#%", "https://h/a/ai/run/m%20n%3F%23%25?x=1"},
        {API_WORKERS_AI, "https://h/a", "..", NULL},
        {API_WORKERS_AI, "https://h/a", "@cf/../../zones", NULL},
        {API_WORKERS_AI, "https://h/a", "@cf/.", NULL},
        {API_WORKERS_AI, "https://h/a", "/m", NULL},
        {API_WORKERS_AI, "https://h/a", "", NULL},
        {API_WORKERS_AI, "ftp://h/a", "m", NULL},
        {API_WORKERS_AI, NULL, "m", NULL},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct error err = {0};
        autofree char *url = api_url(cases[i].api, cases[i].base, cases[i].model, &err);
        if (cases[i].url ? !url || strcmp(url, cases[i].url) : url || err.kind != ERROR_USAGE)
            fail_msg("case %zu: %s", i, url ? url : err.text);
    }
    autofree char *model = workers_ai_model("https://h/accounts/a/ai/run/@cf/meta/l?x=1");
    assert_string_equal(model, "@cf/meta/l");
    assert_null(workers_ai_model("https://h/v1/chat/completions"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(from_api_to_api),
                                       cmocka_unit_test(items_that_do_not_stand), cmocka_unit_test(fields),
                                       cmocka_unit_test(urls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
