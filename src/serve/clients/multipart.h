/* multipart.h - reads a body of the type multipart/form-data (RFC 7578) that is in memory: its parts, their
 * file names, their content. Hostile input: what is not exactly of this form is an error.
 */
#ifndef CLIENTS_MULTIPART_H
#define CLIENTS_MULTIPART_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct http_request;
struct json;

struct multipart {
    const char *at; /* behind the last part */
    size_t left;
    char boundary[76]; /* with "--" before it */
    bool begun;
};

struct multipart_part {
    char *file_name;     /* NULL: it is no file; the caller frees it */
    const char *content; /* in the body */
    size_t len;
};

/* type: of the header Content-Type. -1 with err: it is another type, or has no boundary. */
int multipart_begin(struct multipart *m, const char *type, const char *body, size_t len, struct error *err);
/* 1: a part; 0: there is none any more; -1 with err. */
int multipart_next(struct multipart *m, struct multipart_part *part, struct error *err);
/* The files of a request that is such a form, each as the arguments of put_file; at least one. The caller
 * frees them. NULL with err. */
struct json *multipart_puts(const struct http_request *q, struct error *err);

#endif
