/* child_private.h - struct runner_child, for the files that implement runner_child.h: runner_child.c (the
 * connection), child_cell.c (what runs code), child_files.c (files in and out). */
#ifndef CHILD_CHILD_PRIVATE_H
#define CHILD_CHILD_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "child/runner_child.h"
#include "operations/runner_messages.h"

struct runner_child {
    struct loop *loop;
    struct sandbox *sandbox;
    int sock;
    struct message_reader in;
    struct json *next;   /* the next request; NULL: none has come */
    bool next_cancelled; /* it was cancelled before it began */
    int put;             /* the descriptor that came with it, or with the one under way; -1: none */
    int64_t id;          /* the id of the request under way; 0: none */
    int64_t start;       /* the sandboxes of the requests up to this one may start */
    bool events;         /* the front wants events of it */
    struct json *notices;
    struct json *weaker; /* limits that are weaker than usual, until the front knows; NULL: none */
    struct delivered {   /* copies of files that the code made; name is that in the sandbox */
        char *name, *path;
    } * delivered;
    size_t n_delivered;
    char *got;                    /* the path of the copy that get_file made; NULL: none */
    bool lost;                    /* the sandbox of an earlier runner had ended; the next cell tells so */
    bool told;                    /* the front knows how the start ended */
    bool used;                    /* a request has come */
    bool closed;                  /* the connection is closed, or the front wants us to end */
    bool remove;                  /* the sandbox is to be removed */
    bool another;                 /* the front wants another sandbox in its place, for its next request */
    struct beside *beside;        /* processes beside the interpreter (child_process.c); owned */
    struct json *process_waiting; /* what is asked of them before the sandbox is up; owned; NULL: none do */
};

void runner_child_send(struct runner_child *c, const struct json *message);

/* child_process.c */
void child_process(struct runner_child *c,
                   const struct json *m); /* the front asks; the sandbox may not be up */
void child_process_up(struct runner_child *c);
void child_process_failed(struct runner_child *c, const char *why);
void child_process_free(struct runner_child *c);

void child_drop_copy(struct runner_child *c); /* removes the copy of the last get_file */

int child_run_with(struct runner_child *c, const struct json *arguments, struct json **result,
                   struct error *err);
int child_run_code(struct runner_child *c, const struct json *arguments, struct json **result,
                   struct error *err);
int child_info(struct runner_child *c, const struct json *arguments, struct json **result, struct error *err);
int child_reset(struct runner_child *c, const struct json *arguments, struct json **result,
                struct error *err);
int child_hold(struct runner_child *c, const struct json *arguments, struct json **result, struct error *err);

int child_execute(struct runner_child *c, const struct json *arguments, struct json **result,
                  struct error *err);
int child_put_file(struct runner_child *c, const struct json *arguments, struct json **result,
                   struct error *err);
int child_get_file(struct runner_child *c, const struct json *arguments, struct json **result,
                   struct error *err);
int child_list_files(struct runner_child *c, const struct json *arguments, struct json **result,
                     struct error *err);
int child_copy_out(struct runner_child *c, const struct json *arguments, struct json **result,
                   struct error *err);
int child_copy_in(struct runner_child *c, const struct json *arguments, struct json **result,
                  struct error *err);
int child_again(struct runner_child *c, const struct json *arguments, struct json **result,
                struct error *err);
int child_another(struct runner_child *c, const struct json *arguments, struct json **result,
                  struct error *err);

#endif
