/* private.h - struct sandbox for the files that make up its facade: sandbox.c (life), run.c (cells),
 * transfer.c (what is asked beside cells). */
#ifndef SANDBOX_PRIVATE_H
#define SANDBOX_PRIVATE_H

#include "base/error.h"
#include "engine/engine.h"
#include "sandbox/channel.h"
#include "sandbox/ledger.h"
#include "records/registry.h"
#include "sandbox/output.h"
#include "sandbox/sandbox.h"

enum stage {
    STAGE_NONE,     /* nothing runs; a start is wanted before the next request */
    STAGE_STARTING, /* the engine is at it */
    STAGE_HELLO,    /* the channel is up; the supervisor has not spoken yet */
    STAGE_READY,
    STAGE_BROKEN, /* it was ready and is gone; the engine's remains are not cleared away yet */
    STAGE_FAILED, /* no engine could start; error says why */
};

#define LOST_NAMED 10

struct lost_file {
    /* 'm' over max_file, 't' over what is copied after one cell, 'c' too many, 'q' over max_files_total */
    char why;
    unsigned long long size; /* 'c': how many files, of which name is the first */
    char *name;              /* one clean line */
};

/* One request to the supervisor: from its first frame to 'Z'. Embedded in what knows the kind of request. */
struct request {
    /* set before request_begin(): its name in an error; how long it may go without a sign of life, 0: the
     * usual time */
    const char *what;
    int idle_ms;
    unsigned char nonce[NONCE_SIZE];
    bool done;
    int64_t progress_at; /* ms; when its last frame came, or the channel last took something of ours */
    size_t pending;      /* bytes that the channel had not taken then */
    /* frames but Z; NULL: none are allowed */
    const char *(*frame)(struct request *q, const struct frame *f);
    /* from Z */
    char *error, *text;
    /* of the worker, when it died in this request; else -1 */
    int64_t wait_status;
    bool sigint_sent, closed, files_cut;
    /* ... and a snapshot from before the cell has taken its place, and before so many others */
    bool restored;
    unsigned behind;
    char *unkept;             /* why none has */
    int64_t snapshots_killed; /* by others than the supervisor */
    int64_t micros;
    struct lost_file lost[LOST_NAMED]; /* files that were not copied out */
    size_t n_lost;
    int64_t lost_unnamed; /* ... and so many more */
};

struct sandbox {
    struct sandbox_options o;
    char *strings[6]; /* engine, image, session_dir, out_dir, runtime, name of o */
    struct loop *loop;
    char *guest;
    enum stage stage;
    struct error error;
    struct engine_run *run;
    struct channel *channel;
    char engine[32], python[32];
    char *image;
    char *packages;
    struct request *request;     /* the one under way */
    int answer_ms;               /* how long one may go without a sign of life; tests shorten it */
    struct registry_hold hold;   /* o.name, once it is ours */
    bool kept;                   /* recorded: it lives on when we go */
    bool taken;                  /* it ran before us */
    char *keeps;                 /* to be told: options that no longer count; or NULL */
    bool told_named;             /* the user knows whether it is new */
    bool reaped;                 /* what killed programs left was looked for */
    bool touched;                /* a cell ran: there is state to lose */
    bool has_files;              /* ... and files */
    bool lost_state, lost_files; /* to be told with the next cell */
    bool revived;                /* the interpreter died between cells, a snapshot goes on: the same */
    unsigned behind;             /* ... which lacks what so many finished cells did */
    char lost_why[200];
    char broken_why[200];
    unsigned cells;
    uint64_t disk;        /* bytes of output on disk, this session */
    struct ledger ledger; /* files that were delivered, this session */
    int64_t memory_kills; /* as last read */
    struct output output; /* of the last cell */
    char *last_value;     /* and its value */
    char *output_dir;
};

void request_begin(struct sandbox *s, struct request *q,
                   const char *(*frame)(struct request *, const struct frame *));
/* also when it is not done: it is then forgotten */
void request_end(struct sandbox *s, struct request *q);

/* The supervisor is gone or cannot be trusted: end the container. What that loses is told with the next cell.
 */
void sandbox_break(struct sandbox *s, const char *why);

/* "before this cell and the 2 cells before it": where a snapshot is from that behind finished cells are not
 * in. The caller frees. */
char *sandbox_snapshot_age(unsigned behind, const char *cell);
/* The interpreter died in q, when no cell ran: the next cell tells. when: "after the last cell had ended" */
void sandbox_note_death(struct sandbox *s, const struct request *q, const char *when);

/* transfer.c: run a piece of our own Python in a process beside the interpreter, as sandbox_profile() does.
 * source defines profile(path) -> str, of which out gets at most 4 KiB of untrusted text; path is that of
 * name in /mnt/data, and name is what an error calls it. */
struct helper {
    const char *name, *source;
};
int sandbox_help(struct sandbox *s, const struct helper *h, struct buf *out, struct error *err);

/* walls.c: look from inside at what stands between the code and the machine: into c; with limits, which of
 * those are held as well. */
void sandbox_see_walls(struct sandbox *s, const struct sandbox_options *limits, struct sandbox_check *c);

/* sandbox_named.c. What the greeting says beyond the usual when another program was here before. */
struct earlier {
    unsigned cells;
    /* its last cell was cut short; the interpreter ended after it had gone */
    bool unfinished, died;
    bool restored;   /* ... and a snapshot from before that went on */
    unsigned behind; /* ... and from before so many finished cells */
};
/* Is there one of that name? True: connected, the greeting is awaited; or STAGE_FAILED. False: a fresh one is
 * to be started. */
bool named_begin(struct sandbox *s);
void named_greeted(struct sandbox *s, const struct earlier *e); /* either kind is up */
/* the one that runs is not to be had */
void named_refused(struct sandbox *s, const char *why);
/* it says nothing at all: it is ended, and a new one starts */
void named_silent(struct sandbox *s);
/* sandbox.c: there is a channel; await the greeting */
void sandbox_opened(struct sandbox *s);

#endif
