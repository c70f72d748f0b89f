/* engine.h - start and end the container (docker, podman) or the namespace (bwrap) a sandbox lives in, and
 * get the channel to its supervisor. For src/sandbox. What the engines do differently is in engines.h.
 *
 * What runs inside is "python3 -I -S -u -c GUEST CHANNEL key=value...". CHANNEL is "fd:N" (inherited socket,
 * bwrap), "unix:PATH" (connect to it, docker and podman) or "stdio" (fallback where a socket cannot be
 * shared). As soon as the channel is up, the program sends one byte over it: 'L' with the listening
 * descriptor as SCM_RIGHTS (the sandbox has a name), or 'N' without; then frames, the first of them with the
 * rest of the guest's source (docs/sandbox-protocol.md). key=value words: snapshots=1 (keep a snapshot of
 * the worker between cells), memory= (bytes, where a control group holds all of them together), nproc=
 * (RLIMIT_NPROC that the supervisor must set, 0 when the engine holds it), nofile= and pending= (likewise),
 * files= (count after each cell, 0 when the engine holds it), data=/mnt/data, and for hints alone told_pids=
 * and told_memory=.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct argv;
struct engine_cached;
struct error;
struct loop;
struct registry_entry;
struct sandbox_options;

struct engine_run; /* one start, and what became of it */

/* status 0: the channel is up; whether the supervisor behind it lives shows at its first word (a bwrap that
 * fails closes the channel: then engine_reject finds out why). -1: no candidate is left; err has cause and
 * remedy. Called from the loop, never from engine_begin. */
typedef void engine_done_fn(void *ctx, int status, const struct error *err);

struct engine_start {
    const struct sandbox_options *o; /* it and the guest's text must live as long as the run */
    struct loop *loop;
    const char *guest; /* text of the supervisor */
    engine_done_fn *done;
    void *ctx;
};

/* Begin. "auto" tries the candidates in order, each failure with one line to o->notice. Never returns NULL: a
 * failure comes through done. */
struct engine_run *engine_begin(const struct engine_start *given);

/* What is known of a run by now; strings are valid until it goes on to another candidate or ends. */
struct engine_facts {
    const char *name; /* "docker", "podman", "bwrap"; "" when no candidate is left */
    /* non-blocking, CLOEXEC, owned by the run; the second, to write to, is another only for stdio */
    int channel, channel_out;
    /* the process whose control groups are the sandbox's, 0 where it cannot be seen (a remote or a virtual
     * engine) */
    pid_t peer;
    const char *runtime; /* that was asked for by name, or NULL */
    const char *image;   /* NULL where the engine has none */
    /* which limits it cannot hold here ("no cgroup: memory is limited for each process only"), or NULL */
    const char *weakness;
    /* the limits as they were given, which may be less than asked for; and a line for each that is, or "" */
    const struct sandbox_options *given;
    const char *fewer;
};
struct engine_facts engine_facts(const struct engine_run *r);

/* The supervisor never said a valid hello: end this candidate and go on to the next; done is called again. */
void engine_reject(struct engine_run *r, const char *why);
/* It did: remember the choice and what is inside for a day (until the options or the engine's version
 * change). Tells what it cannot hold through o->notice, as a detail when the choice was remembered. */
void engine_accept(struct engine_run *r, const char *python, const char *packages);
/* What is remembered for these options, or can be seen from outside without a start (bwrap: the host's /usr).
 */
bool engine_remembered(const struct sandbox_options *o, struct engine_cached *known);

/* Measured from outside. Number of processes the kernel killed for memory so far; -1 where it cannot be read.
 */
int64_t engine_memory_kills(struct engine_run *r);
/* Is the container still there? why gets one line when not ("the container was removed"). */
bool engine_alive(struct engine_run *r, char *why, size_t size);
/* End it and remove everything: container, processes, cgroup, socket directory. At most 10 s; safe at every
 * stage and NULL. Our end of the channel is closed first (an attached client that is not read makes "docker
 * kill" hang). True: it was seen to be gone. */
bool engine_end(struct engine_run *r);
/* The same at the program's own end: nobody waits for an engine that removes a container. A process of its
 * own does, and answers for it. */
void engine_end_in_background(struct engine_run *r);

/* A sandbox with a name (o->name). After engine_accept: what a later program must know; from then on the
 * sandbox owns its directory. */
int engine_describe(struct engine_run *r, struct registry_entry *out, struct error *err);
/* ... and that is written down: our end is not its end */
void engine_keep(struct engine_run *r);
/* A run of what another program has started, from its record; NULL with err when the engine is unknown. Ended
 * by engine_end or left as any other. */
struct engine_run *engine_attach(const struct sandbox_options *o, struct loop *loop,
                                 const struct registry_entry *entry, struct error *err);
int engine_connect(struct engine_run *r); /* the channel; -1 with errno */
void engine_detach(struct engine_run *r); /* in place of engine_end: it lives on */

/* The argument vector that a start would use, for --dry-run. */
int engine_argv(const struct sandbox_options *o, const char *guest, struct argv *out, struct error *err);

#endif
