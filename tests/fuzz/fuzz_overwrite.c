/* fuzz_overwrite.c - output that moves the cursor: in a pipe no line is held for ever, at a terminal nothing
 * acts but the three sequences that draw lines again, which leave the gutter and the width alone; the same
 * is left however the output was cut. The first byte chooses the width.
 */
#include "tests/fuzz/fuzz.h"

#include "base/overwrite.h"
#include "base/utf8.h"
#include "show/lines.h"

/* What is left on a terminal. */
static void drop_redrawn(struct buf *out)
{
    size_t to = 0;

    for (size_t i = 0; i < out->len; i++) {
        bool line = out->len - i >= 4 && !memcmp(out->data + i, "\r\033[K", 4);
        bool up = out->len - i >= 3 && !memcmp(out->data + i, "\033[A", 3);

        if (!line && !up) {
            out->data[to++] = out->data[i];
            continue;
        }
        check(!up || to > 0);
        to -= up;
        while (to && out->data[to - 1] != '\n')
            to--;
        i += line ? 3 : 2;
    }
    out->len = to;
}

static void show(const char *text, size_t len, uint32_t seed, bool terminal, int width, struct buf *out)
{
    const struct lines_style style = {.gutter = "| ", .sgr = "", .terminal = terminal, .width = width};
    struct lines l;

    lines_init(&l, out, &style);
    for (size_t i = 0; i < len;) {
        size_t n = seed ? fuzz_piece(&seed, len - i) : len - i;

        lines_feed_moving(&l, text + i, n);
        i += n;
    }
    lines_end_moving(&l);
    if (terminal)
        drop_redrawn(out);
}

static void check_lines(const struct buf *out, bool terminal, int width)
{
    const char *s = buf_str(out), *end = s + out->len;

    while (s < end) {
        const char *nl = memchr(s, '\n', (size_t)(end - s));
        int columns = 0;
        uint32_t before = 0;

        check(nl && nl - s >= 2 && s[0] == '|' && s[1] == ' ');
        while (s < nl) {
            uint32_t cp = 0;
            int n = utf8_decode(s, (size_t)(nl - s), &cp);

            check(n > 0 && cp != 0x1b && cp != 0x9b && (cp >= 0x20 || cp == '\t'));
            columns += utf8_columns_behind(&before, s, (size_t)n);
            s += n;
        }
        check(!terminal || columns <= width);
        s = nl + 1;
    }
}

/* A string (ESC P, ESC ]) that is not ended swallows newlines until it is given up, so where a line is drawn
 * again then depends on the pieces; what is drawn stays harmless. */
static bool has_string(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((text[i] == '\033' && (i + 1 == len || text[i + 1] != '[')) || text[i] == '\xc2')
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    int width = 12 + data[0] % 100;
    char *text = fuzz_exact(data + 1, size - 1);

    for (int terminal = 0; terminal < 2; terminal++) {
        struct buf whole = BUF_INIT(0), cut = BUF_INIT(0);

        show(text, size - 1, 0, terminal, width, &whole);
        check_lines(&whole, terminal, width);
        show(text, size - 1, data[0] + 1u, terminal, width, &cut);
        check_lines(&cut, terminal, width);
        check(has_string(text, size - 1) || cut.len == whole.len);
        check(has_string(text, size - 1) || !memcmp(buf_str(&cut), buf_str(&whole), whole.len));
        buf_release(&whole);
        buf_release(&cut);
    }
    free(text);
    return 0;
}
