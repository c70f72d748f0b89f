/* through_tmux.h - figures in a kitty or Ghostty behind tmux. tmux does not know their graphics, but
 * passes a sequence on where its option allow-passthrough is set. The image goes that way; where it is shown
 * is told by placeholders, which tmux takes for text: it scrolls, wraps and redraws them with the rest.
 * Inside show.
 */
#ifndef SHOW_THROUGH_TMUX_H
#define SHOW_THROUGH_TMUX_H

#include "show/graphics.h"

struct buf;
struct kitty_image;
struct loop;

/* Ask tmux, once, whether it passes things on and what terminal is before it; at most half a second. Nothing
 * where there is no tmux. */
void through_tmux_ask(struct graphics *g, struct loop *loop);
/* What tmux says of itself: "1 kitty(0.35.2)". Does that terminal show images at placeholders? */
bool through_tmux_passes(const char *said);
/* Append the image in so many columns and rows (at most FIGURE_ROWS), each row with a newline. */
void through_tmux_draw(const struct kitty_image *i, int columns, int rows, struct buf *out);

#endif
