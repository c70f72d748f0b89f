/* figure.h - draws an image for a terminal: by its graphics (kitty; iTerm2 and sixel, which libchafa makes),
 * or in Unicode blocks, which libchafa makes too. Inside show.
 */
#ifndef SHOW_FIGURE_H
#define SHOW_FIGURE_H

#include <stdbool.h>

#include "conversation/pixels.h"
#include "show/graphics.h"

#define FIGURE_ROWS 24 /* a figure is at most this high, and two thirds of the screen */

struct buf;
struct error;
struct kitty_image;
struct loop;

struct figure_screen {
    const struct graphics *graphics;
    int columns, rows;             /* of the screen */
    int pixel_width, pixel_height; /* of the screen; 0: not known */
    int colours;                   /* 0: none may be used; otherwise as show_colours() says */
};

/* What to ask the decoder for. False: there is no room for a figure. */
bool figure_ask(const struct figure_screen *s, struct pixels_ask *ask);
/* The most columns and rows that it takes. */
void figure_cells(const struct figure_screen *s, int *columns, int *rows);
/* Does the terminal read kitty's protocol? Then it needs no libchafa, and can be given a PNG as it is. */
bool figure_is_kitty(const struct figure_screen *s);
void figure_draw_kitty(const struct figure_screen *s, const struct kitty_image *i, struct buf *out);
/* For all others. Append the figure: whole lines of at most s->columns columns, with a newline at the end. */
int figure_draw(const struct figure_screen *s, const struct pixels *p, struct buf *out, struct error *err);
/* The same in a child that may open nothing and whose memory goes with it: libchafa and glib take 4 MB.
 * *missing: libchafa cannot be loaded, so no figure can be drawn. */
int figure_draw_apart(const struct figure_screen *s, const struct pixels *p, struct loop *loop,
                      struct buf *out, bool *missing, struct error *err);

#endif
