/* error.h - an error for the user, on the caller's stack.
 *
 * A function that can fail takes a struct error * as its last argument and returns 0 or -1 (or NULL). On
 * success it does not touch the struct; there is nothing to free. An error is for the user. What the model
 * should read (a Python exception, say) is a normal result, and a bug of ours is an assert. Only main, term
 * and pipe print.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stddef.h>

/* What the program does about it. Behind each: the exit code. */
enum error_kind {
    ERROR_NONE = 0,
    ERROR_USAGE,     /*   2  the command line or the configuration is wrong */
    ERROR_NETWORK,   /*   1  no answer came over the network */
    ERROR_API,       /*   1  the service answered with an error */
    ERROR_AUTH,      /*  77  the service refused the credentials */
    ERROR_BUSY,      /*  75  rate limit or overload, after all retries */
    ERROR_PROTOCOL,  /*   1  a peer sent what cannot be understood */
    ERROR_SANDBOX,   /*   3  the sandbox could not be started */
    ERROR_LIMIT,     /*   5  a limit was reached: rounds, tokens, time, length */
    ERROR_CONTEXT,   /*   5  the conversation does not fit the model's context window */
    ERROR_CANCELLED, /* 130  interrupted by the user (143 when a SIGTERM did it) */
    ERROR_SYSTEM,    /*   1  the operating system refused: disk, memory, descriptors */
};

struct error {
    enum error_kind kind;
    /* errno, HTTP status or 0, by kind. Of those that the next question would meet too: ERROR_NETWORK with
     * EHOSTUNREACH (no connection could be made), ERROR_BUSY with EDQUOT (the account's quota is used up). */
    int code;
    /* What was wrong, one line, and what to do about it, any number of lines or "". Always valid UTF-8, not
     * scrubbed. */
    char text[1024], remedy[1024];
    /* So many bytes at the beginning of text say where it happened: "docker: ", "config.yaml: ". */
    size_t where;
};

/* Fill in *err (may be NULL) and return -1. What follows the first line break is the remedy. What does
 * not fit is cut at a character. */
int error_set(struct error *err, enum error_kind kind, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for a function that returns a pointer: NULL. */
void *error_null(struct error *err, enum error_kind kind, int code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Put "fmt: " in front of the text; kind and code stay. Returns -1. */
int error_wrap(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ERROR_SYSTEM with errno's text: "fmt: No space left on device". Returns -1. Call before anything changes
 * errno. */
int error_errno(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The text, and the remedy on lines of its own, for people. The caller frees. */
char *error_message(const struct error *err);
int error_exit_code(const struct error *err);

#endif
