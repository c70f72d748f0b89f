/* options.h - what an engine is started with: which one, the limits, and who is notified. Plain data. */
#ifndef ENGINE_OPTIONS_H
#define ENGINE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct argv;
struct mount;
struct mounts;

struct engine_options { /* the strings belong to the caller */
    const char *name;   /* of a named sandbox, which outlives the program; NULL: it ends with the program */
    int64_t idle_ms;    /* how long a named sandbox lives with no program attached */
    /* ENGINE_ASKED_... bits for what the user has set, rather than left at its default */
    unsigned asked;
    const char *engine; /* "auto", "docker", "podman", "bwrap", or the name of a custom one */
    const char *image;  /* for docker and podman */
    /* for docker and podman; "runsc" is gVisor; NULL: their default. If one is given, nothing else is used
     * instead, not even bwrap. */
    const char *runtime;
    int64_t memory; /* bytes; no swap in addition */
    double cpus;
    int pids;
    int64_t data_size; /* bytes of /mnt/data */
    int data_files;    /* number of files in /mnt/data */
    int64_t tmp_size;  /* bytes of /tmp, and of /dev/shm */
    int64_t file_size; /* bytes of one file inside; raised to data_size where that is larger */
    int open_files;
    /* what runs inside keeps a frozen copy of a process, which is not counted in pids */
    bool snapshots;
    bool late;    /* it is made when another cell begins, not before: most questions have one cell */
    bool program; /* one piece of code runs, and ends as a program: threads are waited for, files closed */
    /* its supervisor makes a socket on the sandbox's own loopback and sends it over the channel, for a proxy
     * outside (model/proxy); there is no network otherwise. For NO_PROXY: what is not asked through it; NULL:
     * there is no proxy */
    const char *no_proxy;
    const struct mounts *mounts;  /* folders of this machine that it sees (mount.h); NULL: none */
    const struct mount *packages; /* likewise, of --with; what cannot mount is sent them; NULL: none */
    const struct argv *words;     /* further key=value arguments for what runs inside; may be NULL */
    /* Gets each notice, one line for the user; detail: shown only with -v. May be NULL. */
    void (*notice)(void *ctx, bool detail, const char *line);
    /* Gets each line on a limit that is weaker than usual, which is for whoever runs the program and not for
     * whoever uses the sandbox. NULL: notice gets it. */
    void (*weaker)(void *ctx, const char *line);
    void *notice_ctx; /* of both */
};

enum {
    ENGINE_ASKED_IMAGE = 1,
    ENGINE_ASKED_MEMORY = 2,
    ENGINE_ASKED_CPUS = 4,
    ENGINE_ASKED_PIDS = 8,
    ENGINE_ASKED_DATA_SIZE = 16
};

/* The i-th folder that it sees, the packages last; NULL: there are no more. */
const struct mount *engine_mount(const struct engine_options *o, size_t i);

void engine_defaults(struct engine_options *o);

/* Give o->notice, if it is set, one line: "podman cannot start (...); trying docker". */
void engine_notice(const struct engine_options *o, bool detail, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a line on a weaker limit. */
void engine_tell_weaker(const struct engine_options *o, bool detail, const char *line);

/* The name ("cpus") of the first of these limits (ENGINE_ASKED_... bits) that the user has set, other
 * than to raise it; or NULL. */
const char *engine_restricts(const struct engine_options *o, unsigned limits);

#endif
