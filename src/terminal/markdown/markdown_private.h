/* markdown_private.h - shared by the files markdown*.c. */
#ifndef MARKDOWN_MARKDOWN_PRIVATE_H
#define MARKDOWN_MARKDOWN_PRIVATE_H

#include "markdown/highlight.h"
#include "markdown/markdown.h"
#include "markdown/markdown_refs.h"

#define NESTED_MAX 12
/* A line that is drawn only when it is whole has at most so many bytes; a longer one is drawn in parts. */
#define LINE_MAX_BYTES (256 * 1024)

enum leaf {
    LEAF_NONE,
    LEAF_PARAGRAPH,
    LEAF_HEADING,
    LEAF_RULE,
    LEAF_REFERENCE, /* never open: a line that may define one */
    LEAF_FENCE,
    LEAF_INDENTED,
    LEAF_TABLE,
    LEAF_MATH
};

struct container { /* a quote, or an item of a list */
    bool quote;
    int column, content;   /* of an item: where its marker stands in the source, and what is behind it */
    char marker[16];       /* as it is drawn */
    bool fresh;            /* the marker was not drawn yet */
    char kind;             /* '-', '*', '+', '.' or ')' */
    unsigned typed, shown; /* its number */
};

struct table;

struct markdown {
    struct markdown_options o;
    struct flow flow;

    struct container nested[NESTED_MAX];
    size_t depth;
    enum leaf leaf, last;     /* the block that is open, and the one that was drawn last */
    enum leaf opening;        /* the block that the present line begins, once that is whole */
    struct container sibling; /* the item that has just ended where another one begins */
    bool blank;               /* a blank line was read since the last block */

    enum { LINE_BEGIN, LINE_TEXT, LINE_WHOLE } mode;
    struct buf line; /* what is kept of the present line: its beginning until that is understood, or all */
    bool inner;      /* the prefixes of its containers were removed from line */
    int column;      /* of the source, where line begins */

    struct buf pending; /* text of a paragraph or heading that is not drawn yet */
    struct buf carry;   /* the marks of strong emphasis that was drawn before it was closed */
    bool special;       /* pending is more than plain text */
    unsigned style;     /* of the heading */
    int columns;        /* of the paragraph's present line, so far */
    uint32_t before;    /* the last character of that line */
    int trailing;       /* the number of blanks at its end */
    bool soft, hard;    /* that line has ended; it has ended with a backslash */

    char fence; /* the character that the open fence is made of, and how many of them */
    size_t fence_len;
    int indent;      /* of the fence, or of indented code */
    int blank_lines; /* of indented code: held back, since they may be behind its end */
    struct highlight highlight;
    struct buf held; /* a formula, or the first line of what may be a table */
    struct table *table;

    struct { /* the paragraph's present line, as it came */
        struct buf source;
        unsigned line; /* flow.lines when it began */
        bool first;    /* of the paragraph */
        bool lost;     /* it cannot be drawn again */
    } live;
    struct refs refs;
};

/* markdown.c */
void markdown_begin_leaf(struct markdown *m, enum leaf leaf);
void markdown_end_leaf(struct markdown *m);
void markdown_begin_text(struct markdown *m); /* a paragraph begins, or goes on with another line */
void markdown_text(struct markdown *m, const char *s,
                   size_t len); /* within a line of a paragraph or heading */
/* The prefixes of the containers, for the next block's first line and for its others; added to. */
void markdown_prefix(struct markdown *m, struct buf *first, struct buf *next);
/* Draw inline text at once, in the flow f. */
void markdown_inline(struct markdown *m, struct flow *f, unsigned style, const char *s);

/* Draw all that is pending of the paragraph or heading, since nothing more of it comes. */
void markdown_settle(struct markdown *m);

/* markdown_live.c */
void markdown_live_begin(struct markdown *m, bool first);
void markdown_live_add(struct markdown *m, const char *s, size_t len);
/* The paragraph is one line that could be a title: it does not end as a sentence. */
bool markdown_is_title(struct markdown *m);
/* The paragraph's last line was the title of a section, or with s the head of a table: draw it as such.
 * False: it cannot be. */
bool markdown_make_heading(struct markdown *m, unsigned style);
bool markdown_make_table(struct markdown *m, const char *s, size_t len);

/* markdown_lines.c: what line->line, whole or not, begins. False: more of it is needed. */
bool markdown_line_begin(struct markdown *m, bool whole);
/* Leave the containers from depth on. */
void markdown_leave(struct markdown *m, size_t depth);
/* A line within a block, without the marks (>) of the quotes that the block is in. */
struct markdown_rest {
    const char *s;
    size_t len;
    int column;  /* of the source, where s begins */
    bool inside; /* the line has all of these marks */
};
struct markdown_rest markdown_rest(const struct markdown *m, const char *s, size_t len);

/* markdown_code.c: lines that are drawn when they are whole. */
void markdown_fence_open(struct markdown *m, const char *s, size_t len, int column);
void markdown_fence_line(struct markdown *m, const char *s, size_t len);
void markdown_indented_line(struct markdown *m, const char *s, size_t len, int column);
void markdown_math_line(struct markdown *m, const char *s, size_t len);
void markdown_math_end(struct markdown *m);

/* markdown_table.c */
/* The second line of what may be a table: m->held is its first. False: it is none. */
bool markdown_table_open(struct markdown *m, const char *s, size_t len);
/* Is s the second line of a table without outer bars, head its first? */
bool markdown_table_fits(const char *head, size_t head_len, const char *s, size_t len);
void markdown_table_row(struct markdown *m, const char *s, size_t len);
void markdown_table_end(struct markdown *m);
void markdown_table_free(struct markdown *m);

#endif
