/* latex.h - a formula in LaTeX as a line of Unicode: x^2 is x², \frac{a}{b} a/b, \sum_{i=1}^n ∑ᵢ₌₁ⁿ. What
 * there is no such form for is refused, and then shown as it was typed.
 */
#ifndef MARKDOWN_LATEX_H
#define MARKDOWN_LATEX_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

#define LATEX_MAX 4096 /* bytes of a formula */

/* Append s to out; rows of an aligned formula are parted by newlines. False, with out as it was: there is
 * something in it that has no form here. s is scrubbed UTF-8. */
bool latex_unicode(const char *s, size_t len, struct buf *out);

#endif
