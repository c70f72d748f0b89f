/* show.h - events as text for a person: code, program output, results, notices, a status line. Bytes for one
 * stream of a given width; everything untrusted goes through base/scrub first. Used by the chat and by the
 * pipe for stderr; knows nothing of the agent.
 */
#ifndef SHOW_SHOW_H
#define SHOW_SHOW_H

#include <stdbool.h>
#include <stddef.h>

#include "chat/event.h"

struct buf;
struct loop;
struct show;

struct show_options {
    int fd;        /* where it goes (2) */
    bool terminal; /* fd is one: cursor movement and a spinner are allowed */
    bool colour;   /* SGR is allowed (NO_COLOR, TERM=dumb and --color are already in it) */
    /* columns; 0: 80; where fd really is a terminal, its own, whenever something is written */
    int width;
    bool quiet;                  /* errors only */
    bool verbose;                /* NOTICE_DETAIL too, usage, the model's words about a result */
    bool reasoning;              /* dimmed reasoning */
    size_t max_lines, max_bytes; /* of a cell's output; 0: 200 lines, 32 KiB */
    struct loop *loop;           /* moves the spinner, and ends a write to a stalled reader; NULL: neither */
};

struct show *show_new(const struct show_options *o);
void show_free(struct show *s);
/* every event but TEXT, which the front end places */
void show_event(struct show *s, const struct event *e);
/* the transient line of a terminal, NULL removes it; nothing elsewhere */
void show_status(struct show *s, const char *text);
/* the status line of a request; model NULL: the one named before, or the session's */
void show_asking(struct show *s, const char *model);
/* trusted or not: it is scrubbed */
void show_line(struct show *s, enum notice_level level, const char *text);
/* The next of several questions: its number goes before errors from now on (0: no more), and unless quiet or
 * question is NULL one line on the screen says "[2/5] How many ..."; total 0: not known yet. */
void show_question(struct show *s, unsigned number, unsigned total, const char *question);
/* model text that is no answer, dimmed; nothing when quiet */
void show_talk(struct show *s, const char *text, size_t len);
/* the terminal is about to be used by someone else: status line off, line ended */
void show_clear(struct show *s);

/* Model text for stdout: scrubbed, streamed. Blank lines before it and behind it are dropped. */
struct show_text;
/* loop: a write to a stalled reader ends when it is cancelled; or NULL */
struct show_text *show_text_new(int fd, bool terminal, struct loop *loop);
void show_text_free(struct show_text *t);
/* -1 with errno when the write failed */
int show_text_feed(struct show_text *t, const char *text, size_t len);
/* ends with exactly one newline if anything was fed */
int show_text_end(struct show_text *t);
int show_text_whole(struct show_text *t, const char *text, size_t len); /* feed and end in one write */
/* Both go to one terminal: each ends or removes the other's unfinished line before it writes. t is freed
 * first. */
void show_share(struct show *s, struct show_text *t);

/* "auto", "always", "never"; NO_COLOR, TERM=dumb */
bool show_wants_colour(int fd, const char *when);
/* one where the cursor may be moved: TERM=dumb is none */
bool show_is_terminal(int fd);
int show_width(int fd);                                 /* of the terminal, else 80 */
int show_width_or(int fd, int width);                   /* of the terminal, else width */
void show_count(unsigned long long n, char out[32]);    /* 1,234,567 */
void show_size(unsigned long long bytes, char out[32]); /* "812 bytes", "12.3 kB" */
/* One line of scrubbed text into out, broken at blanks so that none is wider than width (0: never broken);
 * column: where it begins. A word that is wider than the terminal stays whole; what goes on is indented. No
 * newline at the end. */
void show_wrap(struct buf *out, const char *text, size_t len, int column, int width);
/* the lines of text as fd's terminal has room for them */
void show_wrap_lines(struct buf *out, const char *text, int fd);
int show_columns(const char *text, size_t len); /* of scrubbed text without tabs */

#endif
