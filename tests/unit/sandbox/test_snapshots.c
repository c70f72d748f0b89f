/* test_snapshots.c - a cell that ends the interpreter, and the copy that goes on in its place. */
#include <sys/mman.h>

#include "process/signals.h"
#include "tests/unit/sandbox/channel_place.h"

/* Longer than the supervisor's INTERVAL: however busy the machine is, what ended before the pause is in a
 * snapshot when the next cell begins. */
#define PAUSE_US 60000
/* The worker's own functions, for code that is hostile to them. */
#define GLOBALS                                                                                          \
    "import sys, os, socket\nf = sys._getframe()\nwhile 'WORKER' not in f.f_globals: f = f.f_back\nG = " \
    "f.f_globals\n"

/* Ctrl-C while files go out: when the worker that printed its pid is dead and reaped. */
static void press_when_gone(void *ctx)
{
    pid_t pid = (pid_t)strtol(buf_str(&seen.out), NULL, 10);

    if (pid > 1 && kill(pid, 0) < 0)
        loop_interrupt(loop);
    else
        loop_timer(loop, clock_ms() + 1, press_when_gone, ctx);
}

static void on_output_press(void *ctx, int stream, const char *text, size_t len)
{
    on_output(ctx, stream, text, len);
    loop_timer(loop, clock_ms() + 1, press_when_gone, &seen);
}

static void press_when_saving(const struct phase_now *now)
{
    if (now->phase == PHASE_SAVING && loop_interrupts(loop) == 0)
        loop_interrupt(loop);
}

static const struct cell_listener pressing = {.ctx = &seen, .output = on_output_press};

static int setup_on(void **state)
{
    (void)state;
    return setup_with(20000, "snapshots=1");
}

static int setup_off(void **state)
{
    (void)state;
    return setup_with(20000, "snapshots=0");
}

static void want_value(const char *code, const char *value)
{
    want(code, CELL_OK);
    if (!r.value || strcmp(r.value, value) != 0)
        fail_msg("%s gave %s, wanted %s (what: %s)", code, r.value ? r.value : "nothing", value,
                 said ? said : "-");
}

/* The cell died, and x is what it was before. */
static void want_restored(const char *code, enum cell_status status, const char *how, const char *x)
{
    usleep(PAUSE_US); /* so that there is a snapshot of what x is now */
    want(code, status);
    if (!r.state_restored || r.state_lost)
        fail_msg("not restored: %s\ncode: %s", said, code);
    has(said, how);
    has(said, "ariables are back to what they were before this code");
    assert_null(strstr(said, "this code and"));
    want_value("x", x);
    assert_false(r.state_restored || r.state_lost);
    assert_null(said);
}

/* Run it, and wait until there is a snapshot of what it left: a child of the supervisor that the cell itself
 * did not see. */
static void want_kept(const char *code)
{
    autofree char *path = xasprintf("/proc/%d/task/%d/children", (int)fake.pid, (int)fake.pid);
    autofree char *all = xasprintf("%s\nopen('%s').read()", code, path);
    int64_t until = clock_ms() + 20000;

    want(all, CELL_OK);
    r.value[0] = ' '; /* in place of its quote, so that a space stands on both sides of each */
    for (bool made = false; !made; usleep(1000)) {
        FILE *f = fopen(path, "re");
        int pid;

        assert_non_null(f);
        while (!made && fscanf(f, "%d", &pid) == 1) {
            autofree char *word = xasprintf(" %d ", pid);
            made = !strstr(r.value, word);
        }
        fclose(f);
        if (clock_ms() > until)
            fail_msg("no snapshot is made");
    }
}

static void want_lost(const char *code, enum cell_status status, const char *why)
{
    want(code, status);
    if (!r.state_lost || r.state_restored)
        fail_msg("not lost: %s\ncode: %s", said, code);
    has(said, "Variables are gone");
    has(said, why);
    want("x", CELL_EXCEPTION);
}

static void test_deaths(void **state)
{
    (void)state;
    want("import os, signal, ctypes, time, sys, random\nx = [1]\nrandom.seed(3)", CELL_OK);
    want_restored("x.append(2)\nprint('before', flush=True)\nos._exit(3)", CELL_DIED, "os._exit, exit code 3",
                  "[1]");
    want("print('before', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)", CELL_DIED);
    assert_string_equal(buf_str(&seen.out), "before\n");
    /* two in a row */
    want_restored("os.kill(os.getpid(), signal.SIGKILL)", CELL_DIED, "SIGKILL", "[1]");
    want_restored("x = 5\nctypes.string_at(0)", CELL_DIED, "SIGSEGV", "[1]");
    want_restored("x.append(3)\nos.closerange(0, 1024)", CELL_DIED, "descriptors", "[1]");
    want_restored("x = 6\nos.abort()", CELL_DIED, "SIGABRT", "[1]");
    want_restored("signal.signal(2, signal.SIG_IGN)\nwhile True: pass", CELL_TIMEOUT, "ignored the interrupt",
                  "[1]");
    fake.memory_kills = 1;
    want_restored("os.kill(os.getpid(), signal.SIGKILL)", CELL_MEMORY, "out of memory (limit 1 GiB)", "[1]");
    /* one that was counted before the cell */
    fake.memory_of_files = INT64_C(1000) << 20;
    want_restored("os.kill(os.getpid(), signal.SIGKILL)", CELL_MEMORY,
                  "(limit 1 GiB, of which files in /mnt/data, /tmp and /dev/shm take 1000 MiB)", "[1]");
    fake.memory_of_files = 0;
    /* All that the state is: what a failed cell did counts, and random goes on where it was. */
    want("x = 7\n1 / 0", CELL_EXCEPTION);
    want_restored("os._exit(0)", CELL_DIED, "os._exit", "7");
    want("random.seed(3)\na, x = random.random(), 0", CELL_OK);
    want_restored("os._exit(0)", CELL_DIED, "os._exit", "0");
    want("x = random.random()\nrandom.seed(3)\n(random.random(), random.random()) == (a, x)", CELL_OK);
    assert_string_equal(r.value, "True");
    /* What it makes is sent as ever, and what it wrote before it died stays. */
    want("open('late.txt', 'w').write('kept');\nos._exit(1)", CELL_DIED);
    assert_int_equal(r.n_files, 1);
    want_value("open('late.txt').read()", "'kept'");
    want_value("sum(range(10))\nos.getpid() == os.getpgid(0) and sys.stdin.read()", "''");
    assert_int_equal(fake.starts, 1);
}

static void test_interrupts_still_work(void **state)
{
    (void)state;
    want("import os, time\nx = 1", CELL_OK);
    want("os._exit(0)", CELL_DIED);
    want("x = 2\ntime.sleep(60)", CELL_TIMEOUT);
    assert_false(r.state_lost || r.state_restored);
    has(said, "Variables are kept");
    want_value("x", "2");
}

/* The worker dies when there is a snapshot of what the cell left. */
static void want_kept_and_die(const char *code)
{
    want("os.getpid()", CELL_OK);
    pid_t pid = (pid_t)strtol(r.value, NULL, 10);
    want_kept(code);
    assert_true(pid > 1);
    kill(pid, SIGKILL);
    await_death();
}

static void test_between_cells(void **state)
{
    (void)state;
    want("import os", CELL_OK);
    want_kept_and_die("x = 3");
    want_value("x", "3");
    assert_true(r.state_restored && !r.state_lost);
    has(said, "ython died after the last code had ended; variables are as they were then");
    want_value("x", "3");
    assert_false(r.state_restored);
    /* Dead, and the next cell dies too: the older news is not forgotten. */
    want_kept_and_die("pass");
    want("os._exit(0)", CELL_DIED);
    assert_true(r.state_restored);
    has(said, "before this code. Python died after");
    assert_false(r.earlier);
    /* Dead, and the next one ends by itself: what it made is there. */
    want_kept_and_die("pass");
    want("x = 4\nraise SystemExit(3)", CELL_EXIT);
    assert_true(r.state_restored && r.earlier);
    want_value("x", "4");
    assert_false(r.earlier);
}

/* A cell that comes while the death is being settled has the arguments of now, not those of the snapshot. */
static void test_arguments_beside_a_death(void **state)
{
    struct error err = {0};
    char word[16], wanted[32];
    char *const argv[] = {word};

    (void)state;
    want("import sys, signal", CELL_OK);
    for (int i = 0; i < 10; i++) {
        usleep(PAUSE_US);
        want("0", CELL_OK);
        snprintf(word, sizeof word, "word%d", i);
        snprintf(wanted, sizeof wanted, "['%s']", word);
        if (sandbox_set_arguments(box, argv, 1, &err) < 0)
            fail_msg("%s", err.text);
        run("signal.setitimer(signal.ITIMER_REAL, 0.0003); sys.argv");
        usleep(1500);
        run("sys.argv");
        if (r.status == CELL_OK) /* else it came before the death */
            assert_string_equal(r.value, wanted);
    }
}

#define BIG_FILES "for i in range(4):\n    with open('f%d' % i, 'wb') as f: f.write(bytes(15 << 20))\n"

/* The answer is here, and more than every buffer holds of its files is still to come: the worker dies. */
static void kill_when_saving(const struct phase_now *now)
{
    pid_t pid = (pid_t)strtol(buf_str(&seen.out), NULL, 10);
    int64_t until = clock_ms() + 20000;

    if (now->phase != PHASE_SAVING || pid < 2)
        return;
    kill(pid, SIGKILL);
    while (kill(pid, 0) == 0 && clock_ms() < until)
        usleep(1000); /* until the supervisor has reaped it */
}

/* The files of a cell take a while to go out. Who dies then dies in that cell, and a Ctrl-C then did not kill
 * who was dead. */
static void test_while_files_go_out(void **state)
{
    (void)state;
    want("import os, threading\nx = 1", CELL_OK);
    phase_hook = kill_when_saving;
    want_restored("x = 2\n" BIG_FILES "print(os.getpid())", CELL_DIED, "SIGKILL", "1");
    want_by(&pressing, BIG_FILES "print(os.getpid(), flush=True)\nos._exit(5)", CELL_DIED);
    loop_timer_stop(loop, &seen);
    has(said, "os._exit, exit code 5");
    assert_true(r.state_restored && !r.state_lost);
    want_value("x", "1");
    phase_hook = press_when_saving;
    want("x = 3\n" BIG_FILES, CELL_OK);
    phase_hook = NULL;
    want_value("x", "3");
}

static void test_no_descriptor_for_a_copy(void **state)
{
    (void)state;
    want("import os, resource\nx = 1\nkeep = []\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, "
         "64))\ntry:\n    while True: keep.append(os.dup(0))\n"
         "except OSError: pass",
         CELL_OK);
    usleep(PAUSE_US);
    want_lost("os._exit(0)", CELL_DIED, "no snapshot to restore: none came to be");
}

/* What a cell broke for good is in the copy as well: gone on from once, not for ever. */
static void test_maimed(void **state)
{
    (void)state;
    want("import os, _signal\nx = 1\n_signal.signal = None", CELL_OK);
    usleep(PAUSE_US);
    want("x", CELL_DIED);
    has(said, "exit code 70");
    assert_true(r.state_restored);
    want_lost("x", CELL_DIED, "it ended in the same way");
    want_value("6 * 7", "42");
    want("import os\nx = 1", CELL_OK);
    for (int i = 0; i < 3; i++)
        want_restored("os._exit(70)", CELL_DIED, "called os._exit", "1");
}

static void test_no_copy(void **state)
{
    (void)state;
    want("import os, threading, signal, time\nx = 1\nstop = threading.Event()\nt = "
         "threading.Thread(target=stop.wait)\nt.start()",
         CELL_OK);
    usleep(PAUSE_US);
    want_lost("os._exit(0)", CELL_DIED,
              "no snapshot to restore: none could be made while threads were running");
    want("import os, threading\nx = 2\nt = threading.Thread(target=lambda: 1)\nt.start()\nt.join()\nwhile "
         "len(os.listdir('/proc/self/task')) > 1: pass",
         CELL_OK);
    usleep(PAUSE_US);
    want_restored("os._exit(0)", CELL_DIED, "os._exit", "2");
    /* Dead after the cell; that no snapshot can be made was said before the next one began. */
    want("threading.Thread(target=threading.Event().wait, daemon=True).start()", CELL_OK);
    usleep(PAUSE_US);
    want("os.getpid()", CELL_OK);
    pid_t pid = (pid_t)strtol(r.value, NULL, 10);
    assert_true(pid > 1);
    kill(pid, SIGKILL);
    await_death();
    run("x");
    /* An older snapshot is kept until it is heard that there is no newer one. */
    assert_true(r.state_lost != r.state_restored);
    has(said, r.state_lost ? "efore this code, variables were lost"
                           : "variables are back to what they were before the last code and the");
}

static void test_off(void **state)
{
    (void)state;
    want("import os\nx = 1", CELL_OK);
    usleep(PAUSE_US);
    want("import os\nos._exit(0)", CELL_DIED);
    assert_true(r.state_lost && !r.state_restored);
    has(said, "Variables are gone");
    assert_null(strstr(said, "no copy"));
    want("x", CELL_EXCEPTION);
}

/* The child of the supervisor that is not the worker: from inside, as code would find it. */
#define KILL_COPY                                                                             \
    "def kill_copy():\n"                                                                      \
    "    for p in filter(str.isdigit, os.listdir('/proc')):\n"                                \
    "        try: up = int(open('/proc/%s/stat' % p).read().rpartition(')')[2].split()[1])\n" \
    "        except OSError: continue\n"                                                      \
    "        if up == os.getppid() and int(p) != os.getpid():\n"                              \
    "            os.kill(int(p), 9)\n"                                                        \
    "            while os.path.exists('/proc/' + p): time.sleep(0.001)\n" /* until reaped */

static void test_killed_copy(void **state)
{
    (void)state;
    want("import os, time, signal\nx = 1\n" KILL_COPY, CELL_OK);
    usleep(PAUSE_US);
    /* The kernel took the copy to make room; the cell lives: nothing of it is told as the cell's trouble. */
    fake.memory_kills = 1;
    want("kill_copy()", CELL_OK);
    assert_null(said);
    assert_null(r.hint);
    assert_int_equal(notices, 1);
    usleep(PAUSE_US);
    /* the code's own doing: no memory ran short */
    want("kill_copy()", CELL_OK);
    assert_int_equal(notices, 1);
    want_restored("os._exit(0)", CELL_DIED, "os._exit", "1"); /* a new one was made */
    usleep(PAUSE_US);
    want_lost("kill_copy()\nos._exit(0)", CELL_DIED,
              "no snapshot to restore: it was killed, most likely as memory ran short");
}

/* No process of ours is there for the code's own wait or fork, nor our hand on the other end of its pipes. */
static void test_nothing_in_the_way(void **state)
{
    (void)state;
    want("import os, subprocess, socket, threading, multiprocessing\nx = 1\nseen = "
         "[]\nos.register_at_fork(before=lambda: seen.append(1))\n"
         "cat = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\na, b = "
         "socket.socketpair()",
         CELL_OK);
    want("cat.stdin.close()\nb.close()\nprint(a.recv(1), cat.stdout.read(), cat.wait(), seen)", CELL_OK);
    assert_string_equal(buf_str(&seen.out), "b'' b'' 0 []\n");
    for (int i = 0; i < 20; i++) {
        want("try: print(os.wait())\nexcept ChildProcessError: print('none')", CELL_OK);
        assert_string_equal(buf_str(&seen.out), "none\n");
    }
    want("p = os.fork()\nif p == 0: os._exit(5)\nos.wait() == (p, 5 << 8)", CELL_OK);
    assert_string_equal(r.value, "True");
    /* After a death pipes and sockets are dead and say so; new ones work. */
    want("cat = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\na, b = "
         "socket.socketpair()\nimport asyncio\n"
         "await asyncio.sleep(0)\nf = open('open.txt', 'w+')\nf.write('text')\nf.flush()",
         CELL_OK);
    usleep(PAUSE_US);
    want_restored("os._exit(0)", CELL_DIED, "os._exit", "1");
    want_value("cat.stdout.read()", "b''");
    want("a.recv(1)", CELL_EXCEPTION);
    has(r.exception, "OSError");
    want_value("f.seek(0);f.read()", "'text'");
    want_value("await asyncio.sleep(0, 4)", "4");
    want_value("subprocess.run(['echo', 'y'], capture_output=True).stdout", "b'y\\n'");
    want_value("threading.main_thread().native_id == threading.get_native_id() == os.getpid()", "True");
    want_value("q = []\nt = threading.Thread(target=q.append, args=(1,))\nt.start(); t.join(); q", "[1]");
}

/* What an earlier cell left running does not outlive the interpreter, copy or not. What has not ended within
 * a second, as on a very busy machine, takes the copy with it, and that is told. */
static bool want_cleared(const char *code)
{
    usleep(PAUSE_US);
    want(code, CELL_DIED);
    bool cleared = !r.state_lost;
    if (!cleared) {
        has(said, "what the code had left running did not end");
        want("import os, time\nx = 1", CELL_OK);
    }
    want_value("x", "1");
    return cleared;
}

static void test_leftovers(void **state)
{
    (void)state;
    want("import os, time\nx = 1\nr, w = os.pipe()\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == "
         "0:\n        os.write(w, b'%d' % os.getpid())\n"
         "        time.sleep(60)\n    os._exit(0)\nos.wait()\npid = int(os.read(r, 20))",
         CELL_OK);
    want_value("os.path.exists('/proc/%d' % pid)", "True");
    want("pid", CELL_OK);
    pid_t pid = (pid_t)strtol(r.value, NULL, 10);
    if (want_cleared("os._exit(0)"))
        assert_true(pid > 1 && kill(pid, 0) < 0);
    want("import resource\ndef bomb(depth):\n    for i in range(3):\n        if os.fork() == 0 and depth < "
         "2: bomb(depth + 1)\n    time.sleep(60)\n",
         CELL_OK);
    want_cleared("if os.fork() == 0: bomb(0)\ntime.sleep(0.1)\nos._exit(0)");
}

/* Cells that follow each other at once: each of a reply's calls is covered; a long row gets its copy at the
 * first pause. */
/* How many cells before the one that died the snapshot lacks, as it is told. */
static unsigned behind(void)
{
    const char *at = strstr(said, "before this code and the ");

    if (!at || strstr(at, "the run before it"))
        return at != NULL;
    return (unsigned)strtoul(at + 25, NULL, 10);
}

/* x counts the cells. In a row without a pause a snapshot is made every 50 ms: a death takes at most what
 * ended since then, and says how much that is. */
static void test_without_pause(void **state)
{
    unsigned most = 0, n = 0;

    (void)state;
    want("import os\nx = 0", CELL_OK);
    for (int round = 0; round < 10; round++) {
        usleep(PAUSE_US);
        want_value("x", "0");
        for (int i = 0; i < 20; i++)
            want("x += 1", CELL_OK);
        want("os._exit(0)", CELL_DIED);
        assert_true(r.state_restored && !r.state_lost);
        most = behind() > most ? behind() : most;
        autofree char *code = xasprintf("assert x + %u == 20, x\nx = 0", behind());

        want(code, CELL_OK);
    }
    if (most == 0)
        print_message("the machine was too busy to see a snapshot that is behind\n");
    /* A row longer than that is not lost as a whole. */
    for (int64_t began = clock_ms(); clock_ms() - began < 200 || n < 2; n++)
        want("x += 1", CELL_OK);
    want("os._exit(0)", CELL_DIED);
    assert_in_range(behind(), 0, n - 1);
    autofree char *code = xasprintf("assert x in (7, %u), x", n - behind());
    want(code, CELL_OK);
    /* What comes right after a death has a snapshot of its own, if it is not younger than 50 ms. */
    want("x = 7", CELL_OK);
    want("os._exit(0)", CELL_DIED);
    want("os._exit(0)", CELL_DIED);
    assert_true(r.state_restored);
    want(code, CELL_OK);
}

/* Code of the test's own runs inside before the guest: where a file is there, it removes that and kills. */
#define KILLER(function, condition, file)               \
    "import posix\n"                                    \
    "def wrap(real=posix." function "):\n"              \
    "    def call(*args, **named):\n"                   \
    "        if " condition ":\n"                       \
    "            try: posix.unlink('" file "')\n"       \
    "            except OSError: pass\n"                \
    "            else: posix.kill(posix.getpid(), 9)\n" \
    "        return real(*args, **named)\n"             \
    "    posix." function " = call\n"                   \
    "wrap()\n"

/* The worker dies before it has made the snapshot that was ordered: the one before is still there. */
static void test_order_not_obeyed(void **state)
{
    (void)state;
    fake.prelude = KILLER("stat", "args[0] == '/proc/self/task'", "die");
    want("import os\nx = 1", CELL_OK);
    usleep(PAUSE_US);
    want("x = 2\nopen('die', 'w').close()", CELL_OK);
    if (!r.state_restored) { /* else the machine was so busy that this was told with the end of that cell */
        await_death();
        want_value("x", "1");
    }
    has(said, "variables are back to what they were before the last code");
    assert_true(r.state_restored && !r.state_lost);
    want_value("x", "1");
}

/* A snapshot that the kernel is killing still takes orders, but does not come back. */
static void test_dying_snapshot(void **state)
{
    (void)state;
    fake.prelude = KILLER("open", "args[0] == '/proc/self/oom_score_adj'", "die");
    want("import os\nx = 1", CELL_OK);
    usleep(PAUSE_US);
    want_lost("open('die', 'w').close()\nos._exit(0)", CELL_DIED, "no snapshot to restore: it was killed");
    want_value("6 * 7", "42");
    assert_false(r.state_lost);
}

static void test_reset(void **state)
{
    struct error err = {0};

    (void)state;
    want("import os\nx = 1", CELL_OK);
    usleep(PAUSE_US);
    assert_int_equal(sandbox_reset(box, &err), 0);
    /* what was before the reset does not come back */
    want_lost("import os\nos._exit(0)", CELL_DIED, "Variables are gone");
}

/* A fork of the code's says so of itself. It must end there, whatever happens: as a second worker it would
 * take the next cell. */
#define FORKED(words)                                                                  \
    "\n        if os.fork() == 0:\n            try:\n                for m in (" words \
    "): os.write(w, m)\n            finally: os._exit(0)"

/* The worker lies about its copy: it costs the copy, never more. */
static void test_hostile(void **state)
{
    static const char *const evil[] = {
        /* the worker says that it is a copy */
        "for m in (b'P1\\n', b'G', b'Nx', b'P' * 50, b'P%d\\n' % os.getpid(), b'P%d\\n' % os.getppid()): "
        "os.write(w, "
        "m)",
        "os.write(w, b'Nt')",
        "os.write(w, b'P99999999999999999999\\n')",
        "os.close(w)",
        "s.close()",
        "pass", /* no word at all */
        FORKED("b'P%d\\n' % os.getpid(), b'R%d\\n' % os.getpid()"),
        FORKED("b'P%d\\n' % os.getpid(),"), /* and one that is gone */
    };

    (void)state;
    for (size_t i = 0; i < countof(evil); i++) {
        autofree char *code = xasprintf(
            GLOBALS
            "def evil(worker, extra):\n    for level, what, value in extra:\n"
            "        s, w = socket.socket(fileno=int.from_bytes(value[:4], 'little')), "
            "int.from_bytes(value[4:8], 'little')\n"
            "        keep.append(s)\n        try: speak(s, w)\n        except OSError: pass\ndef speak(s, "
            "w):\n        %s\nkeep = []\nG['PARTS'].pop('snapshot', None)\nG['capture'] = evil\nx = 1",
            evil[i]);

        want(code, CELL_OK);
        usleep(PAUSE_US);
        want_value("x", "1");
        usleep(PAUSE_US);
        want("os._exit(0)", CELL_DIED);
        /* The one before may be what is left, and then that is said. */
        if (r.state_lost == r.state_restored || (r.state_restored && !strstr(said, " before it")))
            fail_msg("evil %zu: %s", i, said);
        want_value("6 * 7", "42");
    }
    /* A process of the code's in the copy's place is none of the supervisor's: it is not spared, and a new
     * worker starts. */
    want(GLOBALS "def evil(worker, extra):\n    for level, what, value in extra:\n        w = "
                 "int.from_bytes(value[4:8], 'little')\n"
                 "        if os.fork() == 0:\n            try:\n                os.write(w, b'P%d\\n' % "
                 "os.getpid())\n                import time\n                time.sleep(60)\n"
                 "            finally: os._exit(0)\n"
                 "G['PARTS'].pop('snapshot', None)\nG['capture'] = evil",
         CELL_OK);
    usleep(PAUSE_US);
    want("os._exit(0)", CELL_DIED);
    assert_true(r.state_lost);
    want_value("6 * 7", "42");
    assert_int_equal(fake.starts, 1);
}

#define OBJECTS "x = [str(i) * 3 for i in range(3900000)]" /* 300 MB */
#define HUGE_KB                                                                               \
    "sum(int(line.split()[1]) for line in open('/proc/self/smaps_rollup') if 'AnonHugePages'" \
    " in line)"

/* Does this kernel put memory into huge pages when it is asked to (Linux 6.1, MADV_COLLAPSE)? */
static bool knows_collapse(void)
{
    size_t huge = (size_t)1 << 21;
    char *at = mmap(NULL, 2 * huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(at != MAP_FAILED);
    memset(at, 1, 2 * huge);
    bool known = madvise(at + (huge - (uintptr_t)at % huge) % huge, huge, 25) == 0;
    munmap(at, 2 * huge);
    return known;
}

/* Many objects go into huge pages, which makes each copy of them cheap, and come back out of such a copy. */
static void test_huge_pages(void **state)
{
    bool known = knows_collapse();
    int64_t until = clock_ms() + 60000;

    (void)state;
    want("import os\n" OBJECTS, CELL_OK);
    for (int n = 0; n < 10 || (known && strtol(r.value, NULL, 10) < 200000); n++) {
        usleep(PAUSE_US);
        want(HUGE_KB, CELL_OK);
        assert_true(known ? clock_ms() < until : strtol(r.value, NULL, 10) == 0);
    }
    usleep(PAUSE_US);
    want("os._exit(0)", CELL_DIED);
    assert_true(r.state_restored);
    want_value("len(x), x[0], x[3899999]", "(3900000, '000', '389999938999993899999')");
}

#define PARK(f) cmocka_unit_test_setup_teardown(f, setup_on, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PARK(test_deaths),
        PARK(test_interrupts_still_work),
        PARK(test_between_cells),
        PARK(test_arguments_beside_a_death),
        PARK(test_while_files_go_out),
        PARK(test_maimed),
        PARK(test_no_descriptor_for_a_copy),
        PARK(test_no_copy),
        PARK(test_killed_copy),
        PARK(test_nothing_in_the_way),
        PARK(test_leftovers),
        PARK(test_without_pause),
        PARK(test_reset),
        PARK(test_order_not_obeyed),
        PARK(test_dying_snapshot),
        PARK(test_hostile),
        PARK(test_huge_pages),
        cmocka_unit_test_setup_teardown(test_off, setup_off, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
