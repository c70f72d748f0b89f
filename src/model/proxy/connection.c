/* connection.c - one connection of the code's: reads requests, decides about each, and tells the program.
 *
 * RULE: Each request is judged by itself, also one that follows a redirect: a redirect is the code's own to
 *     follow.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "json/json.h"
#include "proxy/private.h"

#define HEAD_MS   10000 /* from a request's first byte to the blank line */
#define URL_TOLD  300
#define READ_SIZE 65536

bool client_write(struct client *c, const void *data, size_t len)
{
    const char *p = data;

    while (len) {
        ssize_t n = send(c->fd, p, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EAGAIN && poll(&(struct pollfd){c->fd, POLLOUT, 0}, 1, IDLE_MS) == 1)
            continue;
        if (n < 0 && errno != EINTR)
            return false;
        p += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

int client_read(struct client *c, int ms)
{
    char *room = buf_space(&c->in, READ_SIZE);
    ssize_t n;

    if (!room || poll(&(struct pollfd){c->fd, POLLIN, 0}, 1, ms) != 1)
        return -1;
    n = recv(c->fd, room, READ_SIZE, MSG_DONTWAIT);
    if (n > 0)
        c->in.len += (size_t)n;
    buf_end(&c->in);
    return n > 0 ? 1 : n < 0 && errno != ECONNRESET ? -1 : 0;
}

/* ---- what is told ---- */

static void tell_packet(const struct client *c, struct json *o)
{
    autojson struct json *own = o;
    autofree char *text = json_print(own);

    (void)!send(c->g->program, text, strlen(text), MSG_NOSIGNAL);
}

static struct json *request_json(const struct client *c, const char *state)
{
    struct json *o = json_object_of({"state", json_string(state)}, {"number", json_integer(c->number)},
                                    {"method", json_string(*c->h.method ? c->h.method : NULL)},
                                    {"host", json_string(*c->h.host ? c->h.host : NULL)},
                                    {"port", json_integer(c->h.port)});

    if (c->h.path)
        json_set(o, "path", json_string_n(c->h.path, strnlen(c->h.path, URL_TOLD)));
    return o;
}

static void tell_open(const struct client *c, const struct net_secret *secret)
{
    tell_packet(c,
                json_set_all(request_json(c, "open"), {"secret", json_string(secret ? secret->name : NULL)}));
}

static void tell_over(const struct client *c, const char *state, const char *why, int status)
{
    tell_packet(c, json_set_all(request_json(c, state), {"why", json_string(why)},
                                {"status", json_integer(status)}, {"sent", json_integer(c->sent)},
                                {"received", json_integer(c->received)}));
}

void client_over(struct client *c, int status)
{
    tell_over(c, *c->refusal ? "refused" : "done", *c->refusal ? c->refusal : NULL, status);
}

/* The words are in the reason as well, since that is what most clients show of a tunnel that failed. */
void client_refuse(struct client *c, const char *words)
{
    const char *why = words + 4;
    autofree char *answer = xasprintf("HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
                                      "Connection: close\r\n\r\nsandpiper: %s\n",
                                      words, strlen(why) + strlen("sandpiper: \n"), why);

    tell_over(c, "refused", why, (int)strtol(words, NULL, 10));
    client_write(c, answer, strlen(answer));
}

/* ---- how much ---- */

static bool within_limit(struct client *c, atomic_int_least64_t *total, size_t n, int64_t most)
{
    if (atomic_fetch_add(total, (int64_t)n) + (int64_t)n <= most)
        return true;
    snprintf(c->refusal, sizeof c->refusal, "more than %s may %s",
             total == &c->g->traffic->sent ? "--net-max-sent" : "--net-max-received",
             total == &c->g->traffic->sent ? "leave the sandbox" : "come in");
    return false;
}

bool client_may_send(struct client *c, size_t n)
{
    if (!within_limit(c, &c->g->traffic->sent, n, c->g->max_sent))
        return false;
    c->sent += (int64_t)n;
    return true;
}

bool client_may_receive(struct client *c, size_t n)
{
    if (!within_limit(c, &c->g->traffic->received, n, c->g->max_received))
        return false;
    c->received += (int64_t)n;
    return true;
}

/* False: there were too many, which is told once. */
static bool count_request(struct client *c)
{
    c->number = atomic_fetch_add(&c->g->traffic->requests, 1) + 1;
    if (c->number <= c->g->max_requests)
        return true;
    if (!atomic_exchange(&c->g->traffic->told, true))
        tell_over(c, "refused", "more requests than --net-max-requests", 429);
    return false;
}

/* ---- one request after another ---- */

static const char too_many[] = "HTTP/1.1 429 more requests than --net-max-requests\r\nContent-Length: 0\r\n"
                               "Connection: close\r\n\r\n";

/* False: the connection closes. */
static bool carry_out(struct client *c)
{
    const struct net_rule *rule = rules_find(&c->g->rules, c->h.host, c->h.port);
    const struct net_secret *secret = rules_secret(&c->g->rules, c->h.host, c->h.port);

    if (c->h.tunnel && secret) {
        autofree char *words = xasprintf("403 ask for http://%s instead of https: the secret %s is added "
                                         "there, and the request goes on by https",
                                         c->h.host, secret->name);
        client_refuse(c, words);
        return false;
    }
    if (!rule && !secret) {
        autofree char *words = xasprintf("403 %s:%u is not in --allow-net", c->h.host, c->h.port);

        client_refuse(c, words);
        return false;
    }
    tell_open(c, secret);
    if (!c->h.tunnel)
        return forward_run(c, secret ? &secret->to : rule, secret);
    tunnel_run(c, rule);
    return false;
}

/* 1: c->h has a request; 0: the connection is over. */
static int next_head(struct client *c, char **head)
{
    int64_t until = 0;
    size_t len;

    while (!(len = head_length(buf_str(&c->in), c->in.len))) {
        int64_t left = until ? until - clock_ms() : IDLE_MS;

        if (c->in.len > HEAD_MAX || left <= 0 || client_read(c, (int)left) <= 0)
            return 0;
        until = until ? until : clock_ms() + HEAD_MS;
    }
    if (len > HEAD_MAX)
        return 0;
    *head = xmemdup0(buf_str(&c->in), len);
    buf_drop(&c->in, len);
    return (int)len;
}

static bool serve_one(struct client *c)
{
    autofree char *head = NULL;
    int len = next_head(c, &head);
    bool going = false;

    if (!len)
        return false;
    c->sent = c->received = 0;
    c->refusal[0] = '\0';
    const char *wrong = head_read(head, (size_t)len, &c->h);
    if (!count_request(c))
        client_write(c, too_many, sizeof too_many - 1);
    else if (wrong)
        client_refuse(c, wrong);
    else
        going = carry_out(c);
    c->h.path = NULL; /* it lies in head */
    return going;
}

/* Closing at once would reset a connection to which the code has written more, and it could lose our
 * answer. */
static void linger(struct client *c)
{
    int64_t until = clock_ms() + 1000;
    char piece[4096];

    shutdown(c->fd, SHUT_WR);
    while (clock_ms() < until && poll(&(struct pollfd){c->fd, POLLIN, 0}, 1, 200) == 1
           && recv(c->fd, piece, sizeof piece, MSG_DONTWAIT) > 0)
        ;
}

void client_serve(struct gate *g, int fd)
{
    struct client c = {.g = g, .fd = fd, .in = BUF_INIT(HEAD_MAX + 2 * READ_SIZE)};

    no_delay(fd);
    while (serve_one(&c))
        ;
    linger(&c);
    buf_release(&c.in);
}
