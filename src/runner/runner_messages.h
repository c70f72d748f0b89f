/* runner_messages.h - what front and runner say to each other: one JSON object a line over a socketpair, with
 * at most one descriptor beside a line. Both sides read with this; docs/runner-protocol.md has the messages.
 */
#ifndef RUNNER_RUNNER_MESSAGES_H
#define RUNNER_RUNNER_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

struct error;
struct json;

#define RUNNER_LINE_MAX (24u << 20) /* bytes of a line */

struct message_reader {
    struct buf buf;
    size_t at, seen; /* of buf: where the next line begins; how far it was searched for its end */
    int fd;          /* passed beside what was read last; -1: none. The caller takes it with messages_fd() */
};

void messages_init(struct message_reader *l);
void messages_release(struct message_reader *l);
/* Read once, without waiting: bytes read, 0 at the end, -1 with errno. */
ssize_t messages_read(struct message_reader *l, int sock);
/* The same from memory; false: a line is too long. */
bool messages_feed(struct message_reader *l, const char *data, size_t len);
/* The next whole line, an object, which the caller frees. NULL with err->kind 0: there is none yet;
 * ERROR_PROTOCOL: it is no object, or too long. */
struct json *messages_next(struct message_reader *l, struct error *err);
int messages_fd(struct message_reader *l); /* -1: none; now the caller's */

/* What is to be sent and was not accepted yet. */
struct message_writer {
    struct buf buf;
    size_t sent, fd_at; /* of buf; where the descriptor belongs */
    int fd;             /* to be passed; -1: none. Owned */
};

void writer_init(struct message_writer *w);
void writer_release(struct message_writer *w);
/* The descriptor goes with the line that is added next. Only one may wait. */
void writer_pass(struct message_writer *w, int fd);
/* Send what the peer accepts, without waiting. -1 with errno. */
int writer_send(struct message_writer *w, int sock);

/* Append the object as a line. */
void messages_add(struct buf *out, const struct json *message);

/* {"kind": ..., "text": ..., "remedy": ...} */
struct json *error_to_json(const struct error *err);
void error_from_json(struct error *err, const struct json *j);

#endif
