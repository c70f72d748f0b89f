/* numerals.h - reads numbers as people and programs write them: 1,234,567.8 and 1.234.567,8 and 1 234 567 and
 * 1'234, 1.5e-3 and 1.5 x 10^-3. One that can be read in two ways has both values. Pure; text is untrusted.
 */
#ifndef PROVENANCE_NUMERALS_H
#define PROVENANCE_NUMERALS_H

#include <stdbool.h>
#include <stddef.h>

/* One way to read it. unit: what the last digit that counts stands for (zeros at the end of an integer do
 * not). */
struct reading {
    double value, unit;
};

struct numeral {
    struct reading as[2];
    size_t n;        /* of readings; 0: digits that are no number, such as 3.11.2 */
    bool fraction;   /* it has a decimal point */
    unsigned digits; /* before the point or comma */
};

/* s begins with a digit. Returns the bytes that were read, at least one. */
size_t numeral_read(const char *s, struct numeral *out);
/* The same for digits that can be read as several numbers, such as 1,2,3: only up to the first mark. */
size_t numeral_read_first(const char *s, struct numeral *out);
/* Bytes of a date or a time of day at s (2024-03-05, 5/3/2024, 12:30:05), or 0. */
size_t date_length(const char *s);

#endif
