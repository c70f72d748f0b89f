/* session_dir.h - the directory of one start below XDG_RUNTIME_DIR: the record of what must be removed, the
 * socket, the seccomp profile.
 *
 *     RUNTIME/sandpiper-PID-START-RANDOM-PIDSPACE/
 *                             what becomes the next, until its record is written, and what it becomes while
 *                             it is removed
 *     RUNTIME/HEX/            0700, ours; the name tells nothing, for the code can read it in
 *                             /proc/self/mountinfo
 *     RUNTIME/HEX/record      owner, engine, container, control groups: for sweep.h
 *     RUNTIME/HEX/hold        locked by whoever is starting the container
 *     RUNTIME/HEX/keep        locked by the keeper (keeper.h): while it is at work nobody else is needed
 *     RUNTIME/HEX/seccomp     the profile
 *     RUNTIME/HEX/in/         0711, bound read-only into the container: its uid may pass, but neither list
 *                             nor create
 *     RUNTIME/HEX/in/s        the socket: 0666 until the supervisor has connected, 0600 from then on
 *
 * Where nothing can be written there, because its disk is full, say, RUNTIME is one of xdg_spare(); whoever
 * looks for what is left looks there too.
 */
#ifndef RECORDS_SESSION_DIR_H
#define RECORDS_SESSION_DIR_H

#include <stdbool.h>
#include <sys/types.h>

struct cgroup;
struct error;

struct session_dir {
    char *path, *in, *profile; /* NULL: not made */
    char id[17];               /* HEX */
    int runtime_errno;         /* why it is in a spare place; 0: it is not */
};

/* ERROR_SANDBOX, cause and remedy, when it can be nowhere. */
int session_dir_make(struct session_dir *d, struct error *err);
void session_dir_remove(struct session_dir *d);

/* A descriptor that holds the directory, or -1 with err: while it is open in any process, ours or one that
 * has inherited it, the directory is needed, even where its owner is dead. Of a plain file, so that nobody
 * can go anywhere from it. */
int session_dir_hold(const struct session_dir *d, struct error *err);
bool session_dir_held(const char *dir);
int session_dir_keep(const struct session_dir *d, struct error *err); /* the same for the keeper */

/* What the reaper needs. */
struct session_record {
    const char *owner;  /* NULL: us */
    bool named;         /* a sandbox with a name, which owns itself */
    bool ending;        /* the owner is the process that removes it (keeper.h) */
    const char *inside; /* the first process inside, as owner.h writes it; NULL: not known */
    const char *engine, *container;
    const struct cgroup *cgroup; /* or NULL */
    unsigned uid;                /* of a container; 0: none of its own */
};
/* Write it. Before the thing is made; again when more is. */
int session_dir_record(const struct session_dir *d, const struct session_record *r, struct error *err);
int session_dir_profile(struct session_dir *d, struct error *err);

/* Has a record here, of whatever lives or is just being removed, a container of this uid? */
bool session_dir_has_uid(unsigned uid);

/* One that is there already, by its id. */
int session_dir_known(struct session_dir *d, const char *id, struct error *err);
void session_dir_leave(struct session_dir *d); /* forget it without removing anything */

/* The listening socket, non-blocking; -1 with err. open_to_all: the supervisor, another uid, is to connect.
 */
int session_dir_listen(const struct session_dir *d, bool open_to_all, struct error *err);
/* Connect to it, as a later program does. -1 with errno. */
int session_dir_connect(const struct session_dir *d);
/* Does the supervisor of that id take note of a visitor within ms? It hangs up on one who says nothing. */
bool session_dir_answers(const char *id, int ms);
/* Take the one connection: -1 when none is there (errno EAGAIN) or the peer is not who it should be. *peer is
 * its pid, 0 unknown. */
int session_dir_accept(const struct session_dir *d, int listener, pid_t *peer);
/* The first byte: 'L' and the listener, or 'N' when listener is -1. */
int session_dir_hand_over(int channel, int listener);

/* What a program that died left: called with each record whose owner is proven dead. The directory is removed
 * when it returns true. */
struct session_left {
    const char *dir, *engine, *container, *inside;
    char *const *cgroups;
    unsigned n;
    bool named; /* it had a name, and has come to its end */
};
typedef bool session_dir_fn(void *ctx, const struct session_left *left);
void session_dir_dead(session_dir_fn *fn, void *ctx);
void session_dir_tidy(void);           /* spare places in which nothing is left go */
unsigned session_dir_ending(void);     /* how many are just being removed, after their programs' end */
bool session_dir_ends(const char *id); /* is this one? */

#endif
