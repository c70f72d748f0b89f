/* types.c - see types.h. */
#include "wire/types.h"

#include <stdlib.h>
#include <string.h>

void llm_reply_release(struct llm_reply *r)
{
    if (!r)
        return;
    free(r->text);
    free(r->reasoning);
    free(r->reasoning_field);
    free(r->cause);
    free(r->reasoning_items);
    free(r->model);
    calls_release(&(struct calls){.v = r->calls, .n = r->n_calls});
    *r = (struct llm_reply){0};
}
