/* site_keeper.c - runs a recipe's open, tells those who wait how far it is, holds it, and gives it up.
 *
 * It ends the gentle way first: its stdin is closed, which is how open knows that it is no longer needed;
 * then close is run; only then is open killed. If this process is killed itself, open's stdin is closed too.
 */
#include "engine/site_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/fill.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/size.h"
#include "engine/client.h"
#include "engine/recipe.h"
#include "process/child.h"
#include "process/loop.h"
#include "records/owner.h"
#include "records/run_dir.h"

#define NAME        "sp-site"
#define CLIENTS     1024
#define LOOK_MS     200   /* between looks whether the owner lives */
#define STATE_MS    2000  /* between looks at what is waited for */
#define LINGER_MS   60000 /* with a living owner and nobody connected */
#define ORPHANED_MS 3000  /* for those connected, once their owner has ended */
#define END_MS      3000  /* for open to end once its stdin is closed */
#define SAID_MAX    (16 * 1024)

struct keeper_site {
    const struct site_job *job;
    struct loop *loop;
    int clients[CLIENTS];
    size_t n;
    struct child *open, *state;
    int to_open, from_open; /* open's stdin and stdout */
    struct buf said;        /* by its stdout */
    struct argv facts;
    char *waits; /* the last that was told */
    char *why;   /* it failed, as it was told */
    bool ready, failed;
    int64_t until, state_at, alone_since, orphaned_since; /* clock_ms(); 0: not so */
};

/* ---- to those who have joined ---- */

static void tell(int client, char kind, const char *text)
{
    autofree char *line = xasprintf("%c%s\n", kind, text);

    (void)send(client, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void tell_all(const struct keeper_site *k, char kind, const char *text)
{
    for (size_t i = 0; i < k->n; i++)
        tell(k->clients[i], kind, text);
}

static void tell_ready(const struct keeper_site *k, int client)
{
    for (size_t i = 0; i < k->facts.n; i++)
        tell(client, SITE_FACT, k->facts.v[i]);
    tell(client, SITE_READY, "");
}

static void set_waits(struct keeper_site *k, const char *text)
{
    size_t len = strcspn(text, "\n");
    autofree char *raw = xmemdup0(text, len > 200 ? 200 : len), *line = scrub_line(raw, SCRUB_TERMINAL);

    line[trimmed_length(line, strlen(line), " ")] = '\0';
    if (k->ready || !*line || (k->waits && !strcmp(k->waits, line)))
        return;
    xreplace(&k->waits, steal(&line));
    tell_all(k, SITE_WAITS, k->waits);
}

static void set_failed(struct keeper_site *k, const struct error *err)
{
    autofree char *text = xasprintf("%s\t%s", err->text, err->remedy);

    for (char *p = text; (p = strchr(p, '\n'));)
        *p = ' ';
    tell_all(k, SITE_FAILED, text);
    xreplace(&k->why, steal(&text));
    k->failed = true;
}

/* ---- open ---- */

static void open_failed(struct keeper_site *k)
{
    const struct engine_recipe *r = k->job->recipe;
    autofree char *said = recipe_complaint(r, k->open);
    struct error err = {0};

    recipe_explain(r, said, &err);
    set_failed(k, &err);
}

static void look_ready(struct keeper_site *k)
{
    const struct engine_recipe *r = k->job->recipe;
    /* One that prints no facts is ready when it has printed anything. */
    bool all = recipe_facts(&r->gives, buf_str(&k->said), &k->facts) && (r->gives.n > 0 || k->said.len > 0);

    if (k->ready || k->failed || !all)
        return;
    k->ready = true;
    for (size_t i = 0; i < k->n; i++)
        tell_ready(k, k->clients[i]);
}

static void serve_open(void *ctx)
{
    struct keeper_site *k = ctx;
    char *room = buf_space(&k->said, 1024), spare[1024];
    ssize_t n = read(k->from_open, room ? room : spare, 1024);

    if (n > 0 && room) {
        k->said.len += (size_t)n;
        buf_end(&k->said);
        look_ready(k);
    }
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        loop_unwatch(k->loop, k->from_open);
        fd_close(&k->from_open);
    }
}

/* It has ended: well, if it holds nothing and has made all that is needed. What was held is lost. */
static void on_open_end(void *ctx, struct child *c)
{
    struct keeper_site *k = ctx;

    if (k->from_open >= 0)
        serve_open(k);
    if (child_ok(c) && !k->ready && k->job->recipe->gives.n == 0) {
        buf_addstr(&k->said, "\n");
        look_ready(k);
    }
    if (!k->ready && !k->failed)
        open_failed(k);
    if (!child_ok(c))
        k->failed = true;
}

static int start_open(struct keeper_site *k, struct error *err)
{
    int in[2], out[2];

    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        return error_errno(err, "pipe");
    k->to_open = in[1];
    k->from_open = out[0];
    k->open = recipe_start(k->job->recipe,
                           (struct child_options){.argv = k->job->commands.open.v,
                                                  .watch = {k->loop, on_open_end, k},
                                                  .in = in[0],
                                                  .out = out[1],
                                                  .cwd = k->job->dir->path,
                                                  .own_session = true},
                           err);
    fd_close(&in[0]);
    fd_close(&out[1]);
    if (!k->open || fd_nonblock(k->from_open, true) != 0)
        return -1;
    loop_watch(k->loop, k->from_open, POLLIN, serve_open, k);
    return 0;
}

/* ---- what it waits for ---- */

static void on_state(void *ctx, struct child *c)
{
    struct keeper_site *k = ctx;

    if (child_ok(c))
        set_waits(k, buf_str(&c->out_text));
}

static void look_at_state(struct keeper_site *k)
{
    if (k->state && !k->state->ended)
        return;
    child_free(steal(&k->state));
    k->state = recipe_start(k->job->recipe,
                            (struct child_options){.argv = k->job->commands.state.v,
                                                   .watch = {k->loop, on_state, k},
                                                   .deadline_ms = CLIENT_MS,
                                                   .in = CHILD_NULL,
                                                   .out = CHILD_KEPT},
                            NULL);
}

static void queued_too_long(struct keeper_site *k)
{
    struct error err = {0};
    autofree char *said = k->waits ? xstrdup(k->waits) : recipe_complaint(k->job->recipe, k->open);

    error_set(&err, ERROR_SANDBOX, 0,
              "it waited %lld s in the queue (%.200s)\nwait longer: --queue-timeout, or ask for less",
              (long long)k->job->recipe->queue_ms / 1000, said);
    set_failed(k, &err);
}

/* ---- who is connected ---- */

static void on_visitor(void *ctx)
{
    struct keeper_site *k = ctx;
    int fd = accept4(k->job->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    if (k->n == CLIENTS) {
        close(fd);
        return;
    }
    k->clients[k->n++] = fd;
    if (k->why)
        tell(fd, SITE_FAILED, k->why);
    else if (k->ready)
        tell_ready(k, fd);
    else if (k->waits)
        tell(fd, SITE_WAITS, k->waits);
}

/* They send nothing: what can be read is their end. */
static void drop_those_gone(struct keeper_site *k)
{
    for (size_t i = k->n; i-- > 0;) {
        char c;

        if (recv(k->clients[i], &c, 1, MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        close(k->clients[i]);
        k->clients[i] = k->clients[--k->n];
    }
}

static bool for_long(int64_t *since, bool now, int ms)
{
    if (!now)
        *since = 0;
    else if (!*since)
        *since = clock_ms();
    return now && clock_ms() - *since >= ms;
}

static bool needed(struct keeper_site *k)
{
    drop_those_gone(k);
    bool owned = owner_check(k->job->owner) == OWNER_ALIVE;
    bool orphaned = for_long(&k->orphaned_since, !owned, ORPHANED_MS);
    bool alone = for_long(&k->alone_since, k->n == 0, LINGER_MS);

    return !k->failed && !alone && !orphaned && (owned || k->n > 0);
}

/* ---- */

static void give_up(struct keeper_site *k)
{
    struct argv close autorelease(argv_release) = ARGV_INIT;

    if (k->why) /* whoever has just connected is to hear it */
        loop_wait(k->loop, LOOK_MS);
    loop_unwatch(k->loop, k->job->listener);
    fd_close(&k->to_open);
    if (!k->ready) /* it does not listen to its stdin yet */
        child_kill(k->open, SIGTERM);
    child_wait(k->open, END_MS);
    recipe_fill(&k->job->commands.close, &(struct text_vars){0}, &k->facts, &close);
    if (close.n) {
        struct child *c = recipe_start(k->job->recipe,
                                       (struct child_options){.argv = close.v,
                                                              .deadline_ms = CLIENT_MS,
                                                              .in = CHILD_NULL,
                                                              .out = CHILD_NULL,
                                                              .cwd = k->job->dir->path},
                                       NULL);
        child_wait(c, CLIENT_MS + END_MS);
        child_free(c);
    }
    if (!child_wait(k->open, 0)) {
        child_kill(k->open, SIGTERM);
        child_wait(k->open, END_MS);
    }
    child_free(k->open);
    child_free(k->state);
}

/* The directory stays as long as the owner, who may want a site again: one of those that have held it waits
 * for that, unless another holds it. */
static void leave_dir(struct keeper_site *k)
{
    int lock = k->job->lock;

    if (owner_check(k->job->owner) == OWNER_ALIVE) {
        fd_close(&lock);
        autoclose int keep = run_dir_keep(k->job->dir, NULL);
        while (keep >= 0 && owner_check(k->job->owner) == OWNER_ALIVE)
            poll(NULL, 0, LOOK_MS);
        if (keep < 0 || run_dir_held(k->job->dir->path))
            return;
    }
    owner_erase(k->job->dir->path);
}

int site_keeper_main(void *job)
{
    struct keeper_site *k = xcalloc(1, sizeof *k);
    struct error err = {0};

    *k = (struct keeper_site){.job = job, .loop = loop_new(), .to_open = -1, .from_open = -1};
    prctl(PR_SET_NAME, NAME);
    buf_init(&k->said, SAID_MAX);
    k->until = clock_ms() + k->job->recipe->queue_ms;
    k->state_at = clock_ms() + STATE_MS / 2;
    loop_watch(k->loop, k->job->listener, POLLIN, on_visitor, k);
    if (start_open(k, &err) != 0)
        set_failed(k, &err);
    while (needed(k)) {
        int64_t now = clock_ms();

        if (!k->ready && now >= k->until)
            queued_too_long(k);
        else if (!k->ready && k->job->commands.state.n && now >= k->state_at) {
            look_at_state(k);
            k->state_at = now + STATE_MS;
        }
        if (!k->failed)
            loop_wait(k->loop, LOOK_MS);
    }
    give_up(k);
    leave_dir(k);
    return 0;
}
