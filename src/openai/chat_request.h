/* chat_request.h - a request as OpenAI's clients send it (POST /v1/chat/completions), read from the
 * server's side: what is asked, what was said before, which files came with it; or a refusal in words that
 * such a client shows. Pure: no socket, clock or file.
 */
#ifndef OPENAI_CHAT_REQUEST_H
#define OPENAI_CHAT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/sha256.h"

struct json;

struct chat_refusal {
    char param[80]; /* "messages[3].content"; "" where it is about none */
    char message[400];
    const char *code; /* for programs; NULL: none */
};

struct chat_request {
    const char *model, *effort; /* in the body; or NULL */
    bool stream, include_usage;
    char *system; /* all system and developer messages; NULL: none */
    char *input;  /* the user's words since the last answer */
    /* Arrays: what was said before, {role: "user"|"assistant", text}, and {name, content, encoding} of the
     * files that came with these, and with the question. */
    struct json *history, *earlier_files, *files;
    size_t prefix; /* so many messages end with the last answer; 0: the conversation begins */
};

/* 0, or -1 with *no. The body must outlive *out. Release it in both cases. */
int chat_request_read(const struct json *body, struct chat_request *out, struct chat_refusal *no);
void chat_request_release(struct chat_request *r);

/* Names what was said in the first n messages: the same for a text and for parts with that text, whatever
 * blanks surround it. owner: conversations of different owners are never the same. */
void chat_request_key(const struct json *body, size_t n, const char *owner, char out[SHA256_HEX]);
/* The name of that and an answer behind it. */
void chat_key_after(const char key[SHA256_HEX], const char *answer, char out[SHA256_HEX]);

#endif
