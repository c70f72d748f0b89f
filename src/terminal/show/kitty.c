/* kitty.c - finds a PNG's size and end, and writes an image in sequences of at most 4096 bytes of base64. */
#include "show/kitty.h"

#include <stdint.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"

#define CHUNK       4096 /* bytes of base64 in one sequence, as the protocol has it */
#define EDGE_MOST   10000
#define PIXELS_MOST (16u << 20)
#define MARK        "\x89PNG\r\n\x1a\n"
#define AROUND      12 /* bytes of a chunk beside its data: length, type, checksum */

static uint32_t big_endian(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;

    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

/* Does a row of chunks end with IEND, and the file with it? */
static bool ends_with_iend(const char *at, size_t left)
{
    while (left >= AROUND && big_endian(at) <= left - AROUND) {
        size_t len = AROUND + (size_t)big_endian(at);

        if (!memcmp(at + 4, "IEND", 4))
            return len == left;
        at += len;
        left -= len;
    }
    return false;
}

bool kitty_takes(const char *file, size_t len, struct kitty_image *i)
{
    const size_t mark = sizeof MARK - 1;

    if (len > KITTY_PNG_MOST || len < mark + AROUND + 13 || memcmp(file, MARK "\0\0\0\15IHDR", mark + 8) != 0
        || !ends_with_iend(file + mark, len - mark))
        return false;
    *i = (struct kitty_image){file, len, true, big_endian(file + mark + 8), big_endian(file + mark + 12)};
    return i->width >= 1 && i->width <= EDGE_MOST && i->height >= 1 && i->height <= EDGE_MOST
           && i->width * i->height <= PIXELS_MOST;
}

void kitty_send(const struct kitty_image *i, const char *keys, bool through_tmux, struct buf *out)
{
    /* ESC is doubled in what tmux passes on */
    const char *begin = through_tmux ? "\033Ptmux;\033\033_G" : "\033_G";
    const char *end = through_tmux ? "\033\033\\\033\\" : "\033\\";
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    base64_add(&text, i->bytes, i->len);
    for (size_t at = 0, n; at < text.len; at += n) {
        n = text.len - at < CHUNK ? text.len - at : CHUNK;
        buf_addstr(out, begin);
        if (at == 0 && i->png)
            buf_addf(out, "a=T,f=100,q=2,%s,", keys);
        else if (at == 0)
            buf_addf(out, "a=T,f=24,q=2,s=%u,v=%u,%s,", i->width, i->height, keys);
        buf_addf(out, "m=%d;", at + n < text.len);
        buf_add(out, text.data + at, n);
        buf_addstr(out, end);
    }
}
