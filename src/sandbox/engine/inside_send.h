/* inside_send.h - our side of engine/inside.h: the words that start it on another machine, and the
 * beginning of the channel: the program itself, where it is sent along, its greeting, and the supervisor's
 * source. /
 */
#ifndef ENGINE_INSIDE_SEND_H
#define ENGINE_INSIDE_SEND_H

#include <stdbool.h>

struct argv;
struct child;
struct engine_plan;
struct engine_recipe;
struct error;

/* Add the words behind which Python's own words come. nonce: of this start. */
void inside_words(const struct engine_plan *p, const struct engine_recipe *r, const char *nonce,
                  struct argv *out);

struct inside_talk {   /* for inside_begin, which runs in a child of ours, because each step may block */
    int in, out;       /* its stdin, to write to, and its stdout */
    bool sent;         /* the program goes along */
    const char *nonce; /* what the greeting must have */
    const char *first; /* what Python reads first */
};

/* A child_options.body: returns 0 once it has greeted and has all of first; its greeting is then on
 * stdout. */
int inside_begin(void *talk);

struct inside_holds {
    bool memory, pids, cpus; /* enforced on the whole sandbox */
    char walls[16];
};
bool inside_read_greeting(const char *line, const char *nonce, struct inside_holds *out);

bool inside_carried(void); /* does this build carry the program? */

#endif
