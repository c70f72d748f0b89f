/* private.h - shared by the files of show. Each call collects its bytes in one buffer and writes them
 * with one write. */
#ifndef SHOW_PRIVATE_H
#define SHOW_PRIVATE_H

#include "conversation/usage.h"
#include "show/figure.h"
#include "show/screen.h"
#include "show/show.h"

struct show {
    struct show_options o;
    struct screen screen;
    char *model;       /* of the session, for the status line */
    unsigned question; /* errors are of this one; 0: nobody counts */

    struct usage usage; /* of the session */

    struct lines stream[2], thought; /* a cell's stdout and stderr; reasoning */
    struct lines_cut cut;

    struct graphics graphics;
    struct show_files { /* all that were saved in this session */
        struct show_saved *v;
        size_t n;
    } files;
    struct show_held { /* notices that came while a line of the answer was unfinished */
        enum notice_level level;
        char *text;
    } * held;
    size_t n_held;
    unsigned drawn;  /* figures of the present cell */
    bool undrawable; /* libchafa cannot be loaded, which was told */
};

/* show.c */
/* A line as show_line() prints it. It cuts no sentence of the answer, unless something went wrong. */
void show_news(struct show *s, enum notice_level level, const char *text);
/* A line of the answer has ended: print those that wait for that. */
void show_held(struct show *s);

/* show_phase.c */
void show_phase(struct show *s, const struct event *e);

/* show_question.c */
void show_usage(struct show *s, const struct event *e); /* of a request; with --verbose */
void show_done(struct show *s, const struct event *e);

/* show_cell.c */
void show_cell_call(struct show *s, const struct event *e);
void show_cell_output(struct show *s, const struct event *e);
void show_cell_result(struct show *s, const struct event *e);

/* show_file.c */
void show_file(struct show *s, const struct event *e);
/* ![alt](src) in an answer, for markdown.h: a figure of this session that was not drawn in this question. */
bool show_answer_image(void *show, const char *src, const char *alt, struct buf *out);
void show_files_seen(struct show_files *f); /* the question is done */
void show_files_release(struct show_files *f);

#endif
