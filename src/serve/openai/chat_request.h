/* chat_request.h - reads a request as OpenAI's clients send it (POST /v1/chat/completions, /v1/responses):
 * what is asked, what was said before, and which files came with it. Otherwise it gives a refusal, in words
 * that such a client shows. Pure: no socket, clock or file.
 */
#ifndef OPENAI_CHAT_REQUEST_H
#define OPENAI_CHAT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

struct json;
struct openai_shape;

struct chat_refusal {
    char param[80];    /* the member that is at fault: "messages[3].content"; "": none */
    char message[400]; /* for people */
    const char *code;  /* for programs; NULL: none */
};

struct chat_request {
    const char *model, *effort; /* point into the body; or NULL */
    const char *previous;       /* Responses: the id of the answer that this continues; or NULL */
    bool stream, include_usage;
    bool code, logs; /* Responses: the client wants to see the code that is run, and what it printed */
    /* The schema that the answer must fit, which points into the body or is own_form; NULL: any text will do.
     * And the words of it that are not checked, an array; NULL: none. */
    const struct json *form;
    struct json *own_form, *unchecked;
    struct json *ignored; /* the names of the members that change nothing, an array; NULL: not read so far */
    /* The client's own tools that the model may call, as {name, description, parameters, strict}; NULL: none.
     * Must it call one, and only one at a time? */
    struct json *tools;
    bool must_call, one_call;
    char *system; /* all system and developer messages; NULL: none */
    char *input;  /* the user's words since the last answer; "" where only results came */
    /* What was said before, as {role: "user"|"assistant", text, calls: [{id, name, arguments}]} and {role:
     * "result", id, text}; the files that came with that, as {name, content, encoding}; those that came with
     * the question; and the results of the calls with which the last answer ended, as {id, text}. */
    struct json *history, *earlier_files, *files, *results;
    const struct json *list; /* the conversation as it came (chat_item.h); points into the body */
    size_t size;             /* its number of entries */
    size_t prefix;           /* the number of entries up to the last answer; 0: the conversation begins */
};

/* 0, or -1 with *no. The body must outlive *out. The caller releases *out in both cases. */
int chat_request_read(const struct openai_shape *shape, const struct json *body, struct chat_request *out,
                      struct chat_refusal *no);
void chat_request_release(struct chat_request *r);

#endif
