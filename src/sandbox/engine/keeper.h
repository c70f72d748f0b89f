/* keeper.h - the keeper is a process beside each start. It waits for the program to end, in whatever way,
 * then ends what the program started and removes it (attempt_end_as_keeper). It is a fork of the program,
 * made once the engine's client runs. It has a session of its own, keeps none of our descriptors except the
 * client's pipes, and ignores the signals that usually end programs. Only the program holds the writing end
 * of a pipe to it: messages over that pipe tell the keeper what the program has learnt since the fork, and
 * its closing tells that the program is gone. So a killed program is cleaned up after like one that exits by
 * itself.
 */
#ifndef ENGINE_KEEPER_H
#define ENGINE_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

struct attempt;
struct child;

struct keeper {
    struct child *process; /* NULL: none */
    int pipe;
};

/* What it does first, with its stdin and stdout, unless it hears from the program before there is anything to
 * read. */
struct keeper_first {
    void (*act)(struct attempt *a);
    int in, out;
};

/* False: it could not be started. A later call replaces it by one that knows what was started since. */
bool keeper_start(struct attempt *a);
bool keeper_start_with(struct attempt *a, const struct keeper_first *first);
/* which process is the first inside, and whether anything was created at all */
void keeper_tell(const struct attempt *a);
/* Nothing is left, or the sandbox lives on: the keeper has nothing to do and exits. */
void keeper_dismiss(struct attempt *a, int wait_ms);
/* The keeper does the rest from now on, although this program still runs. Returns its pid, or 0 if there
 * is none. */
pid_t keeper_take_over(struct attempt *a);

#endif
