/* gateway.c - one connection after another, and the session that outlives them. */
#include "bot/gateway.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/url.h"
#include "bot/discord_read.h"
#include "json/json.h"
#include "net/transfers.h"
#include "net/websocket.h"
#include "process/loop.h"

#define MESSAGE_MAX    (4u << 20)
#define CONNECT_MS     15000
#define HELLO_MS       20000 /* for the agreement to a WebSocket and hello */
#define READY_MS       60000 /* for the answer to identify or resume */
#define BEAT_LEAST_MS  500
#define BEAT_MOST_MS   300000
#define AGAIN_MS       1000 /* before the second try to connect; then twice as long each time */
#define AGAIN_MOST_MS  60000
#define BRIEF_MS       5000 /* a connection that lasted no longer is not made again at once */
#define RESUMES_MOST   5    /* times that a session is not resumed before a new one is asked for */
#define CONNECTS_MOST  5    /* connections that fail before Discord is asked again where the gateway is */
#define PIECES_AT_ONCE 32   /* that are read before others are served */
#define QUERY          "/?v=10&encoding=json"

struct gateway_timer {
    struct gateway *g;
};

struct gateway {
    struct gateway_options o;
    struct net_transfer *connection; /* NULL: none */
    struct websocket ws;
    bool up, greeted, ready, acked; /* up: connected; greeted: hello came */
    int64_t beat_ms, opened_at;
    char *url, *resume_url, *session; /* url: of new sessions; session NULL: there is none */
    int64_t seq;                      /* -1: none */
    unsigned failures, resumes;       /* in a row */
    struct gateway_timer beat, patience, again;
};

struct gateway *gateway_new(const struct gateway_options *o)
{
    struct gateway *g = xcalloc(1, sizeof *g);

    g->o = *o;
    g->seq = -1;
    g->beat.g = g->patience.g = g->again.g = g;
    return g;
}

static void say_gateway(const struct gateway *g, const char *line)
{
    if (g->o.verbose)
        g->o.log(line);
}

static void hang_up(struct gateway *g)
{
    loop_timer_stop(g->o.loop, g);
    if (g->up)
        loop_unwatch(g->o.loop, transfer_socket(g->connection));
    transfer_drop(steal(&g->connection));
    websocket_release(&g->ws);
    g->up = g->greeted = g->ready = false;
    loop_timer_stop(g->o.loop, &g->beat);
    loop_timer_stop(g->o.loop, &g->patience);
}

void gateway_free(struct gateway *g)
{
    if (!g)
        return;
    hang_up(g);
    loop_timer_stop(g->o.loop, &g->again);
    free(g->url);
    free(g->resume_url);
    free(g->session);
    free(g);
}

static double random_part(void) /* from 0 to 1 */
{
    uint32_t n;

    random_fill(&n, sizeof n);
    return n / 4294967296.0;
}

static void forget_session(struct gateway *g)
{
    xreplace(&g->session, NULL);
    xreplace(&g->resume_url, NULL);
    g->seq = -1;
    g->o.changed(g->o.ctx);
}

/* ---- again ---- */

static void open_connection(struct gateway *g);

static void on_again(void *ctx)
{
    struct gateway *g = ((struct gateway_timer *)ctx)->g;

    if (g->session && g->resumes >= RESUMES_MOST)
        forget_session(g);
    if (g->session && g->failures % CONNECTS_MOST)
        open_connection(g);
    else
        g->o.wanted(g->o.ctx);
}

/* Connects again, after a pause that grows with each failure. */
static void connect_again(struct gateway *g, const char *why)
{
    int64_t ms = AGAIN_MS;
    autofree char *line = xasprintf("connection to Discord: %s; connecting again", why);

    say_gateway(g, line);
    hang_up(g);
    for (unsigned i = 1; i < g->failures && ms < AGAIN_MOST_MS; i++)
        ms *= 2;
    if (ms > AGAIN_MOST_MS)
        ms = AGAIN_MOST_MS;
    if (g->failures++ == 0)
        ms = clock_ms() - g->opened_at < BRIEF_MS ? 2 * AGAIN_MS : 0;
    if (g->failures == 5 && !g->o.verbose)
        g->o.log(line);
    loop_timer(g->o.loop, clock_ms() + (int64_t)((double)ms * (0.5 + random_part() / 2)), on_again,
               &g->again);
}

static void on_patience(void *ctx)
{
    struct gateway *g = ((struct gateway_timer *)ctx)->g;

    connect_again(g, g->greeted ? "no answer to the identification" : "no hello came");
}

/* ---- sending ---- */

static void on_gateway_socket(void *ctx);

static void push_out(struct gateway *g)
{
    while (g->ws.out.len) {
        ssize_t n = transfer_send(g->connection, g->ws.out.data, g->ws.out.len);

        if (n < 0 && errno != EAGAIN)
            g->ws.out.len = 0; /* reading says that it is lost */
        if (n <= 0)
            break;
        buf_drop(&g->ws.out, (size_t)n);
    }
    loop_watch(g->o.loop, transfer_socket(g->connection), (short)(POLLIN | (g->ws.out.len ? POLLOUT : 0)),
               on_gateway_socket, g);
}

static void send_payload(struct gateway *g, int op, struct json *data)
{
    autojson struct json *payload = json_object_of({"op", json_integer(op)}, {"d", data});
    char *text = json_print(payload);

    websocket_text(&g->ws, text, strlen(text));
    free_secret(text);
    push_out(g);
}

static void send_beat(struct gateway *g)
{
    send_payload(g, DISCORD_HEARTBEAT, g->seq < 0 ? json_null() : json_integer(g->seq));
}

static void on_beat(void *ctx)
{
    struct gateway *g = ((struct gateway_timer *)ctx)->g;

    if (!g->acked) {
        connect_again(g, "a heartbeat was not answered");
        return;
    }
    g->acked = false;
    send_beat(g);
    loop_timer(g->o.loop, clock_ms() + g->beat_ms, on_beat, &g->beat);
}

/* ---- what comes ---- */

static void on_gateway_hello(struct gateway *g, const struct json *data)
{
    int64_t ms = json_int(json_get(data, "heartbeat_interval"), 0);

    g->beat_ms = ms < BEAT_LEAST_MS ? BEAT_LEAST_MS : ms > BEAT_MOST_MS ? BEAT_MOST_MS : ms;
    g->greeted = g->acked = true;
    loop_timer(g->o.loop, clock_ms() + (int64_t)((double)g->beat_ms * random_part()), on_beat, &g->beat);
    loop_timer(g->o.loop, clock_ms() + READY_MS, on_patience, &g->patience);
    struct json *token = json_string(g->o.token);
    g->resumes += g->session != NULL;
    if (g->session)
        send_payload(g, DISCORD_RESUME,
                     json_object_of({"token", token}, {"session_id", json_string(g->session)},
                                    {"seq", json_integer(g->seq)}));
    else
        send_payload(g, DISCORD_IDENTIFY,
                     json_object_of({"token", token}, {"intents", json_integer(g->o.intents)},
                                    {"properties", json_object_of({"os", json_string("linux")},
                                                                  {"browser", json_string("sandpiper")},
                                                                  {"device", json_string("sandpiper")})}));
}

static bool is_name_of(const char *host, const char *domain)
{
    size_t n = strlen(host), d = strlen(domain);

    return n >= d && !strcmp(host + n - d, domain) && (n == d || host[n - d - 1] == '.');
}

/* The token goes to whatever is named here, so it must be a name of the domain that the gateway is in: of
 * "gateway.discord.gg" all of discord.gg; of an address, or a name without dots, that alone. */
static bool may_resume_at(const struct gateway *g, const char *url)
{
    const char *scheme = !strncmp(g->url, "ws://", 5) ? "ws://" : "wss://";

    if (strncmp(url, scheme, strlen(scheme)) != 0)
        return false;
    autofree char *mine = xasprintf("http%s", g->url + 2), *other = xasprintf("http%s", url + 2);
    if (url_check(other, "", NULL) < 0)
        return false;
    autofree char *my_host = url_host(mine), *host = url_host(other);
    const char *last = strrchr(my_host, '.'), *domain = my_host;
    bool name = last && !strpbrk(my_host, ":[") && strspn(last + 1, "0123456789") < strlen(last + 1);
    if (name)
        for (const char *p = last; p > my_host; p--)
            if (p[-1] == '.') {
                domain = p;
                break;
            }
    return name ? is_name_of(host, domain) : !strcmp(host, my_host);
}

static void greet_session(struct gateway *g, const struct json *data)
{
    const char *url = json_text(json_get(data, "resume_gateway_url"));

    xreplace(&g->session, xstrdup(json_str(json_get(data, "session_id"))));
    xreplace(&g->resume_url, may_resume_at(g, url) ? xstrdup(url) : NULL);
}

static void on_dispatch(struct gateway *g, const struct discord_payload *p)
{
    bool ready = !strcmp(p->type, "READY"), resumed = !strcmp(p->type, "RESUMED");

    if (ready)
        greet_session(g, p->data);
    if (p->seq >= 0)
        g->seq = p->seq;
    if (ready || resumed) {
        g->ready = true;
        g->failures = g->resumes = 0;
        loop_timer_stop(g->o.loop, &g->patience);
        say_gateway(g, ready ? "connected to Discord" : "connected to Discord again");
    }
    g->o.dispatch(g->o.ctx, p->type, p->data);
    g->o.changed(g->o.ctx);
}

static void on_invalid_session(struct gateway *g, bool can_resume)
{
    if (!can_resume)
        forget_session(g);
    hang_up(g);
    g->failures++;
    say_gateway(g, "Discord does not know the session any more");
    /* Discord wants a pause of one to five seconds. */
    loop_timer(g->o.loop, clock_ms() + 1000 + (int64_t)(4000 * random_part()), on_again, &g->again);
}

/* False: the connection is gone. */
static bool on_payload(struct gateway *g, const char *text, size_t len)
{
    struct discord_payload p;
    struct error err;

    if (discord_payload_read(text, len, &p, &err) < 0) {
        connect_again(g, err.text);
        return false;
    }
    bool stays = p.op != DISCORD_RECONNECT && p.op != DISCORD_INVALID_SESSION;
    if (p.op == DISCORD_HELLO && !g->greeted)
        on_gateway_hello(g, p.data);
    else if (p.op == DISCORD_ACK)
        g->acked = true;
    else if (p.op == DISCORD_HEARTBEAT && g->greeted)
        send_beat(g);
    else if (p.op == DISCORD_DISPATCH && g->greeted)
        on_dispatch(g, &p);
    else if (p.op == DISCORD_RECONNECT)
        connect_again(g, "Discord asks for it");
    else if (p.op == DISCORD_INVALID_SESSION)
        on_invalid_session(g, json_bool(p.data, false));
    discord_payload_release(&p);
    return stays && g->up;
}

static void on_close(struct gateway *g, int code)
{
    const char *why;
    enum discord_close then = discord_close(code, &why);
    struct error err;
    autofree char *line = xasprintf("closed with %d%s%s", code, why ? ", " : "", why ? why : "");

    if (then == DISCORD_FATAL) {
        hang_up(g);
        error_set(&err, code == 4004 ? ERROR_AUTH : ERROR_USAGE, code, "%s", why);
        g->o.fatal(g->o.ctx, &err);
        return;
    }
    if (then == DISCORD_IDENTIFIES)
        forget_session(g);
    connect_again(g, line);
}

/* Looks at what has come; false: the connection is gone. */
static bool take_messages(struct gateway *g)
{
    struct error err;
    int code;

    for (;;) {
        switch (websocket_next(&g->ws, &code, &err)) {
        case WEBSOCKET_MORE:
            return true;
        case WEBSOCKET_OPEN:
            break;
        case WEBSOCKET_TEXT:
            if (!on_payload(g, buf_str(&g->ws.message), g->ws.message.len))
                return false;
            break;
        case WEBSOCKET_CLOSE:
            on_close(g, code);
            return false;
        case WEBSOCKET_BROKEN:
            connect_again(g, err.text);
            return false;
        }
    }
}

static void on_gateway_socket(void *ctx)
{
    struct gateway *g = ctx;
    char piece[8192];
    int pieces = 0;
    ssize_t n;

    while ((n = transfer_receive(g->connection, piece, sizeof piece)) > 0) {
        if (!websocket_feed(&g->ws, piece, (size_t)n)) {
            connect_again(g, "more at once than it should send");
            return;
        }
        if (!take_messages(g))
            return;
        if (++pieces == PIECES_AT_ONCE) { /* more may wait in libcurl, where poll does not see it */
            loop_timer(g->o.loop, clock_ms(), on_gateway_socket, g);
            break;
        }
    }
    if (n < 0 && errno != EAGAIN) {
        connect_again(g, "it was lost");
        return;
    }
    push_out(g);
}

/* ---- connecting ---- */

static void on_gateway_connected(void *ctx, const struct transfer_end *end)
{
    struct gateway *g = ctx;

    if (end->why) {
        autofree char *why = xstrdup(end->why);

        g->connection = NULL;
        connect_again(g, why);
        return;
    }
    const char *url = g->session && g->resume_url ? g->resume_url : g->url;
    autofree char *plain = xasprintf("http%s", url + 2), *host = url_host(plain);
    g->up = true;
    websocket_init(&g->ws, MESSAGE_MAX);
    websocket_ask(&g->ws, host, QUERY);
    loop_timer(g->o.loop, clock_ms() + HELLO_MS, on_patience, &g->patience);
    push_out(g);
}

static void open_connection(struct gateway *g)
{
    const char *url = g->session && g->resume_url ? g->resume_url : g->url;
    autofree char *plain = xasprintf("http%s", url + 2); /* ws: http:, wss: https: */
    const struct transfer_want w = {
        .url = plain, .ms = CONNECT_MS, .open = true, .done = on_gateway_connected, .ctx = g};
    struct error err = {0};

    g->opened_at = clock_ms();
    g->connection = transfers_begin(g->o.transfers, &w, &err);
    if (!g->connection)
        connect_again(g, err.text);
}

void gateway_connect(struct gateway *g, const char *url)
{
    hang_up(g);
    loop_timer_stop(g->o.loop, &g->again);
    xreplace(&g->url, xstrdup(url));
    xreplace(&g->resume_url, NULL);
    open_connection(g);
}

struct json *gateway_state(const struct gateway *g)
{
    return json_object_of({"session", json_string(g->session)}, {"url", json_string(g->url)},
                          {"resume_url", json_string(g->resume_url)}, {"seq", json_integer(g->seq)});
}

bool gateway_resume(struct gateway *g, const struct json *state)
{
    const char *session = json_str(json_get(state, "session")), *url = json_str(json_get(state, "url")),
               *resume_url = json_str(json_get(state, "resume_url"));

    if (!session || !url || strncmp(url, "ws", 2) != 0)
        return false;
    xreplace(&g->url, xstrdup(url));
    xreplace(&g->session, xstrdup(session));
    xreplace(&g->resume_url, resume_url && may_resume_at(g, resume_url) ? xstrdup(resume_url) : NULL);
    g->seq = json_int(json_get(state, "seq"), -1);
    open_connection(g);
    return true;
}
