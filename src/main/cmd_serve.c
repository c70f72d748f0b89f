/* cmd_serve.c - "sandpiper serve": the server on a socket, until a signal ends it. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/url.h"
#include "main/command.h"
#include "main/front.h"
#include "packages/packages.h"
#include "process/loop.h"
#include "process/signals.h"
#include "clients/clients.h"
#include "front/runner.h"
#include "front/runners.h"
#include "server/guard.h"
#include "server/listen.h"
#include "server/server.h"
#include "server/token.h"

#define DRAIN_MS 30000
#define END_MS   15000 /* for the sandboxes to end */
#define QUIET_MS 1000  /* the first part of END_MS, in which nothing is printed */

struct serve {
    const struct front *f;
    struct loop *loop;
    struct listen_address address;
    struct tokens tokens;
    struct argv hosts;
    char *public_url; /* or NULL */
    struct runners *runners;
    struct server *server;
    bool starter_gone;
};

/* The secrets of clients: the user's file, or one that is shown once, here and nowhere else. */
static int get_tokens(struct serve *s, struct error *err)
{
    char token[TOKEN_TEXT];

    if (s->f->set.token_file)
        return tokens_read(&s->tokens, s->f->set.token_file, err);
    if (!s->address.loopback)
        return error_set(err, ERROR_USAGE, 0,
                         "serve: other machines could connect to that address, so --token-file is needed\n"
                         "Make one: (umask 077; openssl rand -hex 32 > token), then --token-file token");
    if (token_make(token, err) < 0)
        return -1;
    tokens_add(&s->tokens, token, strlen(token));
    autofree char *line = xasprintf("token: %s", token);
    print_line(line);
    explicit_bzero(line, strlen(line));
    explicit_bzero(token, sizeof token);
    return 0;
}

static void on_log(void *ctx, const char *line)
{
    (void)ctx;
    print_line(line);
}

/* A line for programs, without our name before it. What clients wrote in it is scrubbed. */
static void on_json_log(void *ctx, const char *line)
{
    (void)ctx;
    fprintf(stderr, "%s\n", line);
}

static int check_hosts(const struct argv *hosts, struct error *err)
{
    for (size_t i = 0; i < hosts->n; i++)
        if (!guard_is_name(hosts->v[i]))
            return error_set(err, ERROR_USAGE, 0,
                             "--allow-host: expected the name of a host alone, without scheme, port or path, "
                             "found \"%.100s\"",
                             hosts->v[i]);
    return 0;
}

/* Clients use the name in --public-url, so Host may have it, as if --allow-host named it too. */
static int take_public_url(struct serve *s, struct error *err)
{
    const char *url = s->f->set.public_url;

    if (!url)
        return 0;
    if (url_check(url, "--public-url", err) < 0)
        return -1;
    autofree char *host = url_host(url);
    autofree char *name = guard_name(host);
    if (!name || strchr(url, '?'))
        return error_set(err, ERROR_USAGE, 0,
                         "--public-url: expected a URL such as https://example.com or "
                         "https://example.com/python, found \"%.100s\"",
                         url);
    s->public_url = url_trim(url);
    argv_push(&s->hosts, name);
    return 0;
}

static int check_proxies(const struct argv *proxies, struct error *err)
{
    for (size_t i = 0; i < proxies->n; i++)
        if (!guard_is_proxy(proxies->v[i]))
            return error_set(err, ERROR_USAGE, 0,
                             "--trusted-proxy: expected an address such as 127.0.0.1, a range such as "
                             "172.16.0.0/12, or unix, found \"%.100s\"",
                             proxies->v[i]);
    return 0;
}

static int take_names(struct serve *s, struct error *err)
{
    const struct argv *allowed = &s->f->set.allow_hosts;

    if (packages_allowed(&s->f->set.allow_packages, NULL, err) < 0 || check_hosts(allowed, err) < 0
        || check_proxies(&s->f->set.proxies, err) < 0)
        return -1;
    for (size_t i = 0; i < allowed->n; i++)
        argv_push(&s->hosts, allowed->v[i]);
    return take_public_url(s, err);
}

static int open_server(struct serve *s, struct error *err)
{
    int fd = take_names(s, err) < 0 ? -2 : listen_inherited(&s->address, err);

    if (fd < -1)
        return -1;
    if (fd < 0 && listen_parse(s->f->set.listen, &s->address, err) < 0)
        return error_wrap(err, "--listen");
    if (get_tokens(s, err) < 0 || (fd < 0 && (fd = listen_open(&s->address, err)) < 0)) {
        fd_close(&fd);
        return -1;
    }
    tokens_share(&s->tokens, (unsigned)s->f->set.max_sandboxes);
    const struct runners_options ro = {
        .loop = s->loop,
        .starter = s->f->starter,
        .max = (unsigned)s->f->set.max_sandboxes,
        .ttl_ms = s->f->set.ttl,
        .queue_ms = s->f->set.queue,
        .pool = (unsigned)s->f->set.pool_size,
        .named = true,
        .most = tokens_most,
        .weaker = print_line,
        .ctx = &s->tokens,
    };
    s->runners = runners_new(&ro);
    const char *log = s->f->set.log;
    bool json = !strcmp(log, "json");
    struct server_options o = {
        .loop = s->loop,
        .fd = fd,
        .address = &s->address,
        .tokens = &s->tokens,
        .hosts = &s->hosts,
        .proxies = &s->f->set.proxies,
        .public_url = s->public_url,
        .runners = s->runners,
        .packages = &s->f->set.allow_packages,
        .languages = &s->f->set.languages,
        .model = s->f->set.model,
        .log = s->f->set.verbose || strcmp(log, "off") != 0 ? json ? on_json_log : on_log : NULL,
        .log_json = json,
    };
    s->server = server_new(&o, err);
    if (!s->server)
        return -1;
    client_routes(s->server);
    autofree char *at = listen_show(&s->address);
    const char *url = s->public_url ? s->public_url : s->address.local ? NULL : at;
    autofree char *line = xasprintf(url ? "listening on %s (docs: %s/docs)" : "listening on %s", at, url);
    print_line(line);
    return 0;
}

/* No sandbox can be started any more, so it is better to end: another server finds the sandboxes again. */
static void on_starter_gone(void *ctx)
{
    struct serve *s = ctx;

    s->starter_gone = true;
    print_line("the process that starts sandboxes has ended (was it killed?), so the server ends too\n"
               "Start sandpiper serve again: it finds the sandboxes.");
}

/* The terminal on which it was started is gone, which ends a server like any program. A pipe whose other end
 * was closed looks alike, and says nothing about a terminal. */
static bool terminal_is_gone(void)
{
    struct pollfd p[] = {{.fd = 0}, {.fd = 1}, {.fd = 2}};
    struct stat st;

    (void)poll(p, countof(p), 0);
    for (size_t i = 0; i < countof(p); i++)
        if (p[i].revents & POLLHUP && fstat(p[i].fd, &st) == 0 && S_ISCHR(st.st_mode))
            return true;
    return false;
}

/* Those that are no longer in the file let nobody in any more; what was begun with them is finished. */
static void read_tokens_again(struct serve *s)
{
    struct tokens new = {0};
    struct error err;

    if (tokens_read(&new, s->f->set.token_file, &err) == 0) {
        autofree char *line = xasprintf("token file read again: %zu token%s", new.n, new.n == 1 ? "" : "s");

        tokens_share(&new, (unsigned)s->f->set.max_sandboxes);
        if (tokens_update(&s->tokens, &new, &err) == 0) {
            print_line(line);
            return;
        }
    }
    print_error(&err);
    print_line("the tokens stay as they were");
}

/* Until the first signal; then finish what runs, until the deadline or another signal. */
static void run_until_signal(struct serve *s)
{
    loop_watch(s->loop, s->f->starter, 0, on_starter_gone, s);
    if (s->f->set.token_file)
        loop_keep_hang_ups(s->loop);
    while (!loop_cancelled(s->loop) && !s->starter_gone) {
        loop_wait(s->loop, -1);
        if (!loop_hung_up(s->loop))
            continue;
        if (terminal_is_gone())
            break;
        read_tokens_again(s);
    }
    loop_unwatch(s->loop, s->f->starter);
    server_drain(s->server);
    if (!server_busy(s->server))
        return;
    print_line("finishing what is running; a second signal stops at once");
    int64_t until = clock_ms() + DRAIN_MS;
    while (server_busy(s->server) && clock_ms() < until && loop_end_signals(s->loop) < 2)
        loop_wait(s->loop, (int)(until - clock_ms()));
}

/* Wait for the sandboxes that clients or we have stopped, so that whoever restarts the server finds nothing
 * of them. */
static void wait_for_sandboxes(struct loop *loop)
{
    unsigned signals = loop_end_signals(loop), left = runner_settle(loop, QUIET_MS);

    if (left && loop_end_signals(loop) == signals) {
        autofree char *line = xasprintf("waiting for %u sandbox%s to end; another signal ends the wait", left,
                                        left == 1 ? "" : "es");
        print_line(line);
        left = runner_settle(loop, END_MS - QUIET_MS);
    }
    if (left)
        print_line("not all sandboxes have ended yet; \"sandpiper gc\" removes what is left");
    runner_let_go();
}

int cmd_serve(const struct front *f)
{
    struct serve s = {.f = f, .loop = loop_new()};
    struct error err = {0};
    int status;

    if (loop_signals(s.loop, &err) < 0 || open_server(&s, &err) < 0) {
        status = print_failure(&err);
    } else {
        run_until_signal(&s);
        server_free(s.server);
        listen_remove(&s.address);
        runners_free(s.runners, !s.starter_gone);
        status = s.starter_gone ? 1 : 0;
        wait_for_sandboxes(s.loop);
    }
    argv_release(&s.hosts);
    free(s.public_url);
    loop_free(s.loop);
    return status;
}
