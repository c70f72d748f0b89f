/* site.c - a start's side of a site: find it or make it, connect, hear when it is ready. A message of the
 * site's is a line: a letter and a text (site_keeper.h). /
 */
#include "engine/site.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "engine/recipe.h"
#include "engine/site_keeper.h"
#include "process/child.h"
#include "process/loop.h"
#include "records/owner.h"
#include "records/record.h"
#include "records/run_dir.h"

#define VARIABLE   "SANDPIPER_SITE" /* ENGINE:DIRECTORY:OWNER */
#define RETRY_MS   50
#define GIVE_UP_MS 20000 /* one that is just being given up takes less */
#define HEARD_MAX  (16 * 1024)
#define PLACES     16

struct site {
    struct loop *loop;
    const struct engine_recipe *recipe;
    struct site_listener l;
    struct site_commands commands;
    struct run_dir dir;
    char *owner;
    int fd;
    int64_t give_up;
    struct buf heard;
    struct argv facts;
    bool settled; /* ready or failed was told */
};

/* The directories of this program's sites, one for each engine. The first start makes it, and the site
 * removes it. */
static struct {
    const char *engine;
    char id[17];
} made[PLACES];

static int own_place(const char *engine, char id[17], struct error *err)
{
    uint64_t lot;
    size_t i = 0;

    while (i < PLACES && made[i].engine && strcmp(made[i].engine, engine) != 0)
        i++;
    if (i == PLACES)
        return error_set(err, ERROR_SANDBOX, 0, "too many engines in one program");
    if (!made[i].engine) {
        if (getrandom(&lot, sizeof lot, 0) != sizeof lot)
            return error_errno(err, "random numbers");
        made[i].engine = engine;
        snprintf(made[i].id, sizeof made[i].id, "%016llx", (unsigned long long)lot);
    }
    memcpy(id, made[i].id, sizeof made[i].id);
    return 0;
}

/* Make its directory, unless another start has. The record says whose it is, so that whoever finds it later
 * can remove it. */
static int make_place(const struct site *s, struct error *err)
{
    struct run_dir d;

    if (access(s->dir.path, F_OK) == 0)
        return 0;
    if (run_dir_make(&d, err) != 0)
        return -1;
    if (record_write(&(struct record){.dir = d.path, .owner = s->owner}, err) != 0) {
        run_dir_remove(&d);
        return -1;
    }
    if (rename(d.path, s->dir.path) == 0) {
        run_dir_release(&d);
        return 0;
    }
    int code = errno;
    run_dir_remove(&d);
    errno = code;
    return code == ENOTEMPTY || code == EEXIST ? 0 : error_errno(err, "%s", s->dir.path);
}

/* The place that the starter has chosen for this engine. False: there is none. */
static bool shared_place(const char *engine, char id[17], char **owner)
{
    const char *v = getenv(VARIABLE);
    size_t len = strlen(engine);

    if (!v || strncmp(v, engine, len) != 0 || v[len] != ':' || strlen(v + len + 1) < 18 || v[len + 17] != ':')
        return false;
    memcpy(id, v + len + 1, 16);
    id[16] = '\0';
    *owner = xstrdup(v + len + 18);
    return run_dir_id(id);
}

int site_share(const struct engine_recipe *r, struct error *err)
{
    char id[17];
    autofree char *self = owner_self();

    if (own_place(r->name, id, err) != 0)
        return -1;
    autofree char *value = xasprintf("%s:%s:%s", r->name, id, self);
    return setenv(VARIABLE, value, 1) == 0 ? 0 : error_errno(err, VARIABLE);
}

static void settle_failed(struct site *s, const struct error *err)
{
    loop_timer_stop(s->loop, s);
    loop_unwatch(s->loop, s->fd);
    if (!s->settled) {
        s->settled = true;
        s->l.failed(s->l.ctx, err);
    }
}

/* "what was wrong\tremedy" */
static void told_failed(struct site *s, const char *text)
{
    struct error err = {0};
    size_t len = strcspn(text, "\t");
    autofree char *what = xmemdup0(text, len);
    autofree char *said = scrub_line(what, SCRUB_TERMINAL),
                  *remedy = scrub_line(text[len] ? text + len + 1 : "", SCRUB_TERMINAL);

    error_set(&err, ERROR_SANDBOX, 0, "%.500s\n%.500s", said, remedy);
    settle_failed(s, &err);
}

static void hear_message(struct site *s, const char *line)
{
    autofree char *shown = NULL;

    switch (*line) {
    case SITE_WAITS:
        shown = scrub_line(line + 1, SCRUB_TERMINAL);
        s->l.waits(s->l.ctx, shown);
        break;
    case SITE_FACT:
        argv_push(&s->facts, line + 1);
        break;
    case SITE_READY:
        loop_timer_stop(s->loop, s);
        s->settled = true;
        s->l.ready(s->l.ctx, &s->facts);
        break;
    case SITE_FAILED:
        told_failed(s, line + 1);
        break;
    default:
        break;
    }
}

static void serve_messages(void *ctx)
{
    struct site *s = ctx;
    char *room = buf_space(&s->heard, 1024);
    ssize_t n = room ? recv(s->fd, room, 1024, MSG_DONTWAIT) : 0;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        struct error err = {0};

        /* Once it is ready its loss shows where it matters: in the channel. */
        error_set(&err, ERROR_SANDBOX, 0, "the process that holds it has ended\ntry again");
        settle_failed(s, &err);
        return;
    }
    s->heard.len += (size_t)n;
    buf_end(&s->heard);
    for (char *end; !s->settled && (end = memchr(s->heard.data, '\n', s->heard.len)) != NULL;) {
        autofree char *line = xmemdup0(s->heard.data, (size_t)(end - s->heard.data));

        buf_drop(&s->heard, (size_t)(end - s->heard.data) + 1);
        hear_message(s, line);
    }
    if (s->settled)
        buf_clear(&s->heard);
}

/* Make the process that holds it. lock is held as long as it lives, so there is one. */
static int make_keeper(struct site *s, int lock, struct error *err)
{
    autofree char *old = xasprintf("%s/s", s->dir.in);
    char *const argv[] = {(char *)"the site's process", NULL};

    unlink(old);
    autoclose int listener = run_dir_listen(&s->dir, false, err);
    if (listener < 0)
        return -1;
    struct site_job job = {.recipe = s->recipe,
                           .commands = s->commands,
                           .dir = &s->dir,
                           .owner = s->owner,
                           .listener = listener,
                           .lock = lock};
    const int keep[] = {listener, lock, -1};
    struct child *c = child_start(&(struct child_options){.argv = argv,
                                                          .in = CHILD_NULL,
                                                          .out = CHILD_NULL,
                                                          .err = CHILD_NULL,
                                                          .cwd = "/",
                                                          .keep = keep,
                                                          .own_session = true,
                                                          .ignores_signals = true,
                                                          .body = site_keeper_main,
                                                          .ctx = &job},
                                  err);
    child_abandon(c);
    return c ? 0 : -1;
}

static void find_or_make(void *ctx)
{
    struct site *s = ctx;
    struct error err = {0};

    if ((s->fd = run_dir_connect(&s->dir)) < 0) {
        autoclose int lock = run_dir_hold(&s->dir, &err);

        if (lock >= 0 && make_keeper(s, lock, &err) != 0) {
            settle_failed(s, &err);
            return;
        }
        if (lock >= 0)
            s->fd = run_dir_connect(&s->dir);
    }
    if (s->fd >= 0)
        loop_watch(s->loop, s->fd, POLLIN, serve_messages, s);
    else if (clock_ms() < s->give_up)
        loop_timer(s->loop, clock_ms() + RETRY_MS, find_or_make, s);
    else
        settle_failed(s, &err);
}

struct site *site_join(struct loop *loop, const struct engine_recipe *r, const struct text_vars *vars,
                       const struct site_listener *l, struct error *err)
{
    char id[17];
    autofree char *owner = NULL;
    struct site *s = xcalloc(1, sizeof *s);

    *s = (struct site){.loop = loop, .recipe = r, .l = *l, .fd = -1, .give_up = clock_ms() + GIVE_UP_MS};
    buf_init(&s->heard, HEARD_MAX);
    if ((!shared_place(r->name, id, &owner) && own_place(r->name, id, err) != 0)
        || run_dir_find(&s->dir, id, err) != 0) {
        site_leave(s);
        return NULL;
    }
    s->owner = owner ? steal(&owner) : owner_self();
    if (make_place(s, err) != 0) {
        site_leave(s);
        return NULL;
    }
    recipe_fill(&r->open, vars, NULL, &s->commands.open);
    recipe_fill(&r->state, vars, NULL, &s->commands.state);
    recipe_fill(&r->close, vars, NULL, &s->commands.close);
    loop_timer(loop, clock_ms(), find_or_make, s);
    return s;
}

void site_leave(struct site *s)
{
    if (!s)
        return;
    loop_timer_stop(s->loop, s);
    loop_unwatch(s->loop, s->fd);
    fd_close(&s->fd);
    argv_release(&s->commands.open);
    argv_release(&s->commands.state);
    argv_release(&s->commands.close);
    argv_release(&s->facts);
    buf_release(&s->heard);
    run_dir_release(&s->dir);
    free(s->owner);
    free(s);
}

int site_descriptor(const struct site *s)
{
    return s ? s->fd : -1;
}

const char *site_folder(const struct site *s)
{
    return s ? s->dir.path : NULL;
}
