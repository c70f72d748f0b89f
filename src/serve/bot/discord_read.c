/* discord_read.c - payloads of the gateway, and messages. */
#include "bot/discord_read.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"

#define ID_MAX    20
#define TEXT_MAX  (16u << 10)
#define FILES_MAX 100

enum { MESSAGE = 0, REPLY = 19 }; /* types of a message that people write */

int discord_payload_read(const char *text, size_t len, struct discord_payload *p, struct error *err)
{
    *p = (struct discord_payload){.doc = json_parse(text, len, JSON_FEW | JSON_DUPLICATES, NULL, err)};

    if (!p->doc)
        return -1;
    p->op = (int)json_int(json_get(p->doc, "op"), -1);
    p->seq = json_int(json_get(p->doc, "s"), -1);
    p->type = json_text(json_get(p->doc, "t"));
    p->data = json_get(p->doc, "d");
    if (p->op >= 0 && p->op <= 255)
        return 0;
    discord_payload_release(p);
    return error_set(err, ERROR_PROTOCOL, 0, "a payload without an opcode");
}

void discord_payload_release(struct discord_payload *p)
{
    json_free(p->doc);
    *p = (struct discord_payload){.op = -1};
}

bool discord_is_id(const char *text)
{
    size_t len = text ? strlen(text) : 0;

    return len > 0 && len <= ID_MAX && strspn(text, "0123456789") == len;
}

static const char *snowflake_of(const struct json *object, const char *member)
{
    const char *id = json_str(json_get(object, member));

    return discord_is_id(id) ? id : NULL;
}

static bool is_self(const struct json *user, const char *self)
{
    return !strcmp(json_text(json_get(user, "id")), self);
}

static bool mentions_us(const struct json *data, const char *self)
{
    for (const struct json *user = json_first(json_get(data, "mentions")); user; user = json_next(user))
        if (is_self(user, self))
            return true;
    return false;
}

static const struct json *mentioned(const struct json *data, const char *id, size_t len)
{
    for (const struct json *user = json_first(json_get(data, "mentions")); user; user = json_next(user)) {
        const char *theirs = json_text(json_get(user, "id"));

        if (strlen(theirs) == len && !memcmp(theirs, id, len))
            return user;
    }
    return NULL;
}

/* "<@ID>" and "<@!ID>": ours are left out, those of others become their names. */
static char *readable(const struct json *data, const char *self)
{
    struct buf out autorelease(buf_release) = BUF_INIT(TEXT_MAX);

    for (const char *p = json_text(json_get(data, "content")); *p;) {
        size_t prefix = !strncmp(p, "<@!", 3) ? 3 : !strncmp(p, "<@", 2) ? 2 : 0;
        size_t digits = prefix ? strspn(p + prefix, "0123456789") : 0;

        if (!digits || p[prefix + digits] != '>') {
            buf_addch(&out, *p++);
            continue;
        }
        const struct json *user = mentioned(data, p + prefix, digits);
        const char *name = json_text(json_get(user, "username"));
        if (!user)
            buf_add(&out, p, prefix + digits + 1);
        else if (!is_self(user, self))
            buf_addf(&out, "@%s", name);
        p += prefix + digits + 1;
    }
    buf_trim(&out, " \t\r\n");
    const char *text = buf_str(&out);
    return xstrdup(text + strspn(text, " \t\r\n"));
}

static void add_attachments(struct json *out, const struct json *data)
{
    size_t n = json_size(out);

    for (const struct json *a = json_first(json_get(data, "attachments")); a && n < FILES_MAX;
         a = json_next(a), n++) {
        const char *name = json_text(json_get(a, "filename"));

        json_add(out, json_object_of({"name", json_string(*name ? name : "file")},
                                     {"url", json_string(json_text(json_get(a, "url")))},
                                     {"size", json_integer(json_int(json_get(a, "size"), -1))}));
    }
}

/* What is told of the message that was replied to. NULL: it has neither a text nor files. Without a
 * privileged intent Discord shows those of direct messages and of messages that mention us, and no others. */
static char *quote_replied(const struct json *replied, const char *self)
{
    const char *name = json_text(json_get(json_get(replied, "author"), "username"));
    bool files = json_size(json_get(replied, "attachments")) > 0;
    autofree char *text = readable(replied, self);

    return *text || files ? xasprintf("This replies to a message of %.64s%s\n%s", name,
                                      files ? ", whose files come with it:" : ":", text)
                          : NULL;
}

bool discord_message_read(const struct json *data, const char *self, struct discord_message *m)
{
    const struct json *author = json_get(data, "author"), *replied = json_get(data, "referenced_message");
    int64_t type = json_int(json_get(data, "type"), MESSAGE);
    bool to_us = is_self(json_get(replied, "author"), self);

    *m = (struct discord_message){.id = snowflake_of(data, "id"),
                                  .channel = snowflake_of(data, "channel_id"),
                                  .server = snowflake_of(data, "guild_id"),
                                  .user = snowflake_of(author, "id"),
                                  .replied = to_us ? snowflake_of(replied, "id") : NULL};
    if (!m->id || !m->channel || !m->user || (type != MESSAGE && type != REPLY)
        || json_truthy(json_get(author, "bot")) || json_get(data, "webhook_id") || is_self(author, self)
        || (m->server && !to_us && !mentions_us(data, self)))
        return false;
    m->text = readable(data, self);
    m->files = json_array();
    add_attachments(m->files, data);
    if (json_type(replied) != JSON_OBJECT || to_us)
        return true;
    m->quoted = quote_replied(replied, self);
    m->hidden = !m->quoted;
    add_attachments(m->files, replied);
    return true;
}

void discord_message_release(struct discord_message *m)
{
    free(m->text);
    free(m->quoted);
    json_free(m->files);
    m->text = m->quoted = NULL;
    m->files = NULL;
}

enum discord_close discord_close(int code, const char **why)
{
    static const struct {
        int code;
        enum discord_close then;
        const char *why;
    } rows[] = {
        {4003, DISCORD_IDENTIFIES, "not identified"},
        {4004, DISCORD_FATAL,
         "Discord refuses the token\nMake a new one in its developer portal, and set DISCORD_TOKEN."},
        {4007, DISCORD_IDENTIFIES, "wrong sequence"},
        {4009, DISCORD_IDENTIFIES, "the session timed out"},
        {4010, DISCORD_FATAL, "Discord refuses the shard"},
        {4011, DISCORD_FATAL,
         "this bot is in too many servers for one connection: Discord asks for shards, which there are not "
         "here"},
        {4012, DISCORD_FATAL, "Discord no longer has this version of its API\nUse a newer sandpiper."},
        {4013, DISCORD_FATAL, "Discord does not know the intents that were asked for"},
        {4014, DISCORD_FATAL,
         "Discord does not allow this bot the intents that it asks for\nAllow direct and server messages in "
         "its developer portal."},
    };

    *why = NULL;
    for (size_t i = 0; i < countof(rows); i++)
        if (rows[i].code == code) {
            *why = rows[i].why;
            return rows[i].then;
        }
    return DISCORD_RESUMES;
}
