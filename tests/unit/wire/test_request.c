/* test_request.c - request bodies for both dialects, compared as whole JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "json/json.h"
#include "base/mem.h"
#include "wire/effort.h"
#include "wire/request.h"

static const struct llm_tool tool = {"execute_python", "Runs it.", "{\"type\":\"object\"}", "code"};
static const struct prompts prompts = {
    .system_native = "NATIVE",
    .system_blocks = "BLOCKS",
    .nudge = "NUDGE",
    .blocks_ok = "[out]{output}[end]",
    .blocks_failed = "[failed]{output}",
    .blocks_malformed = "[bad]{output}",
    .blocks_interrupted = "[stopped]",
    .blocks_no_more = "[no more]{output}",
};

static struct llm_options options(void)
{
    return (struct llm_options){
        .model = "m", .base_url = "https://h/v1", .facts.temperature = -1, .stream = true};
}

static struct llm_learnt learnt;

/* With nothing learnt but the dialect. */
static struct request_shape shape(const struct llm_options *o, bool blocks)
{
    learnt = (struct llm_learnt){.dialect = blocks ? DIALECT_BLOCKS : DIALECT_NATIVE};
    return (struct request_shape){.o = o, .learnt = &learnt, .origin = "here", .stream = true};
}

static struct call call(const char *id, const char *args, const char *extra)
{
    return (struct call){xstrdup(id), xstrdup("execute_python"), xstrdup(args), xstrdup(extra)};
}

static void is_json(const char *got, const char *want)
{
    autojson struct json *a = json_parse(got, strlen(got), 0, NULL, NULL),
                         *b = json_parse(want, strlen(want), 0, NULL, NULL);
    assert_non_null(a);
    assert_non_null(b);
    autofree char *x = json_print(a), *y = json_print(b);
    assert_string_equal(x, y);
}

static char *messages(const struct conversation *c, const struct request_shape *s)
{
    struct llm_request q = {.conversation = c, .prompts = &prompts, .tools = {&tool, 1}};
    size_t prompt = 0;
    autofree char *body = request_body(&q, s, &prompt);
    autojson struct json *j = json_parse(body, strlen(body), 0, NULL, NULL);
    assert_true(prompt > 0);
    assert_int_equal(json_get(j, "tools") != NULL, s->learnt->dialect != DIALECT_BLOCKS);
    return json_print(json_get(j, "messages"));
}

static void conversation(struct conversation *c)
{
    conversation_init(c);
    conversation_user(c, "q1", 2);
    struct call two[] = {call("call_abc", "{\"code\":\"print(1)\"}", "{\"google\":{\"s\":\"A\"}}"),
                         call("id2", "{\"code\":\"a = '```'\\n\"}", NULL)};
    struct turn *t = conversation_assistant(c, "let me", two, 2);
    t->reasoning = xstrdup("hm");
    t->reasoning_field = xstrdup("reasoning_content");
    t->origin = xstrdup("here");
    conversation_result(c, "call_abc", RESULT_OK, "1", 1);
    conversation_result(c, "id2", RESULT_FAILED, "", 0);
    conversation_assistant(c, "one", NULL, 0);
    conversation_user(c, "q2", 2);
}

static void native(void **state)
{
    (void)state;
    struct conversation c;
    struct llm_options o = options();
    struct request_shape s = shape(&o, false);
    conversation(&c);
    autofree char *m = messages(&c, &s);
    is_json(
        m, "[{\"role\":\"system\",\"content\":\"NATIVE\"},{\"role\":\"user\",\"content\":\"q1\"},"
           "{\"role\":\"assistant\",\"content\":\"let me\",\"reasoning_content\":\"hm\",\"tool_calls\":["
           "{\"id\":\"call_abc\",\"type\":\"function\",\"function\":{\"name\":\"execute_python\","
           "\"arguments\":\"{\\\"code\\\":\\\"print(1)\\\"}\"},\"extra_content\":{\"google\":{\"s\":\"A\"}}},"
           "{\"id\":\"id2\",\"type\":\"function\",\"function\":{\"name\":\"execute_python\",\"arguments\":\"{"
           "\\\"code\\\":\\\"a = '```'\\\\n\\\"}\"}}]},"
           "{\"role\":\"tool\",\"content\":\"1\",\"tool_call_id\":\"call_abc\"},{\"role\":\"tool\","
           "\"content\":\"(no output)\",\"tool_call_id\":\"id2\"},"
           "{\"role\":\"assistant\",\"content\":\"one\"},{\"role\":\"user\",\"content\":\"q2\"}]");
    conversation_release(&c);
}

/* Reasoning and extra content stay with who made them, and ids take the form that all services accept, the
 * same in call and result. */
static void another_service(void **state)
{
    (void)state;
    struct conversation c;
    struct llm_options o = options();
    struct request_shape s = shape(&o, false);
    s.origin = "elsewhere";
    conversation(&c);
    autofree char *m = messages(&c, &s);
    assert_null(strstr(m, "reasoning_content"));
    assert_null(strstr(m, "extra_content"));
    assert_null(strstr(m, "call_abc"));
    autojson struct json *j = json_parse(m, strlen(m), 0, NULL, NULL);
    const char *a = json_str(json_get(json_at(json_get(json_at(j, 2), "tool_calls"), 0), "id"));
    const char *b = json_str(json_get(json_at(json_get(json_at(j, 2), "tool_calls"), 1), "id"));
    assert_int_equal(strlen(a), 9);
    assert_string_not_equal(a, b);
    assert_string_equal(a, json_str(json_get(json_at(j, 3), "tool_call_id")));
    assert_string_equal(b, json_str(json_get(json_at(j, 4), "tool_call_id")));
    conversation_release(&c);
}

static void blocks(void **state)
{
    (void)state;
    struct conversation c;
    struct llm_options o = options();
    struct request_shape s = shape(&o, true);
    conversation(&c);
    autofree char *m = messages(&c, &s);
    is_json(m, "[{\"role\":\"system\",\"content\":\"BLOCKS\"},{\"role\":\"user\",\"content\":\"q1\"},"
               "{\"role\":\"assistant\",\"content\":\"let "
               "me\\n\\n```python\\nprint(1)\\n```\"},{\"role\":\"user\",\"content\":\"[out]1\"},"
               "{\"role\":\"assistant\",\"content\":\"````python\\na = "
               "'```'\\n````\"},{\"role\":\"user\",\"content\":\"[failed](no output)\"},"
               "{\"role\":\"assistant\",\"content\":\"one\"},{\"role\":\"user\",\"content\":\"q2\"}]");
    conversation_release(&c);
}

/* What a result asks for is sent while its question is open, and not again with the next question. */
static void an_instruction_ends_with_its_question(void **state)
{
    (void)state;
    struct conversation c;
    struct call k = call("a", "{\"code\": \"print(1)\"}", NULL);
    struct llm_options o = options();
    struct request_shape s = shape(&o, true);
    conversation_init(&c);
    conversation_user(&c, "q1", 2);
    conversation_assistant(&c, "", &k, 1);
    conversation_result(&c, "a", RESULT_OK, "1", 1);
    autofree char *open = messages(&c, &s);
    assert_non_null(strstr(open, "[out]1[end]"));
    conversation_assistant(&c, "1", NULL, 0);
    conversation_user(&c, "q2", 2);
    autofree char *next = messages(&c, &s);
    assert_non_null(strstr(next, "[out]1\""));
    assert_null(strstr(next, "[end]"));
    conversation_release(&c);
}

static void failed_try(struct conversation *c, const char *id, const char *arguments, const char *why)
{
    struct call k = call(id, arguments, NULL);
    conversation_assistant(c, "", &k, 1);
    conversation_result(c, id, RESULT_FAILED, why, strlen(why));
}

/* A failed try that was followed by another is not sent again; of a repeated one only the failure is. */
static void blocks_failed_tries(void **state)
{
    (void)state;
    struct conversation c;
    struct llm_options o = options();
    struct request_shape s = shape(&o, true);
    conversation_init(&c);
    conversation_user(&c, "q1", 2);
    failed_try(&c, "a", "{\"code\":\"one\"}", "E1");
    failed_try(&c, "b", "{\"code\":\"two\"}", "E2");
    autofree char *last = messages(&c, &s);
    is_json(last, "[{\"role\":\"system\",\"content\":\"BLOCKS\"},{\"role\":\"user\",\"content\":\"q1\"},"
                  "{\"role\":\"assistant\",\"content\":\"```python\\ntwo\\n```\"},{\"role\":\"user\","
                  "\"content\":\"[failed]E2\"}]");
    failed_try(&c, "c", "{\"code\":\"one\"}", "SAME");
    autofree char *same = messages(&c, &s);
    is_json(same, "[{\"role\":\"system\",\"content\":\"BLOCKS\"},{\"role\":\"user\",\"content\":\"q1\\n\\n["
                  "failed]SAME\"}]");
    learnt.dialect = DIALECT_NATIVE;
    autofree char *all = messages(&c, &s);
    assert_non_null(strstr(all, "E1"));
    assert_non_null(strstr(all, "E2"));
    conversation_release(&c);
}

/* Examples are turns of their own before the conversation; text without a block, and a native request, have
 * none. */
static void blocks_examples(void **state)
{
    struct llm_options o = options();
    struct conversation c;
    size_t prompt;

    (void)state;
    conversation_init(&c);
    conversation_user(&c, "q", 1);
    static const char examples[] =
        "one?\n```python\nprint(1)\n```\n\ntwo,\nthree?\n```python\nx = 2\nprint(x)\n```\nno "
        "block\n```python\nopen";
    struct llm_request q = {
        .conversation = &c, .prompts = &prompts, .examples = examples, .tools = {&tool, 1}};
    for (int native = 0; native < 2; native++) {
        struct request_shape s = shape(&o, !native);
        autofree char *body = request_body(&q, &s, &prompt);
        autojson struct json *j = json_parse(body, strlen(body), 0, NULL, NULL);
        autofree char *got = json_print(json_get(j, "messages"));

        is_json(
            got,
            native ? "[{\"role\":\"system\",\"content\":\"NATIVE\"},{\"role\":\"user\",\"content\":\"q\"}]"
                   : "[{\"role\":\"system\",\"content\":\"BLOCKS\"},{\"role\":\"user\",\"content\":\"one?\"},"
                     "{\"role\":\"assistant\",\"content\":\"```python\\nprint(1)\\n```\"},{\"role\":\"user\","
                     "\"content\":\"two,\\nthree?\"},"
                     "{\"role\":\"assistant\",\"content\":\"```python\\nx = "
                     "2\\nprint(x)\\n```\"},{\"role\":\"user\",\"content\":\"q\"}]");
    }
    conversation_release(&c);
}

static void blocks_joins_user_turns(void **state)
{
    (void)state;
    struct conversation c;
    struct llm_options o = options();
    struct request_shape s = shape(&o, true);
    conversation_init(&c);
    conversation_user(&c, "q1", 2);
    struct call k = call("a", "{}", NULL);
    conversation_assistant(&c, "", &k, 1);
    conversation_result(&c, "a", RESULT_MALFORMED, "no {output} here", 16);
    conversation_user(&c, "q2", 2);
    autofree char *m = messages(&c, &s);
    is_json(m, "[{\"role\":\"system\",\"content\":\"BLOCKS\"},{\"role\":\"user\",\"content\":\"q1\"},"
               "{\"role\":\"assistant\",\"content\":\"(a call of execute_python that could not be run)\"},"
               "{\"role\":\"user\",\"content\":\"[bad]no {output} here\\n\\nq2\"}]");
    conversation_release(&c);
}

static bool vary;
static const char *about;

static char *body(struct llm_options *o, const struct request_shape *s)
{
    struct conversation c;
    conversation_init(&c);
    conversation_user(&c, "q", 1);
    struct llm_request q = {
        .conversation = &c, .prompts = &prompts, .tools = {&tool, 1}, .vary = vary, .about = about};
    struct request_shape copy = *s;
    copy.o = o;
    char *b = request_body(&q, &copy, NULL);
    conversation_release(&c);
    return b;
}

static void fields(void **state)
{
    (void)state;
    struct llm_options o = options();
    struct request_shape s = shape(&o, true);
    autofree char *plain = body(&o, &s);
    is_json(plain, "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"BLOCKS\"},{\"role\":"
                   "\"user\",\"content\":\"q\"}],"
                   "\"stream\":true,\"stream_options\":{\"include_usage\":true}}");
    s.stream = false;
    s.max_tokens = 5;
    o.facts.temperature = 0;
    o.reasoning_effort = "low";
    autofree char *all = body(&o, &s);
    is_json(all, "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"BLOCKS\"},{\"role\":"
                 "\"user\",\"content\":\"q\"}],"
                 "\"max_tokens\":5,\"temperature\":0,\"reasoning_effort\":\"low\",\"stream\":false}");
    vary = true;
    autofree char *varied = body(&o, &s);
    assert_non_null(strstr(varied, "\"temperature\":0.7"));
    o.facts.temperature = 1;
    autofree char *warm = body(&o, &s);
    assert_non_null(strstr(warm, "\"temperature\":1,"));
    o.facts.temperature = -1;
    autofree char *unset = body(&o, &s);
    assert_null(strstr(unset, "temperature"));
    vary = false;
    o.facts.temperature = 0;
    learnt.max_tokens_field = MAX_TOKENS_NEW;
    learnt.no_temperature = true;
    o.reasoning_effort = NULL;
    autofree char *less = body(&o, &s);
    assert_non_null(strstr(less, "\"max_completion_tokens\":5"));
    assert_null(strstr(less, "temperature"));
    assert_null(strstr(less, "reasoning_effort"));
    about = "T";
    autofree char *nudged = body(&o, &s);
    about = NULL;
    assert_non_null(strstr(
        nudged, "{\"role\":\"assistant\",\"content\":\"T\"},{\"role\":\"user\",\"content\":\"NUDGE\"}]"));
}

/* How the effort is sent, and what the provider's entry adds. */
static void thinking(void **state)
{
    static const struct {
        enum thinking how;
        const char *effort, *efforts, *fields, *has, *not ;
    } cases[] = {
        {THINKING_EFFORT, NULL, NULL, NULL, NULL, "effort"},
        {THINKING_EFFORT, "low", NULL, NULL, "\"reasoning_effort\":\"low\"", "thinking"},
        {THINKING_NONE, "low", NULL, NULL, NULL, "low"},
        {THINKING_TYPE, "none", "none|low", NULL, "\"thinking\":{\"type\":\"disabled\"}", "effort"},
        {THINKING_TYPE, "low", "none|low", NULL,
         "\"thinking\":{\"type\":\"enabled\"},\"reasoning_effort\":\"low\"", "disabled"},
        {THINKING_TYPE, "low", NULL, NULL, "\"thinking\":{\"type\":\"enabled\"}", "effort"},
        {THINKING_ADAPTIVE, "high", NULL, NULL, "\"thinking\":{\"type\":\"adaptive\"}", "effort"},
        {THINKING_ENABLE, "none", NULL, NULL, "\"enable_thinking\":false", "effort"},
        {THINKING_ENABLE, "max", NULL, NULL, "\"enable_thinking\":true", "effort"},
        {THINKING_ENABLED, "none", NULL, NULL, "\"reasoning\":{\"enabled\":false}", "effort"},
        {THINKING_REASONING, "high", "low|high", NULL, "\"reasoning\":{\"effort\":\"high\"}",
         "reasoning_effort"},
        {THINKING_TYPE, "none", NULL,
         "{\"thinking\":{\"type\":\"enabled\",\"clear_thinking\":false},\"tool_stream\":true}",
         "\"thinking\":{\"type\":\"disabled\",\"clear_thinking\":false}", "enabled"},
        {THINKING_EFFORT, NULL, NULL, "{\"tool_stream\":true,\"model\":\"theirs\"}", "\"tool_stream\":true",
         "theirs"},
    };
    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct llm_options o = options();
        struct request_shape s = shape(&o, false);
        o.facts.thinking = cases[i].how;
        o.facts.efforts = cases[i].efforts;
        o.service.body = cases[i].fields;
        learnt.effort_known = true;
        learnt.effort = cases[i].effort;
        autofree char *b = body(&o, &s);
        if ((cases[i].has && !strstr(b, cases[i].has)) || strstr(b, cases[i].not ))
            fail_msg("case %zu: %s", i, b);
    }
}

static void efforts(void **state)
{
    static const struct {
        const char *known, *asked, *sent;
    } cases[] = {
        {NULL, "minimal", "minimal"},           {"low|high", NULL, NULL},
        {"low|medium|high", "minimal", "low"},  {"low|medium|high", "none", "low"},
        {"low|medium|high", "max", "high"},     {"none|low|high|max", "medium", "high"},
        {"none|low|high|max", "xhigh", "high"}, {"none|low|high|max", "none", "none"},
        {"none|high", "low", "high"},           {"none|default", "high", NULL},
        {"none|default", "none", "none"},       {"none", "high", NULL},
        {"minimal|low", "none", "minimal"},
    };
    char named[64];
    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        const char *got = effort_nearest(cases[i].known, cases[i].asked);
        if (got != cases[i].sent && (!got || !cases[i].sent || strcmp(got, cases[i].sent)))
            fail_msg("%s of %s: %s", cases[i].asked, cases[i].known, got ? got : "nothing");
    }
    effort_named(
        "Unsupported value: 'minimal'. Supported values are: 'none', 'low', 'medium', 'high', and 'xhigh'.",
        "minimal", named);
    assert_string_equal(named, "none|low|medium|high|xhigh");
    effort_named("minimal is a slow, highly maximal word", "minimal", named);
    assert_string_equal(named, "");
}

/* What goes back of the reasoning, by service. */
static void reasoning_back(void **state)
{
    static const struct {
        enum reasoning_back back;
        const char *origin;
        int with, blank;
    } cases[] = {
        {BACK_CALLS, "here", 1, 0}, {BACK_ALWAYS, "here", 2, 0},     {BACK_REQUIRED, "here", 2, 1},
        {BACK_NEVER, "here", 0, 0}, {BACK_CALLS, "elsewhere", 0, 0}, {BACK_REQUIRED, "elsewhere", 0, 3},
    };
    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct conversation c;
        struct llm_options o = options();
        struct request_shape s = shape(&o, false);
        conversation(&c);
        struct turn *t = conversation_assistant(&c, "two", NULL, 0);
        t->reasoning = xstrdup("hm");
        t->reasoning_field = xstrdup("reasoning");
        t->origin = xstrdup("here");
        conversation_user(&c, "q3", 2);
        o.facts.reasoning_back = cases[i].back;
        s.origin = cases[i].origin;
        autofree char *m = messages(&c, &s);
        int with = 0, blank = 0;
        for (const char *p = m; (p = strstr(p, ":\"hm\"")); p++)
            with++;
        for (const char *p = m; (p = strstr(p, "\"reasoning_content\":\" \"")); p++)
            blank++;
        if (with != cases[i].with || blank != cases[i].blank)
            fail_msg("case %zu: %d with, %d blank: %s", i, with, blank, m);
        assert_true(cases[i].back != BACK_REQUIRED || !strstr(m, "\"reasoning\":"));
        conversation_release(&c);
    }
}

/* Thoughts that came in the text go back in it until the question is answered; OpenRouter's pieces stand
 * beside the field where it is required. */
static void thoughts_in_text(void **state)
{
    (void)state;
    struct conversation c;
    struct llm_options o = options();
    struct request_shape s = shape(&o, false);
    struct call one[] = {call("call_abc", "{}", NULL)}, two[] = {call("call_def", "{}", NULL)};
    conversation_init(&c);
    conversation_user(&c, "q1", 2);
    struct turn *t = conversation_assistant(&c, "", one, 1);
    t->reasoning = xstrdup("first");
    t->origin = xstrdup("here");
    conversation_result(&c, "call_abc", RESULT_OK, "1", 1);
    conversation_assistant(&c, "done", NULL, 0);
    conversation_user(&c, "q2", 2);
    t = conversation_assistant(&c, "now", two, 1);
    t->reasoning = xstrdup("second");
    t->reasoning_items = xstrdup("[{\"type\":\"reasoning.text\",\"text\":\"P\"}]");
    t->origin = xstrdup("here");
    conversation_result(&c, "call_def", RESULT_OK, "1", 1);
    o.facts.reasoning_back = BACK_TEXT;
    autofree char *m = messages(&c, &s);
    assert_null(strstr(m, "first"));
    assert_non_null(strstr(m, "\"content\":\"<think>\\nsecond\\n</think>\\n\\nnow\""));
    o.facts.reasoning_back = BACK_REQUIRED;
    autofree char *both = messages(&c, &s);
    assert_non_null(strstr(both, "\"reasoning_content\":\"second\""));
    assert_non_null(strstr(both, "\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"P\"}]"));
    learnt.stale = c.n;
    autofree char *stale = messages(&c, &s);
    assert_null(strstr(stale, "second"));
    conversation_release(&c);
}

static void signatures(void **state)
{
    (void)state;
    struct conversation c;
    struct llm_options o = options();
    struct request_shape s = shape(&o, false);
    conversation(&c);
    o.service.signatures = true;
    autofree char *own = messages(&c, &s);
    assert_null(strstr(own, "skip_thought"));
    s.origin = "elsewhere";
    autofree char *others = messages(&c, &s);
    const char *at = strstr(others, "skip_thought_signature_validator");
    assert_non_null(at);
    assert_null(strstr(at + 1, "skip_thought")); /* of the calls of one step the first has it */
    conversation_release(&c);
}

static void bounds(void **state)
{
    (void)state;
    struct llm_options o = options();
    assert_int_equal(request_max_tokens(&o, false, 0), 0);
    assert_int_equal(request_max_tokens(&o, true, 0), 4096);
    assert_int_equal(request_max_tokens(&o, true, 8192), 2048);
    o.facts.max_tokens = 1000;
    assert_int_equal(request_max_tokens(&o, true, 8192), 1000);
    o.service.send_max_tokens = true;
    assert_int_equal(request_max_tokens(&o, false, 0), 1000);
    o.service.send_max_tokens = false;
    o.max_tokens = 7000;
    assert_int_equal(request_max_tokens(&o, false, 0), 7000);
    assert_int_equal(request_max_tokens(&o, false, 8192), 2048);
}

/* Edits come in batches: of many images, one at a time, the first that is sent moves seldom and by half of
 * those that fit. */
static void first_image(void **state)
{
    static const size_t firsts[][2] = {
        {0, 0},  {1, 0},  {4, 0},  {5, 0},   {8, 0},   {9, 4},
        {12, 4}, {13, 8}, {16, 8}, {17, 12}, {20, 12}, {21, 16},
    };
    static const size_t few[][2] = {{4, 0}, {5, 2}, {6, 2}, {7, 4}, {8, 4}, {9, 6}};
    struct llm_learnt known = {0};
    struct conversation c;

    (void)state;
    conversation_init(&c);
    conversation_user(&c, "q", 1);
    for (size_t n = 0, i = 0; n <= 21; n++) {
        known.few_images = false;
        if (i < countof(firsts) && firsts[i][0] == n)
            assert_int_equal(request_first_image(&c, &known), firsts[i++][1]);
        known.few_images = true;
        for (size_t k = 0; k < countof(few); k++)
            if (few[k][0] == n)
                assert_int_equal(request_first_image(&c, &known), few[k][1]);
        conversation_image(&c, &(struct turn_image){.name = xstrdup("x.png")});
    }
    conversation_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native),
        cmocka_unit_test(another_service),
        cmocka_unit_test(blocks),
        cmocka_unit_test(an_instruction_ends_with_its_question),
        cmocka_unit_test(blocks_joins_user_turns),
        cmocka_unit_test(blocks_failed_tries),
        cmocka_unit_test(first_image),
        cmocka_unit_test(blocks_examples),
        cmocka_unit_test(fields),
        cmocka_unit_test(thinking),
        cmocka_unit_test(efforts),
        cmocka_unit_test(reasoning_back),
        cmocka_unit_test(thoughts_in_text),
        cmocka_unit_test(signatures),
        cmocka_unit_test(bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
