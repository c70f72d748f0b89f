/* agree.c - compares two answers: by their numbers, else by a yes or no, else by their words. */
#include "provenance/agree.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "provenance/provenance.h"

#define NUMBERS_MAX 200
#define FEW_WORDS   6

static bool same_reading(const struct reading *a, const struct reading *b)
{
    static const double factors[] = {1, 100, 0.01};
    double unit = a->unit > b->unit ? a->unit : b->unit, within = 0.5000001 * unit;

    /* zeros at the end of an integer may be rounding, but 60 is not 65 */
    if (unit > 1 && within > 0.005 * a->value)
        within = 0.005 * a->value;
    for (size_t i = 0; i < countof(factors); i++)
        if (fabs(a->value - b->value * factors[i]) <= within)
            return true;
    return false;
}

/* One may be rounded, or be per cent of the other. */
static bool same_number(const struct numeral *a, const struct numeral *b)
{
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < b->n; k++)
            if (same_reading(&a->as[i], &b->as[k]))
                return true;
    return false;
}

static bool has_exactly(const struct numeral *v, size_t n, const struct numeral *one)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].n && one->n && v[i].as[0].value == one->as[0].value)
            return true;
    return false;
}

static size_t without(struct numeral *v, size_t n, const struct numeral * not, size_t n_not)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (!has_exactly(not, n_not, &v[i]))
            v[kept++] = v[i];
    return kept;
}

static bool all_in(const struct numeral *few, size_t n, const struct numeral *many, size_t n_many)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        while (k < n_many && !same_number(&few[i], &many[k]))
            k++;
        if (k == n_many)
            return false;
    }
    return true;
}

/* Lower-case words between single blanks, one at each end; returns how many. */
static size_t plain_words(const char *text, struct buf *out)
{
    size_t n = 0;

    buf_addch(out, ' ');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (isalnum(c) || c >= 0x80) {
            n += out->data[out->len - 1] == ' ';
            buf_addch(out, (char)tolower(c));
        } else if (c != '\'' && out->data[out->len - 1] != ' ') {
            buf_addch(out, ' ');
        }
    }
    if (out->data[out->len - 1] != ' ')
        buf_addch(out, ' ');
    return n;
}

/* "yes" at the beginning of one and "no" of the other is an answer, whatever follows. */
static int yes_or_no(const char *words)
{
    return !strncmp(words, " yes ", 5) || !strncmp(words, " true ", 6)   ? 1
           : !strncmp(words, " no ", 4) || !strncmp(words, " false ", 7) ? -1
                                                                         : 0;
}

static enum verified compare_words(const char *first, const char *second)
{
    struct buf a autorelease(buf_release) = BUF_INIT(0), b autorelease(buf_release) = BUF_INIT(0);
    size_t n = plain_words(first, &a), m = plain_words(second, &b);
    int x = yes_or_no(buf_str(&a)), y = yes_or_no(buf_str(&b));
    bool inside = n <= m ? strstr(buf_str(&b), buf_str(&a)) != NULL
                         : strstr(buf_str(&a), buf_str(&b)) != NULL;

    if (x && y)
        return x == y ? VERIFIED_AGREES : VERIFIED_DISAGREES;
    if (n && m && inside)
        return VERIFIED_AGREES;
    return n > FEW_WORDS && m > FEW_WORDS ? VERIFIED_UNCLEAR : VERIFIED_DISAGREES;
}

enum verified answers_agree(const char *question, const char *first, const char *second)
{
    struct numeral q[NUMBERS_MAX], a[NUMBERS_MAX], b[NUMBERS_MAX];
    size_t nq = provenance_numbers(question, q, NUMBERS_MAX);
    size_t na = without(a, provenance_numbers(first, a, NUMBERS_MAX), q, nq);
    size_t nb = without(b, provenance_numbers(second, b, NUMBERS_MAX), q, nq);

    if (!na || !nb) { /* an answer is a number of the question: then all of them count */
        na = provenance_numbers(first, a, NUMBERS_MAX);
        nb = provenance_numbers(second, b, NUMBERS_MAX);
    }
    if (!na || !nb)
        return compare_words(first, second);
    return (na <= nb ? all_in(a, na, b, nb) : all_in(b, nb, a, na)) ? VERIFIED_AGREES : VERIFIED_DISAGREES;
}
