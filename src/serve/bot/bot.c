/* bot.c - the questions that were accepted, from the first byte on disk to the line that says that they were
 * answered. Of each there is on disk: {"id", "conversation", "user", "server", "text", "files", "where",
 * "at", "refused", "answer": see bot_has_answer(), "posted": ids}.
 */
#include "bot/bot_private.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "bot/journal.h"
#include "front/runners.h"
#include "json/json.h"
#include "process/loop.h"

#define WAITING_MOST  1000 /* questions that are not answered yet */
#define AT_ONCE       200  /* questions that are being asked, or wait for a sandbox */
#define FETCH_AT_ONCE 4    /* of them, those whose files are fetched, which are in memory meanwhile */
#define POST_AGAIN_MS 60000
#define HISTORY_BYTES (48u << 10)
#define HISTORY_TURNS 40

void bot_log(const struct bot *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    autofree char *line = xvasprintf(fmt, ap);
    va_end(ap);
    b->o.log(line);
}

/* They are parts of the names of files, and come from outside. */
static bool good_bot_id(const char *id)
{
    size_t len = id ? strlen(id) : 0;

    return len > 0 && len <= BOT_ID
           && strspn(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") == len;
}

static struct bot_question *find_question(const struct bot *b, const char *id)
{
    struct bot_question *qn = b->all;

    while (qn && strcmp(qn->id, id) != 0)
        qn = qn->next;
    return qn;
}

/* ---- what a service sees ---- */

const char *bot_id(const struct bot_question *qn)
{
    return qn->id;
}

const char *bot_server(const struct bot_question *qn)
{
    return json_str(json_get(qn->kept, "server"));
}

const struct json *bot_where(const struct bot_question *qn)
{
    return json_get(qn->kept, "where");
}

const char *bot_where_of(const struct bot_question *qn, const char *member)
{
    return json_str(json_get(bot_where(qn), member));
}

const struct json *bot_posted(const struct bot_question *qn)
{
    return json_get(qn->kept, "posted");
}

bool bot_is_asked(const struct bot_question *qn)
{
    return !json_get(qn->kept, "answer");
}

bool bot_started_again(const struct bot_question *qn)
{
    return qn->again;
}

void *bot_service_part(const struct bot_question *qn)
{
    return qn->part;
}

void bot_keep_part(struct bot_question *qn, void *part)
{
    qn->part = part;
}

/* Was this message accepted before, answered or not? */
static bool bot_knows(const struct bot *b, const char *id)
{
    return find_question(b, id) || journal_has_answered(b->journal, id);
}

const char *bot_conversation_of(const struct bot *b, const char *posted)
{
    return journal_conversation_of(b->journal, posted);
}

struct json *bot_recall(const struct bot *b)
{
    return journal_read(b->journal, JOURNAL_SERVICE, b->o.service->name);
}

void bot_remember(const struct bot *b, const struct json *what)
{
    (void)journal_write(b->journal, JOURNAL_SERVICE, b->o.service->name, what, NULL);
}

/* ---- accepting ---- */

static struct bot_question *add_bot_question(struct bot *b, struct json *kept)
{
    struct bot_question **end = &b->all, *qn = xcalloc(1, sizeof *qn);

    qn->b = b;
    qn->kept = kept;
    qn->refused = json_bool(json_get(kept, "refused"), false);
    snprintf(qn->id, sizeof qn->id, "%s", json_text(json_get(kept, "id")));
    snprintf(qn->conversation, sizeof qn->conversation, "%s", json_text(json_get(kept, "conversation")));
    while (*end)
        end = &(*end)->next;
    *end = qn;
    return qn;
}

static void drop_question(struct bot_question *qn)
{
    struct bot_question **at = &qn->b->all;

    while (*at != qn)
        at = &(*at)->next;
    *at = qn->next;
    json_free(qn->kept);
    json_free(qn->files);
    free(qn);
}

/* False: it could not be written, and the question goes on all the same; a restart would not know of it. */
static bool keep_on_disk(const struct bot_question *qn)
{
    struct error err;

    if (journal_question(qn->b->journal, qn->id, qn->kept, &err) == 0)
        return true;
    bot_log(qn->b, "question %s cannot be written down: %s", qn->id, err.text);
    return false;
}

static unsigned count_questions(const struct bot *b)
{
    unsigned n = 0;

    for (const struct bot_question *qn = b->all; qn; qn = qn->next)
        n++;
    return n;
}

bool bot_ask(struct bot *b, const struct chat_message *m)
{
    autojson struct json *files = m->files, *where = m->where;
    bool silent = false;

    if (!good_bot_id(m->id) || !good_bot_id(m->conversation) || bot_knows(b, m->id))
        return true;
    if (count_questions(b) >= WAITING_MOST) {
        bot_log(b, "message %s is left out: %d questions wait already", m->id, WAITING_MOST);
        return false;
    }
    autofree char *over = bot_over_limit(b, m, &silent);
    if (silent)
        return true;
    struct json *kept = json_object_of(
        {"id", json_string(m->id)}, {"conversation", json_string(m->conversation)},
        {"user", json_string(m->user)}, {"server", json_string(m->server)}, {"text", json_string(m->text)},
        {"files", files ? steal(&files) : json_array()}, {"where", where ? steal(&where) : json_null()},
        {"at", json_integer(time(NULL))}, {"refused", json_boolean(over)}, {"posted", json_array()});
    struct bot_question *qn = add_bot_question(b, kept);
    if (over || m->answer)
        json_set(kept, "answer",
                 json_object_of({"text", json_string(over ? over : m->answer)}, {"files", json_array()}));
    if (!keep_on_disk(qn)) {
        drop_question(qn);
        return false;
    }
    b->o.service->begin(b->service, qn);
    return true;
}

void bot_begun(struct bot_question *qn, const char *conversation, struct json *where)
{
    if (where) {
        if (good_bot_id(conversation)) { /* it may be a part of what is replaced here */
            snprintf(qn->conversation, sizeof qn->conversation, "%s", conversation);
            json_set_str(qn->kept, "conversation", qn->conversation);
        }
        json_set(qn->kept, "where", where);
        keep_on_disk(qn);
    }
    qn->state = BOT_WAITING;
    bot_next(qn->b);
}

/* ---- whose turn it is ---- */

/* Does another one of its conversation come before it? */
static bool has_one_before(const struct bot_question *qn)
{
    for (const struct bot_question *p = qn->b->all; p; p = p->next) {
        bool same = !strcmp(p->conversation, qn->conversation);

        if (p == qn)
            return false;
        if (same && p->state != BOT_BEGINNING)
            return true;
    }
    return false;
}

static void on_next_time(void *ctx)
{
    bot_next(ctx);
}

static void post_answer(struct bot_question *qn)
{
    const struct json *answer = json_get(qn->kept, "answer");

    qn->state = BOT_ANSWERING;
    qn->b->o.service->answer(qn->b->service, qn, json_text(json_get(answer, "text")),
                             json_get(answer, "files"));
}

/* The first that can begin; NULL: none. *at: when the next one of those that rest may. */
static struct bot_question *next_of(struct bot *b, int64_t *at)
{
    unsigned asked = 0, fetched = 0;
    int64_t now = clock_ms();

    for (struct bot_question *qn = b->all; qn; qn = qn->next) {
        asked += qn->state == BOT_ASKING;
        fetched += qn->files != NULL;
    }
    *at = INT64_MAX;
    for (struct bot_question *qn = b->all; qn; qn = qn->next) {
        if (qn->state == BOT_RESTING && qn->at > now && qn->at < *at)
            *at = qn->at;
        if ((qn->state == BOT_WAITING || (qn->state == BOT_RESTING && qn->at <= now)) && !has_one_before(qn)
            && (json_get(qn->kept, "answer")
                || (asked < AT_ONCE && (fetched < FETCH_AT_ONCE || !json_size(json_get(qn->kept, "files"))))))
            return qn;
    }
    return NULL;
}

void bot_next(struct bot *b)
{
    struct bot_question *qn;
    int64_t at;

    if (b->starting)
        return;
    b->starting = true;
    while ((qn = next_of(b, &at))) {
        if (json_get(qn->kept, "answer"))
            post_answer(qn);
        else
            bot_begin_asking(qn);
    }
    b->starting = false;
    if (at < INT64_MAX)
        loop_timer(b->o.loop, at, on_next_time, b);
}

static void show_busy(void *ctx)
{
    struct bot *b = ((struct bot_timer *)ctx)->b;

    for (struct bot_question *qn = b->all; qn; qn = qn->next)
        if (qn->state == BOT_ASKING && qn->shown)
            b->o.service->busy(b->service, qn);
    loop_timer(b->o.loop, clock_ms() + BOT_BUSY_MS, show_busy, ctx);
}

/* ---- the answer ---- */

void bot_has_answer(struct bot_question *qn, struct json *answer)
{
    json_free(steal(&qn->files));
    json_set(qn->kept, "answer", answer);
    keep_on_disk(qn);
    post_answer(qn);
}

void bot_has_posted(struct bot_question *qn, const char *id)
{
    struct json *posted = json_copy(bot_posted(qn));

    json_add(posted, json_string(id));
    json_set(qn->kept, "posted", posted);
    keep_on_disk(qn);
}

static struct json *said_by(const char *role, const struct json *text)
{
    return json_object_of({"role", json_string(role)}, {"text", json_string(json_text(text))});
}

/* The oldest turns are left out where all of them are too long: what the next process tells a model. */
static struct json *shortened(struct json *history)
{
    size_t n = json_size(history), bytes = 0, skip = n;
    struct json *out = json_array();

    while (skip > 0 && n - skip < HISTORY_TURNS) {
        size_t pair = strlen(json_text(json_get(json_at(history, skip - 1), "text")))
                      + strlen(json_text(json_get(json_at(history, skip - 2), "text")));

        if (skip < n && bytes + pair > HISTORY_BYTES)
            break;
        bytes += pair;
        skip -= 2;
    }
    for (size_t i = skip; i < n; i++)
        json_add(out, json_copy(json_at(history, i)));
    json_free(history);
    return out;
}

static void keep_conversation(const struct bot_question *qn)
{
    const struct json *answer = json_get(qn->kept, "answer");
    autojson struct json *before = journal_read(qn->b->journal, JOURNAL_CONVERSATION, qn->conversation);
    struct error err;

    if (!json_get(answer, "said") || !strcmp(json_text(json_get(before, "last")), qn->id))
        return;
    struct json *history = json_array();
    for (const struct json *turn = json_first(json_get(before, "history")); turn; turn = json_next(turn))
        json_add(history, json_copy(turn));
    json_add(history, said_by("user", json_get(qn->kept, "text")));
    json_add(history, said_by("assistant", json_get(answer, "said")));
    autojson struct json *now = json_object_of({"last", json_string(qn->id)},
                                               {"turn", json_copy(json_get(answer, "turn"))},
                                               {"history", shortened(history)});
    if (journal_write(qn->b->journal, JOURNAL_CONVERSATION, qn->conversation, now, &err) < 0)
        bot_log(qn->b, "conversation %s cannot be written down: %s", qn->conversation, err.text);
}

void bot_failed(struct bot_question *qn, const char *why)
{
    bot_log(qn->b, "question %s: the answer cannot be posted now: %s", qn->id, why);
    qn->again = true;
    qn->state = BOT_RESTING;
    qn->at = clock_ms() + POST_AGAIN_MS;
    bot_next(qn->b);
}

void bot_answered(struct bot_question *qn, const char *failed)
{
    static const char *const kept[] = {"id", "conversation", "user", "server", "refused", "posted"};
    struct bot *b = qn->b;
    struct error err;
    struct json *line = json_object();

    keep_conversation(qn);
    json_copy_some(line, qn->kept, kept, countof(kept));
    json_set_all(line, {"conversation", json_string(qn->conversation)}, {"at", json_integer(time(NULL))},
                 {"failed", json_string(failed)});
    if (journal_answered(b->journal, line, &err) < 0)
        bot_log(b, "it cannot be written down that question %s is answered: %s", qn->id, err.text);
    if (failed)
        bot_log(b, "question %s: the answer cannot be posted: %s", qn->id, failed);
    else if (b->o.verbose)
        bot_log(b, "question %s: answered", qn->id);
    json_free(line);
    drop_question(qn);
    bot_next(b);
}

/* ---- the bot ---- */

struct bot *bot_new(const struct bot_options *o)
{
    struct bot *b = xcalloc(1, sizeof *b);

    b->o = *o;
    b->busy.b = b;
    return b;
}

void bot_attach(struct bot *b, void *service)
{
    b->service = service;
}

int bot_open(struct bot *b, const char *account, struct error *err)
{
    if (b->journal)
        return 0;
    if (!good_bot_id(account))
        return error_set(err, ERROR_PROTOCOL, 0, "%s does not say as whom it knows the bot",
                         b->o.service->name);
    b->journal = journal_open(b->o.service->name, account, err);
    if (!b->journal)
        return -1;
    autojson struct json *left = journal_questions(b->journal, err);
    if (!left)
        return -1;
    if (json_size(left))
        bot_log(b, "%zu question%s not answered before: asked again", json_size(left),
                json_size(left) == 1 ? " was" : "s were");
    for (const struct json *kept = json_first(left); kept; kept = json_next(kept))
        if (good_bot_id(json_str(json_get(kept, "id")))
            && good_bot_id(json_str(json_get(kept, "conversation"))))
            add_bot_question(b, json_copy(kept))->again = true;
    for (struct bot_question *qn = b->all, *next; qn; qn = next) {
        next = qn->next;
        b->o.service->begin(b->service, qn);
    }
    loop_timer(b->o.loop, clock_ms() + BOT_BUSY_MS, show_busy, &b->busy);
    return 0;
}

void bot_free(struct bot *b)
{
    if (!b)
        return;
    loop_timer_stop(b->o.loop, b);
    loop_timer_stop(b->o.loop, &b->busy);
    while (b->all) {
        bot_stop_asking(b->all);
        b->o.service->drop(b->service, b->all);
        drop_question(b->all);
    }
    if (b->service)
        b->o.service->free(b->service);
    journal_close(b->journal);
    free(b);
}
