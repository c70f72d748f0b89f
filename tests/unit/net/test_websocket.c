/* WebSocket frames: the handshake of RFC 6455's own example, frames whole and in pieces, what is answered,
 * and what breaks a connection. */
#include "tests/unit/unit.h"

#include "base/error.h"
#include "base/mem.h"
#include "net/transfers.h"
#include "net/websocket.h"

static enum websocket_kind feed(struct websocket *w, const char *data, size_t len, struct error *err)
{
    enum websocket_kind kind = WEBSOCKET_MORE;
    int code;

    for (size_t i = 0; i < len && kind == WEBSOCKET_MORE; i++) {
        assert_true(websocket_feed(w, data + i, 1));
        kind = websocket_next(w, &code, err);
    }
    return kind;
}

static void the_server_agrees(void **state)
{
    static const char head[] = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n"
                               "sec-websocket-accept:  s3pPLMBiTxaQ9kYGzzhZRbK+xOo= \r\n\r\n\x81\x02hi";
    struct websocket w;
    struct error err = {0};
    int code;

    (void)state;
    websocket_init(&w, 1000);
    websocket_ask(&w, "server.example.com", "/chat");
    assert_non_null(strstr(buf_str(&w.out), "GET /chat HTTP/1.1\r\nHost: server.example.com\r\n"));
    assert_int_equal(strlen(w.key), 24);
    memcpy(w.key, "dGhlIHNhbXBsZSBub25jZQ==", 25); /* as in section 1.3 */
    assert_int_equal(feed(&w, head, sizeof head - 1, &err), WEBSOCKET_OPEN);
    for (const char *p = "\x81\x02hi"; *p; p++)
        websocket_feed(&w, p, 1);
    assert_int_equal(websocket_next(&w, &code, &err), WEBSOCKET_TEXT);
    assert_string_equal(buf_str(&w.message), "hi");
    websocket_release(&w);
}

static void the_server_does_not(void **state)
{
    static const char *const heads[] = {
        "HTTP/1.1 200 OK\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
        "HTTP/1.1 101 X\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOO=\r\n\r\n",
        "HTTP/1.1 101 X\r\n\r\n",
        ("HTTP/1.1 101 X\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
         "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"),
    };

    (void)state;
    for (size_t i = 0; i < countof(heads); i++) {
        struct websocket w;
        struct error err = {0};

        websocket_init(&w, 1000);
        websocket_ask(&w, "x", "/");
        memcpy(w.key, "dGhlIHNhbXBsZSBub25jZQ==", 25);
        assert_int_equal(feed(&w, heads[i], strlen(heads[i]), &err), WEBSOCKET_BROKEN);
        assert_int_equal(err.kind, ERROR_PROTOCOL);
        websocket_release(&w);
    }
}

static void frames_are_masked(void **state)
{
    struct websocket w;
    const unsigned char *p;
    char text[300];

    (void)state;
    websocket_init(&w, 1000);
    memset(text, 'x', sizeof text);
    websocket_text(&w, text, sizeof text);
    p = (const unsigned char *)w.out.data;
    assert_int_equal(w.out.len, 8 + sizeof text);
    assert_true(p[0] == 0x81 && p[1] == (0x80 | 126) && (p[2] << 8 | p[3]) == sizeof text);
    for (size_t i = 0; i < sizeof text; i++)
        assert_int_equal(p[8 + i] ^ p[4 + i % 4], 'x');
    websocket_release(&w);
}

static void pieces_and_pings(void **state)
{
    static const char data[] = "\x01\x02{\"\x89\x03you\x80\x02\"}";
    struct websocket w;
    struct error err = {0};

    (void)state;
    websocket_init(&w, 4);
    w.open = true;
    assert_int_equal(feed(&w, data, sizeof data - 1, &err), WEBSOCKET_TEXT);
    assert_string_equal(buf_str(&w.message), "{\"\"}");
    assert_int_equal(w.out.len, 2 + 4 + 3);
    assert_int_equal((unsigned char)w.out.data[0], 0x8a);
    websocket_release(&w);
}

static void broken_frames(void **state)
{
    static const struct {
        const char *data;
        size_t len;
    } rows[] = {
        {"\xc1\x00", 2},
        {"\x81\x80", 2},
        {"\x83\x00", 2},
        {"\x8b\x00", 2},
        {"\x09\x00", 2},
        {"\x89\x7e", 2},
        {"\x80\x00", 2},
        {"\x01\x01x\x81\x00", 5},
        {"\x81\x06......", 8},
        {"\x01\x03xxx\x00\x03xxx", 10},
        {"\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff", 10},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct websocket w;
        struct error err = {0};

        websocket_init(&w, 5);
        w.open = true;
        if (feed(&w, rows[i].data, rows[i].len, &err) != WEBSOCKET_BROKEN || !*err.text)
            fail_msg("row %zu is taken", i);
        websocket_release(&w);
    }
}

static void headers(void **state)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nX-A: 1\r\nx-b:\t two \r\nX-AB: 3\r\n\r\n";
    autofree char *a = transfer_header(head, "x-a"), *b = transfer_header(head, "X-B"),
                  *c = transfer_header(head, "X-C");

    (void)state;
    assert_string_equal(a, "1");
    assert_string_equal(b, "two");
    assert_null(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_server_agrees), cmocka_unit_test(the_server_does_not),
        cmocka_unit_test(frames_are_masked), cmocka_unit_test(pieces_and_pings),
        cmocka_unit_test(broken_frames),     cmocka_unit_test(headers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
