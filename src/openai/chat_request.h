/* chat_request.h - a request as OpenAI's clients send it (POST /v1/chat/completions, /v1/responses), read
 * from the server's side: what is asked, what was said before, which files came with it; or a refusal in
 * words that such a client shows. Pure: no socket, clock or file.
 */
#ifndef OPENAI_CHAT_REQUEST_H
#define OPENAI_CHAT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

struct json;
struct openai_shape;

struct chat_refusal {
    char param[80]; /* "messages[3].content"; "" where it is about none */
    char message[400];
    const char *code; /* for programs; NULL: none */
};

struct chat_request {
    const char *model, *effort; /* in the body; or NULL */
    const char *previous;       /* Responses: the answer that this goes on from; or NULL */
    bool stream, include_usage;
    bool code, logs; /* Responses: the client wants to see the code that is run, and what it printed */
    char *system;    /* all system and developer messages; NULL: none */
    char *input;     /* the user's words since the last answer */
    /* Arrays: what was said before, {role: "user"|"assistant", text}, and {name, content, encoding} of the
     * files that came with these, and with the question. */
    struct json *history, *earlier_files, *files;
    const struct json *list; /* the conversation as it came (chat_item.h), and how many entries */
    size_t size, prefix;     /* so many entries end with the last answer; 0: the conversation begins */
};

/* 0, or -1 with *no. The body must outlive *out. Release it in both cases. */
int chat_request_read(const struct openai_shape *shape, const struct json *body, struct chat_request *out,
                      struct chat_refusal *no);
void chat_request_release(struct chat_request *r);

#endif
