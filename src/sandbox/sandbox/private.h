/* private.h - struct sandbox, for the files that implement sandbox.h: sandbox.c (start to end), incoming.c
 * (what the supervisor says), run.c (cells), transfer.c (requests other than cells), sandbox_claim.c,
 * sandbox_named.c and sandbox_list.c (names). */
#ifndef SANDBOX_PRIVATE_H
#define SANDBOX_PRIVATE_H

#include "base/error.h"
#include "conversation/phase.h"
#include "engine/engine.h"
#include "mount/mount.h"
#include "channel/channel.h"
#include "sandbox/ledger.h"
#include "sandbox/sandbox_network.h"
#include "records/registry.h"
#include "sandbox/output.h"
#include "sandbox/put_back.h"
#include "sandbox/sandbox.h"

enum stage {
    STAGE_NONE,     /* nothing runs; the next request must start it */
    STAGE_STARTING, /* the engine is starting it */
    STAGE_HELLO,    /* the channel is open; the supervisor has sent nothing yet */
    STAGE_READY,
    STAGE_BROKEN, /* it was ready and is gone; what the engine left is not removed yet */
    STAGE_FAILED, /* no engine could start; error says why */
};

#define LOST_NAMED 10

/* For a pipe; a fresh worker assumes the same until it is told. */
#define SANDBOX_TERMINAL_NONE ((struct sandbox_terminal){.columns = 80, .background = -1})

struct lost_file {
    /* 'm': larger than max_file; 't': beyond what is copied after one cell; 'f': files fill the
     * memory; 'c': too many; 'q': beyond max_files_total */
    char why;
    unsigned long long size; /* bytes; for 'c' the number of files, of which name is the first */
    char *name;              /* one line without control characters */
};

/* One request to the supervisor, from its first frame to 'Z'. Embedded in a struct for each kind of
 * request. */
struct request {
    /* Set before request_begin(): what it is called in an error; how many ms it may go without a sign of life
     * (0: the usual time); what handles every frame except 'Z' (NULL: no other frame is allowed); and,
     * should the worker die meanwhile, how the next cell says when that was ("while a file was copied"; NULL:
     * this is a cell, which tells of it itself). */
    const char *what;
    int idle_ms;
    const char *(*frame)(struct request *q, const struct frame *f);
    const char *when;
    struct sandbox *sandbox;
    unsigned char nonce[NONCE_SIZE];
    bool done;
    int64_t progress_at; /* ms; when its last frame arrived, or the channel last accepted bytes of ours */
    size_t pending;      /* bytes that the channel had not accepted at that time */
    /* from the 'Z' frame */
    char *error, *text;
    int error_code; /* errno inside, where error is one; 0: not told */
    /* of the worker, if it died during this request; otherwise -1 */
    int64_t wait_status;
    bool began_anew; /* the interpreter of another language was started again for this cell */
    bool sigint_sent, closed, files_cut;
    /* it died, and a snapshot from before this cell was restored, which lacks "behind" more cells */
    bool restored;
    unsigned behind;
    char *unkept;                      /* why no snapshot could be restored */
    int64_t snapshots_killed;          /* snapshots killed by something other than the supervisor */
    struct lost_file lost[LOST_NAMED]; /* files that were not copied out */
    size_t n_lost;
    int64_t lost_unnamed; /* how many more were lost than the array holds */
};

/* What is being copied, for the status line. */
struct copy_progress {
    int64_t done, total; /* bytes; total 0: unknown */
    int64_t told;        /* clock_ms() */
};

struct sandbox {
    struct sandbox_options o;
    const struct put_ask *each; /* while its file or folder is copied; or NULL */
    struct argv words;          /* more arguments of the supervisor */
    char *strings[8];           /* copies of o's engine, image, session_dir, out_dir, runtime, name, with,
                                 * with_lock */
    struct loop *loop;
    char *guest;
    enum stage stage;
    struct error error;
    struct engine_run *run;
    struct channel *channel;
    char engine[32], python[32];
    char *image;
    char *packages, *packages_told; /* told: with those of --with */
    struct request *request;        /* the one under way */
    int answer_ms;                  /* ms that a request may go without a sign of life; tests shorten it */
    struct network *network;        /* NULL: none */
    struct registry_hold hold;      /* the hold on o.name */
    bool discard;                   /* it does not outlive us, although it has a name */
    bool keep_later;                /* named_keep() is called when it is what it is to be */
    bool kept;                      /* the registry has its record: it outlives this program */
    bool taken;                     /* it ran before this program */
    char *kept_limits;              /* a notice, still to be shown, of options that have no effect; or NULL */
    struct mounts
        known_mounts; /* of the existing sandbox of that name, in o.run.mounts unless it was asked for */
    struct mount known_packages;  /* likewise, of --with; path NULL: it has none */
    struct argv with;             /* folders of packages to be sent, as they were added */
    size_t with_sent;             /* how many of them are in the present sandbox */
    bool with_busy, with_mounted; /* mounted: it has a folder at MOUNT_PACKAGES */
    bool told_named;              /* the user was told whether the sandbox is new */
    bool start_held, start_due;   /* sandbox_hold_start(); due: and it was asked for meanwhile */
    bool swept;                   /* the sweep was begun */
    bool touched;                 /* a cell ran, so there is state to lose */
    bool has_files;               /* likewise, there may be files */
    struct copy_progress copying;
    struct put_back put_back;
    bool lost_state, lost_files; /* to be reported with the next cell */
    /* also to be reported: the worker died between cells, and a snapshot was restored */
    bool restored;
    unsigned behind; /* how many finished cells that snapshot lacks */
    char lost_why[200];
    char broken_why[200];
    unsigned cells;
    struct ledger ledger; /* what this session has written to this machine: files, and output */
    int64_t memory_kills; /* the number when last read */
    /* what the supervisor was told of it; columns 0: an earlier program may have told it anything */
    struct sandbox_terminal terminal;
    struct output output; /* of the last cell */
    char *last_value;     /* the value of the last cell */
    char *output_dir;
    process_event_fn *process_fn; /* NULL: nobody listens */
    void *process_ctx;
};

void request_begin(struct sandbox *s, struct request *q);
/* Also ends a request that is not done; it is then forgotten. Nothing happens if it was not begun. */
void request_end(struct request *q);

/* The supervisor is gone or cannot be trusted: end the sandbox. The next cell reports what was lost. */
void sandbox_break(struct sandbox *s, const char *why);

void sandbox_tell_phase(const struct sandbox *s, enum phase phase);
/* So many more bytes of s->copying are copied. Told from 20 MB on, ten times a second. */
void sandbox_tell_copied(struct sandbox *s, enum phase phase, size_t bytes);

/* transfer.c */
/* The supervisor accepting our bytes is a sign of life, just like a frame from it. */
void request_progress(struct request *q);
/* Wait for the end of q. Ctrl-C, or idle_ms without a sign of life, asks the supervisor to stop, for which
 * it has GRACE_MS. 0, or -1 with err. */
int request_finish(struct request *q, struct error *err);

/* transfer.c: begin it, send f and wait for its end. The caller then reads q and ends it. */
int request_ask(struct sandbox *s, struct request *q, struct frame_out f, struct error *err);

/* put_file.c */
/* A file of a package, "ID/PATH". */
int sandbox_put_package(struct sandbox *s, const char *name, int fd, struct error *err);
/* sandbox_with.c: the hello has come. -1: s->error, what is mounted is not what was opened. */
int with_greeted(struct sandbox *s, const struct argv *mounted);
void with_tell(struct sandbox *s);                 /* tell the supervisor where packages are */
void with_compare_python(const struct sandbox *s); /* tell the user of packages for another Python */
/* It is ready: send what could not be mounted. */
int with_send(struct sandbox *s, struct error *err);
/* A name, or a path of names below /mnt/data. */
int sandbox_check_name(const char *name, struct error *err);
/* put_file.c and put_folder.c: sandbox_put() of what is a file, or a folder. */
int64_t sandbox_put_file(struct sandbox *s, const char *name, int fd, struct error *err);
int64_t sandbox_put_folder(struct sandbox *s, const char *name, int fd, struct error *err);

/* "this code and the 2 runs before it": the age of a snapshot that lacks the work of behind
 * finished cells. The caller frees. */
char *sandbox_snapshot_age(unsigned behind, const char *cell);
/* The worker died in q while no cell ran; the next cell reports it. when: "after the last code had ended". */
void sandbox_note_death(struct sandbox *s, const struct request *q, const char *when);

/* beside.c: a frame of theirs: NULL, or what is wrong with it; and there are none any more. */
const char *processes_frame(struct sandbox *s, const struct frame *f);
void processes_lost(struct sandbox *s);

/* incoming.c, for the channel: take a frame. NULL, or why it ends the connection. */
const char *sandbox_frame(void *ctx, const struct frame *f);

/* What the kernel has killed for memory by now was ours: the next cell has no part in it. */
void sandbox_count_kills(struct sandbox *s);

/* transfer.c: run our own Python in a process beside the worker, as sandbox_profile() does. module is one
 * of channel/guest.h; out gets at most 4 KiB of its result, as untrusted text. path is that of name in
 * /mnt/data, and errors refer to it as name. */
struct helper {
    const char *name;
    unsigned char flags; /* EXAMINE_... of channel/frame.h */
    const struct buf *module;
};
int sandbox_help(struct sandbox *s, const struct helper *h, struct buf *out, struct error *err);

/* check_inside.c: look from inside at what stands between the code and the machine, and record it in c; if
 * limits is not NULL, also which of those are enforced. */
void check_inside(struct sandbox *s, const struct sandbox_options *limits, struct sandbox_check *c);

/* sandbox_named.c. What the hello says in addition when another program was attached before. */
struct earlier_program {
    unsigned cells;
    /* unfinished: its last cell was cut short; died: the worker ended after that program had gone */
    bool unfinished, died;
    bool restored;   /* a snapshot from before that was restored */
    unsigned behind; /* how many finished cells that snapshot lacks */
};
/* Does the sandbox of that name exist? True: connected, and the hello is awaited, or else STAGE_FAILED.
 * False: a new one must be started. */
bool named_begin(struct sandbox *s);
/* sandbox_mounts.c */
/* Tell what code cannot do with the folders, since it runs under a uid of its own. mounted: see mount.h. */
void sandbox_tell_lacking(const struct sandbox *s, const struct argv *mounted);
/* Does it have the folders that are asked for, if any are? Fills s->known_mounts. -1: ERROR_SANDBOX. */
int named_check_mounts(struct sandbox *s, const struct record *r, struct error *err);
/* A new one is started in its place: it has the folders that were asked for here alone. */
void named_drop_mounts(struct sandbox *s);
/* the hello has come, from a new sandbox or an existing one */
void named_greeted(struct sandbox *s, const struct earlier_program *e);
/* From now on it outlives us; where that cannot be the user is told, and s->kept stays false. */
void named_keep(struct sandbox *s);
/* The existing sandbox cannot be used. */
void named_refused(struct sandbox *s, const char *why);
/* The existing sandbox does not respond: end it and start a new one. */
void named_silent(struct sandbox *s);
/* sandbox_list.c. Errors: what has the name cannot be looked at (errno says why), so nothing is done to it,
 * for it may be alive; it could not be removed. */
int named_tell_unseen(const char *name, struct error *err);
int named_tell_left(const struct record *r, const char *name, struct error *err);
/* sandbox.c: the channel is open; await the hello. */
void sandbox_opened(struct sandbox *s);

#endif
