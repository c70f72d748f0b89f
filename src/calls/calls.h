/* calls.h - from what a service or a model wrote to calls that can be run or refused: names, arguments,
 * code (WIRE 5.7 to 5.11), and JSON that a model wrote into its text. A call is never guessed: what is cut
 * or broken becomes a problem text for the model.
 */
#ifndef CALLS_CALLS_H
#define CALLS_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#include "calls/call_deltas.h"
#include "calls/tool.h"
#include "chat/conversation.h"

#define CALL_ARGS_MAX (1u << 20)
#define CALLS_BYTES   (4u << 20) /* of all calls of one reply: each of them stays in the history */

struct llm_call {
    struct call call; /* normalised for the history */
    /* NULL: run it. Else what to tell the model instead (no JSON, cut off, unknown tool, no code) */
    char *problem;
    /* as written; NULL for a block. For reports only: they are untrusted and may be no JSON */
    char *sent_name, *sent_arguments;
};

/* The calls of one reply, in order; made with .tools alone. Each has an id of its own. */
struct calls {
    const struct llm_toolset *tools; /* what may be called; borrowed */
    struct llm_call *v;
    size_t n, alloc;
};

void calls_release(struct calls *c);
void calls_drop(struct calls *c, size_t keep); /* those behind the first so many */
/* All of from go behind those of to; from is empty after it. Their number. */
int calls_move(struct calls *to, struct calls *from);

/* At the end of a whole reply. cut: it ended by the token limit, so the last call may be incomplete. */
void calls_from_deltas(struct calls *c, const struct call_deltas *deltas, bool cut);
/* A block of code as a call of the tool that takes code; nothing, where none does. problem NULL: it may
 * run. */
void calls_from_code(struct calls *c, const char *code, size_t len, const char *problem);

/* The next three give the number of calls that were added; 0: it is no call of a known tool. */
/* JSON that stands in the text: an object, a list of such, or {"tool_calls": [...]}. What plainly is meant
 * as a call and is no JSON is added as a problem. */
int calls_from_text(struct calls *c, const char *text, size_t len);
/* Arguments as JSON text for a tool that was named. */
int calls_from_named(struct calls *c, const char *name, const char *args, size_t len);
/* Harmony's "...to=functions.NAME ... {arguments}" as the whole text, once or more often. */
int calls_from_harmony(struct calls *c, const char *text, size_t len);

/* Nine random letters and digits (Mistral takes no other ids). The caller frees. */
char *calls_new_id(void);

#endif
