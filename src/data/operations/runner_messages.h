/* runner_messages.h - reads and writes what front and runner send each other: one JSON object a line over a
 * socketpair, with at most one descriptor beside a line. docs/runner-protocol.md describes the messages.
 */
#ifndef OPERATIONS_RUNNER_MESSAGES_H
#define OPERATIONS_RUNNER_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/spill.h"

struct error;
struct json;

/* Bytes of a line. The longest text that either side sends must fit, though a control character has six
 * bytes in JSON. */
#define RUNNER_LINE_MAX (64u << 20)

struct message_reader {
    struct buf buf;
    size_t at;   /* where the next line begins in buf */
    size_t seen; /* how far buf was searched for the end of that line */
    int fd;      /* the descriptor that came with what was read last; -1: none */
};

void messages_init(struct message_reader *l);
void messages_release(struct message_reader *l);
/* Reads once, without waiting. Returns the number of bytes, 0 at the end, -1 with errno. */
ssize_t messages_read(struct message_reader *l, int sock);
/* Does the same with bytes from memory. False: a line is too long. */
bool messages_feed(struct message_reader *l, const char *data, size_t len);
/* Returns the next whole line, an object that the caller frees. NULL with err->kind 0: there is none yet;
 * with ERROR_PROTOCOL: the line is not an object, or too long. */
struct json *messages_next(struct message_reader *l, struct error *err);
int messages_fd(struct message_reader *l); /* gives the descriptor to the caller; -1: none */

struct message_writer {
    struct buf buf;
    size_t sent;       /* bytes of buf that the peer has accepted */
    struct spill line; /* a long line, which goes behind buf piece by piece, from line_at on */
    size_t line_at;
    struct buf behind; /* what goes behind that line */
    size_t fd_at;      /* where in buf the line begins that fd goes with */
    int fd;            /* to be passed, and owned; -1: none */
};

void writer_init(struct message_writer *w);
void writer_release(struct message_writer *w);
void writer_add(struct message_writer *w, const struct json *message);
/* Adds a line, and the descriptor that goes with it, if it is not -1. Takes both. Only one long line and one
 * descriptor may wait. */
void writer_add_line(struct message_writer *w, struct spill line, int fd);
bool writer_waits(const struct message_writer *w); /* something was not sent yet */
/* Sends what the peer accepts, without waiting. 0: all of it; 1: so much that others should be served before
 * the rest; -1 with errno. */
int writer_send(struct message_writer *w, int sock);

/* An error as {"kind": ..., "code": ..., "text": ..., "remedy": ...}. */
struct json *error_to_json(const struct error *err);
void error_from_json(struct error *err, const struct json *j);

#endif
