/* Answers rendered: the corpus of tests/markdown at every width, cut into pieces of every size; what is
 * held back and for how long; formulas; and nothing hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/utf8.h"
#include "markdown/latex.h"
#include "markdown/markdown.h"

struct page {
    struct buf out, clean;
    struct scrub scrub;
    struct markdown *m;
};

static void page_begin(struct page *p, int width, bool colour)
{
    const struct markdown_options o = {
        .flow = {.width = width, .colour = colour, .many = true, .hyperlink = colour}};

    *p = (struct page){0};
    scrub_init(&p->scrub, SCRUB_TERMINAL);
    p->m = markdown_new(&o, &p->out);
}

static void page_add(struct page *p, const char *text, size_t len)
{
    buf_clear(&p->clean);
    scrub_feed(&p->scrub, text, len, &p->clean);
    markdown_feed(p->m, buf_str(&p->clean), p->clean.len);
}

static void page_end(struct page *p)
{
    buf_clear(&p->clean);
    scrub_end(&p->scrub, &p->clean);
    markdown_feed(p->m, buf_str(&p->clean), p->clean.len);
    markdown_end(p->m);
}

static void page_release(struct page *p)
{
    markdown_free(p->m);
    buf_release(&p->out);
    buf_release(&p->clean);
}

/* The text without the lines that were drawn again. */
static void drop_redrawn(char *s)
{
    char *line = s, *to = s;

    for (; *s; s++)
        if (!strncmp(s, "\r\033[K", 4)) {
            to = line;
            s += 3;
        } else {
            *to++ = *s;
            line = *s == '\n' ? to : line;
        }
    *to = '\0';
}

/* In pieces of up to most bytes (0: whole), as random has them. The caller frees. */
static char *drawn(const char *text, size_t len, int width, bool colour, size_t most, unsigned seed)
{
    struct page p;

    page_begin(&p, width, colour);
    for (size_t i = 0; i < len;) {
        size_t n = most ? 1 + (size_t)rand_r(&seed) % most : len;

        n = n > len - i ? len - i : n;
        page_add(&p, text + i, n);
        i += n;
    }
    page_end(&p);
    char *out = xstrdup(buf_str(&p.out));
    page_release(&p);
    drop_redrawn(out);
    return out;
}

/* What a terminal shows, whatever the order of the sequences: each character that is no blank behind the
 * style and the link that it has. The caller frees. */
static char *cells(const char *s)
{
    struct buf out = BUF_INIT(0), style = BUF_INIT(0), link = BUF_INIT(0);

    for (; *s; s++) {
        if (!strncmp(s, "\033[0", 3)) {
            buf_clear(&style);
            size_t n = strcspn(s, "m");
            buf_add(&style, s + 3, n - 3);
            s += n;
        } else if (!strncmp(s, "\033[2m", 4)) {
            buf_clear(&style);
            buf_addstr(&style, ";2");
            s += 3;
        } else if (!strncmp(s, "\033]8;", 4)) {
            const char *url = strchr(s + 4, ';') + 1, *end = strstr(url, "\033\\");

            buf_clear(&link);
            buf_add(&link, url, (size_t)(end - url));
            s = end + 1;
        } else {
            assert_true(*s != '\033');
            if (*s != ' ' && *s != '\n' && ((unsigned char)*s & 0xc0) != 0x80)
                buf_addf(&out, "<%s%s>", buf_str(&style), buf_str(&link));
            buf_addch(&out, *s);
        }
    }
    buf_release(&style);
    buf_release(&link);
    return buf_steal(&out, NULL);
}

struct answer {
    char *name, *text;
    size_t len;
};

static struct answer *corpus;
static size_t n_corpus;

static int read_corpus(void **state)
{
    glob_t files;

    (void)state;
    assert_int_equal(glob("tests/markdown/*.md", 0, NULL, &files), 0);
    n_corpus = files.gl_pathc;
    corpus = xcalloc(n_corpus, sizeof *corpus);
    for (size_t i = 0; i < n_corpus; i++) {
        FILE *f = fopen(files.gl_pathv[i], "r");
        char text[65536];

        corpus[i].name = xstrdup(files.gl_pathv[i]);
        corpus[i].len = fread(text, 1, sizeof text, f);
        corpus[i].text = xmemdup0(text, corpus[i].len);
        fclose(f);
    }
    globfree(&files);
    return 0;
}

static int free_corpus(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_corpus; i++) {
        free(corpus[i].name);
        free(corpus[i].text);
    }
    free(corpus);
    return 0;
}

static void test_pieces(void **state)
{
    static const int widths[] = {20, 40, 79};

    (void)state;
    assert_true(n_corpus >= 60);
    for (size_t i = 0; i < n_corpus; i++)
        for (size_t w = 0; w < countof(widths); w++) {
            autofree char *all = drawn(corpus[i].text, corpus[i].len, widths[w], true, 0, 0),
                          *whole = cells(all);

            for (unsigned seed = 0; seed < 8; seed++) {
                autofree char *cut = drawn(corpus[i].text, corpus[i].len, widths[w], true,
                                           seed ? 3 * seed * seed : 1, seed);
                autofree char *same = cells(cut);

                if (strcmp(whole, same))
                    fail_msg("%s at %d, seed %u:\n%s\nin pieces:\n%s", corpus[i].name, widths[w], seed, all,
                             cut);
            }
        }
}

static bool wide_script(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s >= 0xe3 && (unsigned char)*s != 0xef)
            return true;
    return false;
}

/* The word as one of those in text, where lines are not broken; a colon behind it may be that of a record. */
static bool is_word_of(const char *text, const char *word, size_t len)
{
    for (const char *p = text; (p = memmem(p, strlen(p), word, len)) != NULL; p++)
        if ((p == text || strchr(" \n", p[-1])) && strchr(" \n", p[len]))
            return true;
    return len > 1 && word[len - 1] == ':' && is_word_of(text, word, len - 1);
}

static void check_line(const struct answer *a, const char *line, size_t len, int width, const char *unbroken)
{
    bool wide_word = false, scripts = wide_script(a->text);
    size_t indent = strspn(line, " ");

    if (indent < len && !memchr(line + indent, ' ', len - indent)) /* code keeps its indentation */
        wide_word = true;
    for (size_t i = 0; i < len;) {
        size_t n = 0;

        while (i + n < len && line[i + n] != ' ')
            n++;
        wide_word = wide_word || utf8_columns(line + i, n) > width;
        if (n && !scripts && strncmp(line + i, "─", 3) && !is_word_of(unbroken, line + i, n))
            fail_msg("%s at %d: \"%.*s\" is cut", a->name, width, (int)n, line + i);
        i += n ? n : 1;
    }
    if (utf8_columns(line, len) > width && !wide_word)
        fail_msg("%s at %d: too long: %.*s", a->name, width, (int)len, line);
}

static void test_every_width(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_corpus; i++) {
        autofree char *unbroken = drawn(corpus[i].text, corpus[i].len, 0, false, 0, 0);

        for (int width = 20; width <= 120; width++) {
            autofree char *out = drawn(corpus[i].text, corpus[i].len, width, false, 0, 0);

            for (const char *line = out; *line;) {
                size_t len = strcspn(line, "\n");

                check_line(&corpus[i], line, len, width, unbroken);
                line += len + (line[len] == '\n');
            }
            assert_true(!*out || out[strlen(out) - 1] == '\n');
            assert_null(strstr(out, "\n\n\n\n"));
            assert_false(*out == '\n');
        }
    }
}

/* What is shown of text before more comes. */
static void check_shown(const char *text, const char *want)
{
    struct page p;

    page_begin(&p, 80, false);
    page_add(&p, text, strlen(text));
    assert_string_equal(buf_str(&p.out), want);
    page_end(&p);
    page_release(&p);
}

static void test_words_appear_as_they_come(void **state)
{
    (void)state;
    check_shown("One two thr", "One two");
    check_shown("- One two thr", "• One two");
    check_shown("## One two thr", "## One two");
    check_shown("One\ntwo thr", "One\ntwo");
    check_shown("One **two thr", "One");
    check_shown("One **two** thr", "One two");
    check_shown("One **two three four five six seven eight nine ten eleven twe",
                "One two three four five six seven eight nine ten eleven");
    check_shown("```\none\ntw", "  one\n");
    check_shown("字漢字です", "字漢字");
    check_shown("It costs $5 and th", "It costs $5 and");
    check_shown("Title here\n==", "Title");
    check_shown("Title here\n===", "Title");
    check_shown("See [docs][1], an", "See docs [1],");
    check_shown("[docs] an", "[docs]");
    check_shown("| a | b |\n|---|---|\n| 1 | 2 |\n", "");
    check_shown("| a | b |\n|---|---|\n| 1 | 2 |\n\n", "a │ b\n──┼──\n1 │ 2\n");
}

static void check_drawn(const char *text, const char *want)
{
    autofree char *out = drawn(text, strlen(text), 60, false, 0, 0);

    assert_string_equal(out, want);
}

static void test_what_models_write(void **state)
{
    (void)state;
    check_drawn("2*3*4 and snake_case and __init__", "2*3*4 and snake_case and init\n");
    check_drawn("use *args and 5 * 3", "use *args and 5 * 3\n");
    check_drawn("**注意：**这是**“重点”**的", "注意：这是“重点”的\n");
    check_drawn("**Note:**text", "Note:text\n");
    check_drawn("costs $5 and $6, $1,000.50 or 10$ in all", "costs $5 and $6, $1,000.50 or 10$ in all\n");
    check_drawn("so $\\sigma^2$ and \\(x_1\\) and $2^n$.", "so σ² and x₁ and 2ⁿ.\n");
    check_drawn("$$\nE = mc^2\n$$", "  E = mc²\n");
    check_drawn("\\[ \\unheard{x} \\]", "\\[ \\unheard{x} \\]\n");
    check_drawn("1. a\n1. b\n1. c", "1. a\n2. b\n3. c\n");
    check_drawn("7. a\n9. b", "7. a\n9. b\n");
    check_drawn("1. a\n  - b\n    - c\n2. d", "1. a\n   • b\n     • c\n2. d\n");
    check_drawn("```python\nnever closed", "  never closed\n");
    check_drawn("a: 1\nb: 2", "a: 1\nb: 2\n");
    check_drawn("x<sup>2</sup> and std::vector<int> and a<br>b", "x² and std::vector<int> and a\nb\n");
    check_drawn("&lt;b&gt; &amp; &#27;[31m &#x202e;x", "<b> & [31m x\n");
    check_drawn("![a plot](/mnt/data/x.png)", "a plot (x.png)\n");
    check_drawn("[text](https://example.org/a_b_c)", "text (https://example.org/a_b_c)\n");
    check_drawn("<https://example.org> https://example.org/x", "https://example.org https://example.org/x\n");
    check_drawn("\n\n\nx\n\n\n\ny\n\n\n", "x\n\ny\n");
    check_drawn("> q\nlazy\n\nout", "│ q\n│ lazy\n\nout\n");
}

static void check_styled(const char *text, const char *want)
{
    autofree char *out = drawn(text, strlen(text), 60, true, 0, 0);

    assert_string_equal(out, want);
}

/* What the next line makes of the last one, and only of one that is one line of the screen. */
static void test_the_last_line_is_drawn_again(void **state)
{
    (void)state;
    check_styled("Title\n=====\nText.", "\033[0;1;4mTitle\033[0m\nText.\n");
    check_styled("- x\n\nOn *it*\n---\n", "• x\n\n\033[0;1mOn\033[0m \033[0;1;3mit\033[0m\n");
    check_styled("> A\n> ==\n", "\033[0;2m│\033[0m \033[0;1;4mA\033[0m\n");
    check_styled("One\ntwo\n===", "One\ntwo\n===\n");
    check_drawn("Title\n=====\nText.\n\nTitle\n---", "Title\n=====\nText.\n\nTitle\n---\n");
    check_drawn("A sentence.\n---\nx",
                "A sentence.\n\n────────────────────────────────────────────────────────────\n\nx\n");
    check_drawn("x\n\na | b\n--- | ---\n1 | 2", "x\n\na │ b\n──┼──\n1 │ 2\n");
    check_drawn("All:\na | b\n--- | ---\n1 | 2", "All:\n\na │ b\n──┼──\n1 │ 2\n");
    check_drawn("- a | b\n  --|--\n  1 | 2", "• a │ b\n  ──┼──\n  1 │ 2\n");
    check_drawn("a | b\n--- | --- | ---", "a | b\n--- | --- | ---\n");
    check_drawn("a | b\n---", "a | b\n---\n");
}

static void test_references(void **state)
{
    (void)state;
    check_drawn("[a]: https://a.example \"A\"\n[b]: <https://b.example>\n\nSee [it][a], [B] and [b][].",
                "See it (https://a.example), B (https://b.example) and b\n(https://b.example).\n");
    check_drawn("[The docs][1] say [more][2].\n\n[1]: https://a.example\n[2]: https://b.example\n",
                "The docs [1] say more [2].\n\n[1]: https://a.example\n[2]: https://b.example\n");
    check_drawn("Sources:\n[1]: https://a.example\n\nText.", "Sources:\n\nText.\n\n[1]: https://a.example\n");
    check_drawn("a[i][j], [x][y], [1][2], [^1]\n\n[^1]: note\n[note]: is text",
                "a[i][j], [x][y], [1][2], [^1]\n\n[^1]: note\n[note]: is text\n");
    check_drawn("[a]: https://a.example\n![plot][a] and ![plot][1]",
                "plot (https://a.example) and ![plot][1]\n");
}

/* The link's text may not hide where it leads, and nothing but an address of the web can be opened. */
static void test_links(void **state)
{
    static const char text[] =
        "[https://bank.example](https://evil.example) [a](javascript:x) [b](https://b.example/é)";
    autofree char *out = drawn(text, strlen(text), 200, true, 0, 0);

    (void)state;
    assert_non_null(strstr(out, "(https://evil.example)"));
    assert_null(strstr(out, ";javascript"));
    assert_non_null(strstr(out, ";https://b.example/%C3%A9\033\\"));
}

static double linear(int level)
{
    double v = level / 255.0;

    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

/* Each colour can be read on white and on black (contrast as WCAG 2 has it). */
static void test_colours(void **state)
{
    static const char text[] = "`a` [b](https://b.example)\n\n```python\ndef f(): 'x' # c\n```\n";
    static const int levels[] = {0, 95, 135, 175, 215, 255};
    autofree char *out = drawn(text, strlen(text), 80, true, 0, 0);
    size_t n = 0;

    (void)state;
    for (const char *p = out; (p = strstr(p, "38;5;")) != NULL; n++) {
        int c = (int)strtol(p += 5, NULL, 10) - 16;

        assert_in_range(c, 0, 215);
        double light = 0.2126 * linear(levels[c / 36]) + 0.7152 * linear(levels[c / 6 % 6])
                       + 0.0722 * linear(levels[c % 6]);
        if (1.05 / (light + 0.05) < 3.5 || (light + 0.05) / 0.05 < 3.5)
            fail_msg("colour %d: light %.2f", c + 16, light);
    }
    assert_true(n >= 5);
}

static double cpu(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The second half costs what the first does, whatever it is that does not end. */
static void test_a_piece_costs_the_same_wherever_it_comes(void **state)
{
    static const char *const unit[] = {"word and **strong** and `code` of a long paragraph ",
                                       "字",
                                       "x",
                                       "- item\n",
                                       "> ",
                                       "`` ` ",
                                       "\\( ",
                                       "[a](",
                                       "[a][b] ",
                                       "[",
                                       "[a]: /b\n",
                                       "a | b\n",
                                       "==\n",
                                       "*a ",
                                       "$x ",
                                       "| a | b |\n",
                                       "```\n",
                                       "<b ",
                                       "\n"};

    (void)state;
    for (size_t i = 0; i < countof(unit); i++) {
        size_t len = strlen(unit[i]), n = ((200 << 10) / len) * len;
        char *half = xmalloc(n);
        double took[3];
        struct page p;

        for (size_t k = 0; k < n; k++)
            half[k] = unit[i][k % len];
        page_begin(&p, 80, true);
        took[0] = cpu();
        for (int part = 1; part <= 2; part++) {
            for (size_t k = 0; k < n; k += 104)
                page_add(&p, half + k, n - k < 104 ? n - k : 104);
            took[part] = cpu();
        }
        page_end(&p);
        page_release(&p);
        free(half);
        if (took[2] - took[1] > 3 * (took[1] - took[0]) + 0.2)
            fail_msg("\"%s\": %.3f s, then %.3f s", unit[i], took[1] - took[0], took[2] - took[1]);
    }
}

static void test_latex(void **state)
{
    static const struct {
        const char *tex, *text; /* NULL: refused */
    } cases[] = {{"\\frac{a+b}{c}", "(a+b)/c"},
                 {"\\frac{b}{2a}", "b/(2a)"},
                 {"\\frac{1}{2\\pi}", "1/(2π)"},
                 {"\\frac{1}{2^n}", "1/2ⁿ"},
                 {"\\frac{dy}{dx}", "dy/dx"},
                 {"\\frac{1}{10}", "1/10"},
                 {"\\frac{1}{2}mv^2", "(1/2)mv²"},
                 {"\\sum_{i=1}^{n} i", "∑ᵢ₌₁ⁿ i"},
                 {"\\sqrt{x+1} + \\sqrt[3]{8}", "√(x+1) + ∛8"},
                 {"a\\leq b\\times c", "a ≤ b × c"},
                 {"\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}", "(1  2; 3  4)"},
                 {"\\mathbb{R}^n", "ℝⁿ"},
                 {"90^\\circ", "90°"},
                 {"x^{a/b}", "x^(a/b)"},
                 {"\\unheard{x}", NULL},
                 {"{a", NULL},
                 {"a}", NULL},
                 {"\\frac{a}", NULL},
                 {"{{{{{{{{{{{{{{{{{{{{a}}}}}}}}}}}}}}}}}}}}", NULL}};

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct buf out = BUF_INIT(0);

        assert_int_equal(latex_unicode(cases[i].tex, strlen(cases[i].tex), &out), cases[i].text != NULL);
        assert_string_equal(buf_str(&out), cases[i].text ? cases[i].text : "");
        buf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_every_width),
        cmocka_unit_test(test_words_appear_as_they_come),
        cmocka_unit_test(test_what_models_write),
        cmocka_unit_test(test_the_last_line_is_drawn_again),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_a_piece_costs_the_same_wherever_it_comes),
        cmocka_unit_test(test_colours),
        cmocka_unit_test(test_latex),
    };

    return cmocka_run_group_tests(tests, read_corpus, free_corpus);
}
