/* fuzz_openai.c - what a client of OpenAI's sends, in both shapes: a request is read or refused in words; the
 * name of its conversation is the same however it is cut; and its answer, made of events from the same bytes,
 * holds together. The first byte picks the shape, the second how many events come.
 */
#include "tests/fuzz/fuzz.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/json.h"
#include "openai/chat_key.h"
#include "openai/chat_request.h"
#include "openai/openai_reply.h"

struct sent {
    const struct openai_shape *shape;
    int64_t n;
    size_t added, done;
    struct buf text;
};

static void on_send(void *ctx, const char *event, const struct json *o)
{
    struct sent *s = ctx;
    const struct json *choice = json_first(json_get(o, "choices"));

    if (s->shape == &openai_chat) {
        check(event == NULL);
        buf_addstr(&s->text, json_text(json_get(json_get(choice, "delta"), "content")));
        return;
    }
    check(event != NULL && json_is(o, event) && json_int(json_get(o, "sequence_number"), -1) == s->n);
    check((s->n == 0) == (strcmp(event, "response.created") == 0));
    s->n++;
    s->added += strcmp(event, "response.output_item.added") == 0;
    s->done += strcmp(event, "response.output_item.done") == 0;
    check(s->added - s->done <= 1);
    if (strcmp(event, "response.output_text.delta") == 0)
        buf_addstr(&s->text, json_text(json_get(o, "delta")));
    if (strcmp(event, "response.completed") == 0)
        check(json_size(json_get(json_get(o, "response"), "output")) == s->done && s->added == s->done);
}

/* Each byte is an event. */
static void answer(const struct openai_shape *shape, const struct chat_request *asked,
                   const struct json *body, const uint8_t *data, size_t size)
{
    static const char *const types[] = {"text", "text", "tool_call", "tool_result", "notice", "tool_output"};
    struct sent s = {.shape = shape, .text = BUF_INIT(0)};
    struct openai_reply r;

    openai_reply_init(&r, shape, "1", "m", asked, body);
    r.send = on_send;
    r.ctx = &s;
    r.container = "box";
    for (size_t i = 0; i < size; i++) {
        struct json *e = json_object();
        char text[2] = {(char)('a' + data[i] % 26), 0};

        json_set_str(e, "type", types[data[i] % 6]);
        json_set_int(e, "reply", data[i] / 64);
        json_set_str(e, "text", text);
        json_set_str(e, "code", data[i] & 1 ? text : NULL);
        openai_reply_event(&r, e);
        json_free(e);
    }
    openai_reply_end(&r, &(struct openai_end){.answer = "fine", .finish = "stop"});
    check(s.added == s.done);
    check(strcmp(buf_str(&s.text), buf_str(&r.text)) == 0 && r.text.len > 0);
    openai_reply_release(&r);
    buf_release(&s.text);
}

static void read_as(const struct openai_shape *shape, const struct json *body, const uint8_t *data,
                    size_t size)
{
    char key[SHA256_HEX], again[SHA256_HEX], whole[SHA256_HEX];
    struct chat_request r;
    struct chat_refusal no;

    if (chat_request_read(shape, body, &r, &no) < 0) {
        check(*no.param && no.code && strlen(no.message) > strlen(no.param));
    } else {
        check(*r.input && utf8_valid(r.input, strlen(r.input)) && r.prefix < r.size);
        check(r.system == NULL || *r.system);
        check(json_size(r.history) <= r.prefix);
        for (const struct json *said = json_first(r.history); said; said = json_next(said))
            check(*json_text(json_get(said, "text")));
        chat_key_begin(key);
        chat_key_add(r.list, 0, r.prefix, key);
        memcpy(again, key, sizeof again);
        chat_key_add(r.list, r.prefix, r.size, key);
        chat_key_begin(whole);
        chat_key_add(r.list, 0, r.size, whole);
        check(strcmp(key, whole) == 0);
        check((strcmp(key, again) != 0) && strlen(key) == SHA256_HEX - 1);
        answer(shape, &r, body, data, size);
    }
    chat_request_release(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t events = data[1] % 32 < size - 2 ? data[1] % 32 : size - 2;
    char *text = fuzz_exact(data + 2 + events, size - 2 - events);
    struct json *body = json_parse(text, size - 2 - events, 0, NULL, NULL);

    if (body != NULL)
        read_as(data[0] & 1 ? &openai_chat : &openai_responses, body, data + 2, events);
    json_free(body);
    free(text);
    return 0;
}
