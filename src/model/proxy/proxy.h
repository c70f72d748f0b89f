/* proxy.h - the process through which the code of a sandbox reaches hosts that the user has named
 * (--allow-net). The sandbox itself has no network. Its supervisor makes a socket that listens on the
 * sandbox's own loopback, and sends it to the program, which hands it on to this process: whoever connects to
 * it inside is accepted here, outside, and spoken to in HTTP. Nothing else of the host's is reachable that
 * way, and nothing of ours runs inside for it.
 *
 * The process belongs to the program that has the sandbox: sandbox/sandbox_network.c starts it, by exec of
 * our own binary with an environment made for it. So it has none of the model's keys, only the secrets of
 * --secret. It ends when its end of the socket says that the program is gone, and by PR_SET_PDEATHSIG. Each
 * connection is a process of its own, a fork of this one, which ends with it in the same way.
 *
 * Descriptor 0 is a SOCK_SEQPACKET. To this process: first the text of proxy_setup(), then a packet "L" with
 * a listening descriptor for each start of the sandbox. From it: a packet of JSON for each event of a request
 * (state "open", "refused" or "done"; number, method, host, port, path, secret, why, status, sent, received).
 */
#ifndef PROXY_PROXY_H
#define PROXY_PROXY_H

#include <stdint.h>

struct error;
struct net_rules;

struct proxy_limits {       /* of a session */
    int64_t sent, received; /* bytes */
    int requests;
};

/* The text of the first packet. ca_cert: the file of --ca-cert, or NULL. It has the secrets: the caller frees
 * it with free_secret(). NULL with err. */
char *proxy_setup(const struct net_rules *r, const struct proxy_limits *most, const char *ca_cert,
                  struct error *err);
/* The process itself: returns its exit code when the program is gone. */
int proxy_main(void);

#endif
