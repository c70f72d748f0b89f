/* e2b_flow.h - holds a process back while the client of its output is slow: what it writes waits in its
 * pipes, so that neither the server fills nor the client is lost.
 */
#ifndef CLIENTS_E2B_FLOW_H
#define CLIENTS_E2B_FLOW_H

#include "front/processes.h"
#include "server/routes.h"

struct throttle {
    struct http_request *q;
    struct process_watch *watch;
    bool slow; /* the process waits for it */
};

void throttle_look(struct throttle *f); /* call this when something was sent */
void throttle_end(struct throttle *f);  /* before the watch leaves its process */

#endif
