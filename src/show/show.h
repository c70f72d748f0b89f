/* show.h - events as text for a person: code, program output, results, notices, a status line. Bytes for one stream of a given
 * width; everything untrusted goes through base/scrub first. Used by the chat and by the pipe for stderr; knows nothing of
 * the agent.
 */
#ifndef SHOW_SHOW_H
#define SHOW_SHOW_H

#include <stdbool.h>
#include <stddef.h>

#include "chat/event.h"

struct show;

struct show_options {
    int fd;                 /* where it goes (2) */
    bool terminal;          /* fd is one: cursor movement and a spinner are allowed */
    bool colour;            /* SGR is allowed (NO_COLOR, TERM=dumb and --color are already in it) */
    int width;              /* columns; 0: 80 */
    bool quiet;             /* errors only */
    bool verbose;           /* NOTICE_DETAIL too, usage, the model's words about a result */
    bool reasoning;         /* dimmed reasoning */
    size_t max_lines, max_bytes;    /* of a cell's output; 0: 200 lines, 32 KiB */
};

struct show *show_new(const struct show_options *o);
void show_free(struct show *s);
void show_resize(struct show *s, int width);
void show_event(struct show *s, const struct event *e);    /* every event but TEXT, which the front end places */
void show_status(struct show *s, const char *text);        /* the transient line of a terminal, NULL removes it; nothing elsewhere */
void show_line(struct show *s, enum notice_level level, const char *text);

/* Model text for stdout: scrubbed, streamed. */
struct show_text;
struct show_text *show_text_new(int fd, bool terminal, bool colour, int width);
void show_text_free(struct show_text *t);
int show_text_feed(struct show_text *t, const char *text, size_t len);     /* -1 with errno when the write failed */
int show_text_end(struct show_text *t);                    /* ends with exactly one newline if anything was fed */

bool show_wants_colour(int fd, const char *when);          /* "auto", "always", "never"; NO_COLOR, TERM=dumb */
int show_width(int fd);                                    /* of the terminal, else 80 */

#endif
