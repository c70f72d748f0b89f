/* What people see of events: gutters, numbers, limits, and that nothing hostile reaches a terminal. */

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/size.h"
#include "conversation/language.h"
#include "markdown/highlight.h"
#include "process/loop.h"
#include "process/signals.h"
#include "process/out.h"
#include "show/lines.h"
#include "show/show.h"

struct screen {
    int fd;
    struct show *show;
    struct buf seen;
};

static void screen_init(struct screen *c, struct show_options o)
{
    memset(c, 0, sizeof *c);
    c->fd = memfd_create("screen", MFD_CLOEXEC);
    assert_true(c->fd >= 0);
    o.fd = c->fd;
    c->show = show_new(&o);
}

static const char *screen_read(struct screen *c)
{
    char piece[65536];
    ssize_t n;

    buf_clear(&c->seen);
    lseek(c->fd, 0, SEEK_SET);
    while ((n = read(c->fd, piece, sizeof piece)) > 0)
        buf_add(&c->seen, piece, (size_t)n);
    return buf_str(&c->seen);
}

static void screen_release(struct screen *c)
{
    show_free(c->show);
    close(c->fd);
    buf_release(&c->seen);
}

static void call(struct screen *c, unsigned cell, const char *code)
{
    struct event e = {
        .type = EVENT_TOOL_CALL,
        .call = {.id = "a", .tool = "execute_python", .code = code, .language = &languages[0], .cell = cell}};

    show_event(c->show, &e);
}

static void output(struct screen *c, int stream, const char *text, size_t len)
{
    struct event e = {.type = EVENT_TOOL_OUTPUT,
                      .output = {.cell = 1, .stream = stream, .text = text, .len = len}};

    show_event(c->show, &e);
}

static void puts_out(struct screen *c, const char *text)
{
    output(c, 1, text, strlen(text));
}

static void result(struct screen *c, enum cell_status status, const char *value, const char *error,
                   uint64_t bytes, const char *path)
{
    struct cell_result r = {.status = status,
                            .value = (char *)value,
                            .traceback = (char *)error,
                            .out_bytes = bytes,
                            .output_path = (char *)path,
                            .output_kept = bytes > 16u << 20 ? 16u << 20 : 0};
    struct event e = {.type = EVENT_TOOL_RESULT, .result = {.cell = 1, .r = &r}};

    show_event(c->show, &e);
}

static void test_plain_cell(void **state)
{
    struct screen c;

    (void)state;
    screen_init(&c, (struct show_options){0});
    call(&c, 1, "import math\n\nprint(math.pi)\nx = 1\nx\n");
    puts_out(&c, "3.14");
    puts_out(&c, "159\ntwo\n");
    result(&c, CELL_OK, "1", NULL, 12, NULL);
    assert_string_equal(screen_read(&c), "  1  import math\n  2  \n  3  print(math.pi)\n  4  x = 1\n  5  x\n"
                                         "| 3.14159\n| two\n= 1\n");
    screen_release(&c);
}

static void test_partial_lines_and_mixed_streams(void **state)
{
    struct screen c;

    (void)state;
    screen_init(&c, (struct show_options){0});
    call(&c, 1, "pass");
    puts_out(&c, "no newline");
    output(&c, 2, "a warning\n", 10);
    puts_out(&c, " goes on");
    result(&c, CELL_EXCEPTION, NULL, "Traceback:\n  line 1\nKeyError: 'x'\n", 28, NULL);
    assert_string_equal(
        screen_read(&c),
        "  1  pass\n| a warning\n| no newline goes on\n! Traceback:\n!   line 1\n! KeyError: 'x'\n");
    screen_release(&c);
}

/* What is left of lines that were drawn again. */
static void left(char *s)
{
    char *to = s;
    size_t len = 0;

    while (*s) {
        if (!strncmp(s, "\r\033[K", 4) || !strncmp(s, "\033[A", 3)) {
            bool up = s[1] == '[';

            len -= up && len; /* the newline above */
            while (len && to[len - 1] != '\n')
                len--;
            s += up ? 3 : 4;
        } else {
            to[len++] = *s++;
        }
    }
    to[len] = '\0';
}

static void check_bars(bool terminal, const char *out, const char *err, const char *more, const char *want)
{
    struct screen c;

    screen_init(&c, (struct show_options){.terminal = terminal, .width = 40});
    call(&c, 1, "");
    puts_out(&c, out);
    output(&c, 2, err, strlen(err));
    puts_out(&c, more);
    result(&c, CELL_OK, NULL, NULL, 0, NULL);
    autofree char *s = xstrdup(screen_read(&c));
    left(s);
    assert_string_equal(s, want);
    screen_release(&c);
}

/* Two bars of tqdm, one in the other; what another stream writes meanwhile; what comes behind. */
static void test_bars(void **state)
{
    static const char nested[] = "\r 0%\n\r  0\033[A\r50%\n\r  1\033[A\r99%\n\r   \033[A\rend\n";

    (void)state;
    for (int terminal = 0; terminal < 2; terminal++) {
        check_bars(terminal, nested, "", "plain\n", "| end\n| plain\n");
        check_bars(terminal, nested, "error\n", "", "| end\n| error\n");
        check_bars(terminal, "\r 0%\r99%\n", "done\n", "x", "| 99%\n| done\n| x\n");
        check_bars(terminal, "\r 0%\r 9%", "warning\n", "\r99%\n", "| warning\n| 99%\n");
        check_bars(terminal, "text\033[2K", "", "more\n", "| more\n");
    }
    /* only what was written again is cut to the width */
    check_bars(true,
               "\r1\n\033[A\r12345678901234567890123456789012345678901234567890\n"
               "12345678901234567890123456789012345678901234567890\n",
               "", "",
               "| 12345678901234567890123456789012345678\n"
               "| 12345678901234567890123456789012345678\n| 901234567890\n");
}

/* Every byte sequence a program could print to stand where our lines stand. */
static void test_hostile_output(void **state)
{
    struct screen c;

    (void)state;
    screen_init(&c, (struct show_options){.terminal = true, .width = 80});
    call(&c, 1, "x\033[31m = '\xe2\x80\xae'");
    puts_out(&c, "\033]0;title\007a\033[2J\033[Hb\rsandpiper: fake\033[31mred\xc2\x9b"
                 "31m\n> prompt\b\b\n");
    result(&c, CELL_EXCEPTION, "\033[1mv", "E\033]52;c;AAAA\007rror\rover", 10, NULL);
    autofree char *s = xstrdup(screen_read(&c));
    left(s); /* what is drawn again is ours, and nothing else acts on a terminal */
    assert_non_null(strstr(s, "| sandpiper: fakered\n| > prompt\n"));
    assert_null(strchr(s, '\033'));
    assert_null(strchr(s, '\r'));
    assert_null(strchr(s, '\b'));
    assert_null(strstr(s, "\xc2\x9b"));
    assert_null(strstr(s, "\xe2\x80\xae"));
    assert_non_null(strstr(s, "! Error\n! over\n"));
    screen_release(&c);
}

static void test_wrapped_lines_keep_the_gutter(void **state)
{
    struct screen c;
    char line[200];

    (void)state;
    screen_init(&c, (struct show_options){.terminal = true, .width = 40});
    call(&c, 1, "pass");
    memset(line, 'x', 100);
    line[100] = '\0';
    puts_out(&c, line);
    puts_out(&c, "\n\tt\n\xe4\xb8\xad\xe4\xb8\xad");
    result(&c, CELL_OK, NULL, NULL, 100, NULL);
    char want[400];
    snprintf(want, sizeof want,
             "  1  pass\n| %.38s\n| %.38s\n| %.24s\n|         t\n| \xe4\xb8\xad\xe4\xb8\xad\n", line, line,
             line);
    assert_string_equal(screen_read(&c), want);
    screen_release(&c);
}

static void test_wrapped_code_repeats_no_number(void **state)
{
    struct screen c;

    (void)state;
    screen_init(&c, (struct show_options){.terminal = true, .width = 25});
    call(&c, 1, "aaaaaaaaaabbbbbbbbbbccccc");
    assert_string_equal(screen_read(&c), "  1  aaaaaaaaaabbbbbbbbbb\n     ccccc\n");
    screen_release(&c);
}

static void test_words_of_ours_stay_whole(void **state)
{
    struct screen c;

    (void)state;
    screen_init(&c, (struct show_options){.terminal = true, .width = 30});
    call(&c, 1, "pass");
    for (int i = 0; i < 201; i++)
        puts_out(&c, "y\n");
    result(
        &c, CELL_MEMORY, NULL,
        "the code was killed: out of memory (limit 1 GiB)\n    x\n  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b",
        402, "/a/path/of/some/length/x.txt");
    assert_string_equal(strchr(screen_read(&c), '['),
                        "[first 200 of 201 lines shown;\n  full output (402 bytes):\n  "
                        "/a/path/of/some/length/x.txt]\n"
                        "! the code was killed: out of\n!   memory (limit 1 GiB)\n!     x\n!   "
                        "aaaaaaaaaaaaaaaaaaaaaaaaaa\n! aaaaaaaaaa b\n");
    screen_release(&c);
}

static void test_line_limit(void **state)
{
    struct screen c;
    size_t lines = 0;

    (void)state;
    screen_init(&c, (struct show_options){0});
    call(&c, 1, "pass");
    for (int i = 0; i < 1000; i++)
        puts_out(&c, "y\n");
    result(&c, CELL_OK, NULL, NULL, 2000, "/tmp/o\033[31mut");
    const char *s = screen_read(&c);
    for (const char *p = s; (p = strstr(p, "| y\n")); p++)
        lines++;
    assert_int_equal(lines, 200);
    assert_non_null(strstr(s, "\n[first 200 of 1,000 lines shown; full output (2.0 kB): /tmp/out]\n"));
    screen_release(&c);
}

static void test_exactly_the_limit_is_not_cut(void **state)
{
    struct screen c;

    (void)state;
    screen_init(&c, (struct show_options){0});
    call(&c, 1, "pass");
    for (int i = 0; i < 200; i++)
        puts_out(&c, "y\n");
    result(&c, CELL_OK, NULL, NULL, 400, "/tmp/out");
    assert_null(strstr(screen_read(&c), "cut"));
    screen_release(&c);
}

/* A flood costs next to nothing and one line without end is cut too. */
static void test_flood(void **state)
{
    struct screen c;
    char *piece = xmalloc(65536);
    int64_t start = cpu_us();

    (void)state;
    memset(piece, 'z', 65536);
    screen_init(&c, (struct show_options){0});
    call(&c, 1, "pass");
    for (int i = 0; i < 1600; i++)
        output(&c, 1 + i % 2, piece, 65536);
    result(&c, CELL_TIMEOUT, NULL, NULL, 1600 * 65536ULL, "/tmp/out");
    const char *s = screen_read(&c);
    assert_true(c.seen.len < 34 * 1024);
    assert_non_null(
        strstr(s, "[first 32,768 of 104,857,600 bytes shown; first 16 MiB of the full output (104.9 MB): "
                  "/tmp/out]\n! the code reached its time limit\n"));
    assert_true(cpu_us() - start < 2000000);
    free(piece);
    screen_release(&c);
}

/* Bytes that scrubbing removes count too: a flood of escapes must end as well. */
static void test_flood_of_escapes(void **state)
{
    struct screen c;

    (void)state;
    screen_init(&c, (struct show_options){.terminal = true, .width = 80});
    call(&c, 1, "pass");
    for (int i = 0; i < 20000; i++)
        puts_out(&c, "\033[31m\033[0m");
    puts_out(&c, "text\n");
    result(&c, CELL_OK, NULL, NULL, 180005, NULL);
    assert_null(strstr(screen_read(&c), "text"));
    assert_non_null(strstr(screen_read(&c), "[first 32,768 of 180,005 bytes shown"));
    screen_release(&c);
}

/* The same output gives the same screen however it is cut. */
static void test_cut_anywhere(void **state)
{
    /* at a terminal a line that is overwritten is drawn as it comes */
    const char *text = *state ? "a\xc3\xa9\r\n\033[31mred\033[0m\tq\rz\n\xff\xc3(\n\r\n end\rEND\r"
                              : "a\xc3\xa9\xe4\xb8\xad\r\n\033[31mred\033[0m\tq z\n\xff\xc3(\n\n end";
    size_t len = strlen(text);
    struct buf whole = BUF_INIT(0);

    for (size_t cut = 0; cut <= len; cut++) {
        struct screen c;

        screen_init(&c, (struct show_options){.terminal = !*state, .width = 20});
        call(&c, 1, "pass");
        output(&c, 1, text, cut);
        output(&c, 1, text + cut, len - cut);
        result(&c, CELL_OK, NULL, NULL, len, NULL);
        if (!cut)
            buf_addstr(&whole, screen_read(&c));
        assert_string_equal(screen_read(&c), buf_str(&whole));
        screen_release(&c);
    }
    buf_release(&whole);
}

static void test_quiet_and_levels(void **state)
{
    struct screen c;

    (void)state;
    screen_init(&c, (struct show_options){.quiet = true});
    call(&c, 1, "pass");
    puts_out(&c, "hidden\n");
    result(&c, CELL_OK, "1", NULL, 7, NULL);
    show_line(c.show, NOTICE_INFO, "hidden");
    show_line(c.show, NOTICE_WARNING, "hidden");
    show_line(c.show, NOTICE_ERROR, "cause\nremedy \033[31m");
    assert_string_equal(screen_read(&c), "sandpiper: cause\n  remedy \n");
    screen_release(&c);

    screen_init(&c, (struct show_options){0});
    show_line(c.show, NOTICE_DETAIL, "hidden");
    show_line(c.show, NOTICE_INFO, "seen");
    assert_string_equal(screen_read(&c), "sandpiper: seen\n");
    screen_release(&c);
}

/* What /compact costs belongs to no question. */
static void test_usage_of_a_question(void **state)
{
    const struct event summary = {.type = EVENT_USAGE, .usage = {.input = 9, .requests = 1, .seconds = 7}};
    const struct event done = {
        .type = EVENT_DONE,
        .done = {.answer = "yes",
                 .usage = {.input = 100, .output = 5, .requests = 1, .seconds = 2, .cost = -1}}};
    struct screen c;

    (void)state;
    screen_init(&c, (struct show_options){.usage = true});
    show_event(c.show, &summary);
    show_event(c.show, &done);
    assert_non_null(strstr(screen_read(&c), "100 tokens in, 5 out, 1 request, 2.0 s, price unknown"));
    screen_release(&c);
}

static void test_colour(void **state)
{
    struct screen c;

    (void)state;
    screen_init(&c, (struct show_options){.terminal = true, .colour = true, .width = 80});
    call(&c, 1, "if x: # c\n y = 'import'");
    assert_string_equal(screen_read(&c),
                        "  1  \033[35mif\033[0m x: \033[2m# c\033[0m\n  2   y = \033[32m'import'\033[0m\n");
    screen_release(&c);
}

static void test_python_classes(void **state)
{
    static const struct {
        const char *code, *classes;
    } t[] = {
        {"for i in a", "kkk   kk  "},
        {"forest", "      "},
        {"'a\\'b' if", "ssssss kk"},
        {"'open\nif", "sssss kk"},
        {"'''a\n'b\n''' if", "sssssssssss kk"},
        {"# if\nif", "cccc kk"},
        {"'# no' # yes", "ssssss ccccc"},
        {"f\"{x}\"", " sssss"},
        {"\"", "s"},
        {"'\\", "ss"},
        {"'''", "sss"},
        {"\xc3\xa9if", "    "},
    };

    (void)state;
    for (size_t i = 0; i < countof(t); i++) {
        size_t len = strlen(t[i].code);
        unsigned char out[64];

        highlight(&languages[0], t[i].code, len, out);
        for (size_t k = 0; k < len; k++)
            assert_int_equal(out[k], t[i].classes[k] == 'k'   ? CODE_KEYWORD
                                     : t[i].classes[k] == 's' ? CODE_STRING
                                     : t[i].classes[k] == 'c' ? CODE_COMMENT
                                                              : CODE_PLAIN);
    }
}

static const char *text_of(const char *in, bool byte_by_byte, char *out, size_t size)
{
    int fd = memfd_create("text", 0);
    struct show_text *t = show_text_new(fd, false, NULL);
    size_t len = strlen(in);
    ssize_t n;

    for (size_t i = 0; byte_by_byte && i < len; i++)
        assert_int_equal(show_text_feed(t, in + i, 1), 0);
    if (!byte_by_byte)
        assert_int_equal(show_text_feed(t, in, len), 0);
    assert_int_equal(show_text_end(t), 0);
    show_text_free(t);
    lseek(fd, 0, SEEK_SET);
    n = read(fd, out, size - 1);
    out[n < 0 ? 0 : n] = '\0';
    close(fd);
    return out;
}

static void test_text_ends_in_one_newline(void **state)
{
    static const struct {
        const char *in, *out;
    } t[] = {
        {"42", "42\n"},
        {"42\n", "42\n"},
        {"\n\n42\n\n\n", "42\n"},
        {"a\n\nb", "a\n\nb\n"},
        {"", ""},
        {"\n\n", ""},
        {"a\033[31mb\xc2\x9b"
         "1mc",
         "abc\n"},
        {"\xe2\x80\x8dz", "\xe2\x80\x8dz\n"},
    };
    char out[256];

    (void)state;
    for (size_t i = 0; i < countof(t); i++) {
        assert_string_equal(text_of(t[i].in, false, out, sizeof out), t[i].out);
        assert_string_equal(text_of(t[i].in, true, out, sizeof out), t[i].out);
    }
}

static void test_write_errors(void **state)
{
    int full = open("/dev/full", O_WRONLY), ends[2];
    struct show_text *t = show_text_new(full, false, NULL);

    (void)state;
    errno = 0;
    assert_int_equal(show_text_feed(t, "x", 1), -1);
    assert_int_equal(errno, ENOSPC);
    show_text_free(t);
    close(full);

    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    errno = 0;
    assert_int_equal(out_write(ends[1], "x", 1, NULL), -1);
    assert_int_equal(errno, EPIPE);
    close(ends[1]);
}

/* A reader that stalls must not make us deaf: after a cancel the write is given up. */
static void test_stalled_reader(void **state)
{
    struct loop *loop = loop_new();
    char *big = xcalloc(1, 1024 * 1024);
    int ends[2];
    int64_t start = clock_ms();

    (void)state;
    assert_int_equal(pipe(ends), 0);
    loop_interrupt(loop);
    errno = 0;
    assert_int_equal(out_write(ends[1], big, 1024 * 1024, loop), -1);
    assert_int_equal(errno, EINTR);
    assert_true(clock_ms() - start < 20000);
    close(ends[0]);
    close(ends[1]);
    free(big);
    loop_free(loop);
}

static void test_status_line(void **state)
{
    struct loop *loop = loop_new();
    struct screen c;

    (void)state;
    screen_init(&c, (struct show_options){.terminal = true, .width = 30, .loop = loop});
    show_asking(c.show, "a-model-with-a-name-longer-than-the-line");
    assert_string_equal(screen_read(&c), ""); /* silence first */
    for (int64_t end = clock_ms() + 600; clock_ms() < end;)
        loop_wait(loop, 50);
    const char *s = screen_read(&c);
    assert_non_null(strstr(s, "Waiting for a-model"));
    const char *first = strchr(s, '\r');
    assert_non_null(first);
    assert_int_equal(strcspn(first + 1, "\033"), 29);
    show_line(c.show, NOTICE_INFO, "news");
    s = screen_read(&c);
    assert_non_null(strstr(s, "\r\033[Ksandpiper: news\n"));
    show_status(c.show, NULL);
    size_t len = strlen(screen_read(&c));
    for (int64_t end = clock_ms() + 500; clock_ms() < end;)
        loop_wait(loop, 50);
    assert_int_equal(strlen(screen_read(&c)), len);
    screen_release(&c);

    screen_init(&c, (struct show_options){.terminal = false, .loop = loop});
    show_asking(c.show, "m");
    for (int64_t end = clock_ms() + 500; clock_ms() < end;)
        loop_wait(loop, 50);
    assert_string_equal(screen_read(&c), "");
    screen_release(&c);
    loop_free(loop);
}

/* stdout and stderr on one terminal: nobody's line is glued to another's, and a half line is never wiped by
 * the spinner. */
static void test_shared_terminal(void **state)
{
    struct loop *loop = loop_new();
    struct screen c;

    (void)state;
    screen_init(&c, (struct show_options){.terminal = true, .width = 80, .loop = loop});
    struct show_text *t = show_text_new(c.fd, true, NULL);
    show_share(c.show, t);
    show_asking(c.show, "m");
    show_text_feed(t, "half a li", 9);
    for (int64_t end = clock_ms() + 500; clock_ms() < end;)
        loop_wait(loop, 50);
    assert_string_equal(screen_read(&c), "half a li");
    show_line(c.show, NOTICE_INFO, "news");
    show_text_feed(t, "ne\n", 3);
    show_text_end(t);
    assert_string_equal(screen_read(&c), "half a li\nsandpiper: news\nne\n");
    call(&c, 1, "pass");
    puts_out(&c, "partial");
    show_text_feed(t, "text", 4);
    show_text_end(t);
    assert_non_null(strstr(screen_read(&c), "| partial\ntext\n"));
    show_text_free(t);
    screen_release(&c);
    loop_free(loop);
}

static void test_numbers(void **state)
{
    (void)state;
    assert_string_equal(count_text(0).text, "0");
    assert_string_equal(count_text(1234567).text, "1,234,567");
    assert_string_equal(count_text(INT64_MAX).text, "9,223,372,036,854,775,807");
    assert_string_equal(count_text(-123456).text, "-123,456");
    assert_string_equal(show_size(1).text, "1 byte");
    assert_string_equal(show_size(12345).text, "12.3 kB");
    assert_string_equal(show_size(999999).text, "1.0 MB");
}

static void test_wants_colour(void **state)
{
    int null = open("/dev/null", O_WRONLY);

    (void)state;
    unsetenv("NO_COLOR");
    assert_true(show_wants_colour(null, "always"));
    assert_false(show_wants_colour(null, "auto"));
    assert_false(show_wants_colour(null, NULL));
    close(null);
}

/* text at a column, a width, what comes out */
static void test_wrap(void **state)
{
    static const struct {
        const char *text;
        int column, width;
        const char *want;
    } rows[] = {
        {"one two three", 0, 80, "one two three"},
        {"one two three", 0, 0, "one two three"},
        {"one two three", 0, 7, "one two\n  three"},
        {"one two three", 11, 14, "one\n  two three"},
        {"one two three", 11, 12, "one\n  two three"}, /* never a line with nothing on it */
        {"see /a/very/long/path/to/it please", 0, 12, "see\n  /a/very/long/path/to/it\n  please"},
        {"  key:  value and more", 0, 16, "  key:  value\n    and more"},
        {"caf\xc3\xa9 caf\xc3\xa9", 0, 9, "caf\xc3\xa9 caf\xc3\xa9"},
        /* two columns each */
        {"\xe4\xb8\xad\xe4\xb8\xad \xe4\xb8\xad", 0, 6, "\xe4\xb8\xad\xe4\xb8\xad\n  \xe4\xb8\xad"},
        {"one  ", 0, 4, "one  "},
        /* a number and its unit */
        {"trying again in 3.0 s (2 of 4)", 0, 19, "trying again in\n  3.0 s (2 of 4)"},
        {"files take (1.5 GiB)", 0, 16, "files take\n  (1.5 GiB)"},
        {"after 12 attempts", 0, 9, "after 12\n  attempts"},
        {"it took 3 ", 0, 9, "it took 3 "},
        {"", 11, 5, ""},
        {"   ", 0, 2, "   "},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct buf out = BUF_INIT(0);

        show_wrap(&out, rows[i].text, strlen(rows[i].text), rows[i].column, rows[i].width);
        assert_string_equal(buf_str(&out), rows[i].want);
        buf_release(&out);
    }
}

static void test_long_paths_stand_alone(void **state)
{
    struct screen c;
    struct event e = {
        .type = EVENT_FILE,
        .file = {.cell = 1, .name = "a.png", .path = "/home/somebody/with/a/long/name/a.png", .size = 2000}};

    (void)state;
    setenv("TERM", "linux", 1);
    setenv("HOME", "/home/somebody/", 1);
    screen_init(&c, (struct show_options){.terminal = true, .width = 30});
    show_event(c.show, &e);
    assert_string_equal(screen_read(&c), "saved: ~/with/a/long/name/a.png\n");
    /* shorter where it is below the current folder and would wrap */
    autofree char *here = getcwd(NULL, 0), *below = xasprintf("%s/plots/long/a/b/c/d/e.png", here);
    e.file.path = below;
    show_event(c.show, &e);
    assert_string_equal(screen_read(&c),
                        "saved: ~/with/a/long/name/a.png\nsaved: plots/long/a/b/c/d/e.png\n");
    e.file.path = "/home/somebody/with/a/long/name/a.png";
    screen_release(&c);
    setenv("TERM", "foot", 1);
    screen_init(&c, (struct show_options){.terminal = true, .width = 60});
    e.file.path = "/home/somebody2/\x1b[2Jb c.png";
    show_event(c.show, &e);
    const char *seen = screen_read(&c), *link = strstr(seen, "/home");
    assert_true(link && strstr(seen, "saved: \033]8;;file://") == seen);
    assert_string_equal(
        link, "/home/somebody2/%1B%5B2Jb%20c.png\033\\/home/somebody2/b c.png\033]8;;\033\\ (2.0 kB)\n");
    screen_release(&c);
    e.file.path = "/home/somebody/with/a/long/name/a.png";
    /* no terminal: one line, always the same */
    screen_init(&c, (struct show_options){.width = 30});
    show_event(c.show, &e);
    assert_string_equal(screen_read(&c), "saved: /home/somebody/with/a/long/name/a.png (2.0 kB)\n");
    screen_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_cell),
        cmocka_unit_test(test_partial_lines_and_mixed_streams),
        cmocka_unit_test(test_bars),
        cmocka_unit_test(test_hostile_output),
        cmocka_unit_test(test_wrapped_lines_keep_the_gutter),
        cmocka_unit_test(test_wrapped_code_repeats_no_number),
        cmocka_unit_test(test_words_of_ours_stay_whole),
        cmocka_unit_test(test_line_limit),
        cmocka_unit_test(test_exactly_the_limit_is_not_cut),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_flood_of_escapes),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test_prestate(test_cut_anywhere, (void *)"in a pipe"),
        cmocka_unit_test(test_quiet_and_levels),
        cmocka_unit_test(test_usage_of_a_question),
        cmocka_unit_test(test_colour),
        cmocka_unit_test(test_python_classes),
        cmocka_unit_test(test_text_ends_in_one_newline),
        cmocka_unit_test(test_write_errors),
        cmocka_unit_test(test_stalled_reader),
        cmocka_unit_test(test_status_line),
        cmocka_unit_test(test_shared_terminal),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_long_paths_stand_alone),
        cmocka_unit_test(test_wants_colour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
