/* private.h - what the files of store share. */
#ifndef STORE_PRIVATE_H
#define STORE_PRIVATE_H

#include "base/buf.h"
#include "store/db.h"
#include "store/store.h"

/* What a turn or question is to the conversation. */
enum saved_state {
    SAVED_LIVE,      /* part of it */
    SAVED_LEFT,      /* no longer part of it (the window was full, /clear), but it was said */
    SAVED_WITHDRAWN, /* taken back (/undo), or it failed without a trace */
};

/* What the row of a cell says of the variables of the cells before it. */
enum lost {
    LOST_NOTHING,
    LOST_BY,     /* they were lost when it ended, and its own with them; also by /reset */
    LOST_BEFORE, /* they were lost before it ran; its own are there */
};

/* A turn as it was saved last. */
struct saved_turn {
    uint64_t serial, version;
    int64_t place;
    size_t length; /* of its text: a shorter one later is for the model alone */
};

/* A conversation of the session, and what is saved of it. */
struct saved_thread {
    struct conversation *c;
    char *agent; /* its role in a pipeline; "": the one that answers */
    struct saved_turn *turns;
    size_t n_turns, alloc;
    uint64_t serial, revision;
    int64_t place; /* the last one given to any turn of it */
};

struct store {
    struct store_options o;                  /* owned */
    struct saved_thread v[STORE_AGENTS_MAX]; /* v[0] is that of the agent that answers */
    size_t n_threads;
    struct loop *loop;
    struct db *db;                      /* NULL: not open yet, or given up */
    bool lost;                          /* given up; the user was told */
    int64_t n;                          /* of the session in the database; 0: it is not there yet */
    int64_t first_question, first_cell; /* how many of them earlier programs counted */
    int64_t question;                   /* number of the present one */
    uint64_t asked;                     /* serial of its turn: older ones are of the question before */
    struct buf text;                    /* of the reply that streams, not written yet */
    struct buf output;                  /* of the cell that runs, likewise */
    int stream;                         /* where that output went */
    int64_t cell;                       /* the cell that runs */
    size_t printed;                     /* how much of its output was saved */
    bool pieces;                        /* there are pieces of a reply in the database */
    bool timer;
    char *model, *service;           /* of the present question */
    char *place;                     /* of the sandbox, as JSON; NULL: none has run yet */
    const struct language *language; /* of the cell that runs */
    bool fresh; /* the next cell is the first in a new sandbox without the variables of before */
};

/* The language of a cell, from its place; "": Python's. The caller frees. */
char *store_language(const char *place);

/* sync.c: save what changed in the conversation since the last time. In the caller's transaction. */
void sync_turns(struct store *s);
/* Did any conversation change since? */
bool sync_needed(const struct store *s);
/* The last turn of the conversation was loaded: it is saved as it is. */
void sync_loaded(struct saved_thread *h, int64_t place, size_t length);
/* The same; turns that are no longer in the conversation get that state. */
void sync_vanished(struct store *s, enum saved_state state);

/* Empty the conversations again. */
void store_forget(struct store *s);

/* load.c: skip is the question to leave out, or -1 */
int load_session(struct store *s, int64_t session, int64_t skip, struct error *err);
/* The number of the session that id (all of it, or how it or its last part begins) means. 0 with err. */
int64_t session_by_id(struct db *db, const char *id, struct error *err);

/* resume.c: everything of session from, but the question that its program is busy with (skip; -1: none),
 * as a session with the id of the options. Files stay where they are. Returns its number. In the caller's
 * transaction. */
int64_t copy_session(struct store *s, int64_t from, int64_t skip);

/* Append what was streamed of a reply that a kill cut off, marked as interrupted. False: there is no such
 * reply. */
bool add_pieces(struct db *db, int64_t session, struct buf *out);

#define TURN_GAP (INT64_C(1) << 40) /* between the places of two turns that follow each other */

#endif
