/* test_sweep.c - what killed programs left is removed: when, by what words, how often asked for, and how long
 * that is waited for. Engines are shell scripts that write down what they are asked.
 */
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "engine/engine.h"
#include "engine/engine_cache.h"
#include "process/child.h"
#include "process/signals.h"
#include "records/run_dir.h"

#include "engine/sweep.h"
#include "engine_place.h"
#include "records/owner.h"
#include "records/record.h"

#define MANY 40

/* The directory of a start. tail: NULL for our own, ":PID..." for a program of this machine, else somebody's
 * elsewhere. The caller frees. */
static char *left_behind(const char *id, const char *tail, const char *container)
{
    autofree char *run = xdg_path(XDG_RUNTIME, NULL), *me = owner_self();
    char *dir = xasprintf("%s/%s", run, id);

    if (tail && tail[0] == ':')
        *strrchr(me, ':') = '\0';
    autofree char *owner = xasprintf("%s%s", tail && tail[0] != ':' ? "" : me, tail ? tail : ""),
                  *file = xasprintf("%s/record", dir);
    autofree char *text = xasprintf(
        "{\"owner\":\"%s\",\"engine\":\"docker\",\"container\":\"%s\",\"cgroups\":[]}", owner, container);
    assert_int_equal(file_mkdirs(dir, 0700, NULL), 0);
    assert_int_equal(file_write(file, text, strlen(text), NULL), 0);
    return dir;
}

/* A program of this machine that is dead. The caller frees. */
static char *dead_owner(void)
{
    autofree char *me = owner_self();

    *strrchr(me, ':') = '\0';
    return xasprintf("%s:7", me);
}

static const char *nth(int i, const char *before)
{
    static char text[64];

    snprintf(text, sizeof text, "%s%016x", before, i + 1);
    return text;
}

static void leave_many(void)
{
    for (int i = 0; i < MANY; i++) {
        autofree char *container = xstrdup(nth(i, "sandpiper-"));
        free(left_behind(nth(i, ""), ":7", container));
    }
}

/* How many lines the log has; each must be the removal of one of them. */
static int removals_asked(const char *log)
{
    struct buf text = BUF_INIT(64 * 1024);
    int n = 0;

    assert_int_equal(file_read(log, 64 * 1024, &text, NULL), 0);
    for (const char *line = buf_str(&text); *line; line = strchr(line, '\n') + 1, n++)
        assert_int_equal(strncmp(line, "rm -f sandpiper-00000000000000", 30), 0);
    buf_release(&text);
    return n;
}

/* A docker that writes down what it is asked. The caller frees the path of its log. */
static char *logging_docker(struct place *p)
{
    char *log = xasprintf("%s/log", p->dir);
    autofree char *script = xasprintf("echo \"$*\" >> %s", log), *stamp = xdg_path(XDG_CACHE, "swept"),
                  *cache = xdg_path(XDG_CACHE, NULL);

    fake(p, "docker", script);
    assert_int_equal(file_mkdirs(cache, 0700, NULL), 0);
    assert_int_equal(file_write(stamp, "", 0, NULL), 0); /* no scan of labels */
    return log;
}

/* Directories of the dead go, their container with them; those of the living and of others stay. */
static void test_reap(void **state)
{
    struct place *p = *state;
    autofree char *log = logging_docker(p);
    autofree char *dead = left_behind("0000000000000001", ":7", "sandpiper-0000000000000001");
    autofree char *kept = left_behind("0000000000000002", NULL, "sandpiper-0000000000000002");
    /* nothing is removed by it */
    autofree char *no_name_of_ours = left_behind("0000000000000003", ":7", "somebody-elses");
    autofree char *other = left_behind("0000000000000004", "elsewhere/x/y:1:1", "sandpiper-0000000000000004");
    /* One whose removal was cut short; a pid of 1 with such a start time is nobody's. */
    autofree char *run = xdg_path(XDG_RUNTIME, NULL),
                  *half = xasprintf("%s/sandpiper-1-7-0000000000000005", run);

    assert_int_equal(file_mkdirs(half, 0700, NULL), 0);
    sweep_begin(p->loop);
    sweep_end(p->loop);
    assert_int_equal(entries(getenv("XDG_RUNTIME_DIR")), 2);
    assert_int_not_equal(access(dead, F_OK), 0);
    assert_int_not_equal(access(no_name_of_ours, F_OK), 0);
    assert_int_equal(access(kept, F_OK), 0);
    assert_int_equal(access(other, F_OK), 0);
    assert_int_equal(removals_asked(log), 1);
}

/* A killed program's client is still at work: its directory stays until that has ended, then goes with the
 * container. */
static void test_reap_waits_for_a_start(void **state)
{
    struct place *p = *state;
    autofree char *log = logging_docker(p),
                  *dir = left_behind("0000000000000001", ":7", "sandpiper-0000000000000001");
    const struct run_dir d = {.path = dir};

    assert_false(run_dir_held(dir));
    int fd = run_dir_hold(&d, NULL);
    assert_true(fd >= 0);
    char *const argv[] = {(char *)"/bin/sleep", (char *)"0.6", NULL};
    int keep[] = {fd, -1};
    struct child_options o = {
        .argv = argv, .in = CHILD_NULL, .out = CHILD_NULL, .err = CHILD_NULL, .keep = keep};
    struct child *client = child_start(&o, NULL);
    close(fd);
    assert_true(run_dir_held(dir));
    sweep_begin(p->loop);
    for (int64_t end = clock_ms() + 400; clock_ms() < end;)
        loop_wait(p->loop, 50);
    assert_int_equal(access(dir, F_OK), 0);
    assert_int_not_equal(access(log, F_OK), 0);
    sweep_end(p->loop);
    assert_true(run_dir_empty());
    assert_int_equal(access(log, F_OK), 0);
    assert_true(child_wait(client, 20000));
    child_free(client);
}

/* A daemon may refuse at the moment when the container ends by itself: asked again, and only then is the
 * directory gone. */
static void test_reap_asks_again(void **state)
{
    struct place *p = *state;
    autofree char *log = logging_docker(p),
                  *dir = left_behind("0000000000000001", ":7", "sandpiper-0000000000000001");
    autofree char *script = xasprintf(
        "cd %s; echo \"$*\" >> log\n"
        "[ -e asked ] || { : > asked; echo 'Could not kill running container' >&2; exit 1; }",
        p->dir);

    fake(p, "docker", script);
    sweep_begin(p->loop);
    sweep_end(p->loop);
    assert_true(run_dir_empty());
    assert_int_not_equal(access(dir, F_OK), 0);
    assert_int_equal(removals_asked(log), 2);
}

/* "In progress" is not "gone": it is asked for until it is. */
static void test_reap_waits_for_what_is_in_progress(void **state)
{
    struct place *p = *state;
    autofree char *log = logging_docker(p),
                  *dir = left_behind("0000000000000001", ":7", "sandpiper-0000000000000001");
    autofree char *script = xasprintf("cd %s; echo \"$*\" >> log\n[ -e asked ] || { : > asked; echo 'removal "
                                      "of container x is already in progress' >&2; exit 1; }\n"
                                      "echo 'Error: No such container: x' >&2; exit 1",
                                      p->dir);
    struct sweep_result swept = {0};

    fake(p, "docker", script);
    sweep_now(p->loop, &swept);
    assert_int_equal(swept.sandboxes, 1);
    assert_int_equal(removals_asked(log), 2);
    assert_int_not_equal(access(dir, F_OK), 0);
}

/* A process that stands for the first one inside. */
static struct child *start_inside(void)
{
    char *const argv[] = {(char *)"/bin/sleep", (char *)"60", NULL};
    struct child_options o = {.argv = argv, .in = CHILD_NULL, .out = CHILD_NULL, .err = CHILD_NULL};

    return child_start(&o, NULL);
}

static char *left_with_inside(const char *id, const char *engine, pid_t inside)
{
    autofree char *container = xasprintf("sandpiper-%s", id), *dead = dead_owner(), *who = owner_of(inside);
    char *dir = left_behind(id, ":7", container);
    const struct record r = {.dir = dir,
                             .owner = dead,
                             .engine = (char *)engine,
                             .container = strcmp(engine, "bwrap") ? container : NULL,
                             .inside = who};

    assert_int_equal(record_write(&r, NULL), 0);
    return dir;
}

/* bwrap's first process is ended by its record; a container is not gone while its first process runs,
 * whatever its engine says. */
static void test_reap_looks_inside(void **state)
{
    struct place *p = *state;
    autofree char *log = logging_docker(p);
    struct child *one = start_inside(), *other = start_inside();
    autofree char *bwrap = left_with_inside("0000000000000001", "bwrap", one->pid),
                  *docker = left_with_inside("0000000000000002", "docker", other->pid);
    struct sweep_result swept = {0};

    sweep_now(p->loop, &swept);
    assert_true(child_wait(one, 0));
    assert_int_equal(swept.sandboxes, 1);
    assert_int_equal(swept.failed, 1);
    assert_string_equal(swept.left, "the container sandpiper-0000000000000002 of docker");
    assert_int_not_equal(access(bwrap, F_OK), 0);
    assert_int_equal(access(docker, F_OK), 0);
    child_free(one);
    child_free(other);
    swept = (struct sweep_result){0};
    sweep_now(p->loop, &swept);
    assert_int_equal(swept.sandboxes, 1);
    assert_int_equal(swept.failed, 0);
    assert_true(run_dir_empty());
    assert_int_equal(removals_asked(log), 6);
}

/* While its keeper is at work a dead program's directory is nobody else's business. */
static void test_reap_leaves_it_to_the_keeper(void **state)
{
    struct place *p = *state;
    autofree char *log = logging_docker(p),
                  *dir = left_behind("0000000000000001", ":7", "sandpiper-0000000000000001");
    int keep = run_dir_keep(&(struct run_dir){.path = dir}, NULL);

    assert_true(keep >= 0);
    sweep_begin(p->loop);
    sweep_end(p->loop);
    assert_int_equal(access(dir, F_OK), 0);
    assert_int_equal(run_dir_ending(), 1);
    assert_int_not_equal(access(log, F_OK), 0);
    close(keep);
    assert_int_equal(run_dir_ending(), 0);
    sweep_begin(p->loop);
    sweep_end(p->loop);
    assert_true(run_dir_empty());
}

/* A daemon that is not there is not asked again, nor for the others; the end does not wait for it. */
static void test_reap_nobody_to_ask(void **state)
{
    struct place *p = *state;
    autofree char *log = logging_docker(p);
    autofree char *script = xasprintf(
        "echo \"$*\" >> %s\n"
        "echo 'Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?' >&2; exit 1",
        log);
    int64_t begun = clock_ms();

    leave_many();
    fake(p, "docker", script);
    sweep_begin(p->loop);
    sweep_end(p->loop);
    assert_true(clock_ms() - begun < 1500);
    assert_int_equal(entries(getenv("XDG_RUNTIME_DIR")), MANY); /* for the next start */
    assert_in_range(removals_asked(log), 1, 8);
}

/* A crash of the machine may leave a record empty: nobody's directory, but not while somebody may just be
 * making it. */
static void test_reap_without_record(void **state)
{
    struct place *p = *state;
    autofree char *log = logging_docker(p), *dir = left_behind("0000000000000001", ":7", "x"),
                  *file = xasprintf("%s/record", dir);
    const struct timespec day[] = {{.tv_sec = time(NULL) - 86400}, {.tv_sec = time(NULL) - 86400}};

    (void)log;
    assert_int_equal(truncate(file, 0), 0);
    sweep_begin(p->loop);
    assert_int_equal(access(dir, F_OK), 0);
    assert_int_equal(utimensat(AT_FDCWD, dir, day, 0), 0);
    sweep_begin(p->loop);
    assert_true(run_dir_empty());
}

static bool dead_one(void *ctx, const struct record *left)
{
    (void)left;
    ++*(int *)ctx;
    return true;
}

/* With no descriptor left for the record nothing is known of an old directory: it stays. */
static void test_reap_without_descriptors(void **state)
{
    struct place *p = *state;
    autofree char *dir = left_behind("0000000000000001", NULL, "x");
    const struct timespec day[] = {{.tv_sec = time(NULL) - 86400}, {.tv_sec = time(NULL) - 86400}};
    struct rlimit before, few;
    int told = 0, lowest = dup(0);

    (void)p;
    assert_int_equal(utimensat(AT_FDCWD, dir, day, 0), 0);
    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){(rlim_t)lowest + 1, before.rlim_max}; /* one, for the folder */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    run_dir_dead(dead_one, &told);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(told, 0);
    assert_int_equal(access(dir, F_OK), 0);
}

/* So many containers that the list is cut: the last line, of a living program, has lost the end of its start
 * time. */
static void test_scan_of_a_list_that_is_cut(void **state)
{
    struct place *p = *state;
    const size_t caps[] = {16 * 1024, 256 * 1024};
    autofree char *log = logging_docker(p), *list = xasprintf("%s/list", p->dir), *me = owner_self();
    autofree char *script = xasprintf("case $1 in ps) exec /bin/cat %s;; esac; echo \"$*\" >> %s", list, log);
    autofree char *line = xasprintf("sandpiper-0000000000000001 %s\n", me);
    const struct engine_cached memory = {.engine = (char *)"docker"};
    struct sweep_result swept = {0};

    fake(p, "docker", script);
    engine_cache_store(&p->o, &memory);
    for (size_t i = 0; i < countof(caps); i++) {
        struct buf text = {0};
        size_t len = strlen(line);

        do
            buf_addch(&text, '\n');
        while ((caps[i] - text.len) % len != len - 2); /* the newline and a digit do not fit */
        while (text.len < caps[i] + len)
            buf_addstr(&text, line);
        assert_int_equal(file_write(list, text.data, text.len, NULL), 0);
        buf_release(&text);
        swept = (struct sweep_result){0};
        sweep_now(p->loop, &swept);
        assert_int_equal(swept.sandboxes + swept.failed, 0);
        assert_int_not_equal(access(log, F_OK), 0);
    }
}

/* By their labels: of the dead of this boot all; of an earlier boot only podman's, for another machine of our
 * name may share a docker daemon. */
static void test_scan_of_labels(void **state)
{
    static const char *const engines[] = {"docker", "podman"};
    struct place *p = *state;
    autofree char *log = logging_docker(p), *list = xasprintf("%s/list", p->dir), *dead = dead_owner(),
                  *other = xstrdup(dead);
    autofree char *script = xasprintf("case $1 in ps) exec /bin/cat %s;; esac; echo \"$0 $*\" >> %s", list,
                                      log);
    struct sweep_result swept = {0};

    char *boot = strchr(other, '/') + 1;
    *boot = *boot == 'f' ? 'e' : 'f';
    autofree char *lines = xasprintf(
        "sandpiper-0000000000000001 %s\nsandpiper-0000000000000002 %s\nsomebody-elses %s\n", dead, other,
        dead);
    assert_int_equal(file_write(list, lines, strlen(lines), NULL), 0);
    for (size_t i = 0; i < countof(engines); i++) {
        const struct engine_cached memory = {.engine = (char *)engines[i]};

        fake(p, engines[i], script);
        engine_cache_store(&p->o, &memory);
        p->o.memory++; /* both are remembered */
    }
    sweep_now(p->loop, &swept);
    assert_int_equal(swept.sandboxes, 3);
    struct buf text = BUF_INIT(4096);
    assert_int_equal(file_read(log, 4096, &text, NULL), 0);
    assert_non_null(strstr(buf_str(&text), "docker rm -f sandpiper-0000000000000001\n"));
    assert_null(strstr(buf_str(&text), "docker rm -f sandpiper-0000000000000002\n"));
    assert_non_null(strstr(buf_str(&text), "podman rm -f -t 0 sandpiper-0000000000000002\n"));
    buf_release(&text);
}

/* More than the loop could watch at a time: all are removed, a few at a time. */
static void test_reap_many(void **state)
{
    struct place *p = *state;
    autofree char *log = logging_docker(p);
    autofree char *script = xasprintf("PATH=/usr/bin:/bin; cd %s; mkdir now-$$; set -- \"$*\" now-*; [ $# "
                                      "-le 5 ] || echo $# at once >> log\n"
                                      "echo \"$1\" >> log; sleep 0.02; rmdir now-$$",
                                      p->dir);

    leave_many();
    fake(p, "docker", script);
    sweep_begin(p->loop);
    /* a machine under load may need more than the time of one end */
    for (int i = 0; i < 5 && !run_dir_empty(); i++)
        sweep_end(p->loop);
    assert_true(run_dir_empty());
    assert_int_equal(removals_asked(log), MANY);
}

/* A client that hangs does not keep the user: the end has its time, an interrupt ends it at once, and the
 * next start does not wait for it again. */
static void test_reap_end_is_bounded(void **state)
{
    struct place *p = *state;
    autofree char *log = logging_docker(p),
                  *old = left_behind("0000000000000001", ":7", "sandpiper-0000000000000001");
    autofree char *tried = xasprintf("%s/late", old);
    int64_t begun = clock_ms();

    (void)log;
    fake(p, "docker", "exec /bin/sleep 6");
    assert_int_equal(file_write(tried, "", 0, NULL), 0);
    sweep_begin(p->loop);
    sweep_end(p->loop); /* an earlier start has waited for it */
    assert_true(clock_ms() - begun < 1000);
    autofree char *new = left_behind("0000000000000002", ":7", "sandpiper-0000000000000002"),
                  *mark = xasprintf("%s/late", new);
    sweep_begin(p->loop);
    loop_interrupt(p->loop);
    sweep_end(p->loop);
    assert_true(clock_ms() - begun < 1000);
    assert_int_not_equal(access(mark, F_OK), 0);
    loop_arm(p->loop);
    begun = clock_ms();
    sweep_end(p->loop);
    assert_in_range(clock_ms() - begun, 2900, 5500);
    assert_int_equal(access(mark, F_OK), 0);
}

/* "docker run" does not come to its end: it is killed, and what it may still make is for the next start. */
static void test_a_client_that_hangs(void **state)
{
    struct place *p = *state;
    autofree char *log = logging_docker(p), *run = xdg_path(XDG_RUNTIME, NULL);
    autofree char *script = xasprintf(
        "case \" $* \" in *' run '*) exec /bin/sleep 60;; esac; echo \"$*\" >> %s", log);

    fake(p, "docker", script);
    p->o.engine = "docker";
    struct engine_run *r = begin(p, "G");
    for (int64_t end = clock_ms() + 5000; entries(getenv("XDG_RUNTIME_DIR")) == 0 && clock_ms() < end;)
        loop_wait(p->loop, 50);
    loop_wait(p->loop, 50);
    engine_end(r);
    assert_int_equal(entries(getenv("XDG_RUNTIME_DIR")), 1);
    glob_t found;
    autofree char *pattern = xasprintf("%s/*", run);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    autofree char *dead = dead_owner(),
                  *container = xasprintf("sandpiper-%s", strrchr(found.gl_pathv[0], '/') + 1);
    const struct record record = {
        .dir = found.gl_pathv[0], .owner = dead, .engine = (char *)"docker", .container = container};
    assert_int_equal(record_write(&record, NULL), 0);
    globfree(&found);
    sweep_begin(p->loop);
    sweep_end(p->loop);
    assert_true(run_dir_empty());
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_reap),
        T(test_reap_waits_for_a_start),
        T(test_reap_asks_again),
        T(test_reap_nobody_to_ask),
        T(test_reap_waits_for_what_is_in_progress),
        T(test_reap_looks_inside),
        T(test_reap_leaves_it_to_the_keeper),
        T(test_reap_without_record),
        T(test_reap_without_descriptors),
        T(test_scan_of_a_list_that_is_cut),
        /* the last: what it leaves under way stays so */
        T(test_scan_of_labels),
        T(test_reap_many),
        T(test_a_client_that_hangs),
        T(test_reap_end_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
