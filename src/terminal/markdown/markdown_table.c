/* markdown_table.c - a table, fitted to the width: columns are as wide as they need to be, or share what
 * there is, and text is wrapped inside them. Where not even the longest words fit side by side, each row
 * is a list of "Header: value". Rows are held until the widths are known, which is when the table ends or
 * has HELD_ROWS of them; later ones are drawn as they come.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "markdown/markdown_private.h"
#include "base/utf8.h"

enum { HELD_ROWS = 50, COLUMNS_MAX = 64, GAP = 3 /* columns of " │ " */ };

enum align { LEFT, CENTER, RIGHT };

struct table_row {
    char *cell[COLUMNS_MAX]; /* NULL behind the last one */
};

struct table {
    size_t columns, n_rows, drawn; /* rows[0] is the header */
    enum align align[COLUMNS_MAX];
    int width[COLUMNS_MAX];
    bool known;   /* the widths are */
    bool records; /* too narrow for columns */
    bool apart;   /* rows have several lines, so a rule is between them */
    struct table_row rows[HELD_ROWS];
};

static void row_release(struct table_row *r)
{
    for (size_t i = 0; i < COLUMNS_MAX; i++)
        free(r->cell[i]);
    *r = (struct table_row){0};
}

void markdown_table_free(struct markdown *m)
{
    for (size_t i = 0; m->table && i < HELD_ROWS; i++)
        row_release(&m->table->rows[i]);
    free(m->table);
    m->table = NULL;
}

/* The end of the cell at i: a bar that is neither escaped nor in code. */
static size_t cell_end(const char *s, size_t len, size_t i)
{
    for (; i < len && s[i] != '|'; i++)
        if (s[i] == '\\') {
            i++;
        } else if (s[i] == '`') {
            const char *close = memchr(s + i + 1, '`', len - i - 1);

            if (close)
                i = (size_t)(close - s);
        }
    return i < len ? i : len;
}

static char *trimmed(const char *s, size_t len)
{
    while (len && *s == ' ') {
        s++;
        len--;
    }
    char *cell = xmemdup0(s, trimmed_length(s, len, " ")), *to = cell;

    for (const char *from = cell; *from; from++) /* \| is a bar, for code too */
        if (from[0] != '\\' || from[1] != '|')
            *to++ = *from == '\t' ? ' ' : *from;
    *to = '\0';
    return cell;
}

static size_t row_read(struct table_row *r, const char *s, size_t len)
{
    size_t i = 0, n = 0;

    len = trimmed_length(s, len, " \t");
    while (i < len && strchr(" \t", s[i]))
        i++;
    i += i < len && s[i] == '|';
    while (i < len && n < COLUMNS_MAX) {
        size_t end = cell_end(s, len, i);

        r->cell[n++] = trimmed(s + i, end - i);
        i = end + 1;
    }
    return n;
}

/* "---", ":--", ":-:", "--:" */
static bool is_delimiter(const char *cell, enum align *align)
{
    bool left = *cell == ':';
    size_t dashes = strspn(cell + left, "-");
    bool right = cell[left + dashes] == ':';

    *align = right ? left ? CENTER : RIGHT : LEFT;
    return dashes > 0 && !cell[left + dashes + right];
}

/* Read the alignment of each column from the line below the head. Returns the number of columns; 0: it is no
 * such line. */
static size_t read_delimiters(const char *s, size_t len, enum align *align)
{
    struct table_row cells = {0};
    size_t n = row_read(&cells, s, len);
    bool all = true;

    for (size_t i = 0; i < n; i++)
        all = is_delimiter(cells.cell[i], &align[i]) && all;
    row_release(&cells);
    return all ? n : 0;
}

bool markdown_table_fits(const char *head, size_t head_len, const char *s, size_t len)
{
    struct table_row first = {0};
    enum align align[COLUMNS_MAX];
    size_t n = read_delimiters(s, len, align);
    bool fits = n > 1 && row_read(&first, head, head_len) == n;

    row_release(&first);
    return fits;
}

bool markdown_table_open(struct markdown *m, const char *s, size_t len)
{
    enum align align[COLUMNS_MAX] = {LEFT};
    size_t n = len && memchr(s, '|', len) ? read_delimiters(s, len, align) : 0;

    if (!n)
        return false;
    markdown_end_leaf(m);
    markdown_begin_leaf(m, LEAF_TABLE);
    struct table *t = m->table = xcalloc(1, sizeof *t);
    t->columns = row_read(&t->rows[0], m->held.data, m->held.len);
    t->columns = n > t->columns ? n : t->columns;
    t->n_rows = 1;
    memcpy(t->align, align, sizeof align);
    buf_release(&m->held);
    return true;
}

struct cell_size { /* the longest ones */
    int word, line;
};

/* A cell as lines of at most f's width. */
static struct cell_size draw_cell(struct markdown *m, struct flow f, const char *cell, bool head)
{
    flow_begin(&f, "", "");
    if (cell)
        markdown_inline(m, &f, head ? STYLE_BOLD : 0, cell);
    flow_end(&f);
    flow_release(&f);
    return (struct cell_size){f.longest_word, f.longest_line};
}

static struct flow cell_flow(const struct markdown *m, int width, struct buf *out)
{
    struct flow f = {.o = m->flow.o, .out = out};

    f.o.width = width;
    return f;
}

static int sum(const int *v, size_t n)
{
    int total = 0;

    for (size_t i = 0; i < n; i++)
        total += v[i];
    return total;
}

/* Share the width: nobody gets less than the longest word, and what is over goes to those that need it,
 * evenly. */
static void share(struct table *t, const int *word, const int *line, int width)
{
    for (int level = 1;; level++) {
        int next[COLUMNS_MAX];

        for (size_t i = 0; i < t->columns; i++)
            next[i] = word[i] > level ? word[i] : line[i] > level ? level : line[i];
        bool all = sum(next, t->columns) == sum(line, t->columns);
        if (sum(next, t->columns) > width)
            break;
        memcpy(t->width, next, sizeof next);
        if (all)
            return;
    }
    for (size_t i = 0; i < t->columns; i++)
        if (t->width[i] < line[i] && sum(t->width, t->columns) < width)
            t->width[i]++;
}

static void settle_widths(struct markdown *m, struct table *t)
{
    int word[COLUMNS_MAX], line[COLUMNS_MAX];
    int width = m->flow.o.width - flow_columns(buf_str(&m->flow.next)) - GAP * (int)(t->columns - 1);
    struct buf scratch autorelease(buf_release) = BUF_INIT(0);

    for (size_t i = 0; i < t->columns; i++) {
        word[i] = line[i] = 1;
        for (size_t r = 0; r < t->n_rows; r++) {
            buf_clear(&scratch);
            struct cell_size size = draw_cell(m, cell_flow(m, 0, &scratch), t->rows[r].cell[i], r == 0);
            word[i] = size.word > word[i] ? size.word : word[i];
            line[i] = size.line > line[i] ? size.line : line[i];
        }
    }
    t->known = true;
    memcpy(t->width, line, sizeof line);
    if (!m->flow.o.width || sum(line, t->columns) <= width)
        return;
    t->records = sum(word, t->columns) > width;
    t->apart = true;
    if (!t->records)
        share(t, word, line, width);
}

/* Columns of a line with escape sequences of ours in it. */
static int columns_of(const char *s, size_t len)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    for (size_t i = 0; i < len; i++) {
        if (s[i] != '\033') {
            buf_addch(&text, s[i]);
        } else if (i + 1 < len && s[i + 1] == ']') {
            while (i < len && s[i] != '\\')
                i++;
        } else {
            while (i < len && s[i] != 'm')
                i++;
        }
    }
    return utf8_columns(buf_str(&text), text.len);
}

static void add_dim(struct markdown *m, const char *s)
{
    buf_addf(m->flow.out, "%s%s%s", m->flow.o.colour ? "\033[2m" : "", s, m->flow.o.colour ? "\033[0m" : "");
}

static void add_prefix(struct markdown *m)
{
    flow_prefix(&m->flow);
    flow_line_lost(&m->flow);
}

static void draw_rule(struct markdown *m, const struct table *t)
{
    struct buf rule autorelease(buf_release) = BUF_INIT(0);

    add_prefix(m);
    for (size_t i = 0; i < t->columns; i++) {
        buf_addstr(&rule, i ? "─┼─" : "");
        for (int k = 0; k < t->width[i]; k++)
            buf_addstr(&rule, "─");
    }
    add_dim(m, buf_str(&rule));
    buf_addch(m->flow.out, '\n');
}

/* One line of a cell, taken from the front of *text, in its column. */
static void add_cell_line(struct markdown *m, const struct table *t, size_t i, const char **text)
{
    size_t len = strcspn(*text, "\n");
    int columns = columns_of(*text, len), spare = t->width[i] > columns ? t->width[i] - columns : 0;
    int left = t->align[i] == RIGHT ? spare : t->align[i] == CENTER ? spare / 2 : 0;

    buf_addf(m->flow.out, "%*s", left, "");
    buf_add(m->flow.out, *text, len);
    if (i + 1 < t->columns)
        buf_addf(m->flow.out, "%*s", spare - left, "");
    *text += len + ((*text)[len] == '\n');
}

static void draw_columns(struct markdown *m, const struct table *t, const struct table_row *r, bool head)
{
    struct buf cell[COLUMNS_MAX] = {0};
    const char *text[COLUMNS_MAX];
    bool more = true;

    for (size_t i = 0; i < t->columns; i++) {
        draw_cell(m, cell_flow(m, t->width[i], &cell[i]), r->cell[i], head);
        text[i] = buf_str(&cell[i]);
    }
    while (more) {
        more = false;
        add_prefix(m);
        for (size_t i = 0; i < t->columns; i++) {
            if (i)
                add_dim(m, " │ ");
            add_cell_line(m, t, i, &text[i]);
            more = more || *text[i];
        }
        buf_addch(m->flow.out, '\n');
    }
    for (size_t i = 0; i < t->columns; i++)
        buf_release(&cell[i]);
}

static void draw_record(struct markdown *m, const struct table *t, const struct table_row *r)
{
    const struct table_row *head = &t->rows[0];

    for (size_t i = 0; i < t->columns; i++) {
        const char *name = head->cell[i] ? head->cell[i] : "", *value = r->cell[i] ? r->cell[i] : "";

        if (!*name && !*value)
            continue;
        flow_again(&m->flow, 2);
        if (*name) {
            markdown_inline(m, &m->flow, STYLE_BOLD, name);
            flow_text(&m->flow, STYLE_BOLD, ":", 1);
            flow_blanks(&m->flow, 1);
        }
        markdown_inline(m, &m->flow, 0, value);
        flow_end(&m->flow);
    }
}

static void draw_row(struct markdown *m, struct table *t, const struct table_row *r)
{
    if (t->records) {
        if (t->drawn > 1) {
            add_prefix(m);
            buf_addch(m->flow.out, '\n');
        }
        if (t->drawn)
            draw_record(m, t, r);
    } else {
        if (t->apart && t->drawn > 1)
            draw_rule(m, t);
        draw_columns(m, t, r, !t->drawn);
        if (!t->drawn)
            draw_rule(m, t);
    }
    t->drawn++;
}

static void draw_held(struct markdown *m, struct table *t)
{
    settle_widths(m, t);
    for (size_t i = 0; i < t->n_rows; i++)
        draw_row(m, t, &t->rows[i]);
}

void markdown_table_row(struct markdown *m, const char *s, size_t len)
{
    struct table *t = m->table;
    struct table_row row = {0};

    row_read(&row, s, len);
    if (!t->known && t->n_rows < HELD_ROWS) {
        t->rows[t->n_rows++] = row;
        return;
    }
    if (!t->known)
        draw_held(m, t);
    draw_row(m, t, &row);
    row_release(&row);
}

void markdown_table_end(struct markdown *m)
{
    if (m->table && !m->table->known)
        draw_held(m, m->table);
    markdown_table_free(m);
}
