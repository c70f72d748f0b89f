/* request.c - see request.h. What all bodies share, and chat completions: calls and results as that API has them. */
#include "llm/request.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "llm/api.h"
#include "llm/request_parts.h"

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
    json_set(m, "content", parts ? request_text_parts(content) : json_string(content));     /* never null: Workers AI and Gemini refuse that */
    json_add(o->messages, m);
    o->prompt += strlen(content) + 16;
    return m;
}

static bool nine(const char *id) { return strlen(id) == 9 && strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") == 9; }

/* Another service made this id: give it a form that all accept (Mistral: nine letters and digits). The same id gives the same. */
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

bool request_own(const struct turn *t, const char *origin) { return t->origin && origin && !strcmp(t->origin, origin); }

const char *request_system(const struct llm_request *q, const struct request_shape *s)
{
    const char *system = s->blocks ? q->prompts->system_blocks : q->prompts->system_native;
    return system && *system ? system : NULL;
}

/* DeepSeek and Kimi want reasoning back with a call, under the name they gave it; OpenRouter its list of pieces, which stands for all of it. */
static void thoughts(struct request_out *o, struct json *m, const struct turn *t)
{
    autojson struct json *kept = t->reasoning_items ? json_parse(t->reasoning_items, strlen(t->reasoning_items), JSON_DUPLICATES, NULL, NULL) : NULL;
    const char *type = json_str(json_get(json_at(kept, 0), "type"));
    if (type && !strncmp(type, "reasoning.", 10)) {    /* a gateway may have answered with the items of Responses: not those */
        json_set(m, "reasoning_details", json_copy(kept));
        o->prompt += strlen(t->reasoning_items);
    } else if (t->reasoning && t->reasoning_field) {
        json_set_str(m, t->reasoning_field, t->reasoning);
        o->prompt += strlen(t->reasoning);
    }
}

/* What another model thought is no business of this one; but where it must be there, something is. */
static void no_thoughts(struct json *m)
{
    if (!json_get(m, "reasoning_content"))
        json_set_str(m, "reasoning_content", "");
}

static void assistant(struct request_out *o, const struct turn *t, const struct request_shape *s, struct request_style style, size_t index)
{
    struct json *m = request_message(o, "assistant", t->text);
    bool own = request_own(t, s->origin);
    if (!t->n_calls)
        return;
    if (own && style.thoughts && !s->no_items)
        thoughts(o, m, t);
    if (s->empty_thoughts)
        no_thoughts(m);
    struct json *list = json_array();
    for (size_t i = 0; i < t->n_calls; i++) {
        const struct call *k = &t->calls[i];
        struct json *c = json_object(), *f = json_object();
        request_set_id(c, "id", k->id, own, index);
        json_set_str(c, "type", "function");
        json_set_str(f, "name", k->name);
        json_set_str(f, "arguments", k->arguments);
        json_set(c, "function", f);
        struct json *extra = own && k->extra ? json_parse(k->extra, strlen(k->extra), JSON_DUPLICATES, NULL, NULL) : NULL;
        if (extra)
            json_set(c, "extra_content", extra);
        json_add(list, c);
        o->prompt += strlen(k->arguments) + strlen(k->name) + 32;
    }
    json_set(m, "tool_calls", list);
}

static const char *tool_name(const struct turn *t, const char *id)
{
    for (size_t i = 0; i < t->n_calls; i++)
        if (!strcmp(t->calls[i].id, id))
            return t->calls[i].name;
    return NULL;
}

static void native_messages(struct request_out *o, const struct conversation *c, const struct request_shape *s, struct request_style style)
{
    size_t index = 0;           /* of the turn whose calls the results answer */
    for (size_t i = 0; i < c->n; i++) {
        const struct turn *t = &c->v[i];
        if (t->role == TURN_USER) {
            request_message(o, "user", t->text);
        } else if (t->role == TURN_ASSISTANT) {
            index = i;
            assistant(o, t, s, style, index);
        } else {
            struct json *m = request_message(o, "tool", t->text);
            const char *name = style.names ? tool_name(&c->v[index], t->call_id) : NULL;
            request_set_id(m, "tool_call_id", t->call_id, request_own(&c->v[index], s->origin), index);
            if (name)
                json_set_str(m, "name", name);
        }
    }
}

void request_messages(struct request_out *o, const struct llm_request *q, const struct request_shape *s, struct request_style style)
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
    if (!q->n_tools)
        return;
    struct json *list = json_array();
    for (size_t i = 0; i < q->n_tools; i++) {
        const struct llm_tool *t = &q->tools[i];
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
        json_set(body, "temperature", json_number(q->vary && t < TEMPERATURE_VARIED ? TEMPERATURE_VARIED : t));
}

void request_chat(struct request_out *o, struct json *body, const struct llm_request *q, const struct request_shape *s)
{
    json_set_str(body, "model", s->o->model);
    request_messages(o, q, s, (struct request_style){.thoughts = true});
    json_set(body, "messages", o->messages);
    if (!s->blocks)
        request_tools(o, body, q);
    if (s->max_tokens > 0 && s->max_tokens_field != MAX_TOKENS_NONE)
        json_set_int(body, s->max_tokens_field == MAX_TOKENS_NEW ? "max_completion_tokens" : "max_tokens", s->max_tokens);
    request_temperature(body, q, s);
    if (s->reasoning_effort && s->o->reasoning_effort)
        json_set_str(body, "reasoning_effort", s->o->reasoning_effort);
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
