/* discord_read.h - reads what Discord sends, pure. All of it is hostile: text of strangers, and frames that
 * whoever sits between could have made.
 */
#ifndef BOT_DISCORD_READ_H
#define BOT_DISCORD_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct json;

enum { /* opcodes of the gateway */
       DISCORD_DISPATCH = 0,
       DISCORD_HEARTBEAT = 1,
       DISCORD_IDENTIFY = 2,
       DISCORD_RESUME = 6,
       DISCORD_RECONNECT = 7,
       DISCORD_INVALID_SESSION = 9,
       DISCORD_HELLO = 10,
       DISCORD_ACK = 11
};

struct discord_payload {
    struct json *doc; /* owned; the rest points into it */
    int op;
    int64_t seq;      /* -1: none */
    const char *type; /* of a dispatch, or "" */
    const struct json *data;
};

/* -1 with ERROR_PROTOCOL. */
int discord_payload_read(const char *text, size_t len, struct discord_payload *p, struct error *err);
void discord_payload_release(struct discord_payload *p);

struct discord_message {
    const char *id, *channel, *server, *user; /* server NULL: a direct message */
    const char *replied;                      /* our message to which this is the reply; or NULL */
    char *text;                               /* owned; without the mention of us */
    char *quoted;       /* owned; of somebody's message to which this is the reply; or NULL */
    bool hidden;        /* there is such a message, and Discord does not show it */
    struct json *files; /* owned; [{"name", "url", "size"}]: its own, then those of what it replies to */
};

/* Is this MESSAGE_CREATE for us: a direct message, or one that mentions us (self) or replies to us, by a
 * person? Then m is filled. */
bool discord_message_read(const struct json *data, const char *self, struct discord_message *m);
void discord_message_release(struct discord_message *m);
bool discord_is_id(const char *text); /* a snowflake: up to 20 digits */
/* What a close code means for the next connection. */
enum discord_close { DISCORD_RESUMES, DISCORD_IDENTIFIES, DISCORD_FATAL };
enum discord_close discord_close(int code, const char **why);

#endif
