/* signals.c - what signals leave in their loop: a handler writes a byte to a pipe, and the loop reads it. */
#include "process/signals.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "process/private.h"

/* A handler can only reach static variables, and a process has one set of handlers. */
static int signal_write_fd = -1;
static struct loop *signal_loop;
static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT};

/* Only writes a byte. The pipe never blocks; if it is full, tens of thousands of signals are waiting in it
 * already. */
static void on_signal(int sig)
{
    int saved = errno;
    unsigned char c = (unsigned char)sig;
    (void)!write(signal_write_fd, &c, 1);
    errno = saved;
}

int loop_signals(struct loop *l, struct error *err)
{
    assert(l->signals.fd < 0 && signal_write_fd < 0);
    int fds[2];
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return error_errno(err, "cannot create the signal pipe");
    l->signals.fd = fds[0];
    signal_write_fd = fds[1];
    signal_loop = l;
    struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&sa.sa_mask);
    for (size_t i = 0; i < countof(signals); i++) {
        /* nohup ignores SIGHUP on purpose, so that stays. SIGINT is caught even if a shell's background job
         * inherited it as ignored: whoever sends it by hand wants it to work. */
        struct sigaction old;
        if (signals[i] == SIGHUP && sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
            continue;
        sigaction(signals[i], &sa, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
    return 0;
}

bool signals_read(struct signals *s)
{
    unsigned char got[64];
    ssize_t n;
    bool any = false;
    while (s->fd >= 0 && ((n = read(s->fd, got, sizeof(got))) > 0 || (n < 0 && errno == EINTR))) {
        for (ssize_t i = 0; i < n; i++) {
            any = true;
            if (got[i] == SIGINT)
                s->interrupts++;
            else if (got[i] == SIGWINCH)
                s->resized = true;
            else if (got[i] == SIGCONT)
                s->continued = true;
            else if (got[i] == SIGHUP && s->hang_ups)
                s->hung_up = true;
            else if (s->fatals++ == 0)
                s->fatal = got[i];
        }
    }
    return any;
}

void signals_release(struct signals *s)
{
    if (s->fd < 0)
        return;
    for (size_t i = 0; i < countof(signals); i++)
        signal(signals[i], SIG_DFL);
    fd_close(&signal_write_fd);
    fd_close(&s->fd);
    signal_loop = NULL;
}

void loop_arm(struct loop *l)
{
    if (signals_read(&l->signals) && (l->signals.resized || l->signals.fatal != 0))
        l->signals.news = true;
    l->signals.interrupts = 0;
}

unsigned loop_interrupts(const struct loop *l)
{
    return l->signals.interrupts;
}

void loop_interrupt(struct loop *l)
{
    l->signals.interrupts++;
    l->signals.news = true;
}

bool loop_check(struct loop *l)
{
    if (signals_read(&l->signals))
        l->signals.news = true;
    return loop_cancelled(l);
}

struct loop *loop_of_signals(void)
{
    return signal_loop;
}

int loop_fatal(const struct loop *l)
{
    return l->signals.fatal;
}

unsigned loop_end_signals(const struct loop *l)
{
    return l->signals.interrupts + l->signals.fatals;
}

bool loop_cancelled(const struct loop *l)
{
    return l->signals.interrupts > 0 || l->signals.fatal != 0;
}

int loop_exit_code(const struct loop *l)
{
    return l->signals.fatal ? 143 : 130;
}

/* What the flag was; it is cleared. */
static bool take_flag(bool *flag)
{
    bool was = *flag;
    *flag = false;
    return was;
}

bool loop_resized(struct loop *l)
{
    return take_flag(&l->signals.resized);
}

void loop_keep_hang_ups(struct loop *l)
{
    l->signals.hang_ups = true;
}

bool loop_hung_up(struct loop *l)
{
    return take_flag(&l->signals.hung_up);
}

bool loop_continued(struct loop *l)
{
    signals_read(&l->signals);
    return take_flag(&l->signals.continued);
}
