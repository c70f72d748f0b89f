/* test_text_calls.c - calls and thoughts written as text: every form of tests/forms/calls.json alone,
 * behind text and twice, cut at every byte and broken off at every byte; what is none; thoughts with and
 * without their tags; text made to be slow.
 */
#include "../unit.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "json/json.h"
#include "base/mem.h"
#include "calls/python_call.h"
#include "calls/text_calls.h"

static const struct llm_tool tool = {"execute_python", "", "{}", "code"};
static const struct llm_toolset tools = {&tool, 1};

struct got {
    struct buf text, thoughts;
    struct calls calls;
    bool enough, retracted;
};

static void got_release(struct got *g)
{
    buf_release(&g->text);
    buf_release(&g->thoughts);
    calls_release(&g->calls);
}

static void took(struct got *g, struct text_calls *k, struct buf *text, struct buf *thoughts)
{
    if (k->retracted) {
        buf_add(&g->thoughts, buf_str(&g->text), g->text.len);
        buf_clear(&g->text);
        g->retracted = true;
        k->retracted = false;
    }
    buf_add(&g->thoughts, buf_str(thoughts), thoughts->len);
    buf_add(&g->text, buf_str(text), text->len);
    buf_clear(text);
    buf_clear(thoughts);
}

/* In pieces that end at cut (0: none) and then of step bytes. */
static struct got read_as(const char *s, size_t n, size_t cut, size_t step, enum text_end how, bool awaited)
{
    struct got g = {0};
    struct text_calls k;
    struct buf text = BUF_INIT(0), thoughts = BUF_INIT(0);
    text_calls_init(&k, &tools, &text, &thoughts);
    k.awaited = awaited;
    for (size_t at = 0, piece; at < n && !g.enough; at += piece) {
        piece = cut && at < cut ? cut - at : step;
        piece = piece < n - at ? piece : n - at;
        char *exact = xmemdup0(s + at, piece);
        g.enough = text_calls_feed(&k, exact, piece);
        free(exact);
        took(&g, &k, &text, &thoughts);
    }
    text_calls_end(&k, how);
    took(&g, &k, &text, &thoughts);
    calls_move(&g.calls, &k.calls);
    text_calls_release(&k);
    buf_release(&text);
    buf_release(&thoughts);
    return g;
}

static struct got read_whole(const char *s)
{
    return read_as(s, strlen(s), 0, SIZE_MAX, TEXT_WHOLE, false);
}

static char *code_of(const struct llm_call *c)
{
    autojson struct json *j = json_parse(c->call.arguments, strlen(c->call.arguments), 0, NULL, NULL);
    return c->problem ? NULL : xstrdup(json_str(json_get(j, "code")));
}

static bool same(const struct got *a, const struct got *b)
{
    bool equal = a->calls.n == b->calls.n && !strcmp(buf_str(&a->text), buf_str(&b->text))
                 && !strcmp(buf_str(&a->thoughts), buf_str(&b->thoughts));
    for (size_t i = 0; equal && i < a->calls.n; i++)
        equal = !strcmp(a->calls.v[i].call.arguments, b->calls.v[i].call.arguments)
                && !a->calls.v[i].problem == !b->calls.v[i].problem;
    return equal;
}

static void check_cuts(const char *s, enum text_end how)
{
    size_t n = strlen(s);
    struct got whole = read_as(s, n, 0, n, how, false), bytes = read_as(s, n, 0, 1, how, false);
    bool equal = same(&whole, &bytes);
    for (size_t cut = 1; cut < n && equal; cut += cut_step(n)) {
        struct got g = read_as(s, n, cut, n, how, false);
        equal = same(&whole, &g);
        got_release(&g);
    }
    if (!equal)
        fail_msg("cut at a byte gives another result: %s", s);
    got_release(&whole);
    got_release(&bytes);
}

/* ---- the forms ---- */

static const char *const codes[] = {
    "print(6*7)",
    "x = \"a\\n\" + '<b>'\nfor i in range(2):\n    print(i, x)\n\nprint(\"\"\"\xc3\xa9 {} [)\"\"\")"};

static void replace(struct buf *b, const char *what, const char *by)
{
    struct buf out = BUF_INIT(0);
    const char *s = buf_str(b), *at;
    for (; (at = strstr(s, what)); s = at + strlen(what)) {
        buf_add(&out, s, (size_t)(at - s));
        buf_addstr(&out, by);
    }
    buf_addstr(&out, s);
    buf_release(b);
    *b = out;
}

static char *in_json(const char *s)
{
    autojson struct json *j = json_string(s);
    return json_print(j);
}

static void fill(struct buf *b, int number, const char *code)
{
    static const char *const names[] = {"jsonjson", "json", "python", "code"};
    autofree char *once = in_json(code), *object = xasprintf("{\"code\": %s}", once),
                  *twice = in_json(object);
    const char *const by[] = {twice, once, once, code};
    for (size_t i = 0; i < countof(names); i++) {
        autofree char *what = xasprintf("@%s%d@", names[i], number);
        replace(b, what, by[i]);
    }
}

/* The text of a form: behind lead, once or twice. */
static struct buf text_of(const struct json *form, const char *lead, bool twice, const char *a, const char *b)
{
    struct buf text = BUF_INIT(0);
    const char *one = json_str(json_get(form, "form")), *two = json_str(json_get(form, "two"));
    buf_addstr(&text, lead);
    buf_addstr(&text, twice && two ? two : one);
    if (twice && !two) {
        struct buf second = BUF_INIT(0);
        buf_addf(&second, "\n%s", one);
        replace(&second, "1@", "2@");
        buf_add(&text, second.data, second.len);
        buf_release(&second);
    }
    fill(&text, 1, a);
    fill(&text, 2, b);
    return text;
}

static void check_whole(const char *name, const char *text, const char *lead, size_t n,
                        const char *const *want)
{
    struct got g = read_whole(text);
    if (g.calls.n != n || strcmp(buf_str(&g.text), lead) != 0 || g.thoughts.len)
        fail_msg("%s: %zu calls, text \"%s\" of: %s", name, g.calls.n, buf_str(&g.text), text);
    for (size_t i = 0; i < n; i++) {
        autofree char *code = code_of(&g.calls.v[i]);
        if (!code || strcmp(code, want[i]) != 0)
            fail_msg("%s: call %zu is %s", name, i, code ? code : g.calls.v[i].problem);
    }
    got_release(&g);
}

/* Broken off at n bytes: only calls of the whole would run, and no byte of text is lost. */
static void check_prefix(const char *name, const char *text, size_t n, const char *lead,
                         const char *const *want)
{
    struct got g = read_as(text, n, 0, SIZE_MAX, TEXT_WHOLE, false);
    for (size_t i = 0; i < g.calls.n; i++) {
        autofree char *code = code_of(&g.calls.v[i]);
        if (code && strcmp(code, want[i]) != 0)
            fail_msg("%s: the first %zu bytes would run %s", name, n, code);
    }
    bool kept = g.calls.n ? !strcmp(buf_str(&g.text), lead)
                          : g.text.len + g.thoughts.len == n && !memcmp(buf_str(&g.text), text, g.text.len);
    if (!kept)
        fail_msg("%s: of the first %zu bytes this is left: %s", name, n, buf_str(&g.text));
    got_release(&g);
}

static void check_form(const struct json *form, const char *lead, bool twice, const char *const *want)
{
    const char *name = json_str(json_get(form, "name"));
    struct buf text = text_of(form, lead, twice, want[0], want[1]);
    check_whole(name, text.data, lead, twice ? 2 : 1, want);
    check_cuts(text.data, TEXT_WHOLE);
    for (size_t n = 0; n < text.len; n += cut_step(text.len))
        check_prefix(name, text.data, n, lead, want);

    /* beside a call as the API has it */
    struct got all = read_as(text.data, text.len, 0, SIZE_MAX, TEXT_ONLY, false);
    if (all.calls.n || strcmp(buf_str(&all.text), text.data) != 0)
        fail_msg("%s: as text it is: %s", name, buf_str(&all.text));
    got_release(&all);

    struct buf fence = BUF_INIT(0);
    buf_addf(&fence, "See:\n````text\n%s\n````\nThat is it.\n", text.data);
    check_whole(name, fence.data, fence.data, 0, want);
    check_cuts(fence.data, TEXT_WHOLE);
    buf_release(&fence);
    buf_release(&text);
}

static struct json *read_forms(void)
{
    struct buf b = BUF_INIT(1u << 20);
    struct error err = {0};
    assert_int_equal(file_read("tests/forms/calls.json", 1u << 20, &b, &err), 0);
    struct json *j = json_parse(b.data, b.len, 0, NULL, &err);
    assert_non_null(j);
    buf_release(&b);
    return j;
}

static void every_form(void **state)
{
    (void)state;
    const char *const turned[] = {codes[1], codes[0]}, *const leads[] = {
                                                           "", "Let me compute it: 1 < 2, [x](y).\n\n"};
    autojson struct json *forms = read_forms();
    static const int ways[] = {0, 3, 5, 6}; /* each of the three choices with each of the others */
    size_t n = 0;
    for (const struct json *f = json_first(forms); f; f = json_next(f), n++)
        for (size_t i = 0; i < countof(ways); i++)
            check_form(f, leads[ways[i] & 1], ways[i] & 2, ways[i] & 4 ? turned : codes);
    assert_true(n >= 40);
}

/* ---- what is none ---- */

static void text_stays_text(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        " ",
        "\n\n",
        "x < y && z <think",
        "a <b>bold</b> [link](url) {set} `code`\n",
        "[1, 2, 3]\n",
        "{\"name\": \"Emily\", \"age\": 32}",
        "{\"name\":\"execute_python\",\"arguments\":{\"code\":\"print(1)\"}} is how a call looks.",
        "\n\n  [execute_python(code=\"1\")] is how a call looks.\n",
        "[print(1)]",
        "[nothing_known(code=\"1\")]",
        "[execute_python(code=x)]",
        "[execute_python(code=f\"{x}\")]",
        "[execute_python(code=\"1\") for x in y]",
        "<tool_call>{\"name\": \"web\", \"arguments\": {}}</tool_call>",
        "<tool_call>nothing</tool_call>",
        "The tag <tool_call> opens it, and </tool_call> ends it.",
        "Use `<tool_call>{\"name\":\"execute_python\",\"arguments\":{\"code\":\"1\"}}</tool_call>`.",
        "<function=web><parameter=code>1</parameter></function>",
        "<function=execute_python><parameter=code>1",
        "<function=execute_python><parameter=code>1</param",
        "<invoke name=\"execute_python\"><parameter name=\"code\">1",
        "[TOOL_CALLS]web[ARGS]{\"code\":\"1\"}",
        "[TOOL_CALLS]execute_python[ARGS]{\"code\":\"1\"",
        "<|python_tag|>print(1)",
        "```tool_code\nprint(1)\n",
        "```tool_code\nprint(1)\n``",
        "```tool_code\n\n```\n",
        "```tool_code\n{\"name\": \"web\"}\n```\n",
        "```python\nprint(1)\n```\n",
        "```json\n{\"a\": 1}\n```\n",
        "~~~text\n<tool_call>{\"name\":\"execute_python\",\"arguments\":{\"code\":\"1\"}}</tool_call>\n~~~\n",
        "```\nx\n```\n```xml\n<function=execute_python><parameter=code>1</parameter></function>\n```",
        "<|im_end|>doctor",
        "analysis of the data: fine",
        "commentary to=nobody",
        "{\"tool_calls\": []}",
        "[{\"name\": \"execute_python\", \"arguments\": {\"code\": \"1\"}}, 7]",
        "[{\"name\": \"web\"}]",
        "<\xef\xbd\x9ctool",
        "a </ think> b",
        "</thinking>x",
        "It is `</think>` that ends it, or \"</think>\" if you will.\n",
        "The tag <think> starts it and </think> ends it.",
        "Wrap it: `<think>why</think>`, or\n```\n<think>\nx\n```\n</think>.",
        "```\n</think>\n```\n",
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct got g = read_whole(cases[i]);
        if (g.calls.n || g.thoughts.len || strcmp(buf_str(&g.text), cases[i]) != 0)
            fail_msg("%zu calls, thoughts \"%s\", text \"%s\" of: %s", g.calls.n, buf_str(&g.thoughts),
                     buf_str(&g.text), cases[i]);
        got_release(&g);
        check_cuts(cases[i], TEXT_WHOLE);
        check_cuts(cases[i], TEXT_CUT);
    }
}

/* What cannot become a call any more is passed on with the byte that tells. */
static void nothing_waits_longer_than_needed(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "word",
        "1 < 2",
        "a <b",
        "<tool_box",
        "[x]",
        "text\n[li]",
        "{\"ab",
        "text\n{\"name\": \"x\"}",
        "a `",
        "```p",
        "```json\n{\"na\"",
        "<|x",
        "the \xe2\x82\xac",
        "<thi ",
        "a\n",
        "[execute_pythom(",
        "<function=web>",
        "x <tool_call> is ",
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct text_calls k;
        struct buf text = BUF_INIT(0), thoughts = BUF_INIT(0);
        text_calls_init(&k, &tools, &text, &thoughts);
        assert_false(text_calls_feed(&k, cases[i], strlen(cases[i])));
        assert_string_equal(buf_str(&text), cases[i]);
        text_calls_release(&k);
        buf_release(&text);
        buf_release(&thoughts);
    }
}

static void broken_calls_are_told(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "{\"name\": \"execute_python\", \"arguments\": {\"code\": \"\"\"print(1)\"\"\"}}",
        "<tool_call>{\"name\": \"execute_python\", \"arguments\": {\"code\": \"print(\"1\")\"}}</tool_call>",
        "<tool_call>\n{\"name\": \"execute_python\", \"arguments\": {\"code\": \"print(1)\"}\n</tool_call>",
        "```json\n{\"name\": \"execute_python\", \"arguments\": {\"code\": \"x\"}, }\n```\n",
        "<function=execute_python>{\"code\": }</function>",
        "<function=execute_python><parameter=code>\n\n</parameter></function>",
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct got g = read_whole(cases[i]);
        if (g.calls.n != 1 || !g.calls.v[0].problem || g.text.len)
            fail_msg("%zu calls, text \"%s\" of: %s", g.calls.n, buf_str(&g.text), cases[i]);
        got_release(&g);
        check_cuts(cases[i], TEXT_WHOLE);
    }
}

#define ONE  "<tool_call>{\"name\":\"execute_python\",\"arguments\":{\"code\":\"1\"}}</tool_call>"
#define BARE "{\"name\":\"execute_python\",\"arguments\":{\"code\":\"1\"}}"

static void behind_a_call(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        enum text_end how;
        size_t calls;
        const char *text;
    } cases[] = {
        {"a " ONE "\nIt is 41.", TEXT_WHOLE, 1, "a "},
        {"a " ONE "\nIt is 41.\n" ONE, TEXT_WHOLE, 1, "a "},
        {ONE ONE "\n\n" ONE, TEXT_WHOLE, 3, ""},
        {"a " ONE "\nIt is", TEXT_CUT, 1, "a "},
        {"a " ONE "\n<tool_c", TEXT_CUT, 1, "a "},
        {"a\n" BARE, TEXT_CUT, 0, "a\n" BARE},
        {"a\n" BARE "\n", TEXT_WHOLE, 1, "a\n"},
        {ONE "\n" BARE "\nno", TEXT_WHOLE, 1, ""},
        {BARE "\n" ONE, TEXT_WHOLE, 2, ""},
        {BARE "\nand " ONE, TEXT_WHOLE, 1, BARE "\nand "},
        {"x" ONE "<|eot_id|><|im_end|>", TEXT_WHOLE, 1, "x"},
        {"a " ONE " b", TEXT_ONLY, 0, "a " ONE " b"},
        {"\n " ONE, TEXT_ONLY, 0, "\n " ONE},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct got g = read_as(cases[i].in, strlen(cases[i].in), 0, SIZE_MAX, cases[i].how, false);
        if (g.calls.n != cases[i].calls || strcmp(buf_str(&g.text), cases[i].text) != 0)
            fail_msg("%zu calls, text \"%s\" of: %s", g.calls.n, buf_str(&g.text), cases[i].in);
        got_release(&g);
        check_cuts(cases[i].in, cases[i].how);
    }
    struct buf b = BUF_INIT(0);
    buf_addstr(&b, ONE);
    for (int i = 0; i < 1000; i++)
        buf_addstr(&b, "invented ");
    struct got g = read_whole(b.data);
    assert_true(g.enough && g.calls.n == 1 && !g.text.len);
    got_release(&g);
    buf_release(&b);
}

/* ---- thoughts ---- */

static void thoughts(void **state)
{
    (void)state;
    static const struct {
        const char *in, *text, *inner;
        bool retracted;
        size_t calls;
    } cases[] = {
        {"<think>a</think>b", "b", "a", false, 0},
        {"\n <think>a\nb</think>\n\nc\n", "c\n", "a\nb", false, 0},
        {"a <think>b</think>", "a <think>b</think>", "", false, 0},
        {"<thin", "<thin", "", false, 0},
        {"<think>a</thi", "", "a</thi", false, 0},
        {"<think>a<</think>b", "b", "a<", false, 0},
        {"<think></think>", "", "", false, 0},
        {"<think>a</think><think>b</think>c", "c", "ab", false, 0},
        {" x", " x", "", false, 0},
        {"", "", "", false, 0},
        {"[THINK]a[/THINK]b", "b", "a", false, 0},
        {"<thought>a</thought>\nb", "b", "a", false, 0},
        {"<thinking>a</thinking>b", "b", "a", false, 0},
        {"<reasoning>\na\n</reasoning>b", "b", "\na\n", false, 0},
        {"<thinking>a", "", "a", false, 0},
        {"[THINK]a[/THIN", "", "a[/THIN", false, 0},
        {"so <thinking>a</thinking>", "so <thinking>a</thinking>", "", false, 0},
        {"<think>" ONE "</think>b", "b", ONE, false, 0},
        {"<think>a</think>\n" ONE, "", "a", false, 1},
        {"I see.\n</think>\n\n42", "42", "I see.\n", true, 0},
        {"I see.</think>42", "42", "I see.", true, 0},
        {"</think>\n\n42", "42", "", true, 0},
        {"Hm. " ONE " no.</think>42", "42", "Hm. " ONE " no.", true, 0},
        {BARE "\nno</think>42", "42", BARE "\nno", true, 0},
        {"Hm.</think>\n" ONE, "", "Hm.", true, 1},
        {"I see [/THINK] 42", "42", "I see ", true, 0},
        {"a</think>b</think>c", "b</think>c", "a", true, 0},
        {"<think>a</think>b</think>c", "b</think>c", "a", false, 0},
        {"```python\n1\n```\nx</think>y", "y", "```python\n1\n```\nx", true, 0},
        {" \n a</think>b", "b", " \n a", true, 0},
        {"One ` too many.</think>b", "b", "One ` too many.", true, 0},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct got g = read_whole(cases[i].in);
        if (g.calls.n != cases[i].calls || strcmp(buf_str(&g.text), cases[i].text) != 0
            || strcmp(buf_str(&g.thoughts), cases[i].inner) != 0 || g.retracted != cases[i].retracted)
            fail_msg("%zu calls, text \"%s\", thoughts \"%s\" of: %s", g.calls.n, buf_str(&g.text),
                     buf_str(&g.thoughts), cases[i].in);
        got_release(&g);
        check_cuts(cases[i].in, TEXT_WHOLE);
    }
}

/* From a model that is known to leave the beginning out nothing has to be retracted, and nothing is lost when
 * it did not think. */
static void awaited_thoughts(void **state)
{
    (void)state;
    static const struct {
        const char *in, *text, *inner;
        size_t calls;
    } cases[] = {
        {"a\n</think>\n\nb", "b", "a\n", 0}, {"<think>a</think>b", "b", "a", 0},
        {"just text", "just text", "", 0},   {"", "", "", 0},
        {"</think>x", "x", "", 0},           {"a" ONE "</think>" ONE, "", "a" ONE, 1},
        {"a\n" ONE, "a\n", "", 1},           {"</thin", "</thin", "", 0},
    };
    for (size_t i = 0; i < countof(cases); i++)
        for (size_t cut = 0, n = strlen(cases[i].in); cut <= n; cut++) {
            struct got g = read_as(cases[i].in, n, cut, n ? n : 1, TEXT_WHOLE, true);
            if (g.calls.n != cases[i].calls || strcmp(buf_str(&g.text), cases[i].text) != 0
                || strcmp(buf_str(&g.thoughts), cases[i].inner) != 0 || g.retracted)
                fail_msg("%zu calls, text \"%s\", thoughts \"%s\" of: %s", g.calls.n, buf_str(&g.text),
                         buf_str(&g.thoughts), cases[i].in);
            got_release(&g);
        }
}

/* ---- Python's literals, and white space ---- */

static void python_literals(void **state)
{
    (void)state;
    static const struct {
        const char *in, *code;
    } cases[] = {
        {"[execute_python(code='a\\nb\\t\\x41\\u00e9\\101\\\\')]", "a\nb\tA\xc3\xa9"
                                                                   "A\\"},
        {"[execute_python(code=r'a\\nb')]", "a\\nb"},
        {"[execute_python(code=\"\"\"a\n'b' \"c\"\n\"\"\")]", "a\n'b' \"c\"\n"},
        {"[execute_python(code='a' \"b\"\n'c')]", "abc"},
        {"[execute_python('x', )]", "x"},
        {"[execute_python(code='\\q\\ud83d\\ude00\\ud800')]", "\\q\xf0\x9f\x98\x80\xef\xbf\xbd"},
        {"[ execute_python ( code = 'a' , ) ]", NULL},
        {"[execute_python(code='''it's''')]", "it's"},
        {"[execute_python(code='a', timeout=5, x=None, y=True)]", "a"},
        {"[execute_python(code=u'a\\\nb')]", "ab"},
        {"[execute_python(code='a', 'b')]", NULL},
        {"[execute_python('a', 'b')]", NULL},
        {"[execute_python(code=b'a')]", NULL},
        {"[execute_python(code='\\N{DASH}')]", NULL},
        {"[execute_python(code=open('x'))]", NULL},
        {"[execute_python(code='a'])", NULL},
        {"[execute_python(code='')]", ""},
        {"[execute_python(code='a\nb')]", "a\nb"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct got g = read_whole(cases[i].in);
        autofree char *code = g.calls.n == 1 && !g.calls.v[0].problem ? code_of(&g.calls.v[0]) : NULL;
        bool empty = cases[i].code && !*cases[i].code && g.calls.n == 1 && g.calls.v[0].problem;
        bool text = !cases[i].code && !g.calls.n && !strcmp(buf_str(&g.text), cases[i].in);
        if (!empty && !text && (!code || !cases[i].code || strcmp(code, cases[i].code) != 0))
            fail_msg("%s: %s", cases[i].in, code ? code : "no call");
        got_release(&g);
        check_cuts(cases[i].in, TEXT_WHOLE);
    }
}

/* No depth of calls uses up our stack. */
static void a_call_within_many(void **state)
{
    (void)state;
    for (size_t depth = 1; depth < 100000; depth += 72000) {
        struct buf b = BUF_INIT(0);
        buf_addstr(&b, "[execute_python('a'), ");
        for (size_t i = 0; i < depth; i++)
            buf_addstr(&b, "print(");
        buf_addstr(&b, "execute_python('b')");
        for (size_t i = 0; i < depth; i++)
            buf_addch(&b, ')');
        buf_addch(&b, ']');
        struct got g = read_as(b.data, b.len, 0, b.len, TEXT_WHOLE, false);
        assert_int_equal(g.calls.n, 2);
        got_release(&g);
        buf_release(&b);
    }
}

static void white_space_is_the_tags(void **state)
{
    (void)state;
    static const struct {
        const char *in, *code;
    } cases[] = {
        {"\n1\n", "1"},
        {" 1 ", "1"},
        {"\n    if x:\n        y\n\n    z\n", "if x:\n    y\n\nz"},
        {"\n  a\nb", "a\nb"},
        {"  a\n  b", "a\n  b"},
        {"\n\ta\n\tb\n", "a\nb"},
        {"\r\n1\r\n", "1"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        autofree char *text = xasprintf("<function=execute_python><parameter=code>%s</parameter></function>",
                                        cases[i].in);
        check_whole(text, text, "", 1, &cases[i].code);
    }
}

/* ---- text made to be slow ---- */

static void hostile_text_costs_a_few_passes(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "<",
        "[",
        "{",
        "`",
        "<tool_call>",
        "<tool_call>{",
        "<tool_call>{\"name\":\"",
        "[TOOL_CALLS][",
        "{\"name\":[\n",
        "\n{\"name\":\"",
        "\n[execute_python(",
        "\n[execute_python(\"",
        "\n```json\n{",
        "```tool_code\n",
        "<function=execute_python><parameter=code>",
        "<invoke name=\"execute_python\">",
        "</think",
        "<think",
        "<|channel|>",
        "<|start|>to=execute_python{\"",
        "<|start|>to=",
        "\n\n",
        " ",
        "<function=",
        "<function=execute_python>{",
        "<tool_call>execute_python<arg_key>code</arg_key><arg_value>",
        ONE,
        BARE "\n",
        BARE "\nno\n",
        "[TOOL_CALLS]execute_python[ARGS]{\"a\":",
        "\n[{\"name\":",
        "<\xef\xbd\x9ctool\xe2\x96\x81"
        "calls\xe2\x96\x81"
        "begin\xef\xbd\x9c>",
        "[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]",
        "<tool_call>[[[[]]]]",
        "a",
        "\nassistantcommentary to=",
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct buf b = BUF_INIT(0);
        while (b.len < 256u << 10)
            buf_addstr(&b, cases[i]);
        int64_t start = cpu_us();
        struct got g = read_as(b.data, b.len, 0, 4096, TEXT_WHOLE, false);
        int64_t ms = (cpu_us() - start) / 1000;
        if (getenv("WIRE_VERBOSE"))
            printf("%6lld ms %.30s\n", (long long)ms, cases[i]);
        if (ms > 2000)
            fail_msg("%lld ms for 256 KiB of %s", (long long)ms, cases[i]);
        if (!g.calls.n && !g.enough)
            assert_int_equal(g.text.len + g.thoughts.len, b.len);
        got_release(&g);
        buf_release(&b);
    }
}

/* Not as if each of its arguments were looked for among the others, which would take six seconds. */
static void a_flat_call_of_many_members_is_read_in_one_pass(void **state)
{
    (void)state;
    struct buf b autorelease(buf_release) = BUF_INIT(0);
    buf_addstr(&b, "{\"type\":\"call\",\"name\":\"execute_python\",\"id\":\"i\",\"code\":\"1\"");
    for (unsigned i = 0; i < 46000; i++)
        buf_addf(&b, ",\"%x\":1", i);
    buf_addch(&b, '}');
    clock_t start = clock();
    struct got g = read_as(b.data, b.len, 0, b.len, TEXT_WHOLE, false);
    assert_true(clock() - start < 2 * CLOCKS_PER_SEC);
    assert_int_equal(g.calls.n, 1);
    assert_memory_equal(g.calls.v[0].call.arguments, "{\"code\":\"1\",\"0\":1,", 18);
    got_release(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flat_call_of_many_members_is_read_in_one_pass),
        cmocka_unit_test(every_form),
        cmocka_unit_test(text_stays_text),
        cmocka_unit_test(nothing_waits_longer_than_needed),
        cmocka_unit_test(broken_calls_are_told),
        cmocka_unit_test(behind_a_call),
        cmocka_unit_test(thoughts),
        cmocka_unit_test(awaited_thoughts),
        cmocka_unit_test(python_literals),
        cmocka_unit_test(a_call_within_many),
        cmocka_unit_test(white_space_is_the_tags),
        cmocka_unit_test(hostile_text_costs_a_few_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
