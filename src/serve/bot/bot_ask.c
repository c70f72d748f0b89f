/* bot_ask.c - fetches the files of a question, asks a runner, and keeps what came of it: the answer, and the
 * files that code made, before the sandbox ends.
 */
#include <stdio.h>
#include <string.h>

#include "base/argv.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/newfile.h"
#include "base/size.h"
#include "bot/bot_private.h"
#include "bot/journal.h"
#include "front/runners.h"
#include "json/json.h"
#include "net/transfers.h"

#define FETCH_MS     60000
#define FILES_STAGED 20   /* that are sent with an answer */
#define TRIES        3    /* for a question whose runner died or whose sandbox did not start */
#define REST_MS      2000 /* between them */
#define CLIENT       ""   /* all users of a bot share the sandboxes */

static void answer_with(struct bot_question *qn, char *text)
{
    autofree char *owned = text;

    bot_has_answer(qn, json_object_of({"text", json_string(owned)}, {"files", json_array()}));
}

/* ---- asking ---- */

/* Answers that the model did not give. Users learn what they can do; the log has the rest. */
static const struct {
    const char *status, *text;
} no_answers[] = {
    {"no_answer", "The model gave no answer. Ask again, perhaps in other words."},
    {"no_sandbox", "No sandbox could be started for this question. Ask again in a minute."},
    {"limit", "A limit was reached before there was an answer. Ask for less at once."},
    {"try_later", "The model is busy. Ask again in a minute."},
    {"too_many", "Too many questions are asked at once. Ask again in a minute."},
    {"refused", "The model's service refuses the bot's key. Whoever runs the bot has to mend that."},
    {"usage", "The bot is not set up to answer this. Whoever runs the bot has to mend that."},
};

static const char *text_without_answer(const char *status)
{
    for (size_t i = 0; i < countof(no_answers); i++)
        if (!strcmp(no_answers[i].status, status))
            return no_answers[i].text;
    return no_answers[0].text;
}

/* True: it is tried again in a while. */
static bool rest(struct bot_question *qn)
{
    if (++qn->tries >= TRIES)
        return false;
    json_free(steal(&qn->files));
    qn->state = BOT_RESTING;
    qn->at = clock_ms() + REST_MS;
    bot_next(qn->b);
    return true;
}

/* The files that code made, copied to where they outlive the sandbox. What is too large is named in notes. */
static struct json *stage_files(const struct bot_question *qn, const struct json *result, struct buf *notes)
{
    const struct bot *b = qn->b;
    autofree char *folder = journal_folder(b->journal, qn->id);
    struct json *out = json_array();
    struct error err;
    size_t n = 0;

    file_remove_tree(folder); /* of an earlier try */
    for (const struct json *f = json_first(json_get(result, "files")); f; f = json_next(f)) {
        const char *name = json_text(json_get(f, "name"));
        int64_t size = json_int(json_get(f, "size"), 0);
        autofree char *own = xasprintf("%zu", n++), *path = xasprintf("%s/%s", folder, own);

        if (n > FILES_STAGED) {
            buf_addf(notes, "\nOnly %d of %zu files are sent.", FILES_STAGED,
                     json_size(json_get(result, "files")));
            break;
        }
        if (size > b->o.service->file_max)
            buf_addf(notes, "\n%s (%s) is too large to be sent here: at most %s.", name, size_text(size).text,
                     size_text(b->o.service->file_max).text);
        else if (file_mkdirs(folder, 0700, &err) == 0
                 && newfile_copy(json_text(json_get(f, "path")), folder, own) == 0)
            json_add(out, json_object_of({"name", json_string(name)}, {"path", json_string(path)},
                                         {"size", json_integer(size)}));
        else
            buf_addf(notes, "\n%s could not be kept.", name);
    }
    return out;
}

static void take_result(struct bot_question *qn, const struct json *result)
{
    const char *said = json_str(json_get(result, "answer")), *status = json_text(json_get(result, "status"));
    struct buf text autorelease(buf_release) = BUF_INIT(0);
    bool interrupted = !strcmp(status, "interrupted") || !strcmp(status, "terminated");

    if (!said && interrupted && rest(qn))
        return;
    if (!said)
        bot_log(qn->b, "question %s: no answer (%s): %s", qn->id, status,
                json_text(json_get(result, "error")));
    buf_addstr(&text, said ? said : text_without_answer(status));
    struct json *files = stage_files(qn, result, &text);
    bot_has_answer(qn, json_object_of({"text", json_string(buf_str(&text))}, {"files", files},
                                      {"said", said ? json_string(said) : NULL},
                                      {"turn", said ? json_copy(json_get(result, "turn")) : NULL}));
}

static void on_bot_done(void *ctx, const struct json *result, const struct error *err)
{
    struct bot_question *qn = ctx;

    if (result) {
        take_result(qn, result);
        return;
    }
    if ((err->kind == ERROR_SANDBOX || err->kind == ERROR_SYSTEM || err->kind == ERROR_CANCELLED) && rest(qn))
        return;
    bot_log(qn->b, "question %s: %s", qn->id, err->text);
    answer_with(qn, xstrdup(text_without_answer(err->kind == ERROR_BUSY      ? "too_many"
                                                : err->kind == ERROR_SANDBOX ? "no_sandbox"
                                                : err->kind == ERROR_AUTH    ? "refused"
                                                : err->kind == ERROR_USAGE   ? "usage"
                                                                             : "no_answer")));
}

static void on_bot_given(void *ctx, struct lease *h, bool made)
{
    struct bot_question *qn = ctx;

    (void)h;
    (void)made;
    qn->shown = true;
    qn->b->o.service->busy(qn->b->service, qn);
}

static void ask_bot_runner(struct bot_question *qn)
{
    struct bot *b = qn->b;
    autojson struct json *before = journal_read(b->journal, JOURNAL_CONVERSATION, qn->conversation),
                         *files = steal(&qn->files);
    const struct json *history = json_get(before, "history");
    autojson struct json *arguments = json_object_of(
        {"input", json_copy(json_get(qn->kept, "text"))}, {"files", files ? steal(&files) : json_array()},
        {"history", history ? json_copy(history) : json_array()},
        {"turn", json_string(json_text(json_get(before, "turn")))});
    const struct queue_want w = {.client = CLIENT, .conversation = qn->conversation};
    const struct runner_listener l = {qn, NULL, on_bot_done};
    struct error err = {0};

    qn->call = (struct lease_call){.spare = true, .given = on_bot_given, .given_ctx = qn};
    if (lease_call_make(&qn->call, b->o.runners, &w, &err) < 0
        || lease_call_ask(&qn->call, "ask", arguments, &l, &err) < 0)
        on_bot_done(qn, NULL, &err);
    bot_next(b); /* the files of another one can be fetched */
}

/* ---- its files ---- */

static void fetch_next(struct bot_question *qn);

static void on_bot_file(void *ctx, const struct transfer_end *end)
{
    struct bot_question *qn = ctx;
    const struct json *f = json_at(json_get(qn->kept, "files"), qn->fetched);
    const char *name = json_text(json_get(f, "name"));
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    qn->transfer = NULL;
    if (end->too_large || end->why || end->status != 200) {
        if (!end->too_large && rest(qn))
            return;
        bot_log(qn->b, "question %s: a file cannot be fetched: %s (%d)", qn->id, end->why ? end->why : "",
                end->status);
        answer_with(qn, end->too_large
                            ? xasprintf("%s is larger than it was said to be, so I did not read it.", name)
                            : xasprintf("%s could not be fetched. Send it again.", name));
        return;
    }
    base64_add(&text, (const unsigned char *)end->body, end->body_len);
    json_add(qn->files, json_object_of({"name", json_string(name)}, {"content", json_string(buf_str(&text))},
                                       {"encoding", json_string("base64")}));
    qn->bytes += end->body_len;
    qn->fetched++;
    fetch_next(qn);
}

static void fetch_next(struct bot_question *qn)
{
    const struct json *all = json_get(qn->kept, "files"), *f = json_at(all, qn->fetched);
    const struct bot *b = qn->b;
    struct error err;

    if (!f) {
        ask_bot_runner(qn);
        return;
    }
    const char *url = json_text(json_get(f, "url")), *name = json_text(json_get(f, "name"));
    int64_t size = json_int(json_get(f, "size"), 0);
    size_t left = BOT_FILES_SIZE - qn->bytes;
    if (size < 0 || (uint64_t)size > left) {
        answer_with(qn, xasprintf("%s (%s) is too large: the files of one question may have %s together.",
                                  name, size_text(size).text, size_text(BOT_FILES_SIZE).text));
        return;
    }
    const struct transfer_want w = {
        .url = url, .max = size ? (size_t)size : 1, .ms = FETCH_MS, .done = on_bot_file, .ctx = qn};
    if (b->o.service->may_fetch(b->service, url))
        qn->transfer = transfers_begin(b->o.transfers, &w, &err);
    if (!qn->transfer)
        answer_with(qn, xasprintf("%s could not be fetched. Send it again.", name));
}

void bot_begin_asking(struct bot_question *qn)
{
    const struct json *files = json_get(qn->kept, "files");

    qn->state = BOT_ASKING;
    qn->shown = false;
    qn->at = clock_ms();
    qn->fetched = qn->bytes = 0;
    qn->files = json_size(files) ? json_array() : NULL;
    if (json_size(files) > BOT_FILES)
        answer_with(qn, xasprintf("%zu files are too many for one question: at most %d.", json_size(files),
                                  BOT_FILES));
    else
        fetch_next(qn);
}

void bot_stop_asking(struct bot_question *qn)
{
    transfer_drop(steal(&qn->transfer));
    if (qn->call.runners)
        lease_call_leave(&qn->call);
}
