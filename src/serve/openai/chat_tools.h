/* chat_tools.h - reads the client's own tools, and which of them the model may or must call. Pure. */
#ifndef OPENAI_CHAT_TOOLS_H
#define OPENAI_CHAT_TOOLS_H

struct chat_refusal;
struct chat_request;
struct json;
struct openai_shape;

/* Fills in tools, must_call, one_call and code. 0, or -1 with *no. */
int chat_tools_read(const struct openai_shape *shape, const struct json *body, struct chat_request *out,
                    struct chat_refusal *no);

#endif
