/* questions_private.h - the handlers of the routes of questions.c. */
#ifndef SERVER_QUESTIONS_PRIVATE_H
#define SERVER_QUESTIONS_PRIVATE_H

#include "server/routes.h"

/* ask_route.c */
void ask_route(struct visit *q);

/* completions.c */
void completions_route(struct visit *q);
void models_route(struct visit *q);
void model_route(struct visit *q);
struct json *openai_failure(const struct route *r, int status, const char *code, const char *detail);

#endif
