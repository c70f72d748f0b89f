/* sandbox_network.h - the proxy of a sandbox whose code may reach hosts (model/proxy/proxy.h): starts its
 * process, gives it the listening socket that comes with a greeting, and passes on what it tells. It belongs
 * to struct sandbox, from its first start to its end, across restarts of what runs inside.
 */
#ifndef SANDBOX_SANDBOX_NETWORK_H
#define SANDBOX_SANDBOX_NETWORK_H

struct loop;
struct network;
struct network_request;

typedef void network_fn(void *ctx, const struct network_request *r);

/* setup: the first packet, which is sent at once. NULL: it could not be started. */
struct network *network_new(const char *setup, struct loop *loop, network_fn *fn, void *ctx);
/* Ends the process, and with it all connections. */
void network_free(struct network *n);
/* fd is closed. -1: that is not what the proxy can listen on. */
int network_listen(struct network *n, int fd);

#endif
