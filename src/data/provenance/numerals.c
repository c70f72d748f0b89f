/* numerals.c - reads the digits, groups, marks and exponent of one number at a place in a text. */
#include "provenance/numerals.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define DIGITS_MAX 60
#define GROUPS_MAX 24

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t digits_at(const char *s)
{
    size_t n = 0;

    while (digit(s[n]))
        n++;
    return n;
}

/* Marks between groups of digits: the byte that stands for each, and how it is written. Blanks only group. */
static const struct {
    const char *text;
    char mark;
} marks[] = {{",", ','},
             {".", '.'},
             {"'", '\''},
             {"_", '\''},
             {" ", ' '},
             {"{,}", ','},
             {"\\,", ' '},
             {"\xc2\xa0", ' '},
             {"\xe2\x80\x99", '\''},
             {"\xe2\x80\x89", ' '},
             {"\xe2\x80\xaf", ' '}};

/* Groups of digits with a mark in front of each but the first. */
struct digit_groups {
    struct {
        const char *at;
        size_t len;
        char mark;
    } v[GROUPS_MAX];
    size_t n, len; /* len: bytes of all */
};

static size_t mark_at(const char *s, char *mark)
{
    for (size_t i = 0; i < countof(marks); i++) {
        size_t len = strlen(marks[i].text);

        if (!strncmp(s, marks[i].text, len) && digit(s[len])) {
            *mark = marks[i].mark;
            return len;
        }
    }
    return 0;
}

static void read_groups(const char *s, struct digit_groups *g)
{
    const char *at = s;
    char mark = 0;

    memset(g, 0, sizeof *g);
    while (g->n < GROUPS_MAX) {
        size_t len = digits_at(at), skip;

        g->v[g->n].at = at;
        g->v[g->n].len = len;
        g->v[g->n++].mark = mark;
        at += len;
        skip = mark_at(at, &mark);
        /* a blank ends a number unless exactly three digits follow, after at most three */
        if (!skip || ((mark == ' ' || mark == '\'') && (len > 3 || digits_at(at + skip) != 3)))
            break;
        at += skip;
    }
    g->len = (size_t)(at - s);
}

/* Read the groups with this decimal mark; every other mark must group, and the same one throughout. */
static bool read_with(const struct digit_groups *g, char decimal, struct reading *out)
{
    char text[DIGITS_MAX + 2], grouping = 0;
    size_t len = 0, whole = 0;
    int decimals = 0;

    for (size_t i = 0; i < g->n; i++) {
        char mark = g->v[i].mark;
        bool last = i + 1 == g->n || g->v[i + 1].mark == decimal;

        if (mark == decimal && i) {
            if (i + 1 != g->n)
                return false;
            decimals = (int)g->v[i].len;
        } else if (i) {
            if ((grouping && mark != grouping) || g->v[0].len > 3
                || (g->v[i].len != 3 && (g->v[i].len != 2 || last)))
                return false; /* groups of two, but for the last, are those of India */
            grouping = mark;
        }
        if (len + g->v[i].len > DIGITS_MAX)
            return false;
        if (mark == decimal && i)
            text[len++] = '.';
        memcpy(text + len, g->v[i].at, g->v[i].len);
        len += g->v[i].len;
        whole = decimals ? whole : len;
    }
    text[len] = '\0';
    out->value = strtod(text, NULL);
    out->unit = pow(10, -decimals);
    for (size_t i = whole; !decimals && i > 1 && text[i - 1] == '0'; i--)
        out->unit *= 10;
    return true;
}

/* An exponent at s: e-3, E+05, x10^6, * 10**6, \times 10^{6}, ×10⁶. Returns its bytes. */
static size_t read_exponent(const char *s, int *exponent)
{
    static const char *const times[] = {"\\times", "\\cdot", "\xc3\x97", "\xc2\xb7", "x", "*"};
    static const char *const super[] = {"\xe2\x81\xb0", "\xc2\xb9",     "\xc2\xb2",     "\xc2\xb3",
                                        "\xe2\x81\xb4", "\xe2\x81\xb5", "\xe2\x81\xb6", "\xe2\x81\xb7",
                                        "\xe2\x81\xb8", "\xe2\x81\xb9"};
    const char *p = s;
    bool minus = false, found = false;
    int n = 0;

    if ((*p == 'e' || *p == 'E') && digit(p[1 + (p[1] == '-' || p[1] == '+')])) {
        *exponent = (int)strtol(p + 1, NULL, 10);
        p += 1 + (p[1] == '-' || p[1] == '+');
        return (size_t)(p - s) + digits_at(p);
    }
    p += *p == ' ';
    for (size_t i = 0; i < countof(times) && !found; i++)
        if (!strncmp(p, times[i], strlen(times[i]))) {
            p += strlen(times[i]);
            found = true;
        }
    p += *p == ' ';
    if (!found || strncmp(p, "10", 2) != 0)
        return 0;
    p += 2;
    if (*p == '^' || !strncmp(p, "**", 2)) {
        p += *p == '^' ? 1 : 2;
        p += *p == '{';
        minus = *p == '-';
        p += minus || *p == '+';
        if (!digit(*p))
            return 0;
        n = (int)strtol(p, NULL, 10);
        p += digits_at(p);
        p += *p == '}';
    } else {
        minus = !strncmp(p, "\xe2\x81\xbb", 3);
        p += minus ? 3 : 0;
        const char *from = p;
        for (size_t i = 0; i < countof(super); i++)
            if (!strncmp(p, super[i], strlen(super[i])) && n < 100) {
                n = 10 * n + (int)i;
                p += strlen(super[i]);
                i = (size_t)-1; /* from the first again */
            }
        if (p == from)
            return 0;
    }
    *exponent = minus ? -n : n;
    return (size_t)(p - s);
}

static size_t finish_numeral(const char *s, size_t len, struct numeral *out)
{
    int exponent = 0;
    size_t more = out->n ? read_exponent(s + len, &exponent) : 0;

    for (size_t i = 0; more && i < out->n; i++) {
        out->as[i].value *= pow(10, exponent);
        out->as[i].unit *= pow(10, exponent);
    }
    return len + more;
}

size_t numeral_read(const char *s, struct numeral *out)
{
    struct digit_groups g;

    memset(out, 0, sizeof *out);
    read_groups(s, &g);
    out->digits = (unsigned)g.v[0].len;
    for (const char *decimal = ".,"; *decimal; decimal++) {
        if (!read_with(&g, *decimal, &out->as[out->n]))
            continue;
        out->fraction |= out->as[out->n].unit < 1;
        if (!out->n || out->as[0].value != out->as[1].value)
            out->n++;
    }
    if (!out->n && g.n > 1 && g.v[1].mark != '.')
        return numeral_read_first(s, out); /* a list without blanks */
    return finish_numeral(s, g.len, out);
}

size_t numeral_read_first(const char *s, struct numeral *out)
{
    struct digit_groups g = {.n = 1, .len = digits_at(s), .v = {{.at = s, .len = digits_at(s)}}};

    memset(out, 0, sizeof *out);
    out->digits = (unsigned)g.len;
    out->n = read_with(&g, '.', &out->as[0]);
    return finish_numeral(s, g.len, out);
}

size_t date_length(const char *s)
{
    static const char *const forms[] = {"dddd-dd-dd", "dddd/dd/dd", "dddd-dd",   "dd.dd.dddd", "d.d.dddd",
                                        "dd.d.dddd",  "d.dd.dddd",  "d/d/dddd",  "d/d/dd",     "dd/d/dd",
                                        "d/dd/dd",    "dd/d/dddd",  "d/dd/dddd", "dd/dd/dddd", "dd/dd/dd",
                                        "dd:dd:dd",   "d:dd:dd",    "dd:dd",     "d:dd"};

    for (size_t f = 0; f < countof(forms); f++) {
        size_t i = 0;

        while (forms[f][i] && (forms[f][i] == 'd' ? digit(s[i]) : s[i] == forms[f][i]))
            i++;
        if (!forms[f][i] && !digit(s[i]))
            return i;
    }
    return 0;
}
