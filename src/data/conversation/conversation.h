/* conversation.h - what was said: plain data, the same for every API and dialect.
 *
 * A turn is the user's, the assistant's (text and calls) or a result (one for each call, in order, right
 * after the assistant turn). There is no system turn: wire adds the system prompt to the request. The
 * conversation owns everything; texts are valid UTF-8 without NUL (the add functions repair them).
 */
#ifndef CHAT_CONVERSATION_H
#define CHAT_CONVERSATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

/* Bytes of one question, however it comes: typed, pasted, as an argument, on stdin. */
#define QUESTION_MAX ((size_t)1 << 20)

enum turn_role { TURN_USER, TURN_ASSISTANT, TURN_RESULT };

/* How a call ended. */
enum result_kind {
    RESULT_OK, /* it ran; text is its output */
    /* it ran and failed (exception, timeout, killed), or was refused; the model may try again */
    RESULT_FAILED,
    RESULT_MALFORMED,   /* the call could not be understood; text says why */
    RESULT_INTERRUPTED, /* the user stopped it */
    RESULT_NO_MORE,     /* not run: there were too many repairs; the model must answer now */
};

struct call {
    char *id;        /* as the service sent it, or our own (nine letters and digits) */
    char *name;      /* the tool's name, normalised if it was recognised */
    char *arguments; /* always the text of a valid JSON object */
    char *extra;     /* "extra_content" of the service, JSON text kept verbatim, or NULL */
};

/* An image that goes with a turn to a model that sees, by reference: what is sent of it is made inside the
 * sandbox when it is sent, and not saved. */
struct turn_image {
    char *name;             /* of the file in /mnt/data */
    char *path;             /* where it is on this machine; NULL: nowhere that lasts */
    int64_t size, modified; /* of that file, when it was named (base/beneath.h) */
    char *png;   /* a PNG small enough to be sent, base64; NULL: none is made, or no longer needed */
    bool spoilt; /* it could not be made */
};

/* How many bytes of text cost about as many tokens as one image. */
#define IMAGE_AS_BYTES 4096

struct turn {
    enum turn_role role;
    uint64_t serial;    /* its own number, never used again in this conversation, from 1 */
    uint64_t version;   /* changes with whatever changes in it */
    char *text;         /* never NULL */
    size_t aside;       /* user only: this many bytes at the start of text describe files */
    size_t heard;       /* user only: this many bytes of them are another agent's words; not saved */
    struct call *calls; /* assistant only */
    size_t n_calls;
    struct turn_image *images; /* user and result only */
    size_t n_images;
    char *call_id; /* result only: the id of the call it answers */
    enum result_kind result;
    char *reasoning;       /* assistant only: what the service sent, or NULL */
    char *reasoning_field; /* name of the field it came in, and goes back in */
    /* assistant only: reasoning items, JSON text that only the service understands, or NULL */
    char *reasoning_items;
    char *origin; /* endpoint, model and API it came from: reasoning and extra are sent back only there */
};

struct conversation {
    struct turn *v;
    size_t n, alloc;
    uint64_t serial;   /* of the turn that was added last */
    uint64_t revision; /* changes with every change: a copy made at the same revision is the same */
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

/* The calls of the last assistant turn that have no result yet, from i = 0; NULL: there is no other. */
const struct call *conversation_open_call(const struct conversation *c, size_t i);
/* The result of one of the calls of that turn, in its place among those of the others; it replaces one that
 * is there. False: the turn has no such call. */
bool conversation_answer_call(struct conversation *c, const char *call_id, const char *text);

/* Add an image to the last turn. Takes over what it holds. */
void conversation_image(struct conversation *c, struct turn_image *image);
void turn_image_release(struct turn_image *image);

/* Make it sendable after an interrupt or a failure: calls without a result get one that says so, results that
 * the user's next words follow, or (interrupted) that end the conversation, get "Interrupted." behind them as
 * an assistant turn. */
void conversation_close_open_calls(struct conversation *c, const char *why);
void conversation_interrupted(struct conversation *c);

/* Remove the turns from index n on. */
void conversation_truncate(struct conversation *c, size_t n);
/* The index of the last question's turn; n: there is none. */
size_t conversation_last_question(const struct conversation *c);
/* Remove the last question and what followed. False: there is none. */
bool conversation_undo(struct conversation *c);
/* Whoever changes a turn in place says so, or the change is not saved. */
void conversation_changed(struct conversation *c, struct turn *t);
/* Append a turn as it once was, with its serial (0: a new one). Takes over what t holds. No invariant is
 * checked; conversation_check() does that. */
void conversation_restore(struct conversation *c, struct turn *t);

/* The invariants: every call has exactly one result, in order, directly behind; arguments are JSON
 * objects; no empty turn; it begins with the user; no two user or assistant turns in a row, no user turn
 * right behind a result; what goes back only to the model it came from says which that is; the last turn is
 * user or result. -1 with err (ERROR_PROTOCOL) naming the rule and the turn. */
int conversation_check(const struct conversation *c, struct error *err);

/* What it holds, in bytes: text, calls, and what services gave to be sent back. */
size_t conversation_bytes(const struct conversation *c);

void call_release(struct call *c);

#endif
