/* failure.h - what went wrong with one request, as data. It is read from an error body, an error inside a
 * stream or the transport, and is classified so that the retry policy can decide and the user gets a text
 * that says what to do.
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
    FAILURE_NOT_FOUND,    /* the URL or deployment does not exist */
    FAILURE_GONE,         /* the service does not have this model, or no longer has it */
    FAILURE_QUOTA,        /* a paid or daily allowance is used up: a 429 that is not retried */
    FAILURE_CONTEXT,      /* the prompt does not fit the window */
    FAILURE_TOO_LARGE,    /* this one request exceeds the limit for a minute, so it can never fit */
    FAILURE_PARAMETER,    /* the service refuses by name a field that we sent; see param */
    FAILURE_TOOL_USE,     /* Groq could not parse the model's call */
    FAILURE_BUSY,         /* 408, 409, 429, 498, 5xx and their like inside a stream */
    FAILURE_LOADING,      /* the server is still loading the model */
    FAILURE_EMPTY_RESULT, /* Workers AI answered a streaming request with {"result":{}} */
    FAILURE_NOT_API,      /* the answer is HTML or the like */
    FAILURE_PROTOCOL,     /* an answer of the right kind, but broken or over a cap */
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
    PARAM_ENCRYPTED, /* "include": the model does not give encrypted reasoning */
    PARAM_SUMMARY,   /* this account or model does not get summaries of the reasoning */
    PARAM_ITEMS,     /* the service refuses reasoning that it gave itself */
    PARAM_THOUGHTS,  /* the reverse: the service misses reasoning in the history */
    PARAM_API,       /* the model must be asked by the Responses API */
    PARAM_IMAGES,    /* it takes no images, or none in this place */
    PARAM_NO_API,    /* and the endpoint does not have that API either */
};

struct failure {
    enum failure_class class;
    int status; /* the HTTP status, or the one inside the body; 0: none */
    char code[64];
    char message[512]; /* the service's words on one line, or the cause; untrusted */
    enum remedy hint;  /* the next step, where only the transport knows it */
    enum failure_param param;
    char location[256]; /* where a redirect leads; "" none */
    char advice[200];   /* GONE: what to do, from the caller who knows the models; or empty */
    double retry_after; /* seconds; < 0: none */
    int context;        /* the window in tokens that the error names; 0: none */
    /* worth at most one more try: a long timeout, an empty answer, a stream that began with a broken event */
    bool once;
    bool never;      /* network: not worth a retry (refused on loopback, bad certificate) */
    bool apart;      /* network: no connection was made */
    bool body_limit; /* 413 without a word of tokens: perhaps not the model's window but a limit on bytes */
    bool page;       /* the body was an HTML page, which a proxy or firewall may have sent */
    bool empty;      /* truncated without anything being cut off: the service sent nothing */
    unsigned tries;  /* how often the service was asked, for the text; 0: not given */
};

/* The status of an answer and what its headers tell. A zeroed one tells nothing. */
struct failure_head {
    int status;
    char content_type[96], should_retry[16], location[256];
    bool waits;  /* there was a Retry-After */
    bool exact;  /* the wait came from retry-after-ms, which takes precedence */
    double wait; /* seconds from now; 0: as we like */
};

/* Reads an HTTP answer with status >= 300, or a body that was not a reply at all. */
void failure_from_response(struct failure *f, const struct failure_head *h, const char *body, size_t len);
/* Reads an error object inside an answer with status 200. j is the whole top-level value. */
void failure_from_json(struct failure *f, int status, const struct json *j);
void failure_set(struct failure *f, enum failure_class class, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Describes a failure of the network whose cause is certain, so that no retry helps, with the next step. */
void failure_certain(struct failure *f, enum remedy hint, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* These read the parts of a body for the functions above. failure_is: is this an error, although the status
 * is 200? */
bool failure_is(const struct json *j);
enum failure_class failure_by_number(const struct json *j); /* FAILURE_NONE: the number is not known */
/* Returns whichever of the two objects says more than the status does. */
const struct json *failure_telling(const struct json *error, const struct json *message);
/* Returns the error that came as a stream, or NULL. */
struct json *failure_event(const char *body, size_t len);

/* Returns the seconds to wait that the body names; error is the object with the error. < 0: it names none. */
double failure_wait_in_body(const struct json *error, const char *message);

/* True when the service has too much to do. The other statuses that may be retried mean that it failed. */
bool failure_is_busy(int status);
/* "Trying again in 0.4 s (2 of 4)." The caller frees. */
char *failure_wait_text(int ms, unsigned attempt, unsigned most);
/* Is the service not offered in the place that the request came from? */
bool failure_is_region(const struct failure *f);
/* After a request with images: does the service refuse those? */
bool failure_is_images(const struct failure *f);
/* When vLLM was started without a parser of tool calls, writes to out the flags that it needs for this model.
 * False for any other error. */
#define FAILURE_FLAGS 160
bool failure_parser_flags(const struct failure *f, const struct llm_options *o, char out[FAILURE_FLAGS]);
/* Writes the message without the key to out, cut at a word so that it fits. */
void failure_brief(const struct failure *f, const char *key, char *out, size_t size);
/* Puts the text for the user into err: what went wrong, at which endpoint and model, and on a second line the
 * next step. url is the one that was used. Always returns -1. */
int failure_error(const struct failure *f, const struct llm_options *o, const char *url, struct error *err);

#endif
