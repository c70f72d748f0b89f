/* discord.c - Discord as a chat service. A mention of the bot in a channel begins a thread, and so does a
 * reply to it there; in a thread, or in direct messages, the conversation is that place. Where no thread can
 * be made the answer is a reply, and a reply to that goes on with the conversation.
 *
 * "where" of a question is {"channel", "server", "replied", "title"}, and from begin() on "to": the channel
 * that the answer goes to, which may be the thread.
 */
#include "bot/discord.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/url.h"
#include "bot/bot.h"
#include "bot/discord_post.h"
#include "bot/discord_read.h"
#include "bot/discord_rest.h"
#include "bot/gateway.h"
#include "bot/pieces.h"
#include "json/json.h"
#include "process/loop.h"

#define FILE_MAX        (10u << 20) /* bytes of a file, for a server without boosts */
#define TITLE_MAX       80          /* characters of a thread's name */
#define GUILD_MESSAGES  (1 << 9)
#define DIRECT_MESSAGES (1 << 12)
#define CHANNELS        512 /* of which it is remembered whether they are threads */
#define REMEMBER_MS     2000
#define HAS_THREAD      160004 /* Discord's code: this message has a thread already */

static const char no_text[] = "Write your question behind the mention, or attach a file to it.\n"
                              "(Of messages that do not mention me, Discord does not show me the text.)";
static const char not_shown[] =
    "(This replies to a message that Discord does not show to bots, as it does not "
    "mention this one. If the question needs it, ask for its text or file.)";

struct discord_timer {
    struct discord *d;
};

struct discord {
    struct chat_options o;
    struct rest *rest;
    struct gateway *gateway;
    struct discord_poster poster;
    char *url, self[24];
    bool over, forgetful; /* forgetful: the session has gone on since it was written down */
    struct known_channel {
        char id[24];
        bool thread;
    } channels[CHANNELS];
    size_t next_channel;
    struct discord_timer remember, again;
};

static void stop_for_good(struct discord *d, const struct error *err)
{
    if (d->over)
        return;
    d->over = true;
    d->o.fatal(d->o.ctx, err);
}

static void on_refused(void *ctx)
{
    struct error err;

    error_set(
        &err, ERROR_AUTH, 401,
        "Discord refuses the token (401)\nMake a new one in its developer portal, and set DISCORD_TOKEN.");
    stop_for_good(ctx, &err);
}

/* ---- the session ---- */

static void remember_session(void *ctx)
{
    struct discord *d = ((struct discord_timer *)ctx)->d;
    autojson struct json *state = gateway_state(d->gateway);

    d->forgetful = false;
    json_set_str(state, "api", d->url);
    bot_remember(d->o.bot, state);
}

/* What was accepted is on disk by now. A state that is older than it could be brings back messages that are
 * known, and no more. */
static void on_changed(void *ctx)
{
    struct discord *d = ctx;

    if (!d->forgetful)
        loop_timer(d->o.loop, clock_ms() + REMEMBER_MS, remember_session, &d->remember);
    d->forgetful = true;
}

/* ---- messages that come ---- */

static void on_discord_message(struct discord *d, const struct json *data)
{
    struct discord_message m autorelease(discord_message_release) = {0};

    if (!discord_message_read(data, d->self, &m))
        return;
    size_t title = pieces_fit(m.text, TITLE_MAX);
    title = strcspn(m.text, "\r\n") < title ? strcspn(m.text, "\r\n") : title;
    bool files = json_size(m.files) > 0;
    const char *own = *m.text ? m.text : files ? "What is in this?" : "", *quoted = m.quoted;
    if (m.hidden && *own)
        quoted = not_shown;
    autofree char *text = xasprintf("%s%s%s", quoted ? quoted : "", quoted && *own ? "\n\n" : "", own);
    struct json *where = json_object_of(
        {"channel", json_string(m.channel)}, {"server", json_string(m.server)},
        {"replied", json_string(m.replied)}, {"title", json_string_n(m.text, title)});
    const struct chat_message ask = {.id = m.id,
                                     .conversation = m.server ? m.id : m.channel,
                                     .user = m.user,
                                     .server = m.server,
                                     .text = text,
                                     .answer = *text ? NULL : no_text,
                                     .files = steal(&m.files),
                                     .where = where};
    bot_ask(d->o.bot, &ask);
}

static void on_discord_event(void *ctx, const char *type, const struct json *data)
{
    struct discord *d = ctx;

    if (!strcmp(type, "MESSAGE_CREATE"))
        on_discord_message(d, data);
    else if (!strcmp(type, "READY"))
        remember_session(&d->remember);
}

/* ---- the place of an answer ---- */

static void settle_place(struct bot_question *qn, const char *to, const char *conversation)
{
    struct json *where = json_copy(bot_where(qn));

    json_set_str(where, "to", to);
    bot_begun(qn, conversation, where);
}

/* The answer is a reply in the channel; it belongs to the conversation of what the question replies to. */
static void settle_reply(const struct discord *d, struct bot_question *qn)
{
    const char *replied = bot_where_of(qn, "replied");
    const char *before = replied ? bot_conversation_of(d->o.bot, replied) : NULL;

    settle_place(qn, bot_where_of(qn, "channel"), before ? before : bot_id(qn));
}

static struct discord *discord_of(const struct bot_question *qn)
{
    return bot_service_part(qn);
}

static void on_thread(void *ctx, int status, const struct json *answer, const char *why)
{
    struct bot_question *qn = ctx;
    struct discord *d = discord_of(qn);
    const char *id = json_text(json_get(answer, "id"));
    bool has = json_int(json_get(answer, "code"), 0) == HAS_THREAD;

    (void)why;
    if ((status == 200 || status == 201) && discord_is_id(id))
        settle_place(qn, id, id);
    else if (has)
        settle_place(qn, bot_id(qn), bot_id(qn)); /* a thread has the id of its message */
    else
        settle_reply(d, qn);
}

static void make_thread(struct discord *d, struct bot_question *qn)
{
    const char *title = bot_where_of(qn, "title"), *channel = bot_where_of(qn, "channel");
    autofree char *path = xasprintf("/channels/%s/messages/%s/threads", channel, bot_id(qn));
    const struct rest_call c = {
        .method = "POST",
        .path = path,
        .body = json_object_of({"name", json_string(title && *title ? title : "Question")},
                               {"auto_archive_duration", json_integer(1440)}),
        .done = on_thread,
        .ctx = qn};

    rest_send(d->rest, &c);
}

/* A channel that no thread hangs on: it is one itself. */
static void know_channel(struct discord *d, const char *id, bool thread)
{
    struct known_channel *k = &d->channels[d->next_channel++ % CHANNELS];

    snprintf(k->id, sizeof k->id, "%s", id);
    k->thread = thread;
}

static const struct known_channel *known_channel(const struct discord *d, const char *id)
{
    for (size_t i = 0; i < CHANNELS; i++)
        if (!strcmp(d->channels[i].id, id))
            return &d->channels[i];
    return NULL;
}

static void settle_in(struct discord *d, struct bot_question *qn, bool thread)
{
    const char *channel = bot_where_of(qn, "channel"), *replied = bot_where_of(qn, "replied");

    if (thread)
        settle_place(qn, channel, channel);
    else if (replied && bot_conversation_of(d->o.bot, replied))
        settle_reply(d, qn);
    else
        make_thread(d, qn);
}

static void on_channel(void *ctx, int status, const struct json *answer, const char *why)
{
    struct bot_question *qn = ctx;
    struct discord *d = discord_of(qn);
    int64_t type = json_int(json_get(answer, "type"), -1);
    bool thread = type >= 10 && type <= 12;

    (void)why;
    if (status == 200)
        know_channel(d, bot_where_of(qn, "channel"), thread);
    settle_in(d, qn, thread);
}

static void discord_begin(void *service, struct bot_question *qn)
{
    struct discord *d = service;
    const char *channel = bot_where_of(qn, "channel");
    const struct known_channel *known = channel ? known_channel(d, channel) : NULL;

    bot_keep_part(qn, d);
    if (bot_where_of(qn, "to")) {
        bot_begun(qn, NULL, NULL);
    } else if (!bot_server(qn)) {
        settle_place(qn, channel, channel);
    } else if (!bot_is_asked(qn)) {
        settle_place(qn, channel, bot_id(qn));
    } else if (known) {
        settle_in(d, qn, known->thread);
    } else {
        autofree char *path = xasprintf("/channels/%s", channel);

        rest_send(d->rest, &(struct rest_call){.method = "GET", .path = path, .done = on_channel, .ctx = qn});
    }
}

static void discord_busy(void *service, struct bot_question *qn)
{
    struct discord *d = service;
    autofree char *path = xasprintf("/channels/%s/typing", bot_where_of(qn, "to"));

    rest_send(d->rest, &(struct rest_call){.method = "POST", .path = path, .optional = true});
}

static bool discord_may_fetch(void *service, const char *url)
{
    static const char *const hosts[] = {"cdn.discordapp.com", "media.discordapp.net"};
    struct discord *d = service;
    size_t scheme = strcspn(d->url, ":");

    if (url_check(url, "", NULL) < 0)
        return false;
    autofree char *host = url_host(url), *ours = url_host(d->url);
    for (size_t i = 0; i < countof(hosts); i++)
        if (!strncmp(url, "https://", 8) && !strcmp(host, hosts[i]))
            return true;
    return !strcmp(host, ours) && !strncmp(url, d->url, scheme + 1); /* where somebody's own API is */
}

/* ---- answers ---- */

static void discord_answer(void *service, struct bot_question *qn, const char *text, const struct json *files)
{
    const struct discord *d = service;

    discord_post(&d->poster, qn, text, files);
}

static void discord_drop(void *service, struct bot_question *qn)
{
    const struct discord *d = service;

    rest_drop(d->rest, qn);
    if (bot_service_part(qn) && bot_service_part(qn) != service)
        discord_post_drop(qn);
}

/* ---- the connection ---- */

static void ask_for_gateway(void *ctx);

static void on_ask_time(void *ctx)
{
    ask_for_gateway(((struct discord_timer *)ctx)->d);
}

static void ask_gateway_later(struct discord *d, int64_t ms)
{
    loop_timer(d->o.loop, clock_ms() + ms, on_ask_time, &d->again);
}

static bool good_gateway(const struct discord *d, const char *url)
{
    bool plain = !strncmp(url, "ws://", 5) && url_is_loopback(d->url);

    if (!plain && strncmp(url, "wss://", 6) != 0)
        return false;
    autofree char *http = xasprintf("http%s", url + 2);
    return url_check(http, "", NULL) == 0 && (!plain || url_is_loopback(http));
}

static void on_gateway(void *ctx, int status, const struct json *answer, const char *why)
{
    struct discord *d = ctx;
    const char *url = json_text(json_get(answer, "url"));
    const struct json *limit = json_get(answer, "session_start_limit");
    int64_t ms = json_int(json_get(limit, "reset_after"), 0);

    if (status != 200 || !good_gateway(d, url)) {
        autofree char *line = xasprintf("Discord does not say where its gateway is: %s",
                                        status == 200 ? url : why);

        d->o.log(line);
        ask_gateway_later(d, 30000);
    } else if (limit && json_int(json_get(limit, "remaining"), 1) < 1) {
        autofree char *line = xasprintf("Discord allows no more new sessions for %lld s",
                                        (long long)ms / 1000);

        d->o.log(line);
        ask_gateway_later(d, ms < 60000 ? 60000 : ms > 86400000 ? 86400000 : ms);
    } else {
        gateway_connect(d->gateway, url);
    }
}

static void ask_for_gateway(void *ctx)
{
    struct discord *d = ctx;

    rest_send(d->rest,
              &(struct rest_call){.method = "GET", .path = "/gateway/bot", .done = on_gateway, .ctx = d});
}

static void on_gateway_fatal(void *ctx, const struct error *err)
{
    stop_for_good(ctx, err);
}

static void on_self(void *ctx, int status, const struct json *answer, const char *why)
{
    struct discord *d = ctx;
    const char *id = json_text(json_get(answer, "id"));
    struct error err;

    if (status != 200 || !discord_is_id(id)) {
        error_set(&err, ERROR_NETWORK, 0, "Discord does not answer at %s: %s", d->url, why);
        stop_for_good(d, &err);
        return;
    }
    snprintf(d->self, sizeof d->self, "%s", id);
    autofree char *line = xasprintf("answering on Discord as %s", json_text(json_get(answer, "username")));
    if (bot_open(d->o.bot, id, &err) < 0) {
        stop_for_good(d, &err);
        return;
    }
    d->o.log(line);
    autojson struct json *state = bot_recall(d->o.bot);
    /* The token goes to no gateway that another API has named. */
    if (strcmp(json_text(json_get(state, "api")), d->url) != 0 || !gateway_resume(d->gateway, state))
        ask_for_gateway(d);
}

static void *discord_start(const struct chat_options *o, struct error *err)
{
    if (url_check(o->url, "--api-url", err) < 0)
        return NULL;
    if (url_is_plain(o->url) && !url_is_loopback(o->url))
        return error_null(err, ERROR_USAGE, 0,
                          "--api-url: the token would go to another machine over http://\nUse https://.");
    struct discord *d = xcalloc(1, sizeof *d);
    d->o = *o;
    d->remember.d = d->again.d = d;
    d->url = url_trim(o->url);
    const struct rest_options ro = {.loop = o->loop,
                                    .transfers = o->transfers,
                                    .url = d->url,
                                    .token = o->token,
                                    .log = o->log,
                                    .refused = on_refused,
                                    .ctx = d};
    d->rest = rest_new(&ro);
    d->poster = (struct discord_poster){.rest = d->rest, .self = d->self, .service = d};
    const struct gateway_options go = {.loop = o->loop,
                                       .transfers = o->transfers,
                                       .token = o->token,
                                       .intents = GUILD_MESSAGES | DIRECT_MESSAGES,
                                       .verbose = o->verbose,
                                       .log = o->log,
                                       .wanted = ask_for_gateway,
                                       .dispatch = on_discord_event,
                                       .changed = on_changed,
                                       .fatal = on_gateway_fatal,
                                       .ctx = d};
    d->gateway = gateway_new(&go);
    rest_send(d->rest, &(struct rest_call){.method = "GET", .path = "/users/@me", .done = on_self, .ctx = d});
    return d;
}

static void discord_free(void *service)
{
    struct discord *d = service;

    loop_timer_stop(d->o.loop, &d->again);
    loop_timer_stop(d->o.loop, &d->remember);
    if (*d->self && !d->over)
        remember_session(&d->remember);
    gateway_free(d->gateway);
    rest_free(d->rest);
    free(d->url);
    free(d);
}

const struct chat_service chat_discord = {
    .name = "discord",
    .variable = "DISCORD_TOKEN",
    .url = "https://discord.com/api/v10",
    .file_max = FILE_MAX,
    .start = discord_start,
    .free = discord_free,
    .begin = discord_begin,
    .busy = discord_busy,
    .may_fetch = discord_may_fetch,
    .answer = discord_answer,
    .drop = discord_drop,
};
