/* script.h - a script of questions, one per line, read as it arrives. Blank lines and lines that start with #
 * are skipped; lines between two lines of three double quotes are one question; no line is a command.
 * Private to pipe.
 */
#ifndef PIPE_SCRIPT_H
#define PIPE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "conversation/conversation.h" /* QUESTION_MAX */

struct error;
struct loop;

struct script {
    int fd;
    struct loop *loop;
    struct buf raw;     /* bytes that were read */
    size_t at;          /* how many of them were used */
    unsigned long line; /* number of the last line used, from 1 */
    bool ended;
    struct buf head; /* the first bytes of the input, to distinguish data from questions */
    size_t judged;   /* length of head at the last check */
};

void script_init(struct script *s, int fd, struct loop *loop);
void script_release(struct script *s);

/* The next question into q: 1, 0 at the end, -1 with err (ERROR_USAGE with the line's number,
 * ERROR_CANCELLED). */
int script_next(struct script *s, struct buf *q, struct error *err);

/* Wait for the first bytes. 0, or -1 with err. */
int script_begin(struct script *s, struct error *err);
/* Read what has arrived, without waiting. suspect: if it looks like data, return -1 with ERROR_USAGE saying
 * what it looks like. */
int script_check(struct script *s, bool suspect, struct error *err);
/* How many questions are left; -1 if unknown, because more may arrive or one of them is an error. */
long script_left(const struct script *s);

/* Read all of fd as one question; q is empty if fd is. 0, or -1 with err. */
int prompt_read(int fd, struct loop *loop, struct buf *q, struct error *err);
/* Is text valid as a question: UTF-8 without NUL, at most QUESTION_MAX bytes, not blank? 0, or -1 with
 * err. */
int prompt_check(const char *text, size_t len, struct error *err);
bool prompt_blank(const char *text, size_t len);

#endif
