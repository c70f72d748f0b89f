/* runner_messages.c - cuts a socket's bytes into lines with their descriptors, and writes lines in pieces as
 * the socket takes them.
 */
#include "operations/runner_messages.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "json/json.h"

_Static_assert(RUNNER_LINE_MAX <= JSON_LONG_BYTES, "a line must be one that can be parsed");

#define PIECE     65536
#define SEND_MOST (1u << 20)   /* bytes at a time */
#define KEPT      (256u << 10) /* a buffer larger than this is given back as soon as it is empty */

void messages_init(struct message_reader *l)
{
    *l = (struct message_reader){.buf = BUF_INIT(RUNNER_LINE_MAX + PIECE), .fd = -1};
}

void messages_release(struct message_reader *l)
{
    buf_release(&l->buf);
    fd_close(&l->fd);
    l->at = l->seen = 0;
}

/* Moves what was not taken yet to the front of the buffer. */
static void move_rest_to_front(struct message_reader *l)
{
    if (l->at == l->buf.len) {
        buf_clear(&l->buf);
        if (l->buf.alloc > KEPT)
            buf_release(&l->buf);
    } else if (l->at > 0) {
        buf_drop(&l->buf, l->at);
    }
    l->seen -= l->at;
    l->at = 0;
}

ssize_t messages_read(struct message_reader *l, int sock)
{
    int fd;

    move_rest_to_front(l);
    char *room = buf_space(&l->buf, PIECE);
    if (!room) {
        errno = EMSGSIZE;
        return -1;
    }
    ssize_t n = fd_receive(sock, room, PIECE, MSG_DONTWAIT, &fd);
    if (fd >= 0) {
        fd_close(&l->fd);
        l->fd = fd;
    }
    if (n > 0) {
        l->buf.len += (size_t)n;
        buf_end(&l->buf);
    }
    return n;
}

bool messages_feed(struct message_reader *l, const char *data, size_t len)
{
    move_rest_to_front(l);
    return buf_add(&l->buf, data, len);
}

struct json *messages_next(struct message_reader *l, struct error *err)
{
    const char *text = buf_str(&l->buf), *end = NULL;

    *err = (struct error){0};
    if (l->buf.len > l->seen)
        end = memchr(text + l->seen, '\n', l->buf.len - l->seen);
    if (!end) {
        l->seen = l->buf.len;
        if (l->buf.len - l->at > RUNNER_LINE_MAX)
            error_set(err, ERROR_PROTOCOL, 0, "a message larger than %u MiB", RUNNER_LINE_MAX >> 20);
        return NULL;
    }
    const char *begin = text + l->at;
    l->at = l->seen = (size_t)(end + 1 - text);
    struct json *j = json_parse(begin, (size_t)(end - begin), JSON_LONG, NULL, err);
    if (j && json_type(j) != JSON_OBJECT) {
        json_free(steal(&j));
        error_set(err, ERROR_PROTOCOL, 0, "a message that is not a JSON object");
    }
    return j;
}

int messages_fd(struct message_reader *l)
{
    return fd_steal(&l->fd);
}

void writer_init(struct message_writer *w)
{
    *w = (struct message_writer){.line = SPILL_INIT(0), .fd = -1};
}

void writer_release(struct message_writer *w)
{
    buf_release(&w->buf);
    spill_release(&w->line);
    buf_release(&w->behind);
    fd_close(&w->fd);
    w->sent = w->line_at = 0;
}

void writer_add(struct message_writer *w, const struct json *message)
{
    json_line(message, w->line.len > 0 ? &w->behind : &w->buf);
}

/* Moves the next piece of the line into the buffer; behind the last one, what goes behind the line. */
static void next_piece(struct message_writer *w)
{
    size_t n = spill_read(&w->line, w->line_at, buf_space(&w->buf, PIECE), PIECE);

    w->buf.len += n;
    buf_end(&w->buf);
    w->line_at += n;
    if (n > 0 && w->line_at < w->line.len)
        return;
    spill_release(&w->line);
    w->line_at = 0;
    buf_add(&w->buf, buf_str(&w->behind), w->behind.len);
    buf_release(&w->behind);
}

void writer_add_line(struct message_writer *w, struct spill line, int fd)
{
    if (fd >= 0) {
        w->fd = fd;
        w->fd_at = w->buf.len;
    }
    w->line = line;
    next_piece(w);
}

bool writer_waits(const struct message_writer *w)
{
    return w->sent < w->buf.len || w->line.len > 0;
}

int writer_send(struct message_writer *w, int sock)
{
    size_t most = SEND_MOST;

    while (writer_waits(w)) {
        if (most == 0)
            return 1;
        if (w->sent == w->buf.len) {
            buf_clear(&w->buf);
            w->sent = 0;
            next_piece(w);
        }
        bool with_fd = w->fd >= 0 && w->sent == w->fd_at;
        size_t len = (w->fd >= 0 && !with_fd ? w->fd_at : w->buf.len) - w->sent;
        ssize_t n = fd_send(sock, w->buf.data + w->sent, len, with_fd ? w->fd : -1);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        w->sent += (size_t)n;
        most -= (size_t)n < most ? (size_t)n : most;
        if (with_fd)
            fd_close(&w->fd);
    }
    buf_release(&w->buf);
    w->sent = 0;
    return 0;
}

static const struct {
    const char *word;
    enum error_kind kind;
} kinds[] = {
    {"usage", ERROR_USAGE},         {"network", ERROR_NETWORK}, {"api", ERROR_API},
    {"auth", ERROR_AUTH},           {"busy", ERROR_BUSY},       {"protocol", ERROR_PROTOCOL},
    {"sandbox", ERROR_SANDBOX},     {"limit", ERROR_LIMIT},     {"context", ERROR_CONTEXT},
    {"cancelled", ERROR_CANCELLED}, {"system", ERROR_SYSTEM},
};

struct json *error_to_json(const struct error *err)
{
    const char *word = "system";

    for (size_t i = 0; i < countof(kinds); i++)
        if (kinds[i].kind == err->kind)
            word = kinds[i].word;
    return json_object_of({"kind", json_string(word)}, {"code", json_integer(err->code)},
                          {"text", json_string(err->text)}, {"remedy", json_string(err->remedy)});
}

void error_from_json(struct error *err, const struct json *j)
{
    const char *word = json_text(json_get(j, "kind")), *remedy = json_text(json_get(j, "remedy"));
    enum error_kind kind = ERROR_SYSTEM;

    for (size_t i = 0; i < countof(kinds); i++)
        if (!strcmp(kinds[i].word, word))
            kind = kinds[i].kind;
    error_set(err, kind, (int)json_int(json_get(j, "code"), 0), "%s%s%s", json_text(json_get(j, "text")),
              *remedy ? "\n" : "", remedy);
}
