/* Commands, pastes that a mark stands for, and the history file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <readline/history.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "term/commands.h"
#include "term/history.h"
#include "term/pastes.h"

static void test_commands(void **state)
{
    static const struct {
        const char *line;
        enum command_id id;
        const char *argument;
    } t[] = {
        {"/help", COMMAND_HELP, ""},
        {"/quit", COMMAND_EXIT, ""},
        {"/exit ", COMMAND_EXIT, ""},
        {"/model  a b", COMMAND_MODEL, "a b"},
        {"/hlep", COMMAND_UNKNOWN, ""},
        {"/", COMMAND_UNKNOWN, ""},
        {"/usr/bin is what?", COMMAND_NONE, ""},
        {" /help", COMMAND_NONE, ""},
        {"/helpme", COMMAND_UNKNOWN, ""},
        {"what", COMMAND_NONE, ""},
        {"/help\nmore", COMMAND_NONE, ""},
        {"/2 + 2", COMMAND_NONE, ""},
    };

    (void)state;
    for (size_t i = 0; i < countof(t); i++) {
        const char *argument;

        assert_int_equal(command_find(t[i].line, &argument), t[i].id);
        if (t[i].id != COMMAND_UNKNOWN)
            assert_string_equal(argument, t[i].argument);
    }
    assert_string_equal(command_nearest("/hlep"), "/help");
    assert_string_equal(command_nearest("/ext"), "/exit");
    /* two letters swapped are one mistake */
    assert_string_equal(command_nearest("/modle gpt"), "/model");
    assert_string_equal(command_nearest("/cdoe"), "/code");
    assert_string_equal(command_nearest("/claer"), "/clear");
    assert_string_equal(command_nearest("/rtery"), "/retry");
    assert_string_equal(command_nearest("/mod"), "/model");
    assert_string_equal(command_nearest("/sys x"), "/system");
    assert_string_equal(
        command_nearest("/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa") ? "ok" : "", "ok");
    for (const char *const *w = command_words(); *w; w++)
        assert_int_equal(**w, '/');
}

static void test_pastes(void **state)
{
    struct pastes p = {0};
    struct buf out = BUF_INIT(0), big = BUF_INIT(0);

    (void)state;
    autofree char *small = pastes_add(&p, "a\nb\n\n", 5);
    assert_string_equal(small, "a\nb");
    for (int i = 0; i < 100; i++)
        buf_addf(&big, "line %d\n", i);
    autofree char *mark = pastes_add(&p, big.data, big.len);
    assert_string_equal(mark, "[paste 1: 100 lines, 789 bytes]");
    autofree char *second = pastes_add(&p, big.data, big.len);
    assert_string_not_equal(mark, second);
    autofree char *line = xasprintf("see %s and %s [paste 9: 1 line, 1 byte]", mark, second);
    pastes_expand(&p, line, &out);
    assert_int_equal(out.len, 4 + 789 + 5 + 789 + strlen(" [paste 9: 1 line, 1 byte]"));
    assert_memory_equal(out.data, "see line 0\nline 1\n", 18);
    buf_release(&out);
    buf_release(&big);
    pastes_release(&p);
}

static void test_history(void **state)
{
    char dir[] = "/tmp/sp-history-XXXXXX";
    struct error err = {0};
    struct history h;
    struct stat st;

    (void)state;
    assert_non_null(mkdtemp(dir));
    autofree char *path = xasprintf("%s/a/b/history", dir);
    assert_int_equal(history_open(&h, path, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    history_append(&h, "one");
    history_append(&h, "one");
    history_append(&h, "two\nlines \\n with a backslash");
    history_release(&h);
    clear_history();

    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(history_open(&h, path, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(history_length, 2);
    assert_string_equal(history_get(history_base)->line, "one");
    assert_string_equal(history_get(history_base + 1)->line, "two\nlines \\n with a backslash");
    for (int i = 0; i < 1200; i++) {
        char line[32];

        snprintf(line, sizeof line, "entry %d", i);
        history_append(&h, line);
    }
    history_release(&h);
    clear_history();

    struct buf text = BUF_INIT(1 << 20);
    assert_int_equal(history_open(&h, path, &err), 0);
    assert_int_equal(history_length, 1000);
    assert_string_equal(history_get(history_base + history_length - 1)->line, "entry 1199");
    assert_int_equal(file_read(path, 1 << 20, &text, &err), 0);
    assert_memory_equal(text.data, "entry 200\n", 10); /* and the file was made shorter too */
    buf_release(&text);
    history_release(&h);
    clear_history();

    assert_int_equal(history_open(&h, dir, &err), -1); /* a directory: no history, no harm */
    history_append(&h, "x");
    history_release(&h);
    file_remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_pastes),
        cmocka_unit_test(test_history),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
