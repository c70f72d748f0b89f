/* text_calls.h - finds what a model writes into a reply's text besides text: calls in the forms of many
 * families (text_forms.h), and thoughts between tags. It makes one pass over text that streams. What cannot
 * become a call passes at once, what turns out not to be one is passed on as text, and the result does not
 * depend on how the text was cut into pieces. A call counts only when it was received whole and names a known
 * tool.
 *
 * After a call only further calls count. Anything else that a model writes there is invented, because it has
 * not seen a result yet.
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

/* How far one form matches. */
struct text_cursor {
    const struct form *form;
    const char *step, *loop; /* step: in the form's template; loop: where the repeated part begins */
    bool outer, open;        /* inside an outer mark; inside a slot */
    /* len: bytes seen so far of the slot, or of the mark after it */
    struct text_slice slot;
    /* the state inside brackets and strings */
    struct {
        int depth;
        char quote;
        unsigned char quotes, run;
        bool escaped, decided;
    } in;
    struct text_slice name, body, key[TEXT_ARGUMENTS], value[TEXT_ARGUMENTS];
    size_t n; /* number of keys and values */
};

struct text_calls {
    struct buf *text, *thoughts; /* where the output goes; thoughts come first */
    const struct llm_toolset *tools;
    struct buf held; /* bytes that are not decided yet */
    size_t from, at; /* positions in held: the first undecided byte, and the one that the cursors want next */
    struct text_cursor cursor[TEXT_CURSORS];
    size_t n_cursors;
    struct {
        const struct form *form;
        size_t end;
        struct calls calls;
    } best; /* the best match so far */
    /* how many are left. A form that fails late costs one, so hostile text costs no more than a few
     * passes. */
    unsigned tries;

    /* The following members describe the place in the text where held begins. */
    /* something visible came; nothing visible on this line yet; between backticks */
    bool begun, blank, code;
    char fence, run_of, before, visible; /* before: the last byte; visible: the last that is no white space */
    /* length of the open fence; of the line's first run of ` or ~; of the visible bytes after that run */
    size_t fence_len, run, line_tail;
    const struct form *thought; /* the thought that the text is in, or NULL */
    size_t close_len;           /* bytes seen of the thought's end */
    bool thought_over, opened;  /* a thought ended; the tag of one was seen anywhere */
    struct buf space;           /* white space before the first word */

    struct calls calls; /* found so far */
    size_t sure;        /* how many of them certainly count; the others count only if nothing else follows */
    struct buf taken;   /* the text of the calls, and what was between them */
    size_t invented;    /* bytes after the calls */
    bool enough;        /* nothing more is wanted */

    /* all text that was passed on before was reasoning; the caller resets this */
    bool retracted;
    /* Set before the first byte: this model leaves out the beginning of its thoughts, so text waits for their
     * end. */
    bool awaited;
};

enum text_end {
    TEXT_WHOLE, /* a call at the end counts too */
    TEXT_CUT,   /* only calls that something followed, or that showed their end */
    TEXT_ONLY,  /* there are other calls, or the reply is broken: everything is text */
};

/* tools, text and thoughts are borrowed. */
void text_calls_init(struct text_calls *k, const struct llm_toolset *tools, struct buf *text,
                     struct buf *thoughts);
void text_calls_release(struct text_calls *k);
/* True when no more is wanted. */
bool text_calls_feed(struct text_calls *k, const char *s, size_t n);
void text_calls_end(struct text_calls *k, enum text_end how);

#endif
