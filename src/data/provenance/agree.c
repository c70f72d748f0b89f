/* agree.c - compares two answers: by their numbers, else by a yes or no, else by their words. */
#include "provenance/agree.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "provenance/provenance.h"

#define NUMBERS_MAX 200

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

/* The numbers of a text. */
struct numbers {
    struct number_in_text v[NUMBERS_MAX];
    size_t n;
};

static bool has_exactly(const struct numbers *all, const struct numeral *one)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->v[i].value.as[0].value == one->as[0].value)
            return true;
    return false;
}

static void without_those(struct numbers *from, const struct numbers * not )
{
    size_t kept = 0;

    for (size_t i = 0; i < from->n; i++)
        if (!has_exactly(not, &from->v[i].value))
            from->v[kept++] = from->v[i];
    from->n = kept;
}

/* The first of some that is not among others; NULL: all are. */
static const struct number_in_text *first_not_in(const struct numbers *some, const struct numbers *others)
{
    for (size_t i = 0; i < some->n; i++) {
        size_t k = 0;

        while (k < others->n && !same_number(&some->v[i].value, &others->v[k].value))
            k++;
        if (k == others->n)
            return &some->v[i];
    }
    return NULL;
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
    return n && m && inside ? VERIFIED_AGREES : VERIFIED_UNCLEAR;
}

static void keep_number(char **out, const struct number_in_text *differs, const struct numbers *all)
{
    const struct number_in_text *v = differs ? differs : &all->v[0];

    *out = xmemdup0(v->text, v->len);
}

enum verified answers_agree(const char *question, const char *first, const char *second,
                            struct differing *differ)
{
    struct numbers q, a, b;

    q.n = provenance_numbers(question, q.v, NUMBERS_MAX);
    a.n = provenance_numbers(first, a.v, NUMBERS_MAX);
    b.n = provenance_numbers(second, b.v, NUMBERS_MAX);
    if (!a.n || !b.n)
        return compare_words(first, second);
    struct numbers all_a = a, all_b = b;
    without_those(&a, &q);
    without_those(&b, &q);
    if (!a.n || !b.n) { /* an answer is a number of the question: then all of them count */
        a = all_a;
        b = all_b;
    }
    const struct number_in_text *of_a = first_not_in(&a, &b), *of_b = first_not_in(&b, &a);
    if (!(a.n <= b.n ? of_a : of_b))
        return VERIFIED_AGREES;
    keep_number(&differ->first, of_a, &a);
    keep_number(&differ->second, of_b, &b);
    return VERIFIED_DISAGREES;
}

void differing_release(struct differing *d)
{
    free(d->first);
    free(d->second);
}
