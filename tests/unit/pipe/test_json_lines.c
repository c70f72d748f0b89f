/* --json: one object a line, whatever bytes a program prints and however they are cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "json/json.h"
#include "base/mem.h"
#include "pipe/json_lines.h"

struct lines {
    int fd;
    struct json_lines *j;
    struct buf text;
};

static void open_lines(struct lines *l, bool ascii)
{
    memset(l, 0, sizeof *l);
    l->fd = memfd_create("json", 0);
    l->j = json_lines_new(l->fd, ascii, false, NULL);
}

static const char *text_of(struct lines *l)
{
    char piece[65536];
    ssize_t n;

    buf_clear(&l->text);
    lseek(l->fd, 0, SEEK_SET);
    while ((n = read(l->fd, piece, sizeof piece)) > 0)
        buf_add(&l->text, piece, (size_t)n);
    return buf_str(&l->text);
}

static void close_lines(struct lines *l)
{
    json_lines_free(l->j);
    buf_release(&l->text);
    close(l->fd);
}

static void output(struct lines *l, int stream, const char *text, size_t len)
{
    struct event e = {.type = EVENT_TOOL_OUTPUT,
                      .question = 1,
                      .output = {.cell = 3, .stream = stream, .text = text, .len = len}};

    assert_int_equal(json_lines_event(l->j, &e), 0);
}

static void begin(struct lines *l)
{
    struct event e = {.type = EVENT_TOOL_CALL,
                      .question = 1,
                      .call = {.id = "c", .tool = "execute_python", .code = "1", .cell = 3}};

    assert_int_equal(json_lines_event(l->j, &e), 0);
}

static void finish(struct lines *l)
{
    const struct cell_result r = {.out_bytes = 3, .err_bytes = 2, .seconds = 0.25};
    struct event e = {.type = EVENT_TOOL_RESULT, .question = 1, .result = {.id = "c", .cell = 3, .r = &r}};

    assert_int_equal(json_lines_event(l->j, &e), 0);
}

/* All text of one stream, put together; every line must be an object of its own. */
static void joined(struct lines *l, const char *stream, struct buf *out)
{
    const char *s = text_of(l);

    while (*s) {
        size_t n = strcspn(s, "\n");
        struct json *j = json_parse(s, n, 0, NULL, NULL);

        assert_int_equal(s[n], '\n');
        assert_int_equal(json_type(j), JSON_OBJECT);
        assert_int_equal(json_int(json_get(j, "v"), 0), 1);
        assert_int_equal(json_int(json_get(j, "question"), 0), 1);
        if (!strcmp(json_str(json_get(j, "type")), "tool_output")
            && !strcmp(json_str(json_get(j, "stream")), stream))
            buf_addstr(out, json_str(json_get(j, "text")));
        json_free(j);
        s += n + 1;
    }
}

static void test_cut_anywhere(void **state)
{
    const char in[] = "a\xc3\xa9\xf0\x9f\x90\xa6\n\xff\xe4\xb8"
                      "b\0c\xe4\xb8",
               want[] = "a\xc3\xa9\xf0\x9f\x90\xa6\n";
    size_t len = sizeof in - 1;

    (void)state;
    for (size_t cut = 0; cut <= len; cut++) {
        struct lines l;
        struct buf out = BUF_INIT(0), err = BUF_INIT(0), whole = BUF_INIT(0);

        open_lines(&l, false);
        begin(&l);
        output(&l, 1, in, cut);
        output(&l, 2, "x\xc3", 2);
        output(&l, 1, in + cut, len - cut);
        output(&l, 2, "\xa9", 1);
        finish(&l);
        joined(&l, "stdout", &out);
        joined(&l, "stderr", &err);
        assert_memory_equal(buf_str(&out), want, sizeof want - 1);
        assert_non_null(strchr(buf_str(&out), 'c')); /* what follows a NUL is not lost */
        assert_string_equal(buf_str(&err), "x\xc3\xa9");
        buf_release(&out);
        buf_release(&err);
        buf_release(&whole);
        close_lines(&l);
    }
}

static void test_terminal_gets_ascii(void **state)
{
    struct event e = {.type = EVENT_TEXT, .question = 1, .text = {.reply = 1}};
    struct lines l;

    (void)state;
    e.text.text = "\033[2J\xc2\x9b\xe2\x80\xae\xf0\x9f\x90\xa6\x7f";
    e.text.len = strlen(e.text.text);
    open_lines(&l, true);
    assert_int_equal(json_lines_event(l.j, &e), 0);
    assert_string_equal(text_of(&l), "{\"type\":\"text\",\"v\":1,\"question\":1,\"reply\":1,"
                                     "\"text\":\"\\u001b[2J\\u009b\\u202e\\ud83d\\udc26\\u007f\"}\n");
    close_lines(&l);
}

static void test_fields(void **state)
{
    struct lines l;
    struct event e = {.type = EVENT_DONE, .question = 1};

    (void)state;
    open_lines(&l, false);
    e.done.status = QUESTION_CODE_FAILED;
    e.done.answer = "it failed";
    e.done.usage = (struct usage){.input = -1, .output = 7, .cached = 5, .reasoning = -1, .cost = -1};
    e.done.seconds = 1.5;
    assert_int_equal(json_lines_event(l.j, &e), 0);
    assert_string_equal(text_of(&l), "{\"type\":\"done\",\"v\":1,\"question\":1,\"status\":\"code_failed\","
                                     "\"exit_code\":4,\"answer\":\"it failed\","
                                     "\"error\":null,\"reasoning\":null,\"last_output\":null,\"usage\":{"
                                     "\"input_tokens\":null,\"cached_tokens\":5,\"output_tokens\":7,"
                                     "\"reasoning_tokens\":null,\"estimated\":false,\"cost\":null,"
                                     "\"requests\":0,\"cells\":0,\"seconds\":1.5},"
                                     "\"computed\":{\"runs\":0,\"failed\":0,\"seconds\":0,"
                                     "\"memory_only\":false,\"unsupported\":[],\"verified\":null,"
                                     "\"second\":null}}\n");
    close_lines(&l);
    open_lines(&l, false);
    finish(&l);
    assert_string_equal(text_of(&l),
                        "{\"type\":\"tool_result\",\"v\":1,\"question\":1,\"id\":\"c\",\"cell\":3,\"status\":"
                        "\"ok\",\"value\":null,\"data\":null,"
                        "\"error\":null,\"exit_code\":0,\"seconds\":0.25,\"state_lost\":false,"
                        "\"state_restored\":false,\"notices\":[],"
                        "\"output_bytes\":5,\"output_path\":null,\"model_text\":null}\n");
    close_lines(&l);
}

static void test_output_cap(void **state)
{
    char *piece = xmalloc(1 << 20);
    struct buf out = BUF_INIT(0);
    struct lines l;

    (void)state;
    memset(piece, 'x', 1 << 20);
    open_lines(&l, false);
    begin(&l);
    for (int i = 0; i < 40; i++)
        output(&l, 1, piece, 1 << 20);
    finish(&l);
    joined(&l, "stdout", &out);
    assert_int_equal(out.len, 16 << 20);
    buf_release(&out);
    free(piece);
    close_lines(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_terminal_gets_ascii),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_output_cap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
