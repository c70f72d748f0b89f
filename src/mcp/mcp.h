/* mcp.h - the Model Context Protocol: bytes of a JSON-RPC message in, messages out. Knows no transport: stdio
 * (main/cmd_mcp.c) and POST /mcp (src/server) open a link for what a client sends and are called with what
 * goes back. Both families of revisions are served, told apart by each message: 2026-07-28, where every
 * request carries what it needs, and those that begin with initialize.
 *
 * Nothing here waits, and what a client sends is hostile: any bytes get an error or nothing, never a crash.
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct json;
struct mcp;
struct mcp_link;
struct runner_listener;

#define MCP_MESSAGE_MAX (16u << 20) /* bytes of one message; a longer one gets an error */
#define MCP_ID          32          /* characters of the handle of a sandbox, or of a session */

/* What an operation is asked of. Everything is borrowed for the time of the call. */
struct mcp_question {
    const char *sandbox;      /* a handle; NULL: that of the conversation */
    const char *conversation; /* its sandbox is made when it is needed */
    bool again;               /* the client named the conversation itself; else it may never come back */
    const char *client;       /* on whose behalf (runners.h) */
    const char *operation;    /* of runner/operations.h */
    const struct json *arguments;
    const struct runner_listener *listener; /* never called from inside ask */
};

struct mcp_host { /* who has the sandboxes: mcp_runners.h, or a test */
    void *ctx;
    /* Returns the number of the request, id is the sandbox's; or 0 with err (ERROR_USAGE: no such one). */
    uint64_t (*ask)(void *ctx, const struct mcp_question *q, char id[MCP_ID + 1], struct error *err);
    /* Interrupt what runs; its listener is not called any more. */
    void (*forget)(void *ctx, const char *id, uint64_t request);
    bool (*has)(void *ctx, const char *conversation); /* is there a sandbox of that conversation? */
    void (*end)(void *ctx, const char *conversation); /* end it, if there is one */
};

struct mcp_options {
    const struct mcp_host *host; /* copied */
    bool separate; /* a call without a handle may get a sandbox of its own: say so to the model */
};

struct mcp *mcp_new(const struct mcp_options *o);
void mcp_free(struct mcp *m); /* all links must be closed */

/* What a transport with status codes has to know of a message. */
struct mcp_fate {
    int status; /* of HTTP: 200, 202, 400, 404 */
    bool last;  /* nothing more comes for the message that this link got; the link may be closed now */
    const char *session; /* the Mcp-Session-Id to hand out, or NULL */
    /* To be handed out too: what later POSTs bring as mcp_headers.conversation; or NULL. */
    const char *conversation;
};

struct mcp_headers {     /* as the client sent them; NULL: not there */
    const char *version; /* MCP-Protocol-Version */
    const char *method;  /* Mcp-Method */
    const char *name;    /* Mcp-Name */
    const char *sandbox; /* Mcp-Param-Sandbox */
    const char *session; /* Mcp-Session-Id */
    const char *client;  /* no header: whose token it was (runners.h) */
    /* No header of MCP: what an earlier answer handed out, if the client keeps such things (a cookie). */
    const char *conversation;
};

struct mcp_link_options {
    const struct mcp_headers *headers; /* of a POST, borrowed while the link is open; NULL: a connection */
    const char *conversation;          /* of a connection; copied */
    /* One message, a line of JSON without its end; NULL: nothing is to be said (then fate->last is true). */
    void (*send)(void *ctx, const char *text, size_t len, const struct mcp_fate *fate);
    void *ctx;
};

/* One for a connection, or one for each POST, which gets one message. */
struct mcp_link *mcp_open(struct mcp *m, const struct mcp_link_options *o);
/* The client is gone: interrupt what runs for it, send nothing more. May be called from send. */
void mcp_close(struct mcp_link *l);

void mcp_receive(struct mcp_link *l, const char *text, size_t len);
/* A message that was too long to be kept. */
void mcp_receive_too_long(struct mcp_link *l);
/* DELETE with Mcp-Session-Id. False: no such session. */
bool mcp_end_session(struct mcp *m, const char *session);

#endif
