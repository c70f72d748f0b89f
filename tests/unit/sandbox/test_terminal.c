/* test_terminal.c - what a terminal wants of a sandbox: images decoded to pixels, and output that fits it. */
#include "process/signals.h"
#include "sandbox/private.h" /* sandbox_break: a sandbox that a test has used up, ended without a cell */
#include "tests/unit/sandbox/channel_place.h"

static struct sandbox_terminal terminal;

static void give_terminal(struct sandbox_terminal *t)
{
    assert_int_equal(t->columns, 80);
    assert_int_equal(t->background, -1);
    *t = terminal;
}

#define ASK(w, h, b)                                                            \
    {                                                                           \
        .width = w, .height = h, .background = b, .name = "the image", .fd = -1 \
    }

/* Have a cell write an image, and decode what came out of it. */
static int decode(const char *code, struct pixels_ask ask, struct pixels *out, struct error *err)
{
    want(code, CELL_OK);
    assert_int_equal(r.n_files, 1);
    autoclose int fd = open(r.files[0].path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    loop_arm(loop);
    ask.fd = fd;
    return sandbox_pixels(box, &ask, out, err);
}

static void check(const char *code, struct pixels_ask ask, unsigned width, unsigned height, uint32_t first)
{
    struct error err = {0};
    struct pixels p;

    if (decode(code, ask, &p, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(p.width, width);
    assert_int_equal(p.height, height);
    uint32_t got = (uint32_t)p.rgb[0] << 16 | (uint32_t)p.rgb[1] << 8 | p.rgb[2];
    for (int shift = 0; shift < 24; shift += 8)
        assert_in_range((got >> shift & 255) + 3, first >> shift & 255, (first >> shift & 255) + 6);
    pixels_release(&p);
}

#define WRITE(mode, size, colour, name) \
    "from PIL import Image\nImage.new('" mode "', (" size "), " colour ").save('" name "')"

static void test_pixels(void **state)
{
    const struct pixels_ask small = ASK(100, 100, 0x204060),
                            most = ASK(PIXELS_WIDTH_MAX, PIXELS_HEIGHT_MAX, 0);

    (void)state;
    check(WRITE("RGB", "30, 20", "(1, 2, 3)", "a.png"), small, 30, 20, 0x010203); /* never larger */
    check(WRITE("RGB", "400, 300", "(9, 8, 7)", "b.png"), small, 100, 75, 0x090807);
    check(WRITE("RGBA", "10, 10", "(255, 0, 0, 0)", "c.png"), small, 10, 10, 0x204060);
    check(WRITE("RGBA", "10, 10", "(255, 0, 0, 128)", "d.png"), small, 10, 10, 0x902030);
    check(WRITE("L", "10, 10", "200", "e.jpg"), small, 10, 10, 0xc8c8c8);
    check(WRITE("I;16", "10, 10", "0x8000", "f.png"), small, 10, 10, 0x808080);
    check(WRITE("P", "10, 10", "0", "g.gif"), small, 10, 10, 0x000000);
    check(WRITE("RGB", "4000, 3000", "(50, 60, 70)", "h.jpg"), most, 1600, 1200, 0x323c46);
    want_out("print(1)", "1\n");
    assert_int_equal(fake.starts, 1);
}

static void refuse(const char *code, const char *words)
{
    const struct pixels_ask small = ASK(100, 100, 0);
    struct error err = {0};
    struct pixels p = {.width = 1};

    assert_int_equal(decode(code, small, &p, &err), -1);
    assert_int_equal(err.kind, ERROR_SYSTEM);
    has(err.text, "the image could not be decoded: ");
    has(err.text, words);
    assert_null(p.rgb);
}

static void test_no_image(void **state)
{
    (void)state;
    refuse("x = 1\nopen('a.png', 'w').write('<svg/>')", "no image in a format that can be decoded (PNG,");
    refuse(WRITE("1", "9000, 9000", "0", "big.png"), "9000 x 9000 pixels are too many");
    /* a broken one: Pillow's own words */
    refuse(WRITE("RGB", "300, 300", "(1, 2, 3)", "b.png") "\nb = open('b.png', 'rb').read()\n"
                                                          "open('b.png', 'wb').write(b[:len(b) // 2])",
           ": ");
    want_out("print(x)", "1\n");
    assert_int_equal(fake.starts, 1);
}

static void test_no_pil(void **state)
{
    (void)state;
    fake.prelude = "import sys\nsys.modules['PIL'] = None\n";
    refuse("open('a.png', 'w').write('x')", "the sandbox has no package to decode images with (python3-pil)");
}

/* A decoder that code has taken over cannot send more than was asked for. */
static void test_hostile_pixels(void **state)
{
    static const char *const answers[] = {
        "frame(b'F', b'w\\3\\0\\0\\0101h\\1\\0\\0\\0009')",                          /* wider */
        "frame(b'F', b'')",                                                          /* no size */
        "frame(b'D', b'xxx')",                                                       /* no head */
        "frame(b'F', b'w\\1\\0\\0\\0002h\\1\\0\\0\\0001'), frame(b'D', b'xxxxxxx')", /* longer */
        "frame(b'F', b'w\\4\\0\\0\\0001601h\\1\\0\\0\\0009t\\1\\0\\0\\000x')",       /* with texts */
        "frame(b'F', b'w\\1\\0\\0\\0002h\\1\\0\\0\\0001t' + (65537).to_bytes(4, 'little') + bytes(65537))",
        "frame(b'F', b'w\\1\\0\\0\\0002h\\1\\0\\0\\0001'), frame(b'D', b'xxx'), frame(b'Z', b'')",
        "frame(b'Z', b'')", /* nothing */
    };

    (void)state;
    for (size_t i = 0; i < countof(answers); i++) {
        autofree char *peer = xasprintf(
            "exec /usr/bin/python3 -c \"import os\n"
            "def frame(kind, body): os.write(1, len(body).to_bytes(4, 'little') + kind + nonce + body)\n"
            "nonce = bytes(16)\nframe(b'H', b'v\\1\\0\\0\\0001p\\4\\0\\0\\0003.11')\n"
            "while 1:\n h = b''\n while len(h) < 21: h += os.read(0, 21 - len(h))\n"
            " n = int.from_bytes(h[:4], 'little')\n while n: n -= len(os.read(0, n))\n"
            " nonce = h[5:21]\n if h[4:5] == b'C': %s\n\"",
            answers[i]);
        struct error err = {0};
        struct pixels p;
        autoclose int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        struct pixels_ask small = ASK(100, 100, 0);

        small.fd = fd;
        small.texts = true;
        fake.instead = peer;
        assert_int_equal(sandbox_pixels(box, &small, &p, &err), -1);
        assert_null(p.rgb);
        has(err.text, i < 6 ? "the sandbox was lost" : "sent only a part of it");
        sandbox_break(box, "next");
    }
    fake.instead = NULL;
}

static void test_columns(void **state)
{
    (void)state;
    terminal_hook = give_terminal;
    terminal = (struct sandbox_terminal){.columns = 80, .background = -1};
    want_out("import os, numpy\nprint(os.environ.get('COLUMNS'), numpy.get_printoptions()['linewidth'])",
             "None 75\n");
    terminal.columns = 120; /* numpy is there, pandas comes later */
    want_out("print(os.environ['COLUMNS'], numpy.get_printoptions()['linewidth'])", "120 115\n");
    want_out("import pandas\nprint(pandas.get_option('display.width'))", "120\n");
    want_out("print(max(map(len, str(pandas.DataFrame([[1234567] * 30])).splitlines())) > 100)", "True\n");
    want_out("import subprocess\nprint(subprocess.check_output('echo $COLUMNS', shell=True))", "b'120\\n'\n");
    /* what the code has set stays */
    want("pandas.set_option('display.width', 33)\nos._exit", CELL_OK);
    terminal.columns = 60;
    want_out("print(os.environ['COLUMNS'], pandas.get_option('display.width'), "
             "numpy.get_printoptions()['linewidth'])",
             "60 33 55\n");
    want("os._exit(1)", CELL_DIED); /* and a fresh worker is told as well */
    want_out("import os\nprint(os.environ['COLUMNS'])", "60\n");
    terminal.columns = 100000;
    want_out("print(os.environ['COLUMNS'])", "1000\n");
}

#define COLOURS \
    "print(*[matplotlib.rcParams[k] for k in ('figure.facecolor', 'text.color', 'axes.labelcolor')])"

static void test_background(void **state)
{
    (void)state;
    terminal_hook = give_terminal;
    terminal = (struct sandbox_terminal){.columns = 100, .background = 0x002b36};
    want_out("import matplotlib\n" COLOURS, "#002b36 #e0e0e0 #e0e0e0\n");
    want_out("matplotlib.rcParams['text.color'] = 'red'\n" COLOURS, "#002b36 red #e0e0e0\n");
    terminal.background = 0xfdf6e3;
    want_out(COLOURS, "white red black\n");
    want("import matplotlib.pyplot as plt\nplt.plot([1, 2]);", CELL_OK);
    assert_int_equal(r.n_files, 1);
}

#define PLOT                                                                                       \
    "fig, ax = plt.subplots()\nax.plot([1, 2, 3], label='\u65e5\u672c')\nax.set_title('the title " \
    "$10^3$')\nax.legend()\n"

/* Has the picture this text, whole and of that angle and alignment? */
static bool has_text(const struct pixels *p, const char *angle_align, const char *text)
{
    for (const char *one = p->texts; one < p->texts + p->texts_len; one += strlen(one) + 1) {
        size_t len = strlen(one), n = strlen(text);

        if (len > n && one[len - n - 1] == ' ' && !strcmp(one + len - n, text) && strstr(one, angle_align))
            return true;
    }
    return false;
}

/* A figure for a terminal that draws by characters: its texts come beside it, the figure stays as it was. */
static void test_texts(void **state)
{
    struct pixels_ask with = ASK(640, 256, 0xffffff), without = ASK(640, 256, 0xffffff);
    struct error err = {0};
    struct pixels p;

    (void)state;
    with.texts = true;
    terminal_hook = give_terminal;
    terminal = (struct sandbox_terminal){
        .columns = 80, .background = -1, .figure_columns = 80, .figure_rows = 16};
    want("import matplotlib.pyplot as plt", CELL_OK);
    assert_int_equal(decode(PLOT "fig.savefig('a.png')\nplt.close()", with, &p, &err), 0);
    assert_true(p.width <= 80 * 8 && p.height <= 16 * 16 && p.width % 8 == 0 && p.height % 16 == 0);
    assert_true(has_text(&p, " 0 c ", "the title 10\u00b3") && has_text(&p, " 0 l ", "\u65e5\u672c")
                && has_text(&p, " 0 r ", "2.5"));
    pixels_release(&p);
    assert_int_equal(
        decode("fig.savefig('a.png', dpi=50)\nfig.savefig('b.png', dpi=50)\nfig.savefig('c.png')\n"
               "import os\nassert open('a.png', 'rb').read() == open('b.png', 'rb').read()\n"
               "os.remove('a.png')\nos.remove('b.png')\nos.rename('c.png', 'd.png')",
               without, &p, &err),
        0);
    assert_int_equal(p.texts_len, 0);
    assert_true(p.width > 300); /* the image itself */
    pixels_release(&p);
    want_out("other = plt.subplots()[1]\nplt.close()\nprint(fig.get_size_inches(), fig.dpi, "
             "ax.get_position().bounds == other.get_position().bounds, fig.get_layout_engine())",
             "[6.4 4.8] 100.0 True None\n");
    /* an image that is no figure, and a figure that was changed since */
    assert_int_equal(decode(WRITE("RGB", "30, 20", "(1, 2, 3)", "e.png"), with, &p, &err), 0);
    assert_int_equal(p.texts_len, 0);
    pixels_release(&p);
    assert_int_equal(decode(PLOT "import threading\nt = threading.Thread(target=fig.savefig, "
                                 "args=('g.png',), kwargs={'dpi': 80})\n"
                                 "t.start(); t.join()\nplt.close()",
                            with, &p, &err),
                     0);
    assert_int_equal(p.texts_len, 0);
    pixels_release(&p);
    terminal.figure_columns = terminal.figure_rows = 0; /* a pipe: nothing is drawn twice */
    assert_int_equal(decode(PLOT "fig.savefig('f.png', dpi=90)\nplt.close()", with, &p, &err), 0);
    assert_int_equal(p.texts_len, 0);
    pixels_release(&p);
    assert_int_equal(fake.starts, 1);
}

/* What the code says of such a picture is believed as far as its size is right; whatever its texts are. */
static void test_hostile_texts(void **state)
{
    static const char code[] =
        "import binascii, sys\nfrom PIL import Image\nw = sys._getframe()\n"
        "while 'WORKER' not in w.f_globals: w = w.f_back\nw = w.f_globals['WORKER']\n"
        "Image.new('RGB', (30, 20), (1, 2, 3)).save('%s.png')\nb = open('%s.png', 'rb').read()\n"
        "w.say(b'F', %s)\nw.say(b'f', %s)\nw.say(b'g', b'')";
    static const struct {
        const char *form, *data;
        unsigned width; /* of what comes back */
        size_t texts;
    } rows[] = {
        {"b'#%d %d 2 1 5' % (len(b), binascii.crc32(b))", "b'rgbrgb\\xff\\0\\x1b[2'", 2, 5},
        {"b'#%d %d 2 1 5' % (len(b), binascii.crc32(b))", "b'rgbrgb'", 30, 0},
        {"b'#%d %d 1601 1 5' % (len(b), binascii.crc32(b))", "bytes(1601 * 3 + 5)", 30, 0},
        {"b'#%d %d 2 0 5' % (len(b), binascii.crc32(b))", "b'rgbrgb12345'", 30, 0},
        {"b'#%d %d -2 -1 5' % (len(b), binascii.crc32(b))", "b'rgbrgb12345'", 30, 0},
        {"b'#%d %d 2 1' % (len(b), binascii.crc32(b))", "b'rgbrgb'", 30, 0},
        {"b'#%d %d 99999999999999999999999 1 5' % (len(b), binascii.crc32(b))", "b'rgbrgb12345'", 30, 0},
        {"b'#%d %d 2 1 5' % (len(b), binascii.crc32(b) + 1)", "b'rgbrgb12345'", 30, 0},
        {"b'#'", "b''", 30, 0},
    };
    struct pixels_ask with = ASK(640, 256, 0xffffff);
    struct error err = {0};

    (void)state;
    with.texts = true;
    for (size_t i = 0; i < countof(rows); i++) {
        char name[] = {(char)('a' + i), '\0'};
        autofree char *text = xasprintf(code, name, name, rows[i].form, rows[i].data);
        struct pixels p;

        want(i ? "import os\nfor f in os.listdir('.'): os.remove(f)" : "0", CELL_OK);
        assert_int_equal(decode(text, with, &p, &err), 0);
        assert_int_equal(p.width, rows[i].width);
        assert_int_equal(p.texts_len, rows[i].texts);
        pixels_release(&p);
        sandbox_break(box, "next"); /* with the pictures that it has kept */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T_SLOW(test_pixels),  T_SLOW(test_no_image),   T_SLOW(test_no_pil), T_SLOW(test_hostile_pixels),
        T_SLOW(test_columns), T_SLOW(test_background), T_SLOW(test_texts),  T_SLOW(test_hostile_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
