/* sweep.c - lists what carries our label, and removes what belongs to nobody alive. A bwrap sandbox ends
 * with its program, and a container when its supervisor loses its last client. So this is for the rest:
 * directories, control groups, containers whose supervisor hung.
 */
#include "engine/sweep.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/place.h"
#include "engine/client.h"
#include "engine/engine_cache.h"
#include "engine/engines.h"
#include "limits/cgroup.h"
#include "process/child.h"
#include "process/loop.h"
#include "process/signals.h"
#include "records/owner.h"
#include "records/record.h"
#include "records/registry.h"
#include "records/run_dir.h"

#define SCAN_AFTER_MS 1500 /* so as not to disturb the first question */
#define SCAN_EVERY_S  3600
#define AT_ONCE       4  /* the others wait for their turn */
#define LOOK_MS       20 /* until the second look at one that is starting or ending; doubled each time */
#define LOOKS_MOST \
    6 /* then it is removed all the same: podman's conmon holds the directory while the container lives */
#define KILL_MS    1000 /* a killed process is gone in a millisecond, or hangs in the kernel */
#define AGAIN_MS   200  /* until a failed removal is tried again; doubled each time */
#define TRIES_MOST 4
#define ENDING_MS  15000 /* for those just being removed, which takes a bounded time */
#define END_MS     3000  /* at the program's end, for what is under way */

struct sweep {
    struct loop *loop;
    struct sweep_result *count;
};

struct removal { /* one "rm -f" or one "ps", running in the background */
    struct loop *loop;
    struct sweep_result *count; /* NULL: nobody waits for the result */
    const struct engine *engine;
    char *name, *dir; /* dir: removed when the container is gone */
    char *inside;     /* its first process, if the record names it */
    bool named;       /* it had ended by itself */
    bool begun;
    bool late; /* an earlier start has tried; not waited for again at the end */
    int looks, tries;
    struct child *client;
    struct removal *next;
};

/* Those under way and those waiting for their turn. */
static struct removal *removals;

static void removal_free(struct removal *r)
{
    for (struct removal **p = &removals; *p; p = &(*p)->next)
        if (*p == r) {
            *p = r->next;
            break;
        }
    if (r->count)
        r->count->running--;
    free(r->name);
    free(r->dir);
    free(r->inside);
    free(r);
}

void sweep_failed(struct sweep_result *count, const char *fmt, ...)
{
    va_list args;

    if (!count)
        return;
    va_start(args, fmt);
    if (count->failed++ == 0)
        vsnprintf(count->left, sizeof count->left, fmt, args);
    va_end(args);
}

/* The engine to be asked to remove what it left; NULL: none. */
static const struct engine *remover(const char *name)
{
    const struct engine *e = engines_find(name);

    return e && e->remove ? e : NULL;
}

static struct removal *removal_new(const struct sweep *sweep, const struct engine *engine)
{
    struct removal *r = xcalloc(1, sizeof *r);

    *r = (struct removal){.loop = sweep->loop, .count = sweep->count, .engine = engine, .next = removals};
    removals = r;
    if (r->count)
        r->count->running++;
    return r;
}

static struct removal *next_in_turn(void)
{
    struct removal *next = NULL;
    int begun = 0;

    for (struct removal *r = removals; r; r = r->next) {
        begun += r->begun;
        if (r->name && !r->begun)
            next = r;
    }
    return begun < AT_ONCE ? next : NULL;
}

static void start_removal(void *ctx);

/* Not all at once: each needs a client, which costs 50 ms of CPU time, descriptors and a timer. */
static void start_some(void)
{
    for (struct removal *r; (r = next_in_turn()) != NULL;) {
        r->begun = true;
        start_removal(r);
    }
}

static char *late_mark(const char *dir)
{
    return xasprintf("%s/late", dir);
}

static void mark_late(const struct removal *r)
{
    if (!r->dir || r->late)
        return;
    autofree char *mark = late_mark(r->dir);
    file_write_soon(mark, "", 0, NULL);
}

/* This removal is over. If it failed, perhaps because the daemon is down, later starts try again for a
 * week. */
static void settle_removal(struct removal *r, bool gone)
{
    struct stat st;

    if (!gone)
        mark_late(r);
    if (r->dir && (gone || (stat(r->dir, &st) == 0 && time(NULL) - st.st_mtime > 7 * 24 * 3600)))
        owner_erase(r->dir);
    if (!gone)
        sweep_failed(r->count, "the container %s of %s", r->name, r->engine->name);
    else if (r->count)
        *(r->named ? &r->count->ended : &r->count->sandboxes) += 1;
    removal_free(r);
}

/* The engine's daemon does not answer, so the other removals cannot succeed either. */
static void drop_waiting(const struct engine *engine)
{
    for (struct removal *r = removals, *next; r; r = next) {
        next = r->next;
        if (r->name && !r->begun && r->engine == engine)
            settle_removal(r, false);
    }
}

static void removed(void *ctx, struct child *c)
{
    struct removal *r = ctx;
    enum removal_end end = removal_end(c);
    /* While the directory is held, the container may not exist yet but soon will. And the engine's word is
     * not enough: check whether the process inside is still alive. */
    bool gone = end == REMOVAL_GONE && !(r->dir && run_dir_held(r->dir))
                && !(r->inside && owner_check(r->inside) == OWNER_ALIVE);

    child_free(c);
    r->client = NULL;
    if (!gone && end != REMOVAL_NOBODY && r->tries < TRIES_MOST) {
        loop_timer(r->loop, clock_ms() + (AGAIN_MS << r->tries++), start_removal, r);
        return;
    }
    if (end == REMOVAL_NOBODY)
        drop_waiting(r->engine);
    settle_removal(r, gone);
    start_some();
}

/* Not while it is being started: a killed program's "docker run" goes on without it, and holds the
 * directory. If that were removed, the container would be made but could not start, and neither it nor the
 * client would ever end. */
static void start_removal(void *ctx)
{
    struct removal *r = ctx;

    if (r->dir && r->looks < LOOKS_MOST && run_dir_held(r->dir)) {
        loop_timer(r->loop, clock_ms() + (LOOK_MS << r->looks++), start_removal, r);
        return;
    }
    r->client = removal_start(r->engine, r->name, (struct child_watch){r->loop, removed, r});
    if (r->client)
        return;
    settle_removal(r, false);
    start_some();
}

/* left: what else is known of it, or NULL. */
static void remove_left_container(const struct sweep *sweep, const struct engine *engine, const char *name,
                                  const struct record *left)
{
    struct removal *r = removal_new(sweep, engine);

    r->name = xstrdup(name);
    r->dir = xstrdup(left ? left->dir : NULL);
    r->inside = xstrdup(left ? left->inside : NULL);
    r->named = left && left->named;
    if (r->dir) {
        autofree char *mark = late_mark(r->dir);
        r->late = access(mark, F_OK) == 0;
    }
    start_some();
}

/* Kill a process of a bwrap sandbox that does not notice that its program is gone. Nothing else would ever
 * end it. */
static bool end_inside(const struct sweep *sweep, const struct record *left)
{
    if (!left->inside || remover(left->engine) || owner_kill(left->inside, KILL_MS))
        return true;
    const char *pid = strchr(left->inside, ':');
    sweep_failed(sweep->count, "process %.*s of a bwrap sandbox, still running",
                 pid ? (int)strcspn(pid + 1, ":") : 0, pid ? pid + 1 : "");
    return false;
}

static bool dead_dir(void *ctx, const struct record *left)
{
    const struct sweep *sweep = ctx;

    if (!end_inside(sweep, left))
        return false;
    for (size_t i = 0; i < left->cgroups.n; i++)
        if (!cgroup_remove_dir(left->cgroups.v[i])) {
            sweep_failed(sweep->count, "the control group %s", strrchr(left->cgroups.v[i], '/') + 1);
            return false;
        }
    const struct engine *engine = remover(left->engine);
    autofree char *program = engine && left->container ? child_find_program(engines_client(engine)) : NULL;
    if (program) {
        remove_left_container(sweep, engine, left->container, left);
        return false;
    }
    if (sweep->count)
        *(left->named ? &sweep->count->ended : &sweep->count->sandboxes) += 1;
    return true;
}

static void sweep_cache(void)
{
    static const char *const names[] = {"engine", "swept"};

    for (size_t i = 0; i < countof(names); i++) {
        autofree char *path = xdg_path(XDG_CACHE, names[i]);

        if (path)
            file_sweep(path);
    }
}

static bool dead_group(const char *name)
{
    return owner_check_group(name) == OWNER_DEAD;
}

/* It is not known what this engine has. */
static void note_silent(struct sweep_result *count, const struct engine *engine, const struct child *c)
{
    if (!count)
        return;
    autofree char *why = c ? client_complaint(c) : xstrdup("its client cannot be started");
    size_t len = strlen(count->silent);

    snprintf(count->silent + len, sizeof count->silent - len, "%s%s (%s)", len ? ", " : "", engine->name,
             why);
}

/* Read the lines "NAME OWNER". */
static void listed(void *ctx, struct child *c)
{
    struct removal *r = ctx;

    for (const char *p = buf_str(&c->out_text); child_ok(c) && *p;) {
        size_t n = strcspn(p, "\n");

        if (p[n] == '\0') /* cut off by the cap: half a start time would look like a dead program's */
            break;
        autofree char *line = xmemdup0(p, n);
        char *owner = strchr(line, ' ');

        if (owner)
            *owner++ = '\0';
        if (owner && run_dir_container(line) && !run_dir_is_ending(line + strlen("sandpiper-"))) {
            enum owner_state state = owner_check(owner);

            /* docker itself removes those from before a boot. One that it lists may have come from another
             * machine with our host name that uses the same remote daemon. */
            if (state == OWNER_DEAD || (state == OWNER_BEFORE_BOOT && r->engine->only_here))
                remove_left_container(&(struct sweep){r->loop, r->count}, r->engine, line, NULL);
        }
        p += n + 1;
    }
    if (!child_ok(c))
        note_silent(r->count, r->engine, c);
    child_free(c);
    removal_free(r);
}

/* Skip engines that never ran anything here: the mere question makes podman set up storage for the user
 * and leave a process behind. */
static void list_all(const struct sweep *sweep)
{
    const struct engine *e;

    for (size_t i = 0; (e = engines_at(i)) != NULL; i++) {
        struct argv argv = ARGV_INIT;

        autofree char *program = e->list && engine_cache_knows(e->name)
                                     ? child_find_program(engines_client(e))
                                     : NULL;
        if (!program)
            continue;
        struct removal *r = removal_new(sweep, e);
        e->list(e, &argv);
        r->client = client_command(&argv, (struct child_watch){sweep->loop, listed, r});
        if (r->client)
            continue;
        note_silent(r->count, e, NULL);
        removal_free(r);
    }
}

/* The labels also show containers whose directory is lost. Done rarely, because each client costs 50 ms of
 * CPU time. */
static void scan_labels(void *ctx)
{
    list_all(&(struct sweep){.loop = ctx});
}

void sweep_now(struct loop *loop, struct sweep_result *out)
{
    struct sweep sweep = {loop, out};

    /* Programs that have just ended left the rest to their keepers, which are at work. Those sandboxes are
     * nobody's orphans, but they should be gone too when we are done. */
    for (int64_t end = clock_ms() + ENDING_MS; run_dir_ending() > 0 && clock_ms() < end;)
        loop_wait(loop, LOOK_MS);
    run_dir_dead(dead_dir, &sweep);
    registry_sweep();
    sweep_cache();
    while (out->running > 0) /* each has a deadline */
        loop_wait(loop, -1);
    list_all(&sweep); /* only now, so that nothing is counted twice */
    while (out->running > 0)
        loop_wait(loop, -1);
    out->groups = cgroup_sweep(NULL, "sandpiper-", dead_group);
}

static bool by_parent; /* sweep_for_forks() */

void sweep_for_forks(void)
{
    struct loop *loop = loop_new();

    sweep_begin(loop);
    sweep_end_in_background(loop);
    loop_free(loop);
    by_parent = true;
}

void sweep_begin(struct loop *loop)
{
    if (by_parent)
        return;
    autofree char *stamp = xdg_path(XDG_CACHE, "swept");
    struct sweep sweep = {loop, NULL};
    struct stat st;

    run_dir_dead(dead_dir, &sweep);
    registry_sweep();
    sweep_cache();
    cgroup_sweep(NULL, "sandpiper-", dead_group);
    if (!stamp
        || (stat(stamp, &st) == 0 && time(NULL) - st.st_mtime < SCAN_EVERY_S && st.st_mtime <= time(NULL)))
        return;
    if (cache_keep(stamp, "", 0))
        loop_timer(loop, clock_ms() + SCAN_AFTER_MS, scan_labels, loop);
}

/* A "ps" is not waited for, because the next start asks again. */
static bool waited_for(const struct removal *r)
{
    return r->name && !r->late;
}

static bool removing(void)
{
    for (const struct removal *r = removals; r; r = r->next)
        if (waited_for(r))
            return true;
    return false;
}

void sweep_end(struct loop *loop)
{
    int64_t left, end = clock_ms() + END_MS;

    while (removing() && !loop_cancelled(loop) && (left = end - clock_ms()) > 0)
        loop_wait(loop, (int)left);
    /* A daemon that hangs must not delay a second program. */
    for (const struct removal *r = removals; r && !loop_cancelled(loop); r = r->next)
        if (waited_for(r))
            mark_late(r);
}

/* Runs in a process of its own, which has a copy of the list. What the clients under way are about to do
 * is done again; the engine answers if it is already being done. */
static int sweep_on(void *ctx)
{
    struct loop *loop = loop_new();

    (void)ctx;
    for (struct removal *r = removals; r; r = r->next) {
        r->loop = loop;
        r->begun = !r->name;
        r->client = NULL;
        r->count = NULL;
    }
    start_some();
    sweep_end(loop);
    return 0;
}

void sweep_end_in_background(struct loop *loop)
{
    char *const argv[] = {(char *)"the end of what killed programs left", NULL};
    struct child_options o = {.argv = argv,
                              .in = CHILD_NULL,
                              .out = CHILD_NULL,
                              .err = CHILD_NULL,
                              .cwd = "/",
                              .own_session = true,
                              .ignores_signals = true,
                              .body = sweep_on};

    if (!removing())
        return;
    struct child *c = child_start(&o, NULL);
    if (!c)
        sweep_end(loop);
    child_abandon(c);
}
