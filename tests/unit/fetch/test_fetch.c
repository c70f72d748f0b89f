/* test_fetch.c - which addresses are on the public internet, and that no way of writing a URL leads anywhere
 * else (SECURITY, A07). What is fetched for real is in tests/e2e/test_fetch.py.
 */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/mem.h"
#include "fetch/fetch.h"

static bool is_public(const char *text)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return address_is_public((const struct sockaddr *)&v4);
    assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return address_is_public((const struct sockaddr *)&v6);
}

static const char *const public[] = {
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "93.184.216.34",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "2a00:1450::1",
    "2001:200::1",
    "3ffe:ffff::1",
};

static const char *const not_public[] = {
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "169.254.0.0",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.170",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "192.168.255.255",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:8.8.8.8",
    "::ffff:127.0.0.1",
    "64:ff9b::a00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:0:53aa::1",
    "2001:10::1",
    "2001:1ff:ffff::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "3fff:fff::1",
    "4000::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "5f00::1",
};

static void addresses(void **state)
{
    (void)state;

    for (size_t i = 0; i < countof(public); i++)
        if (!is_public(public[i]))
            fail_msg("%s is public", public[i]);
    for (size_t i = 0; i < countof(not_public); i++)
        if (is_public(not_public[i]))
            fail_msg("%s is not public", not_public[i]);
    assert_false(address_is_public(&(struct sockaddr){.sa_family = AF_UNIX}));
}

/* Each on a port that listens: a connection that was made would be seen there. */
static void nothing_is_connected_to(void **state)
{
    (void)state;
    static const char *const urls[] = {
        "https://127.0.0.1:%d/",
        "https://localhost:%d/",
        "https://127.1:%d/",
        "https://0x7f.1:%d/",
        "https://0x7f000001:%d/",
        "https://2130706433:%d/",
        "https://017700000001:%d/",
        "https://0177.0.0.1:%d/",
        "https://0:%d/",
        "https://0.0.0.0:%d/",
        "https://[::1]:%d/",
        "https://[::]:%d/",
        "https://[::ffff:127.0.0.1]:%d/",
        "https://[::127.0.0.1]:%d/",
        "https://[0:0:0:0:0:0:0:1]:%d/",
        "https://127.0.0.1.:%d/",
        "https://127.0.0.1:%d/#https://example.org/",
        "https://example.org@127.0.0.1:%d/",
        "https://127.0.0.1:%d\\@example.org/",
        "https://[::1%%25lo]:%d/",
        "https://127.0.0.1%%00.example.org:%d/",
        "https://%%31%%32%%37.0.0.1:%d/",
        "https://\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.0.0.1:%d/",
        "http://127.0.0.1:%d/",
        "http://example.org:%d/",
        "HTTPS://127.0.0.1:%d/",
        "file:///etc/passwd?%d",
        "file://localhost:%d/etc/passwd",
        "gopher://127.0.0.1:%d/_x",
        "ftp://127.0.0.1:%d/",
        "dict://127.0.0.1:%d/",
        "//127.0.0.1:%d/",
        "127.0.0.1:%d",
        "https:127.0.0.1:%d",
        "https:///127.0.0.1:%d/",
        " https://127.0.0.1:%d/",
        "https://127.0.0.1:%d/\r\nX: y",
        "%d",
    };
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof here;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int null = open("/dev/null", O_WRONLY);

    assert_int_equal(bind(listener, (struct sockaddr *)&here, sizeof here), 0);
    assert_int_equal(listen(listener, 64), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&here, &len), 0);
    for (size_t i = 0; i < countof(urls); i++) {
        struct error err = {0};
        size_t size = 0;
        char url[200];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(url, sizeof url, urls[i], ntohs(here.sin_port));
#pragma GCC diagnostic pop
        const struct fetch_options o = {.url = url, .fd = null, .max = 1 << 20, .ms = 20000};
        if (fetch_url(&o, &size, &err) == 0 || size)
            fail_msg("%s was fetched", url);
        if (err.kind != ERROR_USAGE && err.kind != ERROR_NETWORK)
            fail_msg("%s: %s", url, err.text);
        if (accept(listener, NULL, NULL) >= 0)
            fail_msg("%s was connected to (%s)", url, err.text);
    }
    close(null);
    close(listener);
}

static void says_why(void **state)
{
    (void)state;
    static const struct {
        const char *url, *text;
    } rows[] = {
        {"https://127.0.0.1:1/x", "127.0.0.1:1 is not known on the public internet"},
        {"https://localhost/", "localhost is not known on the public internet"},
        {"http://example.org/", "files are only fetched from URLs that start with https://"},
        {"https://a@example.org/", "the file's URL: the URL must not contain a user name or password"},
    };

    for (size_t i = 0; i < countof(rows); i++) {
        struct error err = {0};
        size_t size;
        const struct fetch_options o = {.url = rows[i].url, .fd = -1, .max = 1, .ms = 20000};
        assert_int_equal(fetch_url(&o, &size, &err), -1);
        assert_string_equal(err.text, rows[i].text);
        assert_int_equal(err.kind, ERROR_USAGE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(addresses), cmocka_unit_test(nothing_is_connected_to),
                                       cmocka_unit_test(says_why)};

    setenv("https_proxy", "http://127.0.0.1:9", 1); /* must not be asked */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
