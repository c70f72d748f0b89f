/* bindings.h - what our keys do in readline, and the locale that it reads. */
#ifndef TERM_BINDINGS_H
#define TERM_BINDINGS_H

/* After rl_initialize: Enter (it may make a new line, see editor.h) and Ctrl-X Ctrl-E, in every editing mode.
 * What the user's inputrc binds otherwise stays. */
void bind_keys(int (*edit_externally)(int count, int key));
/* We use UTF-8 in any locale. readline reads the locale from the environment again for each line, so set it
 * there too. */
void set_locale(void);

#endif
