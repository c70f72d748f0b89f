/* conversation.h - what was said: plain data, the same for every API and every dialect of calling.
 *
 * Turns: user, assistant (text and calls), result (one for each call, in order, right behind the assistant
 * turn). No system turn: the system prompt is put in front by src/llm, which alone knows dialects. Everything
 * is owned by the conversation; texts are valid UTF-8 without NUL (the add functions repair).
 */
#ifndef CHAT_CONVERSATION_H
#define CHAT_CONVERSATION_H

#include <stdbool.h>
#include <stddef.h>

struct error;

/* Bytes of one question, however it comes: typed, pasted, as an argument, on stdin. */
#define QUESTION_MAX ((size_t)1 << 20)

enum turn_role { TURN_USER, TURN_ASSISTANT, TURN_RESULT };

/* How a call ended; the dialect decides the words around the text. */
enum result_kind {
    RESULT_OK, /* it ran; text is what it gave */
    /* it ran and failed (exception, time-out, killed), or was refused; the model may repair */
    RESULT_FAILED,
    RESULT_MALFORMED,   /* the call could not be understood; text says why */
    RESULT_INTERRUPTED, /* the user stopped it */
    RESULT_NO_MORE,     /* not run: the repair rounds are used up; only an answer is wanted */
};

struct call {
    char *id;        /* as the service sent it, or made (nine letters and digits) */
    char *name;      /* the tool's name, normalised where it was recognised */
    char *arguments; /* always the text of a valid JSON object */
    char *extra;     /* "extra_content" of the service, JSON text kept verbatim, or NULL */
};

struct turn {
    enum turn_role role;
    char *text; /* never NULL */
    /* user only: so many bytes at its beginning only help to write code; who is asked for words needs none of
     * them */
    size_t aside;
    struct call *calls; /* assistant only */
    size_t n_calls;
    char *call_id; /* result only: the id of the call it answers */
    enum result_kind result;
    char *reasoning;       /* assistant only: what the service sent, or NULL */
    char *reasoning_field; /* the field's name: it goes back under the same */
    /* assistant only: what else the service gave to be carried over, JSON text that only it understands, or
     * NULL */
    char *reasoning_items;
    char *origin; /* endpoint, model and API that made it: reasoning and extra go back only there */
};

struct conversation {
    struct turn *v;
    size_t n, alloc;
};

void conversation_init(struct conversation *c);
void conversation_release(struct conversation *c);

/* A user turn right after a user turn is joined to it with a blank line. len bytes of text. */
void conversation_user(struct conversation *c, const char *text, size_t len);
/* An assistant turn with text and calls. Takes the strings inside calls over (the array stays the caller's).
 * A turn with neither text nor calls is not stored (NULL). The pointer is valid until the next add. */
struct turn *conversation_assistant(struct conversation *c, const char *text, struct call *calls,
                                    size_t n_calls);
/* The result of a call; empty text becomes "(no output)". */
void conversation_result(struct conversation *c, const char *call_id, enum result_kind kind, const char *text,
                         size_t len);

/* Make it sendable after an interrupt or a failure: calls without a result get one that says so, results that
 * the user's next words follow, or (interrupted) that end the conversation, get "Interrupted." behind them as
 * an assistant turn. */
void conversation_close_open_calls(struct conversation *c, const char *why);
void conversation_interrupted(struct conversation *c);

/* Remove the turns from index n on. */
void conversation_truncate(struct conversation *c, size_t n);

/* The invariants (WIRE 7): every call has exactly one result, in order, directly behind; arguments are JSON
 * objects; no empty turn; it begins with the user; no two user or assistant turns in a row, no user turn
 * right behind a result; what goes back only to the model it came from says which that is; the last turn is
 * user or result. -1 with err (ERROR_PROTOCOL) naming the rule and the turn. */
int conversation_check(const struct conversation *c, struct error *err);

/* What it holds, in bytes: text, calls, and what services gave to be sent back. */
size_t conversation_bytes(const struct conversation *c);

void call_release(struct call *c);

#endif
