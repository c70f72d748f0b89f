/* test_loop.c - watches and timers that change the loop while it serves, and signals. */
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "process/loop.h"
#include "process/signals.h"

struct peer {
    struct loop *l;
    int fd[2]; /* read end, write end */
    int served;
    short revents;
    struct peer *other;
    bool oneshot;
};

static void take(void *ctx)
{
    struct peer *p = ctx;
    char c[16];
    p->served++;
    p->revents = loop_revents(p->l);
    if (p->revents & POLLIN && read(p->fd[0], c, sizeof(c)) < 0)
        fail();
    if (p->oneshot)
        loop_unwatch(p->l, p->fd[0]);
    if (p->other != NULL)
        loop_unwatch(p->l, p->other->fd[0]);
}

static void peer_open(struct peer *p, struct loop *l)
{
    *p = (struct peer){.l = l};
    assert_int_equal(pipe2(p->fd, O_CLOEXEC | O_NONBLOCK), 0);
}

static void peer_close(struct peer *p)
{
    close(p->fd[0]);
    if (p->fd[1] >= 0)
        close(p->fd[1]);
}

static void poke(struct peer *p)
{
    assert_int_equal(write(p->fd[1], "x", 1), 1);
}

static void watches(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct peer a, b;
    peer_open(&a, l);
    peer_open(&b, l);
    assert_int_equal(loop_wait(l, 0), 0);
    loop_watch(l, a.fd[0], POLLIN, take, &a);
    loop_watch(l, b.fd[0], POLLIN, take, &b);
    assert_int_equal(loop_wait(l, 0), 0);
    poke(&a);
    assert_int_equal(loop_wait(l, 1000), 1);
    assert_int_equal(a.served, 1);
    assert_int_equal(b.served, 0);
    poke(&a);
    loop_watch(l, a.fd[0], 0, take, &a); /* only errors from now on */
    assert_int_equal(loop_wait(l, 0), 0);
    close(a.fd[1]);
    a.fd[1] = -1;
    assert_int_equal(loop_wait(l, 1000), 1);
    assert_true(a.revents & POLLHUP);
    loop_unwatch(l, a.fd[0]);
    loop_unwatch(l, 12345);
    poke(&b);
    assert_int_equal(loop_wait(l, -1), 1);
    /* while an answer is expected: what is there is served, and a wait for nothing ends in time */
    loop_expect(l);
    poke(&b);
    assert_int_equal(loop_wait(l, -1), 1);
    int64_t begin = clock_ms();
    loop_expect(l);
    assert_int_equal(loop_wait(l, 0), 0);
    assert_int_equal(loop_wait(l, 20), 0);
    assert_true(clock_ms() - begin >= 20);
    peer_close(&a);
    peer_close(&b);
    loop_free(l);
    loop_free(NULL);
}

static void watches_go_while_serving(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct peer p[5];
    for (size_t i = 0; i < countof(p); i++) {
        peer_open(&p[i], l);
        loop_watch(l, p[i].fd[0], POLLIN, take, &p[i]);
        poke(&p[i]);
    }
    p[0].oneshot = true; /* removes itself, the next must still be served */
    p[1].other = &p[2];  /* removes one that is ready too: it must not be served */
    p[3].other = &p[0];  /* one that has gone already */
    assert_int_equal(loop_wait(l, 1000), 4);
    assert_int_equal(p[0].served, 1);
    assert_int_equal(p[1].served, 1);
    assert_int_equal(p[2].served, 0);
    assert_int_equal(p[3].served, 1);
    assert_int_equal(p[4].served, 1);
    assert_int_equal(loop_wait(l, 0), 0);
    for (size_t i = 0; i < countof(p); i++)
        peer_close(&p[i]);
    loop_free(l);
}

/* Closes the other's descriptor and opens a new one that gets its number. */
static void reuse_number(void *ctx)
{
    struct peer *p = ctx;
    take(p);
    int number = p->other->fd[0];
    loop_unwatch(p->l, number);
    peer_close(p->other);
    peer_open(p->other, p->l);
    assert_true(p->other->fd[0] == number);
    loop_watch(p->l, number, POLLIN, take, p->other);
}

static void old_news_is_not_for_a_new_watch(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct peer high, a, b;
    peer_open(&b, l);
    peer_open(&a, l);
    peer_open(&high, l);
    a.other = &b;
    loop_watch(l, a.fd[0], POLLIN, reuse_number, &a);
    loop_watch(l, b.fd[0], POLLIN, take, &b);
    poke(&a);
    poke(&b);
    assert_int_equal(loop_wait(l, 1000), 1);
    assert_int_equal(b.served, 0);
    poke(&b);
    a.served = 0;
    assert_int_equal(loop_wait(l, 1000), 1);
    assert_int_equal(b.served, 1);
    peer_close(&a);
    peer_close(&b);
    peer_close(&high);
    loop_free(l);
}

struct tick {
    struct loop *l;
    int fired;
    struct tick *stop, *again;
    int64_t again_at;
};

static void tick(void *ctx)
{
    struct tick *t = ctx;
    t->fired++;
    if (t->stop != NULL)
        loop_timer_stop(t->l, t->stop);
    if (t->again != NULL)
        loop_timer(t->l, t->again_at, tick, t->again);
}

static void timers(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct tick a = {.l = l}, b = {.l = l}, c = {.l = l};
    int64_t now = clock_ms();
    assert_int_equal(loop_timeout(l, -1), -1);
    assert_int_equal(loop_timeout(l, 70), 70);
    loop_timer(l, now + 30, tick, &a);
    assert_true(loop_timeout(l, -1) <= 30 && loop_timeout(l, -1) >= 0);
    assert_int_equal(loop_timeout(l, 0), 0);
    assert_int_equal(loop_wait(l, 0), 0);
    assert_int_equal(loop_wait(l, -1), 1);
    assert_int_equal(a.fired, 1);
    assert_true(clock_ms() >= now + 30);
    assert_int_equal(loop_timeout(l, -1), -1);
    loop_timer(l, now + 100000, tick, &a);
    loop_timer(l, now, tick, &a); /* moved, not doubled */
    assert_int_equal(loop_wait(l, 1000), 1);
    assert_int_equal(a.fired, 2);
    assert_int_equal(loop_wait(l, 5), 0);
    a.stop = &b;
    loop_timer(l, now - 2, tick, &a);
    loop_timer(l, now - 1, tick, &b); /* due as well, but stopped by the earlier one */
    loop_timer(l, now, tick, &c);
    assert_int_equal(loop_wait(l, 1000), 2);
    assert_int_equal(b.fired, 0);
    assert_int_equal(c.fired, 1);
    /* sets itself again, due at once: no endless round */
    a = (struct tick){.l = l, .again = &a, .again_at = 0};
    loop_timer(l, 0, tick, &a);
    assert_int_equal(loop_wait(l, 1000), 1);
    assert_int_equal(loop_wait(l, 1000), 1);
    assert_int_equal(a.fired, 2);
    loop_timer_stop(l, &a);
    loop_timer_stop(l, &a);
    assert_int_equal(loop_wait(l, 0), 0);
    loop_free(l);
}

static void many_watches_and_timers(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct peer p[200];
    struct tick t[200] = {0};
    for (size_t i = 0; i < countof(p); i++) {
        peer_open(&p[i], l);
        loop_watch(l, p[i].fd[0], POLLIN, take, &p[i]);
        poke(&p[i]);
        loop_timer(l, 0, tick, &t[i]);
    }
    size_t n;
    struct pollfd *fds = loop_fds(l, 3, &n); /* with three of the caller's own in front */
    assert_int_equal(n, 203);
    assert_int_equal(fds[3].fd, p[0].fd[0]);
    free(fds);
    assert_int_equal(loop_wait(l, 1000), 400);
    for (size_t i = 0; i < countof(p); i++) {
        assert_int_equal(p[i].served, 1);
        assert_int_equal(t[i].fired, 1);
        peer_close(&p[i]);
    }
    loop_free(l);
}

static void a_poll_of_ones_own(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct peer a;
    peer_open(&a, l);
    loop_watch(l, a.fd[0], POLLIN, take, &a);
    poke(&a);
    size_t n;
    struct pollfd *fds = loop_fds(l, 0, &n);
    assert_int_equal(n, 1);
    assert_int_equal(poll(fds, n, 1000), 1);
    assert_int_equal(loop_serve(l, fds, n), 1);
    assert_int_equal(loop_serve(l, fds, 0), 0);
    free(fds);
    assert_int_equal(a.served, 1);
    peer_close(&a);
    loop_free(l);
}

static void signals_become_state(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    struct error e = {0};
    assert_int_equal(loop_signals(l, &e), 0);
    size_t n;
    struct pollfd *fds = loop_fds(l, 0, &n);
    assert_int_equal(n, 1);
    free(fds);
    raise(SIGINT);
    raise(SIGINT);
    assert_int_equal(loop_wait(l, -1), 1);
    assert_int_equal(loop_interrupts(l), 2);
    assert_true(loop_cancelled(l));
    loop_arm(l);
    assert_false(loop_cancelled(l));
    raise(SIGINT);
    loop_arm(l); /* also those still in the pipe */
    assert_int_equal(loop_wait(l, 0), 0);
    assert_false(loop_cancelled(l));
    raise(SIGWINCH);
    assert_int_equal(loop_wait(l, 1000), 1);
    assert_true(loop_resized(l));
    assert_false(loop_resized(l));
    assert_false(loop_cancelled(l));
    raise(SIGWINCH);
    /* takes the byte in; the next wait must not sleep over it */
    loop_arm(l);
    assert_int_equal(loop_wait(l, -1), 1);
    assert_true(loop_resized(l));
    loop_interrupt(l);
    assert_int_equal(loop_wait(l, -1), 1);
    assert_int_equal(loop_interrupts(l), 1);
    loop_arm(l);
    raise(SIGPIPE); /* ignored */
    raise(SIGTERM);
    raise(SIGHUP);
    assert_int_equal(loop_wait(l, -1), 1);
    assert_int_equal(loop_fatal(l), SIGTERM);
    loop_arm(l);
    assert_true(loop_cancelled(l)); /* for good */
    assert_int_equal(loop_fatal(l), SIGTERM);
    loop_free(l);
    struct sigaction old;
    sigaction(SIGINT, NULL, &old);
    assert_true(old.sa_handler == SIG_DFL);
}

static void note_blocked(void *ctx)
{
    struct loop **l = ctx;

    assert_true(loop_blocked(*l));
    *l = NULL;
}

static void not_served(void *ctx)
{
    (void)ctx;
    fail_msg("a plain timer was served");
}

/* While a callback waits for a reader, deadlines are served, and nothing else. */
static void deadlines_are_kept_while_a_callback_waits(void **state)
{
    struct loop *l = loop_new(), *seen = l;
    int64_t start = clock_ms();
    int fds[2], other;

    (void)state;
    assert_int_equal(pipe(fds), 0);
    loop_deadline(l, start + 20, note_blocked, &seen);
    loop_timer(l, start + 10, not_served, &other);
    while (seen && clock_ms() < start + 5000)
        loop_poll(l, fds[0], POLLIN, 10000);
    assert_null(seen);
    assert_false(loop_blocked(l));
    assert_true(clock_ms() - start < 1000);
    loop_timer_stop(l, &other);
    loop_free(l);
    close(fds[0]);
    close(fds[1]);
}

static void a_flood_of_signals_does_not_block(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    assert_int_equal(loop_signals(l, NULL), 0);
    for (int i = 0; i < 70000; i++) /* more than the pipe holds */
        raise(SIGINT);
    loop_wait(l, 0);
    assert_true(loop_interrupts(l) > 1000);
    loop_free(l);
}

static void a_signal_wakes_a_wait(void **state)
{
    (void)state;
    struct loop *l = loop_new();
    assert_int_equal(loop_signals(l, NULL), 0);
    pid_t self = getpid(), pid = fork();
    if (pid == 0) {
        usleep(30000);
        kill(self, SIGINT);
        _exit(0);
    }
    while (!loop_cancelled(l))
        loop_wait(l, -1);
    waitpid(pid, NULL, 0);
    loop_free(l);
}

static void nohup_is_kept(void **state)
{
    (void)state;
    signal(SIGHUP, SIG_IGN);
    struct loop *l = loop_new();
    assert_int_equal(loop_signals(l, NULL), 0);
    raise(SIGHUP);
    assert_int_equal(loop_wait(l, 0), 0);
    assert_int_equal(loop_fatal(l), 0);
    loop_free(l);
    signal(SIGHUP, SIG_DFL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watches),
        cmocka_unit_test(watches_go_while_serving),
        cmocka_unit_test(old_news_is_not_for_a_new_watch),
        cmocka_unit_test(timers),
        cmocka_unit_test(many_watches_and_timers),
        cmocka_unit_test(a_poll_of_ones_own),
        cmocka_unit_test(signals_become_state),
        cmocka_unit_test(a_flood_of_signals_does_not_block),
        cmocka_unit_test(deadlines_are_kept_while_a_callback_waits),
        cmocka_unit_test(a_signal_wakes_a_wait),
        cmocka_unit_test(nohup_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
