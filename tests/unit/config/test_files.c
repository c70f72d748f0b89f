/* test_files.c - YAML and .env as text: what is read, what is refused, and in which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "config/dotenv.h"
#include "config/prompt_file.h"
#include "yaml/ydoc.h"

static void yaml_tree(void **state)
{
    static const char text[] =
        "# comment\nname: x\nlist: [a, 'b']\nmap:\n  inner: |\n    two\n    lines\nempty:\nquoted: \"~\"\n";
    struct ydoc *root;
    struct error err = {0};

    (void)state;
    assert_non_null(root = ydoc_parse(text, strlen(text), "f", &err));
    assert_int_equal(root->type, YDOC_MAP);
    assert_int_equal(root->n, 5);
    assert_string_equal(ydoc_get(root, "name")->text, "x");
    assert_int_equal(ydoc_get(root, "name")->line, 2);
    assert_int_equal(ydoc_get(root, "list")->n, 2);
    assert_true(ydoc_get(root, "list")->v[1].quoted);
    assert_string_equal(ydoc_get(ydoc_get(root, "map"), "inner")->text, "two\nlines\n");
    assert_true(ydoc_nothing(ydoc_get(root, "empty")));
    assert_false(ydoc_nothing(ydoc_get(root, "quoted")));
    assert_null(ydoc_get(root, "other"));
    assert_null(ydoc_get(ydoc_get(root, "name"), "x"));
    ydoc_free(root);
    assert_non_null(root = ydoc_parse("# nothing\n", 10, "f", &err));
    assert_true(ydoc_nothing(root));
    ydoc_free(root);
    assert_non_null(root = ydoc_parse("", 0, "f", &err));
    assert_true(ydoc_nothing(root));
    ydoc_free(root);
}

static void yaml_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"a: 1\nb: *x\n", "f:2: aliases (*x)"},
        {"a: &x 1\n", "f:1: anchors (x)"},
        {"a: &x [1]\nb: *x\n", "f:1: anchors"},
        {"<<: *x\n", "f:1: aliases"},
        {"a: !!python/object 1\n", "f:1: tags"},
        {"a: 1\n---\nb: 2\n", "f:2: only one YAML document"},
        {"a: 1\nb: 2\na: 3\n", "f:3: a: duplicate key, first on line 1"},
        {"a: [1\n", "f:"},
        {"a: 1\n\tb: 2\n", "f:2: invalid YAML"},
        {"a:\n\tb: 2\n",
         "f:2: invalid YAML: found character that cannot start any token: a tab (indent with spaces)"},
        {"a: @b\n\tc: 2\n", "f:1: invalid YAML: found character that cannot start any token"},
        {"a: \"x\nb: 2\nc: 3\n",
         "f:4: invalid YAML: found unexpected end of stream, while scanning a quoted scalar from line 1"},
        {"a: 1\nb 2\n",
         "f:3: invalid YAML: could not find expected ':', while scanning a simple key from line 2"},
        {"? [a]\n: b\n", "a key must be a word"},
        {"a: \"x\\0y\"\n", "f:1: a value contains a NUL"},
        {"[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]", "f:1: nested more than 16 deep"},
        {"\xff\xfe", "f:"},
        {"'': 1\n", "f:1: a key is empty"},
    };
    struct ydoc *root;

    (void)state;
    for (size_t i = 0; i < countof(bad); i++) {
        struct error err = {0};
        assert_null(ydoc_parse(bad[i].text, strlen(bad[i].text), "f", &err));
        assert_int_equal(err.kind, ERROR_USAGE);
        if (!strstr(err.text, bad[i].says))
            fail_msg("%s: expected \"%s\" in \"%s\"", bad[i].text, bad[i].says, err.text);
    }
    struct error err = {0};
    char *big = xmalloc(YDOC_MAX + 1);
    memset(big, '#', YDOC_MAX + 1);
    assert_null(ydoc_parse(big, YDOC_MAX + 1, "f", &err));
    assert_non_null(strstr(err.text, "65537"));
    assert_non_null(root = ydoc_parse(big, YDOC_MAX, "f", &err));
    ydoc_free(root);
    free(big);
}

/* Every prefix of a document is read or refused, never worse. */
static void yaml_prefixes(void **state)
{
    static const char text[] = "providers:\n  mine: {base_url: \"https://x/v1\", key_variable: [A, "
                               "B]}\nmodels:\n  'x*': {dialect: blocks}\nsystem: |\n  a\n  b\n";

    (void)state;
    for (size_t n = 0; n < sizeof text; n++) {
        struct ydoc *root = NULL;
        struct error err = {0};
        autofree char *copy = xmemdup0(text, n);
        if (!(root = ydoc_parse(copy, n, "f", &err)))
            assert_int_equal(err.kind, ERROR_USAGE);
        ydoc_free(root);
    }
}

static void dotenv_forms(void **state)
{
    static const char text[] = "\xef\xbb\xbf# comment\r\n"
                               "PLAIN=one two  # comment\r\n"
                               "HASH=a#b\n"
                               "export EXPORTED=yes\n"
                               "  SPACED = x y \n"
                               "SINGLE='a $HOME \\n # b' # comment\n"
                               "DOUBLE=\"a\\tb\\\"c\\\\ $HOME `id` ${X}\"\n"
                               "MULTI=\"two\nlines\"\n"
                               "EMPTY=\n"
                               "TWICE=1\nTWICE=2\n"
                               "export=word\n"
                               "LAST=end";
    static const struct {
        const char *name, *value;
        int line;
    } want[] = {
        {"PLAIN", "one two", 2},          {"HASH", "a#b", 3},
        {"EXPORTED", "yes", 4},           {"SPACED", "x y", 5},
        {"SINGLE", "a $HOME \\n # b", 6}, {"DOUBLE", "a\tb\"c\\ $HOME `id` ${X}", 7},
        {"MULTI", "two\nlines", 8},       {"TWICE", "2", 12},
        {"export", "word", 13},           {"LAST", "end", 14},
    };
    struct dotenv d;
    struct error err = {0};

    (void)state;
    assert_int_equal(dotenv_parse(&d, text, strlen(text), &err), 0);
    assert_int_equal(d.bad, 0);
    for (size_t i = 0; i < countof(want); i++) {
        const struct dotenv_entry *e = dotenv_get(&d, want[i].name);
        assert_non_null(e);
        assert_string_equal(e->value, want[i].value);
        assert_int_equal(e->line, want[i].line);
    }
    assert_null(dotenv_get(&d, "EMPTY"));
    assert_null(dotenv_get(&d, "NOT_THERE"));
    dotenv_release(&d);
}

static void dotenv_bad(void **state)
{
    static const char text[] =
        "1A=x\nB C=y\n=z\nno equals\nA=\"never closed\nGOOD=1\nQ='x' y\n-----BEGIN KEY-----\n";
    struct dotenv d;
    struct error err = {0};
    char *many = xmalloc(DOTENV_MAX + 1);

    (void)state;
    assert_int_equal(dotenv_parse(&d, text, strlen(text), &err), 0);
    assert_int_equal(d.bad, 7);
    assert_int_equal(d.bad_line, 1);
    assert_int_equal(d.n, 1);
    assert_string_equal(dotenv_get(&d, "GOOD")->value, "1");
    dotenv_release(&d);
    assert_int_equal(dotenv_parse(&d, "A=1\0B", 5, &err), -1);
    assert_non_null(strstr(err.text, "NUL"));
    memset(many, 'x', DOTENV_MAX + 1);
    assert_int_equal(dotenv_parse(&d, many, DOTENV_MAX + 1, &err), -1);
    assert_non_null(strstr(err.text, "65537"));
    for (size_t i = 0; i < DOTENV_MAX; i += 4) /* many names, none of them twice */
        snprintf(many + i, 5, "%c%c=\n", 'A' + (int)(i / 4 % 26), 'A' + (int)(i / 104 % 26));
    assert_int_equal(dotenv_parse(&d, many, DOTENV_MAX, &err), 0);
    assert_true(d.n <= 1000);
    dotenv_release(&d);
    free(many);
}

static void prompts(void **state)
{
    struct prompts p;
    struct error err = {0};
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"sytem: x\n", "f:1: unknown key sytem"},
        {"system:\n  natve: x\n", "f:2: unknown key system.natve"},
        {"system: x\n", "f:1: system: expected a map"},
        {"nudge: [a]\n", "f:1: nudge: expected a text, found a list"},
        {"nudge:\n", "expected a text, found nothing"},
        {"tools: [rm_rf]\n", "f:1: tools: expected a map"},
        {"tools:\n  rm_rf: x\n", "f:2: tools: unknown tool rm_rf"},
        {"tools:\n  execute_python: [x]\n", "f:2: execute_python: expected a text, found a list"},
        {"- a\n", "expected a map"},
    };

    (void)state;
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    assert_int_equal(prompts_load(&p, AGENT_PYTHON, &err), 0);
    assert_non_null(strstr(p.system_blocks, "```python"));
    assert_non_null(strstr(p.system_native, "{tool}"));
    assert_non_null(strstr(p.blocks_ok, "{output}"));
    const char *const examples[] = {p.examples_table, p.examples_json};
    for (size_t i = 0; i < countof(examples); i++)
        assert_true(strstr(examples[i], "?\n```python\n") && strstr(examples[i], "print(")
                    && strstr(examples[i], "\n```\n"));
    assert_int_equal(p.n_tools, 2);
    assert_string_equal(p.tools[1].name, "install_packages");
    assert_string_equal(p.tools[0].name, "execute_python");
    assert_non_null(strstr(p.tools[0].description, "Run Python {python}"));
    autofree char *native = xstrdup(p.system_native);
    static const char mine[] = "system:\n  blocks: mine\nmodel: special\ntools:\n  execute_python: run it\n";
    assert_int_equal(prompts_apply(&p, ydoc_parse(mine, strlen(mine), "f", &err), &err), 0);
    assert_string_equal(p.system_blocks, "mine");
    assert_string_equal(p.system_native, native); /* key by key */
    assert_string_equal(p.model, "special");
    assert_string_equal(p.tools[0].description, "run it");
    for (size_t i = 0; i < countof(bad); i++) {
        assert_int_equal(prompts_apply(&p, ydoc_parse(bad[i].text, strlen(bad[i].text), "f", &err), &err),
                         -1);
        if (!strstr(err.text, bad[i].says))
            fail_msg("expected \"%s\" in \"%s\"", bad[i].says, err.text);
    }
    prompts_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(yaml_tree),     cmocka_unit_test(yaml_refused),
                                       cmocka_unit_test(yaml_prefixes), cmocka_unit_test(dotenv_forms),
                                       cmocka_unit_test(dotenv_bad),    cmocka_unit_test(prompts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
