/* screen.h - a stream that a person reads, and the one owner of what is on its last line. Whoever prints
 * calls screen_begin() first, which ends or removes what is unfinished there: a line of a program's output, a
 * line of the model's text, or the status line. When an unfinished line of text stands still for a second,
 * the status line is drawn below it.
 *
 * Private to show. show.c, show_cell.c, show_question.c and text.c use the screen; it uses none of them.
 */
#ifndef SHOW_SCREEN_H
#define SHOW_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "show/lines.h"

#define SGR_DIM     "\033[2m"
#define SGR_RED     "\033[31m"
#define SGR_GREEN   "\033[32m"
#define SGR_YELLOW  "\033[33m"
#define SGR_MAGENTA "\033[35m"
#define SGR_RESET   "\033[0m"

struct loop;

/* The transient line: "| m is writing code... 24 lines (Ctrl-C stops)". */
struct status {
    const char *text;     /* untrusted; copied */
    const char *hint;     /* in the brackets; NULL: "Ctrl-C stops" */
    unsigned lines;       /* shown in place of the seconds since this text; 0: none */
    int64_t until;        /* clock_ms(): the seconds until then are shown; 0: none */
    uint64_t done, total; /* "45.1 MB of 1.0 GB" behind the text; total 0: nothing */
};

/* What was shown last, since an empty line stands between question, code and answer. NONE: nothing was. */
enum screen_section { SECTION_NONE, SECTION_QUESTION, SECTION_CODE, SECTION_ANSWER };

struct screen {
    int fd;
    bool terminal, colour;
    int width;         /* columns; followed where fd is a terminal */
    struct loop *loop; /* or NULL: nothing moves, and a write waits for its reader */
    struct buf out;    /* what the present call writes */
    bool dead;         /* nobody reads the stream any more */
    int64_t last_write;

    bool spaced; /* answers are rendered, so sections stand apart */
    enum screen_section section;
    struct lines *line; /* whose line may be unfinished; or NULL */
    bool text_line;     /* the model's text has an unfinished line on this screen */
    int text_column;    /* where that ends; -1: not known */

    bool calm;   /* the transient line changes once a second at most */
    bool dots;   /* a terminal without cursor movement: the transient line is a dot a second */
    char *words; /* of the transient line, or NULL */
    char *draft; /* what it shows in their place, or NULL */
    struct status status;
    int64_t status_since;
    bool drawn; /* it stands there now */
    int above;  /* on the line below an unfinished one, which ends in this column; -1: on a line of its own */
    char *drawn_text;               /* what stands there */
    int drawn_width, drawn_columns; /* the terminal's when it was drawn, and its own */
    unsigned frame;
    uint64_t unshown; /* bytes of output while no more of it is shown, for the status line; 0: all is shown */
};

void screen_release(struct screen *s);
/* Before adding to out: the status line and other unfinished lines go; line is the one that goes on, or
 * NULL. */
void screen_begin(struct screen *s, struct lines *line);
/* Add one line of scrubbed text, dim and wrapped at blanks; behind screen_begin. */
void screen_dim_line(struct screen *s, const char *text);
/* Something of that section comes now; behind screen_begin. */
void screen_section(struct screen *s, enum screen_section section);
void screen_flush(struct screen *s); /* write out */
/* The model's text goes on, through a descriptor of its own: all else that is unfinished goes, and is
 * written. */
void screen_yield(struct screen *s);
/* Before something is laid out for the line that is unfinished: if the terminal was resized under a status
 * line, that goes; if it stood below the unfinished line, or the program was stopped and continued (a shell
 * has written since), nobody knows where that line ends. It is then lost. */
void screen_look(struct screen *s);
void screen_follow_width(struct screen *s); /* of the terminal: it may have been resized */
const char *screen_sgr(const struct screen *s, const char *sgr); /* sgr, or "" without colour */
/* A style for lines on it: behind gutter, in colour sgr or without. */
struct lines_style screen_style(const struct screen *s, const char *gutter, const char *sgr);
char *screen_clean(const struct screen *s,
                   const char *text); /* one line, scrubbed for it; the caller frees */

/* status.c: the transient line of a terminal; NULL removes it; nothing elsewhere. The same text again goes on
 * with its seconds. */
void screen_status(struct screen *s, const struct status *status);
/* It shows what the user types, at once and between the words of an answer. */
void screen_draft(struct screen *s, const char *draft, const char *queued);
void screen_status_hide(struct screen *s); /* adds to out what removes the drawn line */
void screen_status_arm(struct screen *s);
size_t screen_fitting(const char *text, int columns); /* how much of text fits into so many columns */

#endif
