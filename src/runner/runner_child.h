/* runner_child.h - the runner's own side: takes requests from its front, one after another, and does them in
 * its sandbox with the code that the command line uses. src/main/cmd_runner.c makes the sandbox.
 *
 * It has no state that its sandbox does not have, so one that was killed is replaced by another that attaches
 * to the same named sandbox. The end of the connection ends it.
 */
#ifndef RUNNER_RUNNER_CHILD_H
#define RUNNER_RUNNER_CHILD_H

#include <stdbool.h>

struct error;
struct json;
struct loop;
struct runner_child;
struct sandbox;

/* One operation. 0 with *result (given away), or -1 with err. An interrupt of the loop is the front's cancel.
 */
typedef int runner_operation(void *ctx, struct runner_child *c, const struct json *arguments,
                             struct json **result, struct error *err);

/* An operation of another room, beside our own: "ask", "fetch_file". */
struct runner_extra {
    const char *name;
    runner_operation *run;
    void *ctx;
};

/* sock: the connection to the front, non-blocking from now on; borrowed. */
struct runner_child *runner_child_new(struct loop *loop, int sock);
void runner_child_free(struct runner_child *c);

/* The notice function of struct engine_options, with the child as its context: what is said while a request
 * runs goes into its result. */
void runner_child_notice(void *ctx, bool detail, const char *line);

/* The same for `up` of struct sandbox_options: tells the front, also while a request waits for it. */
void runner_child_up(void *ctx, const struct sandbox *s);

/* Serve until the front closes the connection or a signal ends us. The sandbox is borrowed. Returns the exit
 * code; *remove: the sandbox is to be removed even if it has a name. extra ends with a row
 * without a name; NULL: none. */
int runner_child_run(struct runner_child *c, struct sandbox *s, const struct runner_extra *extra,
                     bool *remove);

/* For operations. */
struct loop *runner_child_loop(struct runner_child *c);
struct sandbox *runner_child_sandbox(struct runner_child *c);
bool runner_child_wants_events(const struct runner_child *c);
/* Send {"id":..., "event": kind, ...}; the members of more, which is given away, follow. */
void runner_child_event(struct runner_child *c, const char *kind, struct json *more);
/* What was said since the request began, as an array; given away. */
struct json *runner_child_notices(struct runner_child *c);
/* A copy of the file of that name, as the code calls it, is at path: get_file finds it there, too. */
void runner_child_delivered(struct runner_child *c, const char *name, const char *path);

#endif
