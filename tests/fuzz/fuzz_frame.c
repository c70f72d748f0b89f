/* fuzz_frame.c - bytes from inside a sandbox: the same frames however the stream is cut, no allocation over
 * the cap, tagged values inside their body, text always valid. The first four bytes seed the cuts.
 */
#include "tests/fuzz/fuzz.h"

#include "base/buf.h"
#include "base/utf8.h"
#include "channel/frame.h"

struct log {
    struct buf text;
};

static int on_frame(void *ctx, const struct frame *f)
{
    struct log *l = ctx;
    struct tagged_value t = tagged_in(f->data, f->len);

    check(f->len <= FRAME_IN_MAX);
    buf_addch(&l->text, (char)f->type);
    buf_add(&l->text, f->nonce, sizeof f->nonce);
    buf_add(&l->text, f->data, f->len);
    while (tagged_next(&t) > 0) {
        char *text = tagged_text(&t, 100);

        check(t.data >= f->data && t.data + t.len <= f->data + f->len);
        check(strlen(text) <= 100 && utf8_valid(text, strlen(text)));
        check(tagged_int(&t) > INT64_MIN);
        free(text);
    }
    return f->type == 'Q';
}

static int feed(const char *data, size_t size, uint32_t seed, struct log *l)
{
    struct frame_reader r;
    int rc = 0;

    frame_reader_init(&r, on_frame, l);
    for (size_t at = 0; at < size && rc == 0;) {
        size_t n = seed ? fuzz_piece(&seed, size - at) : size - at;

        rc = frame_feed(&r, data + at, n);
        check(r.part.alloc <= 2 * (FRAME_HEAD + FRAME_IN_MAX));
        at += n;
    }
    frame_reader_release(&r);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct log whole = {0}, cut = {0};
    uint32_t seed;
    char *bytes;

    if (size < 4)
        return 0;
    memcpy(&seed, data, 4);
    bytes = fuzz_exact(data + 4, size - 4);
    check(feed(bytes, size - 4, 0, &whole) == feed(bytes, size - 4, seed | 1, &cut));
    check(whole.text.len == cut.text.len);
    if (whole.text.len)
        check(memcmp(whole.text.data, cut.text.data, whole.text.len) == 0);
    buf_release(&whole.text);
    buf_release(&cut.text);
    free(bytes);
    return 0;
}
