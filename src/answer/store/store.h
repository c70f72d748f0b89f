/* store.h - saves one session as it happens: a listener of events, and of what they did to the
 * conversation.
 *
 * Nothing is opened or written before the first question. Every message is one transaction, written before
 * any other listener is told that it is complete; text that streams follows at most STORE_PIECE_MS later.
 * Killed at any moment, the program loses that much; a power cut may lose what the kernel had not written
 * yet (the log is not synced at each step), never what is older. Whatever fails costs one line and the
 * saving, never the answer. Keys are never seen here, so they are never stored. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conversation/event.h"

struct conversation;
struct db;
struct error;
struct loop;
struct store;

#define STORE_PIECE_MS   200
#define STORE_OUTPUT_MAX ((size_t)1 << 20) /* bytes that are saved of what one cell prints */

/* The strings are copied. */
struct store_options {
    const char *place;   /* folder of the database */
    const char *id;      /* of the session */
    const char *folder;  /* where the user is: -c goes by it */
    const char *sandbox; /* name of the named sandbox, or NULL */
    const char *writer;  /* identifies this program (records/owner.h) */
    bool read_only;      /* save nothing; only for store_resume() */
    /* one line for the user; may be NULL */
    void (*notice)(void *ctx, const char *line);
    void *ctx;
};

#define STORE_AGENTS_MAX 8 /* conversations of one session */

/* The conversation and the loop are borrowed. */
struct store *store_new(const struct store_options *o, struct conversation *c, struct loop *loop);
/* Before the first event and store_resume(): an agent of a pipeline that is asked before the one that
 * answers, by its role, and its conversation, which is borrowed. */
void store_agent(struct store *s, const char *agent, struct conversation *c);
void store_event(struct store *s, const struct event *e);
void store_free(struct store *s);

/* A saved session as -c and -r find it. Release it with store_found_release(). */
struct store_found {
    char *id, *title, *folder, *sandbox;
    char *writer; /* who writes to it at present; NULL: nobody. It may be dead: check */
    int64_t used; /* seconds since the epoch */
    int64_t questions, cells;
    /* the last question, its answer, and the code that ran for it; or NULL */
    char *question, *answer, *code;
    char *lock; /* of the packages that its code had (packages/packages.h); or NULL */
};
/* The last session of folder (id NULL), or the one whose id, or the last part of it, begins with id. -1
 * with err (ERROR_USAGE): there is none, or there are several. */
int store_find(const char *place, const char *id, const char *folder, struct store_found *f,
               struct error *err);
void store_found_release(struct store_found *f);

/* Before the first event: load that session into the empty conversation, and go on with it. If it is not
 * the session of the options, a copy of it is made under their id. What was cut off by a kill ends in
 * [interrupted]. -1 with err; the conversation is then empty. */
int store_resume(struct store *s, const struct store_found *from, struct error *err);

/* Between two questions: go on with a copy of the session, under that id and title (NULL: that of the
 * session and "(fork)"). The session stays as it is and is nobody's; what follows is saved with the copy.
 * -1 with err: nothing was changed. */
int store_fork(struct store *s, const char *id, const char *title, struct error *err);

/* What has to run again for the variables of a continued session, in order, with the files of then. */
struct store_rerun {
    struct rerun_cell {
        char *code, *language; /* "": Python */
        bool worked;           /* then */
    } * cells;
    size_t n_cells;
    struct rerun_file {
        char *name, *path; /* path "": it has no place of the user's */
        char *kept;        /* our copy of it; or NULL */
        int64_t size;      /* then */
        int64_t modified;  /* then, in microseconds since the epoch; 0: unknown */
        bool added;        /* by the user, else made by code */
    } * put, *made;        /* to be put into the sandbox first; what code made, in its last form */
    size_t n_put, n_made;
};
void store_rerun(struct store *s, struct store_rerun *again);
void store_rerun_release(struct store_rerun *again);

/* The last question was taken out of the conversation (conversation_undo): it is withdrawn here as well. */
void store_undone(struct store *s);
/* The next cell finds none of the variables that the cells so far have made: it runs in a new sandbox. */
void store_fresh(struct store *s);
void store_rename(struct store *s, const char *title);
/* For the commands on sessions in the chat; NULL while nothing was saved. */
struct db *store_db(struct store *s);
bool store_lost(const struct store *s); /* it was given up: nothing more is saved */

#endif
