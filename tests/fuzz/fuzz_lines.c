/* fuzz_lines.c - program output behind its gutter: no line without it, none wider than the terminal, nothing
 * a terminal acts on, and the same however the output is cut. The first byte chooses terminal or pipe and the
 * width.
 */
#include "tests/fuzz/fuzz.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "show/lines.h"
#include "conversation/language.h"
#include "markdown/highlight.h"

static void show(const char *text, size_t len, uint32_t seed, bool cut, bool words, bool terminal, int width,
                 struct buf *out)
{
    struct lines_cut limit = {.max_lines = 50, .max_bytes = 2000};
    struct lines l;

    const struct lines_style style = {
        .gutter = "| ", .sgr = "", .words = words, .terminal = terminal, .width = width};
    lines_init(&l, out, &style);
    l.cut = &limit;
    for (size_t i = 0; i < len;) {
        size_t n = cut ? fuzz_piece(&seed, len - i) : len - i;

        lines_feed(&l, text + i, n);
        i += n;
    }
    lines_end(&l);
    check(limit.all_bytes == len && limit.bytes <= 2000 && limit.lines <= 50);
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

            check(n > 0 && cp != 0x1b && cp != 0x9b
                  && (cp >= 0x20 || cp == '\t' || (cp == '\r' && !terminal)));
            columns += utf8_columns_behind(&before, s, (size_t)n);
            s += n;
        }
        check(!terminal || columns <= width);
        s = nl + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool terminal = data[0] & 1;
    int width = 12 + (data[0] >> 1);
    char *text = fuzz_exact(data + 1, size - 1);
    unsigned char *classes = malloc(size);
    struct buf whole = BUF_INIT(0), cut = BUF_INIT(0);

    show(text, size - 1, 0, false, false, terminal, width, &whole);
    check_lines(&whole, terminal, width);
    show(text, size - 1, data[0], true, false, terminal, width, &cut);
    if (size - 1 <= 2000) /* where the limit falls depends on the pieces */
        check(cut.len == whole.len && !memcmp(buf_str(&cut), buf_str(&whole), whole.len));
    whole.len = 0;
    /* broken between words: text of ours, in one piece */
    show(text, size - 1, 0, false, true, terminal, width, &whole);
    check_lines(&whole, terminal, width);
    highlight(&languages[0], text, size - 1, classes);
    free(classes);
    free(text);
    buf_release(&whole);
    buf_release(&cut);
    return 0;
}
