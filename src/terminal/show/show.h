/* show.h - prints events for a person: code, its output, results, notices, a status line. Writes to one
 * descriptor of a given width; untrusted text is scrubbed first (base/scrub.h). The chat uses it, and the
 * pipe for stderr; it knows nothing of the agent. Write errors are ignored: nobody reads any more.
 */
#ifndef SHOW_SHOW_H
#define SHOW_SHOW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/size.h"
#include "conversation/event.h"

struct buf;
struct error;
struct graphics;
struct loop;
struct pixels;
struct pixels_ask;
struct show;

/* Decodes an image file, which is hostile, somewhere else: as sandbox_pixels() does; by its path. */
struct show_decoder {
    int (*pixels)(void *ctx, const struct pixels_ask *ask, struct pixels *out, struct error *err);
    void *ctx;
};

/* The strings and the decoder are borrowed. */
struct show_options {
    int fd;        /* where it goes (2) */
    bool terminal; /* fd is one: cursor movement and a spinner are allowed */
    bool dots;     /* fd is a terminal of which terminal is not true: dots instead of a spinner */
    bool colour;   /* SGR is allowed (NO_COLOR, TERM=dumb and --color are already in it) */
    /* columns, 0 means 80; if fd is a terminal, its present width is used instead at each write */
    int width;
    const char *color;           /* "auto", "always", "never" */
    const char *render;          /* answers: "auto", "plain" (show_text_render) */
    bool quiet;                  /* errors only */
    bool verbose;                /* NOTICE_DETAIL too, usage, the model's words about a result */
    bool reasoning;              /* dimmed reasoning */
    bool usage;                  /* tokens, time and price after each question */
    bool chat;                   /* dimmed notices need no "sandpiper: ": no other program writes there */
    bool fold;                   /* output beyond half a screen is cut, since the chat's /last shows it */
    bool unsaved;                /* files that code makes do not stay: they are "made", not "saved" */
    size_t max_lines, max_bytes; /* of a cell's output; 0: 200 lines, 32 KiB */
    /* drives the spinner, and lets Ctrl-C end a write that blocks; not owned; NULL: neither */
    struct loop *loop;
    /* Figures are drawn where fd is a terminal and somebody decodes them; NULL: they are not. */
    const struct show_decoder *decoder;
    /* Called before a figure is drawn: it may wait a moment for what the terminal says of itself
     * (show_graphics). NULL: the terminal is asked then and there. */
    void (*ready)(void *ctx);
    void *ready_ctx;
};

/* Fill in what follows from writing to stderr: fd to width, by color. */
void show_on_stderr(struct show_options *o);
struct show *show_new(const struct show_options *o);
void show_free(struct show *s);
void show_set_verbose(struct show *s, bool on);
/* Print an event. EVENT_TEXT is ignored: the front end decides where a reply's text goes. */
void show_event(struct show *s, const struct event *e);
/* Set the status line (a terminal's last line, drawn after 0.3 s of silence; a dot a second on one that is
 * dumb). NULL removes it. Does nothing if fd is not a terminal. */
void show_status(struct show *s, const char *text);
/* What is typed while the status line stands: it shows the end of draft, or what is queued, in place of its
 * words. draft "" and queued NULL: no more. */
void show_draft(struct show *s, const char *draft, const char *queued);
/* The status line of a request to model; NULL: the model of the last call, or the session's. */
void show_asking(struct show *s, const char *model);
/* Print one line behind "sandpiper: "; text is scrubbed. */
void show_line(struct show *s, enum notice_level level, const char *text);
/* The next of several questions: its number goes before errors from now on (0: no more), and unless quiet or
 * question is NULL one line on the screen says "[2/5] How many ..."; total 0: not known yet. */
void show_question(struct show *s, unsigned number, unsigned total, const char *question);
/* The user has typed a question on this screen. */
void show_asked(struct show *s);
/* Print model text that is not the answer, dimmed. Nothing if quiet. */
void show_talk(struct show *s, const char *text, size_t len);
/* Remove the status line and end an unfinished line, before another part of the program uses the terminal. */
void show_clear(struct show *s);

/* What the terminal has said of itself; whoever reads its replies adds to it. */
struct graphics *show_graphics(struct show *s);

/* What the code that draws figures should know of the terminal, as far as it is known without asking. */
struct show_figures {
    int32_t background; /* 0xRRGGBB; -1: not known, or no figures are drawn on it */
    int columns, rows;  /* at most, of one that is drawn by characters; 0: none is */
};
struct show_figures show_figures(const struct show *s);

/* The files that the code of this session made and that were copied to this machine. */
struct show_saved {
    char *name, *path; /* in the sandbox; on this machine */
    uint64_t size;
    bool image;
    bool drawn; /* in the present question, and not changed since */
};
const struct show_saved *show_saved(const struct show *s, size_t i); /* NULL behind the last */
/* A path as it is printed: "~/a.png" on a terminal; scrubbed. The caller frees. */
char *show_path(const struct show *s, const char *path);
/* Draw a figure, if figures can be drawn at all, and print its path. -1: it cannot be decoded. */
int show_figure(struct show *s, size_t i, struct error *err);

/* Model text for stdout: scrubbed and streamed. Blank lines at its start and end are dropped. */
struct show_text;
/* loop: a write to a stalled reader ends when it is cancelled; or NULL */
struct show_text *show_text_new(int fd, bool terminal, struct loop *loop);
void show_text_free(struct show_text *t);
/* Render the text as Markdown (markdown.h) if fd is a terminal that can, unless render says "plain".
 * color: "auto", "always" or "never". */
void show_text_render(struct show_text *t, const char *render, const char *color);
/* -1 with errno when the write failed */
int show_text_feed(struct show_text *t, const char *text, size_t len);
/* End the text, with exactly one newline if there was any text. */
int show_text_end(struct show_text *t);
/* Text that is no Markdown, whole and with one newline at its end; not between feed and end. */
int show_text_verbatim(struct show_text *t, const char *text, size_t len);
int show_text_whole(struct show_text *t, const char *text, size_t len); /* feed and end in one write */
/* Tell s and t that they write to the same terminal: each then ends the other's unfinished line first. Free t
 * first. */
void show_share(struct show *s, struct show_text *t);

/* "auto", "always", "never"; NO_COLOR, TERM=dumb */
bool show_wants_colour(int fd, const char *when);
/* Is fd a terminal whose cursor may be moved? TERM=dumb is not. */
bool show_is_terminal(int fd);
int show_colours(void);         /* how many the terminal has: 16, 256 or 1 << 24 */
bool show_is_multiplexed(void); /* tmux or screen, which pass on only what they are told to */
bool show_has_clipboard(void);  /* OSC 52 is known to work; false: nobody knows */
bool show_has_hyperlinks(void); /* OSC 8 */
bool show_has_notices(void);    /* OSC 9: it tells its user, whatever window they look at */
bool show_has_pixels(void);     /* graphics; it says so if it is asked; false: nobody knows */
/* When its window changes its width it lays out anew what is on the screen: a line that is now too wide takes
 * several rows, and the cursor stays behind the character that it stood behind. xterm, screen and Linux's
 * console cut such a line off. */
bool show_reflows(void);
/* The rows that so many columns take there; 1 or more. */
int show_rows(int columns, int width);
bool show_is_dumb(int fd);            /* a terminal all the same */
int show_width(int fd);               /* of the terminal, else 80 */
int show_output_width(int fd);        /* what is left of it for a program's output, behind its gutter */
int show_width_or(int fd, int width); /* of the terminal, else width */
/* The terminal's rows (24 if unknown) and its size in pixels (0 if unknown). */
void show_screen_size(int fd, int *rows, int *pixel_width, int *pixel_height);
struct short_text show_size(unsigned long long bytes); /* "812 bytes", "12.3 kB" */
/* One line of scrubbed text into out, broken at blanks so that none is wider than width (0: never broken);
 * column: where it starts. A word that is wider than the terminal is not broken; continuation lines are
 * indented. No newline at the end. */
void show_wrap(struct buf *out, const char *text, size_t len, int column, int width);
/* Wrap each line of text to the width of fd's terminal. */
void show_wrap_lines(struct buf *out, const char *text, int fd);

#endif
