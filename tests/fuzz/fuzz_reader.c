/* fuzz_reader.c - any bytes as a service's answer, in each dialect: the same reply however they are cut; text
 * is valid UTF-8 and is what the listener heard; a call that would run has a known name and an object with
 * code; a lost connection runs no call but one whose end was seen. The first byte picks dialect and status.
 */
#include "tests/fuzz/fuzz.h"

#include "base/buf.h"
#include "base/error.h"
#include "json/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "conversation/conversation.h"
#include "wire/reply.h"
#include "wire/request.h"

static const struct llm_tool tool = {"execute_python", "", "{}", "code"};
static const struct prompts none = {0};
static const struct llm_request question = {.prompts = &none, .tools = {&tool, 1}};

struct result {
    int rc;
    struct llm_reply r;
    struct failure f;
    struct buf heard;
};

static void hear(void *ctx, const char *s, size_t n)
{
    check(n > 0 && utf8_valid(s, n));
    buf_add(ctx, s, n);
}

static void unhear(void *ctx)
{
    buf_clear(ctx);
}

static void run(enum reply_mode mode, const char *s, size_t n, uint32_t seed, struct result *o)
{
    *o = (struct result){.heard = BUF_INIT(0)};
    struct llm_listener l = {.ctx = &o->heard, .text = hear, .retracted = unhear};
    struct reply a;
    reply_init(&a, mode, &question, &l);
    while (n > 0) {
        size_t k = seed != 0 ? fuzz_piece(&seed, n) : n;
        reply_feed(&a, s, k);
        s += k;
        n -= k;
    }
    o->rc = reply_finish(&a, false, &o->r, &o->f);
    reply_release(&a);
}

static void check_call(const struct llm_call *c)
{
    struct json *j = json_parse(c->call.arguments, strlen(c->call.arguments), 0, NULL, NULL);
    check(json_type(j) == JSON_OBJECT);
    check(c->call.id != NULL && *c->call.id != '\0');
    if (c->problem == NULL)
        check(strcmp(c->call.name, "execute_python") == 0 && json_str(json_get(j, "code")) != NULL);
    json_free(j);
}

/* What goes back must be a body whatever the service gave: the one place where its own JSON is sent again. */
static void check_next_request(const struct result *o, enum model_api api)
{
    struct llm_options options = {.model = "m", .facts.temperature = -1, .api = api};
    struct llm_learnt learnt = {0};
    struct request_shape shape = {.o = &options, .learnt = &learnt, .origin = "here", .stream = true};
    struct conversation c;
    struct call calls[8] = {0};
    size_t n = 0, prompt = 0;
    conversation_init(&c);
    conversation_user(&c, "q", 1);
    for (; n < o->r.n_calls && n < 8; n++) {
        const struct call *k = &o->r.calls[n].call;
        calls[n] = (struct call){xstrdup(k->id), xstrdup(k->name), xstrdup(k->arguments), xstrdup(k->extra)};
    }
    struct turn *t = conversation_assistant(&c, o->r.text, calls, n);
    if (t != NULL) {
        t->reasoning_items = xstrdup(o->r.reasoning_items);
        t->origin = xstrdup("here");
    }
    conversation_close_open_calls(&c, "no");
    conversation_interrupted(&c);
    conversation_user(&c, "q", 1);
    check(conversation_check(&c, NULL) == 0);
    struct llm_request q = {.conversation = &c, .prompts = &none, .tools = {&tool, 1}};
    char *body = request_body(&q, &shape, &prompt);
    struct json *j = json_parse(body, strlen(body), 0, NULL, NULL);
    check(json_type(j) == JSON_OBJECT && utf8_valid(body, strlen(body)));
    json_free(j);
    free(body);
    conversation_release(&c);
}

static void check_result(const struct result *o)
{
    check(o->r.text != NULL && utf8_valid(o->r.text, strlen(o->r.text)));
    check(o->rc == 0
          || (o->f.class != FAILURE_NONE && o->r.n_calls == 0
              && utf8_valid(o->f.message, strlen(o->f.message))));
    size_t n = strlen(o->r.text);
    check(n <= o->heard.len && memcmp(buf_str(&o->heard), o->r.text, n) == 0);
    for (size_t i = 0; i < o->r.n_calls; i++)
        check_call(&o->r.calls[i]);
}

static void check_same(const struct result *a, const struct result *b)
{
    check(a->rc == b->rc && strcmp(a->r.text, b->r.text) == 0 && a->r.n_calls == b->r.n_calls
          && a->r.finish == b->r.finish);
    check(a->rc == 0 || a->f.class == b->f.class);
    for (size_t i = 0; i < a->r.n_calls; i++)
        check(strcmp(a->r.calls[i].call.arguments, b->r.calls[i].call.arguments) == 0
              && (a->r.calls[i].problem == NULL) == (b->r.calls[i].problem == NULL));
}

static void check_items(const struct result *a, const struct result *b)
{
    check((a->r.reasoning_items == NULL) == (b->r.reasoning_items == NULL));
    if (a->r.reasoning_items == NULL)
        return;
    check(strcmp(a->r.reasoning_items, b->r.reasoning_items) == 0
          && utf8_valid(a->r.reasoning_items, strlen(a->r.reasoning_items)));
    check_next_request(a, API_RESPONSES);
    check_next_request(a, API_CHAT_COMPLETIONS);
}

static void release(struct result *o)
{
    llm_reply_release(&o->r);
    buf_release(&o->heard);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *s = fuzz_exact(data + 1, size - 1);
    if (data[0] >= 0x80) {
        struct failure f;
        struct failure_head h = {0};
        h.status = 400 + (data[0] & 0x7f);
        failure_from_response(&f, &h, s, size - 1);
        check(f.class != FAILURE_NONE && utf8_valid(f.message, strlen(f.message))
              && strpbrk(f.message, "\n\033") == NULL);
    } else {
        struct result whole, cut;
        enum reply_mode mode = data[0] % 3;
        run(mode, s, size - 1, 0, &whole);
        run(mode, s, size - 1, (uint32_t)size * 2 + 1, &cut);
        check_result(&whole);
        check_result(&cut);
        check_same(&whole, &cut);
        check_items(&whole, &cut);
        release(&whole);
        release(&cut);
    }
    free(s);
    return 0;
}
