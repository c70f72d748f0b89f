/* request.c - see request.h. What all bodies share, and chat completions: calls and results as that API has
 * them. */
#include "wire/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "wire/api.h"
#include "wire/request_parts.h"

struct json *request_text_parts(const char *text)
{
    struct json *list = json_array(), *part = json_object();
    json_set_str(part, "type", "output_text");
    json_set_str(part, "text", text);
    json_set(part, "annotations", json_array());
    json_add(list, part);
    return list;
}

struct json *request_message(struct request_out *o, const char *role, const char *content)
{
    struct json *m = json_object();
    bool parts = o->parts && !strcmp(role, "assistant");
    if (parts)
        json_set_str(m, "type", "message");
    json_set_str(m, "role", role);
    /* never null: Workers AI and Gemini refuse that */
    json_set(m, "content", parts ? request_text_parts(content) : json_string(content));
    json_add(o->messages, m);
    o->prompt += strlen(content) + 16;
    return m;
}

static bool nine(const char *id)
{
    return strlen(id) == 9
           && strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") == 9;
}

/* Another service made this id: give it a form that all accept (Mistral: nine letters and digits). The same
 * id gives the same. */
static void foreign_id(char out[10], const char *id, size_t turn)
{
    static const char set[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    uint64_t h = 1469598103934665603u ^ turn;
    for (; *id; id++)
        h = (h ^ (unsigned char)*id) * 1099511628211u;
    for (int i = 0; i < 9; i++, h /= 36)
        out[i] = set[h % 36];
    out[9] = '\0';
}

void request_set_id(struct json *m, const char *key, const char *id, bool own, size_t turn)
{
    char mapped[10];
    if (!own && !nine(id)) {
        foreign_id(mapped, id, turn);
        id = mapped;
    }
    json_set_str(m, key, id);
}

size_t request_question(const struct conversation *c)
{
    size_t question = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i].role == TURN_USER)
            question = i;
    return question;
}

bool request_own(const struct turn *t, const char *origin)
{
    return t->origin && origin && !strcmp(t->origin, origin);
}

const char *request_system(const struct llm_request *q, const struct request_shape *s)
{
    const char *system = s->blocks ? q->prompts->system_blocks : q->prompts->system_native;
    return system && *system ? system : NULL;
}

#define THOUGHT_FIELD "reasoning_content"

/* OpenRouter and MiniMax give a list of pieces, which goes back as it is; a gateway may have answered with
 * the items of Responses: not those. */
static bool thought_pieces(struct request_out *o, struct json *m, const struct turn *t)
{
    autojson struct json *kept = t->reasoning_items
                                     ? json_parse(t->reasoning_items, strlen(t->reasoning_items),
                                                  JSON_DUPLICATES, NULL, NULL)
                                     : NULL;
    const char *type = json_str(json_get(json_at(kept, 0), "type"));
    if (!type || strncmp(type, "reasoning.", 10))
        return false;
    json_set(m, "reasoning_details", json_copy(kept));
    o->prompt += strlen(t->reasoning_items);
    return true;
}

/* The reasoning under the name it came under. Where it is required, it is required as reasoning_content,
 * beside a list of pieces too. */
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
    struct json *extra = json_object(), *google = json_object();
    json_set_str(google, "thought_signature", "skip_thought_signature_validator");
    json_set(extra, "google", google);
    return extra;
}

/* As the models write it, with a line break on either side; those that it came with are not there twice. */
static char *thought_text(const struct turn *t)
{
    const char *from = t->reasoning + strspn(t->reasoning, "\n");
    size_t n = strlen(from);
    while (n && from[n - 1] == '\n')
        n--;
    return xasprintf("<think>\n%.*s\n</think>\n\n%s", (int)n, from, t->text);
}

/* What goes back of the reasoning of one message. open: the question that it belongs to is not answered yet.
 */
static void add_thoughts(struct request_out *o, struct json *m, const struct turn *t,
                         const struct request_shape *s, bool own, size_t index, bool open)
{
    enum llm_reasoning_back back = s->reasoning_back;
    bool required = back == LLM_BACK_REQUIRED;
    if (own && back == LLM_BACK_TEXT && open && t->reasoning && !t->reasoning_field) {
        autofree char *text = thought_text(t);
        json_set_str(m, "content", text);
        o->prompt += strlen(t->reasoning);
    } else if (own && !s->no_items && index >= s->stale && back != LLM_BACK_NEVER
               && (t->n_calls || back == LLM_BACK_ALWAYS || required)) {
        thoughts(o, m, t, required);
    }
    if (required && !json_get(m, THOUGHT_FIELD))
        json_set_str(m, THOUGHT_FIELD, " "); /* an empty one is refused as well */
}

static void add_calls(struct request_out *o, struct json *m, const struct turn *t,
                      const struct request_shape *s, bool own, size_t index)
{
    struct json *list = json_array();
    for (size_t i = 0; i < t->n_calls; i++) {
        const struct call *k = &t->calls[i];
        struct json *c = json_object(), *f = json_object();
        request_set_id(c, "id", k->id, own, index);
        json_set_str(c, "type", "function");
        json_set_str(f, "name", k->name);
        json_set_str(f, "arguments", k->arguments);
        json_set(c, "function", f);
        struct json *extra = own && k->extra
                                 ? json_parse(k->extra, strlen(k->extra), JSON_DUPLICATES, NULL, NULL)
                                 : NULL;
        if (!extra && s->o->signatures && i == 0)
            extra = stand_in();
        if (extra)
            json_set(c, "extra_content", extra);
        json_add(list, c);
        o->prompt += strlen(k->arguments) + strlen(k->name) + 32;
    }
    json_set(m, "tool_calls", list);
}

static void assistant(struct request_out *o, const struct turn *t, const struct request_shape *s,
                      struct request_style style, size_t index, bool open)
{
    struct json *m = request_message(o, "assistant", t->text);
    bool own = request_own(t, s->origin);
    if (style.thoughts)
        add_thoughts(o, m, t, s, own, index, open);
    if (t->n_calls)
        add_calls(o, m, t, s, own, index);
}

static const char *tool_name(const struct turn *t, const char *id)
{
    for (size_t i = 0; i < t->n_calls; i++)
        if (!strcmp(t->calls[i].id, id))
            return t->calls[i].name;
    return NULL;
}

static void native_messages(struct request_out *o, const struct conversation *c,
                            const struct request_shape *s, struct request_style style)
{
    size_t index = 0; /* of the turn whose calls the results answer */
    size_t question = request_question(c);
    for (size_t i = 0; i < c->n; i++) {
        const struct turn *t = &c->v[i];
        if (t->role == TURN_USER) {
            request_message(o, "user", t->text);
        } else if (t->role == TURN_ASSISTANT) {
            index = i;
            assistant(o, t, s, style, index, i > question);
        } else {
            struct json *m = request_message(o, "tool", t->text);
            const char *name = style.names ? tool_name(&c->v[index], t->call_id) : NULL;
            request_set_id(m, "tool_call_id", t->call_id, request_own(&c->v[index], s->origin), index);
            if (name)
                json_set_str(m, "name", name);
        }
    }
}

void request_messages(struct request_out *o, const struct llm_request *q, const struct request_shape *s,
                      struct request_style style)
{
    if (request_system(q, s))
        request_message(o, "system", request_system(q, s));
    if (s->blocks)
        request_blocks(o, q);
    else
        native_messages(o, q->conversation, s, style);
    if (s->nudged_text) {
        request_message(o, "assistant", s->nudged_text);
        request_message(o, "user", q->prompts->nudge);
    }
}

struct json *request_schema(struct request_out *o, const struct llm_tool *t)
{
    struct json *p = json_parse(t->parameters, strlen(t->parameters), 0, NULL, NULL);
    o->prompt += strlen(t->description) + strlen(t->parameters) + 64;
    return p ? p : json_object();
}

void request_tools(struct request_out *o, struct json *body, const struct llm_request *q)
{
    if (!q->tools.n)
        return;
    struct json *list = json_array();
    for (size_t i = 0; i < q->tools.n; i++) {
        const struct llm_tool *t = &q->tools.v[i];
        struct json *e = json_object(), *f = json_object();
        json_set_str(e, "type", "function");
        json_set_str(f, "name", t->name);
        json_set_str(f, "description", t->description);
        json_set(f, "parameters", request_schema(o, t));
        json_set(e, "function", f);
        json_add(list, e);
    }
    json_set(body, "tools", list);
}

/* Where nothing but the conversation decides, a reply that came twice comes a third time. */
#define TEMPERATURE_VARIED 0.7

void request_temperature(struct json *body, const struct llm_request *q, const struct request_shape *s)
{
    double t = s->o->temperature;
    if (s->temperature && t >= 0)
        json_set(body, "temperature",
                 json_number(q->vary && t < TEMPERATURE_VARIED ? TEMPERATURE_VARIED : t));
}

static void set_member(struct json *body, const char *key, const char *member, struct json *value)
{
    const struct json *there = json_get(body, key); /* what the provider's entry says of it stays */
    struct json *o = json_type(there) == JSON_OBJECT ? json_copy(there) : json_object();
    json_set(o, member, value);
    json_set(body, key, o);
}

/* Where the switch is on or off, the level goes beside it for models that are known to have levels. */
static void request_thinking(struct json *body, const struct request_shape *s)
{
    const char *effort = s->effort;
    enum llm_thinking how = s->o->thinking;
    bool off = effort && !strcmp(effort, "none");
    if (!effort)
        return;
    switch (how) {
    case LLM_THINKING_NONE:
        return;
    case LLM_THINKING_REASONING:
        set_member(body, "reasoning", "effort", json_string(effort));
        return;
    case LLM_THINKING_ENABLED:
        set_member(body, "reasoning", "enabled", json_boolean(!off));
        break;
    case LLM_THINKING_ENABLE:
        json_set_bool(body, "enable_thinking", !off);
        break;
    case LLM_THINKING_TYPE:
    case LLM_THINKING_ADAPTIVE:
        set_member(body, "thinking", "type",
                   json_string(off                        ? "disabled"
                               : how == LLM_THINKING_TYPE ? "enabled"
                                                          : "adaptive"));
        break;
    case LLM_THINKING_EFFORT:
        break;
    }
    if (how == LLM_THINKING_EFFORT || (!off && s->o->efforts))
        json_set_str(body, "reasoning_effort", effort);
}

/* The fields that the provider's entry adds. First, so that ours count. */
static void add_fields(struct json *body, const char *fields)
{
    autojson struct json *more = fields ? json_parse(fields, strlen(fields), 0, NULL, NULL) : NULL;
    for (const struct json *e = json_first(more); e; e = json_next(e))
        json_set(body, json_key(e), json_copy(e));
}

void request_chat(struct request_out *o, struct json *body, const struct llm_request *q,
                  const struct request_shape *s)
{
    json_set_str(body, "model", s->o->model);
    request_messages(o, q, s, (struct request_style){.thoughts = true});
    json_set(body, "messages", o->messages);
    if (!s->blocks)
        request_tools(o, body, q);
    if (s->max_tokens > 0 && s->max_tokens_field != MAX_TOKENS_NONE)
        json_set_int(body, s->max_tokens_field == MAX_TOKENS_NEW ? "max_completion_tokens" : "max_tokens",
                     s->max_tokens);
    request_temperature(body, q, s);
    request_thinking(body, s);
    json_set_bool(body, "stream", s->stream);
    if (s->stream && s->stream_options) {
        struct json *so = json_object();
        json_set_bool(so, "include_usage", true);
        json_set(body, "stream_options", so);
    }
}

char *request_body(const struct llm_request *q, const struct request_shape *s, size_t *prompt)
{
    autojson struct json *body = json_object();
    add_fields(body, s->o->body);
    struct request_out o = {.messages = json_array(), .user = BUF_INIT(0)};
    api_of(s->o->api)->write(&o, body, q, s);
    buf_release(&o.user);
    if (prompt)
        *prompt = o.prompt;
    return json_print(body);
}

int request_max_tokens(const struct llm_options *o, bool loopback, int context)
{
    if (o->max_tokens <= 0 && !o->send_max_tokens && !loopback && !api_of(o->api)->bounded)
        return 0;
    int n = o->max_tokens > 0 ? o->max_tokens : o->profile_max_tokens > 0 ? o->profile_max_tokens : 4096;
    return context > 0 && n > context / 4 ? (context / 4 > 0 ? context / 4 : 1) : n;
}
