/* rpc.c - reads and writes Connect's envelopes.
 *
 * RULE: A request of a client's streams is in memory, and as bounded as any other body, before it is read.
 */
#include "clients/rpc.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "server/routes.h"

#define HEAD        5
#define FLAG_ZIPPED 1
#define FLAG_END    2
#define MESSAGE_MAX (4u << 20)

static const char *code_of_status(int status)
{
    static const struct {
        int status;
        const char *code;
    } codes[] = {{400, "invalid_argument"},   {401, "unauthenticated"},    {403, "permission_denied"},
                 {404, "not_found"},          {405, "unimplemented"},      {409, "already_exists"},
                 {410, "unavailable"},        {413, "resource_exhausted"}, {415, "invalid_argument"},
                 {422, "invalid_argument"},   {429, "resource_exhausted"}, {501, "unimplemented"},
                 {507, "resource_exhausted"}, {502, "unavailable"},        {503, "unavailable"}};

    for (size_t i = 0; i < countof(codes); i++)
        if (codes[i].status == status)
            return codes[i].code;
    return "internal";
}

struct json *rpc_failure(const struct route *r, int status, const char *code, const char *detail)
{
    (void)r;
    (void)code;
    return json_object_of({"code", json_string(code_of_status(status))}, {"message", json_string(detail)});
}

struct json *rpc_next(struct rpc_reader *r, struct error *err)
{
    const unsigned char *head = (const unsigned char *)r->at;

    err->kind = ERROR_NONE;
    if (r->left == 0)
        return NULL;
    if (r->left < HEAD)
        return error_null(err, ERROR_PROTOCOL, 0, "the message is cut short");
    size_t len = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
    if (head[0] & FLAG_ZIPPED)
        return error_null(err, ERROR_PROTOCOL, 0, "the message must not be compressed");
    if (len > MESSAGE_MAX)
        return error_null(err, ERROR_LIMIT, 0, "a message is longer than %u MiB", MESSAGE_MAX >> 20);
    if (len > r->left - HEAD)
        return error_null(err, ERROR_PROTOCOL, 0, "the message is cut short");
    struct json *message = json_parse(r->at + HEAD, len, JSON_FEW, NULL, err);
    r->at += HEAD + len;
    r->left -= HEAD + len;
    if (message && json_type(message) != JSON_OBJECT) {
        json_free(message);
        return error_null(err, ERROR_PROTOCOL, 0, "the message must be an object");
    }
    return message;
}

struct json *rpc_first(struct http_request *q)
{
    struct rpc_reader r;
    struct error err;

    r.at = http_request_text(q, &r.left);
    struct json *message = rpc_next(&r, &err);
    if (!message)
        rpc_end(q, "invalid_argument", err.kind ? err.text : "there is no message");
    return message;
}

static void rpc_begin(struct http_request *q)
{
    if (!http_request_streams(q))
        stream_begin(q, 200, RPC_STREAM_TYPE);
}

/* Takes message. */
static void send_envelope(struct http_request *q, unsigned char flags, struct json *message)
{
    autofree char *text = json_print(message);
    size_t len = strlen(text);
    struct buf all autorelease(buf_release) = BUF_INIT(0);
    const unsigned char head[HEAD] = {flags, (unsigned char)(len >> 24), (unsigned char)(len >> 16),
                                      (unsigned char)(len >> 8), (unsigned char)len};

    json_free(message);
    buf_add(&all, head, sizeof head);
    buf_add(&all, text, len);
    stream_send(q, all.data, all.len);
}

void rpc_send(struct http_request *q, struct json *message)
{
    rpc_begin(q);
    send_envelope(q, 0, message);
}

void rpc_end(struct http_request *q, const char *code, const char *message)
{
    struct json *error = code ? json_object_of({"code", json_string(code)}, {"message", json_string(message)})
                              : NULL;

    rpc_begin(q);
    send_envelope(q, FLAG_END, json_object_of({"error", error}));
    stream_end(q);
}

int64_t rpc_timeout_ms(const struct http_request *q)
{
    const char *text = http_request_header(q, "Connect-Timeout-Ms");

    return text && strlen(text) <= 10 ? strtoll(text, NULL, 10) : 0;
}
