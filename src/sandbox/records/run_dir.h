/* run_dir.h - the directory of one start below XDG_RUNTIME_DIR: the record of what must be removed, the
 * socket, the seccomp profile.
 *
 *     RUNTIME/sandpiper-PID-START-RANDOM-PIDSPACE/
 *                             the name of the next until its record is written, and again while it is removed
 *     RUNTIME/HEX/            0700, ours; the name reveals nothing, because the code can read it in
 *                             /proc/self/mountinfo
 *     RUNTIME/HEX/record      what is known of the sandbox (record.h)
 *     RUNTIME/HEX/hold        locked by the process that is starting the container
 *     RUNTIME/HEX/keep        locked by the keeper (keeper.h): while it works, nobody else need act
 *     RUNTIME/HEX/seccomp     the profile
 *     RUNTIME/HEX/in/         0711, bound read-only into the container, whose uid can pass through it but can
 *                             neither list nor create files
 *     RUNTIME/HEX/in/s        the socket: 0666 until the supervisor has connected, 0600 from then on
 *
 * If nothing can be written there, for example because the disk is full, RUNTIME is one of xdg_spare(). A
 * sweep looks there as well, and in those of every other RUNTIME, which may be gone.
 */
#ifndef RECORDS_RUN_DIR_H
#define RECORDS_RUN_DIR_H

#include <stdbool.h>
#include <sys/types.h>

struct error;
struct record;

struct run_dir {
    char *path, *in, *profile; /* NULL: not made */
    char id[17];               /* HEX */
    int runtime_errno;         /* why it is in a spare place; 0: it is not in one */
};

/* ERROR_SANDBOX, with cause and remedy, when it cannot be made anywhere. */
int run_dir_make(struct run_dir *d, struct error *err);
void run_dir_remove(struct run_dir *d);

/* A descriptor that holds the directory, or -1 with err. While it is open in any process, ours or one that
 * inherited it, the directory is needed, even if its owner is dead. It is a plain file, so that it gives
 * nobody access to any directory. */
int run_dir_hold(const struct run_dir *d, struct error *err);
bool run_dir_held(const char *dir);                           /* also if that cannot be seen */
int run_dir_keep(const struct run_dir *d, struct error *err); /* the same for the keeper */

int run_dir_profile(struct run_dir *d, struct error *err);

/* Does any record here, of a sandbox that is alive or just being removed, name a container with this uid? */
bool run_dir_has_uid(unsigned uid);

bool run_dir_id(const char *name); /* is it one that a directory of ours could have? */
/* Is it one that we give to a container, which is "sandpiper-" and that id? name may be NULL. */
bool run_dir_container(const char *name);
/* Refer to an existing directory, by its id. */
int run_dir_find(struct run_dir *d, const char *id, struct error *err);
void run_dir_release(struct run_dir *d); /* forget it without removing anything */

/* The listening socket, non-blocking; -1 with err. open_to_all: the supervisor, which has another uid,
 * must be able to connect. */
int run_dir_listen(const struct run_dir *d, bool open_to_all, struct error *err);
/* Connect to it, as a later program does. -1 with errno. */
int run_dir_connect(const struct run_dir *d);
/* Has the supervisor with that id not responded to a connection within ms? It hangs up on a visitor that
 * sends nothing. False also when we could not ask. */
bool run_dir_silent(const char *id, int ms);
/* Accept the one connection. -1 when there is none (errno EAGAIN) or when the peer is not the one expected.
 * *peer is its pid; 0: unknown. */
int run_dir_accept(const struct run_dir *d, int listener, pid_t *peer);
/* Send the first byte: 'L' with the listener, or 'N' when listener is -1. */
int run_dir_hand_over(int channel, int listener);

/* What a dead program left. The function is called with each record whose owner is proven dead; the
 * directory is removed if it returns true. */
typedef bool run_dir_fn(void *ctx, const struct record *left);
void run_dir_dead(run_dir_fn *fn, void *ctx);
unsigned run_dir_ending(void);          /* how many are just being removed after their program's end */
bool run_dir_is_ending(const char *id); /* is this one of them? */

#endif
