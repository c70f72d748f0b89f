/* latex_symbols.h - what the commands of LaTeX look like. For latex.c, and for <sup>. */
#ifndef MARKDOWN_LATEX_SYMBOLS_H
#define MARKDOWN_LATEX_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

enum latex_kind {
    LATEX_SYMBOL,   /* text stands for it */
    LATEX_OPERATOR, /* the same, with a blank on both sides */
    LATEX_WORD,     /* a function's name: with a blank behind */
    LATEX_TEXT,     /* its argument is shown as it is */
    LATEX_DROP,     /* nothing is shown */
    LATEX_DROP_ARGUMENT,
    LATEX_ACCENT, /* text is a combining mark over its argument */
    LATEX_FRACTION,
    LATEX_BINOMIAL,
    LATEX_ROOT,
    LATEX_BLACKBOARD,
    LATEX_BEGIN,
    LATEX_NOT,
};

struct latex_symbol {
    const char *name; /* without the backslash */
    enum latex_kind kind;
    const char *text;
};

/* NULL: unknown. name is letters. */
const struct latex_symbol *latex_symbol(const char *name, size_t len);
/* Text as superscript or subscript (up, or not); false, with out as it was, if a character has no such
 * form. */
bool latex_script(const char *s, size_t len, bool up, struct buf *out);

#endif
