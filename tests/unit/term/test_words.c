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
        const char *line, *name, *argument; /* name NULL: a question; "": no such command */
    } t[] = {
        {"/help", "/help", ""},
        {"help", "/help", ""},
        {"? ", "/help", ""},
        {"/quit", "/exit", ""},
        {"/exit ", "/exit", ""},
        {"exit()", "/exit", ""},
        {":q", "/exit", ""},
        {"exit the loop how?", NULL, NULL},
        {" exit", NULL, NULL},
        {"/model  a b ", "/model", "a b"},
        {"/hlep x", "", "/hlep x"},
        {"/", "", "/"},
        {"/usr/bin is what?", NULL, NULL},
        {" /help", NULL, NULL},
        {"/helpme", "", "/helpme"},
        {"what", NULL, NULL},
        {"/help\nmore", NULL, NULL},
        {"/2 + 2", NULL, NULL},
    };
    static const char *const near[][2] = {
        {"/hlep", "/help"},       {"/ext", "/exit"},
        {"/modle gpt", "/model"}, /* a swap is one mistake */
        {"/cdoe", "/code"},       {"/claer", "/clear"},
        {"/rtery", "/retry"},     {"/mod", "/model"},
        {"/sys x", "/system"},    {"/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL},
        {"/bananas", NULL},
    };

    (void)state;
    for (size_t i = 0; i < countof(t); i++) {
        autofree char *argument = NULL;
        const struct chat_command *c = command_find(t[i].line, &argument);

        assert_int_equal(!c, !t[i].name);
        if (!c)
            continue;
        assert_string_equal(c->name ? c->name : "", t[i].name);
        assert_string_equal(argument, t[i].argument);
    }
    for (size_t i = 0; i < countof(near); i++) {
        const char *found = command_nearest(near[i][0]);

        assert_string_equal(found ? found : "none", near[i][1] ? near[i][1] : "none");
    }
}

/* Every row can be shown: names, one line each, and what /help COMMAND adds. */
static void test_the_table(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        const struct chat_command *c = commands[i];
        size_t n = 0;

        assert_true(!i || strcmp(commands[i - 1]->name, c->name) < 0);
        assert_int_equal(*c->name, '/');
        assert_int_equal(c->act != NULL, !*c->argument);
        assert_int_equal(c->run != NULL, !c->act);
        assert_true(strlen(c->name) + 1 + strlen(c->argument) <= 20);
        assert_true(c->help && strlen(c->help) <= 55);
        for (const char *s = c->more ? c->more : ""; *s; s += n + 1) {
            n = strcspn(s, "\n");
            assert_true(n <= 79 && s[n] == '\n');
        }
        assert_ptr_equal(command_named(c->name), c);
        assert_false(c->words && c->names);
    }
}

static void test_completion(void **state)
{
    (void)state;
    assert_ptr_equal(command_complete(NULL, "/he", 0).words, command_words());
    assert_null(command_complete(NULL, "what", 0).words);
    assert_null(command_complete(NULL, "what /he", 5).words);
    assert_string_equal(command_complete(NULL, "/system o", 8).words[0], "off");
    assert_ptr_equal(command_complete(NULL, "/help mo", 6).words, command_words());
    assert_null(command_complete(NULL, "/system be o", 11).words);
    assert_null(command_complete(NULL, "/clear o", 7).words);
    assert_null(command_complete(NULL, "/nosuch o", 8).words);
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
    assert_int_equal(history_open(&h, path, true, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    history_append(&h, "one", "one");
    history_append(&h, "one", "one");
    history_append(&h, "two\nlines \\n with a backslash", "two\nlines \\n with a backslash");
    history_release(&h);
    clear_history();

    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(history_open(&h, path, true, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(history_length, 2);
    assert_string_equal(history_get(history_base)->line, "one");
    assert_string_equal(history_get(history_base + 1)->line, "two\nlines \\n with a backslash");
    for (int i = 0; i < 1200; i++) {
        char line[32];

        snprintf(line, sizeof line, "entry %d", i);
        history_append(&h, line, line);
    }
    history_release(&h);
    clear_history();

    struct buf text = BUF_INIT(1 << 20);
    assert_int_equal(history_open(&h, path, true, &err), 0);
    assert_int_equal(history_length, 1000);
    assert_string_equal(history_get(history_base + history_length - 1)->line, "entry 1199");
    assert_int_equal(file_read(path, 1 << 20, &text, &err), 0);
    assert_memory_equal(text.data, "entry 200\n", 10); /* and the file was made shorter too */
    buf_release(&text);
    history_release(&h);
    clear_history();

    /* not kept: read, and neither added to nor made */
    struct stat before;
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(history_open(&h, path, false, &err), 0);
    assert_int_equal(history_length, 1000);
    history_append(&h, "not kept", "not kept");
    assert_string_equal(history_get(history_base + history_length - 1)->line, "not kept");
    history_release(&h);
    clear_history();
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size == before.st_size && st.st_mode == before.st_mode
                && st.st_mtim.tv_nsec == before.st_mtim.tv_nsec);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(history_open(&h, path, false, &err), 0);
    history_append(&h, "not kept", "not kept");
    history_release(&h);
    clear_history();
    assert_int_equal(access(path, F_OK), -1);

    assert_int_equal(history_open(&h, dir, true, &err), -1); /* a directory: no history, no harm */
    history_append(&h, "x", "x");
    history_release(&h);
    file_remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands), cmocka_unit_test(test_the_table), cmocka_unit_test(test_completion),
        cmocka_unit_test(test_pastes),   cmocka_unit_test(test_history),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
