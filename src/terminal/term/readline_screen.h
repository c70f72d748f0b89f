/* readline_screen.h - the terminal as readline has it: how its output is written, its modes, its size. For
 * editor.c.
 */
#ifndef TERM_READLINE_SCREEN_H
#define TERM_READLINE_SCREEN_H

#include <stdbool.h>

/* Once, before rl_initialize(). */
void readline_set_up(bool understands_sequences);
/* Write behind what readline has written. */
void readline_put(const char *s);
/* The modes in which a line is edited, and those while nobody reads. */
void readline_prep(int meta);
void readline_deprep(void);
/* Tell readline the size of the screen. */
void readline_tell_size(void);

#endif
