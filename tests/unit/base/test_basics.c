/* test_basics.c - error, mem, buf, argv, utf8. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/fill.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/quoting.h"
#include "base/sha256.h"
#include "base/utf8.h"

static void error_texts(void **state)
{
    (void)state;
    struct error e = {0};
    assert_int_equal(error_set(&e, ERROR_API, 503, "status %d", 503), -1);
    assert_string_equal(e.text, "status 503");
    assert_int_equal(e.kind, ERROR_API);
    assert_int_equal(e.code, 503);
    assert_int_equal(error_wrap(&e, "asking %s", "m"), -1);
    assert_string_equal(e.text, "asking m: status 503");
    assert_int_equal(e.code, 503);
    errno = ENOSPC;
    assert_int_equal(error_errno(&e, "cannot write %s", "f"), -1);
    assert_string_equal(e.text, "cannot write f: No space left on device");
    assert_int_equal(e.kind, ERROR_SYSTEM);
    assert_int_equal(e.code, ENOSPC);
    assert_int_equal(error_set(NULL, ERROR_API, 0, "x"), -1);
    assert_int_equal(error_wrap(NULL, "x"), -1);
    assert_int_equal(error_errno(NULL, "x"), -1);
}

static void error_text_is_always_utf8(void **state)
{
    (void)state;
    struct error e = {0};
    error_set(&e, ERROR_PROTOCOL, 0, "got %s", "a\xff\xc3");
    assert_string_equal(e.text, "got a\xef\xbf\xbd\xef\xbf\xbd");
    /* Too long: cut at a character, whatever the offset. */
    for (int pad = 0; pad < 4; pad++) {
        char big[4000];
        size_t n = (size_t)pad;
        memset(big, 'x', n);
        while (n + 3 < sizeof(big)) {
            memcpy(big + n, "\xe2\x82\xac", 3);
            n += 3;
        }
        big[n] = '\0';
        error_set(&e, ERROR_PROTOCOL, 0, "%s", big);
        assert_true(utf8_valid(e.text, strlen(e.text)));
        assert_true(strlen(e.text) > sizeof(e.text) - 5);
        assert_null(strstr(e.text, "\xef\xbf\xbd"));
        error_wrap(&e, "%s", big);
        assert_true(utf8_valid(e.text, strlen(e.text)));
        assert_null(strstr(e.text, "\xef\xbf\xbd"));
    }
}

/* What follows the first line break is the remedy; where it happened stands in front of the text. */
static void error_parts(void **state)
{
    (void)state;
    struct error e;
    error_set(&e, ERROR_SANDBOX, 0, "no image\nfetch it\nor name another");
    assert_string_equal(e.text, "no image");
    assert_string_equal(e.remedy, "fetch it\nor name another");
    assert_int_equal(e.where, 0);
    error_wrap(&e, "docker");
    error_wrap(&e, "session %d", 3);
    assert_string_equal(e.text, "session 3: docker: no image");
    assert_string_equal(e.text + e.where, "no image");
    autofree char *message = error_message(&e);
    assert_string_equal(message, "session 3: docker: no image\nfetch it\nor name another");
    char big[2000];
    memset(big, 'y', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    error_wrap(&e, "%s", big); /* cut in the middle of where */
    assert_int_equal(e.where, strlen(e.text));
    error_set(&e, ERROR_USAGE, 0, "other");
    assert_string_equal(e.remedy, "");
    assert_int_equal(e.where, 0);
}

static void error_exit_codes(void **state)
{
    (void)state;
    static const struct {
        enum error_kind kind;
        int code;
    } rows[] = {
        {ERROR_NONE, 0},  {ERROR_USAGE, 2},       {ERROR_NETWORK, 1},  {ERROR_API, 1},
        {ERROR_AUTH, 77}, {ERROR_BUSY, 75},       {ERROR_PROTOCOL, 1}, {ERROR_SANDBOX, 3},
        {ERROR_LIMIT, 5}, {ERROR_CANCELLED, 130}, {ERROR_SYSTEM, 1},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct error e = {.kind = rows[i].kind};
        assert_int_equal(error_exit_code(&e), rows[i].code);
    }
}

static void buf_grows_and_ends_with_nul(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(0);
    assert_string_equal(buf_str(&b), "");
    for (int i = 0; i < 1000; i++)
        assert_true(buf_addf(&b, "%d,", i));
    assert_int_equal(strlen(b.data), b.len);
    assert_memory_equal(b.data, "0,1,2,", 6);
    buf_clear(&b);
    assert_int_equal(b.len, 0);
    assert_string_equal(buf_str(&b), "");
    char big[1000];
    memset(big, 'y', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    assert_true(buf_addf(&b, "<%s>", big)); /* longer than the formatter's small buffer */
    assert_int_equal(b.len, 1001);
    size_t len;
    autofree char *s = buf_steal(&b, &len);
    assert_int_equal(len, 1001);
    assert_int_equal(strlen(s), 1001);
    assert_null(b.data);
    autofree char *none = buf_steal(&b, &len);
    assert_string_equal(none, "");
    assert_int_equal(len, 0);
    buf_release(&b);
    buf_release(NULL);
}

static void buf_cap_holds(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(10);
    assert_true(buf_addstr(&b, "12345"));
    assert_false(b.full);
    assert_false(buf_addstr(&b, "6789012345"));
    assert_true(b.full);
    assert_string_equal(b.data, "1234567890");
    assert_int_equal(b.len, 10);
    assert_false(buf_addch(&b, 'x'));
    assert_null(buf_space(&b, 1));
    assert_non_null(buf_space(&b, 0));
    buf_clear(&b);
    assert_false(b.full);
    assert_false(buf_addf(&b, "%s", "abcdefghijklmnop"));
    assert_string_equal(b.data, "abcdefghij");
    buf_release(&b);
    assert_int_equal(b.max, 10);
    b.max = 1000;
    while (buf_addch(&b, 'x'))
        ;
    assert_int_equal(b.len, 1000);
    assert_true(b.alloc <= 1001); /* memory keeps to the cap too */
    buf_release(&b);
}

static void buf_space_and_drop(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(100);
    char *p = buf_space(&b, 4);
    memcpy(p, "a\0bc", 4);
    b.len += 4;
    buf_end(&b);
    assert_memory_equal(b.data, "a\0bc", 5);
    buf_drop(&b, 2);
    assert_string_equal(b.data, "bc");
    buf_drop(&b, 99);
    assert_int_equal(b.len, 0);
    assert_string_equal(b.data, "");
    buf_release(&b);
    buf_drop(&b, 5);
    buf_end(&b);
    assert_string_equal(buf_str(&b), "");
    buf_release(&b);
}

static void base64_both_ways(void **state)
{
    static const char *const bad[] = {"A",    "AAAAA",    "AA=",  "A===", "AA=A",
                                      "A A=", "QQ==QQ==", "A-_A", "===="};
    unsigned char bytes[300];
    (void)state;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7 + 250);
    for (size_t len = 0; len < sizeof bytes; len++) {
        struct buf text = BUF_INIT(0), back = BUF_INIT(300);

        base64_add(&text, bytes, len);
        assert_int_equal(base64_read(buf_str(&text), text.len, &back), 0);
        assert_int_equal(back.len, len);
        assert_memory_equal(buf_str(&back), bytes, len);
        while (text.len && text.data[text.len - 1] == '=')
            text.len--;
        buf_clear(&back);
        assert_int_equal(base64_read(buf_str(&text), text.len, &back), 0);
        assert_memory_equal(buf_str(&back), bytes, len);
        buf_release(&text);
        buf_release(&back);
    }
    for (size_t i = 0; i < countof(bad); i++) {
        struct buf back = BUF_INIT(300);

        assert_int_equal(base64_read(bad[i], strlen(bad[i]), &back), -1);
        buf_release(&back);
    }
    struct buf small = BUF_INIT(2);
    assert_int_equal(base64_read("QUJD", 4, &small), -1);
    buf_release(&small);
}

static void argv_vectors(void **state)
{
    (void)state;
    struct argv a = ARGV_INIT;
    argv_pushl(&a, "docker", "run", NULL);
    argv_pushf(&a, "--memory=%d", 5);
    for (int i = 0; i < 100; i++)
        argv_push(&a, "x");
    assert_int_equal(a.n, 103);
    assert_null(a.v[103]);
    assert_string_equal(a.v[2], "--memory=5");
    argv_release(&a);
    assert_int_equal(a.n, 0);
    argv_release(&a);
    argv_release(NULL);
}

static void argv_quote_survives_a_shell(void **state)
{
    (void)state;
    static const char *const nasty[] = {"",    "a b", "it's", "$HOME", "`id`", "a\nb", "*", "~",
                                        "a=b", "\\",  "\"",   "-n",    "é",    "!x",   "#c"};
    struct argv a = ARGV_INIT;
    argv_push(&a, "printf");
    argv_push(&a, "<%s>");
    for (size_t i = 0; i < countof(nasty); i++)
        argv_push(&a, nasty[i]);
    struct buf line = BUF_INIT(0), want = BUF_INIT(0);
    argv_quote(&a, &line);
    for (size_t i = 0; i < countof(nasty); i++)
        buf_addf(&want, "<%s>", nasty[i]);
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], 1);
        execl("/bin/sh", "sh", "-c", line.data, (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    char got[1000];
    size_t n = 0;
    for (ssize_t k; (k = read(fds[0], got + n, sizeof(got) - 1 - n)) > 0;)
        n += (size_t)k;
    got[n] = '\0';
    close(fds[0]);
    waitpid(pid, NULL, 0);
    assert_string_equal(got, want.data);
    buf_clear(&line);
    argv_release(&a);
    argv_pushl(&a, "a", "/b/c.d", "--e=f", NULL);
    argv_quote(&a, &line);
    assert_string_equal(line.data, "a /b/c.d '--e=f'");
    buf_release(&line);
    buf_release(&want);
    argv_release(&a);
}

static void utf8_decodes_what_rfc_3629_allows(void **state)
{
    (void)state;
    static const struct {
        const char *s;
        int n;
        uint32_t cp;
    } rows[] = {
        {"a", 1, 'a'},
        {"\xc2\x80", 2, 0x80},
        {"\xdf\xbf", 2, 0x7ff},
        {"\xe0\xa0\x80", 3, 0x800},
        {"\xed\x9f\xbf", 3, 0xd7ff},
        {"\xee\x80\x80", 3, 0xe000},
        {"\xef\xbf\xbf", 3, 0xffff},
        {"\xf0\x90\x80\x80", 4, 0x10000},
        {"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
        {"\x80", -1, 0},
        {"\xbf", -1, 0},
        {"\xc0\x80", -1, 0},
        {"\xc1\xbf", -1, 0},
        {"\xe0\x80\x80", -1, 0},
        {"\xe0\x9f\xbf", -1, 0},
        {"\xed\xa0\x80", -1, 0},
        {"\xed\xbf\xbf", -1, 0},
        {"\xf0\x8f\xbf\xbf", -1, 0},
        {"\xf4\x90\x80\x80", -1, 0},
        {"\xf5", -1, 0},
        {"\xff", -1, 0},
        {"\xc3(", -1, 0},
        {"\xe2\x82(", -1, 0},
        {"\xc3", 0, 0},
        {"\xe2\x82", 0, 0},
        {"\xf0\x9f\x98", 0, 0},
        {"", 0, 0},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        uint32_t cp = 0;
        int n = utf8_decode(rows[i].s, strlen(rows[i].s), &cp);
        assert_int_equal(n, rows[i].n);
        assert_int_equal(cp, n > 0 ? rows[i].cp : 0);
        assert_int_equal(utf8_valid(rows[i].s, strlen(rows[i].s)), n > 0 || rows[i].s[0] == '\0');
    }
    assert_true(utf8_valid(NULL, 0));
}

static void utf8_every_character_goes_round(void **state)
{
    (void)state;
    struct buf b = BUF_INIT(0);
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        if (c >= 0xd800 && c <= 0xdfff)
            continue;
        buf_clear(&b);
        utf8_add(&b, c);
        uint32_t got = 1;
        if (utf8_decode(b.data, b.len, &got) != (int)b.len || got != c)
            fail_msg("U+%04X", c);
    }
    buf_clear(&b);
    utf8_add(&b, 0xd800);
    utf8_add(&b, 0x110000);
    assert_string_equal(b.data, "\xef\xbf\xbd\xef\xbf\xbd");
    buf_release(&b);
}

static void utf8_repairs(void **state)
{
    (void)state;
#define R "\xef\xbf\xbd"
    static const struct {
        const char *in;
        size_t len;
        const char *out;
    } rows[] = {
        {"plain text longer than eight", 28, "plain text longer than eight"},
        {"a\0b", 3, "a" R "b"},
        {"\0\0", 2, R R},
        {"caf\xe9", 4, "caf" R},
        {"\xe2\x82", 2, R},
        {"\xe2\x82x", 3, R "x"},
        {"\xf0\x9f\x98\xe2\x82\xac", 6, R "\xe2\x82\xac"},
        {"\xed\xa0\x80", 3, R R R},
        {"\xff\xfe", 2, R R},
        {"12345678\xff"
         "12345678",
         17, "12345678" R "12345678"},
        {"", 0, ""},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        struct buf b = BUF_INIT(0);
        utf8_repair(&b, rows[i].in, rows[i].len);
        assert_string_equal(buf_str(&b), rows[i].out);
        buf_release(&b);
    }
}

static void utf8_cuts(void **state)
{
    (void)state;
    const char *s = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"; /* boundaries 0 1 3 6 10 11 */
    static const size_t want[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
    for (size_t at = 0; at < countof(want); at++)
        assert_int_equal(utf8_cut(s, 11, at), want[at]);
    assert_int_equal(utf8_cut("\x80\x80\x80\x80\x80\x80", 6, 5), 5);
}

static void utf8_widths(void **state)
{
    (void)state;
    static const struct {
        uint32_t cp;
        int width;
    } rows[] = {
        {0, 0},        {'\n', 0},   {0x7f, 0},    {0x9b, 0},    {' ', 1},     {'a', 1},     {0xe9, 1},
        {0xad, 1},     {0x300, 0},  {0x34f, 0},   {0x200d, 0},  {0x200b, 0},  {0xfe0f, 0},  {0x4e00, 2},
        {0xac00, 2},   {0x1100, 2}, {0x1160, 0},  {0x1f600, 2}, {0x1f1e6, 1}, {0x20000, 2}, {0xff21, 2},
        {0xff61, 1},   {0x2500, 1}, {0x2764, 1},  {0x3000, 2},  {0xfffd, 1},  {0xe000, 1},  {0xe0001, 0},
        {0x10ffff, 1}, {0x378, 1},  {0x1faff, 2},
    };
    for (size_t i = 0; i < countof(rows); i++) {
        if (utf8_width(rows[i].cp) != rows[i].width)
            fail_msg("U+%04X: %d", rows[i].cp, utf8_width(rows[i].cp));
    }
}

/* Per cluster, whole and a character at a time. */
static void utf8_clusters(void **state)
{
    static const struct {
        const char *text;
        int columns;
    } rows[] = {
        {"", 0},
        {"ab", 2},
        {"\U0001f468\u200d\U0001f469\u200d\U0001f467", 2}, /* a family */
        {"\U0001f468\u200d\U0001f469 \U0001f467", 5},
        {"\U0001f44d\U0001f3fd", 2}, /* a tone of skin */
        {"\U0001f468\U0001f3fd\u200d\U0001f4bb", 2},
        {"\U0001f3fd", 2},
        {"a\U0001f3fd", 3},
        {"\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 4}, /* two flags */
        {"\u2764\u200d\U0001f525", 1},
        {"\u0915\u094d\u200d\u0937", 2}, /* a joiner of a script joins nothing for us */
        {"\u0645\u06cc\u200c\u062e", 3},
        {"e\u0301\u65e5", 3},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        size_t len = strlen(rows[i].text);
        uint32_t before = 0, cp;
        int columns = 0;

        assert_int_equal(utf8_columns(rows[i].text, len), rows[i].columns);
        for (size_t k = 0, n; k < len; k += n) {
            n = (size_t)utf8_decode(rows[i].text + k, len - k, &cp);
            columns += utf8_columns_behind(&before, rows[i].text + k, n);
        }
        assert_int_equal(columns, rows[i].columns);
    }
}

static void memory_ends_with_a_line(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[1], 2);
        void *volatile p = xreallocarray(NULL, SIZE_MAX / 2, 3);
        (void)p;
        _exit(0);
    }
    close(fds[1]);
    char text[100] = {0};
    assert_true(read(fds[0], text, sizeof(text) - 1) > 0);
    close(fds[0]);
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_string_equal(text, "sandpiper: out of memory\n");
}

static void memory_copies(void **state)
{
    (void)state;
    assert_null(xstrdup(NULL));
    autofree char *a = xmemdup0("ab\0c", 4);
    assert_memory_equal(a, "ab\0c", 5);
    autofree char *b = xmemdup0(NULL, 0);
    assert_string_equal(b, "");
    char *owner = xasprintf("%s-%d", "x", 3);
    autofree char *taken = steal(&owner);
    assert_null(owner);
    assert_string_equal(taken, "x-3");
    void *z = xmalloc(0), *y = xcalloc(0, 5);
    assert_non_null(z);
    assert_non_null(y);
    free(z);
    free(y);
}

/* FIPS 180-4's own examples, and every length about a block's end as Python's hashlib has it (the digest of
 * all of those). */
static void sha256_as_published(void **state)
{
    static const struct {
        const char *text, *digest;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    struct buf all autorelease(buf_release) = BUF_INIT(0);
    char hex[SHA256_HEX], zeros[200] = {0};

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        sha256_hex(cases[i].text, strlen(cases[i].text), hex);
        assert_string_equal(hex, cases[i].digest);
    }
    for (size_t n = 0; n < sizeof zeros; n++) {
        sha256_hex(zeros, n, hex);
        buf_addf(&all, "%s\n", hex);
    }
    sha256_hex(all.data, all.len, hex);
    assert_string_equal(hex, "0525d0b25042acdd1d85fb45687ad5b045e54e4848f2828ce46c17b24f763566");
}

static void placeholders(void **state)
{
    const struct text_var v[] = {{"a", "1"}, {"ab", "{a}"}};
    char *s = text_fill("{a}{ab}{abc}{}{a {output} { \n\n", &(struct text_vars){v, 2});
    const char *at;

    (void)state;
    assert_string_equal(s, "1{a}{abc}{}{a {output} { \n\n"); /* what was put in is not filled again */
    free(s);
    assert_int_equal(text_unknown("{a}{{ab}}{}{A}{{.State}}{1}{", "a|ab", &at), 0);
    assert_int_equal(text_unknown("{a}x{abc}{b}", "a|ab", &at), 3);
    assert_int_equal(strncmp(at, "abc}", 4), 0);
    assert_int_equal(text_unknown("{b}", "a|ab", &at), 1);
}

static void names_are_quoted_and_read(void **state)
{
    static const char *const names[] = {"plain.csv", "two words",  "it's", "a\\b",
                                        "\"",        "x \"y' z\\", "",     "'"};
    static const char *const read[][2] = {
        {"'two words'", "two words"}, {"\"a b\"c d", "a bc d"},     {"it's", "it's"},   {"\"open", "\"open"},
        {"'a\\ b'", "a\\ b"},         {"\"a\\\"b\\x\"", "a\"b\\x"}, {"end\\", "end\\"}, {"''", ""},
    };

    (void)state;
    for (size_t i = 0; i < countof(names); i++) {
        autofree char *bare = name_quote(names[i], 0), *rest = name_quote(names[i], '"');
        autofree char *between = xasprintf("\"%s\"", rest), *one = name_unquote(bare),
                      *two = name_unquote(between);

        assert_string_equal(one, names[i]);
        assert_string_equal(two, names[i]);
        assert_null(strpbrk(names[i], " ") ? strstr(bare, "o w") : NULL);
    }
    for (size_t i = 0; i < countof(read); i++) {
        autofree char *name = name_unquote(read[i][0]);

        assert_string_equal(name, read[i][1]);
    }
}

static void nearest_names(void **state)
{
    static const char *const flags[] = {"--code",       "--no-color", "--model", "--max-tokens-total",
                                        "--max-tokens", "-m",         NULL};
    static const char *const commands[] = {"/help", "/model", "/new", NULL};
    static const struct {
        const char *const *names;
        const char *word, *near;
    } rows[] = {
        {flags, "--nope", NULL},
        {flags, "--cdoe", "--code"},
        {flags, "--coed", "--code"},
        {flags, "--modle", "--model"},
        {flags, "--no-color", "--no-color"},
        {flags, "--no-colour", "--no-color"},
        {flags, "--max-tokns", "--max-tokens"},
        {flags, "--max-token", "--max-tokens"},
        {flags, "--x", NULL},
        {flags, "--mod", "--model"},
        {flags, "--tokens", "--max-tokens"},
        {flags, "--total", "--max-tokens-total"},
        {flags, "--token", NULL},
        {flags, "--no-collar", "--no-color"},
        {flags, "--do-colr", NULL},
        {commands, "/hepl", "/help"},
        {commands, "/moddle", "/model"},
        {commands, "/ne", "/new"},
        {commands, "/foo", NULL},
        {commands, "/", NULL},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        const char *near = nearest_name(rows[i].word, strlen(rows[i].word), rows[i].names);

        if (!near != !rows[i].near || (near && strcmp(near, rows[i].near) != 0))
            fail_msg("%s: %s", rows[i].word, near ? near : "nothing");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_texts),
        cmocka_unit_test(error_text_is_always_utf8),
        cmocka_unit_test(error_parts),
        cmocka_unit_test(error_exit_codes),
        cmocka_unit_test(buf_grows_and_ends_with_nul),
        cmocka_unit_test(buf_cap_holds),
        cmocka_unit_test(buf_space_and_drop),
        cmocka_unit_test(base64_both_ways),
        cmocka_unit_test(argv_vectors),
        cmocka_unit_test(argv_quote_survives_a_shell),
        cmocka_unit_test(utf8_decodes_what_rfc_3629_allows),
        cmocka_unit_test(utf8_every_character_goes_round),
        cmocka_unit_test(utf8_repairs),
        cmocka_unit_test(utf8_cuts),
        cmocka_unit_test(utf8_widths),
        cmocka_unit_test(utf8_clusters),
        cmocka_unit_test(sha256_as_published),
        cmocka_unit_test(memory_ends_with_a_line),
        cmocka_unit_test(memory_copies),
        cmocka_unit_test(placeholders),
        cmocka_unit_test(names_are_quoted_and_read),
        cmocka_unit_test(nearest_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
