/* modes.h - switches the terminal between modes: as it was before the program, for editing, for waiting. The
 * first is restored whatever ends or stops the program: exit, Ctrl-Z, a crash. There is one
 * terminal, so there is no handle.
 */
#ifndef TERM_MODES_H
#define TERM_MODES_H

#include <stdbool.h>

struct error;

enum modes {
    MODES_BEFORE,
    /* every key is a byte, so that a Ctrl-C inside a paste is not a signal that discards the rest */
    MODES_EDITING,
    /* as before, and left alone by our signal handlers: another program of our process group has it */
    MODES_LENT,
    MODES_WAITING, /* Ctrl-C is a signal, and discards nothing; what is typed is not echoed */
};

/* Remember the present modes, and catch the signals that would end or stop the program. */
int modes_open(struct error *err);
void modes_close(void); /* restore the modes and the signal handlers */
void modes_set(enum modes modes);
/* Is this program ending in the background? The modes are then those of the program in front; to set them
 * would stop us for good. */
bool modes_belong_to_another(void);
void modes_note(void); /* readline changed the modes: remember them as those for editing */
/* Bracketed paste on from now on, in MODES_EDITING and MODES_WAITING; or off. */
void modes_mark_pastes(bool on);
/* True once after the program was stopped and continued: the screen must be drawn again. */
bool modes_continued(void);

#endif
