/* figure_texts.h - puts the texts of a figure into the cells of a terminal. The code tells them, with their
 * places (docs/sandbox-protocol.md, "Texts of a figure"): every byte is hostile. Pure. Inside show.
 */
#ifndef SHOW_FIGURE_TEXTS_H
#define SHOW_FIGURE_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#define FIGURE_TEXTS_MOST 500 /* what is told behind them is not read */
#define FIGURE_TEXT_MOST  200 /* characters of one */

struct figure_cell {
    uint32_t character; /* 0: the picture is seen here */
    uint32_t colour;    /* 0xRRGGBB */
};

#define FIGURE_CELL_BEHIND UINT32_MAX /* the character of a cell that the wide one on its left covers too */

/* Place the texts in a grid of columns x rows cells, which are all 0, row by row. The first ones are the most
 * important: one that is in the way of an earlier one is left out. */
void figure_texts_place(const char *told, size_t len, int columns, int rows, struct figure_cell *grid);

#endif
