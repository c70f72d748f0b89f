/* test_frame.c - frames and tagged values: the cut test, the caps, what a hostile peer sends and the
 * size of the guest. */
#include "tests/unit/unit.h"

#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/utf8.h"
#include "channel/frame.h"
#include "channel/guest.h"

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
    struct tagged_value t = tagged_in(good, sizeof good - 1);

    (void)state;
    assert_int_equal(tagged_next(&t), 1);
    assert_int_equal(t.tag, 'a');
    assert_int_equal(t.len, 3);
    assert_int_equal(tagged_next(&t), 1);
    assert_int_equal(t.len, 0);
    assert_int_equal(tagged_int(&t), -1);
    assert_int_equal(tagged_next(&t), 1);
    assert_int_equal(tagged_int(&t), -7);
    assert_int_equal(tagged_next(&t), 0);
    for (size_t cut = 1; cut < sizeof good - 1; cut++) {
        int rc;

        t = tagged_in(good, cut);
        while ((rc = tagged_next(&t)) > 0)
            assert_true(t.data + t.len <= good + cut);
        if (cut != 8 && cut != 13)
            assert_int_equal(rc, -1);
    }
    static const char huge[] = "a\377\377\377\377xyz";
    t = tagged_in(huge, sizeof huge - 1);
    assert_int_equal(tagged_next(&t), -1);
    t = (struct tagged_value){.data = "99999999999999999999", .len = 20};
    assert_int_equal(tagged_int(&t), -1);
    t = (struct tagged_value){.data = "a\0b\xff\xed\xa0\x80\xe2\x82\xac", .len = 10};
    char *text = tagged_text(&t, 1000);
    assert_true(utf8_valid(text, strlen(text)));
    assert_non_null(strstr(text, "b\xef\xbf\xbd"));
    free(text);
    text = tagged_text(&t, 2);
    assert_string_equal(text, "a");
    free(text);
}

/* What python3 -c is given must fit one argument, what comes over the channel one frame. */
static void test_guest_sizes(void **state)
{
    struct buf parts = {0}, profile = {0};
    char *text = guest_text();

    (void)state;
    guest_parts(&parts);
    assert_true(strlen(text) < 16000);
    assert_true(parts.len < FRAME_OUT_MAX);
    guest_profile(&profile);
    assert_true(profile.len < FRAME_OUT_MAX - 1000);
    free(text);
    buf_release(&profile);
    buf_release(&parts);
}

/* All sandboxes of a process are given one file, so nobody may be able to change it. */
static void test_guest_parts_file(void **state)
{
    struct buf parts = {0}, there = BUF_INIT(2 * FRAME_OUT_MAX);
    int fd = guest_parts_file();

    (void)state;
    guest_parts(&parts);
    assert_true(fd_sealed(fd));
    assert_int_equal(guest_parts_file(), fd);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(fd_read_all(fd, 2 * FRAME_OUT_MAX, &there), 0);
    assert_int_equal(there.len, parts.len);
    assert_memory_equal(there.data, parts.data, parts.len);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    buf_release(&there);
    buf_release(&parts);
}

/* The name at the head of a part, with the newline behind it. */
static struct short_text name_of(const struct tagged_value *t)
{
    struct short_text name;

    snprintf(name.text, sizeof name.text, "%.*s\n", (int)strcspn(t->data, "\n"), t->data);
    return name;
}

/* What comes compiled comes as source too, for every other Python. */
static void test_guest_parts(void **state)
{
    struct buf parts = {0}, sources = {0};

    (void)state;
    guest_parts(&parts);
    struct tagged_value t = tagged_in(parts.data, parts.len);
    assert_int_equal(tagged_next(&t), 1);
    assert_int_equal(t.tag, 'c');
    for (struct tagged_value source = tagged_in(t.rest, t.left); tagged_next(&source) > 0;)
        buf_addstr(&sources, name_of(&source).text);
    /* behind the magic number, whose own bytes may be newlines, and the cache tag */
    const char *first = t.len > 0 ? strchr(t.data + 4, '\n') + 1 : t.data;
    for (struct tagged_value one = tagged_in(first, t.len - (size_t)(first - t.data)); tagged_next(&one) > 0;)
        if (!strstr(sources.data, name_of(&one).text))
            fail_msg("%s is not among the sources: %s", name_of(&one).text, sources.data);
    buf_release(&parts);
    buf_release(&sources);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_caps),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_tagged),
        cmocka_unit_test(test_guest_sizes),
        cmocka_unit_test(test_guest_parts),
        cmocka_unit_test(test_guest_parts_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
