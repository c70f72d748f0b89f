/* test_frame.c - frames and tagged values: the cut test, the caps, what a hostile peer sends; and output's
 * head, tail and counts. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "sandbox/files.h"
#include "sandbox/frame.h"
#include "sandbox/guest.h"
#include "sandbox/output.h"

struct log {
    struct buf text;
    int stop_after;
};

static int on_frame(void *ctx, const struct frame *f)
{
    struct log *l = ctx;

    buf_addf(&l->text, "%c%02x%02x:%zu:", f->type, f->nonce[0], f->nonce[15], f->len);
    buf_add(&l->text, f->data, f->len);
    buf_addch(&l->text, '\n');
    return l->stop_after && --l->stop_after == 0;
}

static void make_stream(struct buf *b)
{
    unsigned char nonce[NONCE_SIZE];
    char big[3000];

    memset(nonce, 0xab, sizeof nonce);
    memset(big, 'x', sizeof big);
    frame_add(b, &(struct frame_out){TO_GUEST_PROFILE, NULL, {"hello", 5}, {NULL, 0}});
    frame_add(b, &(struct frame_out){TO_GUEST_RESET, nonce, {NULL, 0}, {NULL, 0}});
    frame_add(b, &(struct frame_out){TO_GUEST_PUT, nonce, {"a\0b", 3}, {"cd", 2}});
    frame_add(b, &(struct frame_out){TO_GUEST_DATA, nonce, {NULL, 0}, {big, sizeof big}});
    frame_add(b, &(struct frame_out){TO_GUEST_RUN, nonce, {"end", 3}, {NULL, 0}});
}

static void test_cut(void **state)
{
    struct buf stream = {0};
    struct log whole = {0};
    struct frame_reader r;

    (void)state;
    make_stream(&stream);
    frame_reader_init(&r, on_frame, &whole);
    assert_int_equal(frame_feed(&r, stream.data, stream.len), 0);
    frame_reader_release(&r);
    assert_int_equal(strncmp(whole.text.data, "F0000:5:hello\nSabab:0:\nPabab:5:", 31), 0);
    for (size_t cut = 0; cut <= stream.len; cut++) {
        struct log two = {0};

        frame_reader_init(&r, on_frame, &two);
        assert_int_equal(frame_feed(&r, stream.data, cut), 0);
        assert_true(two.text.len <= whole.text.len);
        if (two.text.len)
            /* every prefix: whole frames only */
            assert_memory_equal(two.text.data, whole.text.data, two.text.len);
        assert_int_equal(frame_feed(&r, stream.data + cut, stream.len - cut), 0);
        assert_int_equal(two.text.len, whole.text.len);
        assert_memory_equal(two.text.data, whole.text.data, whole.text.len);
        frame_reader_release(&r);
        buf_release(&two.text);
    }
    struct log bytes = {0};
    frame_reader_init(&r, on_frame, &bytes);
    for (size_t i = 0; i < stream.len; i++)
        assert_int_equal(frame_feed(&r, stream.data + i, 1), 0);
    assert_string_equal(bytes.text.data, whole.text.data);
    frame_reader_release(&r);
    buf_release(&bytes.text);
    buf_release(&whole.text);
    buf_release(&stream);
}

static void test_caps(void **state)
{
    static const uint32_t bad[] = {FRAME_IN_MAX + 1, 0x7fffffff, 0x80000000, 0xffffffff};
    struct frame_reader r;
    struct log l = {0};
    char *big = calloc(1, FRAME_HEAD + FRAME_IN_MAX);

    (void)state;
    for (size_t i = 0; i < countof(bad); i++) {
        for (size_t cut = 0; cut <= 4; cut++) {
            unsigned char head[FRAME_HEAD] = {0};
            int rc;

            put_u32(head, bad[i]);
            frame_reader_init(&r, on_frame, &l);
            rc = frame_feed(&r, (char *)head, cut);
            if (rc == 0)
                rc = frame_feed(&r, (char *)head + cut, sizeof head - cut);
            assert_int_equal(rc, -1);
            assert_true(r.part.alloc < 4096);             /* refused before anything was allocated for it */
            assert_int_equal(frame_feed(&r, "x", 1), -1); /* and for good */
            frame_reader_release(&r);
        }
    }
    assert_int_equal(l.text.len, 0);
    put_u32((unsigned char *)big, FRAME_IN_MAX);
    big[4] = 'D';
    frame_reader_init(&r, on_frame, &l);
    assert_int_equal(frame_feed(&r, big, 100000), 0);
    assert_int_equal(frame_feed(&r, big + 100000, FRAME_HEAD + FRAME_IN_MAX - 100000), 0);
    assert_true(l.text.len > FRAME_IN_MAX);
    frame_reader_release(&r);
    buf_release(&l.text);
    free(big);
}

static void test_stop(void **state)
{
    struct buf stream = {0};
    struct log l = {.stop_after = 2};
    struct frame_reader r;

    (void)state;
    make_stream(&stream);
    frame_reader_init(&r, on_frame, &l);
    assert_int_equal(frame_feed(&r, stream.data, stream.len), 1);
    assert_string_equal(l.text.data, "F0000:5:hello\nSabab:0:\n");
    frame_reader_release(&r);
    buf_release(&l.text);
    buf_release(&stream);
}

static void test_tagged(void **state)
{
    static const char good[] = "a\003\0\0\0xyzb\0\0\0\0c\002\0\0\0-7";
    const char *p = good;
    size_t left = sizeof good - 1;
    struct tagged t;

    (void)state;
    assert_int_equal(tagged_next(&p, &left, &t), 1);
    assert_int_equal(t.tag, 'a');
    assert_int_equal(t.len, 3);
    assert_int_equal(tagged_next(&p, &left, &t), 1);
    assert_int_equal(t.len, 0);
    assert_int_equal(tagged_int(&t), -1);
    assert_int_equal(tagged_next(&p, &left, &t), 1);
    assert_int_equal(tagged_int(&t), -7);
    assert_int_equal(tagged_next(&p, &left, &t), 0);
    for (size_t cut = 1; cut < sizeof good - 1; cut++) {
        int rc;

        p = good;
        left = cut;
        while ((rc = tagged_next(&p, &left, &t)) > 0)
            assert_true(t.data + t.len <= good + cut);
        if (cut != 8 && cut != 13)
            assert_int_equal(rc, -1);
    }
    static const char huge[] = "a\377\377\377\377xyz";
    p = huge;
    left = sizeof huge - 1;
    assert_int_equal(tagged_next(&p, &left, &t), -1);
    t = (struct tagged){.data = "99999999999999999999", .len = 20};
    assert_int_equal(tagged_int(&t), -1);
    t = (struct tagged){.data = "a\0b\xff\xed\xa0\x80\xe2\x82\xac", .len = 10};
    char *text = tagged_text(&t, 1000);
    assert_true(utf8_valid(text, strlen(text)));
    assert_non_null(strstr(text, "b\xef\xbf\xbd"));
    free(text);
    text = tagged_text(&t, 2);
    assert_string_equal(text, "a");
    free(text);
}

static void check_text(struct output *o, const char *all, size_t len, size_t max)
{
    struct buf b = {0};

    output_text(o, max, &b);
    assert_true(b.len <= max);
    assert_true(utf8_valid(buf_str(&b), b.len));
    if (len <= max && utf8_valid(all, len)) {
        assert_int_equal(b.len, len);
        assert_memory_equal(buf_str(&b), all, len);
    } else if (max > 500 && (utf8_valid(all, len) || len > max)) {
        unsigned long long out, lines;
        const char *mark = strstr(buf_str(&b), "\n[... ");

        assert_non_null(mark);
        assert_int_equal(sscanf(mark, "\n[... %llu bytes (%llu lines) left out ...]\n", &out, &lines), 2);
        if (utf8_valid(all, len)) { /* then what is shown and what is left out add up exactly */
            char line[128];
            int n = snprintf(line, sizeof line, "\n[... %llu bytes (%llu lines) left out ...]\n", out, lines);

            assert_int_equal(b.len - (size_t)n + out, len);
        }
    }
    buf_release(&b);
}

static void test_output(void **state)
{
    static const char *const pieces[] = {"a line of text\n",      "\xe2\x82\xac", "\xff\xfe", "x", "\n\n",
                                         "\xf0\x9f\x98\x80 end\n"};
    uint64_t disk = 0;
    struct output o;

    (void)state;
    output_init(&o);
    for (size_t kind = 0; kind < countof(pieces); kind++) {
        for (size_t count = 0; count < 40000; count = count * 3 + 1) {
            struct buf all = {0};

            output_begin(&o, NULL, 1, &disk);
            for (size_t i = 0; i < count; i++) {
                const char *p = pieces[kind == 5 ? i % countof(pieces) : kind];

                if (kind < 5 || p[0] != '\xff')
                    buf_addstr(&all, p);
                else
                    buf_addstr(&all, "y");
            }
            for (size_t at = 0; at < all.len;) { /* in uneven pieces */
                size_t n = (at % 977) + 1 < all.len - at ? (at % 977) + 1 : all.len - at;

                output_add(&o, all.data + at, n);
                at += n;
            }
            output_end(&o);
            assert_int_equal(o.bytes, all.len);
            check_text(&o, buf_str(&all), all.len, 65536);
            check_text(&o, buf_str(&all), all.len, 8000);
            check_text(&o, buf_str(&all), all.len, 601);
            check_text(&o, buf_str(&all), all.len, 50);
            check_text(&o, buf_str(&all), all.len, 0);
            buf_release(&all);
        }
    }
    output_release(&o);
}

static void test_disk_limits(void **state)
{
    char dir[] = "/tmp/output-test-XXXXXX";
    uint64_t disk = OUTPUT_DISK_SESSION - 10000;
    struct output o;
    struct stat st;
    char piece[700];

    (void)state;
    assert_non_null(mkdtemp(dir));
    memset(piece, 'p', sizeof piece);
    output_init(&o);
    output_begin(&o, dir, 7, &disk);
    for (int i = 0; i < 20; i++)
        output_add(&o, piece, sizeof piece);
    output_end(&o);
    assert_int_equal(disk, OUTPUT_DISK_SESSION);
    assert_string_equal(strrchr(o.path, '/'), "/cell-7.txt");
    assert_int_equal(stat(o.path, &st), 0);
    assert_int_equal(st.st_size, 10000);
    output_begin(&o, dir, 8, &disk);
    output_end(&o);
    assert_null(o.path); /* nothing written: no file is named */
    output_release(&o);
    file_remove_tree(dir);
}

/* A short output leaves no file behind; a long one is all there, also what came while it was short. */
static void test_short_output_has_no_copy(void **state)
{
    char dir[] = "/tmp/output-test-XXXXXX", want[400], got[500] = "";
    uint64_t disk = 0;
    struct output o;
    int fd;

    (void)state;
    assert_non_null(mkdtemp(dir));
    output_init(&o);
    output_begin(&o, dir, 1, &disk);
    output_add(&o, "42\n", 3);
    output_end(&o);
    assert_null(o.path);
    assert_int_equal(disk, 0);
    assert_int_equal(rmdir(dir), 0); /* there is nothing in it */
    assert_int_equal(mkdir(dir, 0700), 0);
    output_begin(&o, dir, 2, &disk);
    for (int i = 0; i < 130; i++) { /* few bytes, many lines */
        snprintf(want + 3 * i, 4, "%02d\n", (int)((unsigned)i % 100));
        output_add(&o, want + 3 * i, 3);
    }
    output_end(&o);
    assert_non_null(o.path);
    fd = open(o.path, O_RDONLY);
    assert_int_equal(read(fd, got, sizeof got - 1), 390);
    assert_string_equal(got, want);
    close(fd);
    output_release(&o);
    file_remove_tree(dir);
}

static void test_names(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"plot.png", "plot.png"},
        {"a/b/c.csv", "a-b-c.csv"},
        {"../../etc/passwd", "_..-..-etc-passwd"},
        {".bashrc", "_.bashrc"},
        {"-rf", "_-rf"},
        {"./x", "x"},
        {"", "file"},
        {"/abs", "-abs"},
        {"a\\b", "a-b"},
        {"a\x1b[31mb\nc", "ab c"},
        {"sal\xc3\xa9s.csv", "sal\xc3\xa9s.csv"},
    };
    char longer[600];
    char *safe;

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        safe = file_safe_name(rows[i].in);
        assert_string_equal(safe, rows[i].out);
        free(safe);
    }
    memset(longer, 'n', sizeof longer);
    memcpy(longer + sizeof longer - 5, ".png", 5);
    safe = file_safe_name(longer);
    assert_int_equal(strlen(safe), 200);
    assert_string_equal(safe + 196, ".png");
    free(safe);
}

/* What python3 -c is given must fit one argument, what comes over the channel one frame. */
static void test_guest_sizes(void **state)
{
    struct buf parts = {0};
    char *text = guest_text();

    (void)state;
    guest_parts(&parts);
    assert_true(strlen(text) < 16000);
    assert_true(parts.len < FRAME_OUT_MAX);
    assert_true(strlen(guest_profile()) < FRAME_OUT_MAX - 1000);
    free(text);
    buf_release(&parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_caps),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_tagged),
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_disk_limits),
        cmocka_unit_test(test_short_output_has_no_copy),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_guest_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
