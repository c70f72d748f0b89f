/* What terminals say of themselves, and which way of drawing follows; how a figure fits. */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "show/figure.h"
#include "show/graphics.h"
#include "show/through_tmux.h"

static void hear(struct graphics *g, const char *reply)
{
    assert_int_equal(reply_length(reply, strlen(reply)), (int)strlen(reply));
    graphics_reply(g, reply, strlen(reply));
}

static void test_replies(void **state)
{
    static const struct {
        const char *reply;
        enum graphics_way way;
        int32_t background;
        int cell_height;
        bool answered;
    } rows[] = {
        {"\033[?62;4c", GRAPHICS_SIXEL, -1, 0, true},
        {"\033[?64;1;2;4;22c", GRAPHICS_SIXEL, -1, 0, true},
        {"\033[?1;2c", GRAPHICS_BLOCKS, -1, 0, true},
        {"\033[?4c", GRAPHICS_BLOCKS, -1, 0, true}, /* the first number is the terminal's class: a VT132 */
        {"\033[?62;44;14c", GRAPHICS_BLOCKS, -1, 0, true},
        {"\033[?62;4h", GRAPHICS_BLOCKS, -1, 0, false},
        {"\033[?c", GRAPHICS_BLOCKS, -1, 0, true},
        {"\033_Gi=31;OK\033\\", GRAPHICS_KITTY, -1, 0, false},
        {"\033_Gi=31;EINVAL:no\033\\", GRAPHICS_BLOCKS, -1, 0, false},
        {"\033_Gi=1;OK\033\\", GRAPHICS_BLOCKS, -1, 0, false},
        {"\033P>|iTerm2 3.5.0\033\\", GRAPHICS_ITERM2, -1, 0, false},
        {"\033P>|WezTerm 20240203\033\\", GRAPHICS_ITERM2, -1, 0, false},
        {"\033P>|tmux 3.4\033\\", GRAPHICS_BLOCKS, -1, 0, false},
        {"\033]11;rgb:1e1e/1e1e/2e2e\033\\", GRAPHICS_BLOCKS, 0x1e1e2e, 0, false},
        {"\033]11;rgb:f/8/0\a", GRAPHICS_BLOCKS, 0xff8800, 0, false},
        {"\033]11;rgba:ffff/ffff/0000/8000\a", GRAPHICS_BLOCKS, 0xffff00, 0, false},
        {"\033]11;rgb:00000/0/0\a", GRAPHICS_BLOCKS, -1, 0, false},
        {"\033]11;rgb:\a", GRAPHICS_BLOCKS, -1, 0, false},
        {"\033]11;red\a", GRAPHICS_BLOCKS, -1, 0, false},
        {"\033[6;20;10t", GRAPHICS_BLOCKS, -1, 20, false},
        {"\033[6;0;0t", GRAPHICS_BLOCKS, -1, 0, false},
        {"\033[6;99999;10t", GRAPHICS_BLOCKS, -1, 0, false},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct graphics g;

        graphics_init(&g);
        hear(&g, rows[i].reply);
        assert_int_equal(graphics_way(&g), rows[i].way);
        assert_int_equal(g.background, rows[i].background);
        assert_int_equal(g.cell_height, rows[i].cell_height);
        assert_int_equal(g.answered, rows[i].answered);
    }
    assert_int_equal(reply_length("\033[6;-20;10t", 11), REPLY_NONE);
}

/* Asked about kitty's graphics are terminals that are known to have them: once, before the last reply. */
static void test_kitty_is_asked(void **state)
{
    static const struct {
        const char *term, *tmux, *version;
        bool asked;
    } rows[] = {
        {"xterm-kitty", NULL, NULL, true},
        {"xterm-kitty", "/tmp/tmux", NULL, false},
        {"xterm-256color", NULL, NULL, false},
        {"xterm-256color", NULL, "\033P>|kitty(0.35.2)\033\\", true},
        {"xterm-ghostty", NULL, "\033P>|ghostty 1.1.3\033\\", true},
        {"xterm-256color", NULL, "\033P>|Konsole 23.08.1\033\\", true},
        {"xterm-256color", NULL, "\033P>|WezTerm 20240203\033\\", true},
        {"xterm-256color", NULL, "\033P>|iTerm2 3.5.0\033\\", false},
        {"xterm-256color", NULL, "\033P>|tmux 3.3a\033\\", false},
        {"xterm-256color", NULL, "\033P>|XTerm(390)\033\\", false},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct buf out = BUF_INIT(0);
        struct graphics g;

        setenv("TERM", rows[i].term, 1);
        if (rows[i].tmux)
            setenv("TMUX", rows[i].tmux, 1);
        graphics_init(&g);
        graphics_query(&g, &out);
        for (int again = 0; rows[i].version && again < 2; again++) {
            hear(&g, rows[i].version);
            graphics_query(&g, &out);
        }
        const char *query = strstr(buf_str(&out), "\033_G");
        assert_int_equal(query != NULL, rows[i].asked);
        assert_true(!query || !strstr(query + 1, "\033_G"));
        hear(&g, "\033[?62c");
        assert_int_equal(g.answered, !rows[i].asked);
        hear(&g, "\033[?62c");
        assert_true(g.answered);
        buf_clear(&out);
        hear(&g, "\033P>|kitty(0.35.2)\033\\"); /* behind the last reply: nobody listens any more */
        graphics_query(&g, &out);
        assert_int_equal(out.len, 0);
        buf_release(&out);
        unsetenv("TMUX");
    }
}

static void test_lengths(void **state)
{
    char endless[REPLY_MAX + 100];

    (void)state;
    memset(endless, 'x', sizeof endless);
    memcpy(endless, "\033_G", 3);
    assert_int_equal(reply_length(endless, sizeof endless), REPLY_MAX);
    assert_int_equal(reply_length("\033", 1), REPLY_MAYBE);
    assert_int_equal(reply_length("\033[", 2), REPLY_MAYBE);
    assert_int_equal(reply_length("\033[?", 3), REPLY_BEGUN);
    assert_int_equal(reply_length("\033[A", 3), REPLY_NONE);
    assert_int_equal(reply_length("\033[6;5~", 6), REPLY_NONE);
    assert_int_equal(reply_length("", 0), REPLY_NONE);
}

static void test_environment(void **state)
{
    struct graphics g;

    (void)state;
    setenv("COLORFGBG", "15;0", 1);
    graphics_init(&g);
    assert_true(g.background == 0 && graphics_dark(&g));
    setenv("COLORFGBG", "0;default;15", 1);
    graphics_init(&g);
    assert_true(g.background == 0xffffff && !graphics_dark(&g));
    setenv("COLORFGBG", "0;default", 1);
    graphics_init(&g);
    assert_true(g.background == -1 && !graphics_dark(&g));
    unsetenv("COLORFGBG");
}

static void test_tmux(void **state)
{
    static const struct {
        const char *said;
        bool passes;
    } rows[] = {
        {"1 kitty(0.35.2)\n", true},
        {"on kitty(1.0.0)\n", true},
        {"all ghostty 1.1.3\n", true},
        {"0 kitty(0.35.2)\n", false},
        {"off kitty(0.35.2)\n", false},
        {"1 kitty(0.27.1)\n", false},
        {"1 iTerm2 3.5.0\n", false},
        {"1 \n", false},
        {" kitty(0.35.2)\n", false}, /* no such option */
        {"1\n", false},
        {"", false},
        {"1 kitty(", false},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++)
        assert_int_equal(through_tmux_passes(rows[i].said), rows[i].passes);
}

/* Whatever the screen: no line is wider than it, and none is too many. */
static void test_figures_fit(void **state)
{
    struct graphics g = {.background = -1};
    static const char texts[] = "0 10000 500 0 c ff0000 a title that is as wide as many a screen is\0"
                                "0 1000 5000 90 c 0 downwards, and higher than it too\0"
                                "9000 10000 9900 0 r 0 10.0";
    struct pixels p = {.width = 300,
                       .height = 200,
                       .rgb = xcalloc(300 * 200, 3),
                       .texts = xmemdup0(texts, sizeof texts - 1),
                       .texts_len = sizeof texts - 1};
    struct pixels_ask ask;
    struct error err = {0};

    (void)state;
    for (int columns = 1; columns <= 200; columns += 13)
        for (int rows = 1; rows <= 60; rows += 7) {
            struct figure_screen s = {.graphics = &g, .columns = columns, .rows = rows};
            struct buf out = BUF_INIT(0);
            int lines = 0;

            if (!figure_ask(&s, &ask)) {
                assert_true(columns < 8 || rows < 6);
                continue;
            }
            assert_true(ask.width <= PIXELS_WIDTH_MAX && ask.height <= PIXELS_HEIGHT_MAX);
            if (figure_draw(&s, &p, &out, &err) < 0)
                fail_msg("%s", err.text);
            for (const char *line = out.data; *line; line = strchr(line, '\n') + 1, lines++) {
                int wide = 0;

                for (const char *c = line; *c != '\n'; c++)
                    wide += (*c & 0xc0) != 0x80; /* without colours there is nothing but characters */
                assert_true(wide <= columns);
            }
            assert_non_null(strstr(out.data, columns < 20 ? "a title" : "a title that"));
            assert_true(lines >= 1 && lines <= FIGURE_ROWS && lines <= rows * 2 / 3);
            buf_release(&out);
        }
    pixels_release(&p);
}

/* A second picture of a figure is made only for those that draw by characters. */
static void test_who_wants_texts(void **state)
{
    static const struct {
        struct graphics graphics;
        bool texts;
    } rows[] = {
        {{.background = -1}, true}, {{.background = 0xffffff, .asked_tmux = true}, true},
        {{.kitty = true}, false},   {{.sixel = true}, false},
        {{.iterm2 = true}, false},  {{.asked_tmux = true, .placeholders = true}, false},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct figure_screen s = {.graphics = &rows[i].graphics, .columns = 80, .rows = 24};
        struct pixels_ask ask = {0};

        assert_true(figure_ask(&s, &ask));
        assert_int_equal(ask.texts, rows[i].texts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_kitty_is_asked),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_tmux),
        cmocka_unit_test(test_figures_fit),
        cmocka_unit_test(test_who_wants_texts),
    };

    unsetenv("TMUX");
    unsetenv("STY");
    unsetenv("TERM_PROGRAM");
    unsetenv("LC_TERMINAL");
    unsetenv("COLORFGBG");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
