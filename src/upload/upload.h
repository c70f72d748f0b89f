/* upload.h - puts the files of a session on storage that is reached by HTTP: S3 and what is compatible with
 * it (s3://BUCKET/PREFIX), or Azure Blob Storage (https://ACCOUNT.../CONTAINER/PREFIX). Credentials are read
 * from the variables that the services' own tools use; they are in no URL, message, log or argument.
 */
#ifndef UPLOAD_UPLOAD_H
#define UPLOAD_UPLOAD_H

#include <stdbool.h>

struct error;
struct loop;
struct phase_now;
struct upload;

struct upload_options {  /* the strings are copied */
    const char *to;      /* where to */
    const char *session; /* the prefix of its files, behind that of to */
    const char *ca_cert; /* as in llm_session */
    int connect_ms, idle_ms;
    bool insecure; /* http:// to another machine is allowed */
    struct loop *loop;
    /* Bytes of the file that is uploaded (UPLOADING), or that a failure is waited for (RETRYING; why: in one
     * line). May be NULL. */
    void (*phase)(void *ctx, const struct phase_now *now, const char *why);
    void *ctx;
};

/* NULL with ERROR_USAGE: to is no such place, or there are no credentials. Nothing is sent yet. */
struct upload *upload_new(const struct upload_options *o, struct error *err);
void upload_free(struct upload *u);
/* Put the file at path there under name, with up to three retries; *url, without credentials, is the
 * caller's. ERROR_API, ERROR_NETWORK, ERROR_SYSTEM or ERROR_CANCELLED, one line. */
int upload_file(struct upload *u, const char *path, const char *name, char **url, struct error *err);

#endif
