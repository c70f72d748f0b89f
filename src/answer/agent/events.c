/* events.c - sends every event to the listener; there is no other way out (agent_send). */
#include <stdarg.h>
#include <string.h>

#include "agent/private.h"
#include "base/mem.h"

void agent_send(struct agent *a, struct event *e)
{
    e->question = a->qn ? a->qn->number : a->number;
    e->agent = a->before || a->next ? a->o.prompts->role : NULL;
    if (a->event)
        a->event(a->event_ctx, e);
}

void agent_notice(struct agent *a, enum notice_level level, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    autofree char *line = xvasprintf(fmt, ap);
    va_end(ap);
    agent_send(a, &(struct event){.type = EVENT_NOTICE, .notice = {level, line}});
}

static void on_phase(void *ctx, const struct phase_now *now)
{
    struct agent *a = ctx;

    a->phase = now->phase;
    agent_send(a, &(struct event){.type = EVENT_PHASE, .phase = *now});
}

/* Text and reasoning come in many pieces; only the first of each kind is news. */
void agent_turn_to(struct agent *a, enum phase phase)
{
    if (a->phase != phase)
        on_phase(a, &(struct phase_now){.phase = phase});
}

static void send_text(struct agent *a, enum event_type type, const char *text, size_t len)
{
    agent_send(a, &(struct event){.type = type, .text = {a->qn ? a->qn->reply : 0, text, len}});
}

static void on_text(void *ctx, const char *text, size_t len)
{
    agent_turn_to(ctx, PHASE_WRITING);
    send_text(ctx, EVENT_TEXT, text, len);
}

static void on_reasoning(void *ctx, const char *text, size_t len)
{
    agent_turn_to(ctx, PHASE_THINKING);
    send_text(ctx, EVENT_REASONING, text, len);
}

static void on_retracted(void *ctx)
{
    struct agent *a = ctx;

    agent_reply_end(a, REPLY_THOUGHTS);
    a->qn->reply++;
}

static void on_restarted(void *ctx)
{
    agent_notice(ctx, NOTICE_DETAIL, "the request is sent again");
}

static void on_notice(void *ctx, bool detail, const char *line)
{
    agent_notice(ctx, detail ? NOTICE_DETAIL : NOTICE_INFO, "%s", line);
}

void agent_listener(struct agent *a, struct llm_listener *l)
{
    *l = (struct llm_listener){
        .ctx = a,
        .text = on_text,
        .reasoning = on_reasoning,
        .retracted = on_retracted,
        .restarted = on_restarted,
        .notice = on_notice,
        .phase = on_phase,
    };
}

void agent_reply_end(struct agent *a, enum reply_kind kind)
{
    agent_send(a, &(struct event){.type = EVENT_REPLY_END, .reply_end = {a->qn->reply, kind}});
}

void agent_send_whole(struct agent *a, enum event_type type, const char *text)
{
    if (!text_is_blank(text))
        send_text(a, type, text, strlen(text));
}
