/* test_scrub.c - untrusted bytes to a screen or a pipe: the classes T01 to T18 of the threat model, each fed
 * whole and cut at every byte.
 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/utf8.h"

#define R   "\xef\xbf\xbd"
#define ESC "\x1b"
#define ST  "\x1b\\"

static void scrub_all(enum scrub_for target, const char *text, size_t len, struct buf *out)
{
    struct scrub s;
    scrub_init(&s, target);
    scrub_feed(&s, text, len, out);
    scrub_end(&s, out);
}

/* Two pieces for every cut, and byte by byte. */
static void expect(enum scrub_for target, const char *text, size_t len, const char *want)
{
    struct buf out = BUF_INIT(0);
    scrub_all(target, text, len, &out);
    if (strcmp(buf_str(&out), want) != 0)
        fail_msg("%s: got <%s>, want <%s>", text, buf_str(&out), want);
    assert_int_equal(out.len, strlen(want));
    struct buf cut = BUF_INIT(0);
    struct scrub s;
    scrub_init(&s, target);
    for (size_t at = 0; at <= len && len < 3000; at++) {
        buf_clear(&cut);
        scrub_feed(&s, text, at, &cut);
        scrub_feed(&s, text + at, len - at, &cut);
        scrub_end(&s, &cut);
        assert_string_equal(buf_str(&cut), want);
    }
    buf_clear(&cut);
    for (size_t i = 0; i < len; i++)
        scrub_feed(&s, text + i, 1, &cut);
    scrub_end(&s, &cut);
    assert_string_equal(buf_str(&cut), want);
    buf_clear(&cut);
    scrub_all(target, want, strlen(want), &cut); /* nothing is left to do */
    assert_string_equal(buf_str(&cut), want);
    buf_release(&cut);
    buf_release(&out);
}

struct row {
    const char *class, *in, *terminal, *pipe; /* pipe NULL: the same */
};

static const struct row rows[] = {
    {"plain", "two\nlines\tand é €  😀", "two\nlines\tand é €  😀", NULL},
    {"T01 clipboard", "a" ESC "]52;c;cGF5bG9hZA==\ab", "ab", NULL},
    {"T01 clipboard, ST", "a" ESC "]52;c;?" ST "b", "ab", NULL},
    {"T02 link", "a" ESC "]8;;file:///etc/passwd" ST "safe" ESC "]8;;" ST "b", "asafeb", NULL},
    {"T03 title", "a" ESC "]0;evil\a" ESC "[22;0t" ESC "[21tb", "ab", NULL},
    {"T03 title of screen", "a" ESC "kevil" ST "b", "ab", NULL},
    {"T04 queries",
     "a" ESC "[6n" ESC "[c" ESC "[>c" ESC "[>q" ESC "P$qm" ST ESC "]10;?\a" ESC "]4;1;?" ST ESC "[?1$p" ESC
     "[18tb",
     "ab", NULL},
    {"T04 ENQ",
     "a\x05"
     "b",
     "ab", NULL},
    {"T05 erase", "a" ESC "[2J" ESC "[H" ESC "[1A" ESC "[2K" ESC "[5L" ESC "[5Mb", "ab", NULL},
    {"T06 overprint", "real\rfake\b\b\v\f.", "real\nfake.", "realfake."},
    {"T06 CR LF", "a\r\nb\r\n", "a\nb\n", "a\r\nb\r\n"},
    {"T06 CR CR LF", "a\r\r\nb", "a\n\nb", "a\r\nb"},
    {"T06 CR at the end", "a\r", "a\n", "a"},
    {"T06 CR, removed, LF", "a\r" ESC "[K\nb\r\a\nc", "a\n\nb\n\nc", "a\nb\nc"},
    {"T07 raw C1",
     "a\x9b"
     "31mb\x85"
     "c",
     "a" R "31mb" R "c", NULL},
    {"T07 C1 as characters",
     "a\xc2\x9b"
     "31mb\xc2\x9d"
     "0;evil\xc2\x9c"
     "c\xc2\x85"
     "d\xc2\x90zz" ST "e",
     "abcde", NULL},
    {"T07 a character with 0x9c inside a string",
     "a" ESC "]0;\xe2\x9c\x9c still\a"
     "b",
     "ab", NULL},
    {"T08 bidi",
     "a\u202e\u202d\u202a\u202b\u202c\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
     "b",
     "ab",
     "a\u202e\u202d\u202a\u202b\u202c\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
     "b"},
    {"T09 invisible",
     "a\u200b\u2060\u00ad\ufeff\u180e\u3164\ufe0f\U000e0041\U000e0100"
     "b",
     "ab",
     "a\u200b\u2060\u00ad\ufeff\u180e\u3164\ufe0f\U000e0041\U000e0100"
     "b"},
    {"T09 joiners of emoji, one at a time", "\U0001f468\u200d\u200d\U0001f469", "\U0001f468\u200d\U0001f469",
     "\U0001f468\u200d\u200d\U0001f469"},
    {"T09 joiners of scripts", "\u0645\u06cc\u200c\u062e \u0915\u094d\u200d\u0937",
     "\u0645\u06cc\u200c\u062e \u0915\u094d\u200d\u0937",
     "\u0645\u06cc\u200c\u062e \u0915\u094d\u200d\u0937"},
    {"T09 joiners elsewhere", "\u200da\u200cb\u200d\u00e9\u200dx", "ab\u00e9x",
     "\u200da\u200cb\u200d\u00e9\u200dx"},
    {"T09 separators", "a\u2028b\u2029c", "a\nb\nc", "a\u2028b\u2029c"},
    {"T10 bells", "a\a\a\a\a\ab", "ab", NULL},
    {"T11 DCS, APC, PM, SOS",
     "a" ESC "Pq#0;2;0;0;0#0~~@@\n-" ST ESC "_Ga=T,f=100;AAAA" ST ESC "^pm" ST ESC "Xsos" ST "b", "ab", NULL},
    {"T11 tmux pass-through", "a" ESC "Ptmux;" ESC ESC "]52;c;AAAA\a" ST "b", "ab", NULL},
    {"T11 BEL does not end a DCS", "a" ESC "Pq\a hidden" ST "b", "ab", NULL},
    {"T12 unterminated OSC", "a" ESC "]0;never ends", "a", NULL},
    {"T12 unterminated CSI", "a" ESC "[1;2;3", "a", NULL},
    {"T12 unterminated DCS", "a" ESC "Pabc", "a", NULL},
    {"T12 lone ESC at the end", "a" ESC, "a", NULL},
    {"T12 cancelled",
     "a" ESC "]0;x\x18"
     "b" ESC "Px\x1a"
     "c" ESC "[1\x18"
     "d",
     "abcd", NULL},
    {"T12 broken CSI shows what follows", "a" ESC "[31\nb" ESC "[1é", "a\nbé", NULL},
    {"T13 modes",
     "a" ESC "[?1049h" ESC "[?1000h" ESC "[?2004l" ESC "=" ESC "c" ESC "(0" ESC "#8" ESC "[?25l" ESC "7" ESC
     "%@\x0e\x0f"
     "b",
     "ab", NULL},
    {"T14 marks",
     "e\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a"
     "x\u0301",
     "e\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308x\u0301",
     "e\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a"
     "x\u0301"},
    {"T14 marks with invisible ones between",
     "e\u0301\u0302\u0303\u0304\u200d\u0305\u0306\u0307\u0308\u200d\u0309x",
     "e\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308x",
     "e\u0301\u0302\u0303\u0304\u200d\u0305\u0306\u0307\u0308\u200d\u0309x"},
    {"T15 imitation keeps its letters only", ESC "[1mAllow? [y/N]" ESC "[0m y", "Allow? [y/N] y", NULL},
    {"T16 colours", ESC "[8mhidden" ESC "[0;30;40m" ESC "[5m" ESC "[38:2::1:2:3m.", "hidden.", NULL},
    {"T17 a traceback", "NameError: " ESC "]0;x\a" ESC "[31mname\n  File \"" ESC "[2J.py\"",
     "NameError: name\n  File \".py\"", NULL},
    {"T18 ESC given up by another", "a" ESC "]0;x" ESC "[31mb" ESC ESC ESC "[0mc", "abc", NULL},
    {"T18 ESC before text that is no sequence", "a" ESC "\xc3\xa9" ESC "\n.", "aé\n.", NULL},
    {"invalid",
     "a\xff\xfe"
     "b\xc3"
     "c\xe2\x82"
     "d\xed\xa0\x80"
     "e\xf0\x9f\x98",
     "a" R R "b" R "c" R "d" R R R "e" R, NULL},
    {"overlong ESC", "\xc0\x9b[31m\xe0\x80\x9b[0m", R R "[31m" R R R "[0m", NULL},
    {"DEL",
     "a\x7f"
     "b",
     "ab", NULL},
};

static void classes(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        expect(SCRUB_TERMINAL, rows[i].in, strlen(rows[i].in), rows[i].terminal);
        expect(SCRUB_PIPE, rows[i].in, strlen(rows[i].in),
               rows[i].pipe != NULL ? rows[i].pipe : rows[i].terminal);
    }
    expect(SCRUB_TERMINAL, "a\0b\0", 4, "ab");
    expect(SCRUB_PIPE, "a\0b\0", 4, "ab");
    expect(SCRUB_PIPE, "", 0, "");
}

/* All rows one behind the other, cut into pieces of every length: state crosses from one class into the next.
 */
static void classes_in_a_row(void **state)
{
    (void)state;
    struct buf in = BUF_INIT(0), want = BUF_INIT(0), got = BUF_INIT(0);
    for (size_t i = 0; i < countof(rows); i++) {
        buf_addstr(&in, rows[i].in);
        buf_addch(&in, '|');
    }
    for (enum scrub_for target = SCRUB_TERMINAL; target <= SCRUB_PIPE; target++) {
        buf_clear(&want);
        scrub_all(target, in.data, in.len, &want);
        for (size_t piece = 1; piece < 200; piece++) {
            struct scrub s;
            scrub_init(&s, target);
            buf_clear(&got);
            for (size_t i = 0; i < in.len; i += piece)
                scrub_feed(&s, in.data + i, in.len - i < piece ? in.len - i : piece, &got);
            scrub_end(&s, &got);
            assert_string_equal(got.data, want.data);
        }
    }
    buf_release(&in);
    buf_release(&want);
    buf_release(&got);
}

/* T12: what never ends is given up, and what follows is seen again. */
static void gives_up(void **state)
{
    (void)state;
    static const char *const begins[] = {ESC "]0;", ESC "P", ESC "_G", ESC "[", "\xc2\x9d"};
    for (size_t i = 0; i < countof(begins); i++) {
        struct buf in = BUF_INIT(0), out = BUF_INIT(0);
        buf_addstr(&in, begins[i]);
        for (int k = 0; k < 4200; k++)
            buf_addch(&in, '1');
        buf_addstr(&in, "$ prompt");
        scrub_all(SCRUB_TERMINAL, in.data, in.len, &out);
        assert_non_null(strstr(buf_str(&out), "1$ prompt"));
        assert_true(out.len < 200);
        buf_clear(&out);
        struct scrub s; /* the message ends: the next one is not swallowed */
        scrub_init(&s, SCRUB_TERMINAL);
        scrub_feed(&s, begins[i], strlen(begins[i]), &out);
        scrub_feed(&s, "x;1", 3, &out);
        scrub_end(&s, &out);
        buf_clear(&out);
        scrub_feed(&s, "next", 4, &out);
        assert_string_equal(out.data, "next");
        buf_release(&in);
        buf_release(&out);
    }
}

static void long_marks_and_bells(void **state)
{
    (void)state;
    struct buf in = BUF_INIT(0), out = BUF_INIT(0);
    buf_addch(&in, 'e');
    for (int i = 0; i < 500000; i++)
        buf_addstr(&in, "\u0301");
    for (int i = 0; i < 10000; i++)
        buf_addch(&in, '\a');
    scrub_all(SCRUB_TERMINAL, in.data, in.len, &out);
    assert_int_equal(out.len, 1 + 8 * 2);
    buf_release(&in);
    buf_release(&out);
}

/* No pair or triple of bytes gets a control through, whatever it begins. */
static void every_short_input_is_harmless(void **state)
{
    (void)state;
    struct buf out = BUF_INIT(0);
    for (unsigned v = 0; v < 0x1000000; v += v < 0x20000 ? 1 : 251) {
        char in[3] = {(char)v, (char)(v >> 8), (char)(v >> 16)};
        for (enum scrub_for target = SCRUB_TERMINAL; target <= SCRUB_PIPE; target++) {
            buf_clear(&out);
            scrub_all(target, in, sizeof(in), &out);
            for (size_t i = 0; i < out.len;) {
                uint32_t c;
                int n = utf8_decode(out.data + i, out.len - i, &c);
                bool crlf = target == SCRUB_PIPE && c == '\r' && i + 1 < out.len && out.data[i + 1] == '\n';
                if (n <= 0 || (c < 0x20 && c != '\n' && c != '\t' && !crlf) || (c >= 0x7f && c < 0xa0))
                    fail_msg("%06x", v);
                i += (size_t)n;
            }
        }
    }
    buf_release(&out);
}

static void lines(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"a\nb\r\nc\td", "a b c d"},
        {ESC "[31mname" ESC "[0m.py", "name.py"},
        {"", ""},
        {"\xff", R},
        {"a\rb", "a b"},
    };
    for (size_t i = 0; i < countof(cases); i++) {
        autofree char *line = scrub_line(cases[i].in, SCRUB_TERMINAL);
        assert_string_equal(line, cases[i].out);
    }
    autofree char *pipe_line = scrub_line("a\r\nb\u200dc", SCRUB_PIPE);
    assert_string_equal(pipe_line, "a b\u200dc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes),
        cmocka_unit_test(classes_in_a_row),
        cmocka_unit_test(gives_up),
        cmocka_unit_test(long_marks_and_bells),
        cmocka_unit_test(every_short_input_is_harmless),
        cmocka_unit_test(lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
