/* private.h - shared by the files of src/show. Each call collects its bytes in one buffer and writes them
 * with one write. */
#ifndef SHOW_PRIVATE_H
#define SHOW_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "show/lines.h"
#include "show/show.h"

#define SGR_DIM     "\033[2m"
#define SGR_RED     "\033[31m"
#define SGR_GREEN   "\033[32m"
#define SGR_YELLOW  "\033[33m"
#define SGR_MAGENTA "\033[35m"
#define SGR_RESET   "\033[0m"

struct show {
    struct show_options o;
    struct buf out;         /* what the present call writes */
    bool dead;              /* nobody reads the stream any more */
    struct show_text *text; /* on the same terminal, or NULL */
    char *model;            /* of the session, for the status line */
    unsigned question;      /* errors are of this one; 0: nobody counts */

    char *status; /* the transient line's text, or NULL */
    int64_t status_since, last_write;
    bool drawn;
    unsigned frame;

    struct lines stream[2], thought; /* a cell's stdout and stderr; reasoning */
    struct lines_cut cut;
};

/* before writing: other unfinished lines are ended, but keep's */
void show_begin(struct show *s, const struct lines *keep);
void show_follow_width(struct show *s); /* of the terminal: it may have been resized */
void show_flush(struct show *s);
const char *show_sgr(const struct show *s, const char *sgr); /* sgr, or "" without colour */

/* status.c */
void show_status_hide(struct show *s); /* adds to out what removes the drawn line */
void show_status_arm(struct show *s);
/* how much of text fits into so many columns */
size_t show_fitting(const char *text, int columns);

/* cell.c */
void show_cell_call(struct show *s, const struct event *e);
void show_cell_output(struct show *s, const struct event *e);
void show_cell_result(struct show *s, const struct event *e);

/* text.c */
bool show_text_mid(const struct show_text *t); /* it has an unfinished line on the screen */
void show_text_broken(struct show_text *t);    /* somebody ended that line */

#endif
