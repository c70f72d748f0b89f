/* reader.c - recognises streams and documents, cuts streams into events, and finds out which API an answer
 * belongs to; each API has its read_*.c. */
#include "wire/reader.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "json/json.h"
#include "base/mem.h"
#include "wire/read_parts.h"

void reader_release(struct reader *r)
{
    if (!r)
        return;
    buf_release(&r->body);
    buf_release(&r->refusal);
    sse_release(&r->sse);
    call_deltas_release(&r->calls);
    free(r->failed_generation);
    free(r->model);
    reasoning_items_release(&r->reasoning_items);
    free(r->responses.item);
}

/* What comes behind the end of an answer cannot take it back. */
static bool answer_is_over(const struct reader *r)
{
    return r->finished && *r->finish && strcmp(r->finish, "error") != 0;
}

static void reader_fail(struct reader *r, enum failure_class class, const char *text)
{
    if (r->failed || answer_is_over(r))
        return;
    r->failed = true;
    failure_set(&r->failure, class, "%s", text);
}

/* Call this when the stream can no longer be cut into events, or is not worth it. */
static void stop_broken(struct reader *r, const char *why)
{
    r->broken = true;
    reader_fail(r, FAILURE_PROTOCOL, why);
}

#define EVENT_TOO_BIG "one event is larger than 8 MiB"

static struct json *parse(const char *s, size_t n, struct error *err)
{
    return json_parse(s, n, JSON_DUPLICATES | JSON_LONG | JSON_NAN | JSON_PIECES, NULL, err);
}

/* This is a failure, because skipping such an event could lose a piece of code. */
static void bad_event(struct reader *r, const struct error *err)
{
    char why[256];
    snprintf(why, sizeof why, "in an event: %.200s", err->text);
    reader_fail(r, FAILURE_PROTOCOL, why);
    if (r->failed)
        r->failure.once = !r->content; /* nothing is lost by asking for the whole again */
}

static void take_error(struct reader *r, const struct json *j)
{
    if (r->failed || answer_is_over(r))
        return;
    r->failed = true;
    failure_from_json(&r->failure, 200, j);
    if (r->failure.class == FAILURE_TOOL_USE)
        r->failed_generation = xstrdup(json_str(json_get(json_get(j, "error"), "failed_generation")));
}

#define MODEL_MAX 256

/* Notes the first model that is named, by the event or by the response or result in it. */
static void note_model(struct reader *r, const struct json *j)
{
    static const char *const inside[] = {"response", "result"};
    const char *model = r->model ? NULL : json_str(json_get(j, "model"));

    for (size_t i = 0; !r->model && !model && i < countof(inside); i++)
        model = json_str(json_get(json_get(j, inside[i]), "model"));
    if (model && *model && strlen(model) <= MODEL_MAX)
        r->model = xstrdup(model);
}

/* Reads one event of a stream. */
static void read_event(struct reader *r, const struct json *o)
{
    if (read_responses_is_event(o)) {
        read_responses_event(r, o);
        return;
    }
    read_usage(r, json_get(o, "usage"));
    if (!read_chat(r, o))
        read_workers_ai(r, o);
}

/* Reads a whole answer. */
static void read_answer(struct reader *r, const struct json *o)
{
    read_usage(r, json_get(o, "usage"));
    o = read_workers_ai_result(r, o);
    if (!o || read_chat(r, o))
        return;
    if (json_type(json_get(o, "output")) == JSON_ARRAY)
        read_responses_document(r, o);
    else if (read_workers_ai(r, o))
        return;
    else if (json_get(o, "message"))
        read_chat_message(r, json_get(o, "message"));
    else
        reader_fail(r, FAILURE_NOT_API, "JSON without an answer in it");
}

static bool looks_json(const char *s)
{
    s += strspn(s, " \t\r\n");
    return *s == '{' || *s == '[';
}

/* When several data lines together are not JSON, each of them may be. */
static void try_lines(struct reader *r, const struct sse_event *e)
{
    struct error err = {0};
    for (const char *s = e->data, *end = s + e->len; s < end;) {
        const char *lf = memchr(s, '\n', (size_t)(end - s)), *stop = lf ? lf : end;
        autojson struct json *j = parse(s, (size_t)(stop - s), &err);
        if (json_type(j) == JSON_OBJECT)
            failure_is(j) ? take_error(r, j) : read_event(r, j);
        else if (!j && looks_json(s) && !e->at_end)
            bad_event(r, &err);
        s = stop + 1;
    }
}

static void on_sse_event(void *ctx, const struct sse_event *e)
{
    struct reader *r = ctx;
    if (r->done || r->stopped)
        return;
    size_t lead = strspn(e->data, " ");
    if (!e->error && !strncmp(e->data + lead, "[DONE]", 6)) {
        r->done = true;
        return;
    }
    if (r->failed)
        return;
    bool named_error = e->error || !strcmp(e->name, "error");
    struct error err = {0};
    autojson struct json *j = parse(e->data, e->len, &err);
    if (j && json_type(j) == JSON_OBJECT) {
        if (named_error || failure_is(j))
            take_error(r, j);
        else {
            note_model(r, j);
            read_event(r, j);
        }
    } else if (named_error && !e->at_end) {
        reader_fail(r, FAILURE_BUSY, e->data);
    } else if (json_type(j) == JSON_ARRAY && failure_is(json_at(j, 0))) {
        take_error(r, j);
    } else if (!j && memchr(e->data, '\n', e->len)) {
        try_lines(r, e);
    } else if (!j && !e->at_end && looks_json(e->data)) {
        bad_event(r, &err);
    } else if (!j) {
        r->bad++;
    }
}

void reader_init(struct reader *r, const struct reader_sink *sink)
{
    *r = (struct reader){.sink = *sink, .usage = LLM_USAGE_UNKNOWN};
    buf_init(&r->body, READER_DOCUMENT_MAX);
    buf_init(&r->refusal, 1u << 20);
    sse_init(&r->sse, READER_EVENT_MAX, on_sse_event, r);
}

static void read_document(struct reader *r, bool lost)
{
    struct error err = {0};
    autojson struct json *j = parse(buf_str(&r->body), r->body.len, &err);
    if (r->failed)
        return;
    buf_release(&r->body); /* what is read from it may take as much memory again */
    if (!j) {
        reader_fail(r, lost ? FAILURE_TRUNCATED : FAILURE_PROTOCOL, err.text);
        return;
    }
    const struct json *o = json_type(j) == JSON_ARRAY ? json_at(j, 0) : j;
    if (failure_is(o)) {
        take_error(r, o);
        return;
    }
    r->whole = true;
    note_model(r, o);
    read_answer(r, o);
}

/* The first bytes decide, whatever the header says. 0: more are needed. */
static int sniff(const char *s, size_t n, bool first)
{
    static const char *const fields[] = {"data", "event", "id:", "retry", "error", ":"};
    size_t i = 0;
    if (first && n >= 1 && s[0] == '\xef') {
        if (n < 3)
            return 0;
        i = memcmp(s, "\xef\xbb\xbf", 3) ? 0 : 3;
    }
    while (i < n && isspace((unsigned char)s[i]))
        i++;
    if (i == n)
        return 0;
    if (s[i] == '{' || s[i] == '[')
        return READ_JSON;
    int best = READ_OTHER;
    for (size_t k = 0; k < countof(fields); k++) {
        size_t w = strlen(fields[k]), have = n - i;
        if (memcmp(s + i, fields[k], have < w ? have : w))
            continue;
        if (have >= w)
            return READ_SSE;
        best = 0;
    }
    return best;
}

static void trim_front(struct reader *r)
{
    size_t i = !r->trimmed && r->body.len >= 3 && !memcmp(r->body.data, "\xef\xbb\xbf", 3) ? 3 : 0;
    while (i < r->body.len && isspace((unsigned char)r->body.data[i]))
        i++;
    r->trimmed = r->trimmed || i;
    buf_drop(&r->body, i);
}

static void feed_sniff(struct reader *r, const char *p, size_t n)
{
    buf_add(&r->body, p, n);
    int mode = sniff(r->body.data, r->body.len, !r->trimmed);
    if (!mode) {
        trim_front(r); /* blanks before a JSON answer keep the connection alive; they must not add up */
        return;
    }
    r->mode = mode;
    trim_front(r); /* all blanks, as when they come in small pieces */
    if (mode == READ_SSE) {
        if (sse_feed(&r->sse, r->body.data, r->body.len))
            stop_broken(r, EVENT_TOO_BIG);
        buf_release(&r->body);
    }
}

/* Bytes that are enough to recognise the kind of answer. A stream of any length may come in one piece, and
 * must not be kept. */
#define SNIFF_PIECE 4096

static void feed(struct reader *r, const char *p, size_t n)
{
    switch (r->mode) {
    case READ_SNIFF:
        feed_sniff(r, p, n);
        break;
    case READ_JSON:
        if (!buf_add(&r->body, p, n))
            stop_broken(r, "a reply in one piece of more than 16 MiB");
        break;
    case READ_SSE:
        if (sse_feed(&r->sse, p, n))
            stop_broken(r, EVENT_TOO_BIG);
        break;
    case READ_OTHER:
        buf_add(&r->body, p, r->body.len < 65536 ? n : 0); /* enough for the title of a page */
        break;
    }
}

void reader_feed(struct reader *r, const char *p, size_t n)
{
    if (!n || r->done || r->broken || (r->failed && r->mode != READ_SSE))
        return;
    if (n > READER_REPLY_MAX - r->total) {
        stop_broken(r, "a reply larger than 64 MiB");
        return;
    }
    r->total += n;
    for (size_t k; n && !r->broken; p += k, n -= k) {
        k = r->mode == READ_SNIFF && n > SNIFF_PIECE ? SNIFF_PIECE : n;
        feed(r, p, k);
    }
}

/* The end of the text, where it was cut within a character. */
static void end_pieces(struct reader *r, bool lost)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0), thought autorelease(buf_release) = BUF_INIT(0);

    json_join_end(&r->thought_joint, &thought);
    json_join_end(&r->text_joint, &text);
    if (!lost && thought.len)
        r->sink.reasoning(r->sink.ctx, thought.data, thought.len);
    if (!lost && text.len)
        r->sink.text(r->sink.ctx, text.data, text.len);
    call_deltas_join(&r->calls);
}

void reader_end(struct reader *r, bool lost)
{
    if (r->mode == READ_SSE && !r->done && !r->broken && sse_end(&r->sse))
        stop_broken(r, EVENT_TOO_BIG);
    if (r->mode == READ_JSON && !r->failed)
        read_document(r, lost);
    end_pieces(r, lost);
    if ((r->mode == READ_OTHER || r->mode == READ_SNIFF) && !r->failed) {
        r->failed = true;
        struct failure_head head = {.status = 200};
        failure_from_response(&r->failure, &head, buf_str(&r->body), r->body.len);
        if (r->mode == READ_SNIFF && !r->body.len)
            failure_set(&r->failure, FAILURE_TRUNCATED, lost ? "nothing" : "an empty answer");
        r->failure.empty = r->mode == READ_SNIFF && !r->body.len && !lost;
        r->failure.once = r->failure.once || (r->mode == READ_SNIFF && !r->body.len && !lost);
    }
}

bool reader_complete(const struct reader *r)
{
    return !r->failed && (r->done || r->finished || r->whole);
}
