/* reply.c - connects the stages that read a reply, and finishes it. Text flows reader -> text_calls ->
 * blocks -> listener; each stage holds back only what may still turn out to be something else.
 */
#include "wire/reply.h"

#include <stdlib.h>
#include <string.h>

#include "json/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "conversation/language.h"

/* Nothing after this is read, not even from the same piece: how the bytes were cut must not matter. */
static void stop_reading(struct reply *a)
{
    a->enough = a->reader.stopped = true;
}

/* Returns how much of s is kept; all has a size limit. */
static size_t keep_within(struct reply *a, struct buf *all, const char *s, size_t n)
{
    if (a->over)
        return 0;
    if (n > REPLY_TEXT_MAX - all->len) {
        n = utf8_cut(s, n, REPLY_TEXT_MAX - all->len);
        a->over = true;
        stop_reading(a); /* a model that repeats itself without end */
    }
    buf_add(all, s, n);
    return n;
}

static void emit_text(struct reply *a, const struct buf *b)
{
    size_t n = keep_within(a, &a->text, buf_str(b), b->len);
    a->shown |= n > 0;
    if (n && a->l && a->l->text)
        a->l->text(a->l->ctx, buf_str(b), n);
}

static void emit_reasoning(struct reply *a, const char *s, size_t n)
{
    n = keep_within(a, &a->reasoning, s, n);
    a->reasoned |= n > 0;
    if (n && a->l && a->l->reasoning)
        a->l->reasoning(a->l->ctx, s, n);
}

/* Handles text after text_calls. */
static void downstream(struct reply *a, const struct buf *text)
{
    if (a->mode == REPLY_MODE_NATIVE) {
        emit_text(a, text);
        return;
    }
    struct buf *out = &a->cut[2];
    buf_clear(out);
    if (blocks_feed(&a->blocks, buf_str(text), text->len, out) && a->mode == REPLY_MODE_BLOCKS)
        stop_reading(a);
    emit_text(a, out);
}

/* The end of a thought came without its beginning, so what was shown as text was reasoning. */
static void retract(struct reply *a)
{
    a->text_calls.retracted = false;
    a->retracted = true;
    if (a->text.len && a->l && a->l->retracted)
        a->l->retracted(a->l->ctx);
    a->reasoned |= keep_within(a, &a->reasoning, buf_str(&a->text), a->text.len) > 0;
    buf_clear(&a->text);
    blocks_release(&a->blocks);
    blocks_init(&a->blocks);
}

static void pass_on(struct reply *a, const struct buf *thoughts, const struct buf *text)
{
    if (a->text_calls.retracted)
        retract(a);
    emit_reasoning(a, buf_str(thoughts), thoughts->len);
    if (text->len)
        downstream(a, text);
}

static void reply_text(void *ctx, const char *s, size_t n)
{
    struct reply *a = ctx;
    if (a->enough)
        return;
    struct buf *text = &a->cut[0], *thoughts = &a->cut[1];
    buf_clear(text);
    buf_clear(thoughts);
    bool enough = text_calls_feed(&a->text_calls, s, n);
    pass_on(a, thoughts, text);
    if (enough)
        stop_reading(a);
}

static void reply_reasoning(void *ctx, const char *s, size_t n)
{
    struct reply *a = ctx;
    if (!a->enough)
        emit_reasoning(a, s, n);
}

void reply_init(struct reply *a, enum reply_mode mode, const struct llm_request *q,
                const struct llm_listener *l)
{
    *a = (struct reply){.mode = mode, .q = q, .l = l};
    struct reader_sink sink = {a, reply_text, reply_reasoning};
    reader_init(&a->reader, &sink);
    text_calls_init(&a->text_calls, &q->tools, &a->cut[0], &a->cut[1]);
    blocks_init(&a->blocks);
    buf_init(&a->text, REPLY_TEXT_MAX);
    buf_init(&a->reasoning, REPLY_TEXT_MAX);
    for (size_t i = 0; i < countof(a->cut); i++)
        buf_init(&a->cut[i], 2 * READER_EVENT_MAX);
}

void reply_release(struct reply *a)
{
    if (!a)
        return;
    reader_release(&a->reader);
    text_calls_release(&a->text_calls);
    blocks_release(&a->blocks);
    buf_release(&a->text);
    buf_release(&a->reasoning);
    for (size_t i = 0; i < countof(a->cut); i++)
        buf_release(&a->cut[i]);
}

bool reply_feed(struct reply *a, const char *p, size_t n)
{
    if (!a->enough)
        reader_feed(&a->reader, p, n);
    return !a->enough && !a->reader.done && !a->reader.failed;
}

bool reply_phase(const struct reply *a, struct phase_now *now)
{
    const struct call_deltas *calls = &a->reader.calls;
    bool block = a->blocks.state == BLOCKS_CODE;

    *now = (struct phase_now){.phase = PHASE_CODING};
    if (calls->n)
        now->lines = calls->lines + 1;
    else if (block)
        now->lines = a->blocks.lines + 1;
    else if (a->text_calls.held.len > a->text_calls.from) /* it may become a call, or stay text */
        now->phase = PHASE_WRITING;
    else
        return false;
    return true;
}

/* Passes on everything that the stages held back, in order. */
static void flush(struct reply *a, enum text_end how, bool whole)
{
    struct buf *text = &a->cut[0], *thoughts = &a->cut[1], *out = &a->cut[2];
    buf_clear(text);
    buf_clear(thoughts);
    text_calls_end(&a->text_calls, how);
    pass_on(a, thoughts, text);
    if (a->mode == REPLY_MODE_NATIVE)
        return;
    buf_clear(out);
    blocks_end(&a->blocks, whole, out);
    emit_text(a, out);
}

static enum llm_finish finish_of(const struct reply *a, size_t n_calls)
{
    static const char *const length[] = {"length", "max_tokens", "max_output_tokens", "model_length"};
    const char *s = a->reader.finish;
    if (a->over)
        return LLM_FINISH_LENGTH;
    if (!a->enough)
        for (size_t i = 0; i < countof(length); i++)
            if (!strcmp(s, length[i]))
                return LLM_FINISH_LENGTH;
    if (!strcmp(s, "content_filter"))
        return LLM_FINISH_FILTER;
    return n_calls ? LLM_FINISH_CALLS : LLM_FINISH_STOP;
}

/* A model that was asked whether its code is to be run may well repeat its answer, code included. That counts
 * as no. */
static bool block_counts(const struct reply *a)
{
    return a->mode == REPLY_MODE_BLOCKS
           || (text_is_blank(buf_str(&a->text)) && text_is_blank(buf_str(&a->blocks.after)));
}

static void take_block(struct reply *a, struct calls *c, bool cut)
{
    struct blocks *b = &a->blocks;
    const char *problem = NULL;
    if (b->code.full || b->line.full)
        problem = "the block is too long (more than 1 MiB)";
    else if (b->state == BLOCKS_CODE && cut)
        problem = "the block was cut off by the token limit before its closing fence; send a shorter one";
    calls_from_code(c, buf_str(&b->code), b->code.len, problem);
}

static void add_reader_calls(struct reply *a, struct llm_reply *r, bool cut)
{
    struct calls c = {.tools = &a->q->tools};
    calls_from_deltas(&c, &a->reader.calls, cut);
    if (!c.n) {
        calls_move(&c, &a->text_calls.calls);
        a->from_text = c.n > 0;
    }
    bool block = a->blocks.state == BLOCKS_CODE || a->blocks.state == BLOCKS_CLOSED;
    if (block && !c.n && block_counts(a)) {
        take_block(a, &c, cut);
        a->from_block = c.n > 0;
    } else if (block) {
        struct buf shown autorelease(buf_release) = BUF_INIT(
            0); /* the block was only text, perhaps beside a call */
        buf_addf(&shown, "```%s\n%s```\n", languages[0].tags[0], buf_str(&a->blocks.code));
        buf_add(&shown, buf_str(&a->blocks.after), a->blocks.after.len);
        emit_text(a, &shown);
    }
    r->calls = c.v;
    r->n_calls = c.n;
}

static void trim_end(char *s)
{
    size_t n = strlen(s);
    while (n && strchr(" \t\r\n", s[n - 1]))
        s[--n] = '\0';
}

/* Takes the call that the service quotes in its error, if it is whole and of a known tool. */
static int take_quoted(const struct llm_request *q, const char *s, struct llm_reply *r)
{
    struct calls c = {.tools = &q->tools};
    if (!calls_from_text(&c, s, strlen(s)) || c.v[0].problem) {
        calls_release(&c);
        return -1;
    }
    r->calls = c.v;
    r->n_calls = c.n;
    r->finish = LLM_FINISH_CALLS;
    return 0;
}

int reply_finish(struct reply *a, bool lost, struct llm_reply *r, struct failure *f)
{
    struct reader *rd = &a->reader;
    if (!a->enough)
        reader_end(rd, lost);
    if (!rd->failed && !a->enough && !strcmp(rd->finish, "error")) {
        rd->failed = true;
        failure_set(&rd->failure, FAILURE_BUSY, "the service ended the reply with an error");
    }
    bool complete = a->enough || reader_complete(rd), cut = finish_of(a, 0) == LLM_FINISH_LENGTH;
    if (complete && !rd->failed) {
        flush(a, rd->calls.n ? TEXT_ONLY : cut ? TEXT_CUT : TEXT_WHOLE, !cut);
        add_reader_calls(a, r, cut);
        if (!a->text.len && rd->refusal.len) {
            emit_text(a, &rd->refusal);
            r->refusal = true;
        }
        r->finish = finish_of(a, r->n_calls);
        r->endless = a->over;
        r->reasoning_field = a->reasoning.len ? xstrdup(rd->reasoning_field) : NULL;
        r->reasoning_items = a->enough ? NULL : reasoning_items_text(&rd->reasoning_items);
    } else {
        if (a->shown)
            flush(a, TEXT_ONLY, false);
        if (rd->failed)
            *f = rd->failure;
        else
            failure_set(f, FAILURE_TRUNCATED, "the stream ended without a finish reason");
    }
    r->text = xmemdup0(buf_str(&a->text), a->text.len);
    if (r->n_calls)
        trim_end(r->text);
    if (a->reasoning.len)
        r->reasoning = xmemdup0(a->reasoning.data, a->reasoning.len);
    r->model = steal(&rd->model);
    r->streamed = rd->mode == READ_SSE;
    r->usage = rd->usage;
    if (rd->failed_generation && !take_quoted(a->q, rd->failed_generation, r))
        return 0;
    return complete && !rd->failed ? 0 : -1;
}

int reply_failed_generation(const struct llm_request *q, const char *body, size_t len, struct llm_reply *r)
{
    autojson struct json *j = json_parse(body, len, JSON_DUPLICATES, NULL, NULL);
    const char *s = json_str(json_get(json_get(j, "error"), "failed_generation"));
    *r = (struct llm_reply){.usage = LLM_USAGE_UNKNOWN};
    if (!s || take_quoted(q, s, r))
        return -1;
    r->text = xstrdup("");
    return 0;
}

bool reply_has_block(const char *text)
{
    struct blocks b;
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    blocks_init(&b);
    blocks_feed(&b, text, strlen(text), &out);
    blocks_end(&b, true, &out);
    bool has = b.state == BLOCKS_CODE || b.state == BLOCKS_CLOSED;
    blocks_release(&b);
    return has;
}

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
