/* saved.h - a question or a chat and the store of sessions: which session goes on, what of it is saved, and
 * how its variables and files come back. What it points at is borrowed, except for from
 * and store, which saved_release() frees. */
#ifndef SAVED_SAVED_H
#define SAVED_SAVED_H

#include <stddef.h>
#include <stdint.h>

#include "conversation/event.h"
#include "saved/session.h"

struct agent;
struct agents;
struct conversation;
struct db;
struct loop;
struct sandbox;
struct store;
struct store_found;

#define KEPT_COPIES_MAX 8
/* The sessions between which a chat goes to and fro (/fork, /resume), the oldest first. */
struct kept_copies {
    struct kept_copy {
        char id[40];
        int fd; /* the live copy of its interpreter; -1: none */
        unsigned cells;
        int64_t questions, ran; /* its length then, to see whether another program went on with it */
    } v[KEPT_COPIES_MAX];
    size_t n;
};

struct saved {
    struct config *config;
    struct loop *loop;
    struct session *session;
    struct conversation *conversation;
    void (*notice)(void *ctx, enum notice_level level, const char *line);
    void *ctx;
    struct store_found *from; /* the session that is continued; NULL: a new one */
    struct store *store;      /* NULL: nothing is saved */
    bool chat;                /* not a question or a script of them */
    bool named;               /* the name of the sandbox is that of the session */
    struct agents *agents;    /* those of a pipeline before the one that answers; or NULL */
    struct sandbox *sandbox;
    struct kept_copies *copies;
    uint64_t kept; /* bytes of the user's files that were copied into the session's folder */
};

char *saved_place(void); /* the folder of the database; NULL: there is no home. The caller frees */
bool saved_busy(const char *writer); /* does another program write to that session? */
/* What -c or -r mean, if they were given. It may set the name of the sandbox in config. */
int saved_find(struct saved *s, struct error *err);
/* Open the session, which is that of before where one is continued, and its store. */
int saved_open(struct saved *s, struct error *err);
/* Tell the user and the model that a session continues, and bring its variables back, where that is wanted.
 * -1: it was interrupted. */
int saved_continue(struct saved *s, struct sandbox *sandbox, struct agent *agent, struct error *err);
void saved_release(struct saved *s);
/* saved_copies.c: the chat is about to leave its session. If that is a branch, keep its interpreter, or tell
 * the user why it cannot be kept. -1: interrupted. */
int saved_leave(struct saved *s, struct error *err);
void saved_copies_release(struct kept_copies *all);
/* saved_data.c: save an event, and a copy of the user's file that it is about, if that is not too large. */
void saved_event(struct saved *s, const struct event *e);

/* saved_fork.c: the database with this session in it; NULL with err: it is not saved. */
struct db *saved_db(const struct saved *s, struct error *err);
/* Go on with a copy of the session, under a new id and with a folder of its own; title "":
 * that of the session and "(fork)". *title is then that of the copy, *was the short id of the session; the
 * caller frees both. The interpreter goes with the copy; that of the session is kept (saved_leave). -1 with
 * err: nothing was changed. */
int saved_fork(struct saved *s, const char *wanted, char **title, char **was, struct error *err);

#endif
