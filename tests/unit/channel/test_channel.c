/* test_channel.c - the queue of a channel whose peer reads more slowly than we send. */
#include "tests/unit/unit.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "channel/channel.h"
#include "process/loop.h"

#define PIECE 65536

static const char *no_frame(void *ctx, const struct frame *f)
{
    (void)ctx;
    (void)f;
    return "there is none";
}

static void broken(void *ctx, const char *why)
{
    (void)ctx;
    fail_msg("%s", why);
}

static long peak_kib(void)
{
    FILE *f = fopen("/proc/self/status", "re");
    char line[200];
    long kib = -1;

    assert_non_null(f);
    while (kib < 0 && fgets(line, sizeof line, f))
        if (!strncmp(line, "VmHWM:", 6))
            kib = strtol(line + 6, NULL, 10);
    fclose(f);
    return kib;
}

/* A large file is copied as fast as the peer reads it, so the queue is never empty before its end. Memory
 * stays as it was, and each byte arrives once. */
static void a_queue_that_is_never_empty(void **state)
{
    struct loop *loop = loop_new();
    int fds[2];
    static char piece[PIECE], got[PIECE];
    uint64_t sent = 0, received = 0;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    struct channel *k = channel_new(loop, fds[0], fds[0], &(struct channel_listener){NULL, no_frame, broken});
    long before = peak_kib();
    for (unsigned i = 0; i < 2048; i++) {
        memset(piece, (int)i, sizeof piece);
        channel_send(k, &(struct frame_out){.type = TO_GUEST_DATA, .body = {piece, sizeof piece}});
        sent += FRAME_HEAD + sizeof piece;
        while (channel_pending(k) > (i < 2047 ? 8 * PIECE : 0)) {
            ssize_t n = read(fds[1], got, sizeof got);

            received += n > 0 ? (uint64_t)n : 0;
            loop_wait(loop, 0);
        }
    }
    assert_true(peak_kib() - before < 16384);
    for (ssize_t n; (n = read(fds[1], got, sizeof got)) > 0;)
        received += (uint64_t)n;
    assert_int_equal(received, sent);
    assert_int_equal((unsigned char)got[0], 2047 & 0xff);
    channel_free(k);
    close(fds[0]);
    close(fds[1]);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_queue_that_is_never_empty)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
