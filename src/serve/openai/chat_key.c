/* chat_key.c - hashes a conversation turn by turn, each together with the key of everything before it. */
#include "openai/chat_key.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "json/json.h"
#include "openai/chat_item.h"
#include "openai/chat_part.h"

static void add_named(struct buf *out, char kind, const char *text, size_t len)
{
    buf_addf(out, "%c%zu:", kind, len);
    buf_add(out, text, len);
}

struct chat_key_text {
    struct buf words, files, all;
};

static void said_release(struct chat_key_text *s)
{
    buf_release(&s->words);
    buf_release(&s->files);
    buf_release(&s->all);
}

static void add_to_key(struct chat_key_text *s, const struct json *item)
{
    const struct json *content = chat_content(item);
    const char *text = json_text(content);
    struct chat_call call;

    chat_paragraph(&s->words, text);
    for (size_t i = 0; chat_role(item) == CHAT_ASSISTANT && chat_call_at(item, i, &call); i++)
        add_named(&s->files, 'c', call.id, strlen(call.id));
    if (chat_role(item) == CHAT_RESULT)
        add_named(&s->files, 'c', chat_result_id(item), strlen(chat_result_id(item)));
    for (const struct json *part = json_first(content); part; part = json_next(part)) {
        if ((text = chat_part_text(part)))
            chat_paragraph(&s->words, text);
        else if ((text = chat_part_data(part)))
            add_named(&s->files, 'f', text, strlen(text));
    }
}

static void add_turn(enum chat_role role, struct chat_key_text *s, char key[SHA256_HEX])
{
    struct buf *all = &s->all;

    buf_clear(all);
    buf_addstr(all, key);
    add_named(all, (char)('0' + role), buf_str(&s->words), s->words.len);
    buf_add(all, buf_str(&s->files), s->files.len);
    sha256_hex(all->data, all->len, key);
    buf_clear(&s->words);
    buf_clear(&s->files);
}

void chat_key_begin(char key[SHA256_HEX])
{
    sha256_hex("", 0, key);
}

void chat_key_add(const struct json *list, size_t from, size_t n, char key[SHA256_HEX])
{
    struct chat_key_text s autorelease(said_release) = {BUF_INIT(0), BUF_INIT(0), BUF_INIT(0)};
    bool answering = false; /* s holds a turn of the assistant, to which the next item may belong too */
    size_t i = 0;

    for (const struct json *item = chat_first(list); item && i < n; item = chat_next(list, item), i++) {
        bool assistant = chat_role(item) == CHAT_ASSISTANT;

        if (i < from || chat_skipped(item))
            continue;
        if (answering && !assistant)
            add_turn(CHAT_ASSISTANT, &s, key);
        add_to_key(&s, item);
        if (!assistant)
            add_turn(chat_role(item), &s, key);
        answering = assistant;
    }
    if (answering)
        add_turn(CHAT_ASSISTANT, &s, key);
}

void chat_key_answer(const char *answer, const struct json *calls, char key[SHA256_HEX])
{
    struct chat_key_text s autorelease(said_release) = {BUF_INIT(0), BUF_INIT(0), BUF_INIT(0)};

    chat_paragraph(&s.words, answer);
    for (const struct json *call = json_first(calls); call; call = json_next(call))
        add_named(&s.files, 'c', json_text(json_get(call, "id")), strlen(json_text(json_get(call, "id"))));
    add_turn(CHAT_ASSISTANT, &s, key);
}

void chat_key_id(const char *id, char key[SHA256_HEX])
{
    struct buf all autorelease(buf_release) = BUF_INIT(0);

    add_named(&all, 'i', id, strlen(id));
    sha256_hex(all.data, all.len, key);
}
