/* websocket.h - the client's side of a WebSocket (RFC 6455), pure: bytes in, messages out, and what is to be
 * sent. Whoever owns the connection moves the bytes. No extension is offered, so there is no compression.
 * What comes is hostile: a message longer than max, or anything that a server must not send, is an error.
 */
#ifndef NET_WEBSOCKET_H
#define NET_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct error;

struct websocket {
    struct buf in;      /* what came */
    size_t at;          /* bytes of it that were looked at */
    struct buf message; /* the message that is coming in pieces */
    struct buf out;     /* to be sent; the owner drops what it has sent */
    char key[25];       /* of our request */
    bool open, begun;   /* begun: a message is coming, and is not whole */
};

enum websocket_kind {
    WEBSOCKET_MORE,  /* nothing is whole yet */
    WEBSOCKET_OPEN,  /* the server has agreed */
    WEBSOCKET_TEXT,  /* a message, in w->message until the next call */
    WEBSOCKET_CLOSE, /* the server closes; *code is its code, 1005 if it named none */
    WEBSOCKET_BROKEN /* err says why */
};

/* max: bytes of a message. */
void websocket_init(struct websocket *w, size_t max);
void websocket_release(struct websocket *w);
/* Asks the server for a WebSocket at this path (with a query, perhaps). */
void websocket_ask(struct websocket *w, const char *host, const char *path);
/* False: the peer sends faster than it is looked at. Call websocket_next() until it has nothing more. */
bool websocket_feed(struct websocket *w, const void *data, size_t len);
enum websocket_kind websocket_next(struct websocket *w, int *code, struct error *err);
void websocket_text(struct websocket *w, const char *text, size_t len);

#endif
