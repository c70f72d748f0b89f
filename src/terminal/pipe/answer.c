/* answer.c - decides where events go.
 *
 * At a terminal all text streams. If stdout is not a terminal, a reply's text is held until it is known what
 * it was: text beside calls is talk and goes to stderr, so a script that reads stdout gets only answers.
 */
#include "pipe/answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "pipe/json_lines.h"
#include "pipe/pipe.h"
#include "process/loop.h"
#include "process/signals.h"
#include "show/show.h"

#define HELD_MAX (4 * 1024 * 1024) /* a reply is cut at 1 MiB before it gets here */

struct answer {
    struct show *show;
    struct show_text *text;
    struct json_lines *json; /* or NULL */
    struct loop *loop;
    bool terminal;
    struct buf held;
    bool cut;   /* held is a reply that was cut; DONE tells what it counts as */
    bool given; /* this question's answer is on stdout (at a terminal: some text is) */
    int broken;
    bool lost; /* an interrupt came while the reader of stdout stalled, so part of the answer is missing */
    bool watched;
};

struct answer *answer_new(struct show *show, const struct pipe_options *o, struct loop *loop)
{
    struct answer *a = xmalloc(sizeof *a);

    *a = (struct answer){.show = show, .loop = loop, .terminal = isatty(1), .held = BUF_INIT(HELD_MAX)};
    if (o->json) {
        a->json = json_lines_new(1, a->terminal, o->results, loop);
        return a;
    }
    a->text = show_text_new(1, a->terminal, loop);
    show_text_render(a->text, o->show.render, o->show.color);
    if (a->terminal && isatty(2))
        show_share(show, a->text);
    return a;
}

void answer_task(struct answer *a, const struct json *id)
{
    if (a->json)
        json_lines_task(a->json, id);
}

void answer_free(struct answer *a)
{
    if (!a)
        return;
    answer_unwatch(a);
    show_text_free(a->text);
    json_lines_free(a->json);
    buf_release(&a->held);
    free(a);
}

int answer_broken(const struct answer *a)
{
    return a->broken;
}

bool answer_lost(const struct answer *a)
{
    return a->lost;
}

/* A write to stdout failed: nothing more can be delivered, so the question is ended too. */
static void write_failed(struct answer *a, int why)
{
    if (why == EINTR) { /* cancelled while the reader stalled, which has its own exit code */
        a->lost = true;
        return;
    }
    if (!a->broken && why != EPIPE) {
        autofree char *line = xasprintf("cannot write the answer to stdout: %s", strerror(why));

        show_line(a->show, NOTICE_ERROR, line);
    }
    if (!a->broken)
        a->broken = why == EPIPE ? 141 : 1;
    answer_unwatch(a);
}

static void on_stdout(void *ctx)
{
    struct answer *a = ctx;

    if (loop_revents(a->loop) & (POLLERR | POLLNVAL)) {
        write_failed(a, EPIPE);
        loop_interrupt(a->loop);
    }
}

void answer_watch(struct answer *a)
{
    struct stat st;

    if (fstat(1, &st) == 0 && S_ISFIFO(st.st_mode)) {
        loop_watch(a->loop, 1, 0, on_stdout, a);
        a->watched = true;
    }
}

void answer_unwatch(struct answer *a)
{
    if (a->watched)
        loop_unwatch(a->loop, 1);
    a->watched = false;
}

static void give(struct answer *a, const char *text, size_t len)
{
    if (a->broken || !len)
        return;
    show_clear(a->show); /* stdout may be the same screen: do not write after a status line or a thought */
    if (show_text_whole(a->text, text, len) < 0)
        write_failed(a, errno);
    a->given = true;
}

/* Text that is not an answer goes to stderr, but not once stdout is gone. */
static void tell_held(struct answer *a)
{
    if (!a->broken)
        show_talk(a->show, buf_str(&a->held), a->held.len);
    buf_clear(&a->held);
}

static void tell_thoughts(struct answer *a, const struct event *end)
{
    struct event e = {.type = EVENT_REASONING,
                      .question = end->question,
                      .text = {end->reply_end.reply, buf_str(&a->held), a->held.len}};

    if (!a->broken && e.text.len)
        show_event(a->show, &e);
    buf_clear(&a->held);
}

static void reply_end(struct answer *a, enum reply_kind kind)
{
    a->cut = kind == REPLY_CUT;
    if (a->cut)
        return;
    if (kind == REPLY_ANSWER)
        give(a, buf_str(&a->held), a->held.len);
    else
        tell_held(a);
    buf_clear(&a->held);
}

static void question_end(struct answer *a, const struct event *e)
{
    const char *answer = e->done.answer ? e->done.answer : "";

    if (!a->given && *answer)
        give(a, answer, strlen(answer));
    else
        tell_held(a);
    buf_clear(&a->held);
    a->given = a->cut = false;
}

static void text_event(struct answer *a, const struct event *e)
{
    if (a->terminal) {
        if (!a->broken && show_text_feed(a->text, e->text.text, e->text.len) < 0)
            write_failed(a, errno);
        a->given = true;
        return;
    }
    if (a->cut) { /* the question went on after all: the cut text is not part of the new reply */
        tell_held(a);
        a->cut = false;
    }
    buf_add(&a->held, e->text.text, e->text.len);
}

/* Show only what a person must know besides the JSON. */
static void event_json(struct answer *a, const struct event *e)
{
    struct event shown = *e;

    if (e->type == EVENT_DONE)
        shown.done.answer = NULL; /* and what is said of its sources: the JSON has both */
    if (e->type != EVENT_REASONING && e->type != EVENT_PHASE)
        /* start at the beginning of a line, in case stderr goes to the same place */
        show_clear(a->show);
    if (!a->broken && json_lines_event(a->json, e) < 0)
        write_failed(a, errno);
    if (!a->broken
        && (e->type == EVENT_SESSION || e->type == EVENT_NOTICE || e->type == EVENT_DONE
            || e->type == EVENT_PHASE || e->type == EVENT_NETWORK))
        show_event(a->show, &shown);
}

void answer_event(struct answer *a, const struct event *e)
{
    if (a->json) {
        event_json(a, e);
    } else if (e->type == EVENT_TEXT) {
        text_event(a, e);
    } else if (e->type == EVENT_REPLY_END && e->reply_end.kind == REPLY_THOUGHTS && !a->terminal) {
        tell_thoughts(a, e); /* it was held, so nobody saw it as the answer */
    } else {
        if (a->terminal && event_ends_text(e) && !a->broken && show_text_end(a->text) < 0)
            write_failed(a, errno);
        if (e->type == EVENT_REPLY_END && !a->terminal)
            reply_end(a, e->reply_end.kind);
        if (e->type == EVENT_DONE)
            question_end(a, e);
        /* the failed write was reported (quietly for 141), so how the question ends does not matter */
        if (!a->broken)
            show_event(a->show, e);
    }
    /* set again with each event, since the agent's next step may clear it */
    if (a->broken && e->type != EVENT_DONE && e->type != EVENT_SESSION_END)
        loop_interrupt(a->loop);
}
