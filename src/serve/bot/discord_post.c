/* discord_post.c - the messages of an answer, one after another. */
#include "bot/discord_post.h"

#include <string.h>

#include "base/argv.h"
#include "base/mem.h"
#include "bot/bot.h"
#include "bot/discord_read.h"
#include "bot/discord_rest.h"
#include "bot/pieces.h"
#include "json/json.h"

#define TEXT_MAX        2000        /* characters of a message */
#define PIECES_MOST     5           /* a longer answer is a file */
#define BEGINNING_MAX   1500        /* characters of it that are a message all the same */
#define FILES_MOST      10          /* of one message */
#define MESSAGE_BYTES   (24u << 20) /* bytes of all files of one message */
#define SUPPRESS_EMBEDS 4           /* no page behind a link in an answer is fetched to be shown */

struct posting { /* of one answer */
    const struct discord_poster *by;
    struct bot_question *qn;
    struct argv texts;  /* a message each */
    struct json *files; /* for each message an array */
    size_t next;
};

static void free_posting(struct posting *p)
{
    argv_release(&p->texts);
    json_free(p->files);
    free(p);
}

/* Each message has as many files as it may. */
static void share_files(struct posting *p, const struct json *files)
{
    struct json *some = json_array();
    int64_t bytes = 0;

    for (const struct json *f = json_first(files); f; f = json_next(f)) {
        int64_t size = json_int(json_get(f, "size"), 0);

        if (json_size(some) && (json_size(some) == FILES_MOST || bytes + size > MESSAGE_BYTES)) {
            json_add(p->files, some);
            some = json_array();
            bytes = 0;
        }
        bytes += size;
        json_add(some, json_copy(f));
    }
    if (json_size(some))
        json_add(p->files, some);
    else
        json_free(some);
}

/* An answer that is too long for some messages: its beginning, and all of it as a file. */
static void answer_as_file(struct posting *p, const char *text)
{
    argv_release(&p->texts);
    p->texts = (struct argv)ARGV_INIT;
    pieces_cut(text, BEGINNING_MAX, &p->texts);
    autofree char *first = xasprintf("%s\n\n(All of the answer is in answer.md.)", p->texts.v[0]);
    argv_release(&p->texts);
    p->texts = (struct argv)ARGV_INIT;
    argv_push(&p->texts, first);
    json_add(p->files, json_array_of(json_object_of({"name", json_string("answer.md")},
                                                    {"content", json_string(text)})));
}

/* The texts come first, and the last of them has the first files. */
static struct posting *new_posting(const struct discord_poster *by, struct bot_question *qn, const char *text,
                                   const struct json *files)
{
    struct posting *p = xcalloc(1, sizeof *p);

    p->by = by;
    p->qn = qn;
    p->files = json_array();
    pieces_cut(text, TEXT_MAX, &p->texts);
    if (p->texts.n > PIECES_MOST)
        answer_as_file(p, text);
    for (size_t i = 1; i < p->texts.n; i++)
        json_add(p->files, json_array());
    share_files(p, files);
    if (!p->texts.n && !json_size(p->files))
        argv_push(&p->texts, "(no answer)");
    while (p->texts.n < json_size(p->files))
        argv_push(&p->texts, "");
    p->next = json_size(bot_posted(qn));
    return p;
}

static void post_next(struct posting *p);

static void on_posted(void *ctx, int status, const struct json *answer, const char *why)
{
    struct bot_question *qn = ctx;
    struct posting *p = bot_service_part(qn);
    const char *id = json_text(json_get(answer, "id"));

    if ((status != 200 && status != 201) || !discord_is_id(id)) {
        autofree char *reason = xstrdup(why);

        bot_keep_part(qn, p->by->service);
        free_posting(p);
        if (status >= 400 && status < 500)
            bot_answered(qn, reason);
        else
            bot_failed(qn, reason);
        return;
    }
    p->next++;
    bot_has_posted(qn, id);
    post_next(p);
}

/* In its own thread, the message that a question is cannot be replied to. */
static bool is_reply(const struct bot_question *qn)
{
    return !strcmp(bot_where_of(qn, "to"), bot_where_of(qn, "channel"));
}

static void post_next(struct posting *p)
{
    struct bot_question *qn = p->qn;

    if (p->next >= p->texts.n) {
        bot_keep_part(qn, p->by->service);
        free_posting(p);
        bot_answered(qn, NULL);
        return;
    }
    const struct json *files = json_at(p->files, p->next);
    autofree char *path = xasprintf("/channels/%s/messages", bot_where_of(qn, "to")),
                  *nonce = xasprintf("%s-%zu", bot_id(qn), p->next);
    struct json *body = json_object_of(
        {"content", json_string(p->texts.v[p->next])}, {"nonce", json_string(nonce)},
        {"enforce_nonce", json_boolean(true)}, {"flags", json_integer(SUPPRESS_EMBEDS)},
        {"allowed_mentions", json_object_of({"parse", json_array()}, {"replied_user", json_boolean(false)})});
    if (is_reply(qn))
        json_set(body, "message_reference",
                 json_object_of({"message_id", json_string(bot_id(qn))},
                                {"fail_if_not_exists", json_boolean(false)}));
    const struct rest_call c = {
        .method = "POST", .path = path, .body = body, .files = files, .done = on_posted, .ctx = qn};
    rest_send(p->by->rest, &c);
}

/* Was this message of ours a part of the answer to that question? */
static bool is_answer_to(const struct posting *p, const struct json *message)
{
    const char *author = json_text(json_get(json_get(message, "author"), "id")),
               *to = json_text(json_get(json_get(message, "message_reference"), "message_id"));

    return !strcmp(author, p->by->self) && !strcmp(to, is_reply(p->qn) ? bot_id(p->qn) : "");
}

/* Another process was killed while it posted, so Discord may have more than it wrote down. The newest message
 * comes first. */
static void on_seen(void *ctx, int status, const struct json *answer, const char *why)
{
    struct bot_question *qn = ctx;
    struct posting *p = bot_service_part(qn);
    size_t n = status == 200 ? json_size(answer) : 0, seen = 0;

    (void)why;
    for (size_t i = n; i > 0; i--) {
        const struct json *message = json_at(answer, i - 1);
        const char *id = json_text(json_get(message, "id"));

        if (is_answer_to(p, message) && discord_is_id(id) && seen++ >= p->next) {
            p->next++;
            bot_has_posted(qn, id);
        }
    }
    post_next(p);
}

void discord_post(const struct discord_poster *by, struct bot_question *qn, const char *text,
                  const struct json *files)
{
    struct posting *p = new_posting(by, qn, text, files);

    bot_keep_part(qn, p);
    if (!bot_started_again(qn)) {
        post_next(p);
        return;
    }
    autofree char *path = xasprintf("/channels/%s/messages?after=%s&limit=100", bot_where_of(qn, "to"),
                                    bot_id(qn));
    rest_send(p->by->rest, &(struct rest_call){.method = "GET", .path = path, .done = on_seen, .ctx = qn});
}

void discord_post_drop(struct bot_question *qn)
{
    free_posting(bot_service_part(qn));
}
