/* head.h - the head of a request to the proxy, read from bytes that hostile code sent. Pure. */
#ifndef PROXY_HEAD_H
#define PROXY_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/rules.h"

#define HEAD_MAX    65536 /* bytes, with the blank line */
#define HEAD_FIELDS 100
#define METHOD_SIZE 24

struct head_field {
    const char *name, *value;
};

struct request_head {
    char method[METHOD_SIZE];
    bool tunnel;          /* CONNECT */
    bool newer;           /* HTTP/1.1, not 1.0 */
    bool keep;            /* the connection may serve another request */
    bool expects;         /* it waits for 100 Continue */
    bool address;         /* host is one */
    char host[HOST_SIZE]; /* normal */
    unsigned port;
    const char *path;                 /* with its query; "/" at least; NULL for a tunnel */
    int64_t length;                   /* bytes of the body; 0: none */
    struct head_field v[HEAD_FIELDS]; /* those that concern the server alone */
    size_t n;
};

/* The length of the head at the front of text, with its blank line; 0: it is not whole yet. */
size_t head_length(const char *text, size_t len);
/* text: a whole head, which is cut into strings; h points into it. NULL, or the status and the words of the
 * refusal: "400 ...". */
const char *head_read(char *text, size_t len, struct request_head *h);

#endif
