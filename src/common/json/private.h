/* private.h - shared by the files of json: the check of a text before cJSON parses it, what stands between
 * the quotes of a string, and the printer.
 */
#ifndef JSON_PRIVATE_H
#define JSON_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct cJSON;

/* ---- json_scan.c: grammar of RFC 8259, depth, repairs ---- */

/* A value that is set apart from what cJSON parses, and put into the tree afterwards: a number that a
 * double cannot hold or that is longer than cJSON reads, or a string so long that cJSON would take long
 * over it. */
struct json_apart {
    size_t index; /* among the values of the text, from 0; an array or object counts before what is in it */
    char *text;   /* the digits, or the decoded string; NULL: it was taken */
};

struct json_scan {
    bool prefix; /* text after the value is no error */
    bool nan;    /* JSON_NAN */
    bool pieces; /* JSON_PIECES */
    size_t most; /* how many values it may have; 0: any number, and only start and end are noted */
    /* what comes of it: */
    size_t start, end; /* where the value is in the text given */
    bool repaired;     /* copy holds the value; otherwise the text can be used as it is */
    struct buf copy;
    size_t values; /* how many there are; keys do not count */
    struct json_apart *apart;
    size_t n_apart, alloc_apart;
    const char *reason; /* why it is refused */
    size_t at;          /* byte offset of that */
    bool too_much;      /* it may be JSON, but has more values than allowed */
};

/* s is empty but for its first members. 0, or -1 with reason and at. Release s in both cases. */
int json_scan(struct json_scan *s, const char *text, size_t len);
void json_scan_release(struct json_scan *s);

/* ---- json_string.c ---- */

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

struct json_decoded {
    char *text;         /* the caller frees it */
    size_t used, grown; /* bytes read; bytes by which repairs have made the text longer */
    const char *reason; /* why it is no string, at offset used; or NULL */
};

/* Decodes the string that begins behind a quote, with U+FFFD for what is no character, and reads its closing
 * quote. grown may be most at most. pieces: JSON_PIECES. */
struct json_decoded json_decode(const char *s, size_t len, bool pieces, size_t most);

/* ---- json_pieces.c: private characters for parts of one ---- */

/* For the escape at s, for which json_unicode() found no character; 0: it is \u0000. */
uint32_t json_half(const char *s);
/* For a byte that is not UTF-8. */
uint32_t json_byte(char byte);

/* Why a string is refused. */
#define JSON_EARLY   "unexpected end"
#define JSON_CONTROL "control character in a string"
#define JSON_ESCAPE  "bad escape in a string"
#define JSON_UNICODE "bad \\u escape"
#define JSON_BROKEN  "too much of it is not UTF-8"

/* ---- json_write.c ---- */

/* Appends the compact text of c; NULL: null. */
void json_write(const struct cJSON *c, struct buf *out);

#endif
