/* mcp_private.h - what the files of this room share. */
#ifndef MCP_MCP_PRIVATE_H
#define MCP_MCP_PRIVATE_H

#include "base/buf.h"
#include "base/owned.h"
#include "json/json.h"
#include "mcp/mcp.h"
#include "operations/operations.h"

/* The error codes of JSON-RPC 2.0, and those that MCP adds. */
enum mcp_code {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_METHOD_NOT_FOUND = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL = -32603,
    MCP_HEADER_MISMATCH = -32020,
    MCP_UNSUPPORTED_VERSION = -32022,
    MCP_NO_RESOURCE_OLD = -32002, /* only before revision 2026-07-28 */
};

struct mcp_revision {
    const char *name;
    bool modern; /* each request carries its version and the client's capabilities; no initialize */
    bool links;  /* it has resource links */
};
extern const struct mcp_revision mcp_revisions[]; /* the newest first; ends with a row without a name */
const struct mcp_revision *mcp_revision_find(const char *name); /* NULL: there is none of that name */
const struct mcp_revision *mcp_revision_handshake(void);        /* the newest one with initialize */
struct json *mcp_revision_names(void);                          /* a new array; the caller frees it */

enum mcp_level { MCP_DEBUG, MCP_INFO, MCP_NOTICE, MCP_WARNING, MCP_ERROR, MCP_SILENT = 8 };
int mcp_level_of(const char *name); /* -1: there is no such level */

/* What a client agreed to with initialize, for a connection or for a session over HTTP. */
struct mcp_session {
    struct owned_row row; /* the first member: in mcp.sessions, but for that of a connection */
    char id[MCP_ID + 1];  /* "" for a connection */
    char *conversation;   /* owned */
    const struct mcp_revision *revision;
    int level;     /* the lowest level of log messages that is sent; MCP_SILENT: none */
    uint64_t used; /* the number of the latest message for it */
};

#define MCP_SESSIONS 256 /* at most so many of one client are kept */
/* If the client has MCP_SESSIONS already, the one that was not used for longest is ended; who uses that one
 * is told to begin again. */
struct mcp_session *mcp_session_begin(struct mcp *m, const char *client);
struct mcp_session *mcp_session_find(struct mcp *m, const char *client, const char *id); /* NULL: none */
void mcp_sessions_release(struct mcp *m);

struct mcp {
    struct mcp_host host;
    const struct argv *packages;  /* the tool for them is offered if there are any */
    const struct argv *languages; /* those that the argument shows; none: it is not there */
    bool separate;
    struct owned sessions; /* of struct mcp_session */
    uint64_t messages;     /* so far, of all sessions */
    struct owned calls;    /* requests that wait for a sandbox (call.c) */
};

struct mcp_link {
    struct mcp *mcp;
    struct mcp_link_options o;
    struct mcp_session *session; /* NULL: this is a POST without one */
    struct mcp_session own;      /* the session of a connection */
    /* The id of the conversation of a POST without a session. Its client may send it again (see
     * mcp_headers.conversation); brought tells that it did. */
    char self[MCP_ID + 1];
    bool brought;
};

struct mcp_method;

/* A request that is being answered. It lives on the stack; a call that waits copies what it needs. */
struct mcp_request {
    struct mcp_link *link;
    const struct json *id, *params;
    const struct mcp_method *method; /* NULL: it is not known (yet) */
    const struct mcp_revision *revision;
    const char *session_begun; /* the id of the session that this request began; or NULL */
    const char *made;          /* the id of the sandbox that it made, of which its answer tells; or NULL */
    int level;                 /* the lowest level of log messages that this request asked for */
};

/* In mcp_reply.c. The first three answer the request, and the link must not be used after them. */
void mcp_result(const struct mcp_request *q, struct json *result); /* takes result */
/* Takes data, which may be NULL. */
void mcp_fail(const struct mcp_request *q, enum mcp_code code, struct json *data, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void mcp_nothing(struct mcp_link *l, int status); /* no message, only an HTTP status */
void mcp_notify(struct mcp_link *l, const char *method, struct json *params); /* takes params */
struct json *mcp_server_info(void); /* our name and version; the caller frees it */

/* In headers.c. The headers repeat what the body says, for programs that lie between client and server. One
 * that disagrees could be an attack on them. Returns the name of such a header, or NULL. */
const char *mcp_header_wrong(const struct mcp_request *q, const char *method, const char *version);

/* In methods.c. */
struct mcp_method {
    const char *name;
    bool modern, handshake; /* the revisions that have it: without initialize, with it */
    const char *named_by;   /* the parameter that the header Mcp-Name repeats, or NULL */
    void (*serve)(const struct mcp_request *q);
    /* How long and for whom a result of 2026-07-28 may be cached; scope NULL: it does not say. */
    int64_t ttl_ms;
    const char *scope;
};
const struct mcp_method *mcp_method_find(const char *name);

/* In call.c. What an operation gave, for the function that answers the request with it. */
struct mcp_answer {
    const struct mcp_request *request;
    const char *sandbox;       /* its handle */
    bool apart;                /* as far as we know, the client can come back to it only with the handle */
    const char *about;         /* the name of the operation, or the URI */
    const struct json *result; /* of the operation; NULL: it failed with err */
    const struct error *err;
};
typedef void mcp_shape(const struct mcp_answer *a);
/* The conversation whose sandbox a call without a handle is for. *named: the client will name the same one in
 * later calls. The caller frees the result. */
char *mcp_conversation_of(const struct mcp_request *q, bool *named);
/* Asks for the operation. shape answers the request, now or later. about is copied. */
void mcp_ask(const struct mcp_request *q, const char *sandbox, const char *operation,
             const struct json *arguments, const char *about, mcp_shape *shape);
void mcp_cancel(struct mcp_link *l, const struct json *id);       /* for notifications/cancelled */
bool mcp_in_use(const struct mcp_link *l, const struct json *id); /* does a call under way have this id? */
void mcp_calls_drop(struct mcp_link *l); /* interrupts the calls of this link, without an answer */
void mcp_calls_end(struct mcp *m,
                   const struct mcp_session *s); /* the same for a session; its POSTs end too */

/* In mcp_tools.c, result.c and resources.c. */
void mcp_tools_list(const struct mcp_request *q);
void mcp_tools_call(const struct mcp_request *q);
void mcp_resources_list(const struct mcp_request *q);
void mcp_resources_read(const struct mcp_request *q);
void mcp_templates_list(const struct mcp_request *q);

/* In result.c: the answer of a tool. */
void mcp_show_result(const struct mcp_answer *a);
void mcp_tool_error(const struct mcp_request *q, const char *text); /* an error that the model reads */
/* Returns the schema of such an answer, where a file has a URI instead of a path of this machine. The caller
 * frees it. */
struct json *mcp_result_schema(const struct operation *o);
bool mcp_is_text(const struct buf *bytes); /* is it UTF-8 without NUL? */
/* Returns a media type without its parameters, or NULL if there is none. The caller frees it. */
struct json *mcp_type(const struct json *type);

/* In uri.c: sandpiper://HANDLE/NAME, percent-encoded. The caller frees it. */
char *mcp_uri(const char *sandbox, const char *name);
/* False: the URI is not one of ours. The caller frees *name. */
bool mcp_uri_parse(const char *uri, char sandbox[MCP_ID + 1], char **name);

#endif
