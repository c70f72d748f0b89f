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
    for (size_t i = 0; i < r->n_calls; i++) {
        call_release(&r->calls[i].call);
        free(r->calls[i].problem);
        free(r->calls[i].sent_name);
        free(r->calls[i].sent_arguments);
    }
    free(r->calls);
    *r = (struct llm_reply){0};
}
