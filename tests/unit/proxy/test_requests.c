/* test_requests.c - what hostile code sends to the proxy: heads of requests, and the first message of TLS.
 * What two programs could read in two ways is refused.
 */
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "proxy/head.h"
#include "proxy/hello.h"

static const char *read_text(const char *text, struct request_head *h, char **kept)
{
    size_t len = head_length(text, strlen(text));

    assert_int_not_equal(len, 0);
    *kept = xmemdup0(text, len);
    return head_read(*kept, len, h);
}

static void requests(void **state)
{
    (void)state;
    autofree char *kept = NULL, *other = NULL, *third = NULL;
    struct request_head h;

    assert_null(read_text(
        "POST http://API.example.com:8080/v1?x=http://y HTTP/1.1\r\nHost: api.example.com:8080\r\n"
        "Content-Length: 5\r\nProxy-Authorization: Basic x\r\nA:  b \r\nConnection: close\r\n\r\nhello",
        &h, &kept));
    assert_string_equal(h.method, "POST");
    assert_string_equal(h.host, "api.example.com");
    assert_string_equal(h.path, "/v1?x=http://y");
    assert_int_equal(h.port, 8080);
    assert_int_equal(h.length, 5);
    assert_false(h.keep);
    assert_int_equal(h.n, 1);
    assert_string_equal(h.v[0].name, "A");
    assert_string_equal(h.v[0].value, "b");
    assert_null(read_text("CONNECT api.example.com:443 HTTP/1.1\r\n\r\n", &h, &other));
    assert_true(h.tunnel && h.keep && !h.address);
    assert_null(read_text("GET http://[::1]?q HTTP/1.0\r\n\r\n", &h, &third));
    assert_true(h.address && !h.keep && h.port == 80 && !h.tunnel);
    assert_string_equal(h.host, "::1");
    assert_string_equal(h.path, "?q");
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *head, *status;
    } rows[] = {
        {"GET / HTTP/1.1\r\nHost: a.org", "400"},
        {"GET https://a.org/ HTTP/1.1", "400"},
        {"GET ftp://a.org/ HTTP/1.1", "400"},
        {"GET http://user@a.org/ HTTP/1.1", "400"},
        {"GET http://a.org@b.org/ HTTP/1.1", "400"},
        {"GET http://a.org\\@b.org/ HTTP/1.1", "400"},
        {"GET http:///x HTTP/1.1", "400"},
        {"GET http://a.org:0/ HTTP/1.1", "400"},
        {"GET http://a.org:99999/ HTTP/1.1", "400"},
        {"GET http://a.org/#x HTTP/1.1", "400"},
        {"GET http://127.1/ HTTP/1.1", "400"},
        {"GET http://0x7f000001/ HTTP/1.1", "400"},
        {"GET  http://a.org/ HTTP/1.1", "400"},
        {"GET http://a.org/ x HTTP/1.1", "400"},
        {"GET http://a.org/\tx HTTP/1.1", "400"},
        {"GET http://a.org/ HTTP/2.0", "505"},
        {"GET http://a.org/", "400"},
        {"G(T http://a.org/ HTTP/1.1", "400"},
        {"CONNECT http://a.org/ HTTP/1.1", "400"},
        {"CONNECT a.org: HTTP/1.1", "400"},
        {"GET http://a.org/ HTTP/1.1\r\nHost: b.org", "403"},
        {"CONNECT a.org:443 HTTP/1.1\r\nHost: b.org:443", "403"},
        {"GET http://a.org/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1", "400"},
        {"GET http://a.org/ HTTP/1.1\r\nContent-Length: -1", "400"},
        {"GET http://a.org/ HTTP/1.1\r\nContent-Length: 1, 1", "400"},
        {"GET http://a.org/ HTTP/1.1\r\nTransfer-Encoding: chunked", "411"},
        {"GET http://a.org/ HTTP/1.1\r\nA : b", "400"},
        {"GET http://a.org/ HTTP/1.1\r\n A: b", "400"},
        {"GET http://a.org/ HTTP/1.1\r\nA: b\r\n c", "400"},
        {"GET http://a.org/ HTTP/1.1\r\nA", "400"},
        {"GET http://a.org/ HTTP/1.1\r\nA: b\nC: d", "400"},
        {"GET http://a.org/ HTTP/1.1\r\nA: b\rC: d", "400"},
        {"GET http://a.org/ HTTP/1.1\r\nExpect: x", "417"},
        {"", "400"},
    };

    for (size_t i = 0; i < countof(rows); i++) {
        autofree char *text = xasprintf("%s\r\n\r\n", rows[i].head), *kept = NULL;
        struct request_head h;
        const char *wrong = read_text(text, &h, &kept);

        if (!wrong || strncmp(wrong, rows[i].status, 3) != 0)
            fail_msg("%s: %s", rows[i].head, wrong ? wrong : "taken");
    }
}

/* ---- TLS ---- */

static void add_u16(struct buf *out, size_t n)
{
    buf_addch(out, (char)(n >> 8));
    buf_addch(out, (char)n);
}

static void add_extension(struct buf *out, unsigned type, const char *body, size_t len)
{
    add_u16(out, type);
    add_u16(out, len);
    buf_add(out, body, len);
}

static void add_name(struct buf *out, const char *name)
{
    struct buf body autorelease(buf_release) = BUF_INIT(0);

    add_u16(&body, strlen(name) + 3);
    buf_addch(&body, 0);
    add_u16(&body, strlen(name));
    buf_addstr(&body, name);
    add_extension(out, 0, body.data, body.len);
}

/* A ClientHello with these extensions, in records of so many bytes each. */
static void make_hello(const struct buf *extensions, size_t record, struct buf *out)
{
    struct buf body autorelease(buf_release) = BUF_INIT(0), message autorelease(buf_release) = BUF_INIT(0);

    add_u16(&body, 0x0303);
    for (int i = 0; i < 32; i++)
        buf_addch(&body, 'r');
    buf_addch(&body, 0);
    add_u16(&body, 2);
    add_u16(&body, 0x1301);
    buf_addch(&body, 1);
    buf_addch(&body, 0);
    add_u16(&body, extensions->len);
    buf_add(&body, extensions->data, extensions->len);
    buf_addch(&message, 1);
    buf_addch(&message, 0);
    add_u16(&message, body.len);
    buf_add(&message, body.data, body.len);
    for (size_t at = 0; at < message.len; at += record) {
        size_t n = message.len - at < record ? message.len - at : record;

        buf_addch(out, 22);
        add_u16(out, 0x0301);
        add_u16(out, n);
        buf_add(out, message.data + at, n);
    }
}

static enum hello_state read_hello(const struct buf *extensions, char name[HOST_SIZE])
{
    enum hello_state first = HELLO_MORE;

    for (size_t record = 1; record < 400; record += 37) {
        struct buf out autorelease(buf_release) = BUF_INIT(0);

        make_hello(extensions, record, &out);
        for (size_t n = 0; n < out.len; n++) /* each beginning of it is only a beginning */
            assert_int_equal(hello_read((unsigned char *)out.data, n, name), HELLO_MORE);
        enum hello_state state = hello_read((unsigned char *)out.data, out.len, name);
        assert_true(first == HELLO_MORE || state == first);
        first = state;
    }
    return first;
}

static void hellos(void **state)
{
    (void)state;
    struct buf x autorelease(buf_release) = BUF_INIT(0);
    char name[HOST_SIZE];

    add_extension(&x, 43, "\x02\x03\x04", 3);
    assert_int_equal(read_hello(&x, name), HELLO_NAMELESS);
    add_name(&x, "Api.Example.com");
    assert_int_equal(read_hello(&x, name), HELLO_NAMED);
    assert_string_equal(name, "Api.Example.com");
    add_extension(&x, 0xfe0d, "x", 1);
    assert_int_equal(read_hello(&x, name), HELLO_HIDDEN);
    add_name(&x, "other.example.com"); /* two of them */
    assert_int_equal(read_hello(&x, name), HELLO_BAD);
}

static void no_hellos(void **state)
{
    (void)state;
    static const unsigned char http[] = "GET / HTTP/1.1\r\n",
                               endless[] = {22, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff},
                               other[] = {22, 3, 1, 0, 4, 2, 0, 0, 0}, empty[] = {22, 3, 1, 0, 0},
                               alert[] = {21, 3, 1, 0, 2, 1, 0};
    struct buf x autorelease(buf_release) = BUF_INIT(0), out autorelease(buf_release) = BUF_INIT(0);
    char name[HOST_SIZE];

    assert_int_equal(hello_read(http, sizeof http - 1, name), HELLO_BAD);
    assert_int_equal(hello_read(endless, sizeof endless, name), HELLO_BAD);
    assert_int_equal(hello_read(other, sizeof other, name), HELLO_BAD);
    assert_int_equal(hello_read(empty, sizeof empty, name), HELLO_BAD);
    assert_int_equal(hello_read(alert, sizeof alert, name), HELLO_BAD);
    add_name(&x, "a.org");
    x.data[x.len - 6]++; /* the name is longer than its extension */
    make_hello(&x, 400, &out);
    assert_int_equal(hello_read((unsigned char *)out.data, out.len, name), HELLO_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(requests), cmocka_unit_test(refusals),
                                       cmocka_unit_test(hellos), cmocka_unit_test(no_hellos)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
