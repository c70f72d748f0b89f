/* readline_setup.h - how readline is set up for editor.c: how its output is written, the terminal's modes and
 * size, our keys, the locale.
 */
#ifndef TERM_READLINE_SETUP_H
#define TERM_READLINE_SETUP_H

#include <stdbool.h>

/* Once, before rl_initialize(). */
void readline_set_up(bool understands_sequences);
/* Write behind what readline has written. */
void readline_put(const char *s);
/* The modes in which a line is edited, and those while nobody reads. */
void readline_prep(int meta);
void readline_deprep(void);
/* The window has changed its width: take the line that is edited off the screen, where the terminal has laid
 * it out anew, before readline draws it again. */
void readline_clear_resized(void);
/* Tell readline the size of the screen. */
void readline_tell_size(void);
/* After rl_initialize: Enter (it may make a new line, see editor.h) and Ctrl-X Ctrl-E, in every editing mode.
 * What the user's inputrc binds otherwise stays. */
void readline_bind(int (*edit_externally)(int count, int key));
/* We use UTF-8 in any locale. readline reads the locale from the environment again for each line, so set it
 * there too. */
void readline_set_locale(void);

#endif
