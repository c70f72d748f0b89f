/* options.h - what a sandbox is started with: the engine, the limits, and who is notified. Plain data. */
#ifndef ENGINE_OPTIONS_H
#define ENGINE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct sandbox;

/* What the output of a cell is to fit. */
struct sandbox_terminal {
    int columns;        /* for one line of it; 20 to 1000 */
    int32_t background; /* 0xRRGGBB, or -1: unknown, which is taken for light */
};

struct sandbox_options { /* strings are copied */
    const char *name;    /* of a named sandbox, which outlives the program; NULL: it ends with the program */
    int64_t idle_ms;     /* how long a named sandbox lives with no program attached */
    /* SANDBOX_ASKED_... bits for what the user has set, rather than left at its default */
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
    int64_t max_file;  /* bytes of one file that is copied out */
    /* bytes of all files together that are written to this machine during this session */
    int64_t max_files_total;
    int open_files;
    int cell_ms; /* wall-clock time of one cell */
    /* keep a snapshot of the worker between cells, to restore when a cell kills the worker */
    bool snapshots;
    /* The session's directory (0700), made by the caller. Holds output and delivered files; NULL: nothing
     * is kept. Never bound into the sandbox. */
    const char *session_dir;
    const char *out_dir; /* where delivered files go; NULL: session_dir/files */
    /* The sandbox runs, and what it runs on is known; called again after it was replaced. May be NULL. */
    void (*up)(void *ctx, const struct sandbox *s);
    void (*notice)(void *ctx, bool detail, const char *line); /* "podman cannot start (...); using docker" */
    /* What is waited for: an enum phase of chat/phase.h, which this room does not know. May be NULL. */
    void (*phase)(void *ctx, int phase);
    /* Asked before each cell; *t then holds what is right for a pipe, which NULL gives too: 80 columns, no
     * known background. */
    void (*terminal)(void *ctx, struct sandbox_terminal *t);
    void *notice_ctx; /* for all of them */
};

enum {
    SANDBOX_ASKED_IMAGE = 1,
    SANDBOX_ASKED_MEMORY = 2,
    SANDBOX_ASKED_CPUS = 4,
    SANDBOX_ASKED_PIDS = 8,
    SANDBOX_ASKED_DATA_SIZE = 16
};

/* How many bytes are copied out after one cell: four files of max_file, but no more than /mnt/data holds;
 * at least 64 MiB. */
int64_t sandbox_most_delivered(const struct sandbox_options *o);

/* The defaults of DESIGN section 6. */
void sandbox_defaults(struct sandbox_options *o);

/* The name ("cpus") of the first of these limits (SANDBOX_ASKED_... bits) that the user has set, other
 * than to raise it; or NULL. */
const char *sandbox_restricts(const struct sandbox_options *o, unsigned limits);

#endif
