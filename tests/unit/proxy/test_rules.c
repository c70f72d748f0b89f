/* test_rules.c - which host a rule names and which it does not, to which addresses one leads, and that a
 * secret is found in what a server answers however that is cut.
 */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"
#include "proxy/mask.h"
#include "proxy/rules.h"

static void hosts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *normal;
        enum host_kind kind;
    } rows[] = {
        {"Api.Example.COM.", "api.example.com", HOST_NAME},
        {"xn--bcher-kva.example", "xn--bcher-kva.example", HOST_NAME},
        {"a_b.example", "a_b.example", HOST_NAME},
        {"127.0.0.1", "127.0.0.1", HOST_ADDRESS},
        {"[::1]", "::1", HOST_ADDRESS},
        {"[0:0:0:0:0:FFFF:7f00:1]", "::ffff:127.0.0.1", HOST_ADDRESS},
        {"", NULL, HOST_BAD},
        {".", NULL, HOST_BAD},
        {"a..b", NULL, HOST_BAD},
        {".a", NULL, HOST_BAD},
        {"b\xc3\xbc"
         "cher.example",
         NULL, HOST_BAD},
        {"a b", NULL, HOST_BAD},
        {"a@b", NULL, HOST_BAD},
        {"a%2e", NULL, HOST_BAD},
        /* what resolvers take for 127.0.0.1 */
        {"127.1", NULL, HOST_BAD},
        {"2130706433", NULL, HOST_BAD},
        {"0x7f000001", NULL, HOST_BAD},
        {"0177.0.0.1", NULL, HOST_BAD},
        {"127.0.0.0x1", NULL, HOST_BAD},
        {"127.0.0.1..", NULL, HOST_BAD},
        {"[::1", NULL, HOST_BAD},
        {"[fe80::1%eth0]", NULL, HOST_BAD},
    };
    char out[HOST_SIZE], longest[400];

    for (size_t i = 0; i < countof(rows); i++) {
        assert_int_equal(host_normal(rows[i].text, strlen(rows[i].text), out), rows[i].kind);
        if (rows[i].normal)
            assert_string_equal(out, rows[i].normal);
    }
    memset(longest, 'a', sizeof longest);
    assert_int_equal(host_normal(longest, sizeof longest, out), HOST_BAD);
    assert_int_equal(host_normal(longest, 64, out), HOST_BAD); /* a label */
}

static bool allows(const char *rules, const char *host, unsigned port)
{
    struct net_rules r autorelease(rules_release);

    rules_init(&r);
    assert_int_equal(rules_add(&r, rules, NULL), 0);
    return rules_find(&r, host, port);
}

static void names(void **state)
{
    (void)state;
    assert_true(allows("a.example.com", "a.example.com", 443));
    assert_true(allows("a.example.com", "a.example.com", 80));
    assert_false(allows("a.example.com", "a.example.com", 22));
    assert_false(allows("a.example.com", "b.example.com", 443));
    assert_false(allows("a.example.com", "x.a.example.com", 443));
    assert_false(allows("a.example.com", "a.example.com.evil.org", 443));
    assert_true(allows("*.wikipedia.org", "en.wikipedia.org", 443));
    assert_true(allows("*.wikipedia.org", "en.m.wikipedia.org", 443));
    assert_false(allows("*.wikipedia.org", "wikipedia.org", 443));
    assert_false(allows("*.wikipedia.org", "evilwikipedia.org", 443));
    assert_false(allows("*.wikipedia.org", "wikipedia.org.evil", 443));
    assert_true(allows("x.org, Y.org:8080,[::1]:9", "y.org", 8080));
    assert_false(allows("x.org,Y.org:8080", "y.org", 443));
    assert_true(allows("x.org,[::1]:9", "::1", 9));
    assert_true(allows("::1", "::1", 80));
}

static void what_is_no_rule(void **state)
{
    (void)state;
    static const char *const rows[] = {"*",          "*.com",       "*.",     "a.*.com",  "http://x.org",
                                       "x.org:0",    "x.org:65536", "x.org:", "x.org:8o", "*.10.0.0.1",
                                       "x.org/path", "user@x.org",  "127.1",  "[::1]x",   "",
                                       ", "};

    for (size_t i = 0; i < countof(rows); i++) {
        struct net_rules r autorelease(rules_release);
        struct error err = {0};

        rules_init(&r);
        assert_int_equal(rules_add(&r, rows[i], &err), -1);
        assert_int_equal(err.kind, ERROR_USAGE);
        assert_int_equal(r.n, 0);
    }
}

static bool permits(const char *rule, const char *address)
{
    struct net_rules r autorelease(rules_release);
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

    rules_init(&r);
    assert_int_equal(rules_add(&r, rule, NULL), 0);
    if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
        return rule_permits(&r.v[0], (const struct sockaddr *)&v4);
    assert_int_equal(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
    return rule_permits(&r.v[0], (const struct sockaddr *)&v6);
}

/* A name never leads to an address that is not public; one that is written out leads there alone. */
static void addresses(void **state)
{
    (void)state;
    static const char *const inner[] = {
        "127.0.0.1",     "10.0.0.1", "169.254.169.254", "192.168.0.1",      "100.64.0.1", "224.0.0.1",
        "0.0.0.0",       "::1",      "::ffff:8.8.8.8",  "64:ff9b::808:808", "fe80::1",    "fd00::1",
        "2002:7f00:1::", "ff02::1"};

    for (size_t i = 0; i < countof(inner); i++) {
        assert_false(permits("x.org", inner[i]));
        assert_false(permits("8.8.8.8", inner[i]));
    }
    assert_true(permits("x.org", "93.184.216.34"));
    assert_true(permits("127.0.0.1:8080", "127.0.0.1"));
    assert_false(permits("127.0.0.1:8080", "127.0.0.2"));
    assert_false(permits("127.0.0.1:8080", "93.184.216.34"));
    assert_true(permits("[::1]", "::1"));
}

static void secrets(void **state)
{
    (void)state;
    static const struct {
        const char *text, *value, *wrong; /* wrong: NULL: it is a secret */
    } rows[] = {
        {"KEY=api.example.com", "12345678", NULL},
        {"KEY=api.example.com:8443=X-Api-Key", "12345678", NULL},
        {"KEY=api.example.com", "1234567", "8 to 4096 bytes"},
        {"KEY=api.example.com", NULL, "no variable of that name"},
        {"KEY=api.example.com", "1234\r\n5678", "characters that no header may have"},
        {"KEY=*.example.com", "12345678", "it goes to one host"},
        {"KEY=a.org,b.org", "12345678", "it goes to one host"},
        {"KEY=", "12345678", "it goes to one host"},
        {"KEY=a.org=Host", "12345678", "no header that can be added"},
        {"KEY=a.org=Accept-Encoding", "12345678", "no header that can be added"},
        {"KEY=a.org=X Y", "12345678", "no header that can be added"},
        {"KEY=a.org=", "12345678", "no header that can be added"},
        {"KEY=http://a.org", "12345678", "\"http://a.org\" is no host"},
        {"api.example.com", "12345678", "expected NAME=HOST"},
        {"1KEY=api.example.com", "12345678", "expected NAME=HOST"},
    };

    for (size_t i = 0; i < countof(rows); i++) {
        struct net_rules r autorelease(rules_release);
        struct error err = {0};

        rules_init(&r);
        int rc = rules_add_secret(&r, rows[i].text, rows[i].value, &err);
        assert_int_equal(rc, rows[i].wrong ? -1 : 0);
        if (rows[i].wrong)
            assert_non_null(strstr(err.text, rows[i].wrong));
        if (rows[i].value && strlen(rows[i].value) > 6) /* no message shows a value */
            assert_null(strstr(message_of(&err), rows[i].value));
        assert_null(rules_find(&r, "api.example.com", 443)); /* a secret opens no tunnel */
        assert_int_equal(!rules_secret(&r, "api.example.com", 80), i != 0);
        assert_null(rules_secret(&r, "x.api.example.com", 80));
    }
}

static void masks(void **state)
{
    (void)state;
    static const char value[] = "s3cr/t+value",
                      text[] = "a s3cr/t+value b s3cr\\/t+value c s3cr%2Ft%2Bvalue d "
                               "czNjci90K3ZhbHVl e s3cr/t+valu";
    struct mask m autorelease(mask_release);

    mask_init(&m, value);
    for (size_t cut = 1; cut <= sizeof text; cut++) {
        struct buf out autorelease(buf_release) = BUF_INIT(0);

        for (size_t at = 0; at < sizeof text - 1; at += cut)
            mask_feed(&m, text + at, cut < sizeof text - 1 - at ? cut : sizeof text - 1 - at, &out);
        mask_end(&m, &out);
        assert_string_equal(buf_str(&out), "a ************ b ************* c **************** d "
                                           "**************** e s3cr/t+valu");
    }
}

/* Behind 0, 1 and 2 bytes of something else, the value has other characters; those at its edges, which hold
 * bits of what is beside it, may stay. */
static void masks_within_base64(void **state)
{
    (void)state;
    static const char *const before[] = {"", "u", "us", "user:"};

    for (size_t i = 0; i < countof(before); i++) {
        struct mask m autorelease(mask_release);
        struct buf text autorelease(buf_release) = BUF_INIT(0), out autorelease(buf_release) = BUF_INIT(0);
        autofree char *plain = xasprintf("%ss3cr/t+value!x", before[i]);
        size_t left = 0;

        base64_add(&text, (const unsigned char *)plain, strlen(plain));
        mask_init(&m, "s3cr/t+value");
        mask_feed(&m, text.data, text.len, &out);
        mask_end(&m, &out);
        for (size_t k = 0; k < out.len; k++)
            left += buf_str(&out)[k] != '*';
        assert_int_equal(out.len, text.len);
        assert_true(out.len - left >= 14); /* of 16 characters */
    }
}

/* What cannot be the beginning of a secret is told at once. */
static void masks_hold_little_back(void **state)
{
    (void)state;
    struct mask m autorelease(mask_release);
    struct buf out autorelease(buf_release) = BUF_INIT(0);

    mask_init(&m, "s3cr/t+value");
    mask_feed(&m, "data: one\n\n", 11, &out);
    assert_string_equal(buf_str(&out), "data: one\n\n");
    mask_feed(&m, "data: s3c", 9, &out);
    assert_string_equal(buf_str(&out), "data: one\n\ndata: ");
    mask_feed(&m, "r", 1, &out);
    mask_feed(&m, "ow", 2, &out);
    assert_string_equal(buf_str(&out), "data: one\n\ndata: s3crow");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hosts),
                                       cmocka_unit_test(names),
                                       cmocka_unit_test(what_is_no_rule),
                                       cmocka_unit_test(addresses),
                                       cmocka_unit_test(secrets),
                                       cmocka_unit_test(masks),
                                       cmocka_unit_test(masks_within_base64),
                                       cmocka_unit_test(masks_hold_little_back)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
