/* script.h - a script of questions: one a line, read as it arrives. Blank lines and lines that begin with #
 * are skipped; what stands between two lines of three double quotes is one question; lines are never
 * commands. Inside src/pipe.
 */
#ifndef PIPE_SCRIPT_H
#define PIPE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "chat/conversation.h" /* QUESTION_MAX */

struct error;
struct loop;

struct script {
    int fd;
    struct loop *loop;
    struct buf raw;     /* read and not yet taken */
    size_t at;          /* how much of raw is taken */
    unsigned long line; /* number of the last line taken */
    bool ended;
    struct buf head; /* the first bytes that came, to tell data from questions */
    size_t judged;   /* how many of them there were at the last look */
};

void script_init(struct script *s, int fd, struct loop *loop);
void script_release(struct script *s);

/* The next question into q: 1, 0 at the end, -1 with err (ERROR_USAGE with the line's number,
 * ERROR_CANCELLED). */
int script_next(struct script *s, struct buf *q, struct error *err);

/* Wait for the first bytes. 0, or -1 with err. */
int script_begin(struct script *s, struct error *err);
/* Take in what has arrived meanwhile, without waiting. suspect: look whether it is data; then -1, ERROR_USAGE
 * naming what it looks like. */
int script_check(struct script *s, bool suspect, struct error *err);
/* How many questions are still to come; -1 while that is not known: more may arrive, or there is an error
 * among them. */
long script_left(const struct script *s);

/* All of fd as one question. q is empty when there is nothing in it. */
int prompt_read(int fd, struct loop *loop, struct buf *q, struct error *err);
/* Text a question may be: UTF-8 without NUL, at most QUESTION_MAX, not blank. -1 with err. */
int prompt_check(const char *text, size_t len, struct error *err);
bool prompt_blank(const char *text, size_t len);

#endif
