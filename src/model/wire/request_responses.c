/* request_responses.c - writes a conversation as the input items of the Responses API.
 *
 * The service stores nothing (store: false), so reasoning comes encrypted and goes back as it came, in its
 * place before the call or text that it belongs to. OpenAI refuses either of them without the other ("Item
 * 'fc_...' of type 'function_call' was provided without its required 'reasoning' item", continue#10018). An
 * item that cannot stand by itself is left out together with the ids of its turn, because an id alone is
 * looked up among stored items ("Items are not persisted when `store` is set to false",
 * openai-agents-js#546). Shapes: openai/openai-python,
 * src/openai/types/responses/response_input_item_param.py.
 */
#include <string.h>

#include "json/json.h"
#include "base/mem.h"
#include "wire/request_parts.h"

#define LEAST_TOKENS 16 /* the API refuses a smaller max_output_tokens */

/* True when everything that was kept can be carried over: no reasoning without its content, no call that the
 * turn does not have. */
static bool stands(const struct json *kept, const struct turn *t)
{
    for (const struct json *e = json_first(kept); e; e = json_next(e)) {
        if (json_is(e, "reasoning") && !*json_text(json_get(e, "encrypted_content"))
            && !json_size(json_get(e, "content")))
            return false;
        if (json_is(e, "function_call") && !request_call(t, json_text(json_get(e, "call_id"))))
            return false;
    }
    return kept != NULL;
}

static struct json *kept_of(const struct request_out *o, const struct request_turn *r)
{
    const struct llm_learnt *learnt = o->s->learnt;
    if (learnt->no_items || r->index < learnt->stale || !r->own)
        return NULL;
    autojson struct json *kept = request_parsed(r->t->reasoning_items);
    return stands(kept, r->t) ? steal(&kept) : NULL;
}

/* id is that of the output item that was the call, or NULL. */
static void add_call(struct request_out *o, const struct request_turn *r, const struct call *k,
                     const char *id)
{
    json_add(o->messages,
             json_object_of({"type", json_string("function_call")}, {"id", id ? json_string(id) : NULL},
                            {"call_id", request_id(k->id, r)}, {"name", json_string(k->name)},
                            {"arguments", json_string(k->arguments)}));
    o->prompt += strlen(k->arguments) + strlen(k->name) + 32;
}

/* With an id, the text is sent as the output item that it was. */
static void add_text(struct request_out *o, const char *text, const struct json *place)
{
    const char *id = json_str(json_get(place, "id")), *phase = json_str(json_get(place, "phase"));
    if (!*text)
        return;
    struct json *m = request_message(o, "assistant", text);
    if (id) {
        json_set_str(m, "id", id);
        json_set_str(m, "status", "completed");
    }
    if (phase)
        json_set_str(m, "phase", phase);
}

static bool has_call(const struct json *kept, const char *id)
{
    for (const struct json *e = json_first(kept); e; e = json_next(e))
        if (json_is(e, "function_call") && !strcmp(json_text(json_get(e, "call_id")), id))
            return true;
    return false;
}

/* Writes what was kept in the order in which it came, then what else the turn has. */
static void assistant(struct request_out *o, const struct request_turn *r)
{
    const struct turn *t = r->t;
    autojson struct json *kept = kept_of(o, r);
    bool said = false;
    for (const struct json *e = json_first(kept); e; e = json_next(e)) {
        if (json_is(e, "reasoning")) {
            json_add(o->messages, json_copy(e));
        } else if (json_is(e, "function_call")) {
            add_call(o, r, request_call(t, json_text(json_get(e, "call_id"))), json_str(json_get(e, "id")));
        } else if (json_is(e, "message") && !said) {
            add_text(o, t->text, e);
            said = true;
        }
    }
    if (!said)
        add_text(o, t->text, NULL);
    for (size_t i = 0; i < t->n_calls; i++)
        if (!has_call(kept, t->calls[i].id))
            add_call(o, r, &t->calls[i], NULL);
    if (kept && r->open) /* the service drops the reasoning of earlier questions */
        o->prompt += strlen(t->reasoning_items);
}

static void add_result_item(struct request_out *o, const struct request_turn *r, const char *text)
{
    struct json *parts = request_parts_of(o, text);
    json_add(o->messages, json_object_of({"type", json_string("function_call_output")},
                                         {"call_id", request_id(r->t->call_id, r)},
                                         {"output", parts ? parts : json_string(text)}));
    o->prompt += strlen(text) + 16;
}

static void input(struct request_out *o)
{
    for (size_t i = 0; i < o->q->conversation->n; i++) {
        struct request_turn r = request_turn(o, i);
        autofree char *text = request_text(o, r.t);
        request_images(o, r.t);
        if (r.t->role == TURN_USER)
            request_user(o, text);
        else if (r.t->role == TURN_ASSISTANT)
            assistant(o, &r);
        else
            add_result_item(o, &r, text);
    }
}

/* strict is on by default, which would force the arguments of every model to fit the schema exactly. */
static void tools(struct request_out *o)
{
    if (!o->q->tools.n || request_in_blocks(o))
        return;
    struct json *list = json_array();
    for (size_t i = 0; i < o->q->tools.n; i++) {
        const struct llm_tool *t = &o->q->tools.v[i];
        json_add(list, json_object_of({"type", json_string("function")}, {"name", json_string(t->name)},
                                      {"description", json_string(t->description)},
                                      {"parameters", request_schema(o, t)}, {"strict", json_boolean(false)}));
    }
    json_set(o->body, "tools", list);
}

static void reasoning(struct request_out *o)
{
    const struct request_shape *s = o->s;
    const char *effort = request_effort(s->o, s->learnt);
    bool summary = s->o->reasoning_summary && !s->learnt->no_summary && !s->o->facts.no_reasoning;
    if (effort || summary)
        json_set(o->body, "reasoning",
                 json_object_of({"effort", effort ? json_string(effort) : NULL},
                                {"summary", summary ? json_string("auto") : NULL}));
    if (!s->learnt->no_encrypted && !s->o->facts.no_reasoning && !request_in_blocks(o))
        json_set(o->body, "include", json_array_of(json_string("reasoning.encrypted_content")));
}

void request_responses(struct request_out *o)
{
    const struct request_shape *s = o->s;
    const char *system = request_system(o);
    json_set_str(o->body, "model", s->o->model);
    o->parts = true;
    if (system) {
        json_set_str(o->body, "instructions", system);
        o->prompt += strlen(system) + 16;
    }
    if (request_in_blocks(o))
        request_blocks(o);
    else
        input(o);
    request_nudge(o);
    json_set(o->body, "input", o->messages);
    tools(o);
    if (s->max_tokens > 0 && s->learnt->max_tokens_field == MAX_TOKENS_OLD)
        json_set_int(o->body, "max_output_tokens",
                     s->max_tokens < LEAST_TOKENS ? LEAST_TOKENS : s->max_tokens);
    request_temperature(o);
    reasoning(o);
    json_set_bool(o->body, "store", false);
    json_set_bool(o->body, "stream", s->stream);
}
