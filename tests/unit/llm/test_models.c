/* test_models.c - lists of models: the shape of every service's (one file each below models/), what is
 * hostile in one, finding a model and the nearest to one that is gone, and how many days are left. Runs in
 * the top folder.
 */
#include "tests/unit/unit.h"

#include <math.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "llm/models.h"

static void read_file(const char *name, struct llm_models *m)
{
    struct buf text autorelease(buf_release) = BUF_INIT(1 << 20);
    autofree char *path = xasprintf("tests/unit/llm/models/%s.json", name);
    struct error err = {0};

    assert_int_equal(file_read(path, 1 << 20, &text, &err), 0);
    if (llm_models_parse(buf_str(&text), text.len, m, &err) < 0)
        fail_msg("%s: %s", name, err.text);
}

static void read_text(const char *text, struct llm_models *m)
{
    assert_int_equal(llm_models_parse(text, strlen(text), m, NULL), 0);
}

static const struct row {
    const char *file;
    size_t n; /* models in it that can talk */
    const char *id;
    int context, output, tools;
    double in, cached, out;
    const char *ends, *by;
} rows[] = {
    {"openai", 3, "gpt-6-luna", 0, 0, -1, -1, -1, -1, "", NULL},
    {"openai", 3, "gpt-5-mini", 0, 0, -1, -1, -1, -1, "2026-12-11", NULL},
    {"openrouter", 2, "z-ai/glm-5.3-flash", 1000000, 65536, 1, 0.15, 0.03, 0.5, "", NULL},
    {"openrouter", 2, "openrouter/auto", 2000000, 0, 0, -1, -1, -1, "2027-02-01", NULL},
    {"huggingface", 1, "openai/gpt-oss-120b", 65536, 0, 1, 0.35, -1, 0.75, "", NULL},
    {"groq", 1, "openai/gpt-oss-120b", 131072, 65536, -1, -1, -1, -1, "", NULL},
    {"mistral", 2, "mistral-small-latest", 262144, 0, 1, -1, -1, -1, "", NULL},
    {"mistral", 2, "mistral-old", 32768, 0, 0, -1, -1, -1, "2026-12-31", "mistral-small-latest"},
    {"gemini", 1, "gemini-3.5-flash-lite", 0, 0, -1, -1, -1, -1, "", NULL},
    {"together", 1, "zai-org/GLM-5.3-Flash", 1048576, 0, -1, 0.15, 0.03, 0.5, "", NULL},
    {"workers-ai", 2, "@cf/openai/gpt-oss-120b", 128000, 0, 1, 0.35, -1, 0.75, "", NULL},
    {"workers-ai", 2, "@cf/meta/llama-old", 0, 0, -1, -1, -1, -1, "2027-03-01", NULL},
    {"anthropic", 1, "claude-haiku-5-5", 1000000, 128000, -1, -1, -1, -1, "", NULL},
    {"azure", 1, "gpt-4o-2024-11-20", 0, 0, -1, -1, -1, -1, "2027-01-14", NULL},
    {"fireworks", 1, "accounts/fireworks/models/deepseek-v4p1-flash", 1048576, 0, 1, -1, -1, -1, "", NULL},
    {"cohere", 1, "command-a-03-2025", 288000, 0, -1, -1, -1, -1, "", NULL},
    {"vllm", 1, "Qwen/Qwen3.8-27B", 32768, 0, -1, -1, -1, -1, "", NULL},
    {"llama.cpp", 1, "qwen", 8192, 0, -1, -1, -1, -1, "", NULL},
    {"ollama", 2, "qwen3.5:4b", 0, 0, -1, -1, -1, -1, "", NULL},
    {"lm-studio", 2, "qwen/qwen3.5-4b", 16000, 0, 1, -1, -1, -1, "", NULL},
    {"lm-studio", 2, "google/gemma-4-e4b", 0, 0, -1, -1, -1, -1, "", NULL},
    {"lm-studio-v0", 2, "qwen3.5-4b", 12000, 0, 1, -1, -1, -1, "", NULL},
    {"lm-studio-v0", 2, "gemma-4-e4b", 0, 0, -1, -1, -1, -1, "", NULL},
};

static bool same_price(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void every_services_shape(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        const struct row *r = &rows[i];
        struct llm_models m;

        read_file(r->file, &m);
        const struct llm_model *one = llm_models_find(&m, r->id);
        if (m.n != r->n || !one)
            fail_msg("%s: %zu models, %s is %s", r->file, m.n, r->id, one ? "there" : "not there");
        if (one->context != r->context || one->max_output != r->output || one->tools != r->tools
            || strcmp(one->ends, r->ends) != 0)
            fail_msg("%s: %s: context %d, output %d, tools %d, ends \"%s\"", r->file, r->id, one->context,
                     one->max_output, one->tools, one->ends);
        if (!same_price(one->price_input, r->in) || !same_price(one->price_cached, r->cached)
            || !same_price(one->price_output, r->out))
            fail_msg("%s: %s: prices %g, %g, %g", r->file, r->id, one->price_input, one->price_cached,
                     one->price_output);
        if (r->by)
            assert_string_equal(one->replaced_by, r->by);
        else
            assert_null(one->replaced_by);
        llm_models_release(&m);
    }
}

static void who_made_it(void **state)
{
    static const struct {
        const char *file;
        enum llm_server server;
    } makers[] = {
        {"ollama", LLM_SERVER_OLLAMA},
        {"vllm", LLM_SERVER_VLLM},
        {"llama.cpp", LLM_SERVER_LLAMA_CPP},
        {"openai", LLM_SERVER_OTHER},
    };

    (void)state;
    for (size_t i = 0; i < countof(makers); i++) {
        struct llm_models m;

        read_file(makers[i].file, &m);
        assert_int_equal(m.server, makers[i].server);
        llm_models_release(&m);
    }
}

static void what_is_no_list(void **state)
{
    static const char *const texts[] = {
        "", "{", "7", "\"x\"", "{}", "{\"data\":7}", "{\"error\":\"x\"}", "<html>", "null"};
    static const char *const empty[] = {"[]", "{\"data\":[]}", "{\"data\":null}",
                                        "{\"models\":[7,null,{},[]]}", "{\"data\":[{\"id\":7}]}"};
    struct llm_models m;

    (void)state;
    for (size_t i = 0; i < countof(texts); i++) {
        struct error err = {0};
        if (llm_models_parse(texts[i], strlen(texts[i]), &m, &err) == 0 || err.kind != ERROR_PROTOCOL || m.n)
            fail_msg("%s was taken for a list", texts[i]);
    }
    for (size_t i = 0; i < countof(empty); i++) {
        read_text(empty[i], &m);
        assert_int_equal(m.n, 0);
        llm_models_release(&m);
    }
}

static void nonsense_is_not_told(void **state)
{
    struct llm_models m;

    (void)state;
    read_text("{\"data\":[{\"id\":\"a\",\"context_length\":-5,\"max_tokens\":1e30,\"shutdown_date\":\"soon\","
              "\"replaced_by\":\"\\n\","
              "\"pricing\":{\"prompt\":\"1e999\",\"completion\":-3,\"input_cache_read\":\"x\"},\"supported_"
              "parameters\":[]},"
              "{\"id\":\"b\",\"context_length\":\"many\",\"shutdown_date\":\"2026-12-111\",\"deprecation\":7,"
              "\"pricing\":[1]},"
              "{\"id\":\"c\\u0007\"},{\"id\":\"\"},{\"id\":\"models/\"}]}",
              &m);
    assert_int_equal(m.n, 2);
    for (size_t i = 0; i < m.n; i++) {
        const struct llm_model *one = &m.v[i];
        assert_true(!one->context && !one->max_output && one->tools == -1 && !*one->ends
                    && !one->replaced_by);
        assert_true(one->price_input < 0 && one->price_cached < 0 && one->price_output < 0);
    }
    llm_models_release(&m);
}

/* The reply of a list that is this long, of one unit again and again. */
static void list_of(struct buf *text, const char *unit, size_t length)
{
    buf_addstr(text, "{\"data\":[");
    for (int k = 0; text->len < length; k++) {
        const char *number = strstr(unit, "%d");

        buf_addstr(text, k ? "," : "");
        buf_add(text, unit, number ? (size_t)(number - unit) : strlen(unit));
        if (number)
            buf_addf(text, "%d%s", k, number + 2);
    }
    buf_addstr(text, "]}");
}

/* Processor time that reading such a list takes, the least of three, whatever else the machine does. One of
 * too many values is refused. */
static clock_t reading(const char *unit, size_t length)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);
    clock_t least = 0;

    list_of(&text, unit, length);
    for (int i = 0; i < 3; i++) {
        clock_t began = clock(), took;
        struct llm_models m;
        struct error err = {0};

        if (llm_models_parse(buf_str(&text), text.len, &m, &err) < 0)
            assert_non_null(strstr(err.text, "values"));
        took = clock() - began;
        assert_in_range(m.n, 0, MODELS_MAX);
        llm_models_release(&m);
        least = i && least < took ? least : took;
    }
    return least;
}

/* However long a list of a stranger is, reading it is linear (if not, eight times the list would be
 * sixty-four times the work), and what is kept of it bounded. */
static void long_lists(void **state)
{
    static const char *const units[] = {"{\"id\":\"m%d\"}", "{}", "%d",
                                        "{\"id\":\"x\",\"properties\":[{},{},{}],\"a%d\":1}"};

    (void)state;
    for (size_t i = 0; i < countof(units); i++) {
        clock_t part = reading(units[i], 1u << 17), whole = reading(units[i], 1u << 20);

        assert_true(whole < 24 * part + CLOCKS_PER_SEC / 20);
    }
}

static void finding(void **state)
{
    struct llm_models m;

    (void)state;
    read_file("ollama", &m);
    assert_string_equal(llm_models_find(&m, "gemma4")->id, "gemma4:latest");
    assert_null(llm_models_find(&m, "gemma"));
    assert_null(llm_models_find(&m, "qwen3.5"));
    assert_null(llm_models_find(&m, ""));
    llm_models_release(&m);
    read_file("gemini", &m);
    assert_non_null(llm_models_find(&m, "gemini-3.5-flash-lite"));
    llm_models_release(&m);
}

static void nearest(void **state)
{
    static const struct {
        const char *list, *gone, *near;
    } cases[] = {
        {"[{\"id\":\"gpt-4o\",\"shutdown_date\":\"2027-01-14\"},{\"id\":\"gpt-6-luna\"},{\"id\":\"o3\"}]",
         "gpt-4.1-mini", "gpt-6-luna"},
        {"[{\"id\":\"llama-3.1-8b-instant\"},{\"id\":\"openai/gpt-oss-120b\"}]", "llama-3.3-70b-versatile",
         "llama-3.1-8b-instant"},
        {"[{\"id\":\"openai/gpt-oss-120b\"},{\"id\":\"meta/llama-3\"}]", "gpt-oss-20b",
         "openai/gpt-oss-120b"},
        {"[{\"id\":\"deepseek-flash\"},{\"id\":\"deepseek-v4-pro\"}]", "deepseek-v4-flash",
         "deepseek-v4-pro"},
        {"[{\"id\":\"qwen3.5:4b\"},{\"id\":\"qwen2:1b\"}]", "qwen3.5:9b", "qwen3.5:4b"},
        {"[{\"id\":\"llama4\"}]", "llama3", "llama4"},
        {"[{\"id\":\"text-embedding-3-small\"},{\"id\":\"gpt-image-2\"}]", "gpt-4", NULL},
        {"[{\"id\":\"claude-sonnet-5-5\"}]", "gpt-4", NULL},
        {"[{\"id\":\"cat\"}]", "category", NULL},
        {"[]", "gpt-4", NULL},
        {"[{\"id\":\"old\",\"replaced_by\":\"quite-other\"},{\"id\":\"old-2\"},{\"id\":\"quite-other\"}]",
         "old", "quite-other"},
        {"[{\"id\":\"old\"},{\"id\":\"old-2\"}]", "old", "old-2"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct llm_models m;

        read_text(cases[i].list, &m);
        const struct llm_model *found = llm_models_nearest(&m, cases[i].gone);
        if (found ? !cases[i].near || strcmp(found->id, cases[i].near) != 0 : cases[i].near != NULL)
            fail_msg("nearest to %s: %s", cases[i].gone, found ? found->id : "none");
        llm_models_release(&m);
    }
}

static void days_left(void **state)
{
    static const struct {
        const char *ends;
        int64_t now;
        int days;
    } cases[] = {
        {"2027-01-14", 1799884800, 0},          {"2027-01-14", 1799884800 - 86400, 1},
        {"2027-01-14", 1799884800 - 86399, 0},  {"2027-01-14", 1799884800 + 1, -1},
        {"2027-01-14", 1799884800 + 86400, -1}, {"2027-01-14", 1799884800 + 86401, -2},
    };
    struct llm_model m = {0};
    int days = 0;

    (void)state;
    assert_false(llm_model_days_left(&m, 0, &days));
    for (size_t i = 0; i < countof(cases); i++) {
        snprintf(m.ends, sizeof m.ends, "%s", cases[i].ends);
        assert_true(llm_model_days_left(&m, (time_t)cases[i].now, &days));
        assert_int_equal(days, cases[i].days);
    }
    snprintf(m.ends, sizeof m.ends, "2027-13-44");
    assert_false(llm_model_days_left(&m, 0, &days));
}

static void told_once_a_day(void **state)
{
    char dir[] = "/tmp/sandpiper-models-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(dir));
    setenv("XDG_CACHE_HOME", dir, 1);
    assert_true(llm_models_first_today("https://a.example/v1", "m", 1795300000));
    assert_false(llm_models_first_today("https://a.example/v1", "m", 1795300001));
    assert_true(llm_models_first_today("https://a.example/v1", "other", 1795300002));
    assert_false(llm_models_first_today("https://a.example/v1", "m", 1795300003));
    assert_true(llm_models_first_today("https://b.example/v1", "m", 1795300004));
    assert_true(llm_models_first_today("https://a.example/v1", "m", 1795300000 + 86400));
    unsetenv("XDG_CACHE_HOME");
    file_remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_services_shape),
        cmocka_unit_test(who_made_it),
        cmocka_unit_test(what_is_no_list),
        cmocka_unit_test(nonsense_is_not_told),
        cmocka_unit_test(long_lists),
        cmocka_unit_test(finding),
        cmocka_unit_test(nearest),
        cmocka_unit_test(days_left),
        cmocka_unit_test(told_once_a_day),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
