/* keys.h - turns a terminal's bytes into characters, whole pastes, Alt-Enter, which is a new line in any
 * editing mode, and the terminal's own replies.
 *
 * With bracketed paste on, a terminal sends ESC[200~ before and ESC[201~ after pasted text. Hostile text
 * could hang an editor that waits for the second mark, so pastes are handled here: at most 1 MiB, and ended
 * after one second without a byte. A terminal without bracketed paste sends many bytes at once with line ends
 * among them: that is a paste too, ended by a short silence. Replies (show/graphics.h) are taken out wherever
 * they stand, asked for or not: none is ever taken for something typed. Knows nothing of readline; the caller
 * passes the time (clock_ms).
 */
#ifndef TERM_KEYS_H
#define TERM_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define PASTE_MS  1000 /* without a byte, inside a paste */
#define BURST_MS  100  /* the same in a paste without marks */
#define BURST_MIN 24   /* bytes in one read; fewer are keys that a slow line delivered together */
#define ESCAPE_MS 50   /* a lone ESC key, or the beginning of a mark? */
#define REPLY_MS  1000 /* without a byte, inside a reply; what came of it is dropped then */

enum key_kind { KEY_NONE, KEY_CHAR, KEY_PASTE, KEY_NEWLINE };

struct key {
    enum key_kind kind;
    char bytes[4]; /* CHAR: one UTF-8 character, or one byte of an escape sequence */
    size_t n;
    bool more; /* CHAR: bytes that came with it follow */
    /* PASTE: newlines as \n, control characters removed; valid until the next call */
    const struct buf *paste;
    bool cut; /* it was longer than QUESTION_MAX */
};

struct keys {
    struct buf raw, paste, clean;
    bool pasting, cut;
    bool burst; /* the paste has no marks */
    /* set by the caller while it feeds what was typed before it read: never a paste without marks */
    bool ahead;
    /* set by the caller while no line is edited: text that comes together with a line end is a paste, however
     * short */
    bool working;
    int64_t last;                                            /* time of the latest byte */
    void (*reply)(void *ctx, const char *reply, size_t len); /* gets each whole reply; or NULL */
    void *ctx;
};

void keys_init(struct keys *k);
void keys_release(struct keys *k);
void keys_feed(struct keys *k, const char *bytes, size_t len, int64_t now);
struct key keys_next(struct keys *k, int64_t now);
int64_t keys_deadline(const struct keys *k); /* when to call keys_next again even without a byte; -1: never */

#endif
