/* private.h - what the files of the proxy's process share. proxy.c accepts, connection.c reads requests,
 * tunnel.c and forward.c carry them out, dial.c connects.
 */
#ifndef PROXY_PRIVATE_H
#define PROXY_PRIVATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "proxy/head.h"
#include "proxy/rules.h"

#define IDLE_MS    60000 /* a connection on which nothing moves */
#define CONNECT_MS 10000

/* Of all connections together: in memory that the processes share. */
struct traffic {
    atomic_uint requests;
    atomic_bool told; /* that there were too many of them */
    atomic_int_least64_t sent, received;
};

struct error;

struct gate {
    struct net_rules rules;
    int program; /* the socket to the program, for what is told */
    int listener;
    char *ca_cert; /* the text of the file; or NULL */
    size_t ca_cert_len;
    int64_t max_sent, max_received;
    unsigned max_requests;
    struct traffic *traffic;
};

/* One connection of the code's, in a process of its own. */
struct client {
    struct gate *g;
    int fd;
    struct buf in; /* what was read and not used yet */
    struct request_head h;
    unsigned number;        /* of the request */
    int64_t sent, received; /* by this request */
    char refusal[200];      /* why it ended so */
};

/* first_packet.c: read what proxy_setup() wrote. */
int setup_read(struct gate *g, const char *text, size_t len, struct error *err);

/* connection.c */
void client_serve(struct gate *g, int fd);
/* Write all of it to the code. False: it does not read, or is gone. */
bool client_write(struct client *c, const void *data, size_t len);
/* More bytes from the code to c->in. 0: it sends no more; -1: nothing came within ms. */
int client_read(struct client *c, int ms);
/* May so many more bytes go out, or come in? False, with c->refusal: that is more than the session may. */
bool client_may_send(struct client *c, size_t n);
bool client_may_receive(struct client *c, size_t n);
/* Answer with words "403 why" and tell the program. The connection then closes. */
void client_refuse(struct client *c, const char *words);
/* Tell the program how the request ended. status 0: it was a tunnel. */
void client_over(struct client *c, int status);

/* tunnel.c, forward.c: carry it out. False: the connection closes. */
void tunnel_run(struct client *c, const struct net_rule *rule);
bool forward_run(struct client *c, const struct net_rule *rule, const struct net_secret *secret);
void forward_prepare(void); /* load libcurl; before the first connection */

void no_delay(int fd); /* what is written goes at once (TCP_NODELAY) */
/* dial.c: a connected socket, non-blocking; -1 with the words of a refusal. */
int dial(const char *host, unsigned port, const struct net_rule *rule, const char **words);

#endif
