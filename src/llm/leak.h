/* leak.h - hold back text that may turn out to be a call written as text, while a native reply streams: a JSON object with a tool's
 * name (bare, or in a json fence), <tool_call>...</tool_call>, harmony's channels. What cannot become one passes at once; what
 * turns out to be none is released. Whether it is a call is decided by calls.h at the end.
 */
#ifndef LLM_LEAK_H
#define LLM_LEAK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "llm/calls.h"

enum leak_kind { LEAK_NONE, LEAK_OBJECT, LEAK_FENCE, LEAK_TAG, LEAK_HARMONY };

struct leak {
    const struct llm_tool *tools;
    size_t n_tools;
    bool begun;                 /* something but white space was passed on */
    bool mid_line;
    enum leak_kind kind;        /* of what is held */
    struct buf held;
    size_t checked;             /* bytes of held already searched for the end */
    struct calls calls;         /* found so far (LEAK_FENCE, LEAK_TAG) */
};

void leak_init(struct leak *k, const struct llm_tool *tools, size_t n_tools);
void leak_release(struct leak *k);
/* Appends what is text to out. True once a fenced call is whole: what the model writes behind it is invented. */
bool leak_feed(struct leak *k, const char *s, size_t n, struct buf *out);
/* The reply is over. salvage: there was no structured call and the end was clean. Held text that is no call goes to out. */
void leak_end(struct leak *k, bool salvage, struct buf *out);

#endif
