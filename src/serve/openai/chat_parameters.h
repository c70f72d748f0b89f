/* chat_parameters.h - reads what a request of OpenAI's clients asks for besides the conversation. Pure. */
#ifndef OPENAI_CHAT_PARAMETERS_H
#define OPENAI_CHAT_PARAMETERS_H

struct chat_refusal;
struct chat_request;
struct json;
struct openai_shape;

/* Fills in *no and returns -1. param names the member, as in "messages[3].content". */
int chat_refuse(struct chat_refusal *no, const char *code, const char *param, const char *why);
/* Fills model, effort, previous, stream, include_usage, form, tools, code, logs and ignored. 0, or -1 with
 * *no. */
int chat_parameters_read(const struct openai_shape *shape, const struct json *body, struct chat_request *out,
                         struct chat_refusal *no);

#endif
