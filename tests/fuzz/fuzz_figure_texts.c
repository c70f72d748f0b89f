/* fuzz_figure_texts.c - what code says of a figure's texts: each cell of the grid has a character that a
 * terminal shows, and a wide one has both of its cells. The first two bytes choose columns and rows.
 */
#include "tests/fuzz/fuzz.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "show/figure_texts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    int columns = 1 + data[0] % 200, rows = 1 + data[1] % 30;
    char *told = fuzz_exact(data + 2, size - 2);
    struct figure_cell *grid = xcalloc((size_t)columns * (size_t)rows, sizeof *grid);

    figure_texts_place(told, size - 2, columns, rows, grid);
    for (int i = 0; i < columns * rows; i++) {
        uint32_t character = grid[i].character;
        bool first = i % columns == 0, last = i % columns == columns - 1;

        check(grid[i].colour <= 0xffffff);
        if (character == FIGURE_CELL_BEHIND) {
            check(!first && utf8_width(grid[i - 1].character) == 2);
        } else if (character) {
            check(character >= ' ' && (character < 0x7f || character > 0x9f) && utf8_width(character) > 0);
            check(utf8_width(character) == 1 || (!last && grid[i + 1].character == FIGURE_CELL_BEHIND));
        }
    }
    free(grid);
    free(told);
    return 0;
}
