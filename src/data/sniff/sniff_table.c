/* sniff_table.c - is this text a table with this separator? In a table, the cells beside columns of numbers
 * and dates are short. A line of prose has a cell that reads like a sentence, or a blank after each
 * separator. Questions with commas, however regular, are not a table.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "sniff/sniff_table.h"

#define RECORDS 20 /* records examined */
#define COLUMNS 32 /* columns examined per record; further ones are counted */

enum field_kind {
    EMPTY,
    VALUE,
    WORD,
    PHRASE, /* two or three words */
    MIXED,  /* words with a number at one end: "sort 3" */
    SENTENCE,
};

struct csv_record {
    unsigned separators;
    unsigned char cells[COLUMNS];
    bool loose;    /* a blank follows some separator */
    bool blanks;   /* there is a blank outside quotes */
    bool question; /* ends with a question mark */
};

struct record_sample {
    struct csv_record v[RECORDS];
    size_t n;
};

/* ---- cells ---- */

/* A number, a date, a time, an amount, or a mark for a missing value. */
static bool is_value(const char *s, size_t n)
{
    static const char *const none[] = {"na", "n/a", "nan", "null", "none", "true", "false", "-"};
    size_t digits = 0;

    for (size_t i = 0; i < countof(none); i++)
        if (n == strlen(none[i]) && !strncasecmp(s, none[i], n))
            return true;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];

        if (c < 0x80 && !isdigit(c) && !strchr(".,:/+-%$ 'eETZ", c))
            return false;
        if (c >= 0x80 && c != 0xc2 && c != 0xe2 && (i == 0 || (unsigned char)s[i - 1] < 0x80))
            return false; /* pound, yen, euro or a narrow blank, not a letter */
        digits += isdigit(c) != 0;
    }
    return digits > 0;
}

size_t sniff_words(const char *s, size_t n)
{
    size_t words = 0;

    for (size_t i = 0; i < n; i++)
        words += s[i] != ' ' && s[i] != '\t' && (i == 0 || s[i - 1] == ' ' || s[i - 1] == '\t');
    return words;
}

/* "- ", "1. ", "a) ", "Q3: ": the beginning of a list item. */
static bool is_item(const char *s, size_t n)
{
    size_t i = 0;

    if (n > 1 && strchr("-*+", *s) && s[1] == ' ')
        return true;
    if (n > 4 && !memcmp(s, "\xe2\x80\xa2 ", 4))
        return true;
    while (i < n && i < 4 && isalnum((unsigned char)s[i]))
        i++;
    if (i == 0 || i == n || !strchr(".):", s[i]) || (i + 1 < n && s[i + 1] != ' '))
        return false;
    return isdigit((unsigned char)s[i - 1]) || i == 1;
}

/* Code, or a bracket that another cell closes. */
static bool is_torn(const char *s, size_t n)
{
    int open = 0;

    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"' || (s[i] == '=' && i > 0 && s[i - 1] == ' '))
            return true;
        open += (strchr("([{", s[i]) != NULL) - (strchr(")]}", s[i]) != NULL);
        if (open < 0)
            return true;
    }
    return open != 0;
}

/* For scripts without blanks between words: five characters are already a sentence. */
static bool is_long_without_blanks(const char *s, size_t n)
{
    size_t wide = 0;

    for (size_t i = 0; i < n; i++)
        wide += (unsigned char)s[i] >= 0xe3 && (unsigned char)s[i] <= 0xed;
    return wide >= 5;
}

static enum field_kind cell_of(const char *s, size_t n, bool first)
{
    for (; n && (*s == ' ' || *s == '\t'); s++)
        n--;
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t' || s[n - 1] == '\r'))
        n--;
    if (!n)
        return EMPTY;
    if (first && is_item(s, n))
        return SENTENCE;
    if (is_value(s, n))
        return VALUE;
    size_t words = sniff_words(s, n);
    if (words > 3 || strchr("?!", s[n - 1]) || (words == 3 && strchr(".:;", s[n - 1])) || is_torn(s, n)
        || is_long_without_blanks(s, n))
        return SENTENCE;
    if (words == 1)
        return WORD;
    size_t head = strcspn(s, " \t"), tail = n;
    while (s[tail - 1] != ' ' && s[tail - 1] != '\t')
        tail--;
    return is_value(s, head) || is_value(s + tail, n - tail) ? MIXED : PHRASE;
}

/* ---- records ---- */

/* The offset after the closing quote of a cell that begins with a quote; 0 if there is none. */
static size_t quoted_end(const char *s, size_t len)
{
    for (size_t i = 1; i < len; i++) {
        if (s[i] != '"')
            continue;
        if (i + 1 < len && s[i + 1] == '"')
            i++;
        else
            return i + 1;
    }
    return 0;
}

size_t sniff_plain_end(const char *s, size_t len, char separator)
{
    size_t i = 0;

    while (i < len && s[i] != separator && s[i] != '\n')
        i++;
    return i;
}

/* Length in bytes of the cell at s, up to its separator or the end of the line. quoted: its content tells
 * nothing. */
static size_t cell_end(const char *s, size_t len, char separator, bool *quoted)
{
    size_t blank = 0, end, after;

    while (blank < len && s[blank] == ' ')
        blank++;
    *quoted = false;
    if (blank < len && s[blank] == '"' && (end = quoted_end(s + blank, len - blank)) > 0) {
        after = blank + end;
        while (after < len && (s[after] == ' ' || s[after] == '\r'))
            after++;
        if (after == len || s[after] == separator || s[after] == '\n') {
            *quoted = true;
            return after;
        }
    }
    return sniff_plain_end(s, len, separator);
}

/* Read the record at s; returns its length including the end of the line. */
static size_t read_record(const char *s, size_t len, char separator, struct csv_record *r)
{
    size_t at = 0, column = 0;

    *r = (struct csv_record){0};
    for (;; column++) {
        bool quoted;
        size_t n = cell_end(s + at, len - at, separator, &quoted);
        enum field_kind kind = quoted ? WORD : cell_of(s + at, n, column == 0);

        if (column < COLUMNS)
            r->cells[column] = (unsigned char)kind;
        r->blanks |= !quoted && memchr(s + at, ' ', n);
        at += n;
        if (at >= len || s[at] == '\n') {
            size_t end = at;

            while (end && isspace((unsigned char)s[end - 1]))
                end--;
            r->question = end && s[end - 1] == '?';
            return at < len ? at + 1 : at;
        }
        r->separators++;
        at++;
        r->loose |= at < len && s[at] == ' ';
    }
}

static void read_table(const char *s, size_t len, char separator, struct record_sample *t)
{
    for (t->n = 0; len > 0 && t->n < RECORDS;) {
        size_t blank = strspn(s, " \t\r"), n;

        if (blank < len && (s[blank] == '\n' || *s == '#')) { /* neither a question nor a record */
            n = sniff_plain_end(s, len, '\n');
            n += n < len;
        } else {
            n = read_record(s, len, separator, &t->v[t->n++]);
        }
        s += n;
        len -= n;
    }
}

/* ---- is it a table? ---- */

static size_t columns_of(const struct csv_record *r)
{
    return r->separators + 1 < COLUMNS ? r->separators + 1 : COLUMNS;
}

static bool has(const struct csv_record *r, unsigned kinds)
{
    for (size_t k = 0; k < columns_of(r); k++)
        if (kinds & 1U << r->cells[k])
            return true;
    return false;
}

static size_t empty_cells(const struct csv_record *r)
{
    size_t n = 0;

    for (size_t k = 0; k < columns_of(r); k++)
        n += r->cells[k] == EMPTY;
    return n;
}

/* All n records have a value in one column, or most do and the others are empty there. */
static bool value_column(const struct csv_record *v, size_t n, size_t *which)
{
    for (*which = 0; *which < columns_of(v); ++*which) {
        size_t values = 0, empty = 0;

        for (size_t i = 0; i < n; i++) {
            values += v[i].cells[*which] == VALUE;
            empty += v[i].cells[*which] == EMPTY;
        }
        if (values + empty == n && values * 2 >= n)
            return true;
    }
    return false;
}

/* How many of n records satisfy so(). */
static size_t count(const struct csv_record *v, size_t n, bool (*so)(const struct csv_record *))
{
    size_t m = 0;

    for (size_t i = 0; i < n; i++)
        m += so(&v[i]);
    return m;
}

static bool is_prose(const struct csv_record *r)
{
    return r->loose || has(r, 1U << SENTENCE | 1U << MIXED);
}

static bool is_question(const struct csv_record *r)
{
    return r->question;
}

static bool is_compact(const struct csv_record *r)
{
    return !r->blanks;
}

static bool begins_short(const struct csv_record *r)
{
    return r->cells[0] != PHRASE;
}

static bool is_lone(const struct csv_record *r)
{
    return columns_of(r) - empty_cells(r) < 2;
}

static bool is_all_values(const struct csv_record *r)
{
    return has(r, 1U << VALUE) && !has(r, ~(1U << VALUE | 1U << EMPTY));
}

static bool is_header(const struct csv_record *r)
{
    return !has(r, 1U << VALUE | 1U << MIXED | 1U << SENTENCE);
}

/* n records with the same number of separators, the first perhaps a header. */
static bool is_table(const struct csv_record *v, size_t n)
{
    const struct csv_record *body = v + 1;
    size_t column, rows = n - 1, wordy = count(body, rows, is_prose);

    if (count(body, rows, is_question) * 4 >= rows || count(v, n, is_lone) == n)
        return false;
    if (count(body, rows, is_all_values) == rows)
        return true;
    if (!value_column(body, rows, &column))
        return n >= 3 && wordy == 0 && !is_prose(v)
               && (v->separators >= 2 || count(v, n, is_compact) * 2 >= n);
    if (is_header(v) && n >= 3 && (count(v, n, is_prose) == 0 || v->separators >= 2 || n >= 5))
        return true;
    if (wordy > 0 || (n == 2 && is_prose(v)))
        return false;
    return v->cells[column] != VALUE || count(v, n, begins_short) * 2 >= n;
}

static bool regular(const struct record_sample *t, size_t from)
{
    for (size_t i = from; i < t->n; i++)
        if (t->v[i].separators != t->v[from].separators || !t->v[i].separators)
            return false;
    return true;
}

/* The first line may be a title above the table. */
bool sniff_is_table(const char *s, size_t len, char separator)
{
    struct record_sample t;

    read_table(s, len, separator, &t);
    for (size_t from = 0; from <= 3 && from + (from ? 5 : 2) <= t.n; from++)
        if (regular(&t, from))
            return is_table(t.v + from, t.n - from);
    return false;
}
