/* figure_texts.c - reads a figure's texts one by one, and finds the cells for each. */
#include "show/figure_texts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/scrub.h"
#include "base/utf8.h"

#define WHOLE    10000 /* width and height of the picture, in which places are told */
#define ELLIPSIS 0x2026

struct placed_text {
    long left, right, middle; /* of WHOLE: its edges, and the height of its middle; what was told */
    long angle;               /* degrees, counter-clockwise */
    char align;               /* l, c, r: which of its edges, or the middle of them, stays where it is */
    uint32_t colour;
    uint32_t characters[FIGURE_TEXT_MOST]; /* each of one or two columns */
    int n;
};

struct cells {
    struct figure_cell *grid;
    int columns, rows;
};

static bool next_number(const char **at, int base, long least, long most, long *value)
{
    char *end;

    *value = strtol(*at, &end, base);
    if (end == *at || *end != ' ' || *value < least || *value > most)
        return false;
    *at = end + 1;
    return true;
}

static void read_characters(struct placed_text *t, const char *text)
{
    autofree char *clean = scrub_line(text, SCRUB_TERMINAL);
    size_t left = strlen(clean);
    uint32_t character;

    for (const char *p = clean; left && t->n < FIGURE_TEXT_MOST;) {
        int used = utf8_decode(p, left, &character);

        if (used < 1)
            return;
        if (utf8_width(character) > 0) /* a mark that is combined with a letter has no cell of its own */
            t->characters[t->n++] = character;
        p += used;
        left -= (size_t)used;
    }
}

/* "1200 3400 500 90 c 1f77b4 the text" */
static bool read_placed(struct placed_text *t, const char *told)
{
    long colour;

    t->n = 0;
    if (!next_number(&told, 10, -WHOLE, 2 * WHOLE, &t->left)
        || !next_number(&told, 10, -WHOLE, 2 * WHOLE, &t->right)
        || !next_number(&told, 10, -WHOLE, 2 * WHOLE, &t->middle)
        || !next_number(&told, 10, 0, 359, &t->angle) || !*told || !strchr("lcr", *told) || told[1] != ' ')
        return false;
    t->align = *told;
    told += 2;
    if (!next_number(&told, 16, 0, 0xffffff, &colour))
        return false;
    t->colour = (uint32_t)colour;
    read_characters(t, told);
    return t->n > 0;
}

static int placed_columns(const struct placed_text *t)
{
    int columns = 0;

    for (int i = 0; i < t->n; i++)
        columns += utf8_width(t->characters[i]);
    return columns;
}

/* Shorten it to so many columns, or, written downwards, to so many rows. */
static void shorten_to(struct placed_text *t, int room, bool upright)
{
    if ((upright ? t->n : placed_columns(t)) <= room)
        return;
    while (t->n > 0 && (upright ? t->n : placed_columns(t)) > room - 1)
        t->n--;
    t->characters[t->n++] = ELLIPSIS;
}

/* Are these cells of a row free, and one on each side, so that words do not run into each other? */
static bool is_free(const struct cells *c, int x, int y, int columns)
{
    for (int i = x - 1; i <= x + columns; i++)
        if (i >= 0 && i < c->columns && c->grid[y * c->columns + i].character)
            return false;
    return true;
}

static void put(const struct cells *c, int x, int y, uint32_t character, uint32_t colour)
{
    struct figure_cell *cell = &c->grid[y * c->columns + x];

    *cell = (struct figure_cell){character, colour};
    if (utf8_width(character) == 2)
        cell[1] = (struct figure_cell){FIGURE_CELL_BEHIND, colour};
}

static int kept_between(long at, long most)
{
    return (int)(at < 0 ? 0 : at > most ? most : at);
}

/* of WHOLE, in units of which there are so many; the nearest */
static long unit_of(long place, int units)
{
    return (place * units + (place < 0 ? -WHOLE / 2 : WHOLE / 2)) / WHOLE;
}

static void place_along(const struct cells *c, struct placed_text *t)
{
    shorten_to(t, c->columns, false);
    int columns = placed_columns(t);
    long start = t->align == 'l'   ? unit_of(t->left, c->columns)
                 : t->align == 'r' ? unit_of(t->right, c->columns) - columns
                                   : (unit_of(t->left + t->right, c->columns) - columns) / 2;
    int x = kept_between(start, c->columns - columns),
        y = kept_between(t->middle * c->rows / WHOLE, c->rows - 1);

    if (!is_free(c, x, y, columns))
        return;
    for (int i = 0; i < t->n; x += utf8_width(t->characters[i++]))
        put(c, x, y, t->characters[i], t->colour);
}

/* One character below the other: no terminal turns them. */
static void place_down(const struct cells *c, struct placed_text *t)
{
    shorten_to(t, c->rows, true);
    bool wide = placed_columns(t) > t->n;
    int x = kept_between((t->left + t->right) * c->columns / (2 * WHOLE), c->columns - 1 - wide);
    int y = kept_between((unit_of(2 * t->middle, c->rows) - t->n) / 2, c->rows - t->n);

    if (c->columns < 1 + wide)
        return;
    for (int i = 0; i < t->n; i++)
        if (!is_free(c, x, y + i, 1 + wide))
            return;
    for (int i = 0; i < t->n; i++)
        put(c, x, y + i, t->characters[i], t->colour);
}

void figure_texts_place(const char *told, size_t len, int columns, int rows, struct figure_cell *grid)
{
    const struct cells c = {grid, columns, rows};
    struct placed_text *t = xmalloc(sizeof *t);

    for (int i = 0; len && i < FIGURE_TEXTS_MOST; i++) {
        size_t n = strnlen(told, len);
        autofree char *one = xmemdup0(told, n);

        if (read_placed(t, one) && t->angle % 180 > 45 && t->angle % 180 < 135)
            place_down(&c, t);
        else if (t->n > 0)
            place_along(&c, t);
        n += n < len;
        told += n;
        len -= n;
    }
    free(t);
}
