/* utf8.h - UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* Decode one character. Returns its length 1..4, 0 when s is an incomplete beginning of one, -1 when invalid.
 */
int utf8_decode(const char *s, size_t len, uint32_t *cp);
bool utf8_valid(const char *s, size_t len);
void utf8_add(struct buf *out, uint32_t cp);
/* Append s to out with every invalid byte sequence as U+FFFD and NUL as U+FFFD. */
void utf8_repair(struct buf *out, const char *s, size_t len);
/* The largest offset <= at that does not split a character. s must be valid UTF-8. */
size_t utf8_cut(const char *s, size_t len, size_t at);
/* Columns of a character in a terminal: 0 (control, combining, invisible), 1 or 2. By our own table, whatever
 * the locale. */
int utf8_width(uint32_t cp);
int utf8_columns(const char *text, size_t len); /* of scrubbed text without tabs */

#endif
