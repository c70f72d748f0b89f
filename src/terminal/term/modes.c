/* modes.c - sets the modes, and handles the signals that end or stop the program. The handlers use only
 * functions that are safe in one: tcsetattr, tcgetpgrp, poll, write, sigaction, raise.
 *
 * RULE: The terminal's modes are restored, whatever ends or stops the program; one that ends in the
 *     background sets none.
 */
#include "term/modes.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "process/foreground.h"
#include "process/signals.h"
#include "process/out.h"

#define ALT_STACK (64 * 1024) /* used after a stack overflow; more than any processor's registers need */

/* Signals that end a program by default, except those that the loop handles and those that cannot be caught.
 */
static const int deadly[] = {
    SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2,
};

static struct {
    struct termios before, now;
    bool open;
    volatile sig_atomic_t marking, continued, lent;
    bool marks; /* pastes are to be marked */
    struct sigaction was[countof(deadly)], was_stop, was_continue;
} terminal;

static const char marks_on[] = "\033[?2004h", marks_off[] = "\033[?2004l";

bool modes_belong_to_another(void)
{
    struct loop *loop = loop_of_signals();

    return loop && loop_check(loop) && loop_fatal(loop) && in_background(STDIN_FILENO);
}

/* Do not wait for a terminal that takes nothing: this also runs while the program ends. */
static void send_marks(const char *marks)
{
    struct pollfd room = {.fd = STDOUT_FILENO, .events = POLLOUT};

    for (int tries = 0; terminal.marking && tries < 4; tries++) {
        int ready = poll(&room, 1, 200);

        if (ready > 0 && out_write_briefly(STDOUT_FILENO, marks, sizeof marks_on - 1) >= 0)
            return;
        if (ready == 0 || errno != EINTR)
            return;
    }
}

static void set_now(const struct termios *t)
{
    while (tcsetattr(STDIN_FILENO, TCSANOW, t) < 0 && errno == EINTR)
        continue;
}

static void apply(const struct termios *t, const char *marks)
{
    if (terminal.lent || in_background(STDIN_FILENO))
        return;
    set_now(t);
    send_marks(marks);
}

/* Die of the same signal, with its core file. A fault recurs when the instruction runs again, which tells an
 * earlier handler, such as a sanitizer's, where it was. */
static void on_deadly(int signal, siginfo_t *info, void *context)
{
    bool fault = info->si_code > 0
                 && (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL);

    (void)context;
    if (signal == SIGQUIT && terminal.lent) /* from the keyboard, for the program that has the terminal */
        return;
    apply(&terminal.before, marks_off);
    for (size_t i = 0; i < countof(deadly); i++)
        if (deadly[i] == signal)
            sigaction(signal, &terminal.was[i], NULL);
    if (!fault)
        raise(signal); /* it arrives when this handler returns */
}

static void catch_stop(void);

/* For Ctrl-Z during a question or in the editor: not every shell restores the modes, either now or when we
 * continue. SIGSTOP is not used: if no shell could wake us, the kernel ignores a SIGTSTP. */
static void on_stop(int signal)
{
    int saved = errno;

    apply(&terminal.before, marks_off);
    sigaction(signal, &terminal.was_stop, NULL);
    kill(0, signal);
    catch_stop();
    errno = saved;
}

/* Also runs after a SIGSTOP, which we cannot catch. */
static void on_continue(int signal)
{
    int saved = errno;

    apply(&terminal.now, marks_on);
    terminal.continued = 1;
    if (terminal.was_continue.sa_handler != SIG_DFL && terminal.was_continue.sa_handler != SIG_IGN)
        terminal.was_continue.sa_handler(signal); /* the loop's */
    errno = saved;
}

/* If a signal is ignored, whoever started us has no use for it; leave it ignored. */
static void catch (int signal, const struct sigaction *how, struct sigaction *was)
{
    if (sigaction(signal, NULL, was) == 0 && was->sa_handler != SIG_IGN)
        sigaction(signal, how, NULL);
}

static void catch_stop(void)
{
    struct sigaction stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART | SA_NODEFER};

    sigemptyset(&stop.sa_mask);
    catch (SIGTSTP, &stop, &terminal.was_stop);
}

static void catch_all(void)
{
    static char room[ALT_STACK];
    struct sigaction die = {.sa_sigaction = on_deadly, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction go_on = {.sa_handler = on_continue, .sa_flags = SA_RESTART};
    stack_t now, alt = {.ss_sp = room, .ss_size = sizeof room};

    if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_DISABLE))
        sigaltstack(&alt, NULL);
    sigemptyset(&die.sa_mask);
    sigemptyset(&go_on.sa_mask);
    for (size_t i = 0; i < countof(deadly); i++)
        catch (deadly[i], &die, &terminal.was[i]);
    catch (SIGCONT, &go_on, &terminal.was_continue);
    catch_stop();
}

/* Repair the modes that a chat leaves when it is killed (SIGKILL), since not every shell does.
 * No other program leaves a terminal like this. */
static void mend(struct termios *t)
{
    if ((t->c_lflag & ICANON) || t->c_cc[VQUIT] != _POSIX_VDISABLE || t->c_cc[VSUSP] != _POSIX_VDISABLE)
        return;
    t->c_iflag |= ICRNL;
    t->c_oflag |= OPOST | ONLCR;
    t->c_lflag |= ICANON | ECHO | ISIG | IEXTEN;
    t->c_cc[VINTR] = CINTR;
    t->c_cc[VQUIT] = CQUIT;
    t->c_cc[VSUSP] = CSUSP;
}

int modes_open(struct error *err)
{
    if (tcgetattr(STDIN_FILENO, &terminal.before) < 0)
        return error_errno(err, "the terminal on stdin");
    mend(&terminal.before);
    terminal.now = terminal.before;
    terminal.open = true;
    catch_all();
    return 0;
}

void modes_close(void)
{
    if (!terminal.open)
        return;
    modes_mark_pastes(false);
    modes_set(MODES_BEFORE);
    for (size_t i = 0; i < countof(deadly); i++)
        sigaction(deadly[i], &terminal.was[i], NULL);
    sigaction(SIGTSTP, &terminal.was_stop, NULL);
    sigaction(SIGCONT, &terminal.was_continue, NULL);
    terminal.open = false;
}

static void mark_pastes(bool on)
{
    if (on)
        terminal.marking = 1;
    send_marks(on ? marks_on : marks_off);
    terminal.marking = on;
}

void modes_set(enum modes modes)
{
    struct termios t = terminal.before;

    if (modes == MODES_EDITING || modes == MODES_WAITING) {
        t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        t.c_cc[VMIN] = 1;
        t.c_cc[VTIME] = 0;
    }
    if (modes == MODES_EDITING || modes == MODES_WAITING)
        t.c_cc[VQUIT] = t.c_cc[VSUSP] = _POSIX_VDISABLE; /* a paste may hold these bytes */
    if (modes == MODES_WAITING)
        t.c_lflag |= NOFLSH;
    if (modes == MODES_EDITING) {
        t.c_lflag |= ECHO; /* even if a crashed program left it off */
        t.c_cc[VINTR] = _POSIX_VDISABLE;
    }
    terminal.now = t;
    terminal.lent = modes == MODES_LENT;
    if (modes_belong_to_another())
        return;
    set_now(&t);
    bool mark = terminal.marks && (modes == MODES_EDITING || modes == MODES_WAITING);
    if (mark != (bool)terminal.marking)
        mark_pastes(mark);
}

void modes_note(void)
{
    struct termios t;

    if (tcgetattr(STDIN_FILENO, &t) == 0)
        terminal.now = t;
}

void modes_mark_pastes(bool on)
{
    terminal.marks = on;
    if (on || terminal.marking)
        mark_pastes(on);
}

bool modes_continued(void)
{
    bool was = terminal.continued;

    terminal.continued = 0;
    return was;
}
