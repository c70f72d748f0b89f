/* A terminal's bytes as characters and pastes: the same however they are cut, and nothing hangs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conversation/conversation.h"
#include "term/keys.h"

/* Characters as they are, a paste as <...>. */
static void take_all(struct keys *k, int64_t now, struct buf *out)
{
    for (;;) {
        struct key key = keys_next(k, now);

        if (key.kind == KEY_NONE)
            return;
        if (key.kind == KEY_NEWLINE)
            buf_addstr(out, "{nl}");
        else if (key.kind == KEY_CHAR)
            buf_add(out, key.bytes, key.n);
        else
            buf_addf(out, "<%s%s>", buf_str(key.paste), key.cut ? "|cut" : "");
    }
}

static void check(const char *in, const char *want)
{
    size_t len = strlen(in);

    for (size_t cut = 0; cut <= len; cut++) {
        struct keys k;
        struct buf out = BUF_INIT(0);

        keys_init(&k);
        keys_feed(&k, in, cut, 1000);
        take_all(&k, 1000, &out);
        keys_feed(&k, in + cut, len - cut, 1001);
        take_all(&k, 1001, &out);
        take_all(&k, 1001 + ESCAPE_MS, &out);
        assert_string_equal(buf_str(&out), want);
        take_all(&k, 1001 + PASTE_MS, &out);
        assert_string_equal(buf_str(&out), want);
        assert_int_equal(keys_deadline(&k), -1);
        buf_release(&out);
        keys_release(&k);
    }
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    check("abc\r", "abc\r");
    check("\xc3\xa9\xe4\xb8\xad\xf0\x9f\x90\xa6", "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x90\xa6");
    check("a\033[Ab\033[20~c\033[2", "a\033[Ab\033[20~c\033[2");
    check("x\033[200~one\rtwo\r\nthree\n\033[201~y", "x<one\ntwo\nthree\n>y");
    check("\033[200~\033[201~", "<>");
    check("\033[200~a\033[2Jb\033\033[201~z", "<ab>z");
    check("\033[200~a\033[200~b\033[201~\033[200~c\033[201~", "<ab><c>");
    check("bad\xff"
          "byte\xc3(",
          "badbyte(");
    check("\033", "\033");
    check("a\033\rb\033[13;3uc\033[1", "a{nl}b{nl}c\033[1");
    check("a\033[13;5u\033[1;3A\033x", "a\033[13;5u\033[1;3A\033x");
}

static void note_reply(void *ctx, const char *reply, size_t len)
{
    (void)reply, (void)len;
    ++*(int *)ctx;
}

/* What was typed, with a reply of the terminal in each place where one can come. */
static void check_between_replies(const char *in, bool working, const char *want)
{
    static const char reply[] = "\033[?62;4c";

    for (size_t at = 0; at <= strlen(in); at++) {
        struct buf all = BUF_INIT(0), out = BUF_INIT(0);
        struct keys k;
        int replies = 0;

        keys_init(&k);
        k.working = working;
        k.reply = note_reply;
        k.ctx = &replies;
        buf_addf(&all, "%.*s%s%s", (int)at, in, reply, in + at);
        keys_feed(&k, all.data, all.len, 1000);
        take_all(&k, 1000, &out);
        keys_feed(&k, reply, strlen(reply), 1010);
        take_all(&k, 1010 + BURST_MS, &out);
        assert_string_equal(buf_str(&out), want);
        assert_int_equal(replies, 2);
        buf_release(&all);
        buf_release(&out);
        keys_release(&k);
    }
}

static void test_replies_are_no_text(void **state)
{
    (void)state;
    check_between_replies("\r", true, "\r");
    check_between_replies("next", true, "next");
    check_between_replies("next\r", false, "next\r");
    check_between_replies("one line of it\rand another one\r", false, "<one line of it\nand another one\n>");
    check_between_replies("a\rb", true, "<a\nb>");
}

/* Enter, and the beginning of a reply in the same read. */
static void test_enter_before_half_a_reply(void **state)
{
    struct buf out = BUF_INIT(0);
    struct keys k;

    (void)state;
    keys_init(&k);
    k.working = true;
    keys_feed(&k, "\r\033[?62", 6, 1000);
    take_all(&k, 1000, &out);
    keys_feed(&k, ";4c", 3, 1010);
    take_all(&k, 1010 + BURST_MS, &out);
    assert_string_equal(buf_str(&out), "\r");
    buf_release(&out);
    keys_release(&k);
}

/* While no line is edited, Enter comes by itself. */
static void test_a_pasted_line_while_working(void **state)
{
    (void)state;
    check_between_replies("text\r", true, "<text\n>");
    check_between_replies("text\r\r", true, "<text\n\n>");
}

/* A terminal without bracketed paste: line ends inside many bytes at once are no Enter. */
static void test_a_paste_without_marks(void **state)
{
    static const char text[] = "one line of it\rand another one\r";
    struct buf out = BUF_INIT(0);
    struct keys k;

    (void)state;
    keys_init(&k);
    keys_feed(&k, text, sizeof text - 1, 0);
    take_all(&k, 0, &out);
    keys_feed(&k, "last", 4, BURST_MS - 1);
    take_all(&k, BURST_MS, &out);
    assert_string_equal(buf_str(&out), "");
    assert_int_equal(keys_deadline(&k), 2 * BURST_MS - 1);
    take_all(&k, 2 * BURST_MS - 1, &out);
    assert_string_equal(buf_str(&out), "<one line of it\nand another one\nlast>");
    assert_int_equal(keys_deadline(&k), -1);

    buf_clear(&out);
    keys_feed(&k, "a long line that a slow connection delivers\r", 44, 5000); /* one line, and Enter */
    keys_feed(&k, "\r", 1, 5000);
    take_all(&k, 5000, &out);
    assert_string_equal(buf_str(&out), "a long line that a slow connection delivers\r\r");
    buf_clear(&out);
    keys_feed(&k, "y\rno, x\r", 9, 6000); /* few enough for a hand */
    take_all(&k, 6000, &out);
    assert_string_equal(buf_str(&out), "y\rno, x\r");
    buf_clear(&out);
    k.ahead = true; /* typed before it was read */
    keys_feed(&k, text, sizeof text - 1, 7000);
    take_all(&k, 7000, &out);
    assert_string_equal(buf_str(&out), text);
    buf_release(&out);
    keys_release(&k);
}

/* A terminal's replies, asked for or not, are nothing that was typed; the keys that look like them are. */
static void test_replies(void **state)
{
    (void)state;
    check("\033[?62;4c", "");
    check("a\033]11;rgb:0000/0000/0000\033\\b\033]11;rgb:0/0/0\ac", "abc");
    check("x\033_Gi=31;OK\033\\\033P>|iTerm2 3.5\033\\\033[6;20;10ty", "xy");
    check("\033[6;5~\033[6~\033[6;5", "\033[6;5~\033[6~");
    check("\033_\033P\033]", "\033_\033P\033]");
    check("\033[2\033[?1;2c00~", "\033[200~");
    check("\033]11;rgb:00\033[A", "\033[A");
    check("\033[200~a\033[?62cb\033[201~c", "<ab>c");
    check("d\033]11;rgb:00", "d"); /* the rest never came */
}

static void note(void *ctx, const char *reply, size_t len)
{
    buf_add(ctx, reply, len);
    buf_addch(ctx, '|');
}

static void test_replies_are_handed_on_at_once(void **state)
{
    struct buf heard = BUF_INIT(0), out = BUF_INIT(0);
    struct keys k;

    (void)state;
    keys_init(&k);
    k.reply = note;
    k.ctx = &heard;
    keys_feed(&k, "typed\033[?6", 9, 0);
    keys_feed(&k, "2c ahead\033P>|x\033\\", 15, 0);
    assert_string_equal(buf_str(&heard), "\033[?62c|\033P>|x\033\\|");
    take_all(&k, 0, &out);
    assert_string_equal(buf_str(&out), "typed ahead");
    buf_release(&heard);
    buf_release(&out);
    keys_release(&k);
}

static void test_a_paste_without_end(void **state)
{
    struct buf out = BUF_INIT(0);
    struct keys k;

    (void)state;
    keys_init(&k);
    keys_feed(&k, "\033[200~rm -rf\033[201", 17, 0);
    take_all(&k, 0, &out);
    take_all(&k, PASTE_MS - 1, &out);
    assert_string_equal(buf_str(&out), "");
    assert_int_equal(keys_deadline(&k), PASTE_MS);
    take_all(&k, PASTE_MS, &out);
    assert_string_equal(buf_str(&out), "<rm -rf>");
    keys_feed(&k, "x", 1, 5000);
    take_all(&k, 5000, &out);
    assert_string_equal(buf_str(&out), "<rm -rf>x");
    buf_release(&out);
    keys_release(&k);
}

static void test_a_paste_too_long(void **state)
{
    char *big = xmalloc(QUESTION_MAX + 100);
    struct keys k;
    struct key key;

    (void)state;
    memset(big, 'x', QUESTION_MAX + 100);
    keys_init(&k);
    keys_feed(&k, "\033[200~", 6, 0);
    for (int i = 0; i < 3; i++) {
        keys_feed(&k, big, QUESTION_MAX + 100, 1);
        assert_int_equal(keys_next(&k, 1).kind, KEY_NONE);
        assert_true(k.raw.alloc < 4 * QUESTION_MAX); /* what is over is not kept */
    }
    keys_feed(&k, "\033[201~after", 11, 2);
    key = keys_next(&k, 2);
    assert_int_equal(key.kind, KEY_PASTE);
    assert_true(key.cut);
    assert_int_equal(key.paste->len, QUESTION_MAX);
    assert_int_equal(keys_next(&k, 2).bytes[0], 'a');
    free(big);
    keys_release(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_replies_are_handed_on_at_once),
        cmocka_unit_test(test_a_paste_without_end),
        cmocka_unit_test(test_a_paste_too_long),
        cmocka_unit_test(test_replies_are_no_text),
        cmocka_unit_test(test_enter_before_half_a_reply),
        cmocka_unit_test(test_a_pasted_line_while_working),
        cmocka_unit_test(test_a_paste_without_marks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
