/* mcp_private.h - what the files of this room share. */
#ifndef MCP_MCP_PRIVATE_H
#define MCP_MCP_PRIVATE_H

#include "base/buf.h"
#include "json/json.h"
#include "mcp/mcp.h"
#include "runner/operations.h"

/* Codes of JSON-RPC, and those that MCP adds. */
enum mcp_code {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_METHOD_NOT_FOUND = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL = -32603,
    MCP_HEADER_MISMATCH = -32020,
    MCP_UNSUPPORTED_VERSION = -32022,
    MCP_NO_RESOURCE_OLD = -32002, /* before 2026-07-28 */
};

struct mcp_revision {
    const char *name;
    bool modern; /* each request carries its version and the client's capabilities; no initialize */
    bool links;  /* knows resource links */
};
extern const struct mcp_revision mcp_revisions[]; /* the newest first; ends with name NULL */
const struct mcp_revision *mcp_revision_find(const char *name);
const struct mcp_revision *mcp_revision_handshake(void); /* the newest with initialize */

enum mcp_level { MCP_DEBUG, MCP_INFO, MCP_NOTICE, MCP_WARNING, MCP_ERROR, MCP_SILENT = 8 };
/* -1: no such level */
int mcp_level_of(const char *name);

/* What a client with initialize has told us: of a connection, or of a session over HTTP. */
struct mcp_session {
    char id[MCP_ID + 1]; /* "" for a connection */
    char *conversation;
    const struct mcp_revision *revision;
    int level;     /* of log messages; MCP_SILENT: none were asked for */
    uint64_t used; /* when, counted in messages */
};

#define MCP_SESSIONS 256 /* kept; a client of an older one is told to begin again */
struct mcp_sessions {
    struct mcp_session *v[MCP_SESSIONS];
    size_t n;
    uint64_t clock;
};
/* May end the session that was not used for longest. */
struct mcp_session *mcp_session_begin(struct mcp *m);
struct mcp_session *mcp_session_find(struct mcp_sessions *s, const char *id);
void mcp_sessions_release(struct mcp_sessions *s);
void mcp_random_id(char out[MCP_ID + 1]);

struct mcp_call; /* call.c: a request that waits for a sandbox */

struct mcp {
    struct mcp_host host;
    bool separate;
    struct mcp_sessions sessions;
    struct mcp_call *calls;
};

struct mcp_link {
    struct mcp *mcp;
    struct mcp_link_options o;
    struct mcp_session *session; /* NULL: a POST without one */
    struct mcp_session own;      /* of a connection */
    /* Of a POST without a session: by which its client is known again. Made here, unless the client brought
     * it. */
    char self[MCP_ID + 1];
    bool brought;
};

struct mcp_method;

/* A request that is being answered. Lives on the stack; a call takes over what it needs. */
struct mcp_request {
    struct mcp_link *link;
    const struct json *id, *params;
    const struct mcp_method *method; /* NULL: not known (yet) */
    const struct mcp_revision *revision;
    const char *handed_out; /* the session that this request began */
    int level;              /* of log messages that this request asked for */
};

/* mcp_reply.c: what goes back. Each ends the request: the link is not touched afterwards. */
void mcp_result(const struct mcp_request *q, struct json *result); /* takes result */
/* data: taken, or NULL */
void mcp_fail(const struct mcp_request *q, enum mcp_code code, struct json *data, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void mcp_nothing(struct mcp_link *l, int status);
void mcp_notify(struct mcp_link *l, const char *method, struct json *params); /* takes params */

/* headers.c: the headers repeat what the body says, for programs in between; one that disagrees would be an
 * attack on them. Returns the name of such a header, or NULL. */
const char *mcp_header_wrong(const struct mcp_request *q, const char *method, const char *version);

/* methods.c */
struct mcp_method {
    const char *name;
    bool modern, handshake; /* in which revisions it is */
    const char *named_by;   /* the parameter that the header Mcp-Name repeats, or NULL */
    void (*serve)(const struct mcp_request *q);
    /* What a 2026-07-28 result says of its life in caches; scope NULL: nothing. */
    int64_t ttl_ms;
    const char *scope;
};
const struct mcp_method *mcp_method_find(const char *name);

/* call.c. shape makes the result of what the sandbox answered; it may fail the request instead. */
struct mcp_answer {
    const struct mcp_request *request;
    const char *sandbox;       /* its handle */
    bool apart;                /* as far as we know, the client can only come back with the handle */
    const char *about;         /* the tool or the URI */
    const struct json *result; /* of the operation; NULL: it failed with err */
    const struct error *err;
};
typedef void mcp_shape(const struct mcp_answer *a);
/* Ask the operation; the request is answered by shape, now or later. about: copied. */
void mcp_ask(const struct mcp_request *q, const char *sandbox, const char *operation,
             const struct json *arguments, const char *about, mcp_shape *shape);
/* notifications/cancelled */
void mcp_cancel(struct mcp_link *l, const struct json *id);
bool mcp_in_use(const struct mcp_link *l, const struct json *id); /* by a call that is under way */
void mcp_calls_drop(struct mcp_link *l);
void mcp_calls_end(struct mcp *m, const struct mcp_session *s); /* their POSTs end too */

/* mcp_tools.c, result.c, resources.c */
void mcp_tools_list(const struct mcp_request *q);
void mcp_tools_call(const struct mcp_request *q);
void mcp_resources_list(const struct mcp_request *q);
void mcp_resources_read(const struct mcp_request *q);
void mcp_templates_list(const struct mcp_request *q);

/* result.c: what a tool answers. */
void mcp_show_result(const struct mcp_answer *a);
void mcp_tool_error(const struct mcp_request *q, const char *text); /* isError: for the model */
/* The schema of that: files have a URI for the client, not their place on this machine. */
struct json *mcp_result_schema(const struct operation *o);

/* Set mimeType: the type without its parameters. */
void mcp_set_type(struct json *o, const struct json *type);

/* uri.c: sandpiper://HANDLE/NAME. The caller frees. */
char *mcp_uri(const char *sandbox, const char *name);
/* False: none of ours. *name: the caller frees. */
bool mcp_uri_parse(const char *uri, char sandbox[MCP_ID + 1], char **name);

#endif
