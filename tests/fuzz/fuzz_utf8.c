/* fuzz_utf8.c - the decoder against a slow one written from the table of RFC 3629; repair, cut and width over
 * any bytes. */
#include "tests/fuzz/fuzz.h"

#include "base/buf.h"
#include "base/utf8.h"

/* Length of the character at s, or 0. */
static size_t slow(const unsigned char *s, size_t len, uint32_t *cp)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = s[0] < 0x80             ? 1
               : (s[0] & 0xe0) == 0xc0 ? 2
               : (s[0] & 0xf0) == 0xe0 ? 3
               : (s[0] & 0xf8) == 0xf0 ? 4
                                       : 0;
    if (n == 0 || n > len)
        return 0;
    *cp = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        *cp = *cp << 6 | (s[i] & 0x3f);
    }
    return *cp < least[n] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp <= 0xdfff) ? 0 : n;
}

static bool slow_valid(const char *s, size_t len)
{
    uint32_t cp;
    for (size_t i = 0, n; i < len; i += n) {
        n = slow((const unsigned char *)s + i, len - i, &cp);
        if (n == 0)
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_exact(data, size);
    bool valid = slow_valid(text, size);
    check(utf8_valid(text, size) == valid);
    struct buf good = BUF_INIT(0), again = BUF_INIT(0), one = BUF_INIT(0);
    for (size_t i = 0; i < size; i++) {
        uint32_t a = 0, b = 0;
        int n = utf8_decode(text + i, size - i, &a);
        size_t want = slow(data + i, size - i, &b);
        check((n > 0 ? (size_t)n : 0) == want);
        if (n > 0) {
            check(a == b);
            int width = utf8_width(a);
            check(width >= 0 && width <= 2);
            buf_clear(&one);
            utf8_add(&one, a);
            check(one.len == want && memcmp(one.data, text + i, want) == 0);
        }
        size_t cut = utf8_cut(text, size, i);
        check(cut <= i && i - cut <= 3);
        check(!valid || slow_valid(text, cut));
    }
    utf8_repair(&good, text, size);
    check(slow_valid(buf_str(&good), good.len));
    check(memchr(buf_str(&good), '\0', good.len) == NULL);
    if (valid && memchr(text, '\0', size) == NULL)
        check(good.len == size && memcmp(buf_str(&good), text, size) == 0);
    utf8_repair(&again, buf_str(&good), good.len);
    check(again.len == good.len && memcmp(buf_str(&again), buf_str(&good), good.len) == 0);
    buf_release(&good);
    buf_release(&again);
    buf_release(&one);
    free(text);
    return 0;
}
