/* options.h - what a sandbox is started with: where it runs, its limits, who is told. Plain data. */
#ifndef ENGINE_OPTIONS_H
#define ENGINE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct sandbox;

struct sandbox_options { /* strings are copied */
    const char *name;    /* it lives on when we go, and is found by it again; NULL: it ends with us */
    int64_t idle_ms;     /* how long it lives with nobody there */
    /* SANDBOX_ASKED_...: the user has said so, and did not just leave the default */
    unsigned asked;
    const char *engine; /* "auto", "docker", "podman", "bwrap", or the name of a custom one */
    const char *image;  /* for docker and podman */
    /* of docker and podman, "runsc" is gVisor; NULL: theirs. Given, nothing else is used instead: not bwrap
     * either */
    const char *runtime;
    int64_t memory; /* bytes, with swap none beside it */
    double cpus;
    int pids;
    int64_t data_size;       /* bytes of /mnt/data */
    int data_files;          /* files in it */
    int64_t tmp_size;        /* bytes of /tmp, and of /dev/shm */
    int64_t file_size;       /* one file inside; more where data_size is more */
    int64_t max_file;        /* bytes of a file that is copied out */
    int64_t max_files_total; /* bytes that are written to this machine, all files of this program's run */
    int open_files;
    int cell_ms; /* wall clock of one cell */
    /* keep a copy of the interpreter between cells, to go on from when a cell ends it */
    bool snapshots;
    /* ours, 0700, made by the caller; holds output and delivered files; NULL: nothing is kept. Never bound
     * into the sandbox */
    const char *session_dir;
    const char *out_dir; /* where delivered files go; NULL: session_dir/files */
    /* it runs, and what it runs on is known; again when it was replaced. May be NULL */
    void (*up)(void *ctx, const struct sandbox *s);
    void (*notice)(void *ctx, bool detail, const char *line); /* "podman cannot start (...); using docker" */
    void *notice_ctx;
};

enum {
    SANDBOX_ASKED_IMAGE = 1,
    SANDBOX_ASKED_MEMORY = 2,
    SANDBOX_ASKED_CPUS = 4,
    SANDBOX_ASKED_PIDS = 8,
    SANDBOX_ASKED_DATA_SIZE = 16
};

/* How much is copied out after one cell: 64 MiB, or four of the largest files that are; never more than
 * /mnt/data holds beyond that. */
int64_t sandbox_most_delivered(const struct sandbox_options *o);

/* The defaults of DESIGN section 6. */
void sandbox_defaults(struct sandbox_options *o);

/* The first of these limits (SANDBOX_ASKED_...) that the user has named and does not just want more of:
 * "cpus"; or NULL. */
const char *sandbox_restricts(const struct sandbox_options *o, unsigned limits);

#endif
