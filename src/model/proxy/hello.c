/* hello.c - walks over the records and fields of a ClientHello (RFC 8446, 4.1.2; RFC 6066, 3).
 */
#include "proxy/hello.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

enum { RECORD_HANDSHAKE = 22, MESSAGE_CLIENT_HELLO = 1, EXTENSION_SERVER_NAME = 0, EXTENSION_ECH = 0xfe0d };

struct span {
    const unsigned char *p;
    size_t n;
    bool bad; /* more was wanted than is there */
};

static unsigned hello_number(struct span *s, size_t bytes)
{
    unsigned value = 0;

    if (s->n < bytes) {
        s->bad = true;
        s->n = 0;
        return 0;
    }
    for (; bytes; bytes--, s->p++, s->n--)
        value = value << 8 | *s->p;
    return value;
}

/* What follows a length of so many bytes. */
static struct span hello_span(struct span *s, size_t bytes)
{
    size_t n = hello_number(s, bytes);

    if (s->bad || n > s->n) {
        s->bad = true;
        s->n = 0;
        return (struct span){.bad = true};
    }
    struct span inner = {.p = s->p, .n = n};
    s->p += n;
    s->n -= n;
    return inner;
}

/* The bodies of the handshake records, put together. */
static enum hello_state join_records(const unsigned char *p, size_t n, struct buf *message)
{
    struct span s = {.p = p, .n = n};

    for (;;) {
        size_t have = message->len;

        if (have >= 4) {
            const unsigned char *head = (const unsigned char *)message->data;
            size_t whole = 4 + ((size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3]);

            if (head[0] != MESSAGE_CLIENT_HELLO || whole > HELLO_MAX)
                return HELLO_BAD;
            if (have >= whole) {
                buf_cut(message, whole);
                return HELLO_NAMED;
            }
        }
        if (s.n && s.p[0] != RECORD_HANDSHAKE)
            return HELLO_BAD;
        if (s.n >= 2 && s.p[1] != 3)
            return HELLO_BAD;
        if (s.n < 5)
            return n >= HELLO_MAX ? HELLO_BAD : HELLO_MORE;
        size_t body = (size_t)s.p[3] << 8 | s.p[4];
        if (!body || body > 16384 + 256)
            return HELLO_BAD;
        if (s.n - 5 < body)
            return n >= HELLO_MAX ? HELLO_BAD : HELLO_MORE;
        buf_add(message, s.p + 5, body);
        s.p += 5 + body;
        s.n -= 5 + body;
    }
}

/* The one host name of the extension. */
static bool read_server_name(struct span extension, char name[HOST_SIZE])
{
    struct span list = hello_span(&extension, 2);
    bool found = false;

    while (list.n) {
        unsigned kind = hello_number(&list, 1);
        struct span host = hello_span(&list, 2);

        if (list.bad || kind || found || !host.n || host.n >= HOST_SIZE || memchr(host.p, 0, host.n))
            return false;
        memcpy(name, host.p, host.n);
        name[host.n] = '\0';
        found = true;
    }
    return found && !extension.n && !extension.bad;
}

static enum hello_state read_extensions(struct span all, char name[HOST_SIZE])
{
    bool named = false, hidden = false;

    while (all.n) {
        unsigned type = hello_number(&all, 2);
        struct span body = hello_span(&all, 2);

        if (all.bad || (type == EXTENSION_SERVER_NAME && (named || !read_server_name(body, name))))
            return HELLO_BAD;
        named |= type == EXTENSION_SERVER_NAME;
        hidden |= type == EXTENSION_ECH;
    }
    return hidden ? HELLO_HIDDEN : named ? HELLO_NAMED : HELLO_NAMELESS;
}

enum hello_state hello_read(const unsigned char *p, size_t n, char name[HOST_SIZE])
{
    struct buf message autorelease(buf_release) = BUF_INIT(2 * HELLO_MAX);
    enum hello_state state = join_records(p, n, &message);

    name[0] = '\0';
    if (state != HELLO_NAMED)
        return state;
    struct span s = {.p = (const unsigned char *)message.data + 4, .n = message.len - 4};
    hello_number(&s, 2); /* the version */
    for (size_t i = 0; i < 32; i++)
        hello_number(&s, 1); /* random */
    hello_span(&s, 1);       /* session */
    hello_span(&s, 2);       /* cipher suites */
    hello_span(&s, 1);       /* compression */
    if (s.bad)
        return HELLO_BAD;
    if (!s.n)
        return HELLO_NAMELESS;
    struct span extensions = hello_span(&s, 2);
    return s.bad || s.n ? HELLO_BAD : read_extensions(extensions, name);
}
