/* request.c - what all bodies share (instructions, tools, turns, effort, limits), and chat completions with
 * that API's calls and results.
 *
 * RULE: Reasoning items go back only to the service that they came from (request_turn), and in their place.
 */
#include "wire/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fnv.h"
#include "json/json.h"
#include "base/mem.h"
#include "wire/api.h"
#include "wire/effort.h"
#include "wire/request_parts.h"

static struct json *text_parts(const char *text)
{
    return json_array_of(json_object_of({"type", json_string("output_text")}, {"text", json_string(text)},
                                        {"annotations", json_array()}));
}

struct json *request_message(struct request_out *o, const char *role, const char *content)
{
    bool parts = o->parts && !strcmp(role, "assistant");
    /* The content is never null, because Workers AI and Gemini refuse that. */
    struct json *m = json_object_of({"type", parts ? json_string("message") : NULL},
                                    {"role", json_string(role)},
                                    {"content", parts ? text_parts(content) : json_string(content)});
    json_add(o->messages, m);
    o->prompt += strlen(content) + 16;
    return m;
}

static bool nine(const char *id)
{
    return strlen(id) == 9
           && strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") == 9;
}

/* Gives an id that another service made a form that all services accept (Mistral: nine letters and digits).
 * Equal ids give equal results. */
static void foreign_id(char out[10], const char *id, size_t turn)
{
    static const char set[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    uint64_t h = fnv1a(FNV_START ^ turn, id);
    for (int i = 0; i < 9; i++, h /= 36)
        out[i] = set[h % 36];
    out[9] = '\0';
}

struct json *request_id(const char *id, const struct request_turn *t)
{
    char mapped[10];
    if (!t->own && !nine(id)) {
        foreign_id(mapped, id, t->index);
        id = mapped;
    }
    return json_string(id);
}

struct json *request_parsed(const char *text)
{
    return text ? json_parse(text, strlen(text), JSON_DUPLICATES, NULL, NULL) : NULL;
}

struct request_turn request_turn(const struct request_out *o, size_t i)
{
    const struct conversation *c = o->q->conversation;
    struct request_turn t = {.t = &c->v[i], .open = i > o->question};
    while (i && c->v[i].role == TURN_RESULT)
        i--;
    const char *from = c->v[i].origin;
    t.index = i;
    t.own = from && o->s->origin && !strcmp(from, o->s->origin);
    return t;
}

bool request_in_blocks(const struct request_out *o)
{
    return o->s->learnt->dialect == DIALECT_BLOCKS;
}

void request_nudge(struct request_out *o)
{
    if (!o->q->about)
        return;
    request_message(o, "assistant", o->q->about);
    request_message(o, "user", o->q->objection ? o->q->objection : o->q->prompts->nudge);
}

const char *request_system(const struct request_out *o)
{
    const struct prompts *p = o->q->prompts;
    const char *system = request_in_blocks(o) ? p->system_blocks : p->system_native;
    return system && *system ? system : NULL;
}

#define THOUGHT_FIELD "reasoning_content"

/* OpenRouter and MiniMax give a list of pieces, which goes back as it is. A gateway may have answered with
 * the items of Responses, which must not go back. */
static bool thought_pieces(struct request_out *o, struct json *m, const struct turn *t)
{
    autojson struct json *kept = request_parsed(t->reasoning_items);
    const char *type = json_str(json_get(json_at(kept, 0), "type"));
    if (!type || strncmp(type, "reasoning.", 10))
        return false;
    json_set(m, "reasoning_details", json_copy(kept));
    o->prompt += strlen(t->reasoning_items);
    return true;
}

/* Sends the reasoning under the name that it came under. Where it is required, it is required as
 * reasoning_content, even beside a list of pieces. */
static void thoughts(struct request_out *o, struct json *m, const struct turn *t, bool required)
{
    const char *field = required ? THOUGHT_FIELD : t->reasoning_field;
    if ((thought_pieces(o, m, t) && !required) || !t->reasoning || !field)
        return;
    json_set_str(m, field, t->reasoning);
    o->prompt += strlen(t->reasoning);
}

/* Gemini refuses a call without its signature. The stand-in for calls of another model is Google's own:
 * ai.google.dev/gemini-api/docs/thought-signatures. */
static struct json *stand_in(void)
{
    return json_object_of(
        {"google", json_object_of({"thought_signature", json_string("skip_thought_signature_validator")})});
}

/* Written as the models write it, with a line break on either side; line breaks that it came with are not
 * doubled. */
static char *thought_text(const struct turn *t)
{
    const char *from = t->reasoning + strspn(t->reasoning, "\n");
    size_t n = strlen(from);
    while (n && from[n - 1] == '\n')
        n--;
    return xasprintf("<think>\n%.*s\n</think>\n\n%s", (int)n, from, t->text);
}

/* Adds the reasoning that goes back with one message. */
static void add_thoughts(struct request_out *o, struct json *m, const struct request_turn *r)
{
    const struct llm_learnt *learnt = o->s->learnt;
    const struct turn *t = r->t;
    bool required = learnt->thoughts_required || o->s->o->facts.reasoning_back == BACK_REQUIRED;
    enum reasoning_back back = required ? BACK_REQUIRED : o->s->o->facts.reasoning_back;
    if (r->own && back == BACK_TEXT && r->open && t->reasoning && !t->reasoning_field) {
        autofree char *text = thought_text(t);
        json_set_str(m, "content", text);
        o->prompt += strlen(t->reasoning);
    } else if (r->own && !learnt->no_items && r->index >= learnt->stale && back != BACK_NEVER
               && (t->n_calls || back == BACK_ALWAYS || required)) {
        thoughts(o, m, t, required);
    }
    if (required && !json_get(m, THOUGHT_FIELD))
        json_set_str(m, THOUGHT_FIELD, " "); /* an empty one is refused as well */
}

static void add_calls(struct request_out *o, struct json *m, const struct request_turn *r)
{
    struct json *list = json_array();
    for (size_t i = 0; i < r->t->n_calls; i++) {
        const struct call *k = &r->t->calls[i];
        struct json *extra = r->own ? request_parsed(k->extra) : NULL;
        if (!extra && o->s->o->service.signatures && i == 0)
            extra = stand_in();
        json_add(list, json_object_of({"id", request_id(k->id, r)}, {"type", json_string("function")},
                                      {"function", json_object_of({"name", json_string(k->name)},
                                                                  {"arguments", json_string(k->arguments)})},
                                      {"extra_content", extra}));
        o->prompt += strlen(k->arguments) + strlen(k->name) + 32;
    }
    json_set(m, "tool_calls", list);
}

const struct call *request_call(const struct turn *t, const char *id)
{
    for (size_t i = 0; i < t->n_calls; i++)
        if (!strcmp(t->calls[i].id, id))
            return &t->calls[i];
    return NULL;
}

static void native_message(struct request_out *o, const struct request_turn *r, struct request_style style)
{
    static const char *const roles[] = {[TURN_ASSISTANT] = "assistant", [TURN_RESULT] = "tool"};
    const struct turn *t = r->t;
    autofree char *text = request_text(o, t);
    request_images(o, t);
    if (t->role == TURN_USER) {
        request_user(o, text);
        return;
    }
    struct json *m = request_message(o, roles[t->role], text);
    struct json *parts = t->role == TURN_RESULT && o->s->o->service.result_images ? request_parts_of(o, text)
                                                                                  : NULL;
    if (parts)
        json_set(m, "content", parts);
    if (t->role == TURN_RESULT) {
        const struct call *call = request_call(&o->q->conversation->v[r->index], t->call_id);
        json_set(m, "tool_call_id", request_id(t->call_id, r));
        if (style.names && call)
            json_set_str(m, "name", call->name);
    } else if (t->role == TURN_ASSISTANT) {
        if (style.thoughts)
            add_thoughts(o, m, r);
        if (t->n_calls)
            add_calls(o, m, r);
    }
}

void request_messages(struct request_out *o, struct request_style style)
{
    if (request_system(o))
        request_message(o, "system", request_system(o));
    if (request_in_blocks(o))
        request_blocks(o);
    for (size_t i = 0; !request_in_blocks(o) && i < o->q->conversation->n; i++) {
        struct request_turn r = request_turn(o, i);
        native_message(o, &r, style);
        /* behind the last result, since nothing may stand between two of them */
        if (r.t->role == TURN_RESULT
            && (i + 1 == o->q->conversation->n || o->q->conversation->v[i + 1].role != TURN_RESULT))
            request_user(o, NULL);
    }
    request_nudge(o);
}

struct json *request_schema(struct request_out *o, const struct llm_tool *t)
{
    struct json *p = request_parsed(t->parameters);
    o->prompt += strlen(t->description) + strlen(t->parameters) + 64;
    return p ? p : json_object();
}

void request_tools(struct request_out *o)
{
    if (!o->q->tools.n || request_in_blocks(o))
        return;
    struct json *list = json_array();
    for (size_t i = 0; i < o->q->tools.n; i++) {
        const struct llm_tool *t = &o->q->tools.v[i];
        struct json *f = json_object_of({"name", json_string(t->name)},
                                        {"description", json_string(t->description)},
                                        {"parameters", request_schema(o, t)});
        json_add(list, json_object_of({"type", json_string("function")}, {"function", f}));
    }
    json_set(o->body, "tools", list);
}

/* When nothing but the conversation decides, a reply that came twice comes a third time. */
#define TEMPERATURE_VARIED 0.7

void request_temperature(struct request_out *o)
{
    double t = o->s->o->facts.temperature;
    if (!o->s->learnt->no_temperature && !o->s->o->facts.no_temperature && t >= 0)
        json_set(o->body, "temperature",
                 json_number(o->q->vary && t < TEMPERATURE_VARIED ? TEMPERATURE_VARIED : t));
}

static void set_member(struct json *body, const char *key, const char *member, struct json *value)
{
    /* the other members that the provider's entry sets stay */
    const struct json *there = json_get(body, key);
    struct json *o = json_type(there) == JSON_OBJECT ? json_copy(there) : json_object();
    json_set(o, member, value);
    json_set(body, key, o);
}

/* Where thinking is switched on or off, the level is sent too for models that are known to have levels. */
void request_thinking(struct request_out *o)
{
    const char *effort = request_effort(o->s->o, o->s->learnt);
    enum thinking how = o->s->o->facts.thinking;
    bool off = effort && !strcmp(effort, "none");
    if (!effort)
        return;
    switch (how) {
    case THINKING_REASONING:
        set_member(o->body, "reasoning", "effort", json_string(effort));
        return;
    case THINKING_ENABLED:
        set_member(o->body, "reasoning", "enabled", json_boolean(!off));
        break;
    case THINKING_ENABLE:
        json_set_bool(o->body, "enable_thinking", !off);
        break;
    case THINKING_TYPE:
    case THINKING_ADAPTIVE:
        set_member(o->body, "thinking", "type",
                   json_string(!off                          ? how == THINKING_TYPE ? "enabled" : "adaptive"
                               : o->s->o->facts.thinking_off ? o->s->o->facts.thinking_off
                                                             : "disabled"));
        break;
    case THINKING_EFFORT:
    case THINKING_NONE:
        break;
    }
    if (how == THINKING_EFFORT || (!off && request_has_levels(o->s->o)))
        json_set_str(o->body, "reasoning_effort", effort);
}

/* Adds the fields from the provider's entry. They come first, so that ours override them. */
static void add_fields(struct json *body, const char *fields)
{
    autojson struct json *more = request_parsed(fields);
    json_copy_all(body, more);
}

void request_chat(struct request_out *o)
{
    const struct request_shape *s = o->s;
    json_set_str(o->body, "model", s->o->model);
    request_messages(o, (struct request_style){.thoughts = true});
    json_set(o->body, "messages", o->messages);
    request_tools(o);
    if (s->max_tokens > 0 && s->learnt->max_tokens_field != MAX_TOKENS_NONE)
        json_set_int(o->body,
                     s->learnt->max_tokens_field == MAX_TOKENS_NEW ? "max_completion_tokens" : "max_tokens",
                     s->max_tokens);
    request_temperature(o);
    request_thinking(o);
    json_set_bool(o->body, "stream", s->stream);
    if (s->stream && !s->learnt->no_stream_options)
        json_set(o->body, "stream_options", json_object_of({"include_usage", json_boolean(true)}));
}

char *request_body(const struct llm_request *q, const struct request_shape *s, size_t *prompt)
{
    autojson struct json *body = json_object();
    struct request_out o = {.q = q, .s = s, .body = body, .messages = json_array(), .user = BUF_INIT(0)};
    for (size_t i = 0; i < q->conversation->n; i++)
        if (q->conversation->v[i].role == TURN_USER)
            o.question = i;
    add_fields(body, s->o->service.body);
    api_of(s->o->api)->write(&o);
    buf_release(&o.user);
    if (prompt)
        *prompt = o.prompt;
    return json_print(body);
}

const char *request_effort(const struct llm_options *o, const struct llm_learnt *learnt)
{
    bool takes = o->facts.efforts || o->facts.thinking != THINKING_EFFORT || !api_of(o->api)->own_parameters;

    if (o->facts.no_reasoning || o->facts.thinking == THINKING_NONE || !takes)
        return NULL;
    return learnt->effort_known ? learnt->effort : effort_nearest(o->facts.efforts, o->reasoning_effort);
}

bool request_has_levels(const struct llm_options *o)
{
    return o->facts.efforts || o->facts.thinking == THINKING_EFFORT || o->facts.thinking == THINKING_REASONING
           || o->api == API_RESPONSES;
}

int request_max_tokens(const struct llm_options *o, bool loopback, int context)
{
    if (o->max_tokens <= 0 && !o->service.send_max_tokens && !loopback && !api_of(o->api)->bounded)
        return 0;
    int n = o->max_tokens > 0 ? o->max_tokens : o->facts.max_tokens > 0 ? o->facts.max_tokens : 4096;
    return context > 0 && n > context / 4 ? (context / 4 > 0 ? context / 4 : 1) : n;
}
