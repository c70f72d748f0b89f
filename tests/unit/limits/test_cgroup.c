/* test_engine_cgroup.c - control groups of both versions, in a directory that looks like the kernel's tree.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "limits/cgroup.h"

struct tree {
    char dir[64], self[80];
    struct cgroup_place place;
};

static const struct cgroup_limits limits = {.memory = 1 << 30, .cpus = 0.5, .pids = 128};

static void put(struct tree *t, const char *path, const char *text)
{
    autofree char *full = xasprintf("%s/%s", t->dir, path);
    char *slash = strrchr(full, '/');

    *slash = '\0';
    assert_int_equal(file_mkdirs(full, 0755, NULL), 0);
    *slash = '/';
    assert_int_equal(file_write(full, text, strlen(text), NULL), 0);
}

static int64_t kills_in(const char *dir)
{
    int fd = cgroup_kills_open(dir);
    int64_t n = cgroup_kills_read(fd);

    fd_close(&fd);
    return n;
}

static void expect_text(struct tree *t, const char *path, const char *want)
{
    autofree char *full = xasprintf("%s/%s", t->dir, path);
    struct buf b = BUF_INIT(4096);

    if (file_read(full, 4096, &b, NULL) != 0)
        fail_msg("%s is not there", path);
    assert_string_equal(buf_str(&b), want);
    buf_release(&b);
}

static bool there(struct tree *t, const char *path)
{
    autofree char *full = xasprintf("%s/%s", t->dir, path);

    return access(full, F_OK) == 0;
}

static int set_up(void **state)
{
    struct tree *t = xcalloc(1, sizeof *t);

    snprintf(t->dir, sizeof t->dir, "/tmp/sandpiper-test-XXXXXX");
    assert_non_null(mkdtemp(t->dir));
    snprintf(t->self, sizeof t->self, "%s/self", t->dir);
    t->place = (struct cgroup_place){.root = t->dir, .self = t->self};
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    struct tree *t = *state;

    file_remove_tree(t->dir);
    free(t);
    return 0;
}

static void make_tree_v1(struct tree *t)
{
    put(t, "self", "12:pids:/user\n8:cpu,cpuacct:/\n4:memory:/a/b\n1:name=systemd:/x\n0::/\n");
    put(t, "memory/a/b/cgroup.procs", "");
    put(t, "pids/user/cgroup.procs", "");
    put(t, "cpu,cpuacct/cgroup.procs", "");
}

static void test_v1(void **state)
{
    struct tree *t = *state;
    struct cgroup c;

    make_tree_v1(t);
    cgroup_make(&c, &t->place, "g", &limits);
    assert_int_equal(c.n, 3);
    assert_true(c.memory && c.pids && c.cpu);
    expect_text(t, "memory/a/b/g/memory.limit_in_bytes", "1073741824");
    expect_text(t, "memory/a/b/g/memory.memsw.limit_in_bytes", "1073741824");
    expect_text(t, "pids/user/g/pids.max", "128");
    expect_text(t, "cpu,cpuacct/g/cpu.cfs_quota_us", "50000");
    assert_int_equal(cgroup_add(&c, 1234567), 0);
    expect_text(t, "memory/a/b/g/cgroup.procs", "1234567");
    expect_text(t, "pids/user/g/cgroup.procs", "1234567");
    assert_int_equal(cgroup_add(&c, 7), 0);
    /* a file of a real tree takes each write as a command of its own */
    expect_text(t, "cpu,cpuacct/g/cgroup.procs", "7");
    put(t, "memory/a/b/g/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    assert_int_equal(kills_in(c.dirs[0]), 3);
    cgroup_remove(&c);
    assert_int_equal(c.n, 0);
}

static void expect_limits(struct tree *t, int64_t memory, int pids, double cpus)
{
    struct cgroup_limits held;

    cgroup_limits_of(&t->place, 0, &held);
    assert_int_equal(held.memory, memory);
    assert_int_equal(held.pids, pids);
    assert_true(held.cpus > cpus - 0.001 && held.cpus < cpus + 0.001);
}

static void test_limits_read_back(void **state)
{
    struct tree *t = *state;

    put(t, "self", "12:pids:/u\n8:cpu,cpuacct:/c\n4:memory:/m\n0::/\n");
    expect_limits(t, 0, 0, 0); /* nothing to be seen */
    put(t, "memory/m/memory.limit_in_bytes", "9223372036854771712\n");
    put(t, "pids/u/pids.max", "max\n");
    put(t, "cpu,cpuacct/c/cpu.cfs_quota_us", "-1\n");
    put(t, "cpu,cpuacct/c/cpu.cfs_period_us", "100000\n");
    expect_limits(t, 0, 0, 0); /* what the kernel writes for no limit */
    put(t, "memory/m/memory.limit_in_bytes", "1073741824\n");
    put(t, "pids/u/pids.max", "128\n");
    put(t, "cpu,cpuacct/c/cpu.cfs_quota_us", "50000\n");
    expect_limits(t, 1 << 30, 128, 0.5);
    put(t, "self", "0::/a/b\n");
    put(t, "a/b/memory.max", "max\n");
    put(t, "a/b/cpu.max", "max 100000\n");
    expect_limits(t, 0, 0, 0);
    put(t, "a/b/memory.max", "536870912\n");
    put(t, "a/b/pids.max", "64\n");
    put(t, "a/b/cpu.max", "150000 100000\n");
    expect_limits(t, 512 << 20, 64, 1.5);
}

/* The path in /proc/self/cgroup is of the host, but only a part is mounted: inside a container. */
static void test_v1_path_not_mounted(void **state)
{
    struct tree *t = *state;
    struct cgroup c;

    put(t, "self", "4:memory:/docker/0123\n");
    put(t, "memory/cgroup.procs", "");
    cgroup_make(&c, &t->place, "g", &limits);
    assert_int_equal(c.n, 1);
    assert_true(c.memory && !c.pids && !c.cpu);
    assert_true(there(t, "memory/g"));
    cgroup_remove(&c);
}

static void test_v2(void **state)
{
    struct tree *t = *state;
    struct cgroup c;

    put(t, "self", "0::/user.slice/app.slice/term.scope\n");
    put(t, "user.slice/app.slice/term.scope/cgroup.procs", "1\n");
    put(t, "user.slice/app.slice/cgroup.controllers", "cpu memory pids\n");
    put(t, "user.slice/app.slice/cgroup.subtree_control", "cpu memory pids\n");
    cgroup_make(&c, &t->place, "g", &limits);
    assert_int_equal(c.n, 1); /* beside us, not below: a group with processes has no limited children */
    assert_true(c.memory && c.pids && c.cpu);
    expect_text(t, "user.slice/app.slice/g/memory.max", "1073741824");
    expect_text(t, "user.slice/app.slice/g/memory.swap.max", "0");
    expect_text(t, "user.slice/app.slice/g/pids.max", "128");
    expect_text(t, "user.slice/app.slice/g/cpu.max", "50000 100000");
    put(t, "user.slice/app.slice/g/memory.events",
        "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\noom_group_kill 0\n");
    assert_int_equal(kills_in(c.dirs[0]), 1);
    cgroup_remove(&c);
}

/* One look a second, as memory.stat says it then. */
static bool look(struct tree *t, struct cgroup_thrash *thrash, long kept_mib, long again)
{
    autofree char *text = xasprintf("anon 9\nworkingset_refault_anon 0\nworkingset_refault_file %ld\n"
                                    "inactive_file %ld\nactive_file 4096\n",
                                    again, kept_mib << 20),
                  *dir = xasprintf("%s/g", t->dir);

    put(t, "g/memory.stat", text);
    autoclose int fd = cgroup_stat_open(dir);
    return cgroup_thrashes(thrash, fd, 1 << 30);
}

static void test_files_in_memory(void **state)
{
    struct tree *t = *state;
    autofree char *dir = xasprintf("%s/g", t->dir);

    put(t, "g/memory.stat", "anon 9\nshmem_thp 1\nshmem 7340032\ninactive_file 0\n");
    autoclose int fd = cgroup_stat_open(dir);
    assert_int_equal(cgroup_files_read(fd), 7340032);
    assert_int_equal(cgroup_files_read(-1), -1);
}

static void test_thrash(void **state)
{
    static const struct {
        long kept_mib, again; /* within a second */
        bool thrashes;
    } rows[] = {
        {1, 100000, true},   {30, 100000, true},
        {40, 200000, false}, /* a file read over and over has so much room */
        {1, 100, false},     {30, 20000, false},
        {1, 0, false},
    };
    struct tree *t = *state;
    struct cgroup_thrash none = {0};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cgroup_thrash thrash = {0};
        long again = 1000000;

        for (unsigned s = 0; s < 12; s++) {
            bool over = look(t, &thrash, rows[i].kept_mib, again);

            if (over != (rows[i].thrashes && s >= 3))
                fail_msg("row %zu, second %u: %d", i, s, over);
            again += rows[i].again;
        }
        look(t, &thrash, 500, again + 1); /* there is room again */
        assert_int_equal(thrash.seconds, 0);
    }
    for (int i = 0; i < 9; i++)
        assert_false(cgroup_thrashes(&none, -1, 1 << 30));
}

static void test_v2_without_cpu(void **state)
{
    struct tree *t = *state;
    struct cgroup c;

    put(t, "self", "0::/a/b\n");
    put(t, "a/cgroup.controllers", "memory pids\n");
    put(t, "a/cgroup.subtree_control", "memory pids\n");
    cgroup_make(&c, &t->place, "g", &limits);
    assert_int_equal(c.n, 1);
    assert_true(c.memory && c.pids && !c.cpu);
    assert_false(there(t, "a/g/cpu.max"));
    cgroup_remove(&c);
}

static void test_v2_turns_controllers_on(void **state)
{
    struct tree *t = *state;
    struct cgroup c;

    put(t, "self", "0::/a/b\n");
    put(t, "a/cgroup.controllers", "cpu memory pids\n");
    put(t, "a/cgroup.subtree_control", "\n");
    cgroup_make(&c, &t->place, "g", &limits);
    assert_int_equal(c.n, 1);
    expect_text(t, "a/cgroup.subtree_control", "+memory +pids");
    cgroup_remove(&c);
}

/* Nearest is not delegated; the next one up is. */
static void test_v2_goes_up(void **state)
{
    struct tree *t = *state;
    struct cgroup c;

    put(t, "self", "0::/a/b/c\n");
    put(t, "a/b/cgroup.controllers", "pids\n");
    put(t, "a/cgroup.controllers", "cpu memory pids\n");
    put(t, "a/cgroup.subtree_control", "memory pids cpu\n");
    cgroup_make(&c, &t->place, "g", &limits);
    assert_int_equal(c.n, 1);
    assert_true(there(t, "a/g") && !there(t, "a/b/g"));
    cgroup_remove(&c);
}

/* What systemd delegates to a user: older ones do not give cpu, and cpuset is another. */
static void test_delegated(void **state)
{
    struct tree *t = *state;

    assert_false(cgroup_delegated(&t->place, 1000, "memory"));
    put(t, "user.slice/user-1000.slice/user@1000.service/cgroup.controllers", "cpuset memory pids\n");
    assert_true(cgroup_delegated(&t->place, 1000, "memory"));
    assert_true(cgroup_delegated(&t->place, 1000, "pids"));
    assert_false(cgroup_delegated(&t->place, 1000, "cpu"));
    assert_false(cgroup_delegated(&t->place, 1001, "memory"));
}

static void test_nothing_to_be_had(void **state)
{
    struct tree *t = *state;
    struct cgroup c;
    static const char *const selves[] = {"",          "garbage", "0::/\n",  "0::/a\n", "4:memory:/x\n",
                                         ":::\n::\n", "0:",      "4:memory"};

    for (size_t i = 0; i < countof(selves); i++) {
        put(t, "self", selves[i]);
        cgroup_make(&c, &t->place, "g", &limits);
        assert_int_equal(c.n, 0);
        assert_int_equal(cgroup_add(&c, 1), 0);
        cgroup_remove(&c);
    }
    t->place.self = "/nonexistent";
    cgroup_make(&c, &t->place, "g", &limits);
    assert_int_equal(c.n, 0);
    assert_int_equal(kills_in("/nonexistent"), -1);
    assert_null(cgroup_memory_dir(&t->place, 999999999));
}

static bool all_dead(const char *name)
{
    return strcmp(name, "sandpiper-1-2-3") == 0;
}

static void test_sweep(void **state)
{
    struct tree *t = *state;

    make_tree_v1(t);
    static const char *const dirs[] = {"memory/a/b/sandpiper-1-2-3", "pids/user/sandpiper-1-2-3",
                                       "pids/user/sandpiper-4-5-6", "pids/user/other"};
    for (size_t i = 0; i < countof(dirs); i++) {
        autofree char *full = xasprintf("%s/%s", t->dir, dirs[i]);
        assert_int_equal(mkdir(full, 0755), 0);
    }
    cgroup_sweep(&t->place, "sandpiper-", all_dead);
    assert_false(there(t, dirs[0]) || there(t, dirs[1]));
    assert_true(there(t, dirs[2]) && there(t, dirs[3]));
}

/* Ours may be further up than beside us: where the controllers were delegated. */
static void test_sweep_v2(void **state)
{
    struct tree *t = *state;
    static const char *const dirs[] = {"a/b/sandpiper-1-2-3", "a/sandpiper-1-2-3", "sandpiper-1-2-3",
                                       "a/sandpiper-4-5-6"};

    put(t, "self", "0::/a/b/c\n");
    put(t, "a/b/c/cgroup.procs", "1\n");
    for (size_t i = 0; i < countof(dirs); i++) {
        autofree char *full = xasprintf("%s/%s", t->dir, dirs[i]);
        assert_int_equal(mkdir(full, 0755), 0);
    }
    assert_int_equal(cgroup_sweep(&t->place, "sandpiper-", all_dead), 3);
    assert_false(there(t, dirs[0]) || there(t, dirs[1]) || there(t, dirs[2]));
    assert_true(there(t, dirs[3]));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_v1),         T(test_limits_read_back), T(test_v1_path_not_mounted),
        T(test_v2),         T(test_v2_without_cpu),   T(test_v2_turns_controllers_on),
        T(test_v2_goes_up), T(test_delegated),        T(test_nothing_to_be_had),
        T(test_sweep),      T(test_files_in_memory),  T(test_thrash),
        T(test_sweep_v2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
