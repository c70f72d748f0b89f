/* graphics.h - asks a terminal about its graphics, its background and the size of a cell, reads its replies,
 * and decides how figures are drawn there.
 *
 * A terminal answers when it likes, in the stream that the user types into. So whoever reads that stream
 * takes the replies out of it (term/keys.c), however late they come.
 */
#ifndef SHOW_GRAPHICS_H
#define SHOW_GRAPHICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct loop;

enum graphics_way {
    GRAPHICS_BLOCKS,
    GRAPHICS_SIXEL,
    GRAPHICS_ITERM2,
    GRAPHICS_PLACEHOLDERS, /* of kitty, through tmux: through_tmux.h */
    GRAPHICS_KITTY
};

struct graphics {
    bool asked;
    bool answered;                 /* the last reply to all queries has come: nothing follows it */
    unsigned awaited;              /* queries whose last reply has not come */
    bool knows_kitty, asked_kitty; /* it is a terminal that can answer about kitty's graphics; it was asked */
    bool kitty, sixel, iterm2;
    bool asked_tmux, placeholders;
    int cell_width, cell_height; /* pixels; 0: not known */
    int32_t background;          /* 0xRRGGBB; -1: not known */
};

/* Begin with what the environment says: COLORFGBG, TERM_PROGRAM. */
void graphics_init(struct graphics *g);
/* Append the bytes that ask the terminal what it was not asked yet and can answer, as far as it is known who
 * it is. Nothing if TERM names one that would print them or cannot draw. To be called again after each reply:
 * one of them tells the terminal's name. */
void graphics_query(struct graphics *g, struct buf *out);

#define REPLY_MAX 4096 /* bytes; what is longer is dropped, but is no reply */

enum { REPLY_NONE = 0, REPLY_MAYBE = -1, REPLY_BEGUN = -2 };
/* Does s begin with a terminal's reply? Its length; REPLY_NONE; MAYBE: so far it could also be a key; BEGUN:
 * it can be nothing else, and its end is missing. */
int reply_length(const char *s, size_t len);
/* Take what a whole reply says. */
void graphics_reply(struct graphics *g, const char *reply, size_t len);

/* Ask the controlling terminal, once, and wait at most GRAPHICS_MS for its replies. For programs that do not
 * read what is typed: what is typed in that time is lost. */
void graphics_ask(struct graphics *g, struct loop *loop);
#define GRAPHICS_MS 150
/* Before the program ends: wait for replies that have not come yet, until a second after the query. */
void graphics_ask_end(struct graphics *g, struct loop *loop);

enum graphics_way graphics_way(const struct graphics *g);
bool graphics_dark(const struct graphics *g); /* a known background that is dark */

#endif
