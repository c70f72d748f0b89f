/* sniff_data.c - is this data where questions should be? Asking each line of a table costs a request a line, so what is plainly data is told
 * from questions; but a question that is refused cannot be asked at all, so prose with commas in it, however regular, never is data here.
 *
 * A table shows by its cells: beside numbers and dates that stand under each other, its other cells are short. A line of prose has a cell
 * that reads like a sentence, or a blank behind each separator.
 */
#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "agent/sniff.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"

#define RECORDS 20              /* looked at */
#define COLUMNS 32              /* of a record; more count, but are not looked at */
#define BINARY_HEAD 512

enum cell { EMPTY, VALUE, WORD, PHRASE /* two or three words */, MIXED /* words with a number at an end: "sort 3" */, SENTENCE };

struct record {
    unsigned separators;
    unsigned char cells[COLUMNS];
    bool loose;                 /* a separator has a blank behind it */
    bool blanks;                /* there is one anywhere outside quotes */
    bool question;              /* ends with a question mark */
};

struct table {
    struct record v[RECORDS];
    size_t n;
};

/* ---- cells ---- */

static bool is_number(const char *s, size_t n)
{
    size_t i = n > 1 && (*s == '-' || *s == '+'), digits = 0;

    for (; i < n; i++) {
        if (!isdigit((unsigned char)s[i]) && s[i] != '.' && s[i] != ',')
            return false;
        digits += isdigit((unsigned char)s[i]) != 0;
    }
    return digits > 0 && isdigit((unsigned char)s[n - 1]);
}

/* A number, a date, a time, an amount, or what stands for none. */
static bool is_value(const char *s, size_t n)
{
    static const char *const none[] = {"na", "n/a", "nan", "null", "none", "true", "false", "-"};
    size_t digits = 0;

    for (size_t i = 0; i < countof(none); i++)
        if (n == strlen(none[i]) && strncasecmp(s, none[i], n) == 0)
            return true;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];

        if (c < 0x80 && !isdigit(c) && !strchr(".,:/+-%$ 'eETZ", c))
            return false;
        if (c >= 0x80 && c != 0xc2 && c != 0xe2 && (i == 0 || (unsigned char)s[i - 1] < 0x80))
            return false;       /* pound, yen, euro, a narrow blank; no letter */
        digits += isdigit(c) != 0;
    }
    return digits > 0;
}

static size_t words_of(const char *s, size_t n)
{
    size_t words = 0;

    for (size_t i = 0; i < n; i++)
        words += s[i] != ' ' && s[i] != '\t' && (i == 0 || s[i - 1] == ' ' || s[i - 1] == '\t');
    return words;
}

/* "- ", "1. ", "a) ", "Q3: ": the beginning of an item of a list. */
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

/* Brackets that another cell closes, or code. */
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

/* Scripts without blanks between words: five characters are a sentence already. */
static bool is_long_without_blanks(const char *s, size_t n)
{
    size_t wide = 0;

    for (size_t i = 0; i < n; i++)
        wide += (unsigned char)s[i] >= 0xe3 && (unsigned char)s[i] <= 0xed;
    return wide >= 5;
}

static enum cell cell_of(const char *s, size_t n, bool first)
{
    size_t words, head, tail;

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
    words = words_of(s, n);
    if (words > 3 || strchr("?!", s[n - 1]) || (words == 3 && strchr(".:;", s[n - 1])) || is_torn(s, n) || is_long_without_blanks(s, n))
        return SENTENCE;
    if (words == 1)
        return WORD;
    head = 0;
    while (s[head] != ' ' && s[head] != '\t')
        head++;
    for (tail = n; s[tail - 1] != ' ' && s[tail - 1] != '\t'; tail--)
        ;
    return is_value(s, head) || is_value(s + tail, n - tail) ? MIXED : PHRASE;
}

/* ---- records ---- */

/* Behind the closing quote of a cell that begins with one; 0: there is none. */
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

static size_t plain_end(const char *s, size_t len, char separator)
{
    size_t i = 0;

    while (i < len && s[i] != separator && s[i] != '\n')
        i++;
    return i;
}

/* One cell at s; how many bytes it has, up to its separator or line's end. quoted: what is in it tells nothing. */
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
    return plain_end(s, len, separator);
}

/* The record at s; returns its length with the line's end. */
static size_t read_record(const char *s, size_t len, char separator, struct record *r)
{
    size_t at = 0, column = 0;

    *r = (struct record){0};
    for (;; column++) {
        bool quoted;
        size_t n = cell_end(s + at, len - at, separator, &quoted);
        enum cell kind = quoted ? WORD : cell_of(s + at, n, column == 0);

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

static void read_table(const char *s, size_t len, char separator, struct table *t)
{
    for (t->n = 0; len > 0 && t->n < RECORDS;) {
        size_t blank = strspn(s, " \t\r"), n;

        if (blank < len && (s[blank] == '\n' || *s == '#')) {   /* no question and no record */
            n = plain_end(s, len, '\n');
            n += n < len;
        } else {
            n = read_record(s, len, separator, &t->v[t->n++]);
        }
        s += n;
        len -= n;
    }
}

/* ---- is it a table? ---- */

static size_t columns_of(const struct record *r)
{
    return r->separators + 1 < COLUMNS ? r->separators + 1 : COLUMNS;
}

static bool has(const struct record *r, unsigned kinds)
{
    for (size_t k = 0; k < columns_of(r); k++)
        if (kinds & 1U << r->cells[k])
            return true;
    return false;
}

static size_t empty_cells(const struct record *r)
{
    size_t n = 0;

    for (size_t k = 0; k < columns_of(r); k++)
        n += r->cells[k] == EMPTY;
    return n;
}

/* All n records have a value in one column, or in most and nothing in the others. */
static bool value_column(const struct record *v, size_t n, size_t *which)
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

/* How many of n records are so. */
static size_t count(const struct record *v, size_t n, bool (*so)(const struct record *))
{
    size_t m = 0;

    for (size_t i = 0; i < n; i++)
        m += so(&v[i]);
    return m;
}

static bool is_prose(const struct record *r) { return r->loose || has(r, 1U << SENTENCE | 1U << MIXED); }
static bool is_question(const struct record *r) { return r->question; }
static bool is_compact(const struct record *r) { return !r->blanks; }
static bool begins_short(const struct record *r) { return r->cells[0] != PHRASE; }
static bool is_lone(const struct record *r) { return columns_of(r) - empty_cells(r) < 2; }
static bool is_all_values(const struct record *r) { return has(r, 1U << VALUE) && !has(r, ~(1U << VALUE | 1U << EMPTY)); }
static bool is_header(const struct record *r) { return !has(r, 1U << VALUE | 1U << MIXED | 1U << SENTENCE); }

/* n records with the same number of separators, the first perhaps a header. */
static bool is_table(const struct record *v, size_t n)
{
    const struct record *body = v + 1;
    size_t column, rows = n - 1, wordy = count(body, rows, is_prose);

    if (count(body, rows, is_question) * 4 >= rows || count(v, n, is_lone) == n)
        return false;
    if (count(body, rows, is_all_values) == rows)
        return true;
    if (!value_column(body, rows, &column))
        return n >= 3 && wordy == 0 && !is_prose(v) && (v->separators >= 2 || count(v, n, is_compact) * 2 >= n);
    if (is_header(v) && n >= 3 && (count(v, n, is_prose) == 0 || v->separators >= 2 || n >= 5))
        return true;
    if (wordy > 0 || (n == 2 && is_prose(v)))
        return false;
    return v->cells[column] != VALUE || count(v, n, begins_short) * 2 >= n;
}

static bool regular(const struct table *t, size_t from)
{
    for (size_t i = from; i < t->n; i++)
        if (t->v[i].separators != t->v[from].separators || !t->v[i].separators)
            return false;
    return true;
}

/* Some tables have a title above them. */
static bool has_table(const char *s, size_t len, char separator)
{
    struct table t;

    read_table(s, len, separator, &t);
    for (size_t from = 0; from <= 3 && from + (from ? 5 : 2) <= t.n; from++)
        if (regular(&t, from))
            return is_table(t.v + from, t.n - from);
    return false;
}

/* One number a line, and perhaps a name above them. */
static bool has_numbers(const char *s, size_t len)
{
    size_t numbers = 0;
    bool named = false;

    while (len > 0 && numbers < RECORDS) {
        size_t n = plain_end(s, len, '\n'), end = n;

        while (end && isspace((unsigned char)s[end - 1]))
            end--;
        if (is_number(s, end))
            numbers++;
        else if (end && (numbers || named || words_of(s, end) > 1))
            return false;
        else
            named = named || end;
        n += n < len;
        s += n;
        len -= n;
    }
    return numbers >= 3;
}

/* "|---|:--:|", the second line of a table in Markdown. */
static bool has_markdown(const char *s, size_t len)
{
    const char *second = memchr(s, '\n', len);
    size_t n;

    if (*s != '|' || !second)
        return false;
    second++;
    n = plain_end(second, len - (size_t)(second - s), '\n');
    return n >= 5 && *second == '|' && strspn(second, "|-: \r") >= n && memmem(second, n, "---", 3);
}

/* ---- everything else ---- */

static bool is_json_value(const char *s, size_t len, bool whole)
{
    struct error err = {0};
    autojson struct json *j = json_parse(s, len, JSON_DUPLICATES, NULL, &err);

    return j || (!whole && err.code >= 0 && (size_t)err.code >= len);   /* it only ends too early */
}

/* A whole value, the beginning of one, or one a line. */
static bool has_json(const char *s, size_t len, bool whole)
{
    const char *end = memrchr(s, '\n', len);

    if (!len || (*s != '{' && *s != '['))
        return false;
    if (is_json_value(s, len, whole))
        return true;
    if (!whole && end)
        len = (size_t)(end - s);
    for (unsigned lines = 0; len > 0 && lines < RECORDS; lines++) {
        size_t n = plain_end(s, len, '\n');

        if ((*s != '{' && *s != '[') || !is_json_value(s, n, true))
            return false;
        n += n < len;
        s += n;
        len -= n;
        while (len && isspace((unsigned char)*s)) {
            s++;
            len--;
        }
    }
    return true;
}

static bool is_binary(const char *s, size_t len)
{
    size_t head = len < BINARY_HEAD ? len : BINARY_HEAD, odd = 0;

    for (size_t i = 0; i < head; i++)
        odd += (unsigned char)s[i] < 0x20 && !isspace((unsigned char)s[i]) && s[i] != '\x1b';
    return odd > 3 && memchr(s, 0, head);
}

static const char *file_kind(const char *s, size_t len, bool whole)
{
    static const struct { const char *kind, *name; } files[] = {
        {"png", "a PNG image"}, {"jpg", "a JPEG image"}, {"pdf", "a PDF file"}, {"parquet", "a Parquet file"}, {"xlsx", "an Excel file"},
        {"zip", "a ZIP archive"},
    };
    static const struct { const char *bytes, *name; } heads[] = {
        {"\x1f\x8b", "gzip data"}, {"BZh", "bzip2 data"}, {"\xfd" "7zXZ", "xz data"}, {"\x28\xb5\x2f\xfd", "zstd data"}, {"GIF8", "a GIF image"},
        {"SQLite format 3", "an SQLite database"}, {"\xd0\xcf\x11\xe0", "an old Excel or Word file"}, {"\x89HDF", "an HDF5 file"},
        {"\x93NUMPY", "a NumPy array"}, {"\x7f" "ELF", "a program"},
    };
    const char *kind = sniff_content(s, len, whole);

    for (size_t i = 0; i < countof(files); i++)
        if (strcmp(kind, files[i].kind) == 0)
            return files[i].name;
    for (size_t i = 0; i < countof(heads); i++)
        if (strncmp(s, heads[i].bytes, strlen(heads[i].bytes)) == 0)
            return heads[i].name;
    return is_binary(s, len) ? "binary data" : NULL;
}

static const char *markup_kind(const char *s)
{
    static const struct { const char *head, *name; } kinds[] = {
        {"<?xml", "XML"}, {"<!doctype html", "HTML"}, {"<html", "HTML"}, {"<svg", "an SVG image"}, {"{\\rtf", "an RTF document"},
    };

    for (size_t i = 0; i < countof(kinds); i++)
        if (strncasecmp(s, kinds[i].head, strlen(kinds[i].head)) == 0)
            return kinds[i].name;
    return NULL;
}

/* Somebody who writes blocks of questions has written questions. */
static bool has_fence(const char *s, size_t len)
{
    const char *q = s;

    while ((q = memmem(q, len - (size_t)(q - s), "\"\"\"", 3)) != NULL) {
        const char *from = q, *to = q + 3;

        while (from > s && (from[-1] == ' ' || from[-1] == '\t'))
            from--;
        to += strspn(to, " \t\r");
        if ((from == s || from[-1] == '\n') && (*to == '\n' || !*to))
            return true;
        q += 3;
    }
    return false;
}

const char *sniff_data(const char *s, size_t len, bool whole)
{
    const char *name = file_kind(s, len, whole), *end;
    size_t blank;

    if (name)
        return name;
    if (len >= 3 && !memcmp(s, "\xef\xbb\xbf", 3)) {
        s += 3;
        len -= 3;
    }
    blank = strspn(s, " \t\r\n");
    name = markup_kind(s + blank);
    if (name)
        return name;
    if (has_json(s + blank, len - blank, whole))
        return "JSON";
    end = memrchr(s, '\n', len);
    if (!whole && end)
        len = (size_t)(end - s) + 1;            /* of a line that is still to come nothing is known */
    if (has_fence(s, len))
        return NULL;
    if (has_markdown(s, len))
        return "a table";
    if (has_table(s, len, '\t'))
        return "tab-separated data";
    if (has_table(s, len, ',') || has_table(s, len, ';') || has_table(s, len, '|'))
        return "CSV";
    return has_numbers(s, len) ? "a column of numbers" : NULL;
}
