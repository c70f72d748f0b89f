/* test_learnt.c - what is kept for a day: found again by who it is about, forgotten in time, and a file that
 * is broken, huge, old, no file at all or cannot be written is as good as none.
 */
#include "../unit.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "json/json.h"
#include "base/mem.h"
#include "llm/learnt.h"

static char dir[64], *path;

static int make_place(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/sandpiper-learnt-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    path = xasprintf("%s/cache/models", dir);
    return 0;
}

static int remove_place(void **state)
{
    (void)state;
    free(path);
    return file_remove_tree(dir);
}

static void expect(const char *origin, const char *fact, const char *want)
{
    autofree char *got = learnt_load(path, origin, fact);

    if (want)
        assert_string_equal(got, want);
    else
        assert_null(got);
}

static void put(const char *text, size_t len)
{
    assert_int_equal(file_write(path, text, len, NULL), 0);
}

static void put_entry(const char *more)
{
    autofree char *text = xasprintf("[{\"origin\":\"m\",\"fact\":\"dialect\",\"value\":\"blocks\",%s}]",
                                    more);

    put(text, strlen(text));
}

static void kept_and_replaced(void **state)
{
    struct stat st;

    (void)state;
    expect("m", "dialect", NULL);
    learnt_store(path, "m", "dialect", "native");
    learnt_store(path, "m", "api", "responses");
    learnt_store(path, "other", "dialect", "blocks");
    expect("m", "dialect", "native");
    expect("m", "api", "responses");
    expect("other", "dialect", "blocks");
    expect("other", "api", NULL);
    learnt_store(path, "m", "dialect", "blocks");
    expect("m", "dialect", "blocks");
    expect("m", "api", "responses");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    learnt_store(NULL, "m", "dialect", "native");
    assert_null(learnt_load(NULL, "m", "dialect"));
}

static void for_a_day(void **state)
{
    static const struct {
        long long age;
        bool known;
    } t[] = {{0, true}, {3600, true}, {86300, true}, {86500, false}, {-3600, false}};

    (void)state;
    learnt_store(path, "x", "x", "x"); /* makes the folder */
    for (size_t i = 0; i < countof(t); i++) {
        autofree char *time_of = xasprintf("\"time\":%lld", (long long)time(NULL) - t[i].age);

        put_entry(time_of);
        expect("m", "dialect", t[i].known ? "blocks" : NULL);
    }
    put_entry("\"time\":\"now\"");
    expect("m", "dialect", NULL);
}

static void the_oldest_go(void **state)
{
    struct buf text = BUF_INIT(0);

    (void)state;
    for (int i = 0; i < 200; i++) {
        autofree char *origin = xasprintf("http://h/v1 model-%d", i);

        learnt_store(path, origin, "dialect", "native");
    }
    expect("http://h/v1 model-199", "dialect", "native");
    expect("http://h/v1 model-140", "dialect", "native");
    expect("http://h/v1 model-100", "dialect", NULL);
    assert_int_equal(file_read(path, 65536, &text, NULL), 0);
    autojson struct json *all = json_parse(text.data, text.len, 0, NULL, NULL);
    assert_int_equal(json_size(all), 64);
    buf_release(&text);
}

/* Whatever stands there: nothing is known, nothing breaks, and the next fact makes the file anew. */
static void hostile_files(void **state)
{
    static const char *const bad[] = {
        "",
        "[",
        "{}",
        "null",
        "[1,null,\"x\",[],{}]",
        "\xff\xfe",
        "[{\"origin\":1,\"fact\":\"dialect\",\"value\":\"blocks\",\"time\":1}]",
        "{\"origin\":\"m\",\"fact\":\"dialect\",\"value\":\"blocks\",\"time\":9}",
        "[{\"origin\":\"m\",\"fact\":\"dialect\",\"value\":{}}]",
    };

    (void)state;
    for (size_t i = 0; i < countof(bad); i++) {
        learnt_store(path, "x", "x", "x");
        put(bad[i], strlen(bad[i]));
        expect("m", "dialect", NULL);
        learnt_store(path, "m", "dialect", "native");
        expect("m", "dialect", "native");
    }
    autofree char *huge = xmalloc(1 << 20);
    memset(huge, ' ', 1 << 20);
    put(huge, 1 << 20);
    expect("m", "dialect", NULL);
    learnt_store(path, "m", "dialect", "native");
    expect("m", "dialect", "native");
}

/* Names that come from a user or a server: too long ones are not kept, odd ones do not break the file. */
static void hostile_names(void **state)
{
    autofree char *longest = xmalloc(70000);

    (void)state;
    memset(longest, 'm', 69999);
    longest[69999] = '\0';
    learnt_store(path, longest, "dialect", "native");
    expect(longest, "dialect", NULL);
    learnt_store(path, "m", "dialect", longest);
    expect("m", "dialect", NULL);
    for (int i = 0; i < 100; i++) { /* every byte of them is an escape, and still they all fit */
        char odd[513];

        memset(odd, 1, sizeof odd - 1);
        odd[i] = 2;
        odd[512] = '\0';
        learnt_store(path, odd, "dialect", "blocks");
        expect(odd, "dialect", "blocks");
    }
    learnt_store(path, "\"}]\n\\", "dialect", "native");
    expect("\"}]\n\\", "dialect", "native");
}

static void nowhere_to_write(void **state)
{
    autofree char *folder = xasprintf("%s/cache", dir);

    (void)state;
    /* a file where the folder should be: root too cannot write below it */
    assert_int_equal(file_write(folder, "", 0, NULL), 0);
    learnt_store(path, "m", "dialect", "native");
    expect("m", "dialect", NULL);
    /* no folder in the path: nowhere of ours */
    learnt_store("models", "m", "dialect", "native");
    assert_int_equal(access("models", F_OK), -1);
    assert_int_equal(unlink(folder), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect("m", "dialect", NULL);
    learnt_store(path, "m", "dialect", "native");
    expect("m", "dialect", "native");
}

#define PLACED(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACED(kept_and_replaced), PLACED(for_a_day),     PLACED(the_oldest_go),
        PLACED(hostile_files),     PLACED(hostile_names), PLACED(nowhere_to_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
