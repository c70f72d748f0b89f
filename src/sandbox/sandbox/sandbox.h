/* sandbox.h - one locked-down, long-lived place where Python runs; its variables live from cell to cell.
 *
 * sandbox_start() begins the start and returns; the loop carries it on while the caller waits for something
 * else. Every call that needs the sandbox first waits for it to be ready. A worker that dies is replaced, by
 * a snapshot from before the cell if there is one (state_restored), and so is a container that is gone; the
 * result of the cell reports the loss (state_lost). Everything from inside is hostile, so deadlines, exit
 * status, memory kills and sizes are measured out here. Prints nothing.
 */
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/error.h"
#include "conversation/cell_result.h"
#include "conversation/pixels.h"
#include "sandbox/sandbox_options.h"
#include "engine/sweep.h"

struct error;
struct language;
struct loop;
struct sandbox;

struct sandbox *sandbox_new(const struct sandbox_options *o, struct loop *loop);
/* End the sandbox; a named one lives on. The engine may take a moment longer to remove a container; the
 * keeper waits for that. */
void sandbox_free(struct sandbox *s);
/* sandbox_free() ends s, even if it has a name. */
void sandbox_discard(struct sandbox *s);

/* Is this a valid name for a sandbox? If not, ERROR_USAGE, one line. */
int sandbox_name_check(const char *name, struct error *err);
/* Take the name in o->name, so that no other program gets it meanwhile; does nothing without a name.
 * ERROR_SANDBOX: another program holds it; or the existing sandbox has another engine than the one asked
 * for by name, or allows more than was asked for. Otherwise the options become those of the existing
 * sandbox. */
int sandbox_claim(struct sandbox *s, struct error *err);
/* The limits in force; for an existing named sandbox these are its own. */
const struct sandbox_options *sandbox_options(const struct sandbox *s);

/* From the next cell on, as session_dir and out_dir of the options. */
void sandbox_set_folders(struct sandbox *s, const char *session_dir, const char *out_dir);
void sandbox_set_cell_time(struct sandbox *s, int ms); /* of the cells that follow */
/* How long a named sandbox lives with no program attached. */
void sandbox_set_idle(struct sandbox *s, int64_t ms);

void sandbox_start(struct sandbox *s); /* in the background; calling again does nothing */
/* While it is held, nothing starts it; who waits for it waits for this too. Let go of, it starts at once if
 * anybody has asked for that. */
void sandbox_hold_start(struct sandbox *s, bool hold);
/* Wait until it is ready. ERROR_SANDBOX: cause and remedy, two lines. ERROR_USAGE: what was named cannot be
 * (an image for bwrap). */
int sandbox_wait(struct sandbox *s, struct error *err);
/* Has the start failed? err: why. Does not wait; the next sandbox_start() tries again. */
bool sandbox_failed(const struct sandbox *s, struct error *err);
const char *sandbox_engine(const struct sandbox *s); /* "docker", ...; "" while unknown */
/* NULL while unknown, and when the engine has no images */
const char *sandbox_image(const struct sandbox *s);
/* The runtime it was started under, if that is not the engine's default; or NULL. */
const char *sandbox_runtime(const struct sandbox *s);
/* "docker, image sandpiper:latest": what it runs on or, before the start, most likely will, as it did the
 * last time. NULL when unknown. The caller frees. */
char *sandbox_place(struct sandbox *s);

/* Copy a folder of packages (packages/packages.h; NULL: there is nothing to copy) into the sandbox, which may
 * run already: code can import them from its next cell on. names and lock take the place of those in its
 * options. ERROR_SANDBOX: there is no room (ENOSPC); it is as before. */
int sandbox_add_packages(struct sandbox *s, const char *folder, const char *names, const char *lock,
                         struct error *err);

/* The same for a folder that has no room in one that runs: the sandbox is started again with it as its folder
 * of packages, in place of the one that it had, and goes on from a live copy. m is borrowed. ERROR_SANDBOX:
 * it cannot; it is as before. */
int sandbox_mount_packages(struct sandbox *s, const struct mount *m, const char *names, const char *lock,
                           struct error *err);

/* Give what was added to from to a new sandbox, too, when it starts. */
void sandbox_share_packages(struct sandbox *s, const struct sandbox *from);

/* Which packages worth naming to a model can be imported inside: "numpy 1.24, pandas 1.5", or "". Known
 * without a start if it is cached or can be seen from outside; otherwise waits for the start. Valid until
 * the next call. */
const char *sandbox_packages(struct sandbox *s, struct error *err);
const char *sandbox_python(struct sandbox *s); /* "3.11" or "" */
/* For a model: "/mnt/host/data (read-only), /mnt/host/out (can be changed)", or nothing. */
void sandbox_mounts(const struct sandbox *s, struct buf *out);

#define SANDBOX_CODE_MAX (1u << 20) /* bytes of code in one cell, at most */

struct cell_listener { /* the pointer to it and its functions may be NULL */
    void *ctx;
    /* Output as it arrives, raw bytes. False: stop reading until the loop calls again (back-pressure, used
     * only by exec). */
    void (*output)(void *ctx, int stream, const char *text, size_t len);
    /* Who interrupted the code through the loop; NULL: the user. */
    const char *(*interrupter)(void *ctx);
};

/* Run one cell. 0: it ran, see r->status (an exception is a normal result). -1: there is no sandbox (as
 * sandbox_wait), or the code is too long (ERROR_USAGE, EFBIG). An interrupt of the loop sends SIGINT to the
 * code. A second interrupt within a second, or code that does not end within 1 s, kills the worker.
 * Reaching cell_ms has the same effect as an interrupt, and so has writing more than max_output. What a
 * person at a terminal that is stopped (Ctrl-S) makes us wait is not counted, up to 10 s. */
int sandbox_run(struct sandbox *s, const char *code, size_t len, const struct cell_listener *l,
                struct cell_result *r, struct error *err);
/* The same in another language: its interpreter stays from cell to cell as Python's does, and is started by
 * its first one. It is another process, of which there are no snapshots: when it ends (exit, a limit that it
 * did not obey) what it kept is gone, r->left says so, and Python's variables are untouched. A command that
 * failed last is CELL_EXIT with its exit code. Where the sandbox has no such interpreter it is CELL_NOT_RUN,
 * and r->what says why. */
struct cell_code {
    const char *text;
    size_t len;
    const struct language *language; /* NULL: Python */
};
int sandbox_run_code(struct sandbox *s, const struct cell_code *code, const struct cell_listener *l,
                     struct cell_result *r, struct error *err);

/* Run a command beside the interpreter, which has no part in it, with the same deadline. r->status is
 * CELL_EXIT with exit_code as a shell has it, or tells what ended it (r->what); CELL_NOT_RUN: no process
 * could be had. */
int sandbox_command(struct sandbox *s, const struct argv *words, const struct cell_listener *l,
                    struct cell_result *r, struct error *err);

/* Processes beside the interpreter that nobody waits for: any number at once, also while a cell runs. They
 * are named by numbers of the caller's, which are never used twice, and end with the interpreter and with
 * the sandbox. */
struct process_start {
    uint32_t number;
    const struct argv *words, *env; /* env: "NAME=value", added to the sandbox's own */
    const char *folder;             /* NULL: /mnt/data */
    bool fed;                       /* it has a stdin that is written to; if not, there is nothing to read */
};
struct process_event {
    uint32_t number; /* 0, for PROCESS_ENDED: of all that there were, with the sandbox */
    enum {
        PROCESS_STARTED, /* value: its pid inside */
        PROCESS_STDOUT,
        PROCESS_STDERR,
        PROCESS_WROTE, /* value: so many bytes more of its stdin were written */
        PROCESS_ENDED, /* the last one. value: its wait status, which is not trusted */
        PROCESS_FAILED /* the last one: it could not be started; data says why */
    } what;
    int64_t value;
    const char *data; /* untrusted bytes, for the call */
    size_t len;
};
typedef void process_event_fn(void *ctx, const struct process_event *e);
/* Who hears of them from now on; called by the loop. */
void sandbox_set_process_listener(struct sandbox *s, process_event_fn *fn, void *ctx);
/* -1: ERROR_SANDBOX (it is not up at present), or ERROR_USAGE (EFBIG). */
int sandbox_process_start(struct sandbox *s, const struct process_start *p, struct error *err);
/* These do nothing where the process has ended. */
#define PROCESS_INPUT_MAX (1u << 20) /* bytes that may wait for it to read them; more is lost */
void sandbox_process_input(struct sandbox *s, uint32_t number, const char *data, size_t len);
void sandbox_process_close(struct sandbox *s, uint32_t number); /* the end of its stdin */
/* What it writes waits in its pipes, or comes again. */
void sandbox_process_hold(struct sandbox *s, uint32_t number, bool hold);
/* Stop all that runs inside, the interpreter too, or let it go on. While it stands still, no request may be
 * made. */
void sandbox_freeze(struct sandbox *s, bool freeze);
void sandbox_process_signal(struct sandbox *s, uint32_t number, int signal); /* to its whole session */

/* Set sys.argv for the cells that follow, byte for byte as os.fsencode() returns it. It takes effect with the
 * next cell. -1: ERROR_SANDBOX, ERROR_CANCELLED, or ERROR_USAGE (too long). */
int sandbox_set_arguments(struct sandbox *s, char *const *argv, size_t n, struct error *err);
/* The same for what they read as stdin: the file of that name in /mnt/data, from its beginning; NULL:
 * nothing. */
int sandbox_set_stdin(struct sandbox *s, const char *name, struct error *err);

/* Append the head and tail of the last cell's output for a model: stdout and stderr in the order they
 * arrived, then the value, cut to max bytes, with exact counts of what was left out. Call it before
 * cell_result_release() of the same cell; the sandbox keeps only the last cell's head and tail. */
void sandbox_output_text(struct sandbox *s, size_t max, struct buf *out);

/* Put a file into /mnt/data, or all files of a folder into the folder name there. Reads fd to its end, at
 * most data_size bytes; more is ERROR_USAGE with both sizes. Returns the number of bytes, or -1. What was
 * left out of a folder (base/gather.h), and a file that changed meanwhile, is a notice. */
int64_t sandbox_put(struct sandbox *s, const char *name, int fd, struct error *err);
/* The same; of a folder each file that went in is told: its name in the sandbox, and the file, which is
 * closed behind it. */
struct put_ask {
    const char *name;
    int fd;
    void (*file)(void *ctx, const char *name, int fd);
    void *ctx;
};
int64_t sandbox_put_each(struct sandbox *s, const struct put_ask *ask, struct error *err);
/* Copy the file of that name in /mnt/data into fd. Returns the number of bytes, or -1: ERROR_USAGE with code
 * ENOENT (there is none), ERROR_SANDBOX, ERROR_SYSTEM, ERROR_CANCELLED. Nothing is said of what it holds. */
int64_t sandbox_get(struct sandbox *s, const char *name, int fd, struct error *err);
/* The files in /mnt/data and its folders, sorted; the names are scrubbed. Returns how many others there
 * are; -1 with err. */
typedef void sandbox_file_fn(void *ctx, const char *name, int64_t size);
int64_t sandbox_each_file(struct sandbox *s, sandbox_file_fn *fn, void *ctx, struct error *err);
/* A copy of the file of that name is at path already, from an earlier session, and open at fd: if the code
 * makes it again unchanged, it is not written again. */
void sandbox_delivered(struct sandbox *s, const char *name, const char *path, int fd);
/* Append a file profile, made inside: how to read the file, its columns and, if asked, first rows, in about
 * 70 tokens. Untrusted text, at most 4 KiB. */
int sandbox_profile(struct sandbox *s, const char *name, bool rows, struct buf *out, struct error *err);

/* Decode the image ask->fd inside the sandbox: PNG, JPEG, GIF, WebP or BMP,
 * at most data_size bytes. The loop can interrupt it. *out is the caller's to release, and empty on failure:
 * ERROR_SYSTEM (no image, too many pixels, no PIL inside), ERROR_SANDBOX, ERROR_CANCELLED, ERROR_USAGE. */
int sandbox_pixels(struct sandbox *s, const struct pixels_ask *ask, struct pixels *out, struct error *err);

/* The same image as a PNG for a model: at most edge x edge pixels and most bytes, appended to out. The bytes
 * come from the sandbox, and are not looked at. */
struct picture_ask {
    const char *name; /* what errors call it */
    int fd;
    unsigned edge;
    size_t most;
};
int sandbox_picture(struct sandbox *s, const struct picture_ask *ask, struct buf *out, struct error *err);

/* A live copy: all that the interpreter is, with the files in /mnt/data, from which those of other sandboxes
 * go on, each with walls, limits and files of its own. It takes no time to be loaded: memory is shared until
 * somebody changes it. Both calls return 0, or -1 with err: ERROR_SANDBOX with code ENOTSUP where there can
 * be no copy (threads are running, this engine cannot take a descriptor) and the interpreter is as it was;
 * ERROR_CANCELLED; ERROR_SYSTEM.
 *
 * Writes one into fd, a memory file from fd_sealable(), which nobody can change from then on. */
int sandbox_copy_out(struct sandbox *s, int fd, struct error *err);
/* The interpreter is replaced by one that goes on from there. s is to be one that has run nothing yet, of
 * the same engine and image. cells: how many cells had run in the one that was copied. */
int sandbox_copy_in(struct sandbox *s, int fd, unsigned cells, struct error *err);

/* What earlier programs left in a named sandbox: "variables df (DataFrame), n (int); files in /mnt/data:
 * a.csv". One line of untrusted text, about 300 bytes at most; nothing if the sandbox is new or has no
 * name. Does not wait for a start. */
void sandbox_inventory(struct sandbox *s, struct buf *out);
/* Append the variables with their types, the newest first: untrusted text, at most 2000 bytes. */
int sandbox_list_variables(struct sandbox *s, struct buf *out, struct error *err);
/* Append the names in /mnt/data, "a.csv, b.png": untrusted text, at most 2000 bytes and 50 names. */
int sandbox_list_files(struct sandbox *s, struct buf *out, struct error *err);
/* Which of these programs are not there: " node Rscript ", each between blanks. The caller frees. */
int sandbox_look_for(struct sandbox *s, const struct argv *programs, char **lacking, struct error *err);
/* cells that ran in it, including those of earlier programs */
unsigned sandbox_cells(const struct sandbox *s);
bool sandbox_continued(const struct sandbox *s); /* an earlier program started it */

int sandbox_reset(struct sandbox *s, struct error *err); /* a new worker; the files stay */

/* Remove at once what killed programs left, and wait until it is gone. A start does the same in the
 * background. */
void sandbox_gc(struct loop *loop, struct sweep_result *out);

/* Named sandboxes. */
struct sandbox_info {
    const char *name, *engine, *image; /* engine "": it is just being made */
    long holder;                       /* pid of the attached program; 0: none */
    int64_t since;                     /* time(): when it attached, or when the last one left; 0: unknown */
    /* created: time(); idle: seconds the sandbox lives with no program attached */
    int64_t created, idle;
    int64_t memory, memory_used; /* bytes; memory is the limit; -1: cannot be read */
    bool silent;                 /* no program is attached, and the sandbox does not respond */
    const struct mounts *mounts; /* folders of this machine that it sees (mount/mount.h); for the call */
};
void sandbox_list(void (*fn)(void *ctx, const struct sandbox_info *info), void *ctx);
/* End a named sandbox. ERROR_SANDBOX: a program holds it; ERROR_USAGE: there is none of that name. */
int sandbox_remove(const char *name, struct loop *loop, struct error *err);

/* Start the named sandbox "to", which goes on from a live copy of "from": variables, modules, files; with the
 * same engine, limits, idle time and folders. Both live on. o: what else a sandbox needs, engine "auto".
 * ERROR_USAGE: no such name, it has ended, or "to" is taken; ERROR_SANDBOX: a program holds one of them, or
 * there can be no copy (sandbox_copy_out). */
struct sandbox_names {
    const char *from, *to;
};
int sandbox_fork(const struct sandbox_names *names, const struct sandbox_options *o, struct loop *loop,
                 struct error *err);

/* What one engine does on this machine, found out by a real start with these options (o->run.engine must not
 * be "auto") and one cell. */
struct sandbox_check {
    bool works;
    struct error err; /* if it does not work: cause and remedy */
    double seconds;   /* from the start to the first result */
    char python[32];
    /* runtime: the one it was started under, if that is not the engine's default; or NULL */
    char *packages, *runtime;
    bool gvisor; /* runsc is installed, and the engine could use it */
    /* one line each: the limits as the kernel reports them; the weaker ones and why */
    struct argv holds, weaker;
    struct argv mounted; /* a line for each folder of --mount */
    /* Seen from inside, one line each: the walls that stand, and what is open. contained: every wall
     * stands. What a custom engine starts reports on itself here, so this finds mistakes, not malice. */
    struct argv walls, open;
    bool contained;
};
void sandbox_check(const struct sandbox_options *o, struct loop *loop, struct sandbox_check *out);
void sandbox_check_release(struct sandbox_check *c);

/* The argument vector of the i-th command of a start, for --dry-run. 1; 0: there is no such one; -1 with
 * err. */
int sandbox_dry_run(const struct sandbox_options *o, size_t i, struct argv *out, struct error *err);

#endif
