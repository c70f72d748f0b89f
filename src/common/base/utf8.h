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
/* Append one character; U+FFFD if cp is none. */
void utf8_add(struct buf *out, uint32_t cp);
/* Length of the invalid or incomplete character at s, for which one U+FFFD stands: the longest prefix of a
 * possible character, at least one byte. */
size_t utf8_broken_length(const char *s, size_t len);
/* How many bytes at the end of s begin a character whose rest may still come: 0 to 3. */
size_t utf8_unfinished(const char *s, size_t len);
/* Append s to out with every invalid byte sequence as U+FFFD and NUL as U+FFFD. */
void utf8_repair(struct buf *out, const char *s, size_t len);
/* The largest offset <= at that does not split a character. s must be valid UTF-8. */
size_t utf8_cut(const char *s, size_t len, size_t at);
/* Columns of a character in a terminal: 0 (control, combining, invisible), 1 or 2. By our own table, whatever
 * the locale. */
int utf8_width(uint32_t cp);
/* Columns that cp adds behind the character before (0: the beginning). What a zero-width joiner has joined,
 * and a skin tone behind its emoji, add none: a family or a thumb is as wide as its first character, as most
 * terminals have it (kitty, WezTerm, iTerm2, foot, Ghostty, Windows Terminal; tmux 3.3 joins families, not
 * tones). Where the parts are drawn one by one (xterm, Alacritty, VTE) the line is wider than we think. A
 * flag is two regional indicators of one column each, everywhere. Variation selectors are scrubbed (scrub.h):
 * terminals do not agree on the width of what they select, but without them they do. */
int utf8_width_behind(uint32_t before, uint32_t cp);
/* Columns of scrubbed text without tabs. Text in pieces: *before is the last character of the last piece, and
 * is updated. */
int utf8_columns_behind(uint32_t *before, const char *text, size_t len);
int utf8_columns(const char *text, size_t len);

#endif
