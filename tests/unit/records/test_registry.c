/* test_registry.c - names of sandboxes: which are allowed, who holds one, what is read back, what is swept;
 * and folders that somebody else has prepared.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "records/owner.h"
#include "records/record.h"
#include "records/registry.h"
#include "records/run_dir.h"

static char run[64];

static int setup(void **state)
{
    (void)state;
    snprintf(run, sizeof run, "/tmp/names-test-XXXXXX");
    return mkdtemp(run) && setenv("XDG_RUNTIME_DIR", run, 1) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return file_remove_tree(run);
}

static void test_names(void **state)
{
    static const char *const good[] = {"a", "A9", "my.work_1-b", "0"}, *const bad[] = {
                                                                           "",         ".",        "..",
                                                                           ".a",       "-a",       "a/b",
                                                                           "../x",     "a b",      "a\n",
                                                                           "\033[31m", "\xc3\xa9", "a;b",
                                                                           "$(x)",     "a*"};
    char long_name[REGISTRY_NAME_MAX + 2];
    struct error err;

    (void)state;
    for (size_t i = 0; i < countof(good); i++)
        assert_int_equal(registry_check_name(good[i], &err), 0);
    for (size_t i = 0; i < countof(bad); i++) {
        struct registry_hold h;

        assert_int_equal(registry_take(&h, bad[i], &err), -1);
        assert_int_equal(err.kind, ERROR_USAGE);
        assert_null(strchr(err.text, '\n'));
        registry_release(&h);
    }
    memset(long_name, 'x', sizeof long_name);
    long_name[REGISTRY_NAME_MAX] = '\0';
    assert_int_equal(registry_check_name(long_name, &err), 0);
    long_name[REGISTRY_NAME_MAX] = 'x';
    long_name[REGISTRY_NAME_MAX + 1] = '\0';
    assert_int_equal(registry_check_name(long_name, &err), -1);
}

/* The directory of a sandbox, with its record. owner NULL: ours. The caller frees the path. */
static char *sandbox(const char *id, const char *owner)
{
    char *dir = xasprintf("%s/sandpiper/%s", run, id);
    autofree char *self = owner_self();
    char *groups[] = {(char *)"/sys/fs/cgroup/pids/sandpiper-1-2-00000003", (char *)"/etc",
                      /* nothing of ours: is not read back */ NULL};
    const struct record r = {
        .dir = dir,
        .owner = owner ? (char *)owner : self,
        .engine = (char *)"bwrap",
        .named = true,
        .uid = 31337,
        .memory = INT64_C(1) << 40,
        .data_size = 7,
        .created = 1700000000,
        .idle = 60,
        .cpus = 0.5,
        .pids = 9,
        .holds_pids = true,
        .cgroups = {groups, 2, 0},
    };

    assert_int_equal(file_mkdirs(dir, 0700, NULL), 0);
    assert_int_equal(record_write(&r, NULL), 0);
    return dir;
}

/* Whoever wrote a record may have named anything in it, and may be anybody. */
static void test_a_record_of_others(void **state)
{
    static const struct {
        const char *container;
        bool ours;
    } rows[] = {{"sandpiper-0123456789abcdef", true},
                {"postgres", false},
                {"--all", false},
                {"sandpiper-0123456789abcdeg", false},
                {"sandpiper-0123456789abcdef0", false}};
    struct record back;

    (void)state;
    autofree char *dir = sandbox("0123456789abcde0", NULL), *file = xasprintf("%s/record", dir);
    for (size_t i = 0; i < countof(rows); i++) {
        const struct record r = {.dir = dir,
                                 .owner = (char *)"x",
                                 .engine = (char *)"docker",
                                 .container = (char *)rows[i].container};

        assert_int_equal(record_write(&r, NULL), 0);
        assert_int_equal(record_read(&back, dir), 0);
        assert_int_equal(back.container != NULL, rows[i].ours);
        record_release(&back);
    }
    assert_int_equal(chmod(file, 0622), 0);
    assert_int_equal(record_read(&back, dir), -1);
    assert_int_equal(errno, 0);
    assert_int_equal(file_remove_tree(dir), 0);
}

static void test_record(void **state)
{
    struct record back;
    struct registry_hold h;
    struct error err;

    (void)state;
    assert_int_equal(registry_take(&h, "work", &err), 0);
    assert_int_equal(h.used, 0);
    assert_int_equal(registry_look(&h, &back), REGISTRY_NEW);
    autofree char *dir = sandbox("0123456789abcdef", NULL);
    assert_int_equal(registry_store(&h, dir, &err), 0);
    assert_int_equal(registry_look(&h, &back), REGISTRY_ALIVE);
    assert_string_equal(back.engine, "bwrap");
    assert_string_equal(back.dir, dir);
    assert_null(back.container);
    assert_int_equal(owner_pid(back.owner), getpid());
    assert_int_equal(back.uid, 31337);
    assert_true(back.memory == INT64_C(1) << 40 && back.data_size == 7 && back.created == 1700000000
                && back.idle == 60 && back.pids == 9);
    assert_true(back.cpus > 0.49 && back.cpus < 0.51 && back.named && back.holds_pids && !back.holds_memory);
    assert_int_equal(back.cgroups.n, 1);
    record_release(&back);
    registry_release(&h);
    assert_true(registry_exists("work"));

    assert_int_equal(registry_take(&h, "work", &err), 0); /* let go: anybody may take it */
    assert_true(h.used > 0 && h.used <= time(NULL));
    /* It ended, and another program's sweep has removed all of it: known, and dead. */
    assert_int_equal(file_remove_tree(dir), 0);
    assert_int_equal(registry_look(&h, &back), REGISTRY_ENDED);
    assert_null(back.engine);
    record_release(&back);
    registry_forget(&h);
    registry_release(&h);
    assert_false(registry_exists("work"));
}

/* What somebody wrote into the file by hand, or half of it: no record. */
static void test_bad_records(void **state)
{
    static const char *const texts[] = {"",
                                        "{",
                                        "[]",
                                        "{\"engine\":\"docker\"}",
                                        "{\"engine\":\"bwrap\",\"owner\":7,\"memory\":1}",
                                        "{\"engine\":7,\"owner\":\"x\",\"memory\":1}",
                                        "{\"engine\":\"bwrap\",\"owner\":\"x\",\"memory\":0}",
                                        "{\"engine\":\"bwrap\",\"owner\":\"x\"}"};
    /* No sandbox of ours, however sound the record there. */
    static const char *const links[] = {"/etc/passwd", "..", "0123456789abcdeF", "x", "/"};
    autofree char *dir = sandbox("0123456789abcdef", NULL), *path = xasprintf("%s/record", dir),
                  *strange = sandbox("strange", NULL), *link = xasprintf("%s/sandpiper/names/x/sandbox", run);
    struct record r;
    struct registry_hold h;
    struct error err;

    (void)state;
    assert_int_equal(registry_take(&h, "x", &err), 0);
    assert_int_equal(registry_store(&h, dir, &err), 0);
    for (size_t i = 0; i < countof(texts); i++) {
        assert_int_equal(file_write(path, texts[i], strlen(texts[i]), &err), 0);
        assert_int_equal(registry_look(&h, &r), REGISTRY_NEW);
        record_release(&r);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* is not waited for */
    assert_int_equal(registry_look(&h, &r), REGISTRY_NEW);
    assert_int_equal(registry_store(&h, strange, &err), 0);
    assert_int_equal(registry_look(&h, &r), REGISTRY_NEW);
    for (size_t i = 0; i < countof(links); i++) {
        assert_int_equal(registry_store(&h, links[i], &err), 0);
        assert_int_equal(registry_look(&h, &r), REGISTRY_NEW);
    }
    assert_int_equal(unlink(link), 0);
    registry_release(&h);
}

/* With however few descriptors, a record that cannot be looked at is not one that has ended, nothing of it is
 * removed, and its owner is not dead. */
static bool never(void *ctx, const struct record *left)
{
    (void)ctx, (void)left;
    fail();
    return true;
}

static void test_few_descriptors(void **state)
{
    autofree char *dir = sandbox("0123456789abcdef", NULL), *record = xasprintf("%s/record", dir),
                  *self = owner_self();
    struct rlimit before, few;
    struct registry_hold h;
    struct error err;
    struct record r;

    (void)state;
    assert_int_equal(registry_take(&h, "idle", &err), 0);
    assert_int_equal(registry_store(&h, dir, &err), 0);
    registry_release(&h);
    assert_int_equal(registry_take(&h, "held", &err), 0);
    assert_int_equal(registry_store(&h, dir, &err), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int lowest = dup(h.lock);
    close(lowest);
    for (int more = 0; more < 8; more++) {
        few = (struct rlimit){.rlim_cur = (rlim_t)(lowest + more), .rlim_max = before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        enum registry_state seen = registry_look(&h, &r);
        bool dead = owner_dead(self), killed = owner_kill_pid(getppid(), 1, 0),
             silent = run_dir_silent("0123456789abcdef", 0);

        run_dir_dead(never, NULL);
        registry_sweep();
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(seen, more == 0 ? REGISTRY_UNSEEN : REGISTRY_ALIVE);
        assert_true(!dead && (more > 0 || (!killed && !silent)));
        assert_true(access(record, F_OK) == 0 && registry_exists("idle"));
        record_release(&r);
    }
    registry_forget(&h);
    registry_release(&h);
}

/* Another process holds it: its pid and since when are told. */
static void test_held(void **state)
{
    int up[2], down[2];
    struct registry_hold h;
    struct error err;
    char byte, pid_text[32];

    (void)state;
    assert_int_equal(pipe(up) | pipe(down), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (registry_take(&h, "work", &err) < 0 || write(up[1], "x", 1) != 1)
            _exit(1);
        close(down[1]);
        (void)!read(down[0], &byte, 1);
        _exit(0); /* without letting it go, as kill -9 would */
    }
    assert_int_equal(read(up[0], &byte, 1), 1);
    assert_int_equal(registry_take(&h, "work", &err), -1);
    assert_int_equal(err.kind, ERROR_SANDBOX);
    snprintf(pid_text, sizeof pid_text, "process %d since ", (int)pid);
    assert_non_null(strstr(err.text, pid_text));
    registry_release(&h);
    close(down[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(registry_take(&h, "work", &err), 0);
    registry_release(&h);
    for (int i = 0; i < 2; i++)
        close(up[i]);
    close(down[0]);
}

static void count(void *ctx, const char *name, const struct registry_holder *holder, const struct record *r)
{
    (void)name;
    *(int *)ctx += holder->pid == getpid() ? 100 : r ? 1 : 10;
}

static void test_sweep(void **state)
{
    struct registry_hold h, held;
    struct error err;
    int n = 0;

    (void)state;
    autofree char *me = owner_self();
    *strrchr(me, ':') = '\0';
    autofree char *other = xasprintf("%s:1", me); /* our pid, another start */
    autofree char *alive = sandbox("0000000000000001", NULL), *dead = sandbox("0000000000000002", other);
    assert_int_equal(registry_take(&h, "alive", &err), 0);
    assert_int_equal(registry_store(&h, alive, &err), 0);
    registry_release(&h);
    assert_int_equal(registry_take(&h, "dead", &err), 0);
    assert_int_equal(registry_store(&h, dead, &err), 0);
    registry_release(&h);
    assert_int_equal(registry_take(&held, "held", &err), 0);
    autofree char *half = xasprintf("%s/sandpiper/names/half", run);
    assert_int_equal(mkdir(half, 0700), 0); /* killed before it had a lock */
    registry_each(count, &n);
    assert_int_equal(n, 101); /* not the dead one */
    assert_true(registry_exists("half"));
    registry_sweep();
    assert_false(registry_exists("half"));
    assert_true(registry_exists("alive"));
    assert_false(registry_exists("dead"));
    assert_true(registry_exists("held"));
    registry_release(&held);
    assert_false(registry_exists("held")); /* nothing was recorded: nothing stays */
}

/* A folder that is a link, or that others may write to, is not used. */
static void test_strange_folders(void **state)
{
    autofree char *names = xasprintf("%s/sandpiper/names", run), *one = xasprintf("%s/x", names),
                  *elsewhere = xasprintf("%s/elsewhere", run);
    struct registry_hold h;
    struct error err;

    (void)state;
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_int_equal(file_mkdirs(names, 0700, &err), 0);
    assert_int_equal(symlink(elsewhere, one), 0);
    assert_int_equal(registry_take(&h, "x", &err), -1);
    assert_int_equal(unlink(one), 0);
    assert_int_equal(mkdir(one, 0700) | chmod(one, 0777), 0);
    assert_int_equal(registry_take(&h, "x", &err), -1);
    assert_int_equal(rmdir(one), 0);
    assert_int_equal(rmdir(names), 0);
    assert_int_equal(symlink(elsewhere, names), 0);
    assert_int_equal(registry_take(&h, "x", &err), -1);
    assert_int_equal(rmdir(elsewhere), 0); /* nothing came into it */
}

static bool nameless;

/* In place of libc's: a machine may have no name. */
int gethostname(char *name, size_t size)
{
    struct utsname u;

    if (uname(&u) != 0)
        return -1;
    snprintf(name, size, "%s", nameless ? "" : u.nodename);
    return 0;
}

static void test_owner_without_host_name(void **state)
{
    (void)state;
    nameless = true;
    autofree char *me = owner_self(), *other = xstrdup(me);
    *strrchr(other, ':') = '\0';
    autofree char *dead = xasprintf("%s:1", other);
    assert_int_equal(owner_check(me), OWNER_ALIVE);
    assert_int_equal(owner_check(dead), OWNER_DEAD);
    nameless = false;
}

static void (*before_flock)(void);

/* In place of libc's: something may happen just before. */
int flock(int fd, int operation)
{
    void (*fn)(void) = before_flock;

    before_flock = NULL;
    if (fn)
        fn();
    return (int)syscall(SYS_flock, fd, operation);
}

static struct registry_hold late;

/* Another sweep has removed the lock, but not yet the folder, when a program takes the name. */
static void take_late(void)
{
    autofree char *lock = xasprintf("%s/sandpiper/names/late/lock", run);
    struct error err;

    assert_int_equal(unlink(lock), 0);
    assert_int_equal(registry_take(&late, "late", &err), 0);
}

/* A lock that is no longer that of the name proves nothing. */
static void test_sweep_after_another(void **state)
{
    struct error err;

    (void)state;
    autofree char *dir = sandbox("0000000000000001", NULL);
    assert_int_equal(registry_take(&late, "late", &err), 0);
    assert_int_equal(registry_store(&late, dir, &err), 0);
    registry_release(&late);
    autofree char *link = xasprintf("%s/sandpiper/names/late/sandbox", run);
    assert_int_equal(unlink(link), 0);
    before_flock = take_late;
    registry_sweep();
    assert_true(registry_exists("late"));
    assert_int_equal(registry_store(&late, dir, &err), 0);
    registry_release(&late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_record, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_record_of_others, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_records, setup, teardown),
        cmocka_unit_test_setup_teardown(test_few_descriptors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_held, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sweep, setup, teardown),
        cmocka_unit_test_setup_teardown(test_owner_without_host_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sweep_after_another, setup, teardown),
        cmocka_unit_test_setup_teardown(test_strange_folders, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
