/* test_journal.c - what a bot has on disk is not lost because it cannot be read. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "bot/journal.h"
#include "json/json.h"

static char state[] = "/tmp/journal-test-XXXXXX";

static char *in_journal(const char *name)
{
    return xasprintf("%s/sandpiper/bot/chat-1/%s", state, name);
}

static struct journal *open_journal(void)
{
    struct error err = {0};
    struct journal *jl = journal_open("chat", "1", &err);

    if (!jl)
        fail_msg("%s", message_of(&err));
    return jl;
}

static struct json *question(const char *id, const char *text)
{
    return json_object_of({"id", json_string(id)}, {"text", json_string(text)});
}

static off_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? st.st_size : -1;
}

static void make_large(const char *path, off_t size)
{
    assert_int_equal(truncate(path, size), 0);
}

static void an_answered_file_that_cannot_be_read_stays(void **unused)
{
    struct json *line = question("7", "");
    autofree char *path = in_journal("answered");
    struct error err = {0};
    struct journal *jl = open_journal();

    (void)unused;
    assert_int_equal(journal_answered(jl, line, &err), 0);
    json_free(line);
    journal_close(jl);
    off_t was = size_of(path);
    make_large(path, 17 << 20);
    assert_null(journal_open("chat", "1", &err));
    assert_non_null(strstr(err.text, "too large"));
    assert_int_equal(size_of(path), 17 << 20);
    make_large(path, was);
    jl = open_journal();
    assert_true(journal_has_answered(jl, "7"));
    journal_close(jl);
}

static void a_question_that_cannot_be_read_stays(void **unused)
{
    struct json *qn = question("8", "eight"), *left;
    autofree char *path = in_journal("question-8.json");
    struct error err = {0};
    struct journal *jl = open_journal();

    (void)unused;
    assert_int_equal(journal_question(jl, "8", qn, &err), 0);
    json_free(qn);
    off_t was = size_of(path);
    make_large(path, 5 << 20);
    assert_null(journal_questions(jl, &err));
    assert_int_equal(size_of(path), 5 << 20);
    make_large(path, was);
    left = journal_questions(jl, &err);
    assert_int_equal(json_size(left), 1);
    json_free(left);
    journal_close(jl);
}

static void what_could_not_be_read_is_not_written(void **unused)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);
    struct json *qn;
    autofree char *path = in_journal("question-8.json");
    struct error err = {0};
    struct journal *jl = open_journal();
    off_t was = size_of(path);

    (void)unused;
    for (int i = 0; i < 1 << 20; i++)
        buf_addch(&text, 1); /* six bytes each, as JSON */
    qn = question("8", buf_str(&text));
    assert_int_equal(journal_question(jl, "8", qn, &err), -1);
    assert_int_equal(size_of(path), was);
    json_free(qn);
    journal_close(jl);
}

static void a_conversation_is_kept_for_thirty_days(void **unused)
{
    autofree char *old = in_journal("conversation-5.json"), *now = in_journal("conversation-6.json");
    const struct timespec times[2] = {{.tv_sec = time(NULL) - 31 * 86400},
                                      {.tv_sec = time(NULL) - 31 * 86400}};
    struct error err = {0};
    struct journal *jl = open_journal();
    struct json *said = question("5", "");

    (void)unused;
    assert_int_equal(journal_write(jl, "conversation", "5", said, &err), 0);
    assert_int_equal(journal_write(jl, "conversation", "6", said, &err), 0);
    json_free(said);
    journal_close(jl);
    assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
    journal_close(open_journal());
    assert_int_equal(size_of(old), -1);
    assert_true(size_of(now) > 0);
}

static int begin(void **unused)
{
    (void)unused;
    assert_non_null(mkdtemp(state));
    return setenv("XDG_STATE_HOME", state, 1);
}

static int end(void **unused)
{
    (void)unused;
    return file_remove_tree(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answered_file_that_cannot_be_read_stays),
        cmocka_unit_test(a_question_that_cannot_be_read_stays),
        cmocka_unit_test(what_could_not_be_read_is_not_written),
        cmocka_unit_test(a_conversation_is_kept_for_thirty_days),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
