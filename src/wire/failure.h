/* failure.h - what went wrong with one request, as data: read from an error body, an error inside a stream or
 * the transport; classified, so that the retry policy decides and the user gets a text that says what to do.
 */
#ifndef WIRE_FAILURE_H
#define WIRE_FAILURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/remedy.h"

struct error;
struct json;
struct llm_options;

enum failure_class {
    FAILURE_NONE,
    FAILURE_FATAL, /* the request is wrong; repeating it does not help */
    FAILURE_AUTH,
    FAILURE_NOT_FOUND,    /* URL or deployment */
    FAILURE_GONE,         /* the service has no such model, or has it no longer */
    FAILURE_QUOTA,        /* paid or daily allowance used up: a 429 that is not retried */
    FAILURE_CONTEXT,      /* the prompt does not fit the window */
    FAILURE_TOO_LARGE,    /* this one request is over the limit for a minute: it can never fit */
    FAILURE_PARAMETER,    /* a field that we sent is refused by name; see param */
    FAILURE_TOOL_USE,     /* Groq: the model's call could not be parsed by the service */
    FAILURE_BUSY,         /* 408, 409, 429, 498, 5xx and their like inside a stream */
    FAILURE_LOADING,      /* the server is still loading the model */
    FAILURE_EMPTY_RESULT, /* Workers AI: stream asked, {"result":{}} given */
    FAILURE_NOT_API,      /* HTML or the like */
    FAILURE_PROTOCOL,     /* an answer of this kind, but broken or over a cap */
    FAILURE_TRUNCATED,    /* the reply stopped before its end */
    FAILURE_NETWORK,      /* nothing came; message has the cause */
};

enum failure_param {
    PARAM_NONE,
    PARAM_STREAM_OPTIONS,
    PARAM_REASONING_EFFORT,
    PARAM_MAX_TOKENS,
    PARAM_MAX_COMPLETION_TOKENS,
    PARAM_TEMPERATURE,
    PARAM_TOOLS,
    PARAM_STREAM,
    PARAM_ENCRYPTED, /* "include": the model gives no encrypted reasoning */
    PARAM_SUMMARY,   /* a summary of the reasoning is not given to this account or model */
    PARAM_ITEMS,     /* reasoning that the service gave is not taken back */
    PARAM_THOUGHTS,  /* the other way round: reasoning is missed in the history */
    PARAM_API,       /* the model is to be asked by the Responses API */
    PARAM_NO_API,    /* which is not there either */
};

struct failure {
    enum failure_class class;
    int status; /* of HTTP, or the one inside the body; 0 none */
    char code[64];
    char message[512]; /* the service's words on one line, or the cause; untrusted */
    enum remedy hint;  /* the next step where only the transport knows it */
    enum failure_param param;
    char location[256]; /* of a redirect; "" none */
    char advice[200];   /* GONE: what to do, by who knows the models; or empty */
    double retry_after; /* seconds, < 0 none */
    int context;        /* the window the error names, 0 none */
    /* one more try at most: a long timeout, an empty answer, a stream that began with a broken event */
    bool once;
    bool never; /* network: not worth a retry (refused on loopback, bad certificate) */
    bool in_stream;
    bool empty;     /* truncated, but nothing was cut: it sent nothing */
    unsigned tries; /* how often it was asked, for the text; 0 not told */
};

/* The status of an answer and what its headers tell; zeroed: nothing. */
struct failure_head {
    int status;
    char content_type[96], should_retry[16], location[256];
    bool waits;  /* a Retry-After was there */
    bool exact;  /* it was retry-after-ms, which counts before the other */
    double wait; /* seconds from now; 0: as we like */
};

/* An HTTP answer with status >= 300 (or a body that was no answer at all). */
void failure_from_response(struct failure *f, const struct failure_head *h, const char *body, size_t len);
/* An error object inside an answer with status 200; j is the whole top-level value. */
void failure_from_json(struct failure *f, int status, const struct json *j);
void failure_set(struct failure *f, enum failure_class class, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The parts of a body, for the above. Is it an error, though the status is 200? */
bool failure_is(const struct json *j);
enum failure_class failure_by_number(const struct json *j); /* FAILURE_NONE: the number is not known */
/* the one that says more than the status does */
const struct json *failure_telling(const struct json *error, const struct json *message);
/* of an error that came as a stream, or NULL */
struct json *failure_event(const char *body, size_t len);

/* What the body says of it in seconds; error: the object with the error. < 0: nothing. */
double failure_wait_in_body(const struct json *error, const char *message);

/* the service has too much to do; of the others that may be tried again, it failed */
bool failure_is_busy(int status);
/* vLLM was started without what reads the model's tool calls: the flags that it wants, or NULL where the
 * error is another one. */
const char *failure_parser_flags(const struct failure *f);
/* The message without the key, cut at a word so that it fits. */
void failure_brief(const struct failure *f, const char *key, char *out, size_t size);
/* The text for the user: what was wrong, which endpoint and model, and in a second line the next step. url is
 * the one that was used. Always -1. */
int failure_error(const struct failure *f, const struct llm_options *o, const char *url, struct error *err);

#endif
