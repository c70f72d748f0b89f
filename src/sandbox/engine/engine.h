/* engine.h - start and end the container (docker, podman) or the namespaces (bwrap) that a sandbox lives in,
 * and open the channel to its supervisor. This is the interface for sandbox; engines.h has what differs
 * between engines.
 *
 * What runs inside is "python3 -I -S -u -c GUEST CHANNEL key=value...". CHANNEL is "fd:N" (an inherited
 * socket, for bwrap), "unix:PATH" (a socket to connect to, for docker and podman) or "stdio" (the fallback
 * where a socket cannot be shared). As soon as the channel is open, the program sends one byte: 'L' with the
 * listening descriptor as SCM_RIGHTS (for a named sandbox), or 'N' without one. Frames follow, the first of
 * them with the rest of the guest's source (docs/sandbox-protocol.md). The key=value arguments are:
 * snapshots=1 (keep a snapshot of the worker between cells), late=1 (make it when the next one begins),
 * memory= (bytes, where a control group limits the whole sandbox), nproc= (RLIMIT_NPROC for the supervisor
 * to set; 0 when the engine enforces it), nofile= and pending= (likewise), files= (count the files after each
 * cell; 0 when the engine enforces the limit),
 * program=1 (one piece of code runs, and ends as a program does), data=/mnt/data, and, used only in hints,
 * told_pids= and told_memory=.
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
struct record;
struct engine_options;

struct engine_run; /* one start and its outcome */

/* status 0: the channel is open. Only the first frame shows whether the supervisor behind it is alive: a
 * bwrap that fails closes the channel, and engine_reject() finds out why. status -1: no candidate is left;
 * err has cause and remedy. Called from the loop, never from inside engine_begin(). */
typedef void engine_done_fn(void *ctx, int status, const struct error *err);

struct engine_start {
    const struct engine_options *o; /* must live as long as the run, like guest */
    struct loop *loop;
    const char *guest; /* the supervisor's source */
    /* a memory file with the rest of it; NULL, or it returns -1: there is none, and the rest is sent */
    int (*parts)(void);
    engine_done_fn *done;
    void *ctx;
};

/* Has the engine that was named what else was named, an image or a runtime? Otherwise ERROR_USAGE. */
int engine_check(const struct engine_options *o, struct error *err);

/* Begin a start. "auto" tries the candidates in order and reports each failure in one line to o->notice.
 * Never returns NULL; a failure is reported through done. */
struct engine_run *engine_begin(const struct engine_start *given);

/* What is known of a run so far. Strings are valid until the run moves on to another candidate or ends. */
struct engine_facts {
    const char *name; /* "docker", "podman", "bwrap"; "" when no candidate is left */
    /* non-blocking, CLOEXEC, owned by the run. channel_out is the one to write to; it differs only for
     * stdio */
    int channel, channel_out;
    /* the process whose control groups are the sandbox's; 0: cannot be seen (a remote or virtual engine) */
    pid_t peer;
    const char *runtime; /* as the user named it, or NULL */
    const char *image;   /* NULL: the engine has no images */
    /* the limits it cannot enforce here ("no cgroup: memory is limited for each process only"), or NULL */
    const char *weakness;
    bool has_parts;    /* the rest of the supervisor's source was handed over */
    bool holds_memory; /* of the whole sandbox; if not, weakness says so */
    /* our part on another machine has said which limits it holds (inside.h): holds_memory, and these */
    bool inside, holds_pids, holds_cpu;
    /* the limits in force, which may be lower than asked for, and one line for each that is lower, or "" */
    const struct engine_options *given;
    const char *fewer;
};
struct engine_facts engine_facts(const struct engine_run *r);

/* Did the user name a limit that turns out not to be enforced? Asked at the hello, because a client may say
 * so only after the channel is open; then the hello must be rejected. */
bool engine_refuses(const struct engine_run *r);
/* The supervisor never sent a valid hello, or is refused: end this candidate and try the next. done is called
 * again. */
void engine_reject(struct engine_run *r, const char *why);
/* The hello was valid: cache the choice and what is inside for a day, or until the options or the engine's
 * version change. Reports the limits it cannot enforce through o->notice, as a detail if the choice was
 * cached before. */
void engine_accept(struct engine_run *r, const char *python, const char *packages);
/* What is cached for these options, or can be seen without a start (for bwrap, the host's /usr). */
bool engine_from_cache(const struct engine_options *o, struct engine_cached *known);

/* How many processes the kernel has killed for memory so far, read from outside; -1: cannot be read. */
int64_t engine_memory_kills(struct engine_run *r);
/* The limit of memory in bytes that holds where it is smaller than the one asked for, because a group around
 * the sandbox sets it or, where no group counts, a limit of our own process; 0: there is none. */
int64_t engine_memory_limit(struct engine_run *r);
/* Bytes of memory that files inside take, if that is so much that nothing can run beside them; else 0. */
int64_t engine_memory_of_files(struct engine_run *r);
/* Bytes that files inside, and memory files that it writes, may still take of its memory. */
int64_t engine_room_for_files(struct engine_run *r);
/* See cgroup_thrashes(). */
struct cgroup_thrash;
bool engine_thrashes(struct engine_run *r, struct cgroup_thrash *t);
/* Is the container still there? If not, why gets one line ("the container was removed"). */
bool engine_alive(struct engine_run *r, char *why, size_t size);
/* End the sandbox and remove everything: container, processes, control group, socket directory. Takes at
 * most 10 s; safe at every stage, and with NULL. Closes our end of the channel first, because "docker
 * kill" hangs while an attached client is not read. True: it is known to be gone. */
bool engine_end(struct engine_run *r);
/* The same at the end of the program: nobody waits for an engine to remove a container. The keeper does
 * that and answers for it. */
void engine_end_in_background(struct engine_run *r);

/* For a named sandbox (o->name), after engine_accept(): record that it is its own owner, and return the
 * directory of that record, for the registry. NULL with err. */
const char *engine_disown(struct engine_run *r, struct error *err);
/* The registry knows it: from now on it outlives this program. */
void engine_keep(struct engine_run *r);
/* Make a run of a sandbox that another program started, from its record; NULL with err when the engine is
 * unknown. End it with engine_end() or leave it, like any other. */
struct engine_run *engine_attach(const struct engine_options *o, struct loop *loop,
                                 const struct record *record, struct error *err);
int engine_connect(struct engine_run *r); /* open the channel; -1 with errno */
void engine_detach(struct engine_run *r); /* instead of engine_end(): the sandbox lives on */

/* The argument vector of the i-th command of a start, for --dry-run. 1; 0: there is no such one; -1 with
 * err. */
int engine_argv(const struct engine_options *o, const char *guest, size_t i, struct argv *out,
                struct error *err);

#endif
