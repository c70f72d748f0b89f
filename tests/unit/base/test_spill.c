/* test_spill.c - bytes that wait: in memory while they are few, on the disk when they are many. */
#include "tests/unit/unit.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/spill.h"

static char state[] = "/tmp/spill-test-XXXXXX";

static unsigned entries(const char *path)
{
    autoclosedir DIR *d = opendir(path);
    unsigned n = 0;

    while (d && readdir(d))
        n++;
    return n;
}

static char at(size_t i)
{
    return (char)(i * 31 + i / 1000);
}

static void fill(struct spill *s, size_t from, size_t to, size_t piece)
{
    char *bytes = xmalloc(piece);

    for (size_t i = from, n; i < to; i += n) {
        n = to - i < piece ? to - i : piece;
        for (size_t k = 0; k < n; k++)
            bytes[k] = at(i + k);
        assert_int_equal(spill_add(s, bytes, n, NULL), 0);
    }
    free(bytes);
}

static void same(const struct spill *s, size_t from, size_t len)
{
    char *out = xmalloc(len + 10);

    assert_int_equal(spill_read(s, 0, out, len + 10), len);
    for (size_t i = 0; i < len; i++)
        assert_int_equal(out[i], at(from + i));
    assert_int_equal(spill_read(s, len, out, 10), 0);
    free(out);
}

static void few_stay_in_memory_and_many_do_not(void **unused)
{
    (void)unused;
    struct spill s = SPILL_INIT(0);

    fill(&s, 0, SPILL_MEMORY, 1000);
    assert_int_equal(s.fd, -1);
    same(&s, 0, SPILL_MEMORY);
    fill(&s, SPILL_MEMORY, 1000000, 7777);
    assert_true(s.fd >= 0);
    assert_null(s.memory.data);
    assert_true(fcntl(s.fd, F_GETFD) & FD_CLOEXEC);
    same(&s, 0, 1000000);
    assert_int_equal(entries(state), 3); /* ., .. and sandpiper */
    autofree char *folder = xasprintf("%s/sandpiper", state);
    assert_int_equal(entries(folder), 2); /* a file without a name */
    spill_drop(&s, 999);
    same(&s, 999, 1000000 - 999);
    assert_int_equal(spill_load(&s, NULL), 0);
    assert_int_equal(s.fd, -1);
    same(&s, 999, 1000000 - 999);
    assert_int_equal(s.memory.data[s.len], 0);
    spill_release(&s);
    assert_int_equal(s.len, 0);
    fill(&s, 5, 10, 5);
    same(&s, 5, 5);
    spill_release(&s);
}

static void no_more_than_the_limit(void **unused)
{
    (void)unused;
    struct spill s = SPILL_INIT(100000);
    struct error err = {0};

    fill(&s, 0, 99999, 9999);
    assert_int_equal(spill_add(&s, "xy", 2, &err), -1);
    assert_int_equal(err.kind, ERROR_LIMIT);
    same(&s, 0, 99999);
    assert_int_equal(spill_add(&s, "x", 1, &err), 0);
    int fd = spill_take_fd(&s);
    assert_true(fd >= 0 && s.len == 0 && s.fd < 0);
    fd_close(&fd);
}

/* A full disk, as RLIMIT_FSIZE makes one: what may be refused is, and the rest stays in memory. */
static void a_full_disk(void **unused)
{
    (void)unused;
    struct rlimit was, small;
    struct spill s = SPILL_INIT(0);
    struct error err = {0};
    char bytes[10000] = {0};

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &was);
    small = (struct rlimit){100000, was.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    fill(&s, 0, 95000, 5000);
    assert_int_equal(spill_add(&s, bytes, sizeof bytes, &err), -1);
    assert_int_equal(err.kind, ERROR_SYSTEM);
    same(&s, 0, 95000);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = at(95000 + i);
    spill_keep(&s, bytes, sizeof bytes);
    setrlimit(RLIMIT_FSIZE, &was);
    same(&s, 0, 105000);
    assert_int_equal(s.fd, -1);
    spill_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_stay_in_memory_and_many_do_not),
        cmocka_unit_test(no_more_than_the_limit),
        cmocka_unit_test(a_full_disk),
    };
    assert(mkdtemp(state));
    setenv("XDG_STATE_HOME", state, 1);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    file_remove_tree(state);
    return failed;
}
