/* json_string.h - what stands between the quotes of a JSON string. Private to json.
 *
 * Here time counts: a file that a client sends is one string of up to 16 MiB, and everybody waits meanwhile.
 * So eight bytes are looked at together where they may stand for themselves.
 */
#ifndef JSON_JSON_STRING_H
#define JSON_JSON_STRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_GROWN_MAX (1u << 20) /* bytes by which repairs may make a text longer */

/* The bytes at the front that need no escape: all but quote, backslash and control characters. */
size_t json_plain_span(const char *s, size_t len);
/* The ASCII at the front that stands for itself, with escapes of two bytes. */
size_t json_simple_span(const char *s, size_t len);
/* The valid characters above ASCII at the front. */
size_t json_high_span(const char *s, size_t len);
/* Reads the escape \uXXXX at the front, of one character or of both halves of one. Returns its length, 6 or
 * 12; -1 if it has other digits, -2 if the text ends within it. *cp: its character, or 0 if it stands for
 * none (\u0000, or half a character). */
int json_unicode(const char *s, size_t len, uint32_t *cp);

/* The text of a string whose len bytes between the quotes json_scan has found good. broken: it had to repair
 * some of them, by no more than JSON_GROWN_MAX. The caller frees it. */
char *json_decode(const char *s, size_t len, bool broken);

#endif
