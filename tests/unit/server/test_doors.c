/* test_doors.c - what decides, without a server, whether a request is let in and where it goes: paths, Host
 * and Origin, tokens, addresses. */
#include "../unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "server/guard.h"
#include "server/listen.h"
#include "server/media.h"
#include "server/pattern.h"
#include "server/token.h"

static void test_pattern(void **state)
{
    static const struct {
        const char *pattern, *path, *first, *second; /* first NULL: it does not fit */
    } rows[] = {
        {"/", "/", "", ""},
        {"/", "//", NULL, NULL},
        {"/a/b", "/a/b", "", ""},
        {"/a/b", "/a/b/", NULL, NULL},
        {"/a/b", "/a//b", NULL, NULL},
        {"/a", "/A", NULL, NULL},
        {"/a", "/%61", NULL, NULL},
        {"/files/{id}/{name}", "/files/0f/x.csv", "0f", "x.csv"},
        {"/files/{id}/{name}", "/files/0f/a%20b%C3%A9", "0f", "a b\xc3\xa9"},
        {"/files/{id}/{name}", "/files/0f/a/b", NULL, NULL},
        {"/files/{id}/{name...}", "/files/0f/a/b%20c", "0f", "a/b c"},
        {"/files/{id}/{name...}", "/files/0f/%2e%2e/etc", NULL, NULL},
        {"/files/{id}/{name...}", "/files/0f/../etc", NULL, NULL},
        {"/files/{id}/{name...}", "/files/0f/a/", NULL, NULL},
        {"/files/{id}/{name...}", "/files/0f//a", NULL, NULL},
        {"/files/{id}/{name...}", "/files/0f/%2fetc/passwd", NULL, NULL},
        {"/files/{id}/{name}", "/files/0f/..", NULL, NULL},
        {"/files/{id}/{name}", "/files/0f/%2e%2e", NULL, NULL},
        {"/files/{id}/{name}", "/files/0f/%252e%252e", "0f", "%2e%2e"},
        {"/files/{id}/{name}", "/files/0f/a%2fb", NULL, NULL},
        {"/files/{id}/{name}", "/files/0f/a%5cb", "0f", "a\\b"},
        {"/files/{id}/{name}", "/files/0f/a%00b", NULL, NULL},
        {"/files/{id}/{name}", "/files/0f/a%0ab", NULL, NULL},
        {"/files/{id}/{name}", "/files/0f/a%ffb", NULL, NULL},
        {"/files/{id}/{name}", "/files/0f/a%", NULL, NULL},
        {"/files/{id}/{name}", "/files/0f/a%4", NULL, NULL},
        {"/files/{id}/{name}", "/files/0f/a%zz", NULL, NULL},
        {"/files/{id}/{name}", "/files//x", NULL, NULL},
        {"/files/{id}/{name}", "/files/0f", NULL, NULL},
        {"/files/{id}/{name}", "", NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct pattern_params p;

        if (pattern_match(rows[i].pattern, rows[i].path, &p) != (rows[i].first != NULL))
            fail_msg("%s against %s", rows[i].path, rows[i].pattern);
        if (rows[i].first) {
            assert_string_equal(p.n > 0 ? p.at[0].value : "", rows[i].first);
            assert_string_equal(p.n > 1 ? p.at[1].value : "", rows[i].second);
        }
        pattern_release(&p);
    }
}

static void test_long_path(void **state)
{
    char path[5002];
    struct pattern_params p;

    (void)state;
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    path[0] = '/';
    assert_false(pattern_match("/{name}", path, &p));
    path[PATTERN_PATH_MAX] = '\0';
    assert_true(pattern_match("/{name}", path, &p));
    pattern_release(&p);
}

static void test_host(void **state)
{
    static const struct {
        const char *listen, *host;
        bool allowed;
    } rows[] = {
        {"127.0.0.1:8000", "127.0.0.1:8000", true},
        {"127.0.0.1:8000", "localhost:8000", true},
        {"127.0.0.1:8000", "LocalHost:8000", true},
        {"127.0.0.1:8000", "[::1]:8000", true},
        {"127.0.0.1:8000", "127.0.0.1", false},
        {"127.0.0.1:80", "127.0.0.1", true},
        {"127.0.0.1:8000", "127.0.0.1:8001", false},
        {"127.0.0.1:8000", "evil.example:8000", false},
        {"127.0.0.1:8000", "127.0.0.1.evil.example:8000", false},
        {"127.0.0.1:8000", "localhost.:8000", false},
        {"127.0.0.1:8000", "localhost:8000@evil", false},
        {"127.0.0.1:8000", "localhost:", false},
        {"127.0.0.1:8000", "localhost:0x1f40", false},
        {"127.0.0.1:8000", "[::1", false},
        {"127.0.0.1:8000", "[]:8000", false},
        {"127.0.0.1:8000", "", false},
        {"127.0.0.1:8000", NULL, false},
        {"127.0.0.1:8000", "192.0.2.1:8000", false},
        {"127.0.0.1:8000", "named.example", true},
        {"127.0.0.1:8000", "named.example:99", true},
        {"192.0.2.7:8000", "192.0.2.7:8000", true},
        {"192.0.2.7:8000", "localhost:8000", false},
        {"192.0.2.7:8000", "192.0.2.8:8000", false},
        {"0.0.0.0:8000", "192.0.2.8:8000", true},
        {"0.0.0.0:8000", "evil.example:8000", false},
        {"0.0.0.0:8000", "localhost:8000", true},
        {"[::]:8000", "[2001:db8::1]:8000", true},
        {"unix:/x", "evil.example", true},
    };
    struct argv names = ARGV_INIT;

    (void)state;
    argv_push(&names, "named.example");
    for (size_t i = 0; i < countof(rows); i++) {
        struct listen_address a;

        assert_int_equal(listen_parse(rows[i].listen, &a, NULL), 0);
        if (guard_host(&a, &names, rows[i].host) != rows[i].allowed)
            fail_msg("Host: %s at %s", rows[i].host ? rows[i].host : "-", rows[i].listen);
    }
    argv_release(&names);
}

static void test_origin(void **state)
{
    struct listen_address a, local;

    (void)state;
    assert_int_equal(listen_parse("8000", &a, NULL), 0);
    assert_int_equal(listen_parse("unix:/x", &local, NULL), 0);
    assert_true(guard_origin(&a, NULL, NULL));
    assert_true(guard_origin(&a, NULL, "http://127.0.0.1:8000"));
    assert_true(guard_origin(&a, NULL, "http://localhost:8000"));
    assert_false(guard_origin(&a, NULL, "http://127.0.0.1:3000"));
    assert_false(guard_origin(&a, NULL, "http://evil.example"));
    assert_false(guard_origin(&a, NULL, "null"));
    assert_false(guard_origin(&a, NULL, ""));
    assert_false(guard_origin(&a, NULL, "file://"));
    assert_false(guard_origin(&local, NULL, "http://localhost"));
    assert_true(guard_fetch_site(NULL));
    assert_true(guard_fetch_site("none"));
    assert_true(guard_fetch_site("same-origin"));
    assert_false(guard_fetch_site("same-site"));
    assert_false(guard_fetch_site("cross-site"));
    assert_true(guard_json("application/json"));
    assert_true(guard_json("Application/JSON; charset=utf-8"));
    assert_false(guard_json("application/jsonp"));
    assert_false(guard_json("text/plain"));
    assert_false(guard_json(NULL));
}

static void test_listen(void **state)
{
    static const struct {
        const char *text;
        unsigned port;
        bool loopback, wildcard;
        const char *shown; /* NULL: refused */
    } rows[] = {
        {"127.0.0.1:8000", 8000, true, false, "http://127.0.0.1:8000"},
        {"127.9.8.7:1", 1, true, false, "http://127.9.8.7:1"},
        {"localhost:8000", 8000, true, false, "http://127.0.0.1:8000"},
        {":8000", 8000, true, false, "http://127.0.0.1:8000"},
        {"8000", 8000, true, false, "http://127.0.0.1:8000"},
        {"[::1]:0", 0, true, false, "http://[::1]:0"},
        {"0.0.0.0:80", 80, false, true, "http://0.0.0.0:80"},
        {"[::]:80", 80, false, true, "http://[::]:80"},
        {"192.0.2.1:65535", 65535, false, false, "http://192.0.2.1:65535"},
        {"unix:/run/x", 0, true, false, "unix:/run/x"},
        {"192.0.2.1:65536", 0, false, false, NULL},
        {"192.0.2.1:", 0, false, false, NULL},
        {"192.0.2.1", 0, false, false, NULL},
        {"::1:80", 0, false, false, NULL},
        {"example.com:80", 0, false, false, NULL},
        {"127.1:80", 0, false, false, NULL},
        {"http://127.0.0.1:80", 0, false, false, NULL},
        {"127.0.0.1:+80", 0, false, false, NULL},
        {"127.0.0.1: 80", 0, false, false, NULL},
        {"unix:", 0, false, false, NULL},
        {"", 0, false, false, NULL},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct listen_address a;
        struct error err = {0};
        int rc = listen_parse(rows[i].text, &a, &err);

        if ((rc == 0) != (rows[i].shown != NULL))
            fail_msg("\"%s\": %s", rows[i].text, err.text);
        if (rc != 0) {
            assert_int_equal(err.kind, ERROR_USAGE);
            continue;
        }
        autofree char *shown = listen_show(&a);
        assert_string_equal(shown, rows[i].shown);
        assert_int_equal(a.port, rows[i].port);
        assert_int_equal(a.loopback, rows[i].loopback);
        assert_int_equal(a.wildcard, rows[i].wildcard);
    }
}

/* A socket of ours that nobody listens on is replaced; anything else at that path is left alone. */
static void test_unix_socket(void **state)
{
    char dir[] = "/tmp/sandpiper-test-XXXXXX";
    struct listen_address a;
    struct error err = {0};
    struct stat st;

    (void)state;
    assert_non_null(mkdtemp(dir));
    autofree char *path = xasprintf("%s/s", dir);
    autofree char *text = xasprintf("unix:%s", path);
    assert_int_equal(listen_parse(text, &a, &err), 0);
    int first = listen_open(&a, &err);
    assert_true(first >= 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(listen_open(&a, &err), -1);
    fd_close(&first);
    first = listen_open(&a, &err);
    assert_true(first >= 0);
    fd_close(&first);
    listen_remove(&a);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(file_write(path, "mine", 4, &err), 0);
    assert_int_equal(listen_open(&a, &err), -1);
    listen_remove(&a);
    assert_int_equal(access(path, F_OK), 0);
    file_remove_tree(dir);
}

static int tokens_of(const char *path, const char *text, int mode, struct tokens *t, struct error *err)
{
    *t = (struct tokens){0};
    assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
    assert_int_equal(chmod(path, (mode_t)mode), 0);
    return tokens_read(t, path, err);
}

static void test_token(void **state)
{
    char one[TOKEN_TEXT], two[TOKEN_TEXT], dir[] = "/tmp/sandpiper-test-XXXXXX";
    struct tokens t = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(token_make(one, NULL), 0);
    assert_int_equal(token_make(two, NULL), 0);
    assert_int_equal(strlen(one), 43);
    assert_string_not_equal(one, two);
    tokens_add(&t, one, strlen(one));
    tokens_add(&t, two, strlen(two));
    assert_int_equal(tokens_find(&t, one), 0);
    assert_int_equal(tokens_find(&t, two), 1);
    one[5] ^= 1;
    assert_int_equal(tokens_find(&t, one), -1);
    assert_int_equal(tokens_find(&t, ""), -1);
    assert_int_equal(tokens_find(&t, NULL), -1);

    char *kept;
    assert_string_equal(token_given("Bearer abc", &kept), "abc");
    assert_string_equal(token_given("bearer  abc", &kept), "abc");
    assert_null(token_given(NULL, &kept));
    assert_null(token_given("Bearer", &kept));
    assert_string_equal(token_given("Basic eDphYmM=", &kept), "abc");
    free(kept);
    assert_null(token_given("Basic eA==", &kept));
    free(kept);
    assert_null(token_given("Basic !!", &kept));
    free(kept);

    assert_non_null(mkdtemp(dir));
    autofree char *path = xasprintf("%s/token", dir);
    assert_int_equal(tokens_of(path, "# mine\n0123456789abcdef\r\n\nABCDEFGHIJKLMNOP", 0600, &t, &err), 0);
    assert_int_equal(t.n, 2);
    assert_int_equal(tokens_find(&t, "0123456789abcdef"), 0);
    assert_int_equal(tokens_find(&t, "ABCDEFGHIJKLMNOP"), 1);
    assert_int_equal(tokens_of(path, "0123456789abcdef\n", 0640, &t, &err), -1);
    assert_non_null(strstr(err.text, "can be read by others"));
    assert_int_equal(tokens_of(path, "short\n", 0600, &t, &err), -1);
    assert_int_equal(tokens_of(path, "0123456789 abcdef\n", 0600, &t, &err), -1);
    assert_int_equal(tokens_of(path, "0123456789abcdef\t 2 \nABCDEFGHIJKLMNOP\n", 0600, &t, &err), 0);
    assert_int_equal(tokens_find(&t, "0123456789abcdef"), 0);
    assert_int_equal(tokens_most(&t, t.hash[0]), 2);
    assert_int_equal(tokens_most(&t, t.hash[1]), 0);
    assert_int_equal(tokens_most(&t, NULL), 0);
    tokens_share(&t, 8);
    assert_int_equal(tokens_most(&t, t.hash[0]), 2);
    assert_int_equal(tokens_most(&t, t.hash[1]), 6);
    assert_int_equal(tokens_of(path, "0123456789abcdef\n", 0600, &t, &err), 0);
    tokens_share(&t, 8);
    assert_int_equal(tokens_most(&t, t.hash[0]), 0);
    assert_int_equal(
        tokens_of(path, "0123456789abcdef 9\nABCDEFGHIJKLMNOP\nABCDEFGHIJKLMNOQ\n", 0600, &t, &err), 0);
    tokens_share(&t, 8);
    assert_int_equal(tokens_most(&t, t.hash[1]), 1);
    assert_int_equal(tokens_most(&t, t.hash[2]), 1);
    static const char *const bad[] = {"0", "-1", "2x", "x", "12345", "2 3"};
    for (size_t i = 0; i < countof(bad); i++) {
        autofree char *line = xasprintf("0123456789abcdef %s\n", bad[i]);
        assert_int_equal(tokens_of(path, line, 0600, &t, &err), -1);
        assert_non_null(strstr(err.text, "maximum number of sandboxes"));
    }
    assert_int_equal(tokens_of(path, "\n\n", 0600, &t, &err), -1);
    assert_int_equal(tokens_read(&t, dir, &err), -1);
    assert_int_equal(tokens_read(&t, "/dev/null", &err), -1);
    file_remove_tree(dir);
}

static void test_media(void **state)
{
    (void)state;
    assert_string_equal(media_type("a.PNG"), "image/png");
    assert_string_equal(media_type("a.html"), "application/octet-stream");
    assert_string_equal(media_type("a.svg"), "application/octet-stream");
    assert_string_equal(media_type("png"), "application/octet-stream");
    autofree char *text = media_disposition("a/b \"\xc3\xa9\".csv");
    assert_string_equal(text, "attachment; filename=\"b ____.csv\"; filename*=UTF-8''b%20%22%C3%A9%22.csv");
    autofree char *url = media_url("a/b c?");
    assert_string_equal(url, "a/b%20c%3F");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pattern), cmocka_unit_test(test_long_path), cmocka_unit_test(test_host),
        cmocka_unit_test(test_origin),  cmocka_unit_test(test_listen),    cmocka_unit_test(test_unix_socket),
        cmocka_unit_test(test_token),   cmocka_unit_test(test_media),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
