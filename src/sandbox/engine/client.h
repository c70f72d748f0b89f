/* client.h - the program that an engine is started with ("docker", "bwrap"), run as a child: in which
 * environment, and which of its complaints the user is told.
 */
#ifndef ENGINE_CLIENT_H
#define ENGINE_CLIENT_H

#include "process/child.h"

/* How long a client may go on after SIGTERM. Podman puts that signal off until it has noted the conmon of a
 * new container (libpod/shutdown); SIGKILL before that leaves conmon and "runc init" of a container that
 * podman does not know. */
#define CLIENT_GRACE_MS 3000
#define CLIENT_MS       10000 /* what a call of a client may take, but for a start */

struct argv;
struct engine;

/* Start o, keeping its stderr, with the variables that a client needs and without any of our keys. The
 * working directory is the root unless o names one, but never ours, because podman's conmon leaves a file
 * "oom" where it was started. */
struct child *client_start(struct child_options o, struct error *err);
/* The same, with further variables of ours: each NAME, or NAME* for all that begin so. */
struct child *client_start_with(struct child_options o, const struct argv *names, struct error *err);
/* Run a command that reads nothing. Releases argv. It is ended after CLIENT_MS. NULL: it could not be
 * started. */
struct child *client_command(struct argv *argv, struct child_watch watch);
/* The most telling line of its stderr, or how it ended. The caller frees it. */
char *client_complaint(const struct child *c);

/* Remove a container by its name ("docker rm -f"). It may take 10 s. NULL: the client could not
 * be started. */
struct child *removal_start(const struct engine *engine, const char *name, struct child_watch watch);

enum removal_end {
    REMOVAL_GONE,
    /* Worth another try. Docker may refuse because the container is just ending by itself, and in the same
     * moment stop removing it because of our request ("Could not kill running container", docker 20.10). */
    REMOVAL_REFUSED,
    REMOVAL_NOBODY, /* no daemon, or none that answers us: asking again changes nothing */
};
enum removal_end removal_end(const struct child *c);

#endif
