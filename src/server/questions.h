/* questions.h - the routes that ask a model: POST /ask in our own shape, and /v1 in that of OpenAI. The
 * model is asked by the runner, which holds the key; here are only the sandbox, the conversation's place,
 * and the shape.
 */
#ifndef SERVER_QUESTIONS_H
#define SERVER_QUESTIONS_H

struct server;

void question_routes(struct server *s); /* needs s->chats */

#endif
