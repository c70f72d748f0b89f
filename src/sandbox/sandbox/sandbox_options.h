/* sandbox_options.h - what a sandbox is started with: the engine and its limits, and what is copied out of it
 * and where to. Plain data.
 */
#ifndef SANDBOX_OPTIONS_H
#define SANDBOX_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "conversation/phase.h"
#include "engine/options.h"

struct error;
struct network_request;
struct sandbox;

/* The terminal for which a cell draws its output. */
struct sandbox_terminal {
    int columns;                     /* for one line of it; 20 to 1000 */
    int32_t background;              /* 0xRRGGBB, or -1: unknown, which is taken for light */
    int figure_columns, figure_rows; /* of a figure that is drawn by characters; 0: none is */
};

struct sandbox_options { /* strings are copied */
    struct engine_options run;
    int64_t max_file; /* bytes of one file that is copied out */
    /* bytes of all files together that are written to this machine during this session */
    int64_t max_files_total;
    int64_t max_output;      /* bytes that one cell may write to stdout and stderr; 0: no limit */
    const char *with;        /* "emoji 2.16.0": the packages in run.packages, for a model; or NULL */
    const char *with_lock;   /* and their lock */
    const char *with_python; /* "3.11", that they are for; borrowed */
    bool name_is_ours;       /* no user chose run.name: that it is new is a detail */
    int cell_ms;             /* wall-clock time of one cell */
    /* What the code may reach (proxy_setup() in model/proxy), borrowed, with secrets in it: run.no_proxy is
     * set then; or NULL. on_network gets each request, with ctx. */
    const char *network;
    const char *hosts; /* the same in words, for the model: "api.example.com"; NULL where network is */
    void (*on_network)(void *ctx, const struct network_request *r);
    bool figure_svg, figure_pdf; /* figures are drawn in these forms too */
    /* The session's directory (0700), made by the caller. Holds output and delivered files; NULL: nothing
     * is kept. Never bound into the sandbox. */
    const char *session_dir;
    const char *out_dir; /* where delivered files go; NULL: session_dir/files */
    /* Called when the sandbox runs and it is known what it runs on, and again after it was replaced. May be
     * NULL. */
    void (*up)(void *ctx, const struct sandbox *s);
    /* Called before each cell, to change *t. Until then, and where this is NULL, *t is what fits a pipe: 80
     * columns, an unknown background. */
    void (*terminal)(void *ctx, struct sandbox_terminal *t);
    void (*phase)(void *ctx, const struct phase_now *now); /* what is waited for; may be NULL */
    void *ctx;                                             /* for all of them */
};

void sandbox_defaults(struct sandbox_options *o);
/* /tmp is at most an eighth of run.memory: there are two of that size, and /mnt/data has half. One file may
 * fill /mnt/data. */
void sandbox_fit(struct sandbox_options *o);

/* How many bytes are copied out after one cell: four files of max_file, but no more than /mnt/data holds;
 * at least 64 MiB. */
int64_t sandbox_most_delivered(const struct sandbox_options *o);
/* The error of data of so many bytes (more: "more than ", or "") where /mnt/data holds most. Returns -1. */
int sandbox_too_large(const char *name, const char *more, int64_t size, int64_t most, struct error *err);

#endif
