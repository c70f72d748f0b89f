/* keys.h - a terminal's bytes as characters and whole pastes.
 *
 * With bracketed paste on, a terminal puts ESC[200~ and ESC[201~ around what is pasted. An editor that waits
 * for the second mark can be hung by whoever made the text, so pastes are cut out here: at most 1 MiB, and
 * ended after a second without a byte. Knows nothing of readline; time is handed in.
 */
#ifndef TERM_KEYS_H
#define TERM_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define PASTE_MS  1000 /* without a byte, inside a paste */
#define ESCAPE_MS 50   /* a lone ESC key, or the beginning of a mark? */

enum key_kind { KEY_NONE, KEY_CHAR, KEY_PASTE };

struct key {
    enum key_kind kind;
    char bytes[4]; /* CHAR: one UTF-8 character, or one byte of an escape sequence */
    size_t n;
    /* PASTE: newlines as \n, control characters removed; valid until the next call */
    const struct buf *paste;
    bool cut;     /* it was longer than QUESTION_MAX */
    bool unended; /* its end mark never came */
};

struct keys {
    struct buf raw, paste, clean;
    bool pasting, cut;
    int64_t last; /* when the latest byte came */
};

void keys_init(struct keys *k);
void keys_release(struct keys *k);
void keys_feed(struct keys *k, const char *bytes, size_t len, int64_t now);
struct key keys_next(struct keys *k, int64_t now);
int64_t keys_deadline(const struct keys *k); /* ask again then even when no byte comes; -1: no need */

#endif
