/* scrub.h - make untrusted text (a model's, a program's, a server's, a file name's) harmless before it is
 * shown.
 *
 * Terminal: invalid UTF-8 becomes U+FFFD; escape sequences (CSI with SGR, OSC, DCS, APC, PM, SOS, 7-bit
 * and 8-bit) are removed whole, a CR before LF is dropped and any other CR becomes LF; C0 but \n and \t,
 * DEL, C1, bidi controls, tag characters, other invisible format characters are removed, but for a joiner
 * behind a script or an emoji that has them; more than 8 combining marks in a row are cut. Pipe: only
 * escape sequences, C0 but \n \t and \r\n, DEL and C1 are removed; joiners and bidi marks stay; invalid
 * UTF-8 becomes U+FFFD. State lives across pieces: the same text gives the same result however it is cut.
 * An unterminated sequence is given up after 4096 bytes or at scrub_end, so it cannot swallow what
 * follows.
 */
#ifndef BASE_SCRUB_H
#define BASE_SCRUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum scrub_for { SCRUB_TERMINAL, SCRUB_PIPE };

struct scrub {
    enum scrub_for target;
    int state;
    unsigned marks, eaten;
    uint32_t last; /* the last character with a width; 0: ASCII, or a joiner was behind it */
    char part[4];
    unsigned n_part;
    bool cr; /* a carriage return waits for what follows it */
};

void scrub_init(struct scrub *s, enum scrub_for target);
void scrub_feed(struct scrub *s, const char *text, size_t len, struct buf *out); /* appends to out */
/* The text is whole: append the rest. Ready for the next text. */
void scrub_end(struct scrub *s, struct buf *out);
/* Append a whole text, scrubbed. */
void scrub_text(const char *text, size_t len, enum scrub_for target, struct buf *out);
/* The same of a string, in one line: newlines and tabs as spaces. The caller frees. */
char *scrub_line(const char *text, enum scrub_for target);

#endif
