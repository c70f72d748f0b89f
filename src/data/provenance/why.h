/* why.h - where a number of an answer comes from: the line of output that has it, and the line of Python that
 * printed that. Pure; texts are untrusted. */
#ifndef PROVENANCE_WHY_H
#define PROVENANCE_WHY_H

#include <stdbool.h>
#include <stddef.h>

#include "provenance/numerals.h"

struct text_line {
    size_t number; /* from 1; 0: there is none */
    const char *text;
    size_t len;
};

/* The number in what a user typed, such as "$1,234.50" or "42 %". False: there is none. */
bool why_number(const char *typed, struct numeral *out);
/* The first line with this number: exactly, or else rounded, in per cent or another unit. */
struct text_line why_line(const char *text, const struct numeral *number, bool exactly);
/* The line of code that printed that line of its output. It is found by the text that both have, by being the
 * only one that prints, or by its place among as many that print as there are lines. None: that does not tell
 * it. */
struct text_line why_printed(const char *code, const char *output, struct text_line printed);

#endif
