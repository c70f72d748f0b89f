/* provenance.c - which numbers of an answer come from nowhere: from no output, not from the question, its
 * data or the code. A hint for people, never a judgement; a false alarm is worse than silence, so rounding,
 * per cent, changes of unit and both ways of grouping count as equal, and what is rarely a result is not
 * judged: small counts, years, dates, ordinals, code, names with digits in them.
 *
 * RULE: A number of an answer that no source has is marked for the user, and a false alarm is worse than
 *     silence.
 */
#include "provenance/provenance.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "provenance/numerals.h"

/* Numbers that are kept of the sources; when there are more, nothing is judged. */
#define SOURCES_MAX 100000
#define SMALL_MAX   12
#define TEXT_MAX    40 /* bytes of a number that is quoted */
#define MONTH_MAX   16 /* bytes of a month's name; what is longer is none */

void provenance_release(struct provenance *p)
{
    free(p->source);
    argv_release(&p->unsupported);
}

static void add_sources(struct provenance *p, const struct numeral *n)
{
    for (size_t i = 0; i < n->n; i++) {
        if (p->n == SOURCES_MAX) {
            p->full = true;
            return;
        }
        if (p->n == p->alloc) {
            p->alloc = p->alloc ? 2 * p->alloc : 64;
            p->source = xreallocarray(p->source, p->alloc, sizeof *p->source);
        }
        p->source[p->n++] = n->as[i].value;
    }
}

/* Every number counts, wherever it stands; digits that a list joins count alone as well. */
void provenance_source(struct provenance *p, const char *text)
{
    struct numeral n;

    while (*text && !p->full) {
        if (!isdigit((unsigned char)*text)) {
            text++;
            continue;
        }
        size_t len = numeral_read(text, &n), first;
        const char *end = text + len;

        add_sources(p, &n);
        for (; text < end; text += first) {
            if (!isdigit((unsigned char)*text)) {
                first = 1;
                continue;
            }
            first = numeral_read_first(text, &n);
            if (first < len || !n.n)
                add_sources(p, &n);
        }
        text = end;
    }
    p->sorted = false;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static bool has_between(const struct provenance *p, double low, double high)
{
    size_t from = 0, to = p->n;

    while (from < to) {
        size_t mid = from + (to - from) / 2;

        if (p->source[mid] < low)
            from = mid + 1;
        else
            to = mid;
    }
    return from < p->n && p->source[from] <= high;
}

/* Per cent, thousands and their like, seconds and minutes and hours, bytes. */
static const double factors[] = {1,          1e2,  1e-2,       1e3,     1e-3,         1e6,
                                 1e-6,       1e9,  1e-9,       60,      1.0 / 60,     3600,
                                 1.0 / 3600, 1024, 1.0 / 1024, 1048576, 1.0 / 1048576};

/* The last digit may be rounded or cut off. */
static bool supported(const struct provenance *p, const struct numeral *n)
{
    for (size_t i = 0; i < n->n; i++)
        for (size_t f = 0; f < countof(factors); f++) {
            double v = n->as[i].value * factors[f], u = n->as[i].unit * factors[f];

            if (has_between(p, v - 0.5000001 * u, v + 0.9999 * u))
                return true;
        }
    return false;
}

static void sort_sources(struct provenance *p)
{
    if (p->n && !p->sorted)
        qsort(p->source, p->n, sizeof *p->source, by_value);
    p->sorted = true;
}

bool provenance_has(const char *text, const struct numeral *number, bool exactly)
{
    autorelease(provenance_release) struct provenance p = {0};
    bool found = false;

    provenance_source(&p, text);
    sort_sources(&p);
    for (size_t i = 0; exactly && i < number->n && !found; i++)
        found = has_between(&p, number->as[i].value, number->as[i].value);
    return found || (!exactly && supported(&p, number));
}

static bool power_of_ten(double v)
{
    while (v >= 10 && fmod(v, 10) == 0)
        v /= 10;
    return v == 1;
}

static bool starts_with_any(const char *s, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strncasecmp(s, words[i], strlen(words[i])))
            return true;
    return false;
}

static bool month_beside(const char *text, const char *from, const char *end)
{
    static const char *const months[] = {"jan", "feb", "mar", "m\xc3\xa4r", "apr", "may", "mai", "jun",
                                         "jul", "aug", "sep", "oct",        "okt", "nov", "dec", "dez"};
    const char *word = from;

    end += strspn(end, "stndrdth.");
    if (starts_with_any(end + strspn(end, " "), months, countof(months)))
        return true;
    while (word > text && strchr(" ,.", word[-1]))
        word--;
    for (size_t n = 0; word > text && !strchr(" \n(", word[-1]); word--)
        if (++n > MONTH_MAX)
            return false;
    return word < from && starts_with_any(word, months, countof(months));
}

/* The number of an item in a list. */
static bool is_list_number(const char *text, const char *from, const char *end)
{
    const char *line = from;

    while (line > text && (line[-1] == ' ' || line[-1] == '#' || line[-1] == '*'))
        line--;
    return (line == text || line[-1] == '\n') && (*end == '.' || *end == ')')
           && (end[1] == ' ' || end[1] == '*');
}

/* Is this number one that a reader would take for a result? */
static bool judged(const char *text, const char *from, const char *end, const struct numeral *n)
{
    static const char *const ordinals[] = {"st", "nd", "rd", "th"};
    double v = n->n ? n->as[0].value : 0;

    if (!n->n || !isfinite(v) || v == 0)
        return false;
    if (n->fraction)
        return true;
    if (is_list_number(text, from, end) || v <= SMALL_MAX || power_of_ten(v)
        || starts_with_any(end, ordinals, countof(ordinals)))
        return false;
    if (n->digits == 4 && v >= 1500 && v <= 2100)
        return false; /* a year */
    return !(v <= 31 && month_beside(text, from, end));
}

static void report(struct provenance *p, const char *from, const char *end)
{
    size_t len = (size_t)(end - from);
    autofree char *text = xmemdup0(from, utf8_cut(from, len, len < TEXT_MAX ? len : TEXT_MAX));

    for (size_t i = 0; i < p->unsupported.n; i++)
        if (!strcmp(p->unsupported.v[i], text))
            return;
    if (p->unsupported.n < PROVENANCE_MAX)
        argv_push(&p->unsupported, text);
}

/* ASCII, or the first byte of one of the Latin, Greek and Cyrillic alphabets. */
static bool letter(char c)
{
    return isalpha((unsigned char)c) || ((unsigned char)c >= 0xc3 && (unsigned char)c < 0xe0);
}

/* Bytes at s that hold no results: code, the target of a link, a date, a word with digits in it. 0: none. */
static size_t aside(const char *s)
{
    if (*s == '`') {
        size_t ticks = strspn(s, "`");
        autofree char *fence = xmemdup0(s, ticks);
        const char *end = strstr(s + ticks, fence);

        return end ? (size_t)(end - s) + ticks : ticks;
    }
    if (s[0] == ']' && s[1] == '(')
        return strcspn(s, ")\n");
    if (isdigit((unsigned char)*s))
        return date_length(s);
    if (letter(*s)) { /* h2o, file_2.png, /mnt/data/x-3 */
        size_t n = 1;

        while (s[n]
               && (isalnum((unsigned char)s[n]) || (unsigned char)s[n] >= 0x80
                   || (strchr("_/.-", s[n]) && isalnum((unsigned char)s[n + 1]))))
            n++;
        return n;
    }
    return 0;
}

size_t provenance_numbers(const char *text, struct number_in_text *out, size_t max)
{
    size_t n = 0;

    for (const char *s = text; *s && n < max;) {
        size_t len = aside(s);

        if (!len && isdigit((unsigned char)*s)) {
            const struct numeral *v = &out[n].value;

            len = numeral_read(s, &out[n].value);
            out[n].text = s;
            out[n].len = len;
            n += v->n > 0 && isfinite(v->as[0].value) && !is_list_number(text, s, s + len);
        }
        s += len ? len : 1;
    }
    return n;
}

void provenance_check(struct provenance *p, const char *answer)
{
    const char *s = answer;
    struct numeral n;

    sort_sources(p);
    while (*s && !p->full) {
        size_t len = aside(s);

        if (!len && isdigit((unsigned char)*s)) {
            len = numeral_read(s, &n);
            if (judged(answer, s, s + len, &n) && !supported(p, &n))
                report(p, s, s + len);
        }
        s += len ? len : 1;
    }
}
