/* upload.h - puts the files of a session on storage that is reached by HTTP: S3 and what is compatible with
 * it (s3://BUCKET/PREFIX), or Azure Blob Storage (https://ACCOUNT.../CONTAINER/PREFIX). Credentials are read
 * from the variables that the services' own tools use. They never appear in a URL that is shown, a message, a
 * log or an argument.
 */
#ifndef UPLOAD_UPLOAD_H
#define UPLOAD_UPLOAD_H

#include <stdbool.h>

struct error;
struct loop;
struct phase_now;
struct upload;

struct upload_options {  /* the strings are copied */
    const char *to;      /* the place, as above */
    const char *session; /* the name of the session, below which its files are put there */
    const char *ca_cert; /* as in llm_session */
    int connect_ms, idle_ms;
    bool insecure; /* http:// to another machine is allowed */
    struct loop *loop;
    /* Tells how much of a file was sent (UPLOADING), or that a retry is waited for (RETRYING, with the reason
     * in one line). May be NULL. */
    void (*phase)(void *ctx, const struct phase_now *now, const char *why);
    void *ctx;
};

/* NULL with ERROR_USAGE: to is not such a place, or there are no credentials. Nothing is sent yet. */
struct upload *upload_new(const struct upload_options *o, struct error *err);
void upload_free(struct upload *u);
/* Puts the file at path there under name, with up to three retries. The caller frees *url, which has no
 * credentials. -1 with ERROR_API, ERROR_NETWORK, ERROR_SYSTEM or ERROR_CANCELLED, in one line. */
int upload_file(struct upload *u, const char *path, const char *name, char **url, struct error *err);

#endif
