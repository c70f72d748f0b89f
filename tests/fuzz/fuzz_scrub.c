/* fuzz_scrub.c - whatever comes in: nothing that a terminal acts on goes out, however the text is cut, and a
 * second scrubbing changes nothing. The first byte chooses target and cuts.
 */
#include "tests/fuzz/fuzz.h"

#include "base/buf.h"
#include "base/scrub.h"
#include "base/utf8.h"

static void harmless(const struct buf *out, enum scrub_for target)
{
    unsigned marks = 0;
    for (size_t i = 0; i < out->len;) {
        uint32_t c = 0;
        int n = utf8_decode(out->data + i, out->len - i, &c);
        check(n > 0);
        if (c == '\r')
            check(target == SCRUB_PIPE && i + 1 < out->len && out->data[i + 1] == '\n');
        else
            check(c == '\n' || c == '\t' || (c >= 0x20 && c < 0x7f) || c >= 0xa0);
        if (target == SCRUB_TERMINAL) {
            check(!(c >= 0x202a && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069) && c != 0x200b && c != 0x200e
                  && c != 0x200f);
            check(!(c >= 0xe0000 && c <= 0xe0fff) && !(c >= 0xfe00 && c <= 0xfe0f) && c != 0xfeff
                  && c != 0x61c && c != 0xad);
            marks = c >= 0x300 && utf8_width(c) == 0 ? marks + 1 : 0;
            check(marks <= 8);
        }
        i += (size_t)n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    enum scrub_for target = data[0] & 1 ? SCRUB_PIPE : SCRUB_TERMINAL;
    uint32_t seed = data[0];
    size_t len = size - 1;
    char *text = fuzz_exact(data + 1, len);
    struct buf whole = BUF_INIT(0), cut = BUF_INIT(0), again = BUF_INIT(0);
    struct scrub s;
    scrub_init(&s, target);
    scrub_feed(&s, text, len, &whole);
    scrub_end(&s, &whole);
    harmless(&whole, target);
    check(whole.len <= 4 * len);
    for (size_t i = 0; i < len;) {
        size_t n = fuzz_piece(&seed, len - i);
        scrub_feed(&s, text + i, n, &cut);
        i += n;
    }
    scrub_end(&s, &cut);
    check(cut.len == whole.len && memcmp(buf_str(&cut), buf_str(&whole), whole.len) == 0);
    scrub_feed(&s, buf_str(&whole), whole.len, &again);
    scrub_end(&s, &again);
    check(again.len == whole.len && memcmp(buf_str(&again), buf_str(&whole), whole.len) == 0);
    buf_release(&whole);
    buf_release(&cut);
    buf_release(&again);
    free(text);
    return 0;
}
