/* text_calls.h - what a model writes into a reply's text besides text: calls in the forms of many families
 * (text_forms.h), and thoughts between tags. One pass over text that streams: what cannot become a call
 * passes at once, what turns out to be none is passed on as text, and the result does not depend on how
 * the text was cut. A call counts only when it was received whole and names a known tool.
 *
 * Behind a call only more calls count: what else a model writes there it has invented, for it has seen no
 * result yet.
 */
#ifndef CALLS_TEXT_CALLS_H
#define CALLS_TEXT_CALLS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "calls/calls.h"
#include "calls/text_forms.h"

#define TEXT_CURSORS   64
#define TEXT_ARGUMENTS 8 /* of one call between tags */

struct text_slice {
    size_t at, len;
};

/* How far one form fits. */
struct text_cursor {
    const struct form *form;
    const char *step, *loop; /* in its template; where what repeats begins */
    bool outer, open;        /* in an outer mark; in a slot */
    /* len: bytes of the slot, or of the mark behind it, as far as it was seen */
    struct text_slice slot;
    /* in brackets and strings */
    struct {
        int depth;
        char quote;
        unsigned char quotes, run;
        bool escaped, decided;
    } in;
    struct text_slice name, body, key[TEXT_ARGUMENTS], value[TEXT_ARGUMENTS];
    size_t n; /* of key and value */
};

struct text_calls {
    struct buf *text, *thoughts; /* where they go; thoughts come first */
    const struct llm_toolset *tools;
    struct buf held; /* what is not decided yet */
    size_t from, at; /* in held: the first such byte; the one that the cursors want */
    struct text_cursor cursor[TEXT_CURSORS];
    size_t n_cursors;
    struct {
        const struct form *form;
        size_t end;
        struct calls calls;
    } best; /* what fits so far */
    /* left; a form that fails late costs one, so that hostile text costs no more than a few passes */
    unsigned tries;

    /* where in the text held begins */
    /* something visible came; none of it on this line; between backticks */
    bool begun, blank, code;
    char fence, run_of, before;
    /* of the fence that is open; of the line's first run of ` or ~; visible bytes behind that */
    size_t fence_len, run, line_tail;
    const struct form *thought; /* in it */
    size_t close_len;           /* bytes of its end that were seen */
    bool thought_over, opened;  /* one ended; the tag of one was seen, anywhere */
    struct buf space;           /* white space in front of the first word */

    struct calls calls; /* found so far */
    size_t sure;        /* of them; the others count only if nothing else follows */
    struct buf taken;   /* the text of the calls, and what was between them */
    size_t invented;    /* bytes behind them */
    bool enough;        /* nothing more is wanted */

    /* all text that was passed on before was reasoning; the caller resets it */
    bool unsaid;
    /* set before the first byte: this model leaves the beginning of its thoughts out, so text waits for
     * the end */
    bool awaited;
};

enum text_end {
    TEXT_WHOLE, /* a call at the end counts too */
    TEXT_CUT,   /* only those that something followed, or that showed their end */
    TEXT_ONLY,  /* there are other calls, or the reply is broken: all is text */
};

/* tools, text and thoughts are borrowed. */
void text_calls_init(struct text_calls *k, const struct llm_toolset *tools, struct buf *text,
                     struct buf *thoughts);
void text_calls_release(struct text_calls *k);
/* True when no more is wanted. */
bool text_calls_feed(struct text_calls *k, const char *s, size_t n);
void text_calls_end(struct text_calls *k, enum text_end how);

#endif
