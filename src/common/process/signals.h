/* signals.h - what signals ask of the program: to cancel a step, to end, to draw again. A handler only writes
 * a byte; the loop that catches signals turns it into what these functions tell.
 */
#ifndef PROCESS_SIGNALS_H
#define PROCESS_SIGNALS_H

#include <stdbool.h>

struct error;
struct loop;

/* SIGINT counts up; SIGTERM and SIGHUP are remembered for good; SIGWINCH and SIGCONT set a flag;
 * SIGPIPE is ignored. Installed once per process (by main). */
int loop_signals(struct loop *l, struct error *err);
void loop_arm(struct loop *l);                  /* a new step begins: forget the interrupts so far */
unsigned loop_interrupts(const struct loop *l); /* SIGINTs since loop_arm */
/* Count a SIGINT that did not come as a signal (an editor reads Ctrl-C as a byte). */
void loop_interrupt(struct loop *l);
/* Read pending signals without serving anything else, for a callback that must wait. Returns
 * loop_cancelled(). */
bool loop_check(struct loop *l);
struct loop *loop_of_signals(void);              /* the one with loop_signals, or NULL */
int loop_fatal(const struct loop *l);            /* SIGTERM or SIGHUP when one came, else 0 */
unsigned loop_end_signals(const struct loop *l); /* how many signals came that ask to end, SIGINT too */
bool loop_cancelled(const struct loop *l);       /* interrupts > 0 or a fatal signal */
int loop_exit_code(
    const struct loop *l);           /* of a program that was cancelled: 143 after a fatal signal, or 130 */
bool loop_resized(struct loop *l);   /* true once after each SIGWINCH */
bool loop_continued(struct loop *l); /* true once after each SIGCONT */
/* From now on SIGHUP asks to read something again, and does not end the program: loop_hung_up() is true once
 * after each. */
void loop_keep_hang_ups(struct loop *l);
bool loop_hung_up(struct loop *l);

#endif
