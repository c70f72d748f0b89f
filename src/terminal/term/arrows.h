/* arrows.h - the arrow keys in a line of several lines: they move inside it, and at its first and last one
 * into the history. Keys that the user's inputrc binds otherwise stay.
 */
#ifndef TERM_ARROWS_H
#define TERM_ARROWS_H

/* After rl_initialize. recalled is called when an entry of the history has come into the line. */
void arrows_bind(void (*recalled)(void));

#endif
