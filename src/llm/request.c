/* request.c - see request.h. native: calls and results as the API has them. blocks: calls as fenced python in the assistant's text, results
 * as headed user turns; user turns in a row are joined, because strict templates refuse them.
 */
#include "llm/request.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"

struct out {
    struct json *messages;
    struct buf user;            /* blocks: a user message that may still grow */
    size_t prompt;
};

static struct json *message(struct out *o, const char *role, const char *content) {
    struct json *m = json_object();
    json_set_str(m, "role", role);
    json_set_str(m, "content", content);       /* never null: Workers AI and Gemini refuse that */
    json_add(o->messages, m);
    o->prompt += strlen(content) + 16;
    return m;
}

static bool nine(const char *id) { return strlen(id) == 9 && strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") == 9; }

/* Another service made this id: give it a form that all accept (Mistral: nine letters and digits). The same id gives the same. */
static void foreign_id(char out[10], const char *id, size_t turn) {
    static const char set[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    uint64_t h = 1469598103934665603u ^ turn;
    for (; *id; id++)
        h = (h ^ (unsigned char)*id) * 1099511628211u;
    for (int i = 0; i < 9; i++, h /= 36)
        out[i] = set[h % 36];
    out[9] = '\0';
}

static void set_id(struct json *m, const char *key, const char *id, bool own, size_t turn) {
    char mapped[10];
    if (!own && !nine(id)) {
        foreign_id(mapped, id, turn);
        id = mapped;
    }
    json_set_str(m, key, id);
}

static void native_assistant(struct out *o, const struct turn *t, bool own, size_t index) {
    struct json *m = message(o, "assistant", t->text);
    if (!t->n_calls)
        return;
    if (own && t->reasoning && t->reasoning_field) {
        json_set_str(m, t->reasoning_field, t->reasoning);     /* DeepSeek and Kimi want it back with a call */
        o->prompt += strlen(t->reasoning);
    }
    struct json *list = json_array();
    for (size_t i = 0; i < t->n_calls; i++) {
        const struct call *k = &t->calls[i];
        struct json *c = json_object(), *f = json_object();
        set_id(c, "id", k->id, own, index);
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

static void native_messages(struct out *o, const struct conversation *c, const char *origin) {
    bool own = true;
    size_t index = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct turn *t = &c->v[i];
        if (t->role == TURN_USER) {
            message(o, "user", t->text);
        } else if (t->role == TURN_ASSISTANT) {
            own = t->origin && origin && !strcmp(t->origin, origin);
            index = i;
            native_assistant(o, t, own, index);
        } else {
            set_id(message(o, "tool", t->text), "tool_call_id", t->call_id, own, index);
        }
    }
}

static void tools(struct out *o, struct json *body, const struct llm_request *q) {
    if (!q->n_tools)
        return;
    struct json *list = json_array();
    for (size_t i = 0; i < q->n_tools; i++) {
        const struct llm_tool *t = &q->tools[i];
        struct json *e = json_object(), *f = json_object();
        json_set_str(e, "type", "function");
        json_set_str(f, "name", t->name);
        json_set_str(f, "description", t->description);
        struct json *p = json_parse(t->parameters, strlen(t->parameters), 0, NULL, NULL);
        json_set(f, "parameters", p ? p : json_object());
        json_set(e, "function", f);
        json_add(list, e);
        o->prompt += strlen(t->description) + strlen(t->parameters) + 64;
    }
    json_set(body, "tools", list);
}

static void flush_user(struct out *o) {
    if (o->user.len)
        message(o, "user", buf_str(&o->user));
    buf_clear(&o->user);
}

static void add_user(struct out *o, const char *text) {
    if (o->user.len)
        buf_addstr(&o->user, "\n\n");
    buf_addstr(&o->user, text);
}

/* The template around a result; {output} is where the text goes. */
static void add_result(struct out *o, const struct llm_prompts *p, const struct turn *t) {
    const char *template = NULL;
    switch (t->result) {
    case RESULT_OK: template = p->blocks_ok; break;
    case RESULT_FAILED: template = p->blocks_failed; break;
    case RESULT_MALFORMED: template = p->blocks_malformed; break;
    case RESULT_INTERRUPTED: template = p->blocks_interrupted; break;
    case RESULT_NO_MORE: template = p->blocks_no_more; break;
    }
    if (!template)
        template = "[Output of the code]\n{output}";
    struct buf b = BUF_INIT(0);
    const char *at = strstr(template, "{output}");
    if (!at) {
        buf_addstr(&b, template);
    } else {
        buf_add(&b, template, (size_t)(at - template));
        buf_addstr(&b, t->text);
        buf_addstr(&b, at + 8);
    }
    add_user(o, buf_str(&b));
    buf_release(&b);
}

static const char *code_key(const struct llm_request *q, const char *name) {
    for (size_t i = 0; i < q->n_tools; i++)
        if (!strcmp(q->tools[i].name, name))
            return q->tools[i].code_key;
    return NULL;
}

/* A fence longer than any run of backticks in the code. */
static void add_fenced(struct buf *b, const char *code) {
    size_t longest = 2, run = 0, n = strlen(code);
    for (size_t i = 0; i < n; i++) {
        run = code[i] == '`' ? run + 1 : 0;
        if (run > longest)
            longest = run;
    }
    for (size_t i = 0; i <= longest; i++)
        buf_addch(b, '`');
    buf_addf(b, "python\n%s%s", code, n && code[n - 1] == '\n' ? "" : "\n");
    for (size_t i = 0; i <= longest; i++)
        buf_addch(b, '`');
}

static void blocks_call(struct buf *b, const struct llm_request *q, const struct call *k) {
    const char *key = code_key(q, k->name);
    autojson struct json *args = json_parse(k->arguments, strlen(k->arguments), JSON_DUPLICATES, NULL, NULL);
    const char *code = key ? json_str(json_get(args, key)) : NULL;
    if (b->len)
        buf_addstr(b, "\n\n");
    if (code)
        add_fenced(b, code);
    else
        buf_addf(b, "(a call of %s that could not be run)", k->name);
}

/* A turn with several calls becomes pairs: text and first call, its result, second call, its result. */
static size_t blocks_assistant(struct out *o, const struct llm_request *q, size_t i) {
    const struct conversation *c = q->conversation;
    const struct turn *t = &c->v[i];
    struct buf b = BUF_INIT(0);
    flush_user(o);
    buf_addstr(&b, t->text);
    if (!t->n_calls)
        message(o, "assistant", buf_str(&b));
    size_t used = 0;
    for (size_t k = 0; k < t->n_calls; k++) {
        blocks_call(&b, q, &t->calls[k]);
        message(o, "assistant", buf_str(&b));
        buf_clear(&b);
        const struct turn *result = i + 1 + k < c->n ? &c->v[i + 1 + k] : NULL;
        if (result && result->role == TURN_RESULT) {
            add_result(o, q->prompts, result);
            used++;
            if (k + 1 < t->n_calls)
                flush_user(o);
        }
    }
    buf_release(&b);
    return used;
}

/* How many results stand behind turn i when every one of them failed; 0 otherwise. */
static size_t failures(const struct conversation *c, size_t i) {
    size_t n = 0;
    while (i + 1 + n < c->n && c->v[i + 1 + n].role == TURN_RESULT) {
        if (c->v[i + 1 + n].result != RESULT_FAILED)
            return 0;
        n++;
    }
    return n;
}

/* The call of turn i was made before for the same question. */
static bool repeats(const struct conversation *c, size_t i) {
    for (size_t k = i; k-- > 0 && c->v[k].role != TURN_USER;)
        if (c->v[k].role == TURN_ASSISTANT && c->v[k].n_calls == 1 && c->v[i].n_calls == 1
            && !strcmp(c->v[k].calls[0].arguments, c->v[i].calls[0].arguments))
            return true;
    return false;
}

/* A small model copies what it reads. So a failed try that another try followed is not sent again, and of one that repeats an earlier
 * try only the failure is: it stands behind the question. It keeps the prompt short too, where every round is paid for again. */
static size_t blocks_failed(struct out *o, const struct llm_request *q, size_t i) {
    const struct conversation *c = q->conversation;
    size_t n = failures(c, i);
    bool tried_again = n && i + 1 + n < c->n && c->v[i + 1 + n].role == TURN_ASSISTANT;
    if (!n || (!tried_again && !repeats(c, i)))
        return 0;
    for (size_t k = 0; !tried_again && k < n; k++)
        add_result(o, q->prompts, &c->v[i + 1 + k]);
    return n;
}

static void blocks_messages(struct out *o, const struct llm_request *q) {
    const struct conversation *c = q->conversation;
    for (size_t i = 0; i < c->n; i++) {
        size_t failed = c->v[i].role == TURN_ASSISTANT ? blocks_failed(o, q, i) : 0;
        if (failed)
            i += failed;
        else if (c->v[i].role == TURN_USER)
            add_user(o, c->v[i].text);
        else if (c->v[i].role == TURN_ASSISTANT)
            i += blocks_assistant(o, q, i);
        else
            add_result(o, q->prompts, &c->v[i]);
    }
    flush_user(o);
}

/* Where nothing but the conversation decides, a reply that came twice comes a third time. */
#define TEMPERATURE_VARIED 0.7

static void parameters(struct json *body, const struct request_shape *s, bool vary) {
    if (s->max_tokens > 0 && s->max_tokens_field != MAX_TOKENS_NONE)
        json_set_int(body, s->max_tokens_field == MAX_TOKENS_NEW ? "max_completion_tokens" : "max_tokens", s->max_tokens);
    if (s->temperature && s->o->temperature >= 0)
        json_set(body, "temperature", json_number(vary && s->o->temperature < TEMPERATURE_VARIED ? TEMPERATURE_VARIED : s->o->temperature));
    if (s->reasoning_effort && s->o->reasoning_effort)
        json_set_str(body, "reasoning_effort", s->o->reasoning_effort);
    json_set_bool(body, "stream", s->stream);
    if (s->stream && s->stream_options) {
        struct json *so = json_object();
        json_set_bool(so, "include_usage", true);
        json_set(body, "stream_options", so);
    }
}

char *request_body(const struct llm_request *q, const struct request_shape *s, size_t *prompt) {
    autojson struct json *body = json_object();
    struct out o = {.messages = json_array(), .user = BUF_INIT(0)};
    json_set_str(body, "model", s->o->model);
    const char *system = s->blocks ? q->prompts->system_blocks : q->prompts->system_native;
    if (system && *system)
        message(&o, "system", system);
    if (s->blocks)
        blocks_messages(&o, q);
    else
        native_messages(&o, q->conversation, s->origin);
    if (s->nudged_text) {
        message(&o, "assistant", s->nudged_text);
        message(&o, "user", q->prompts->nudge);
    }
    json_set(body, "messages", o.messages);
    if (!s->blocks)
        tools(&o, body, q);
    parameters(body, s, q->vary);
    buf_release(&o.user);
    if (prompt)
        *prompt = o.prompt;
    return json_print(body);
}

int request_max_tokens(const struct llm_options *o, bool loopback, int context) {
    if (o->max_tokens <= 0 && !o->send_max_tokens && !loopback)
        return 0;
    int n = o->max_tokens > 0 ? o->max_tokens : o->profile_max_tokens > 0 ? o->profile_max_tokens : 4096;
    return context > 0 && n > context / 4 ? (context / 4 > 0 ? context / 4 : 1) : n;
}
