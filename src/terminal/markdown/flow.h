/* flow.h - lays styled text out in the lines of a terminal. A line is broken at blanks, and between the
 * characters of scripts that are written without blanks, but never within a word: a word that is wider than
 * the screen begins a line of its own, and the terminal breaks it. It also breaks the first word of a line of
 * code that has no room behind its indentation, which code keeps. Each line of a block begins with the
 * block's prefix (a quote's gutter, a list's indentation). Text may arrive in pieces, cut between characters;
 * a word is written when it is whole.
 *
 * A flow owns copies of what it is given; out is the caller's. Text must be scrubbed UTF-8 (base/scrub.h)
 * without tabs and line breaks.
 */
#ifndef MARKDOWN_FLOW_H
#define MARKDOWN_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/argv.h"
#include "base/buf.h"

enum flow_style {
    STYLE_BOLD = 1,
    STYLE_ITALIC = 2,
    STYLE_UNDERLINE = 4,
    STYLE_STRIKE = 8,
    STYLE_DIM = 16,
    STYLE_CODE = 32, /* a code span; from here on each is a colour */
    STYLE_LINK = 64,
    STYLE_KEYWORD = 128,
    STYLE_STRING = 256,
    STYLE_COMMENT = 512,
};

struct flow_options {
    int width;      /* columns; 0: lines are never broken */
    bool colour;    /* SGR may be used */
    bool many;      /* of 256 colours; otherwise of eight */
    bool hyperlink; /* OSC 8 may be used */
};

struct flow_run { /* a piece of the present word */
    unsigned style, link;
    size_t len;
};

struct flow {
    struct flow_options o;
    struct buf *out;
    struct buf first, next; /* prefixes of the block's first line and of its others */
    int again;              /* the number of blanks behind next */
    bool code;              /* the block is a line of code */
    char *gap;              /* the prefix of an empty line to be drawn before the next one; NULL: none */
    bool begun;             /* the first line of the block was begun */
    bool mid;               /* the present line is not ended yet */
    bool any;               /* something was written since the text began */
    bool wrote;             /* the present line has more than its prefix */
    unsigned lines;         /* ended so far */
    int column;
    unsigned style, link; /* in force at the terminal */

    struct buf word; /* the present word, which is not written yet */
    struct flow_run *runs;
    size_t n_runs, alloc_runs;
    int word_width, blanks; /* in columns; blanks are those before the word */
    uint32_t last;          /* the word's last character */

    struct argv urls; /* of the block; a link is its index + 1 */
    unsigned within;  /* the link that the text which comes now is in; 0: none */
    unsigned link_ids;

    int longest_word, longest_line; /* of the block */
};

void flow_init(struct flow *f, struct buf *out, const struct flow_options *o);
void flow_release(struct flow *f);
/* A block begins. The prefixes are copied. */
void flow_begin(struct flow *f, const char *first, const char *next);
void flow_code(struct flow *f);                    /* it is a line of code; behind flow_begin */
void flow_gap(struct flow *f, const char *prefix); /* an empty line before the next one that is drawn */
void flow_put_gap(struct flow *f); /* draw that empty line now, since something else follows */
void flow_text(struct flow *f, unsigned style, const char *text, size_t len);
void flow_link(struct flow *f, const char *url); /* what follows is a link to it; NULL: to nothing */
/* Put at least n blanks before the next word; none at the beginning of a line. */
void flow_blanks(struct flow *f, int n);
void flow_word_end(struct flow *f);
void flow_break(struct flow *f); /* the line ends, the block goes on */
void flow_end(struct flow *f);   /* the block ends */
/* Something else may be written now: leave no style in force. The unfinished line stays as it is. */
void flow_pause(struct flow *f);
/* The present line is ended by something else. */
void flow_line_lost(struct flow *f);
/* Remove the present line from the screen, to draw it anew; first: it is the block's first. */
void flow_take_back(struct flow *f, bool first);
int flow_columns(const char *s); /* of a prefix */
/* For what is drawn without the flow, a line at a time: write the prefix of the next line. */
void flow_prefix(struct flow *f);
/* The block goes on as if it began: its lines but the first are indented by n columns more. */
void flow_again(struct flow *f, int n);

#endif
