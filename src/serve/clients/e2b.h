/* e2b.h - what the files that answer E2B's SDK share. e2b.c runs code; e2b_sandboxes.c makes, lists and ends
 * sandboxes. A header names the sandbox that a request is for.
 */
#ifndef CLIENTS_E2B_H
#define CLIENTS_E2B_H

#include "clients/client_call.h"

#define E2B_ROUTE .flags = ROUTE_HIDDEN, .failure = e2b_failure /* in each row */

struct json *e2b_failure(const struct route *r, int status, const char *code, const char *detail);
const char *e2b_sandbox(const struct http_request *q); /* its id; "": the header is missing */
/* What is known of that sandbox (lease_set_facts): {"metadata", "envs", "template"}. NULL: nothing. */
const struct json *e2b_facts(const struct http_request *q);
/* A step that gives code the variables of the sandbox's environment, if it has any. */
void e2b_step_envs(struct client_call *c, const struct json *facts);

/* What is said where a sandbox has ended: the SDK looks for "was not found". */
#define E2B_GONE "the sandbox was not found: it has ended, or never was"
/* The sandbox of the header. NULL: there is none. */
struct lease *e2b_box(const struct http_request *q);
/* What is said where a client wants to be another user inside. NULL: it does not. The caller frees it. */
char *e2b_other_user(const struct http_request *q);
/* The path that a client means: below /mnt/data where it is relative, empty, or in the home folder that E2B's
 * sandboxes have, /home/user. The caller frees it. */
char *e2b_path(const char *path);

void e2b_sandbox_routes(struct server *s);
void e2b_process_routes(struct server *s);
void e2b_file_routes(struct server *s);

#endif
