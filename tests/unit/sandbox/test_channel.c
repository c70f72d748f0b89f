/* test_kernel.c - cells: their values, output, exceptions, ends and limits. */
#include "process/signals.h"
#include "tests/unit/sandbox/channel_place.h"

/* How the parts came that have not run yet: the worker's globals are the caller's. */
#define PARTS_ARE \
    "import sys\nsorted({type(p).__name__ for p in sys._getframe(1).f_globals['PARTS'].values()})"

/* Our builder's Python is the one that runs here, unless TEST_PYTHON names another. */
static void test_compiled_guest(void **state)
{
    (void)state;
    want(PARTS_ARE, CELL_OK);
    if (!getenv("TEST_PYTHON"))
        assert_string_equal(r.value, "['tuple']");
    want("1 / 0", CELL_EXCEPTION); /* a part that comes late */
    has(r.traceback, "<cell 2>");
}

/* Any other compiles the source. */
static void test_source_guest(void **state)
{
    (void)state;
    fake.prelude = "import sys\nsys.implementation.cache_tag = 'cpython-0'\n";
    want(PARTS_ARE, CELL_OK);
    assert_string_equal(r.value, "['bytes']");
    want("1 / 0", CELL_EXCEPTION);
    has(r.traceback, "<cell 2>");
}

static void test_state_and_values(void **state)
{
    (void)state;
    want_out("x = 21\nprint('hello')", "hello\n");
    assert_null(r.value);
    want("x * 2", CELL_OK);
    assert_string_equal(r.value, "42");
    assert_false(r.state_lost);
    want("x * 2;", CELL_OK);
    assert_null(r.value);
    want("'a' * 100000", CELL_OK);
    assert_true(strlen(r.value) < 20100);
    has(r.value, "100000 in all");
    want("list(range(10**6))", CELL_OK);
    has(r.value, "[1000000 items in all]");
    /* the size told is that of the value, also where its text is cut once more: it needs more bytes */
    want("bytes(3000000)", CELL_OK);
    has(r.value, "[3000000 in all]");
    want("bytearray(3000000)", CELL_OK);
    has(r.value, "[3000000 in all]");
    want("'\\u20ac' * 100000", CELL_OK);
    has(r.value, "[100000 in all]");
    want("['\\u20ac' * 50] * 2000", CELL_OK);
    has(r.value, "[2000 items in all]");
    want("import sys\nprint('e', file=sys.stderr)", CELL_OK);
    assert_string_equal(buf_str(&seen.err), "e\n");
    want("def f():\n    return __name__\nf()", CELL_OK);
    assert_string_equal(r.value, "'__main__'");
    want("import pickle\nclass A: pass\ntype(pickle.loads(pickle.dumps(A()))).__name__", CELL_OK);
    assert_string_equal(r.value, "'A'");
    want("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nP(3)", CELL_OK);
    assert_string_equal(r.value, "P(x=3)");
    want("import asyncio\nawait asyncio.sleep(0)\nawait asyncio.sleep(0, 7)", CELL_OK);
    assert_string_equal(r.value, "7");
    /* One loop runs the whole cell: what its last line waits for may have been started before. */
    want("task = asyncio.create_task(asyncio.sleep(0, 8))\nawait task", CELL_OK);
    assert_string_equal(r.value, "8");
    want("unset = 2\nyield unset", CELL_EXCEPTION);
    want("'unset' in globals()", CELL_OK);
    assert_string_equal(r.value, "False");
    want("asyncio.run(asyncio.sleep(0, 8))", CELL_OK);
    assert_string_equal(r.value, "8");
    want("len(str(2**30000))", CELL_OK);
    assert_string_equal(r.value, "9031");
    want("", CELL_OK);
    want("# nothing", CELL_OK);
    assert_int_equal(fake.starts, 1);
    assert_int_equal(fake.accepted, 1);
    assert_string_equal(sandbox_engine(box), "fake");
    has(sandbox_python(box), "3.");
}

/* An expression alone takes a shorter way; it must not be seen. */
static void test_one_line(void **state)
{
    (void)state;
    want("1, # one", CELL_OK);
    assert_string_equal(r.value, "(1,)");
    want("1;", CELL_OK);
    assert_null(r.value);
    want("*[1], 2", CELL_OK);
    assert_string_equal(r.value, "(1, 2)");
    want(" 1", CELL_OK);
    has(buf_str(&seen.err), "it ran without its indent");
    want("if 1:\n 1\n  1", CELL_EXCEPTION);
    has(r.exception, "IndentationError: unexpected indent");
    want("x := 1", CELL_EXCEPTION);
    has(r.exception, "SyntaxError");
    want("1/0", CELL_EXCEPTION);
    has(r.traceback, "1/0");
    assert_int_equal(r.line, 1);
    want("[i for i in 1]", CELL_EXCEPTION);
    assert_int_equal(r.line, 1);
}

/* What ends within a millisecond is told at once, what takes longer as it comes. */
static void when_output(void *ctx, int stream, const char *text, size_t len)
{
    (void)stream;
    (void)text;
    (void)len;
    if (!*(int64_t *)ctx)
        *(int64_t *)ctx = clock_ms();
}

static void test_output_comes_while_it_runs(void **state)
{
    int64_t came = 0;
    const struct cell_listener l = {.ctx = &came, .output = when_output};

    (void)state;
    want("import time", CELL_OK);
    want_by(&l, "print('now')\ntime.sleep(0.5)", CELL_OK);
    assert_true(came && clock_ms() - came > 400);
}

static void test_exceptions(void **state)
{
    (void)state;
    want("d = {'apple': 1, 'pear': 2}\ndef f(k):\n    return d[k]\nf('plum')", CELL_EXCEPTION);
    assert_string_equal(r.exception, "KeyError: 'plum'");
    has(r.traceback, "File \"<cell 1>\", line 4\n    f('plum')");
    has(r.traceback, "File \"<cell 1>\", line 3, in f\n    return d[k]");
    assert_null(strstr(r.traceback, "sandpiper"));
    has(r.hint, "apple, pear");
    assert_int_equal(r.line, 3);
    want("import math\nmath.sqroot(3)", CELL_EXCEPTION);
    has(r.hint, "sqrt");
    want("appel = 3\nprint(apple)", CELL_EXCEPTION);
    has(r.hint, "appel");
    want("np.array(3)", CELL_EXCEPTION);
    has(r.hint, "import numpy as np");
    /* each module has one */
    want("__file__", CELL_EXCEPTION);
    has(r.hint, "the code is not in a file; it runs in /");
    want("__path__", CELL_EXCEPTION);
    assert_true(!r.hint || !strstr(r.hint, "not imported"));
    /* as pandas says it */
    want("raise ImportError(\"Missing optional dependency 'x'. Use pip to install x.\")", CELL_EXCEPTION);
    has(r.hint, "nothing can be installed: there is no network");
    want("import zipfile\nopen('a.zip', 'w').write('<html>');\nzipfile.ZipFile('a.zip')", CELL_EXCEPTION);
    assert_string_equal(r.hint, "a.zip is HTML or XML: it begins with b'<html>'");
    want("x = (1,\n  2\ny = 3", CELL_EXCEPTION);
    has(r.exception, "SyntaxError:");
    assert_true(r.line > 0);
    want("import nonesuch_module", CELL_EXCEPTION);
    has(r.hint, "no network");
    want("open('nothing.csv')", CELL_EXCEPTION);
    has(r.hint, "files in");
    want("input()", CELL_EXCEPTION);
    has(r.exception, "EOFError");
    want("try:\n    1/0\nexcept Exception as e:\n    raise ValueError('two') from e", CELL_EXCEPTION);
    has(r.traceback, "direct cause");
    has(r.traceback, "ZeroDivisionError");
    want("def g(): return g()\ng()", CELL_EXCEPTION);
    has(r.exception, "RecursionError");
    has(r.traceback, "more frames");
    want("import json\njson.loads('{')", CELL_EXCEPTION);
    has(r.traceback, "frames of library code");
    want("exit(3)", CELL_EXIT);
    assert_int_equal(r.exit_code, 3);
    want("raise SystemExit", CELL_EXIT);
    assert_int_equal(r.exit_code, 0);
    want("import sys; sys.exit('bye')", CELL_EXIT);
    assert_int_equal(r.exit_code, 1);
    assert_string_equal(buf_str(&seen.err), "bye\n");
    want("raise KeyboardInterrupt", CELL_EXCEPTION);
    want("raise GeneratorExit", CELL_EXCEPTION);
    want("import traceback\ntry:\n    1/0\nexcept Exception: traceback.print_exc()", CELL_OK);
    has(buf_str(&seen.err), "    1/0\n");
    want("d['pear']", CELL_OK);
    assert_false(r.state_lost);
    /* A frame of compiled library code, as pandas has them, is counted and not shown. */
    want("exec(compile('def f(): raise ValueError(1)', 'pandas/_libs/parsers.pyx', 'exec'))\nf()",
         CELL_EXCEPTION);
    assert_null(strstr(r.traceback, "parsers.pyx"));
    assert_non_null(strstr(r.traceback, "1 frame of library code"));
}

static void test_hostile_values(void **state)
{
    (void)state;
    want("class A:\n    def __repr__(self): raise ValueError('no')\nA()", CELL_EXCEPTION);
    has(r.exception, "ValueError: no");
    want("class B(Exception):\n    def __str__(self): raise SystemExit\nraise B()", CELL_EXCEPTION);
    has(r.exception, "no text");
    want("class C:\n    def __repr__(self): return 3\nC()", CELL_EXCEPTION);
    want("a = []\nfor i in range(100000): a = [a]\na", CELL_EXCEPTION);
    has(r.exception, "RecursionError");
    want("del a\nclass D:\n    def __repr__(self): raise SystemExit(4)\nD()", CELL_EXIT);
    want("print('\\ud800 \\0 ok')", CELL_OK);
    has(buf_str(&seen.out), "\\ud800");
    want("'\\ud800\\0'", CELL_OK);
    want("class E:\n    def __getattr__(self, n):\n        while True: pass\n    __dir__ = None\nE().x",
         CELL_TIMEOUT);
    want("1", CELL_OK);
    assert_false(r.state_lost);
}

/* What a cell replaces must not break the next one. */
static void test_replaced_things(void **state)
{
    (void)state;
    want("import builtins, os, sys, time, json, struct\nbuiltins.print = None\nos.write = os.read = "
         "time.time = json.dumps = None\n"
         "struct.pack = None\nsys.stdout = None\nsys.stderr = None\nbuiltins.len = 3",
         CELL_OK);
    want_out("print(len('abc'))", "3\n");
    want("import os\nn = os.open('/dev/null', os.O_RDWR)\nfor i in (0, 1, 2): os.dup2(n, i)\nprint('gone')",
         CELL_OK);
    want_out("print(42)", "42\n");
    assert_false(r.state_lost);
    want("sys.stdout.close()", CELL_OK);
    want_out("print(43)", "43\n");
    want("sys.stdout.write = lambda text: len(text)\nprint('to nobody')", CELL_OK);
    want_out("print(43)", "43\n");
    want("import io\nold = sys.stdout.detach(), sys.stderr.detach()", CELL_OK);
    want_out("print(44)", "44\n");
    /* as asyncio's connect_write_pipe() leaves them, and some programs that code starts */
    want("os.set_blocking(1, False)\nos.set_blocking(2, False)", CELL_OK);
    want("for stream in sys.stdout, sys.stderr: print('x' * 3000000, file=stream)", CELL_OK);
    assert_int_equal(r.out_bytes, 3000001);
    want("sys.modules = None", CELL_OK);
    want_out("import sys, json", "");
    /* Names of the code's own among the builtins are the code's, whatever they answer when they are compared.
     */
    want("class Odd:\n    def __init__(self, n): self.n = n\n    def __eq__(self, other): raise ValueError\n "
         "   __hash__ = None\n"
         "builtins.odd, builtins.two = Odd(1), 1",
         CELL_OK);
    want("builtins.odd, builtins.two = Odd(2), 2", CELL_OK);
    want_out("print(odd.n, two)", "2 2\n");
    assert_false(r.state_lost);
    want("import signal\nsignal.signal(signal.SIGINT, "
         "signal.SIG_IGN)\nsignal.pthread_sigmask(signal.SIG_BLOCK, [2])\n__builtins__ = {}\nx = 5",
         CELL_OK);
    want("while True: pass", CELL_TIMEOUT);
    assert_false(r.state_lost);
    want("x", CELL_OK);
    assert_string_equal(r.value, "5");
    want("import posix\nfor i in range(3, 1024):\n    try: posix.write(i, b'\\xff' * 4000)\n    except "
         "OSError: pass",
         CELL_OK);
    want_out("print(44)", "44\n");
    assert_false(r.state_lost);
}

/* The streams are the same from the first cell on, and what the code wraps around them closes none. */
static void test_wrapped_streams(void **state)
{
    (void)state;
    want_out("import sys, io\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')\n"
             "print('\u00e4')",
             "\xc3\xa4\n");
    want_out("print('\\ud800')", "\\ud800\n");
    want("sys.stderr = io.TextIOWrapper(sys.stderr.buffer)\nsys.stdin = io.TextIOWrapper(sys.stdin.buffer)",
         CELL_OK);
    want_out("print('a')\nprint('b', file=sys.stderr)", "a\n");
    assert_string_equal(buf_str(&seen.err), "b\n");
    want("input()", CELL_EXCEPTION);
    has(r.exception, "EOFError");
    want("out = sys.stdout = io.TextIOWrapper(sys.stdout.buffer)", CELL_OK);
    want_out("out = sys.stdout = io.TextIOWrapper(sys.stdout.buffer)\nprint('c')", "c\n");
    assert_false(r.state_lost);
}

static void test_first_print_of_a_surrogate(void **state)
{
    (void)state;
    want_out("print('\\ud800')", "\\ud800\n");
}

static void test_deaths(void **state)
{
    (void)state;
    want("y = 1", CELL_OK);
    want("import os\nprint('before', flush=True)\nos._exit(0)", CELL_DIED);
    assert_true(r.state_lost);
    assert_false(r.files_lost);
    assert_string_equal(buf_str(&seen.out), "before\n");
    has(said, "os._exit, exit code 0");
    want("y", CELL_EXCEPTION);
    assert_false(r.state_lost);
    want("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", CELL_DIED);
    has(said, "SIGSEGV");
    want("import os\nos.closerange(0, 1024)", CELL_DIED);
    has(said, "descriptors");
    assert_true(r.seconds < 25);
    want_out("print(42)", "42\n");
    fake.memory_kills = 0;
    want("z = 1", CELL_OK);
    fake.memory_kills = 1;
    want("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", CELL_MEMORY);
    has(said, "out of memory (limit 1 GiB)");
    want("import os, threading\nq = 5\nthreading.Timer(0.15, lambda: os._exit(3)).start()", CELL_OK);
    await_death();
    want("print(1)", CELL_OK);
    assert_true(r.state_lost);
    has(said, "efore this code");
    want("print(1)", CELL_OK);
    assert_false(r.state_lost);
    assert_int_equal(fake.starts, 1);
}

static void test_timeouts(void **state)
{
    (void)state;
    want("k = 7\nimport time\nprint('a', flush=True)\ntime.sleep(60)", CELL_TIMEOUT);
    assert_false(r.state_lost);
    has(said, "1 s");
    assert_true(r.seconds < 30);
    assert_string_equal(buf_str(&seen.out), "a\n");
    want("k", CELL_OK);
    want("import time\nwhile True:\n    try: time.sleep(60)\n    except BaseException: pass", CELL_TIMEOUT);
    assert_true(r.state_lost);
    has(said, "Variables are gone");
    assert_true(r.seconds > 1.5 && r.seconds < 30);
    want("import re\nre.match('(a+)+$', 'a' * 40 + 'b')", CELL_TIMEOUT);
    want("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", CELL_TIMEOUT);
    assert_true(r.state_lost);
    want_out("print(42)", "42\n");
    want("import os\nos.system('sleep 60')", CELL_TIMEOUT);
    assert_int_equal(fake.starts, 1);
}

static void interrupt_later(void *ctx)
{
    int *left = ctx;

    loop_interrupt(loop);
    if (--*left > 0)
        loop_timer(loop, clock_ms() + 200, interrupt_later, ctx);
}

static void test_interrupts(void **state)
{
    int times = 1;

    (void)state;
    want("v = 3", CELL_OK);
    loop_timer(loop, clock_ms() + 100, interrupt_later, &times);
    want("import time\ntime.sleep(30)", CELL_INTERRUPTED);
    assert_false(r.state_lost);
    assert_true(r.seconds < 25);
    want("v", CELL_OK);
    times = 2;
    loop_timer(loop, clock_ms() + 100, interrupt_later, &times);
    want("import time\nwhile True:\n    try: time.sleep(60)\n    except BaseException: pass",
         CELL_INTERRUPTED);
    assert_true(r.state_lost);
    assert_true(r.seconds < 25);
    want_out("print(42)", "42\n");
}

/* The text runs that was shown, whatever coding its first line names; a file in another coding still says
 * which. */
static void test_coding(void **state)
{
    (void)state;
    want_out("# -*- coding: latin-1 -*-\nprint('\xc3\xa9')", "\xc3\xa9\n");
    want_out("# coding: unicode_escape\nprint('a')#\\u000aprint('b')", "a\n");
    want_out("\xef\xbb\xbfprint('mark')", "mark\n");
    want_out("# coding: latin-1\nprint('\xe9')", "\xc3\xa9\n");
    want("'\xe9'", CELL_EXCEPTION);
    has(r.exception, "SyntaxError");
    want("5;", CELL_OK);
    assert_null(r.value);
}

static void test_exit_codes(void **state)
{
    static const struct {
        const char *code;
        int is;
    } exits[] = {
        {"exit()", 0},         {"exit(False)", 0},     {"exit(True)", 1},         {"exit(-3)", -3},
        {"exit(1 << 32)", -1}, {"exit(10 ** 17)", -1}, {"exit(1 << 400000)", -1},
    };

    (void)state;
    for (size_t i = 0; i < countof(exits); i++) {
        want(exits[i].code, CELL_EXIT);
        assert_int_equal(r.exit_code, exits[i].is);
    }
    want("type('N' * 100000, (Exception,), {'__notes__': 3})", CELL_OK);
    want("raise type('N' * 100000, (Exception,), {'__notes__': 3})", CELL_EXCEPTION);
    assert_false(r.state_lost);
}

/* A child that keeps stdout open, a daemon, threads that go on printing. */
static void test_background(void **state)
{
    (void)state;
    want_out("import subprocess\np = subprocess.Popen(['sleep', '30'])\nprint('done')", "done\n");
    assert_true(r.seconds < 25);
    want("import threading, time\nstop = False\ndef flood():\n    while not stop: print('flood')\n"
         "t = threading.Thread(target=flood, daemon=True)\nt.start()\ntime.sleep(0.05)",
         CELL_OK);
    usleep(100000);
    want("stop = True\nt.join()\n5", CELL_OK);
    assert_string_equal(r.value, "5");
    want_out("print('quiet')", "quiet\n");
    want_out("import os\np = os.fork()\nif p:\n    os.waitpid(p, 0)\nprint('parent' if p else 'child')",
             "child\nparent\n");
    want_out("print('once')", "once\n");
    want("import sys\ncodes = []\nfor code in (None, 0, 3, -1):\n    if os.fork() == 0: sys.exit(code)\n"
         "    codes.append(os.wait()[1] >> 8)\nif os.fork() == 0: 1/0\ncodes + [os.wait()[1] >> 8]",
         CELL_OK);
    assert_string_equal(r.value, "[0, 0, 3, 255, 1]");
    has(buf_str(&seen.err), "Traceback (most recent call last):\n  File \"<cell ");
    has(buf_str(&seen.err), "ZeroDivisionError: division by zero\n");

    /* Thousands of lines are gathered: none is lost, none is written twice by a fork, and the flusher ends
     * with the cell. */
    want("import os\nfor i in range(200000): print('x' * 9)", CELL_OK);
    assert_int_equal(r.out_bytes, 2000000);
    want("for i in range(3000): print('x' * 9)\nif os.fork() == 0:\n    print('c')\n    "
         "os._exit(0)\nos.wait()\nprint('p')",
         CELL_OK);
    assert_int_equal(r.out_bytes, 30004);
    want("import _thread\n_thread._count()", CELL_OK);
    assert_string_equal(r.value, "0");
    want("import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        "
         "time.sleep(30)\n    os._exit(0)\nos.wait()\n1",
         CELL_OK);
    assert_true(r.seconds < 25);
}

/* An alarm that the code has forgotten, and whose handler raises, comes while nothing runs. */
static void test_late_alarm(void **state)
{
    (void)state;
    want("import signal\ndef late(*_): raise TimeoutError('late')\nsignal.signal(signal.SIGALRM, late)\n"
         "signal.setitimer(signal.ITIMER_REAL, 0.1)",
         CELL_OK);
    usleep(300000);
    want("late", CELL_OK);
    assert_false(r.state_lost || r.state_restored);
    want("def late(*_): raise RuntimeError('late')\nsignal.signal(signal.SIGALRM, late)\n"
         "signal.setitimer(signal.ITIMER_REAL, 0.1);",
         CELL_OK);
    usleep(300000);
    want("late", CELL_OK);
    assert_false(r.state_lost || r.state_restored);
}

static void test_output_caps(void **state)
{
    struct buf text = {0};

    (void)state;
    /* F_SETPIPE_SZ */
    want("import os, fcntl\nfcntl.fcntl(1, 1031, 1 << 20)\nn = os.write(1, b'x' * 900000)", CELL_OK);
    assert_int_equal(r.out_bytes, 900000);
    want_out("print(len('abc'))", "3\n");
    want("for i in range(20000): print('line', i)", CELL_OK);
    sandbox_output_text(box, 4000, &text);
    assert_true(text.len <= 4000 && text.len > 3500);
    has(text.data, "line 0\n");
    has(text.data, "line 19999\n");
    has(text.data, " bytes (");
    assert_int_equal(r.out_bytes, seen.out.len);
    buf_clear(&text);
    seen.out.max = 1000;
    want("import sys\nfor i in range(1000): sys.stdout.write('x' * 100000)", CELL_OK);
    assert_int_equal(r.out_bytes, 100000000);
    sandbox_output_text(box, 65536, &text);
    assert_true(text.len <= 65536);
    has(text.data, "bytes (0 lines) left out");
    assert_non_null(r.output_path);
    buf_clear(&text);
    want("print('\\u20ac' * 50000)\n'value'", CELL_OK);
    sandbox_output_text(box, 1001, &text);
    assert_true(text.len <= 1001);
    has(text.data, "'value'");
    buf_release(&text);
    seen.out.max = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_one_line),         T(test_output_comes_while_it_runs),
        T(test_compiled_guest),   T(test_source_guest),
        T(test_state_and_values), T(test_coding),
        T(test_exit_codes),       T(test_exceptions),
        T(test_hostile_values),   T(test_replaced_things),
        T(test_wrapped_streams),  T(test_first_print_of_a_surrogate),
        T(test_deaths),           T(test_timeouts),
        T(test_interrupts),       T(test_background),
        T(test_late_alarm),       T(test_output_caps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
