/* sandbox_options.h - what a sandbox is started with: the engine and its limits, and what is copied out of it
 * and where to. Plain data.
 */
#ifndef SANDBOX_OPTIONS_H
#define SANDBOX_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "chat/phase.h"
#include "engine/options.h"

struct sandbox;

/* What the output of a cell is to fit. */
struct sandbox_terminal {
    int columns;        /* for one line of it; 20 to 1000 */
    int32_t background; /* 0xRRGGBB, or -1: unknown, which is taken for light */
};

struct sandbox_options { /* strings are copied */
    struct engine_options run;
    int64_t max_file; /* bytes of one file that is copied out */
    /* bytes of all files together that are written to this machine during this session */
    int64_t max_files_total;
    bool name_is_ours;           /* no user chose run.name: that it is new is a detail */
    int cell_ms;                 /* wall-clock time of one cell */
    bool figure_svg, figure_pdf; /* figures are drawn in these forms too */
    /* The session's directory (0700), made by the caller. Holds output and delivered files; NULL: nothing
     * is kept. Never bound into the sandbox. */
    const char *session_dir;
    const char *out_dir; /* where delivered files go; NULL: session_dir/files */
    /* The sandbox runs, and what it runs on is known; called again after it was replaced. May be NULL. */
    void (*up)(void *ctx, const struct sandbox *s);
    /* Asked before each cell; *t then holds what is right for a pipe, which NULL gives too: 80 columns, no
     * known background. */
    void (*terminal)(void *ctx, struct sandbox_terminal *t);
    void (*phase)(void *ctx, const struct phase_now *now); /* what is waited for; may be NULL */
    void *ctx;                                             /* for all of them */
};

void sandbox_defaults(struct sandbox_options *o);

/* How many bytes are copied out after one cell: four files of max_file, but no more than /mnt/data holds;
 * at least 64 MiB. */
int64_t sandbox_most_delivered(const struct sandbox_options *o);

#endif
