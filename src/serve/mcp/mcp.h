/* mcp.h - the Model Context Protocol: bytes of a JSON-RPC message in, messages out. It knows no transport:
 * stdio (main/cmd_mcp.c) and POST /mcp (server) open a link for what a client sends, and are called
 * with what goes back. Both families of revisions are served: 2026-07-28, where every request carries what
 * it needs, and the older ones, which begin with initialize. Each message tells to which family it belongs.
 *
 * Nothing here waits. What a client sends may be hostile: any bytes get an error or no answer, never a
 * crash.
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lease_call;
struct error;
struct json;
struct mcp;
struct mcp_link;
struct runner_listener;

#define MCP_MESSAGE_MAX (16u << 20) /* bytes of one message. A longer one gets an error. */
#define MCP_ID          32          /* characters of the handle of a sandbox, or of a session's id */

/* An operation that a sandbox is asked for. Everything is borrowed for the time of the call. */
struct mcp_invocation {
    const char *sandbox;      /* a handle; NULL: the sandbox of the conversation */
    const char *conversation; /* its sandbox is made when it is needed */
    bool named;               /* the client named the conversation itself. If not, it may never come back. */
    const char *client;       /* on whose behalf (runners.h); never NULL */
    const char *operation;    /* one of operations/operations.h */
    const struct json *arguments;
    const struct runner_listener *listener; /* never called from inside ask */
};

struct mcp_host { /* owns the sandboxes: mcp_runners.h, or a test */
    void *ctx;
    /* Finds or makes the sandbox and asks it, as in lease_call.h. -1 with err (ERROR_USAGE: there is no such
     * sandbox). */
    int (*ask)(void *ctx, const struct mcp_invocation *q, struct lease_call *c, struct error *err);
    void (*leave)(void *ctx, struct lease_call *c); /* lease_call_leave() */
    /* Does that conversation of the client have a sandbox? */
    bool (*has)(void *ctx, const char *client, const char *conversation);
    /* Ends that sandbox, if there is one. */
    void (*end)(void *ctx, const char *client, const char *conversation);
};

struct mcp_options {
    const struct mcp_host *host; /* copied */
    const struct argv *packages; /* that may be added to a sandbox, as the user wrote them; borrowed */
    const struct argv
        *languages; /* besides Python that a model is told of, as the user wrote them; borrowed */
    bool separate;  /* a call without a handle may get a sandbox of its own, and the model is told so */
};

struct mcp *mcp_new(const struct mcp_options *o);
void mcp_free(struct mcp *m); /* all links must be closed */

/* How a message is to be delivered over HTTP. */
struct mcp_delivery {
    int status;          /* 200, 202, 400 or 404 */
    bool last;           /* it completes the answer to what this link received. The link may be closed now. */
    const char *session; /* the new Mcp-Session-Id for the client, or NULL */
    /* What the client is to send with later POSTs (see mcp_headers.conversation), or NULL. */
    const char *conversation;
    const char *made; /* the id of a sandbox of which nothing but this message tells the client, or NULL */
};

struct mcp_headers {     /* as the client sent them; NULL: a header is missing */
    const char *version; /* MCP-Protocol-Version */
    const char *method;  /* Mcp-Method */
    const char *name;    /* Mcp-Name */
    const char *sandbox; /* Mcp-Param-Sandbox */
    const char *session; /* Mcp-Session-Id */
    /* Not a header of MCP: mcp_delivery.conversation of an earlier answer, from a client that keeps
     * cookies. */
    const char *conversation;
    /* A name that the user gave the conversation, in the client's settings: for clients that begin and end a
     * session for each call, and for those that are to come back to their variables later. */
    const char *named;
};

struct mcp_link_options {
    const char *client; /* on whose behalf (runners.h), never NULL; borrowed while the link is open */
    const struct mcp_headers *headers; /* of a POST, borrowed while the link is open; NULL: a connection */
    const char *conversation;          /* of a connection; copied */
    /* Sends one message, a line of JSON without its line end. text NULL: there is no message, only an end. */
    void (*send)(void *ctx, const char *text, size_t len, const struct mcp_delivery *delivery);
    void *ctx;
};

/* Opens a link: one for a connection, or one for each POST, which receives one message. */
struct mcp_link *mcp_open(struct mcp *m, const struct mcp_link_options *o);
/* Call this when the client is gone: what runs for it is interrupted, and nothing more is sent. It may be
 * called from send. */
void mcp_close(struct mcp_link *l);

void mcp_receive(struct mcp_link *l, const char *text, size_t len);
/* Call this for a message that was too long to be kept. */
void mcp_receive_too_long(struct mcp_link *l);
/* Serves DELETE with Mcp-Session-Id. False: this client has no such session. */
bool mcp_end_session(struct mcp *m, const char *client, const char *session);

#endif
