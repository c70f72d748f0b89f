/* numbers.c - does an answer contain any number of the output it should rest on? A small model sometimes
 * ignores its own result; then that output is worth a look. This is a hint for people, never a judgement:
 * rounding, per cent and grouping count as equal.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "provenance/numbers.h"

#define NUMBERS_MAX  256
#define EXPONENT_MAX 999 /* beyond what a double can hold */

struct number {
    double value;
    int decimals;
};

static const char *const words[] = {"zero",  "one",   "two",  "three", "four",   "five",  "six",
                                    "seven", "eight", "nine", "ten",   "eleven", "twelve"};

/* Read one number at s: digits, grouped in threes by , or _, one decimal point, an exponent. Returns its
 * length in bytes, 0 for none. */
static size_t read_number(const char *s, struct number *n)
{
    char digits[64];
    size_t i = 0, d = 0;

    n->decimals = 0;
    while (isdigit((unsigned char)s[i]) && d < 40) {
        digits[d++] = s[i++];
        if ((s[i] == ',' || s[i] == '_') && isdigit((unsigned char)s[i + 1])
            && isdigit((unsigned char)s[i + 2]) && isdigit((unsigned char)s[i + 3])
            && !isdigit((unsigned char)s[i + 4]))
            i++;
    }
    if (!d)
        return 0;
    if (s[i] == '.' && isdigit((unsigned char)s[i + 1])) {
        digits[d++] = s[i++];
        while (isdigit((unsigned char)s[i]) && d < 60) {
            digits[d++] = s[i++];
            n->decimals++;
        }
    }
    digits[d] = '\0';
    while (isdigit((unsigned char)s[i]))
        i++;
    n->value = strtod(digits, NULL);
    if ((s[i] == 'e' || s[i] == 'E')
        && (isdigit((unsigned char)s[i + 1])
            || (strchr("+-", s[i + 1]) && s[i + 1] && isdigit((unsigned char)s[i + 2])))) {
        long read = strtol(s + i + 1, NULL, 10);
        int exponent = read > EXPONENT_MAX ? EXPONENT_MAX : read < -EXPONENT_MAX ? -EXPONENT_MAX : (int)read;

        n->value *= pow(10, exponent);
        n->decimals = n->decimals > exponent ? n->decimals - exponent : 0;
        i += 2;
        while (isdigit((unsigned char)s[i]))
            i++;
    }
    return i;
}

static size_t read_word(const char *s, struct number *n)
{
    for (size_t w = 0; w < countof(words); w++) {
        size_t len = strlen(words[w]);

        if (!strncasecmp(s, words[w], len) && !isalpha((unsigned char)s[len])) {
            n->value = (double)w;
            n->decimals = 0;
            return len;
        }
    }
    return 0;
}

static size_t collect(const char *s, struct number *out, bool with_words)
{
    size_t n = 0;
    bool inside = false; /* in a word such as x1, whose digits are not a number */

    while (*s && n < NUMBERS_MAX) {
        size_t len = 0;

        if (!inside && isdigit((unsigned char)*s))
            len = read_number(s, &out[n]);
        else if (!inside && with_words && isalpha((unsigned char)*s))
            len = read_word(s, &out[n]);
        n += len > 0;
        inside = !len && (isalpha((unsigned char)*s) || *s == '_' || (inside && isdigit((unsigned char)*s)));
        s += len ? len : 1;
    }
    return n;
}

/* Are they equal after rounding value to as many decimals as the answer has? */
static bool close_to(const struct number *answer, double value)
{
    return fabs(answer->value - value) <= 0.5000001 * pow(10, -answer->decimals);
}

bool numbers_shared(const char *answer, const char *output)
{
    struct number *a = xcalloc(NUMBERS_MAX, sizeof *a), *o = xcalloc(NUMBERS_MAX, sizeof *o);
    size_t na = collect(answer, a, true), no = collect(output, o, false);
    bool shared = no == 0;

    for (size_t i = 0; i < na && !shared; i++)
        for (size_t k = 0; k < no && !shared; k++)
            shared = close_to(&a[i], o[k].value) || close_to(&a[i], o[k].value * 100);
    free(a);
    free(o);
    return shared;
}
