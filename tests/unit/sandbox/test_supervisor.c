/* test_supervisor.c - a supervisor that is gone, hostile or deaf: the program says so and goes on. */
#include "process/signals.h"
#include "sandbox/private.h" /* answer_ms, which is a minute; taken: as by an earlier program */
#include "tests/unit/sandbox/channel_place.h"

/* The supervisor itself goes: the container was removed, or hostile code took it. */
static void test_loss(void **state)
{
    struct error err = {0};

    (void)state;
    want("a = 1", CELL_OK);
    kill(fake.pid, SIGKILL);
    waitid(P_PID, (id_t)fake.pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
    want("print(2)", CELL_OK);
    assert_true(r.state_lost);
    assert_true(r.files_lost);
    has(said, "container was removed");
    assert_int_equal(fake.starts, 2);
    want("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nimport time\ntime.sleep(1)", CELL_DIED);
    assert_true(r.files_lost);
    want_out("print(3)", "3\n");
    assert_false(r.state_lost);
    assert_int_equal(fake.starts, 3);
    kill(fake.pid, SIGSTOP);
    want("print(4)", CELL_TIMEOUT);
    assert_true(r.files_lost && r.state_lost);
    assert_true(r.seconds < 30);
    want_out("print(5)", "5\n");
    kill(fake.pid, SIGKILL);
    usleep(50000);
    fake.fail_starts = 1;
    cell_result_release(&r);
    assert_int_equal(sandbox_run(box, "1", 1, NULL, &r, &err), -1);
    assert_int_equal(err.kind, ERROR_SANDBOX);
    want_out("print(6)", "6\n");
}

#define GREETING                                                                                             \
    "printf "                                                                                                \
    "'\\017\\000\\000\\000H\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0v\\001\\000\\000\\0001p\\004\\00" \
    "0\\000\\0003.11';"

/* A peer that is not our supervisor at all. */
static void test_hostile_peer(void **state)
{
    static const char *const peers[] = {
        "printf 'HTTP/1.1 200 OK\\r\\n\\r\\n this is not a frame, not at all'; sleep 9",
        "printf '\\377\\377\\377\\377H0123456789abcdef'; sleep 9",
        "printf '\\005\\000\\000\\000H0123456789abcdefv\\377\\000\\000\\000'; sleep 9",
        "printf '\\000\\000\\000\\000Z0123456789abcdef'; sleep 9",
        "cat /dev/zero",
        "exit 0",
        "exec 0<&- 1>&-; sleep 9",
    };
    struct error err = {0};

    (void)state;
    for (size_t i = 0; i < countof(peers); i++) {
        int64_t began = clock_ms();

        fake.instead = peers[i];
        fake.rejected = 0;
        if (sandbox_run(box, "1", 1, NULL, &r, &err) == 0)
            fail_msg("peer %zu ran a cell", i);
        assert_int_equal(err.kind, ERROR_SANDBOX);
        assert_int_equal(fake.rejected, 1);
        assert_true(clock_ms() - began < 8000);
    }
    /* A true greeting, then frames that nobody asked for. */
    fake.instead = GREETING "head -c 25 > /dev/null; printf '\\000\\000\\000\\000Z0123456789abcdef'; sleep 9";
    cell_result_release(&r);
    loop_arm(loop);
    /* It may come before the cell is sent (the start failed) or after (the cell died): never a result. */
    if (sandbox_run(box, "1", 1, NULL, &r, &err) < 0) {
        has(err.text, "nobody asked for");
    } else {
        assert_int_equal(r.status, CELL_DIED);
        assert_true(r.files_lost);
        has(r.what, "nobody asked for");
    }
    fake.instead = NULL;
}

/* It cannot make us say that the kernel has killed for memory. */
static void test_forged_memory_kill(void **state)
{
    struct error err = {0};

    (void)state;
    fake.instead = GREETING "exec /usr/bin/python3 -c 'import os\n"
                            "while 1:\n"
                            " h = b\"\"\n"
                            " while len(h) < 21: h += os.read(0, 21 - len(h))\n"
                            " n = int.from_bytes(h[:4], \"little\")\n"
                            " while n: n -= len(os.read(0, n))\n"
                            " if h[4:5] == b\"R\": os.write(1, b\"\\15\\0\\0\\0Z\" + h[5:21] + "
                            "b\"w\\1\\0\\0\\0009o\\2\\0\\0\\0-1\")'";
    assert_int_equal(sandbox_run(box, "1", 1, NULL, &r, &err), 0);
    assert_int_equal(r.status, CELL_DIED);
    fake.instead = NULL;
}

/* A peer that takes nothing more in the middle of a file: it is given up, not waited for. */
static void test_peer_that_takes_nothing(void **state)
{
    struct error err = {0};
    autoclose int source = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    int64_t began = clock_ms();

    (void)state;
    fake.instead = GREETING "exec sleep 60";
    assert_int_equal(sandbox_put(box, "zero", source, &err), -1);
    assert_int_equal(err.kind, ERROR_SANDBOX);
    has(err.text, "stopped reading");
    assert_in_range(clock_ms() - began, 9000, 30000);
    fake.instead = NULL;
}

/* The supervisor takes what comes, slowly: every piece of it is a sign of life, and the deadline moves on. */
static void test_slow_put(void **state)
{
    struct error err = {0};
    int fd[2];
    pid_t writer;

    (void)state;
    fake.prelude = "import posix, time\n"
                   "read = posix.read\n"
                   "def slow(fd, most):\n"
                   "    data = read(fd, most)\n"
                   "    if len(data) > 20000: time.sleep(0.1)\n"
                   "    return data\n"
                   "posix.read = slow\n";
    want("1", CELL_OK);
    box->answer_ms = 1000; /* the socket takes more when three quarters of it are read, about 0.6 s */
    assert_int_equal(pipe(fd), 0);
    writer = fork();
    if (writer == 0) {
        static char data[3 << 19];

        _exit(write(fd[1], data, sizeof data) == (ssize_t)sizeof data ? 0 : 1);
    }
    close(fd[1]);
    int64_t begun = clock_ms();
    if (sandbox_put(box, "slow", fd[0], &err) != 3 << 19)
        fail_msg("%s", err.text);
    assert_true(clock_ms() - begun > 1200); /* else it was not slow enough to prove anything */
    close(fd[0]);
    waitpid(writer, NULL, 0);
    want("import os\nos.path.getsize('slow')", CELL_OK);
    assert_string_equal(r.value, "1572864");
    assert_int_equal(fake.starts, 1);
}

static void put_arguments(const char *second, const char *code, const char *value)
{
    char *const argv[] = {(char *)"script.py", (char *)second};
    struct error err = {0};

    if (sandbox_set_arguments(box, argv, 2, &err) < 0)
        fail_msg("%s", err.text);
    want(code, CELL_OK);
    if (!r.value || strcmp(r.value, value) != 0)
        fail_msg("%s gave %s, wanted %s", code, r.value ? r.value : "nothing", value);
}

static void test_arguments(void **state)
{
    struct error err = {0};
    char *const none[] = {(char *)""};

    (void)state;
    put_arguments("b c'\xff", "from sys import argv\nargv", "['script.py', \"b c'\\udcff\"]");
    put_arguments("d", "argv", "['script.py', 'd']");
    want(
        "import sys, threading, time\ndel sys.argv\n"
        "threading.Thread(target=lambda: [(print('late', flush=True), time.sleep(0.001)) for i in range(100)]"
        ").start()",
        CELL_OK);
    for (int i = 0; i < 20; i++) /* what the thread prints meanwhile is nobody's */
        put_arguments("e", "__import__('sys').argv", "['script.py', 'e']");
    want("import os\ntime.sleep(0.3)\nthreading.Timer(0.05, os._exit, (3,)).start()", CELL_OK);
    usleep(200000);
    assert_int_equal(sandbox_set_arguments(box, none, 1, &err), 0);
    want("1", CELL_OK);
    assert_true(r.state_lost); /* told once, by the next cell of the user's */
    assert_int_equal(fake.starts, 1);
}

static void want_inventory(const char *wanted)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    box->o.run.name = (char *)"demo";
    box->taken = true;
    sandbox_inventory(box, &text);
    box->o.run.name = NULL;
    box->taken = false;
    assert_string_equal(buf_str(&text), wanted);
}

static void test_inventory(void **state)
{
    (void)state;
    want("x = 1\nimport os\n_hidden = 2\nprint = list = type = 3\n"
         "class M(__import__('builtins').type):\n"
         "    @property\n"
         "    def __name__(self):\n"
         "        while True: pass\n"
         "class Sly(metaclass=M): pass\n"
         "df = Sly()\nglobals()[7] = 8\n"
         "open('a.csv', 'w').write('1')\nos.mkdir('d')\nopen('d/b', 'w').write('2')\n"
         "open('.c', 'w').write('3');",
         CELL_OK);
    want_inventory(
        "variables df (Sly), Sly (M), M (type), type (int), list (int), print (int), x (int); files "
        "in /mnt/data: a.csv, d");
    assert_int_equal(sandbox_cells(box), 1);
    /* An interpreter that does not answer costs the variables, and nothing else. */
    want("import signal\nsignal.signal(14, lambda *_: os.kill(os.getpid(), signal.SIGSTOP))\n"
         "signal.setitimer(signal.ITIMER_REAL, 0.05);",
         CELL_OK);
    usleep(1000000);
    want_inventory("files in /mnt/data: a.csv, d");
    want("x", CELL_TIMEOUT);
    want("1", CELL_OK);
    assert_int_equal(fake.starts, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_loss),     T(test_hostile_peer), T(test_forged_memory_kill), T(test_peer_that_takes_nothing),
        T(test_slow_put), T(test_arguments),    T(test_inventory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
