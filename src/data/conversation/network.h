/* network.h - a request of the code's to a host (--allow-net), as plain data: what events and lines tell
 * of it. Its strings come from hostile code.
 */
#ifndef CONVERSATION_NETWORK_H
#define CONVERSATION_NETWORK_H

#include <stdint.h>

struct json;

enum network_state {
    NETWORK_OPEN,    /* it is allowed, and goes on its way */
    NETWORK_REFUSED, /* or was cut short; why says for what */
    NETWORK_DONE,
    NETWORK_LOST, /* the proxy itself has ended: no request leaves the sandbox any more */
};

struct network_request {
    enum network_state state;
    int64_t number; /* of the session's requests, from 1; 0: none */
    /* method "CONNECT" is a tunnel for https; path is there for the others; secret: the name of the variable
     * that was added; each may be NULL */
    const char *method, *host, *path, *secret, *why;
    int port;               /* 0: none */
    int status;             /* of the answer; 0: none */
    int64_t sent, received; /* bytes, of one that is over */
};

const char *network_state_name(enum network_state s);
/* Read what the proxy says (model/proxy/proxy.h); r borrows from o. -1: that is no request. */
int network_request_read(const struct json *o, struct network_request *r);
/* One line for people: "network: GET http://api.example.com/v1", not scrubbed. The caller frees. */
char *network_line(const struct network_request *r);

/* The requests of a session. */
struct network_count {
    unsigned allowed, refused;
};
void network_count_add(struct network_count *n, const struct network_request *r);
/* "network was on: 3 requests, 1 refused". The caller frees. */
char *network_count_line(const struct network_count *n);

#endif
