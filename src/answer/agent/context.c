/* context.c - shortens a conversation when the model's window is full: old tool output first, then old
 * questions. What the present question needs goes last. Each call is one step; the caller asks the model
 * again after it.
 */
#include <stdio.h>
#include <string.h>

#include "agent/private.h"
#include "base/mem.h"
#include "base/utf8.h"

#define SHORT_HEAD 300
#define SHORT_TAIL 300
#define SHORT_MIN  (SHORT_HEAD + SHORT_TAIL + 100) /* shortening smaller texts gains nothing */

static bool shorten(struct conversation *c, struct turn *t)
{
    size_t len = strlen(t->text);

    if (len <= SHORT_MIN)
        return false;
    size_t head = utf8_cut(t->text, len, SHORT_HEAD), tail = utf8_cut(t->text, len, len - SHORT_TAIL);
    xreplace(&t->text, xasprintf("%.*s\n[... %zu bytes left out ...]\n%s", (int)head, t->text, tail - head,
                                 t->text + tail));
    conversation_changed(c, t);
    return true;
}

bool context_shorten(struct conversation *c, size_t end)
{
    bool any = false;

    for (size_t i = 0; i < end; i++)
        if (c->v[i].role == TURN_RESULT)
            any |= shorten(c, &c->v[i]);
    return any;
}

/* Move the turns [0, n) behind the others, where conversation_truncate can free them. */
static void drop_front(struct conversation *c, size_t n)
{
    struct turn *gone = xcalloc(n, sizeof *gone);

    memcpy(gone, c->v, n * sizeof *gone);
    memmove(c->v, c->v + n, (c->n - n) * sizeof *c->v);
    memcpy(c->v + (c->n - n), gone, n * sizeof *gone);
    free(gone);
    conversation_truncate(c, c->n - n);
}

void context_replace(struct conversation *c, size_t n, const char *user, const char *assistant)
{
    struct turn first = {.role = TURN_USER, .text = xstrdup(user)},
                second = {.role = TURN_ASSISTANT, .text = xstrdup(assistant)}, made[2];

    drop_front(c, n);
    conversation_restore(c, &first);
    conversation_restore(c, &second);
    memcpy(made, c->v + c->n - 2, sizeof made);
    memmove(c->v + 2, c->v, (c->n - 2) * sizeof *c->v);
    memcpy(c->v, made, sizeof made);
}

/* Drop half of the old questions, oldest first, at least one. */
static bool drop_questions(struct conversation *c, size_t *start)
{
    size_t questions = 0, cut = 0, seen = 0;

    for (size_t i = 0; i < *start; i++)
        questions += c->v[i].role == TURN_USER;
    if (!*start)
        return false;
    for (cut = 1; cut < *start; cut++)
        if (c->v[cut].role == TURN_USER && ++seen >= (questions + 1) / 2)
            break;
    drop_front(c, cut);
    *start -= cut;
    return true;
}

bool context_shrink(struct conversation *c, size_t *start)
{
    size_t last = c->n;

    while (last > *start && c->v[last - 1].role == TURN_RESULT)
        last--;
    /* In this order: old output, old questions, earlier output of this question, output that the model has
     * not seen yet. */
    return context_shorten(c, *start) || drop_questions(c, start) || context_shorten(c, last)
           || context_shorten(c, c->n);
}

int64_t agent_conversation_tokens(const struct agent *a)
{
    return (int64_t)((double)conversation_bytes(a->c) / BYTES_A_TOKEN);
}
