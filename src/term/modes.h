/* modes.h - the terminal's modes: as they were, as editing wants them, as waiting wants them. They are as
 * before whatever ends or stops the program: its own end, Ctrl-Z, a crash. There is one terminal, so there is
 * no handle.
 */
#ifndef TERM_MODES_H
#define TERM_MODES_H

#include <stdbool.h>

struct error;

enum modes {
    MODES_BEFORE,
    /* every key is a byte: a Ctrl-C in a paste is no signal that throws the rest away */
    MODES_EDITING,
    MODES_WAITING, /* Ctrl-C is a signal; what is typed is kept and not shown */
};

/* remember them, and catch what would end or stop the program */
int modes_open(struct error *err);
void modes_close(void); /* as before, nothing caught any more */
void modes_set(enum modes modes);
void modes_note(void);           /* readline has changed them on top */
void modes_mark_pastes(bool on); /* the terminal puts marks around what is pasted */
/* true once after a stop: what was on the screen is not there now */
bool modes_continued(void);

#endif
