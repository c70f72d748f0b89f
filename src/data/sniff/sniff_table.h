/* sniff_table.h - finds rows and columns in text that may as well be prose. Private to sniff. */
#ifndef SNIFF_SNIFF_TABLE_H
#define SNIFF_SNIFF_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* s has len bytes and a NUL after them. */
bool sniff_is_table(const char *s, size_t len, char separator);
/* The end of an unquoted cell: at separator, newline or len. */
size_t sniff_plain_end(const char *s, size_t len, char separator);
/* Bytes of the mark that UTF-8 may begin with: 3, or 0. */
size_t sniff_bom(const char *s, size_t len);
/* Words between blanks and tabs. */
size_t sniff_words(const char *s, size_t n);

#endif
