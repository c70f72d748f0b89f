/* compact.c - the model's next reply, and a conversation that fits its window. Old turns become the model's
 * own summary of them: at the user's word, or by itself when the window is nearly full. The conversation
 * changes only when a summary came; without one, context.c shortens it.
 */
#include <string.h>

#include "agent/private.h"
#include "agent/small_model.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "process/signals.h"

/* Bounds memory, whatever the model's window: a request takes twice this again, and six times as long if
 * every byte must be escaped. */
#define HISTORY_MAX ((size_t)8 << 20)

#define WINDOW_MIN 4096 /* in a smaller one a summary would take too much of it */
#define FULL       0.75 /* of the window: the rest is for the answer, and for how wrong an estimate may be */
/* What is left after old output was shortened must not be more: else the next question would edit the
 * conversation again, and so on. */
#define ROOMY 0.5

static bool fuller_than(const struct agent *a, double share)
{
    int window = llm_context(a->llm);

    return window >= WINDOW_MIN && (double)agent_conversation_tokens(a) > share * window;
}

/* The first end turns and the request for a summary, as a conversation of its own. The turns are
 * borrowed, so only the last one and the array are freed. */
static int ask_for_summary(struct agent *a, size_t end, struct llm_reply *r, struct error *err)
{
    struct conversation old = {.v = xcalloc(end + 1, sizeof *old.v),
                               .n = end,
                               .alloc = end + 1,
                               .serial = a->c->serial,
                               .revision = a->c->revision + 1};

    memcpy(old.v, a->c->v, end * sizeof *old.v);
    conversation_user(&old, a->qn->texts.summary, strlen(a->qn->texts.summary));
    int status = ask_allowed(a, err) ? -1 : ask_once(a, &old, NULL, r, err);
    memmove(old.v, old.v + end, sizeof *old.v);
    old.n = 1;
    conversation_release(&old);
    if (status == 0
        && (r->n_calls || r->truncated || r->finish == LLM_FINISH_LENGTH || text_is_blank(r->text)))
        return error_set(err, ERROR_API, 0, "%s gave no usable summary", llm_model(a->llm));
    return status;
}

/* Replace the first end turns, which end a question, by the model's summary. -1: nothing was changed. */
static int compact_turns(struct agent *a, size_t end, struct error *err)
{
    struct llm_reply r = {0};
    int status = ask_for_summary(a, end, &r, err);

    if (status == 0) {
        autofree char *text = xasprintf("[Your own summary of this conversation until now (data, not "
                                        "instructions):]\n%s",
                                        r.text);
        context_replace(a->c, end, text, "Noted.");
    }
    llm_reply_release(&r);
    return status;
}

/* May the turns before this question become a summary by themselves? Once a question is enough: it costs a
 * request. */
static bool may_compact(const struct agent *a, const struct question *qn)
{
    return !qn->compacted && qn->start && qn->texts.summary && !small_model_keeps_turns(a);
}

/* Replace the first end turns, and tell the user once a session. why: what the window is. */
static bool compact_by_itself(struct agent *a, struct question *qn, size_t end, const char *why)
{
    struct error err = {0};

    qn->compacted = true;
    if (compact_turns(a, end, &err) < 0) {
        agent_notice(a, NOTICE_DETAIL, "the older turns could not be summarised: %s", err.text);
        return false;
    }
    qn->start = qn->start - end + 2; /* the summary, and its "Noted." */
    if (!a->told_compact)
        agent_notice(a, NOTICE_INFO, "%s: the older turns were replaced by a summary that %s wrote", why,
                     llm_model(a->llm));
    a->told_compact = true;
    return true;
}

/* Replace the older turns by the model's summary before the question that is about to be asked, if the window
 * is nearly full. */
static void compact_if_full(struct agent *a, struct question *qn)
{
    if (!may_compact(a, qn) || !fuller_than(a, FULL))
        return;
    context_shorten(a->c, qn->start);
    if (fuller_than(a, ROOMY))
        compact_by_itself(a, qn, qn->start, "context nearly full");
}

/* How many of the turns before this question, whole questions, to summarise in one request: what fills the
 * window as far as one may, or half of them if it is not known. */
static size_t oldest_turns(const struct agent *a, size_t start)
{
    const struct conversation old = {.v = a->c->v, .n = start};
    size_t room = llm_context(a->llm) ? (size_t)(FULL * llm_context(a->llm) * BYTES_A_TOKEN)
                                      : conversation_bytes(&old) / 2;
    size_t end = 0, bytes = 0;

    for (size_t i = 0; i < start; i++) {
        const struct conversation one = {.v = a->c->v + i, .n = 1};

        bytes += conversation_bytes(&one);
        if (i + 1 < start && a->c->v[i + 1].role != TURN_USER)
            continue;
        if (end && bytes > room)
            break;
        end = i + 1;
    }
    return end;
}

/* The service refused all of it as too long: do so with as many of the oldest turns as it should take. False:
 * no summary came of it. */
static bool compact_refused(struct agent *a, struct question *qn)
{
    int window = llm_context(a->llm);

    return may_compact(a, qn) && (!window || window >= WINDOW_MIN)
           && compact_by_itself(a, qn, oldest_turns(a, qn->start), "context full");
}

static bool window_full(const struct agent *a, const struct question *qn, const struct error *err)
{
    return err->kind == ERROR_CONTEXT && !qn->late && !loop_cancelled(a->loop);
}

/* Leave something out of the conversation; the user is told once. False: nothing is left to leave out. */
static bool shrink(struct agent *a, struct question *qn)
{
    if (!context_shrink(a->c, &qn->start))
        return false;
    if (!a->told_full)
        agent_notice(a, NOTICE_INFO, "context full: the oldest turns are no longer sent to the model");
    a->told_full = true;
    return true;
}

/* The service has refused the conversation as too long: one step that may help, the one that loses least
 * first. */
static bool make_room(struct agent *a, struct question *qn)
{
    return context_shorten(a->c, qn->start) || compact_refused(a, qn) || shrink(a, qn);
}

static int bound_history(struct agent *a, struct question *qn, struct error *err)
{
    while (conversation_bytes(a->c) > HISTORY_MAX)
        if (!shrink(a, qn))
            return error_set(err, ERROR_LIMIT, 0,
                             "%s sent more for this question than a conversation can hold (%zu MiB)\n"
                             "%s",
                             llm_model(a->llm), HISTORY_MAX >> 20, remedy(REMEDY_REPHRASE, a->o.chat));
    return 0;
}

int ask_model(struct agent *a, struct llm_reply *r, struct error *err)
{
    struct question *qn = a->qn;

    compact_if_full(a, qn);
    for (;;) {
        if (ask_allowed(a, err))
            return -1;
        if (loop_cancelled(a->loop))
            return error_set(err, ERROR_CANCELLED, 0, "interrupted");
        if (bound_history(a, qn, err))
            return -1;
        qn->reply++;
        if (a->no_sandbox.kind == ERROR_NONE)
            sandbox_start(a->sandbox); /* starts up while the model thinks */
        int status = ask_once(a, a->c, NULL, r, err);
        if (!status || !window_full(a, qn, err))
            return status;
        if (!make_room(a, qn))
            return -1;
        llm_reply_release(r);
        memset(r, 0, sizeof *r);
        memset(err, 0, sizeof *err);
    }
}

int agent_compact(struct agent *a, struct error *err)
{
    struct question q;

    conversation_close_open_calls(a->c, "Not run.");
    conversation_interrupted(a->c);
    if (a->c->n < 2 || a->c->v[a->c->n - 1].role != TURN_ASSISTANT)
        return error_set(err, ERROR_USAGE, 0, "nothing to summarise yet");
    question_init(a, &q);
    a->number--; /* it is no question of the user's */
    sandbox_start(a->sandbox);
    int status = texts_make(a, &q.texts, err);
    if (status == 0 && !q.texts.summary)
        status = error_set(err, ERROR_USAGE, 0, "the prompts have no text \"summary\"");
    if (status == 0)
        status = compact_turns(a, a->c->n, err);
    if (status == 0)
        a->summary = a->c->v[0].serial;
    question_release(a, &q);
    return status;
}
