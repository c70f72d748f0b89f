/* questions_private.h - the handlers of the routes of questions.c. */
#ifndef SERVER_QUESTIONS_PRIVATE_H
#define SERVER_QUESTIONS_PRIVATE_H

#include "server/routes.h"

/* ask_route.c */
void ask_route(struct http_request *q);

/* completions.c */
void completions_route(struct http_request *q);
void models_route(struct http_request *q);
void model_route(struct http_request *q);
struct json *openai_failure(const struct route *r, int status, const char *code, const char *detail);

#endif
