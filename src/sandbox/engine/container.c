/* container.c - the life of a container. Make the directory and the socket and run "docker run -d"; the
 * supervisor connects and is handed the listener. If the container runs but the supervisor never connects (a
 * remote or virtual engine), start again with attached pipes.
 */
#include "engine/container.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/attempt.h"
#include "engine/client.h"
#include "mount/mount.h"
#include "engine/uids.h"
#include "process/child.h"
#include "process/loop.h"
#include "records/owner.h"
#include "records/registry.h"

#define RUN_MS      60000 /* "docker run"; a cold daemon on a slow disk is slow */
#define LAST_MS     5000  /* "docker run -d" may still have to print its last line */
#define LOOK_MS     1000  /* between looks at a container that runs but has not connected */
#define CONNECT_MS  10000 /* after that it never will: the socket is not shared */
#define PATIENCE_MS 1500  /* with an engine that refuses to remove a container */
/* For the keeper: the time for the first process inside to end, where we may not kill it ourselves; then
 * for the engine, which removes the container by itself (--rm) and may refuse us meanwhile; then for
 * everything else. Nobody waits for the keeper, and what it gives up stays until the next start: on a busy
 * machine a "docker run" that was under way needs half a minute to end. */
#define ENDING_MS   300
#define SETTLE_MS   100
#define AFTER_MS    50000
#define RUN_REST_MS 30000 /* of these, for a "docker run" */
#define ATTACHED_MS 5000  /* and for one that ends with the container */

static const struct container_client *client_of_attempt(const struct attempt *a)
{
    return a->engine->own;
}

/* ---- start ---- */

static void connected(struct attempt *a, int fd)
{
    loop_timer_stop(a->loop, a);
    a->channel = a->channel_out = fd;
    attempt_found_peer(a, a->peer);
    attempt_find_memory(a);
    int rc = run_dir_hand_over(fd, a->o->name ? a->listener : -1);
    loop_unwatch(a->loop, a->listener);
    fd_close(&a->listener);
    child_free(a->helper);
    a->helper = NULL;
    if (rc == 0) {
        attempt_up(a);
    } else {
        error_set(&a->err, ERROR_SANDBOX, errno, "the sandbox closed its channel at once\ntry again");
        attempt_fail(a, FAULT_OTHER);
    }
}

static void serve_listener(void *ctx)
{
    struct attempt *a = ctx;
    int fd = run_dir_accept(&a->dir, a->listener, &a->peer);

    if (fd >= 0)
        connected(a, fd);
}

static struct child *ask_running(struct attempt *a, struct child_watch watch)
{
    struct argv argv = ARGV_INIT;

    argv_pushl(&argv, a->program, "inspect", "-f", "{{.State.Running}}", a->name, NULL);
    return client_command(&argv, watch);
}

static bool says_running(const struct child *c)
{
    return child_ok(c) && !strncmp(buf_str(&c->out_text), "true", 4);
}

static void look_for_start(void *ctx);

static void looked(void *ctx, struct child *c)
{
    struct attempt *a = ctx;
    bool runs = says_running(c);

    child_free(c);
    a->helper = NULL;
    if (runs && clock_ms() - a->started < CONNECT_MS)
        loop_timer(a->loop, clock_ms() + LOOK_MS, look_for_start, a);
    else /* refused, or never tried; if the image is at fault, attached pipes let us read why */
        attempt_again(a, true, NULL);
}

static void look_for_start(void *ctx)
{
    struct attempt *a = ctx;

    a->helper = ask_running(a, (struct child_watch){a->loop, looked, a});
    if (!a->helper) {
        error_set(&a->err, ERROR_SYSTEM, 0, "cannot start %s inspect", a->program);
        attempt_fail(a, FAULT_OTHER);
    }
}

static void client_failed(struct attempt *a, struct child *c)
{
    const char *other = a->engine->fallback_runtime;
    autofree char *said = client_complaint(c), *program = other ? child_find_program(other) : NULL;
    struct engine_plan plan;

    if (c->timed_out) {
        error_set(&a->err, ERROR_SANDBOX, 0,
                  "it did not start the container within %d s\nis it stuck? try: %s info", RUN_MS / 1000,
                  a->engine->name);
        attempt_fail(a, FAULT_OTHER);
        return;
    }
    attempt_plan(a, &plan);
    enum engine_fault fault = a->engine->explain(&plan, said, &a->err);
    if (fault == FAULT_SHARE && !a->stdio)
        attempt_again(a, true, NULL);
    else if (fault == FAULT_RUNTIME && !a->runtime && program)
        attempt_again(a, a->stdio, other);
    else
        attempt_fail(a, fault);
}

static void client_done(void *ctx, struct child *c)
{
    struct attempt *a = ctx;

    /* one that was killed may have made a container */
    a->unmade = !child_ok(c) && !c->timed_out && WIFEXITED(c->status);
    /* The client of attached pipes lives as long as the container. The end of the channel is seen anyway. */
    if (a->up || a->stdio)
        return;
    if (!child_ok(c))
        client_failed(a, c);
    else
        loop_timer(a->loop, clock_ms() + LOOK_MS, look_for_start, a);
}

/* Without root there are no control groups to set limits in: never in the v1 hierarchy, and in v2 only
 * where systemd delegates them. Up to version 251 it does not delegate cpu. */
static void find_groups(struct attempt *a)
{
    bool all = !client_of_attempt(a)->rootless_may_lack_groups || geteuid() == 0;

    a->holds_memory = a->holds_pids =
        all || (cgroup_delegated(NULL, geteuid(), "memory") && cgroup_delegated(NULL, geteuid(), "pids"));
    a->holds_cpu = all || (a->holds_memory && cgroup_delegated(NULL, geteuid(), "cpu"));
}

/* Make what the client and the container need at their start. */
static int container_prepare(struct attempt *a)
{
    find_groups(a);
    if (attempt_make_dir(a) != 0)
        return -1;
    a->name = xasprintf("sandpiper-%s", a->dir.id);
    a->uid = uid_range_draw();
    if (attempt_record(a, NULL, false, &a->err) != 0 || run_dir_profile(&a->dir, &a->err) != 0)
        return -1;
    if (!a->stdio)
        a->listener = run_dir_listen(&a->dir, true, &a->err);
    return a->stdio || a->listener >= 0 ? 0 : -1;
}

/* in, out: the client's stdin and stdout, when it is attached. */
static int container_start_client(struct attempt *a, int in, int out)
{
    struct argv argv autorelease(argv_release) = ARGV_INIT;
    struct engine_plan plan;
    /* a named sandbox does not end with us, see engine_disown() */
    autofree char *owner = a->o->name ? xstrdup("") : owner_self();
    autoclose int hold = run_dir_hold(&a->dir, &a->err);

    if (hold < 0)
        return -1;
    attempt_plan(a, &plan);
    plan.owner = owner;
    a->engine->vector(&plan, &argv);
    /* If the directory were removed while the client is at work, docker's client would hang and podman's
     * would leave a container behind. */
    int keep[] = {hold, -1};
    struct child_options o = {.argv = argv.v,
                              .watch = {a->loop, client_done, a},
                              .deadline_ms = a->stdio ? 0 : RUN_MS,
                              .grace_ms = a->stdio ? 0 : CLIENT_GRACE_MS,
                              .in = in,
                              .out = out,
                              .cwd = a->dir.path,
                              .keep = keep,
                              .outlives_us = true};
    a->client = client_start(o, &a->err);
    a->started = clock_ms();
    return a->client ? 0 : -1;
}

int container_start(struct attempt *a)
{
    if (a->stdio && a->o->name)
        return error_set(&a->err, ERROR_SANDBOX, 0,
                         "it cannot share a socket with its containers here, and a named sandbox needs one\n"
                         "leave out --sandbox-name, or use --sandbox bwrap");
    if (a->stdio && a->o->no_proxy)
        return error_set(&a->err, ERROR_SANDBOX, 0,
                         "it cannot share a socket with its containers here, which --allow-net needs\n"
                         "leave out --allow-net and --secret, or use --sandbox bwrap");
    if (a->stdio && a->o->mounts && a->o->mounts->n)
        return error_set(&a->err, ERROR_SANDBOX, 0,
                         "it does not share the folders of this machine, so --mount is not possible\n"
                         "copy what is needed with --add, or use --sandbox bwrap");
    if (container_prepare(a) != 0)
        return -1;
    if (a->stdio)
        return attempt_over_pipes(a, container_start_client, "N");
    if (container_start_client(a, CHILD_NULL, CHILD_KEPT) != 0)
        return -1;
    loop_watch(a->loop, a->listener, POLLIN, serve_listener, a);
    keeper_start(a);
    return 0;
}

/* ---- while it runs ---- */

bool container_alive(struct attempt *a)
{
    struct child *c = ask_running(a, (struct child_watch){0});
    bool runs = child_wait(c, CLIENT_MS) && says_running(c);

    child_free(c);
    return runs;
}

/* The daemon says when the container is made which limits it cannot enforce. */
static bool tells_weaker(const char *said)
{
    return strstr(said, "discarded") || strstr(said, "not support");
}

/* Those that it does not enforce at all. A limit of memory "without swap" is none of them. */
static unsigned discarded(const char *said)
{
    static const struct {
        const char *words;
        unsigned bit;
    } rows[] = {
        {"memory limit capabilities", ENGINE_ASKED_MEMORY},
        {"cpu", ENGINE_ASKED_CPUS},
        {"pids limit", ENGINE_ASKED_PIDS},
    };
    unsigned bits = 0;

    if (!tells_weaker(said))
        return 0;
    for (size_t i = 0; i < countof(rows); i++)
        bits |= strcasestr(said, rows[i].words) ? rows[i].bit : 0;
    return bits;
}

const char *container_weakness(const struct attempt *a, unsigned *unheld)
{
    const char *said = a->client ? buf_str(&a->client->err_text) : "";

    *unheld = a->holds_cpu ? discarded(said) : ENGINE_ASKED_CPUS;
    if (!a->holds_memory)
        return "podman without root has no control groups here: memory is limited per process, not in total, "
               "and CPU time is not limited";
    if (!a->holds_cpu)
        return "systemd does not give podman the cpu control group here: CPU time is not limited";
    if (tells_weaker(said))
        return "the engine cannot enforce every limit here (rootless, or a kernel without the controllers); "
               "see: docker info";
    return NULL;
}

int container_attach(struct attempt *a, const struct record *record, struct error *err)
{
    (void)record;
    a->program = child_find_program(engines_client(a->engine));
    return a->program ? 0
                      : error_set(err, ERROR_SANDBOX, ENOENT, "its engine %s is no longer installed",
                                  a->engine->name);
}

void container_detach(struct attempt *a)
{
    if (a->client)
        child_wait(a->client, LAST_MS);
}

/* ---- end ---- */

/* True when it is gone. A busy engine may refuse us for seconds while it removes a container that ended by
 * itself, so ask again for up to patience_ms, and after no answer in time, too, if that is longer. */
static bool remove_for_attempt(struct attempt *a, int64_t until, int patience_ms)
{
    for (int wait = 100, waited = 0;; waited += wait, wait = wait < 800 ? 2 * wait : wait) {
        struct child *c = removal_start(a->engine, a->name, (struct child_watch){0});
        enum removal_end end = REMOVAL_REFUSED; /* also when no process can be started just now */

        if (c) {
            child_wait(c, attempt_left_ms(until));
            end = c->timed_out && patience_ms > CLIENT_MS ? REMOVAL_REFUSED : removal_end(c);
        }
        child_free(c);
        if (end != REMOVAL_REFUSED || waited + wait > patience_ms || attempt_left_ms(until) <= 2 * wait)
            return end == REMOVAL_GONE;
        poll(NULL, 0, wait);
    }
}

/* Can there ever have been a container? */
static bool was_made(const struct attempt *a)
{
    return a->name && (a->taken || (a->client && a->fault != FAULT_ABSENT));
}

bool container_end(struct attempt *a, int64_t until)
{
    /* A client killed in the middle of a start leaves a container behind that nobody asked for, so let it
     * finish. That takes little time, because the supervisor finds no listener. */
    bool ended = a->stdio || child_wait(a->client, attempt_left_ms(until) / 2);

    if (!ended) {
        child_kill(a->client, SIGTERM);
        child_wait(a->client, attempt_left_ms(until) / 2);
    }
    return (!was_made(a) || remove_for_attempt(a, until, PATIENCE_MS)) && ended;
}

bool container_end_at_once(struct attempt *a)
{
    return !was_made(a);
}

bool container_end_as_keeper(struct attempt *a)
{
    int64_t until = clock_ms() + AFTER_MS;

    if (!was_made(a))
        return true;
    if (attempt_kill_peer(a, ENDING_MS))
        poll(NULL, 0, SETTLE_MS);
    bool ended = child_wait(a->client, a->stdio ? ATTACHED_MS : RUN_REST_MS);
    /* a client that failed has made no container, or has removed it; that it found no daemon it may have told
     * us alone */
    bool nobody = ended && a->client && container_no_daemon(buf_str(&a->client->err_text));
    bool sure = a->up || !a->client || !ended || !(a->unmade || nobody);
    bool gone = remove_for_attempt(a, until, sure ? AFTER_MS : 0) || !sure;
    if (!ended && a->stdio)
        child_kill(a->client, SIGKILL);
    return gone && (ended || a->stdio);
}
