/* inside.h - our part on another machine ("sandpiper inside"): sets limits and filter there, then starts
 * bwrap, or Apptainer where there is no bwrap, with its own stdin and stdout as the channel.
 *
 *     VERSION key=value... -- PYTHON'S WORDS
 *
 * The keys are those of inside_keys(). Before Python starts, one line is written to stdout, the greeting:
 *
 *     sandpiper-inside NONCE WALLS HELD
 *
 * NONCE is the value of nonce=, WALLS is bwrap or apptainer, HELD the limits that are enforced on the
 * whole sandbox ("memory,pids,cpus"), or "-". What fails is said on stderr, in a line that begins with
 * INSIDE_FAILED.
 *
 * It needs nothing but libc, so it also exists as a program of its own (engine/make/inside_main.c), which
 * is carried in ours and sent along where no sandpiper is installed (inside_send.c). /
 */
#ifndef ENGINE_INSIDE_H
#define ENGINE_INSIDE_H

#include <stdbool.h>
#include <stddef.h>

struct argv;
struct engine_options;

#define INSIDE_GREETING "sandpiper-inside "
#define INSIDE_FAILED   "sandpiper inside: "
#define INSIDE_REMEDY   " -- " /* between what was wrong and what to do, in its line */
#define INSIDE_NONCE    17     /* bytes with the NUL */

/* words end with NULL and begin with VERSION. Returns the exit code: that of the walls, or 3 if they could
 * not be built, or 2 if words are not what this version understands. */
int inside_run(char *const *words, const char *version);

/* Add VERSION and the keys for these options, without any character that is special to a shell. walls:
 * "auto", "bwrap" or "apptainer"; image: for Apptainer, or NULL. */
void inside_keys(const struct engine_options *o, const char *version, const char *nonce, const char *walls,
                 const char *image, struct argv *out);

#endif
