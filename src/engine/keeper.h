/* keeper.h - the keeper: a process beside each start that waits for the program's end, however
 * that comes about, and then ends what the program has started and removes it (attempt_end_as_keeper). It is
 * a fork of the program, made when the engine's client runs: a session of its own, none of our
 * descriptors but the client's pipes, deaf to what ends programs from outside. A pipe whose writing end
 * only the program has tells it that the program is gone; words over that pipe, what it learnt since.
 * So a program that is killed is cleaned up after like one that ends by itself.
 */
#ifndef ENGINE_KEEPER_H
#define ENGINE_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

struct attempt;

struct keeper {
    pid_t pid; /* 0: none */
    int pipe;
};

bool keeper_start(struct attempt *a);      /* false: none could be made */
void keeper_tell(const struct attempt *a); /* who is inside, and whether there is anything at all */
/* Nothing is left, or it lives on: the keeper has nothing to do and goes. */
void keeper_dismiss(struct attempt *a, int wait_ms);
/* It does the rest from now on, though we are still here. Its pid, or 0: there is none. */
pid_t keeper_take_over(struct attempt *a);

#endif
