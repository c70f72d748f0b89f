/* fuzz_request_head.c - the head of a request to the proxy, as hostile code sends it: what is taken has a
 * host that is normal, and no line end in anything that is passed on; and a secret is found however text is
 * cut.
 */
#include "tests/fuzz/fuzz.h"

#include "base/buf.h"
#include "proxy/head.h"
#include "proxy/mask.h"

static void check_head(char *s, size_t size)
{
    struct request_head h;
    char again[HOST_SIZE];
    size_t len = head_length(s, size);

    check(len <= size);
    if (len == 0 || head_read(s, len, &h) != NULL)
        return;
    check(host_normal(h.host, strlen(h.host), again) != HOST_BAD && strcmp(h.host, again) == 0);
    check(h.port >= 1 && h.port <= 65535 && h.length >= 0 && h.tunnel == (h.path == NULL));
    check(h.path == NULL || strpbrk(h.path, " \r\n") == NULL);
    for (size_t i = 0; i < h.n; i++)
        check(strpbrk(h.v[i].name, " :\r\n") == NULL && strpbrk(h.v[i].value, "\r\n") == NULL);
}

static void check_mask(const char *s, size_t size)
{
    struct buf whole = BUF_INIT(0), cut = BUF_INIT(0);
    struct mask m;
    uint32_t seed = (uint32_t)size * 2 + 1;

    mask_init(&m, "s3cr/t+value");
    mask_feed(&m, s, size, &whole);
    mask_end(&m, &whole);
    for (size_t at = 0, n; at < size; at += n) {
        n = fuzz_piece(&seed, size - at);
        mask_feed(&m, s + at, n, &cut);
    }
    mask_end(&m, &cut);
    check(whole.len == size && memmem(buf_str(&whole), whole.len, "s3cr/t+value", 12) == NULL);
    check(cut.len == size && memcmp(buf_str(&cut), buf_str(&whole), size) == 0);
    mask_release(&m);
    buf_release(&whole);
    buf_release(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *s = fuzz_exact(data, size);

    check_mask(s, size);
    check_head(s, size);
    free(s);
    return 0;
}
