/* A script of questions: what is a question, what is refused, and that it does not matter how the bytes
 * arrive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "pipe/script.h"
#include "process/loop.h"
#include "process/signals.h"

static int file_of(const char *text, size_t len)
{
    int fd = memfd_create("script", 0);

    assert_true(fd >= 0);
    while (len > 0) {
        ssize_t n = write(fd, text, len);

        assert_true(n > 0);
        text += n;
        len -= (size_t)n;
    }
    lseek(fd, 0, SEEK_SET);
    return fd;
}

/* All questions joined with '|', and at the end "!" and the error's text. */
static char *questions(int fd, struct loop *loop)
{
    struct script s;
    struct buf q = BUF_INIT(0), all = BUF_INIT(0);
    struct error err = {0};
    int r;

    script_init(&s, fd, loop);
    while ((r = script_next(&s, &q, &err)) > 0) {
        buf_add(&all, buf_str(&q), q.len);
        buf_addch(&all, '|');
    }
    if (r < 0)
        buf_addf(&all, "!%d %s", error_exit_code(&err), err.text);
    buf_release(&q);
    script_release(&s);
    return buf_steal(&all, NULL);
}

static void check(const char *text, size_t len, const char *want)
{
    struct loop *loop = loop_new();
    int fd = file_of(text, len);
    autofree char *got = questions(fd, loop);

    if (*want && want[strlen(want) - 1] == '*') /* only the beginning counts */
        assert_memory_equal(got, want, strlen(want) - 1);
    else
        assert_string_equal(got, want);
    close(fd);
    loop_free(loop);
}

static void test_questions(void **state)
{
    static const struct {
        const char *text, *want;
    } t[] = {
        {"one\ntwo\n", "one|two|"},
        {"one\n\n   \n# no\n two", "one| two|"},
        {"one\r\ntwo\r\n", "one|two|"},
        {"\xef\xbb\xbfone\n", "one|"},
        {"\"\"\"\na\n\n# b\n\"\"\"\nc\n", "a\n\n# b|c|"},
        {"  \"\"\"  \na\n\"\"\"", "a|"},
        {"\"\"\"\n\"\"\"\nc\n", "c|"},
        {"say \"\"\" twice\n", "say \"\"\" twice|"},
        {"/exit\n!ls\n", "/exit|!ls|"},
        {"", ""},
        {"\n\n#\n", ""},
        {"a\n\"\"\"\nb\n", "a|!2 the block that starts at line 2 *"},
        {"a\n\"\"\"", "a|!2 the block that starts at line 2 *"},
        {"a\nb\xff\n", "a|!2 line 2 of the questions is not valid UTF-8 (byte 2)*"},
        {"\"\"\"\n\xc3\n\"\"\"\n", "!2 line 2 of the questions is not valid UTF-8*"},
    };

    (void)state;
    for (size_t i = 0; i < countof(t); i++)
        check(t[i].text, strlen(t[i].text), t[i].want);
    check("a\nb\0c\n", 6, "a|!2 line 2 of the questions is not text: it contains a NUL (byte 2)*");
}

static void test_limits(void **state)
{
    size_t len = QUESTION_MAX;
    char *big = xmalloc(len + 16);

    (void)state;
    memset(big, 'x', len + 16);
    struct loop *loop = loop_new();
    int fd = file_of(big, len);
    autofree char *fits = questions(fd, loop);
    assert_int_equal(strlen(fits), len + 1);
    close(fd);
    loop_free(loop);
    check(big, len + 1, "!2 line 1 of the questions is too long: 1,048,577 bytes, at most 1,048,576.*");
    memcpy(big, "\"\"\"\n", 4);
    memcpy(big + len + 9, "\n\"\"\"\n", 5);
    check(big, len + 14, "!2 the block that starts at line 1 is too long: 1,048,581 bytes*");
    free(big);
}

/* Endless bytes without a line's end must be refused, not collected. */
static void test_endless_line(void **state)
{
    struct loop *loop = loop_new();
    int ends[2];
    pid_t child;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (!child) {
        char piece[65536];

        memset(piece, 'y', sizeof piece);
        close(ends[0]);
        while (write(ends[1], piece, sizeof piece) > 0)
            ;
        _exit(0);
    }
    close(ends[1]);
    autofree char *got = questions(ends[0], loop);
    assert_memory_equal(got, "!2 line 1 of the questions is too long: m", 41);
    close(ends[0]);
    waitpid(child, NULL, 0);
    loop_free(loop);
}

/* The same script through a pipe, cut at every byte. */
static void test_cut_anywhere(void **state)
{
    const char *text = "\xef\xbb\xbfone\r\n# c\n\"\"\"\na\n\xc3\xa9\n\"\"\"\n\nlast \xe4\xb8\xad";
    size_t len = strlen(text);

    (void)state;
    for (size_t cut = 0; cut <= len; cut++) {
        struct loop *loop = loop_new();
        int ends[2];
        pid_t child;

        assert_int_equal(pipe(ends), 0);
        child = fork();
        if (!child) {
            if (write(ends[1], text, cut) < 0)
                _exit(1);
            usleep(2000);
            _exit(write(ends[1], text + cut, len - cut) < 0);
        }
        close(ends[1]);
        autofree char *got = questions(ends[0], loop);
        assert_string_equal(got, "one|a\n\xc3\xa9|last \xe4\xb8\xad|");
        close(ends[0]);
        waitpid(child, NULL, 0);
        loop_free(loop);
    }
}

/* A question is asked as soon as its line is there: nothing waits for the end of the pipe. */
static void test_asked_as_it_arrives(void **state)
{
    struct loop *loop = loop_new();
    struct script s;
    struct buf q = BUF_INIT(0);
    struct error err = {0};
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "one\ntw", 6), 6);
    script_init(&s, ends[0], loop);
    assert_int_equal(script_next(&s, &q, &err), 1);
    assert_string_equal(buf_str(&q), "one");
    assert_int_equal(write(ends[1], "o\n", 2), 2);
    assert_int_equal(script_next(&s, &q, &err), 1);
    assert_string_equal(buf_str(&q), "two");
    loop_interrupt(loop);
    assert_int_equal(script_next(&s, &q, &err), -1);
    assert_int_equal(err.kind, ERROR_CANCELLED);
    script_release(&s);
    buf_release(&q);
    close(ends[0]);
    close(ends[1]);
    loop_free(loop);
}

/* How many are still to come is known once the end is there. */
static void test_how_many(void **state)
{
    struct loop *loop = loop_new();
    struct script s;
    struct buf q = BUF_INIT(0);
    struct error err = {0};
    int fd = file_of("one\n# c\n\"\"\"\na\nb\n\"\"\"\n\nlast", 25);

    (void)state;
    script_init(&s, fd, loop);
    assert_int_equal(script_begin(&s, &err), 0);
    assert_int_equal(script_left(&s), -1);
    assert_int_equal(script_check(&s, true, &err), 0);
    for (long left = 3; left > 0; left--) {
        assert_int_equal(script_left(&s), left);
        assert_int_equal(script_next(&s, &q, &err), 1);
    }
    assert_string_equal(buf_str(&q), "last");
    assert_int_equal(script_left(&s), 0);
    assert_int_equal(script_next(&s, &q, &err), 0);
    script_release(&s);
    buf_release(&q);
    close(fd);
    loop_free(loop);
}

/* A table is found as soon as it shows, and never by waiting. */
static void test_data_that_comes_slowly(void **state)
{
    struct loop *loop = loop_new();
    struct script s;
    struct error err = {0};
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "day,am", 6), 6);
    script_init(&s, ends[0], loop);
    assert_int_equal(script_begin(&s, &err), 0);
    assert_int_equal(script_check(&s, true, &err), 0);
    assert_int_equal(write(ends[1], "ount\n1,2\n", 10), 10);
    assert_int_equal(script_check(&s, false, &err), 0);
    assert_int_equal(script_check(&s, true, &err), -1);
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_non_null(strstr(err.text, "looks like CSV"));
    script_release(&s);
    close(ends[0]);
    close(ends[1]);
    loop_free(loop);
}

static void test_prompt(void **state)
{
    struct loop *loop = loop_new();
    struct buf q = BUF_INIT(0);
    struct error err = {0};
    char *big = xmalloc(10 * 1000 * 1000);
    int fd = file_of("\xef\xbb\xbf# a\nb\n", 9);

    (void)state;
    assert_int_equal(prompt_read(fd, loop, &q, &err), 0);
    assert_string_equal(buf_str(&q), "# a\nb\n");
    buf_release(&q);
    close(fd);

    fd = file_of(" \n", 2);
    assert_int_equal(prompt_read(fd, loop, &q, &err), -1);
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_non_null(strstr(err.text, "no question"));
    buf_release(&q);
    close(fd);

    memset(big, 'x', 10 * 1000 * 1000);
    fd = file_of(big, 10 * 1000 * 1000);
    assert_int_equal(prompt_read(fd, loop, &q, &err), -1);
    assert_non_null(
        strstr(err.text, "the question on stdin is too long: ")); /* how long is counted for a moment */
    assert_non_null(strstr(err.text, " bytes, at most 1,048,576."));
    buf_release(&q);
    close(fd);

    assert_int_equal(prompt_check("ok", 2, &err), 0);
    assert_int_equal(prompt_check(" ", 1, &err), -1);
    assert_int_equal(prompt_check("\xff", 1, &err), -1);
    assert_int_equal(prompt_check(big, QUESTION_MAX + 1, &err), -1);
    free(big);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_questions),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_endless_line),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_asked_as_it_arrives),
        cmocka_unit_test(test_prompt),
        cmocka_unit_test(test_how_many),
        cmocka_unit_test(test_data_that_comes_slowly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
