/* websocket.c - the handshake, and frames. */
#include "net/websocket.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/random.h"
#include "net/transfers.h"

#define HEAD_MAX    16384
#define CONTROL_MAX 125
#define MAGIC       "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

enum { CONTINUED = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };

void websocket_init(struct websocket *w, size_t max)
{
    *w = (struct websocket){
        .in = BUF_INIT(max + HEAD_MAX), .message = BUF_INIT(max), .out = BUF_INIT(max + HEAD_MAX)};
}

void websocket_release(struct websocket *w)
{
    buf_release(&w->in);
    buf_release(&w->message);
    buf_release(&w->out);
}

/* ---- the handshake ---- */

static uint32_t left(uint32_t v, unsigned n)
{
    return v << n | v >> (32 - n);
}

static void sha1_block(uint32_t h[5], const unsigned char *p)
{
    static const uint32_t k[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];

    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8
               | p[4 * i + 3];
    for (int i = 16; i < 80; i++)
        w[i] = left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20              ? (b & c) | (~b & d)
                     : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d)
                                         : b ^ c ^ d;
        uint32_t next = left(a, 5) + f + e + k[i / 20] + w[i];

        e = d;
        d = c;
        c = left(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

/* SHA-1 of the 60 bytes that a server has to prove it has read; nothing is kept safe by it. */
static void accept_of(const char *key, struct buf *out)
{
    unsigned char block[128] = {0}, digest[20];
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};

    memcpy(block, key, 24);
    memcpy(block + 24, MAGIC, 36);
    block[60] = 0x80;
    block[126] = 60 * 8 >> 8;
    block[127] = (60 * 8) & 255;
    sha1_block(h, block);
    sha1_block(h, block + 64);
    for (int i = 0; i < 20; i++)
        digest[i] = (unsigned char)(h[i / 4] >> (24 - i % 4 * 8));
    base64_add(out, digest, sizeof digest);
}

void websocket_ask(struct websocket *w, const char *host, const char *path)
{
    struct buf key autorelease(buf_release) = BUF_INIT(0);
    unsigned char bytes[16];

    random_fill(bytes, sizeof bytes);
    base64_add(&key, bytes, sizeof bytes);
    memcpy(w->key, buf_str(&key), sizeof w->key);
    buf_addf(&w->out,
             "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
             "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\nUser-Agent: sandpiper/" VERSION
             "\r\n\r\n",
             path, host, w->key);
}

static enum websocket_kind read_agreement(struct websocket *w, struct error *err)
{
    struct buf wanted autorelease(buf_release) = BUF_INIT(0);
    const char *end = w->in.len ? memmem(w->in.data, w->in.len, "\r\n\r\n", 4) : NULL;

    if (!end && w->in.len < HEAD_MAX)
        return WEBSOCKET_MORE;
    if (!end || (size_t)(end - w->in.data) > HEAD_MAX || memchr(w->in.data, 0, (size_t)(end - w->in.data))) {
        error_set(err, ERROR_PROTOCOL, 0, "its answer is not HTTP");
        return WEBSOCKET_BROKEN;
    }
    autofree char *head = xmemdup0(w->in.data, (size_t)(end + 2 - w->in.data));
    autofree char *accept = transfer_header(head, "Sec-WebSocket-Accept"),
                  *extensions = transfer_header(head, "Sec-WebSocket-Extensions");
    accept_of(w->key, &wanted);
    if (strncmp(head, "HTTP/1.1 101", 12) != 0 || !accept || strcmp(accept, buf_str(&wanted)) != 0
        || extensions) {
        error_set(err, ERROR_PROTOCOL, 0, "it does not agree to a WebSocket: %.*s",
                  (int)strcspn(head, "\r\n"), head);
        return WEBSOCKET_BROKEN;
    }
    w->at = (size_t)(end + 4 - w->in.data);
    w->open = true;
    return WEBSOCKET_OPEN;
}

/* ---- frames ---- */

static void add_frame(struct websocket *w, int opcode, const void *data, size_t len)
{
    unsigned char head[14] = {(unsigned char)(0x80 | opcode)}, *mask;
    size_t n = 2;

    if (len < 126) {
        head[1] = (unsigned char)(0x80 | len);
    } else {
        int bytes = len < 65536 ? 2 : 8;

        head[1] = (unsigned char)(0x80 | (bytes == 2 ? 126 : 127));
        for (int i = bytes - 1; i >= 0; i--)
            head[n++] = (unsigned char)((uint64_t)len >> (8 * i));
    }
    mask = head + n;
    random_fill(mask, 4);
    buf_add(&w->out, head, n + 4);
    char *to = len ? buf_space(&w->out, len) : NULL;
    if (!to)
        return;
    for (size_t i = 0; i < len; i++)
        to[i] = (char)(((const unsigned char *)data)[i] ^ mask[i % 4]);
    w->out.len += len;
    buf_end(&w->out);
}

void websocket_text(struct websocket *w, const char *text, size_t len)
{
    add_frame(w, TEXT, text, len);
}

bool websocket_feed(struct websocket *w, const void *data, size_t len)
{
    buf_drop(&w->in, w->at);
    w->at = 0;
    return buf_add(&w->in, data, len);
}

struct ws_frame {
    int opcode;
    bool last;
    const unsigned char *data;
    size_t len, whole; /* whole: with its head */
};

static const char too_long[] = "a message longer than it may be";

/* 1: a frame; 0: it is not whole; -1 with *why */
static int read_frame(const struct websocket *w, struct ws_frame *f, const char **why)
{
    const unsigned char *p = (const unsigned char *)w->in.data + w->at;
    size_t have = w->in.len - w->at, head = 2;

    if (have < 2)
        return 0;
    *f = (struct ws_frame){.opcode = p[0] & 15, .last = p[0] & 0x80};
    bool control = f->opcode >= CLOSE;
    unsigned size = p[1] & 127;
    int bytes = size == 126 ? 2 : size == 127 ? 8 : 0;
    *why = p[0] & 0x70   ? "a frame with an extension that nobody offered"
           : p[1] & 0x80 ? "a masked frame from a server"
           : f->opcode > PONG || (f->opcode > BINARY && !control) ? "a frame of an unknown kind"
           : control && (!f->last || size > CONTROL_MAX) ? "a control frame that is too long or in pieces"
           : !control && (f->opcode == CONTINUED) != w->begun ? "pieces of messages out of order"
                                                              : NULL;
    if (*why)
        return -1;
    head += (size_t)bytes;
    if (have < head)
        return 0;
    uint64_t len = bytes ? 0 : size;
    for (int i = 0; i < bytes; i++)
        len = len << 8 | p[2 + i];
    if (len > w->message.max - (w->begun && !control ? w->message.len : 0)) {
        *why = too_long;
        return -1;
    }
    f->len = (size_t)len;
    f->whole = head + f->len;
    f->data = p + head;
    return have >= f->whole;
}

static enum websocket_kind take_control(struct websocket *w, const struct ws_frame *f, int *code)
{
    if (f->opcode == PING)
        add_frame(w, PONG, f->data, f->len);
    if (f->opcode != CLOSE)
        return WEBSOCKET_MORE;
    *code = f->len >= 2 ? f->data[0] << 8 | f->data[1] : 1005;
    return WEBSOCKET_CLOSE;
}

static enum websocket_kind take_frame(struct websocket *w, const struct ws_frame *f, int *code)
{
    if (f->opcode >= CLOSE)
        return take_control(w, f, code);
    if (!w->begun)
        buf_clear(&w->message);
    buf_add(&w->message, f->data, f->len);
    w->begun = !f->last;
    return f->last ? WEBSOCKET_TEXT : WEBSOCKET_MORE;
}

enum websocket_kind websocket_next(struct websocket *w, int *code, struct error *err)
{
    const char *why = NULL;
    struct ws_frame f;
    int got;

    *code = 0;
    if (!w->open)
        return read_agreement(w, err);
    while ((got = read_frame(w, &f, &why)) > 0) {
        enum websocket_kind kind = take_frame(w, &f, code);

        w->at += f.whole;
        if (w->out.full) {
            error_set(err, ERROR_PROTOCOL, 0, "more pings than can be answered");
            return WEBSOCKET_BROKEN;
        }
        if (kind != WEBSOCKET_MORE)
            return kind;
    }
    if (got == 0)
        return WEBSOCKET_MORE;
    error_set(err, ERROR_PROTOCOL, 0, "%s", why);
    return WEBSOCKET_BROKEN;
}
