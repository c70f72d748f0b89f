/* read_responses.c - reads the Responses API's answers. Deltas are shown as they come. What they did not
 * bring is taken from the item once it is done, and from the whole response when there were no items before
 * it.
 *
 * The facts are from openai/openai-python, src/openai/types/responses (events, items); request_responses.c
 * says what goes back in a request. A stream ends with response.completed, .incomplete or .failed, not with
 * [DONE]. Calls are told apart by output_index, because some gateways give each event a different item_id.
 * Unknown events are ignored, as the API's description demands.
 */
#include "wire/read_parts.h"

#include <stdio.h>
#include <string.h>

#include "json/json.h"
#include "base/mem.h"
#include "wire/reader.h"

#define ITEMS_MOST 1024 /* any further items share the last one */

static struct responses_item *item_of(struct reader *r)
{
    return &r->responses.item[r->responses.at];
}

/* Finds the item that an event belongs to. When the event gives no place, it is the previous one; fresh: a
 * new one begins. */
static void find_item(struct reader *r, const struct json *event, bool fresh)
{
    const struct json *index = json_get(event, "output_index");
    int64_t place = json_type(index) == JSON_NUMBER ? json_int(index, -1) : -1;
    size_t i = r->responses.n_items;
    if (place < 0 && !fresh && i)
        return;
    while (place >= 0 && i && r->responses.item[i - 1].place != place)
        i--;
    if (place >= 0 && i) {
        r->responses.at = i - 1;
        if (fresh)
            item_of(r)->said = item_of(r)->thought = false;
        return;
    }
    if (r->responses.n_items < ITEMS_MOST) {
        r->responses.item = xreallocarray(r->responses.item, r->responses.n_items + 1,
                                          sizeof *r->responses.item);
        r->responses.n_items++;
    }
    r->responses.at = r->responses.n_items - 1;
    r->responses.item[r->responses.at] = (struct responses_item){.place = place};
}

/* ---- text, refusal, reasoning: from a delta or from a whole part ---- */

static void add_item_text(struct reader *r, const char *s)
{
    if (!*s)
        return;
    if (r->responses.gap)
        read_text(r, "\n\n");
    r->responses.gap = false;
    r->responses.said = item_of(r)->said = true;
    read_text(r, s);
}

static void add_refusal(struct reader *r, const char *s)
{
    if (!*s)
        return;
    r->content++;
    item_of(r)->said = true;
    buf_addstr(&r->refusal, s);
}

/* A summary and the reasoning itself may both come; only whichever comes first is shown. */
static void think(struct reader *r, const char *s, enum responses_thought kind)
{
    if (!*s || (r->responses.thought && r->responses.thought != kind))
        return;
    if (r->responses.thought_gap)
        read_reasoning(r, "\n\n", NULL);
    r->responses.thought_gap = false;
    r->responses.thought = kind;
    item_of(r)->thought = true;
    read_reasoning(r, s, NULL);
}

static const struct json *parts(const struct json *item, const char *key)
{
    const struct json *list = json_get(item, key);
    return json_type(list) == JSON_ARRAY ? json_first(list) : NULL;
}

static void message_parts(struct reader *r, const struct json *item)
{
    if (json_str(json_get(item, "content")))
        add_item_text(r, json_text(json_get(item, "content")));
    for (const struct json *p = parts(item, "content"); p; p = json_next(p)) {
        if (json_is(p, "refusal"))
            add_refusal(r, json_text(json_get(p, "refusal")));
        else
            add_item_text(r, json_text(json_get(p, "text")));
    }
}

static void reasoning_parts(struct reader *r, const struct json *item)
{
    for (const struct json *p = parts(item, "content"); p; p = json_next(p))
        think(r, json_text(json_get(p, "text")), RESPONSES_TEXT);
    for (const struct json *p = parts(item, "summary"); p; p = json_next(p)) {
        r->responses.thought_gap = r->responses.thought != 0;
        think(r, json_text(json_get(p, "text")), RESPONSES_SUMMARY);
    }
    r->responses.thought_gap = false;
}

/* ---- items ---- */

static void begin_item(struct reader *r, const struct json *event, const struct json *item)
{
    r->responses.items = true;
    find_item(r, event, true);
    if (json_is(item, "message"))
        r->responses.gap = r->responses.said;
    else if (json_is(item, "reasoning"))
        r->responses.thought_gap = r->responses.thought != 0;
}

static void end_item(struct reader *r, const struct json *event, const struct json *item)
{
    r->responses.items = true;
    find_item(r, event, false);
    if (json_is(item, "function_call"))
        r->content += call_deltas_add_item(&r->calls, event, item, true);
    else if (json_is(item, "message") && !item_of(r)->said)
        message_parts(r, item);
    else if (json_is(item, "reasoning") && !item_of(r)->thought)
        reasoning_parts(r, item);
    reasoning_items_keep(&r->reasoning_items, item, item_of(r)->place);
    if (item_of(r)->place < 0)
        find_item(r, NULL, true); /* what comes without a place belongs to another item */
}

static void whole_items(struct reader *r, const struct json *response)
{
    for (const struct json *e = parts(response, "output"); e; e = json_next(e)) {
        begin_item(r, NULL, e);
        if (json_is(e, "function_call")) {
            const char *id = json_str(json_get(e, "call_id"));
            r->content++;
            call_deltas_add_whole(&r->calls, id ? id : json_str(json_get(e, "id")),
                                  json_str(json_get(e, "name")), json_get(e, "arguments"));
            reasoning_items_keep(&r->reasoning_items, e, -1);
        } else {
            end_item(r, NULL, e);
        }
    }
}

static void finish_response(struct reader *r, const struct json *response)
{
    const char *reason = json_text(json_get(json_get(response, "incomplete_details"), "reason"));
    read_usage(r, json_get(response, "usage"));
    if (strcmp(json_text(json_get(response, "status")), "incomplete") && !*reason)
        return;
    snprintf(r->finish, sizeof r->finish, "%s",
             strcmp(reason, "content_filter") ? "length" : "content_filter");
}

/* ---- events ---- */

static void on_added(struct reader *r, const struct json *o)
{
    const struct json *item = json_get(o, "item");
    begin_item(r, o, item);
    if (json_is(item, "function_call"))
        r->content += call_deltas_add_item(&r->calls, o, item, false);
}

static void on_item_done(struct reader *r, const struct json *o)
{
    end_item(r, o, json_get(o, "item"));
}

static void on_text_delta(struct reader *r, const struct json *o)
{
    r->responses.items = true;
    add_item_text(r, json_text(json_get(o, "delta")));
}

static void on_refusal(struct reader *r, const struct json *o)
{
    r->responses.items = true;
    add_refusal(r, json_text(json_get(o, "delta")));
}

static void on_summary_part(struct reader *r, const struct json *o)
{
    (void)o;
    r->responses.thought_gap = r->responses.thought != 0;
}

static void on_summary(struct reader *r, const struct json *o)
{
    think(r, json_text(json_get(o, "delta")), RESPONSES_SUMMARY);
}
static void on_reasoning_delta(struct reader *r, const struct json *o)
{
    think(r, json_text(json_get(o, "delta")), RESPONSES_TEXT);
}

static void on_arguments(struct reader *r, const struct json *o)
{
    r->responses.items = true;
    r->content += call_deltas_add_item_arguments(&r->calls, o, json_get(o, "delta"), false);
}

static void on_arguments_done(struct reader *r, const struct json *o)
{
    r->content += call_deltas_add_item_arguments(&r->calls, o, json_get(o, "arguments"), true);
}

static void on_end(struct reader *r, const struct json *o)
{
    const struct json *response = json_get(o, "response");
    r->content++;
    if (!r->responses.items)
        whole_items(r, response);
    finish_response(r, response);
    if (json_is(o, "response.incomplete") && !*r->finish)
        snprintf(r->finish, sizeof r->finish, "length");
    r->done = true;
}

static void on_failed(struct reader *r, const struct json *o)
{
    const struct json *response = json_get(o, "response");
    r->failed = true;
    failure_from_json(&r->failure, 200, response ? response : o);
}

static const struct {
    const char *type;
    void (*read)(struct reader *r, const struct json *o);
} events[] = {
    {"response.output_text.delta", on_text_delta},
    {"response.function_call_arguments.delta", on_arguments},
    {"response.reasoning_summary_text.delta", on_summary},
    {"response.reasoning_text.delta", on_reasoning_delta},
    {"response.refusal.delta", on_refusal},
    {"response.reasoning_summary_part.added", on_summary_part},
    {"response.function_call_arguments.done", on_arguments_done},
    {"response.output_item.added", on_added},
    {"response.output_item.done", on_item_done},
    {"response.completed", on_end},
    {"response.incomplete", on_end},
    {"response.failed", on_failed},
    {"error", on_failed},
};

bool read_responses_is_event(const struct json *o)
{
    const char *type = json_text(json_get(o, "type"));
    return !strncmp(type, "response.", 9) || !strcmp(type, "error");
}

void read_responses_event(struct reader *r, const struct json *o)
{
    for (size_t i = 0; i < countof(events); i++)
        if (json_is(o, events[i].type)) {
            find_item(r, o, false);
            events[i].read(r, o);
            return;
        }
}

void read_responses_document(struct reader *r, const struct json *o)
{
    whole_items(r, o);
    finish_response(r, o);
}
