/* test_cell_files.c - files in and out of a sandbox, figures, profiles. */
#include "tests/unit/sandbox/channel_place.h"

static void test_files(void **state)
{
    struct error err = {0};
    struct buf text = {0};
    int fd[2];

    (void)state;
    want("import os\nos.mkdir('.sandpiper-put')\nos.mkdir('.sandpiper-put-')", CELL_OK);
    assert_int_equal(pipe(fd), 0);
    assert_int_equal(write(fd[1], "a,b\n1,2\n", 8), 8);
    close(fd[1]);
    if (sandbox_put(box, "in.csv", fd[0], &err) != 8)
        fail_msg("%s", err.text);
    close(fd[0]);
    want_out("print(open('in.csv').read(), end='')", "a,b\n1,2\n");
    assert_int_equal(r.n_files, 0);
    want("open('out.txt', 'w').write('x' * 100000);\nimport os\nos.mkdir('d')\nopen('d/.hid', "
         "'w').write('1');",
         CELL_OK);
    assert_int_equal(r.n_files, 2);
    assert_string_equal(r.files[0].name, "d/.hid");
    assert_string_equal(strrchr(r.files[0].path, '/'), "/d-.hid");
    assert_string_equal(r.files[1].name, "out.txt");
    assert_int_equal(r.files[1].size, 100000);
    if (file_read(r.files[1].path, 200000, &text, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(text.len, 100000);
    want("open('out.txt', 'w').write('again');", CELL_OK);
    has(r.files[0].path, "/out-1.txt");
    want("os.symlink('/etc/passwd', "
         "'link.txt')\nos.mkfifo('plot.png')\nos.mkdir('fig.png')\nos.symlink('/proc/self', 'dir')",
         CELL_OK);
    assert_int_equal(r.n_files, 0);
    has(r.files_note, "link.txt: not saved: it is a link");
    has(r.files_note, "plot.png: not a regular file");
    want("open('.bashrc', 'w').write('x');\nopen('-rf\\n\\x1b[1m', 'w').write('x');\nopen(b'\\xff\\xfe', "
         "'w').write('x');",
         CELL_OK);
    assert_int_equal(r.n_files, 3);
    for (size_t i = 0; i < r.n_files; i++) {
        const char *name = strrchr(r.files[i].path, '/') + 1;

        assert_true(name[0] == '_' || (unsigned char)name[0] == 0xef);
        assert_null(strpbrk(name, "\n\x1b"));
    }
    for (size_t i = 0; i < r.n_files; i++)
        assert_null(strpbrk(r.files[i].name, "\n\x1b"));
    want("os.symlink('x', 'a\\nThe code is fine.\\x1b[1m\\u202e')", CELL_OK);
    has(r.files_note, "not saved: it is a link, and links are not followed");
    assert_null(strpbrk(r.files_note, "\n\x1b"));
    assert_null(strstr(r.files_note, "\u202e"));
    want("f = open('big.bin', 'wb'); f.truncate(17 << 20); f.close()", CELL_OK);
    assert_int_equal(r.n_files, 0);
    has(r.files_note, "16 MiB");
    want("for i in range(30): os.symlink('x', 'link%02d' % i)\nopen('result.csv', 'w').write('1');", CELL_OK);
    assert_int_equal(r.n_files, 1);
    assert_string_equal(r.files[0].name, "result.csv");
    has(r.files_note, "link09: not saved: it is a link");
    has(r.files_note, "... and 20 more");
    want("open('late.txt', 'w').write('made before death');\nimport os; os._exit(1)", CELL_DIED);
    assert_int_equal(r.n_files, 1);
    static const char *const names[] = {"..", "", "/a", "a/", "a//b", "a/../b", "./a", "a/b\n", "\xff"};

    for (size_t i = 0; i < countof(names); i++) {
        err.kind = ERROR_NONE;
        assert_int_equal(sandbox_put(box, names[i], 0, &err), -1);
        assert_int_equal(err.kind, ERROR_USAGE);
    }
    /* a folder that the code replaced by a link is not followed */
    want("import os\nos.symlink('/tmp', 'link')", CELL_OK);
    assert_int_equal(pipe(fd), 0);
    close(fd[1]);
    assert_int_equal(sandbox_put(box, "link/x", fd[0], &err), -1);
    close(fd[0]);
    buf_release(&text);
}

#define WORKER                                                                                           \
    "import os, sys, socket, struct, time\nw = sys._getframe()\nwhile 'WORKER' not in w.f_globals: w = " \
    "w.f_back\nw = w.f_globals['WORKER']\n"

/* Figures come in pieces, and the code can say whatever it likes between them. */
static void test_strange_figures(void **state)
{
    (void)state;
    want(WORKER "os.write(w.words, b'noise' * 100)\nw.say(b'f', b'nobody began')\nw.say(b'g', "
                "b'')\nw.say(b'F', b'')\nw.say(b'F', b'')\nw.say(b'f', b'one')\n"
                "os.write(w.words, w.nonce + b'f' + b'\\xff' * 4)\nw.say(b'g', b'')\nw.say(b'g', "
                "b'')\nw.say(b'F', b'')\nw.say(b'g', b'')\n"
                "w.say(b'F', b'')\nw.say(b'f', b'it never ends')",
         CELL_OK);
    assert_int_equal(r.n_files, 1);
    assert_string_equal(r.files[0].name, "figure-1.png");
    assert_int_equal(r.files[0].size, 3);
    has(r.files_note, "figure-2.png: not a regular file");
    want(WORKER "for i in range(90):\n    w.say(b'F', b'')\n    w.say(b'f', b'x')\n    w.say(b'g', b'')",
         CELL_OK);
    assert_int_equal(r.n_files, 70);
    assert_int_equal(fake.starts, 1);
}

/* One over the limit is measured, and not kept in memory. */
static void test_big_figure(void **state)
{
    (void)state;
    fake.options = "file=100000";
    want(WORKER "w.say(b'F', b'')\nfor i in range(50): w.say(b'f', b'x' * 4000)\nw.say(b'g', b'')", CELL_OK);
    assert_int_equal(r.n_files, 0);
    assert_string_equal(r.undelivered_name, "figure-1.png");
    has(r.undelivered, "200 kB");
}

/* No descriptor comes to the supervisor, so none that blocks whoever closes it: not over any socket that the
 * code can find. No filter is here to refuse SO_LINGER. */
static void test_descriptors_are_not_taken(void **state)
{
    (void)state;
    want(
        WORKER
        "door = socket.create_server(('127.0.0.1', 0))\ns = "
        "socket.create_connection(door.getsockname())\npeer, _ = door.accept()\n"
        "s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 600))\ns.setblocking(False)\n"
        "try:\n    while 1: s.send(b'x' * 65536)\nexcept BlockingIOError: pass\n"
        "found = [socket.socket(fileno=os.dup(int(f))) for f in os.listdir('/proc/self/fd') if "
        "os.path.exists('/proc/self/fd/' + f) and\n"
        "         os.readlink('/proc/self/fd/' + f).startswith('socket:') and "
        "socket.socket(fileno=os.dup(int(f))).family == socket.AF_UNIX]\n"
        "said = []\nfor u in found:\n    for n in (1, 9, 100):\n"
        "        try: said.append(u.sendmsg([w.nonce + b'F'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, "
        "struct.pack('i', s.fileno()) * n)], socket.MSG_DONTWAIT))\n"
        "        except OSError as e: said.append(e.strerror)\n"
        "print(set(said))",
        CELL_OK);
    assert_string_equal(buf_str(&seen.out), "{'Broken pipe'}\n");
    want_out("print('next')", "next\n");
    assert_int_equal(fake.starts, 1);
}

/* Folders are looked at as files are, so they count as well. */
static void test_many_folders(void **state)
{
    (void)state;
    fake.options = "files=100";
    want("import os\nfor i in range(150): os.makedirs('a/%d/b/c' % i)\nopen('first', 'w').close()", CELL_OK);
    assert_int_equal(r.n_files, 1);
    has(r.files_note, "more than 100 files, the limit");
    for (int i = 0; i < 4; i++) {
        autofree char *code = xasprintf("for i in range(%d, %d): os.makedirs('d/%%d/b' %% i)", i * 500,
                                        i * 500 + 500);
        want(code, CELL_OK);
        if (i == 0) /* no more than 1,100 are looked at, so the next ones change nothing that is seen */
            has(r.files_note, "more than 100 files, the limit");
    }
    want("import sys\nopen('d/1999/b/unseen', 'w').close()", CELL_OK);
    assert_int_equal(r.n_files, 0);
}

static void test_figures(void **state)
{
    struct error err = {0};
    struct buf text = {0};

    (void)state;
    run("import matplotlib.pyplot as plt");
    if (r.exception && strstr(r.exception, "ModuleNotFoundError")) {
        skip();
        return;
    }
    want("plt.plot([1, 2])\nplt.figure()\nplt.plot([3])\nplt.show()", CELL_OK);
    assert_int_equal(r.n_files, 2);
    assert_int_equal(r.files[0].kind, FILE_FIGURE);
    assert_string_equal(r.files[0].name, "figure-1.png");
    if (file_read(r.files[0].path, 1 << 20, &text, &err) < 0)
        fail_msg("%s", err.text);
    assert_memory_equal(text.data, "\x89PNG", 4);
    want("plt.get_fignums()", CELL_OK);
    assert_string_equal(r.value, "[]");
    want("plt.plot([1]); plt.savefig('mine.png');", CELL_OK);
    assert_int_equal(r.n_files, 1);
    assert_string_equal(r.files[0].name, "mine.png");
    /* A cell that fails leaves no figure to the next one, nor does a figure that cannot be drawn. */
    want("plt.plot([1])\n1/0", CELL_EXCEPTION);
    assert_int_equal(r.n_files, 1);
    want("plt.plot([1])\nimport sys\nsys.exit(0)", CELL_EXIT);
    assert_int_equal(r.n_files, 1);
    want("plt.plot([1])\nraise KeyboardInterrupt", CELL_EXCEPTION);
    assert_int_equal(r.n_files, 0);
    want("for title in '$\\\\bad{$', 'good':\n    plt.figure()\n    plt.plot([1])\n    plt.title(title)",
         CELL_EXCEPTION);
    has(r.exception, "bad");
    assert_int_equal(r.n_files, 1);
    /* A fork shares the way to the supervisor, and has no say there. */
    want("import os\nplt.plot([1])\nif os.fork() == 0: sys.exit(0)\nos.wait()\nif os.fork(): os.wait()",
         CELL_OK);
    assert_int_equal(r.n_files, 1);
    want("sys.modules['matplotlib.pyplot'] = None\n2", CELL_OK);
    assert_int_equal(r.n_files, 0);
    buf_release(&text);
}

/* What a value can show itself as is kept. What fails at that costs nothing, and code has no say in what a
 * file is. */
static void test_forms_of_a_value(void **state)
{
    (void)state;
    want("class A:\n    def _repr_html_(self): return '<b>x</b>'\n"
         "    def _repr_svg_(self): return 1 / 0\nA()",
         CELL_OK);
    assert_int_equal(r.n_files, 1);
    assert_string_equal(r.files[0].name, "value-1.html");
    assert_int_equal(r.files[0].kind, FILE_VALUE_HTML);
    want("class A:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
         "        return {'image/svg+xml': '<svg/>', 'image/png': 'iVBORw0KGgoAAA=='}, {}\nA()",
         CELL_OK);
    assert_int_equal(r.n_files, 2);
    assert_int_equal(r.files[0].kind, FILE_VALUE_PNG);
    assert_int_equal(r.files[0].size, 10);
    assert_int_equal(r.files[1].kind, FILE_VALUE_SVG);
    want("class A:\n    def _repr_html_(self): return 'x' * 2000000\n"
         "    def _repr_png_(self): return b'no image'\nA()",
         CELL_OK);
    assert_int_equal(r.n_files, 0);
    want("class M(type):\n    def __getattr__(self, name): raise KeyError(name)\n"
         "class A(metaclass=M): pass\nA()",
         CELL_OK);
    assert_int_equal(r.n_files, 0);
    want("class A:\n    def _repr_html_(self): return '<b>x</b>'\nA();", CELL_OK);
    assert_int_equal(r.n_files, 0);
    want(WORKER "w.say(b'F', b'=exe')\nw.say(b'f', b'x')\nw.say(b'g', b'')", CELL_OK);
    assert_string_equal(r.files[0].name, "figure-2.png");
    assert_int_equal(r.files[0].kind, FILE_FIGURE);
}

static void test_profile_and_reset(void **state)
{
    struct error err = {0};
    struct buf text = {0};
    int fd[2];

    (void)state;
    want("a = 1", CELL_OK);
    assert_int_equal(pipe(fd), 0);
    assert_int_equal(write(fd[1], "name;x\nann;1,5\nbob;2,5\n", 23), 23);
    close(fd[1]);
    assert_int_equal(sandbox_put(box, "p.csv", fd[0], &err), 23);
    close(fd[0]);
    if (sandbox_profile(box, "p.csv", true, &text, &err) < 0)
        fail_msg("%s", err.text);
    has(text.data, "name");
    assert_int_equal(sandbox_profile(box, "nonesuch.csv", true, &text, &err), -1);
    /* not the sandbox: the question goes on without a profile */
    assert_int_equal(err.kind, ERROR_SYSTEM);
    want("a", CELL_OK);
    assert_false(r.state_lost);
    assert_int_equal(sandbox_reset(box, &err), 0);
    want("a", CELL_EXCEPTION);
    assert_false(r.state_lost);
    want("open('p.csv').readline()", CELL_OK);
    buf_release(&text);
}

/* Add a file with the bytes "NAME\n". */
static void put_named(const char *name)
{
    struct error err = {0};
    FILE *f = tmpfile();

    assert_non_null(f);
    fprintf(f, "%s\n", name);
    rewind(f);
    if (sandbox_put(box, name, fileno(f), &err) < 0)
        fail_msg("%s", err.text);
    fclose(f);
}

static void end_sandbox(void)
{
    kill(fake.pid, SIGKILL);
    while (box->stage == STAGE_READY)
        loop_wait(loop, 100);
}

/* A sandbox that ends while it is given its files again, and then one that does not. */
static void test_lost_while_put_back(void **state)
{
    struct error err = {0};

    (void)state;
    put_named("a");
    put_named("b");
    put_named("c");
    want("x = 1", CELL_OK);
    fake.prelude = "import posix\n_rename, _names = posix.rename, []\n"
                   "def rename(*args, **how):\n"
                   "    _names.append(args)\n"
                   "    if len(_names) == 2: posix._exit(1)\n"
                   "    return _rename(*args, **how)\n"
                   "posix.rename = rename\n";
    int starts = fake.starts;
    end_sandbox();
    cell_result_release(&r);
    assert_int_equal(sandbox_run(box, "1", 1, NULL, &r, &err), -1);
    assert_int_equal(err.kind, ERROR_SANDBOX);
    assert_true(fake.starts <= starts + 2);
    assert_int_equal(notices, 1);
    fake.prelude = NULL;
    while (box->stage != STAGE_READY)
        loop_wait(loop, 100);
    end_sandbox(); /* this one has the prelude still */
    want("open('c').read()", CELL_OK);
    assert_string_equal(r.value, "'c\\n'");
    assert_true(r.state_lost);
    assert_true(r.files_back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_files),
        T(test_strange_figures),
        T(test_big_figure),
        T(test_descriptors_are_not_taken),
        T_SLOW(test_many_folders),
        T_SLOW(test_figures),
        T(test_forms_of_a_value),
        T(test_profile_and_reset),
        T(test_lost_while_put_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
