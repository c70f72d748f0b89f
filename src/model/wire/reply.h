/* reply.h - turns the bytes of one HTTP answer into one reply: first the reader, then what the text means in
 * each dialect (thoughts and calls written as text, blocks). It has no transport and no clock, so tests feed
 * it files.
 */
#ifndef WIRE_REPLY_H
#define WIRE_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "calls/blocks.h"
#include "wire/failure.h"
#include "wire/types.h"
#include "wire/reader.h"
#include "calls/text_calls.h"

#define REPLY_TEXT_MAX (1u << 20) /* bytes; for text and reasoning separately */

enum reply_mode {
    REPLY_MODE_NATIVE, /* a python block is text */
    REPLY_MODE_BLOCKS, /* the first python block is the call, and ends the reply */
    /* Native was asked for, but a reply that is nothing but a block counts as the call when there is no
     * other. */
    REPLY_MODE_NUDGED,
};

struct reply {
    enum reply_mode mode;
    const struct llm_request *q;
    const struct llm_listener *l; /* may be NULL */
    struct reader reader;
    struct text_calls text_calls;
    struct blocks blocks;
    struct buf text, reasoning;
    struct buf cut[3];          /* scratch between the stages */
    bool shown, reasoned;       /* something was passed on */
    bool enough;                /* nothing more is wanted, so the transfer may be stopped */
    bool over;                  /* cut at REPLY_TEXT_MAX */
    bool retracted;             /* the text that was shown was reasoning whose opening tag was missing */
    bool from_text, from_block; /* the calls came in one of these forms, and none was structured */
};

void reply_init(struct reply *a, enum reply_mode mode, const struct llm_request *q,
                const struct llm_listener *l);
void reply_release(struct reply *a);
/* False when no more is wanted, because of a->enough, [DONE] or an error. */
bool reply_feed(struct reply *a, const char *p, size_t n);
/* What the model is doing, as the bytes so far show. False: no more than its text and reasoning tell. */
bool reply_phase(const struct reply *a, struct phase_now *now);
/* Call this when the body is over; lost means that the connection broke. 0: r has text, reasoning, calls,
 * finish, usage (-1 where unknown). -1: f says why, and r->text holds what was shown. */
int reply_finish(struct reply *a, bool lost, struct llm_reply *r, struct failure *f);
/* Groq refuses a call that it could not parse, and quotes it. The call is used when it is whole JSON with a
 * known name. 0: r is a reply with it. */
int reply_failed_generation(const struct llm_request *q, const char *body, size_t len, struct llm_reply *r);
/* Is there a Python block in a finished text? */
bool reply_has_block(const char *text);

#endif
