/* kitty.h - images in kitty's protocol (https://sw.kovidgoyal.net/kitty/graphics-protocol/): in base64, cut
 * into sequences. kitty, Ghostty, Konsole and WezTerm read it; tmux passes it on where it is told to. Inside
 * show.
 */
#ifndef SHOW_KITTY_H
#define SHOW_KITTY_H

#include <stdbool.h>
#include <stddef.h>

#define KITTY_PNG_MOST ((size_t)1 << 20) /* bytes of a PNG that goes to the terminal as it is */

struct buf;

struct kitty_image {
    const void *bytes; /* borrowed */
    size_t len;
    bool png;               /* a file; else rows of RGB */
    unsigned width, height; /* pixels */
};

/* Is this file a PNG that a terminal can be given as it is: whole, and of no more pixels than it should have
 * to decode? Then *i is it. Its chunks are walked over, and not looked into. */
bool kitty_takes(const char *file, size_t len, struct kitty_image *i);
/* Append the sequences; keys are those of the first beside what is told of the data: "c=40,r=12". */
void kitty_send(const struct kitty_image *i, const char *keys, bool through_tmux, struct buf *out);

#endif
