/* calls.h - turns what a service or a model wrote into calls that can be run or refused: names, arguments,
 * code, and JSON that a model wrote into its text. A call is never guessed: whatever is
 * cut off or broken becomes a problem text for the model.
 */
#ifndef CALLS_CALLS_H
#define CALLS_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#include "calls/call_deltas.h"
#include "calls/tool.h"
#include "conversation/conversation.h"

#define CALL_ARGS_MAX (1u << 20)
#define CALLS_BYTES   (4u << 20) /* of all calls of one reply, since each of them stays in the history */

struct llm_call {
    struct call call; /* normalised for the history */
    /* NULL: run it. Otherwise what to tell the model instead (not JSON, cut off, unknown tool, no code). */
    char *problem;
    /* as the model wrote them, NULL for a block; only for reports, since they are untrusted and may not be
     * JSON */
    char *sent_name, *sent_arguments;
};

/* The calls of one reply, in order. To begin, set .tools and zero the rest. Each call has its own id. */
struct calls {
    const struct llm_toolset *tools; /* what may be called; borrowed */
    struct llm_call *v;
    size_t n, alloc;
};

void calls_release(struct calls *c);
void calls_drop(struct calls *c, size_t keep); /* Drops all calls but the first keep. */
/* Appends all calls of from to those of to, and leaves from empty. Returns how many there were. */
int calls_move(struct calls *to, struct calls *from);

/* Call this at the end of a whole reply. cut: the token limit ended it, so the last call may be
 * incomplete. */
void calls_from_deltas(struct calls *c, const struct call_deltas *deltas, bool cut);
/* Adds a block of code as a call of the tool that takes code; does nothing when no tool does. problem NULL:
 * it may run. */
void calls_from_code(struct calls *c, const char *code, size_t len, const char *problem);

/* The next three return how many calls they added; 0: the text is not a call of a known tool. */
/* Reads JSON in the text: an object, a list of objects, or {"tool_calls": [...]}. What is clearly meant as a
 * call but is not JSON is added as a problem. */
int calls_from_text(struct calls *c, const char *text, size_t len);
/* Reads arguments as JSON text for the named tool. */
int calls_from_named(struct calls *c, const char *name, const char *args, size_t len);
/* Reads a text that consists of harmony's "...to=functions.NAME ... {arguments}", once or more often. */
int calls_from_harmony(struct calls *c, const char *text, size_t len);

#endif
