/* fuzz_markdown.c - an answer in Markdown: no sequence but ours reaches the terminal, no line is wider
 * than it unless a word is, and the text is the same however it is cut. The first byte chooses the width.
 */
#include "tests/fuzz/fuzz.h"

#include "base/buf.h"
#include "base/scrub.h"
#include "base/utf8.h"
#include "markdown/markdown.h"

static void draw(const char *text, size_t len, uint32_t seed, bool colour, int width, struct buf *out)
{
    const struct markdown_options o = {
        .flow = {.width = width, .colour = colour, .many = true, .hyperlink = colour}};
    struct markdown *m = markdown_new(&o, out);
    struct buf clean = BUF_INIT(0);
    struct scrub scrub;

    scrub_init(&scrub, SCRUB_TERMINAL);
    for (size_t i = 0; i < len;) {
        size_t n = seed ? fuzz_piece(&seed, len - i) : len - i;

        buf_clear(&clean);
        scrub_feed(&scrub, text + i, n, &clean);
        markdown_feed(m, buf_str(&clean), clean.len);
        i += n;
    }
    buf_clear(&clean);
    scrub_end(&scrub, &clean);
    markdown_feed(m, buf_str(&clean), clean.len);
    markdown_end(m);
    markdown_free(m);
    buf_release(&clean);
}

/* What is left of lines that were drawn again. */
static void drop_redrawn(struct buf *out)
{
    size_t line = 0, to = 0;

    for (size_t i = 0; i < out->len; i++)
        if (out->len - i >= 4 && !memcmp(out->data + i, "\r\033[K", 4)) {
            to = line;
            i += 3;
        } else {
            out->data[to++] = out->data[i];
            line = out->data[i] == '\n' ? to : line;
        }
    out->len = to;
}

static void check_lines(struct buf *out, int width)
{
    drop_redrawn(out);
    const char *s = buf_str(out), *end = s + out->len;

    while (s < end) {
        const char *nl = memchr(s, '\n', (size_t)(end - s));
        int columns = 0, word = 0, longest = 0;
        uint32_t before = 0;

        check(nl != NULL);
        while (s < nl) {
            uint32_t cp = 0;
            int n = utf8_decode(s, (size_t)(nl - s), &cp);

            check(n > 0 && cp >= 0x20 && (cp < 0x7f || cp >= 0xa0) && cp != 0x202e);
            int w = utf8_columns_behind(&before, s, (size_t)n);
            columns += w;
            word = cp == ' ' ? 0 : word + w;
            longest = word > longest ? word : longest;
            s += n;
        }
        check(columns <= width || longest > width);
        s = nl + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    int width = 20 + data[0] % 101;
    char *text = fuzz_exact(data + 1, size - 1);
    struct buf whole = BUF_INIT(0), cut = BUF_INIT(0);

    draw(text, size - 1, 0, false, width, &whole);
    check_lines(&whole, width);
    draw(text, size - 1, data[0] + 1u, false, width, &cut);
    drop_redrawn(&cut);
    check(cut.len == whole.len && !memcmp(buf_str(&cut), buf_str(&whole), whole.len));
    buf_clear(&whole);
    draw(text, size - 1, data[0] + 1u, true, width, &whole);
    free(text);
    buf_release(&whole);
    buf_release(&cut);
    return 0;
}
