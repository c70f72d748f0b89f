/* questions.h - the routes that ask a model: POST /ask in our own shape, and /v1 in OpenAI's. The runner,
 * which has the key, asks the model. The server only finds the sandbox of the conversation and writes the
 * answer in its shape.
 */
#ifndef SERVER_QUESTIONS_H
#define SERVER_QUESTIONS_H

struct server;

void question_routes(struct server *s); /* needs s->chats */

#endif
