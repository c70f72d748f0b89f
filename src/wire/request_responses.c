/* request_responses.c - a conversation as the input items of the Responses API.
 *
 * Nothing is stored by the service (store: false), so reasoning comes encrypted and goes back as it came, in
 * its place in front of the call or text that it belongs to: OpenAI refuses the one without the other, both
 * ways ("Item 'fc_...' of type 'function_call' was provided without its required 'reasoning' item",
 * continue#10018). What cannot stand by itself is left out together with the ids of its turn, for an id alone
 * is looked for among stored items ("Items are not persisted when `store` is set to false",
 * openai-agents-js#546). Shapes: openai/openai-python,
 * src/openai/types/responses/response_input_item_param.py.
 */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "wire/request_parts.h"

#define LEAST_TOKENS 16 /* the API refuses a smaller max_output_tokens */

static const char *str(const struct json *j)
{
    return json_str(j) ? json_str(j) : "";
}

static bool is(const struct json *o, const char *type)
{
    return !strcmp(str(json_get(o, "type")), type);
}

static struct json *item(struct request_out *o, const char *type)
{
    struct json *m = json_object();
    json_set_str(m, "type", type);
    json_add(o->messages, m);
    return m;
}

static const struct call *call_of(const struct turn *t, const char *id)
{
    for (size_t i = 0; i < t->n_calls; i++)
        if (!strcmp(t->calls[i].id, id))
            return &t->calls[i];
    return NULL;
}

/* Everything that was given to be carried over can be: no reasoning without its content, no call that the
 * turn does not have. */
static bool stands(const struct json *kept, const struct turn *t)
{
    for (const struct json *e = json_first(kept); e; e = json_next(e)) {
        if (is(e, "reasoning") && !*str(json_get(e, "encrypted_content"))
            && !json_size(json_get(e, "content")))
            return false;
        if (is(e, "function_call") && !call_of(t, str(json_get(e, "call_id"))))
            return false;
    }
    return kept != NULL;
}

static struct json *kept_of(const struct turn *t, const struct request_shape *s, size_t index)
{
    if (s->no_items || index < s->stale || !t->reasoning_items || !request_own(t, s->origin))
        return NULL;
    struct json *kept = json_parse(t->reasoning_items, strlen(t->reasoning_items), JSON_DUPLICATES, NULL,
                                   NULL);
    if (stands(kept, t))
        return kept;
    json_free(kept);
    return NULL;
}

static void add_call(struct request_out *o, const struct call *k, const char *id, bool own, size_t index)
{
    struct json *m = item(o, "function_call");
    if (id)
        json_set_str(m, "id", id);
    request_set_id(m, "call_id", k->id, own, index);
    json_set_str(m, "name", k->name);
    json_set_str(m, "arguments", k->arguments);
    o->prompt += strlen(k->arguments) + strlen(k->name) + 32;
}

/* With its id it is the output item that it was. */
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

/* In the order in which they came; what the turn has beside them, at the end. */
static void kept_items(struct request_out *o, const struct turn *t, const struct json *kept, size_t index)
{
    bool said = false;
    for (const struct json *e = json_first(kept); e; e = json_next(e)) {
        if (is(e, "reasoning")) {
            json_add(o->messages, json_copy(e));
        } else if (is(e, "function_call")) {
            add_call(o, call_of(t, str(json_get(e, "call_id"))), json_str(json_get(e, "id")), true, index);
        } else if (is(e, "message") && !said) {
            add_text(o, t->text, e);
            said = true;
        }
    }
    if (!said)
        add_text(o, t->text, NULL);
    for (size_t i = 0; i < t->n_calls; i++) {
        bool there = false;
        for (const struct json *e = json_first(kept); e && !there; e = json_next(e))
            there = is(e, "function_call") && !strcmp(str(json_get(e, "call_id")), t->calls[i].id);
        if (!there)
            add_call(o, &t->calls[i], NULL, true, index);
    }
}

static void assistant(struct request_out *o, const struct turn *t, const struct request_shape *s,
                      size_t index, bool counts)
{
    autojson struct json *kept = kept_of(t, s, index);
    if (kept) {
        kept_items(o, t, kept, index);
        o->prompt += counts ? strlen(t->reasoning_items) : 0;
        return;
    }
    add_text(o, t->text, NULL);
    for (size_t i = 0; i < t->n_calls; i++)
        add_call(o, &t->calls[i], NULL, request_own(t, s->origin), index);
}

static void input(struct request_out *o, const struct llm_request *q, const struct request_shape *s)
{
    const struct conversation *c = q->conversation;
    /* reasoning of earlier questions is taken off by the service */
    size_t index = 0, question = request_question(c);
    for (size_t i = 0; i < c->n; i++) {
        const struct turn *t = &c->v[i];
        if (t->role == TURN_USER) {
            request_message(o, "user", t->text);
        } else if (t->role == TURN_ASSISTANT) {
            index = i;
            assistant(o, t, s, index, i > question);
        } else {
            struct json *m = item(o, "function_call_output");
            request_set_id(m, "call_id", t->call_id, request_own(&c->v[index], s->origin), index);
            json_set_str(m, "output", t->text);
            o->prompt += strlen(t->text) + 16;
        }
    }
}

/* strict is on where nothing is said, which would have the arguments of every model fit the schema word by
 * word. */
static void tools(struct request_out *o, struct json *body, const struct llm_request *q)
{
    if (!q->tools.n)
        return;
    struct json *list = json_array();
    for (size_t i = 0; i < q->tools.n; i++) {
        struct json *t = json_object();
        json_set_str(t, "type", "function");
        json_set_str(t, "name", q->tools.v[i].name);
        json_set_str(t, "description", q->tools.v[i].description);
        json_set(t, "parameters", request_schema(o, &q->tools.v[i]));
        json_set_bool(t, "strict", false);
        json_add(list, t);
    }
    json_set(body, "tools", list);
}

static void reasoning(struct json *body, const struct request_shape *s)
{
    bool summary = s->o->reasoning_summary && !s->no_summary;
    if (s->o->no_reasoning)
        summary = false;
    if (s->effort || summary) {
        struct json *r = json_object();
        if (s->effort)
            json_set_str(r, "effort", s->effort);
        if (summary)
            json_set_str(r, "summary", "auto");
        json_set(body, "reasoning", r);
    }
    if (s->no_encrypted || s->o->no_reasoning || s->blocks)
        return;
    struct json *include = json_array();
    json_add(include, json_string("reasoning.encrypted_content"));
    json_set(body, "include", include);
}

void request_responses(struct request_out *o, struct json *body, const struct llm_request *q,
                       const struct request_shape *s)
{
    const char *system = request_system(q, s);
    json_set_str(body, "model", s->o->model);
    o->parts = true;
    if (system) {
        json_set_str(body, "instructions", system);
        o->prompt += strlen(system) + 16;
    }
    if (s->blocks)
        request_blocks(o, q);
    else
        input(o, q, s);
    if (s->nudged_text) {
        request_message(o, "assistant", s->nudged_text);
        request_message(o, "user", q->prompts->nudge);
    }
    json_set(body, "input", o->messages);
    if (!s->blocks)
        tools(o, body, q);
    if (s->max_tokens > 0 && s->max_tokens_field == MAX_TOKENS_OLD)
        json_set_int(body, "max_output_tokens", s->max_tokens < LEAST_TOKENS ? LEAST_TOKENS : s->max_tokens);
    request_temperature(body, q, s);
    reasoning(body, s);
    json_set_bool(body, "store", false);
    json_set_bool(body, "stream", s->stream);
}
