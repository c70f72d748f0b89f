/* overwrite.c - keeps the last rows of a terminal and obeys \r, \n, and the sequences that move or erase,
 * until a row is settled.
 */
#include "base/overwrite.h"

#include <stdlib.h>
#include <string.h>

void overwrite_release(struct overwrite *o)
{
    for (size_t i = 0; i < OVERWRITE_ROWS; i++)
        buf_release(&o->row[i]);
    *o = (struct overwrite){.live = o->live};
}

static void clear(struct overwrite *o, size_t from, size_t to)
{
    for (size_t i = from; i <= to; i++) {
        buf_clear(&o->row[i]);
        o->again[i] = false;
    }
}

static bool is_blank_row(const struct buf *row)
{
    return strspn(buf_str(row), " ") == row->len;
}

size_t overwrite_rows(const struct overwrite *o)
{
    size_t n = o->last + 1;

    while (n > 1 && is_blank_row(&o->row[n - 1]))
        n--;
    return n;
}

/* Are there lines that overwrite_settle() lets pass? */
static bool settled(const struct overwrite *o)
{
    return o->moving && o->at == o->last && o->last > 0 && is_blank_row(&o->row[o->at]);
}

static void pass_row(const struct overwrite *o, size_t i, bool end, struct buf *out)
{
    if (o->live && o->again[i])
        buf_addch(out, '\r');
    if (!o->passed)
        buf_add(out, buf_str(&o->row[i]), o->row[i].len);
    if (end)
        buf_addch(out, '\n');
}

/* The rows above the last one pass; that becomes an ordinary line. */
static void release_rows(struct overwrite *o, struct buf *out)
{
    for (size_t i = 0; i < o->last; i++)
        pass_row(o, i, true, out);
    clear(o, 0, o->last);
    o->last = o->at = 0;
    o->moving = o->up = o->passed = false;
}

void overwrite_settle(struct overwrite *o, struct buf *out)
{
    if (settled(o))
        release_rows(o, out);
}

/* The present line is one of those that are written again. */
static void hold_row(struct overwrite *o, struct buf *out)
{
    if (!o->moving && o->passed) {
        buf_addstr(out, o->live ? "\r\r" : "\n");
        if (!o->live) /* what has passed cannot be replaced */
            buf_clear(&o->row[0]);
        o->passed = false;
    }
    o->moving = true;
}

static void replace(struct overwrite *o, struct buf *out)
{
    hold_row(o, out);
    buf_clear(&o->row[o->at]);
    o->again[o->at] = true;
}

/* Text without \r and \n. */
static void add_text(struct overwrite *o, const char *text, size_t len, struct buf *out)
{
    if (o->cr || (o->home && o->row[o->at].len))
        replace(o, out);
    else if (o->home && !o->up && settled(o))
        release_rows(o, out);
    o->home = o->cr = false;
    struct buf *row = &o->row[o->at];
    row->max = OVERWRITE_MAX;
    if (o->moving || (!o->live && !o->passed && row->len + len <= OVERWRITE_MAX)) {
        buf_add(row, text, len);
        return;
    }
    if (!o->live && !o->passed)
        buf_add(out, buf_str(row), row->len);
    buf_add(out, text, len);
    buf_add(row, text, len);
    o->passed = true;
}

static void newline(struct overwrite *o, struct buf *out)
{
    o->home = true;
    o->cr = false;
    if (!o->moving) {
        pass_row(o, 0, true, out);
        clear(o, 0, 0);
        o->passed = false;
        return;
    }
    if (o->at < o->last) {
        o->at++;
        return;
    }
    if (o->last + 1 == OVERWRITE_ROWS) {
        struct buf first = o->row[0];

        pass_row(o, 0, true, out);
        memmove(&o->row[0], &o->row[1], o->last * sizeof o->row[0]);
        memmove(&o->again[0], &o->again[1], o->last * sizeof o->again[0]);
        o->row[o->last--] = first;
    }
    o->at = ++o->last;
    clear(o, o->at, o->at);
}

static void erase(struct overwrite *o, char what, long n, struct buf *out)
{
    bool all = n > 0;

    if (what == 'K' && (!o->row[o->at].len || !(all || o->home)))
        return;
    if (all || o->home)
        replace(o, out);
    else
        hold_row(o, out);
    if (what == 'J') {
        clear(o, all ? 0 : o->at + 1, o->last);
        o->last = o->at = all ? 0 : o->at;
    }
}

/* What a whole sequence does: ESC [ n letter. */
static void obey(struct overwrite *o, struct buf *out)
{
    char what = o->escape[o->n_escape - 1];
    long n = strtol(o->escape + 2, NULL, 10);
    size_t by = n > OVERWRITE_ROWS ? OVERWRITE_ROWS : n > 0 ? (size_t)n : 1;

    switch (what) {
    case 'A':
    case 'F':
    case 'H':
        hold_row(o, out);
        o->up = true;
        o->at = what == 'H' || by > o->at ? 0 : o->at - by;
        o->home = o->home || what != 'A';
        break;
    case 'B':
    case 'E':
        o->at = o->at + by > o->last ? o->last : o->at + by;
        o->home = o->home || what == 'E';
        break;
    case 'G':
        o->home = o->home || n < 2;
        break;
    case 'J':
        if (n > 1)
            break; /* clears the screen: what was printed before it is still of use */
        /* fall through */
    case 'K':
        erase(o, what, n, out);
        break;
    case 'h':
    case 'l':
        break;
    default:
        add_text(o, o->escape, o->n_escape, out);
    }
}

/* A byte of a sequence. False: it does not belong to it. */
static bool add_escape(struct overwrite *o, char c, struct buf *out)
{
    bool first = o->n_escape == 1, whole = !first && c >= '@' && c <= '~';

    if (first ? c != '[' : (!whole && (c < '0' || c > '?')) || o->n_escape + 2 > sizeof o->escape) {
        size_t n = o->n_escape;

        o->n_escape = 0;
        add_text(o, o->escape, n, out);
        return false;
    }
    o->escape[o->n_escape++] = c;
    o->escape[o->n_escape] = '\0';
    if (whole) {
        obey(o, out);
        o->n_escape = 0;
    }
    return true;
}

void overwrite_feed(struct overwrite *o, const char *text, size_t len, struct buf *out)
{
    const char *end = text + len;

    while (text < end) {
        const char *stop = text;

        if (o->n_escape && add_escape(o, *text, out)) {
            text++;
            continue;
        }
        while (stop < end && *stop != '\r' && *stop != '\n' && *stop != '\033')
            stop++;
        if (stop > text) {
            add_text(o, text, (size_t)(stop - text), out);
            text = stop;
            continue;
        }
        if (*text == '\r')
            o->home = o->cr = true;
        else if (*text == '\n')
            newline(o, out);
        else
            o->escape[o->n_escape++] = '\033';
        text++;
    }
}

void overwrite_end(struct overwrite *o, struct buf *out)
{
    size_t end;

    if (o->n_escape)
        add_text(o, o->escape, o->n_escape, out);
    for (end = o->last; end > o->at && is_blank_row(&o->row[end]);)
        end--;
    for (size_t i = 0; i < end; i++)
        pass_row(o, i, true, out);
    if (!o->moving || !is_blank_row(&o->row[end]))
        pass_row(o, end, o->live && o->moving, out);
    overwrite_release(o);
}
