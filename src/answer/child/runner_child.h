/* runner_child.h - the runner's own side: it takes requests from its front, one after another, and carries
 * them out in its sandbox with the code that the command line uses. src/main/cmd_runner.c makes the
 * sandbox.
 *
 * A runner has no state that its sandbox does not have. So one that was killed is replaced by another one
 * that attaches to the same named sandbox, and one whose sandbox is not needed any more can be given another.
 * A runner ends when its connection is closed.
 */
#ifndef CHILD_RUNNER_CHILD_H
#define CHILD_RUNNER_CHILD_H

#include <stdbool.h>

struct error;
struct json;
struct loop;
struct runner_child;
struct sandbox;

/* Carries out one operation. 0 with *result, which the caller frees, or -1 with err. A cancel of the front
 * comes as an interrupt of the loop. */
typedef int runner_operation(void *ctx, struct runner_child *c, const struct json *arguments,
                             struct json **result, struct error *err);

/* An operation that another room adds to our own: "ask", "fetch_file". */
struct runner_extra {
    const char *name;
    runner_operation *run;
    void *ctx;
};

/* sock is the connection to the front. It is borrowed, and non-blocking from now on. */
struct runner_child *runner_child_new(struct loop *loop, int sock);
void runner_child_free(struct runner_child *c);

/* A notice function for struct engine_options, with the child as its context. A notice that comes while a
 * request runs goes into that request's result. */
void runner_child_notice(void *ctx, bool detail, const char *line);
/* Tells the front that a limit is weaker than usual, with what it hears when the sandbox has started. */
void runner_child_weaker(void *ctx, const char *line);

/* Likewise for `up` of struct sandbox_options. It tells the front, even while a request waits for the
 * start. */
void runner_child_up(void *ctx, const struct sandbox *s);

/* Serves until the front closes the connection or a signal ends us. The sandbox is borrowed. extra ends
 * with a row without a name, and may be NULL. Returns the exit code. *remove tells whether the sandbox is
 * to be removed even if it has a name. */
int runner_child_run(struct runner_child *c, struct sandbox *s, const struct runner_extra *extra,
                     bool *remove);

/* Does the front want another sandbox, in place of one that is gone by now? Waits for the first request to
 * it. */
bool runner_child_another(struct runner_child *c);

/* These are for operations. */
struct loop *runner_child_loop(struct runner_child *c);
struct sandbox *runner_child_sandbox(struct runner_child *c);
bool runner_child_wants_events(const struct runner_child *c);
/* Sends {"id":..., "event": kind, ...} with the members of more. Takes more. */
void runner_child_event(struct runner_child *c, const char *kind, struct json *more);
/* Returns the notices since the request began, as an array that the caller frees, and forgets them. */
struct json *runner_child_notices(struct runner_child *c);
/* Returns the argument "name" of an operation on a file, below /mnt/data, where it may begin with that. */
const char *runner_child_file(const struct json *arguments);
/* The operation "info", whatever the arguments. */
int runner_child_info(struct runner_child *c, struct json **result, struct error *err);
/* Notes that a copy of the file with that name in the sandbox is at path, where get_file will find it too. */
void runner_child_delivered(struct runner_child *c, const char *name, const char *path);

#endif
