/* pipe.h - the front end without an editor: one question, a script of questions, JSON lines, and stdin as
 * data. */
#ifndef PIPE_PIPE_H
#define PIPE_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conversation/event.h"
#include "show/show.h"

struct agent;
struct error;
struct loop;
struct pipe;

enum stdin_mode {
    STDIN_AUTO,
    STDIN_DATA,
    STDIN_IGNORE,
    STDIN_SCRIPT /* of questions, whatever it looks like */
};

struct pipe_options {
    bool json;
    bool results;             /* with json: one line for each question; a question may be a task (task.h) */
    struct show_options show; /* without what show_on_stderr() fills in */
    const char *prompt;       /* the question; NULL: a script of questions on stdin */
    bool prompt_is_stdin;     /* "-": the question is all of stdin */
    enum stdin_mode stdin_mode;
    int closed;               /* fd_open_standard()'s mask; a closed stdin means no data, without a notice */
    const char *const *files; /* --add; ends with NULL; may be NULL */
    int64_t data_size;        /* size of /mnt/data in bytes; 0: 256 MiB */
};

struct pipe *pipe_new(const struct pipe_options *o, struct loop *loop);
void pipe_free(struct pipe *p);
void pipe_event(void *pipe, const struct event *e); /* the agent's event_fn */

struct show_figures pipe_figures(const struct pipe *p);

/* Find the question and the data, before anything is started: every usage error is found here (no question,
 * empty, too long, bad UTF-8 in "-"). May wait for stdin (stdin.h). 0, or -1 with ERROR_USAGE or
 * ERROR_CANCELLED. */
int pipe_prepare(struct pipe *p, struct error *err);
/* Ask all questions; returns the exit code. The caller sends EVENT_SESSION_END after freeing the sandbox. */
int pipe_run(struct pipe *p, struct agent *a);

#endif
