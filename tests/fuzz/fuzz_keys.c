/* fuzz_keys.c - what a terminal sends: whole characters and clean pastes, the same however the bytes come,
 * and nothing kept back. */
#include "tests/fuzz/fuzz.h"

#include "base/utf8.h"
#include "conversation/conversation.h"
#include "term/keys.h"

static void take(struct keys *k, int64_t now, struct buf *out)
{
    struct key key;

    while ((key = keys_next(k, now)).kind != KEY_NONE) {
        uint32_t cp;

        if (key.kind == KEY_NEWLINE) {
            buf_addch(out, '\n');
            continue;
        }
        if (key.kind == KEY_CHAR) {
            check(key.n >= 1 && key.n <= 4 && utf8_decode(key.bytes, key.n, &cp) == (int)key.n);
            buf_add(out, key.bytes, key.n);
            continue;
        }
        check(key.paste->len <= QUESTION_MAX * 3 && utf8_valid(buf_str(key.paste), key.paste->len));
        for (size_t i = 0; i < key.paste->len; i++) {
            unsigned char c = (unsigned char)key.paste->data[i];

            check(c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f));
        }
        buf_addf(out, "<%zu:", key.paste->len);
        buf_add(out, buf_str(key.paste), key.paste->len);
        buf_addch(out, '>');
    }
}

static void play(const char *bytes, size_t len, uint32_t seed, bool cut, struct buf *out)
{
    struct keys k;

    keys_init(&k);
    k.ahead = true; /* otherwise it matters how the bytes come */
    for (size_t i = 0; i < len;) {
        size_t n = cut ? fuzz_piece(&seed, len - i) : len - i;

        keys_feed(&k, bytes + i, n, 0);
        take(&k, 0, out);
        i += n;
    }
    take(&k, ESCAPE_MS, out);
    take(&k, PASTE_MS, out);
    check(k.raw.len == 0 && !k.pasting && keys_deadline(&k) == -1);
    keys_release(&k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *bytes = fuzz_exact(data + 1, size - 1);
    struct buf whole = BUF_INIT(0), cut = BUF_INIT(0);

    play(bytes, size - 1, 0, false, &whole);
    play(bytes, size - 1, data[0], true, &cut);
    check(whole.len == cut.len && !memcmp(buf_str(&whole), buf_str(&cut), whole.len));
    free(bytes);
    buf_release(&whole);
    buf_release(&cut);
    return 0;
}
