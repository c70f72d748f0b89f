/* frame.c - frames and tagged values: encode ours, decode the peer's.
 *
 * RULE: Every byte from the supervisor is hostile: a frame that docs/sandbox-protocol.md does not allow ends
 *     the channel.
 */
#include "channel/frame.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

#define TAG_HEAD 5 /* bytes of a tag and a length */

void put_u32(unsigned char *p, uint32_t v)
{
    p[0] = (unsigned char)v;
    p[1] = (unsigned char)(v >> 8);
    p[2] = (unsigned char)(v >> 16);
    p[3] = (unsigned char)(v >> 24);
}

static uint32_t get_u32(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;

    return (uint32_t)u[0] | (uint32_t)u[1] << 8 | (uint32_t)u[2] << 16 | (uint32_t)u[3] << 24;
}

void frame_reader_init(struct frame_reader *r, frame_fn *fn, void *ctx)
{
    *r = (struct frame_reader){.fn = fn, .ctx = ctx, .part = BUF_INIT(FRAME_HEAD + FRAME_IN_MAX)};
}

void frame_reader_release(struct frame_reader *r)
{
    buf_release(&r->part);
}

static int deliver(const struct frame_reader *r, const char *whole)
{
    struct frame f = {.type = (unsigned char)whole[4], .data = whole + FRAME_HEAD, .len = get_u32(whole)};

    memcpy(f.nonce, whole + 5, NONCE_SIZE);
    return r->fn(r->ctx, &f) ? 1 : 0;
}

/* Complete the frame that an earlier piece began. Sets *used. */
static int feed_part(struct frame_reader *r, const char *data, size_t len, size_t *used)
{
    size_t take, want;

    *used = 0;
    if (r->part.len < 4) {
        take = 4 - r->part.len < len ? 4 - r->part.len : len;
        buf_add(&r->part, data, take);
        *used = take;
        if (r->part.len < 4)
            return 0;
    }
    if (get_u32(r->part.data) > FRAME_IN_MAX) {
        r->bad = true;
        return -1;
    }
    want = FRAME_HEAD + get_u32(r->part.data) - r->part.len;
    take = want < len - *used ? want : len - *used;
    buf_add(&r->part, data + *used, take);
    *used += take;
    if (take < want)
        return 0;
    int rc = deliver(r, r->part.data);
    buf_clear(&r->part);
    return rc;
}

int frame_feed(struct frame_reader *r, const char *data, size_t len)
{
    size_t used;
    int rc;

    if (r->bad)
        return -1;
    while (len > 0) {
        if (r->part.len == 0 && len >= FRAME_HEAD && get_u32(data) <= FRAME_IN_MAX
            && len >= FRAME_HEAD + (size_t)get_u32(data)) {
            used = FRAME_HEAD + (size_t)get_u32(data); /* complete where it is, so it need not be copied */
            rc = deliver(r, data);
        } else {
            rc = feed_part(r, data, len, &used);
        }
        if (rc)
            return rc;
        data += used;
        len -= used;
    }
    return 0;
}

void frame_add(struct buf *out, const struct frame_out *f)
{
    unsigned char head[FRAME_HEAD] = {0};

    put_u32(head, (uint32_t)(f->head.len + f->body.len));
    head[4] = (unsigned char)f->type;
    if (f->nonce)
        memcpy(head + 5, f->nonce, NONCE_SIZE);
    buf_add(out, head, sizeof head);
    if (f->head.len)
        buf_add(out, f->head.data, f->head.len);
    if (f->body.len)
        buf_add(out, f->body.data, f->body.len);
}

struct tagged_value tagged_in(const char *body, size_t len)
{
    return (struct tagged_value){.rest = body, .left = len};
}

int tagged_next(struct tagged_value *t)
{
    if (t->left == 0)
        return 0;
    if (t->left < TAG_HEAD || get_u32(t->rest + 1) > t->left - TAG_HEAD)
        return -1;
    size_t len = get_u32(t->rest + 1);
    *t = (struct tagged_value){.tag = t->rest[0],
                               .data = t->rest + TAG_HEAD,
                               .len = len,
                               .rest = t->rest + TAG_HEAD + len,
                               .left = t->left - TAG_HEAD - len};
    return 1;
}

int64_t tagged_int(const struct tagged_value *t)
{
    bool minus = t->len > 0 && t->data[0] == '-';
    int64_t v = 0;

    if (t->len == (size_t)minus || t->len > 16)
        return -1;
    for (size_t i = (size_t)minus; i < t->len; i++) {
        if (t->data[i] < '0' || t->data[i] > '9')
            return -1;
        v = v * 10 + (t->data[i] - '0');
    }
    return minus ? -v : v;
}

void tagged_head(struct buf *out, char tag, size_t len)
{
    unsigned char head[TAG_HEAD] = {(unsigned char)tag};

    put_u32(head + 1, (uint32_t)len);
    buf_add(out, head, sizeof head);
}

void tagged_add_int(struct buf *out, char tag, int64_t value)
{
    char digits[24];

    tagged_head(out, tag, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)value));
    buf_addstr(out, digits);
}

char *tagged_text(const struct tagged_value *t, size_t max)
{
    struct buf b = {0};

    utf8_repair(&b, t->data, t->len);
    if (b.len > max) {
        b.len = utf8_cut(b.data, b.len, max);
        buf_end(&b);
    }
    return buf_steal(&b, NULL);
}

void tagged_take(const struct tagged_value *t, char tag, char **to, size_t max)
{
    if (t->tag != tag)
        return;
    xreplace(to, tagged_text(t, max));
}
