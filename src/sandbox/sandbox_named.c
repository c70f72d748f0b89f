/* sandbox_named.c - named sandboxes: held by one program at a time, found again by the next, listed, removed.
 * Here the user is told what bridges the gap between two programs: the limits, what was lost, what is there.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/size.h"
#include "base/utf8.h"
#include "limits/cgroup.h"
#include "mount/mount.h"
#include "process/loop.h"
#include "records/owner.h"
#include "records/record.h"
#include "records/session_dir.h"
#include "sandbox/private.h"

#define IDLE_SPARE_S 5    /* seconds past its idle limit */
#define PROBE_MS     1000 /* an idle supervisor answers within a few ms */

int sandbox_name_check(const char *name, struct error *err)
{
    return registry_check_name(name, err);
}

static void tell(struct sandbox *s, bool detail, char *line)
{
    if (s->o.run.notice)
        s->o.run.notice(s->o.run.notice_ctx, detail, line);
    free(line);
}

/* ---- taking it ---- */

/* Compare what the user asked for with what runs. more: where it allows more than that; other: where it
 * merely differs. */
static void compare(const struct engine_options *o, const struct record *r, struct buf *more,
                    struct buf *other)
{
    const struct {
        unsigned bit;
        const char *what;
        double asked, has;
        bool bytes;
    } rows[] = {
        {ENGINE_ASKED_MEMORY, "memory", (double)o->memory, (double)r->memory, true},
        {ENGINE_ASKED_CPUS, "cpus", o->cpus, r->cpus, false},
        {ENGINE_ASKED_PIDS, "pids", o->pids, (double)r->pids, false},
        {ENGINE_ASKED_DATA_SIZE, "data-size", (double)o->data_size, (double)r->data_size, true},
    };

    for (size_t i = 0; i < countof(rows); i++) {
        struct buf *out = rows[i].has > rows[i].asked ? more : other;
        char has[32], asked[32];

        if (!(o->asked & rows[i].bit) || (rows[i].has >= rows[i].asked && rows[i].has <= rows[i].asked))
            continue;
        if (rows[i].bytes) {
            size_text((int64_t)rows[i].has, has, sizeof has);
            size_text((int64_t)rows[i].asked, asked, sizeof asked);
        } else {
            snprintf(has, sizeof has, "%g", rows[i].has);
            snprintf(asked, sizeof asked, "%g", rows[i].asked);
        }
        buf_addf(out, "%s%s %s (you asked for %s)", out->len ? ", " : "", rows[i].what, has, asked);
    }
    if ((o->asked & ENGINE_ASKED_IMAGE) && r->image && strcmp(o->image, r->image) != 0)
        buf_addf(other, "%simage %s (you asked for %s)", other->len ? ", " : "", r->image, o->image);
}

static int check_options(struct sandbox *s, const struct record *r, struct error *err)
{
    struct buf more autorelease(buf_release) = BUF_INIT(600), other autorelease(buf_release) = BUF_INIT(600);

    if (strcmp(s->o.run.engine, "auto") != 0 && strcmp(s->o.run.engine, r->engine) != 0)
        return error_set(err, ERROR_SANDBOX, 0,
                         "the sandbox \"%s\" runs on %s, not on %s\n"
                         "leave out --sandbox %s, or remove it first: sandpiper rm %s",
                         s->o.run.name, r->engine, s->o.run.engine, s->o.run.engine, s->o.run.name);
    if (s->o.run.runtime && (!r->runtime || strcmp(s->o.run.runtime, r->runtime) != 0))
        return error_set(err, ERROR_SANDBOX, 0,
                         "the sandbox \"%s\" runs under %s, not under %s\n"
                         "leave out --runtime, or remove it first: sandpiper rm %s",
                         s->o.run.name, r->runtime ? r->runtime : "the engine's default runtime",
                         s->o.run.runtime, s->o.run.name);
    if (named_check_mounts(s, r, err) < 0)
        return -1;
    bool no_cpu = !r->holds_cpu;
    const char *which = engine_restricts(&s->o.run, no_cpu ? ENGINE_ASKED_CPUS : 0);
    if (which)
        return error_set(err, ERROR_SANDBOX, 0,
                         "the sandbox \"%s\" runs where --%s cannot be enforced\n"
                         "leave out --%s, or remove it first: sandpiper rm %s",
                         s->o.run.name, which, which, s->o.run.name);
    compare(&s->o.run, r, &more, &other);
    if (more.len > 0)
        return error_set(err, ERROR_SANDBOX, 0,
                         "the sandbox \"%s\" has higher limits than you asked for: %s\n"
                         "leave out the option, or remove it first: sandpiper rm %s",
                         s->o.run.name, buf_str(&more), s->o.run.name);
    return 0;
}

/* A full disk does not matter for an existing sandbox: nothing need be written to find it. */
static bool is_full(const struct error *err)
{
    return err->kind == ERROR_SYSTEM && (err->code == ENOSPC || err->code == EDQUOT || err->code == EROFS);
}

/* errno says why. It may be alive, so nothing is done to it. */
static int tell_unseen(const char *name, struct error *err)
{
    int code = errno;

    return error_set(err, ERROR_SANDBOX, code, "the sandbox \"%s\": its record cannot be read: %s\n%s", name,
                     strerror(code),
                     fd_none_left(code) ? "end other programs, or allow this one more open files: ulimit -n"
                                        : "look at the folder names below XDG_RUNTIME_DIR/sandpiper");
}

int sandbox_claim(struct sandbox *s, struct error *err)
{
    struct record r autorelease(record_release) = {0};
    int status = 0;

    if (!s->o.run.name || s->hold.name)
        return 0;
    if (registry_take(&s->hold, s->o.run.name, err) < 0) {
        if (is_full(err) && !registry_exists(s->o.run.name)) {
            tell(s, false,
                 xasprintf("the sandbox \"%s\" is new and cannot be kept: %s; it ends with this session",
                           s->o.run.name, err->text));
            s->o.run.name = NULL;
            return 0;
        }
        if (err->kind == ERROR_SYSTEM) /* as for any other start */
            err->kind = ERROR_SANDBOX;
        return -1;
    }
    enum registry_state state = registry_look(&s->hold, &r);
    if (state == REGISTRY_UNSEEN)
        status = tell_unseen(s->o.run.name, err);
    else if (state == REGISTRY_ALIVE)
        status = check_options(s, &r, err);
    if (state == REGISTRY_ALIVE && status == 0) {
        struct buf more autorelease(buf_release) = BUF_INIT(600),
                        other autorelease(buf_release) = BUF_INIT(600);

        compare(&s->o.run, &r, &more, &other);
        if (other.len > 0)
            s->keeps = xasprintf("the sandbox \"%s\" keeps the limits it was started with: %s", s->o.run.name,
                                 buf_str(&other));
        s->o.run.memory = r.memory;
        s->o.run.cpus = r.cpus;
        s->o.run.pids = (int)r.pids;
        s->o.run.data_size = r.data_size;
        if (!s->o.run.mounts || !s->o.run.mounts->n)
            s->o.run.mounts = &s->known_mounts;
        snprintf(s->engine, sizeof s->engine, "%s", r.engine);
        s->image = xstrdup(r.image);
    }
    if (status < 0)
        registry_release(&s->hold);
    return status;
}

/* ---- finding it ---- */

static void tell_ended(struct sandbox *s, const struct record *r)
{
    int64_t now = (int64_t)time(NULL);
    char how[64] = "it was removed or died";

    if (r->owner && owner_check(r->owner) == OWNER_BEFORE_BOOT)
        snprintf(how, sizeof how, "the machine was restarted");
    else if (s->hold.used > 0 && r->idle > 0 && now - s->hold.used >= r->idle)
        snprintf(how, sizeof how, "idle for %lld %s", (long long)(r->idle >= 120 ? r->idle / 60 : r->idle),
                 r->idle >= 120 ? "min" : "s");
    tell(s, false,
         xasprintf("the sandbox \"%s\" had ended (%s): its variables and files are gone; starting a new one",
                   s->o.run.name, how));
    s->told_named = true;
}

/* Send that we keep this sandbox, how long it is to live after us, and how much we accept of the files
 * that the code makes. */
static void send_word(struct sandbox *s)
{
    struct buf body autorelease(buf_release) = BUF_INIT(256);

    tagged_add_int(&body, 'v', 1);
    tagged_add_int(&body, 'i', s->o.run.idle_ms / 1000);
    tagged_add_int(&body, 'f', s->o.max_file);
    tagged_add_int(&body, 't', sandbox_most_delivered(&s->o));
    channel_send(s->channel, &(struct frame_out){.type = TO_GUEST_KEEP, .body = {body.data, body.len}});
}

static void fail(struct sandbox *s, const struct error *err)
{
    error_set(&s->error, ERROR_SANDBOX, err->code, "the sandbox \"%s\": %s\nremove it: sandpiper rm %s",
              s->o.run.name, err->text, s->o.run.name);
    s->stage = STAGE_FAILED;
}

bool named_begin(struct sandbox *s)
{
    struct record r autorelease(record_release) = {0};
    struct error err = {0};

    enum registry_state state = registry_look(&s->hold, &r);
    bool alive = state == REGISTRY_ALIVE;
    if (state == REGISTRY_UNSEEN) {
        tell_unseen(s->o.run.name, &s->error);
        s->stage = STAGE_FAILED;
        return true;
    }
    if (state == REGISTRY_NEW) {
        if (!s->told_named)
            tell(s, s->o.name_is_ours,
                 xasprintf("the sandbox \"%s\" is new: no variables, no files", s->o.run.name));
        s->told_named = true;
        return false;
    }
    s->run = engine_attach(&s->o.run, s->loop, &r, &err);
    if (!s->run && alive) {
        fail(s, &err);
        return true;
    }
    bool up = alive && engine_connect(s->run) == 0;
    /* It has ended only if nobody listens any more. Otherwise the fault may be on our side: it is stopped
     * and its queue is full, or we have no descriptor left. */
    if (alive && !up && errno != ECONNREFUSED && errno != ENOENT) {
        error_errno(&err, "it is running, but cannot be reached");
        engine_detach(steal(&s->run));
        fail(s, &err);
        return true;
    }
    if (!up) {
        engine_end(steal(&s->run)); /* remove what is left of it */
        registry_forget(&s->hold);
        tell_ended(s, &r);
        return false;
    }
    s->taken = s->kept = true;
    sandbox_opened(s);
    send_word(s);
    if (r.idle != s->o.run.idle_ms / 1000) {
        r.idle = s->o.run.idle_ms / 1000;
        record_write(&r, &err); /* needed only to explain its end later */
    }
    return true;
}

/* It ended just as we connected: its idle limit was reached, or the program that started it was killed
 * before it told the sandbox to stay. */
static bool ended_meanwhile(struct sandbox *s)
{
    struct record r autorelease(record_release) = {0};
    enum registry_state state;

    for (int i = 0; (state = registry_look(&s->hold, &r)) == REGISTRY_ALIVE && i < 20; i++) {
        record_release(&r);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    if (state != REGISTRY_ENDED)
        return false;
    engine_end(steal(&s->run));
    registry_forget(&s->hold);
    tell_ended(s, &r);
    return true;
}

static int tell_left(const struct record *r, const char *name, struct error *err)
{
    if (r->container)
        return error_set(err, ERROR_SANDBOX, 0,
                         "the sandbox \"%s\" could not be removed: its container %.60s is still there\n"
                         "is %s running? try: sandpiper doctor",
                         name, r->container, r->engine);
    return error_set(err, ERROR_SANDBOX, 0,
                     "the sandbox \"%s\" could not be removed: its process %d is still running\n"
                     "kill it: kill -9 %d",
                     name, (int)owner_pid(r->owner), (int)owner_pid(r->owner));
}

void named_silent(struct sandbox *s)
{
    struct record r autorelease(record_release) = {0};
    enum registry_state state = registry_look(&s->hold, &r);

    channel_free(steal(&s->channel));
    if (state == REGISTRY_UNSEEN) {
        tell_unseen(s->o.run.name, &s->error);
        engine_detach(steal(&s->run));
        s->stage = STAGE_FAILED;
        return;
    }
    if (!engine_end(steal(&s->run)) && r.engine) {
        tell_left(&r, s->o.run.name, &s->error);
        s->stage = STAGE_FAILED;
        return;
    }
    registry_forget(&s->hold);
    tell(s, false,
         xasprintf("the sandbox \"%s\" did not answer and was removed: its variables and files are gone; "
                   "starting a new one",
                   s->o.run.name));
    s->told_named = true;
    s->kept = s->taken = false;
    s->stage = STAGE_NONE;
    sandbox_start(s);
}

void named_refused(struct sandbox *s, const char *why)
{
    struct error err = {0};

    if (ended_meanwhile(s)) {
        channel_free(steal(&s->channel));
        s->kept = s->taken = false;
        s->stage = STAGE_NONE;
        sandbox_start(s);
        return;
    }
    error_set(&err, ERROR_SANDBOX, 0, "it is running, but cannot be attached (%s)", why);
    channel_free(steal(&s->channel));
    fail(s, &err);
}

/* ---- it is up ---- */

static void keep(struct sandbox *s)
{
    struct error err = {0};
    const char *dir = engine_disown(s->run, &err);

    if (dir && registry_store(&s->hold, dir, &err) == 0) {
        s->kept = true;
        engine_keep(s->run);
        send_word(s);
        return;
    }
    tell(s, false,
         xasprintf("the sandbox \"%s\" cannot be kept: %s; it ends with this session", s->o.run.name,
                   err.text));
}

static void resume(struct sandbox *s, const struct earlier *e)
{
    s->cells = e->cells;
    s->touched = e->cells > 0 && (!e->died || e->restored);
    s->has_files = true; /* for all we know */
    if (s->keeps)
        tell(s, false, steal(&s->keeps));
    if (e->died && e->restored) {
        autofree char *from = sandbox_snapshot_age(e->behind, "that");

        tell(s, false,
             xasprintf("the sandbox \"%s\": %s; variables are those from before %s", s->o.run.name,
                       e->unfinished
                           ? "the previous session ended while its code ran, and the code had to be killed"
                           : "the interpreter died between sessions",
                       from));
    } else if (e->died) {
        s->lost_state = true;
        snprintf(s->lost_why, sizeof s->lost_why,
                 e->unfinished
                     ? "the previous session ended while its code ran, and the code had to be killed"
                     : "the interpreter died between sessions");
        tell(s, false,
             xasprintf("the sandbox \"%s\": %s; variables are gone, files are kept", s->o.run.name,
                       s->lost_why));
    } else if (e->unfinished) {
        tell(s, false,
             xasprintf("the sandbox \"%s\": the previous session ended while its code ran; the code was "
                       "interrupted, variables are as it left them",
                       s->o.run.name));
    } else if (!s->told_named) {
        tell(s, true,
             xasprintf("the sandbox \"%s\" continues: %s, %u cell%s so far", s->o.run.name, s->engine,
                       e->cells, e->cells == 1 ? "" : "s"));
    }
    s->told_named = true;
}

void named_greeted(struct sandbox *s, const struct earlier *e)
{
    if (s->taken)
        resume(s, e);
    else
        keep(s);
}

void sandbox_set_idle(struct sandbox *s, int64_t ms)
{
    s->o.run.idle_ms = ms;
    if (s->kept && s->stage == STAGE_READY)
        send_word(s);
}

/* ---- all of them ---- */

struct listing {
    void (*fn)(void *ctx, const struct sandbox_info *info);
    void *ctx;
};

static void list_one(void *ctx, const char *name, const struct registry_holder *holder,
                     const struct record *r)
{
    struct listing *l = ctx;
    struct mounts mounts = {.n = 0};
    struct sandbox_info info = {.name = name,
                                .engine = r ? r->engine : "",
                                .image = r ? r->image : NULL,
                                .holder = holder->pid,
                                .since = holder->since,
                                .created = r ? r->created : holder->since,
                                .idle = r ? r->idle : 0,
                                .memory = r ? r->memory : -1,
                                .memory_used = -1,
                                .mounts = &mounts};

    if (r && owner_pid(r->owner) > 0 && r->holds_memory) {
        autofree char *dir = cgroup_memory_dir(NULL, owner_pid(r->owner));

        info.memory_used = dir ? cgroup_memory_used(dir) : -1;
    }
    info.silent = r && !holder->pid && session_dir_silent(strrchr(r->dir, '/') + 1, PROBE_MS);
    for (size_t i = 0; r && i < r->mounts.n; i++)
        mounts_take(&mounts, r->mounts.v[i]);
    l->fn(l->ctx, &info);
    mounts_release(&mounts);
}

void sandbox_list(void (*fn)(void *ctx, const struct sandbox_info *info), void *ctx)
{
    struct listing l = {fn, ctx};

    registry_each(list_one, &l);
}

int sandbox_remove(const char *name, struct loop *loop, struct error *err)
{
    struct record r autorelease(record_release) = {0};
    struct registry_hold hold autorelease(registry_release) = REGISTRY_HOLD_INIT;
    struct engine_options o;

    if (registry_check_name(name, err) < 0)
        return -1;
    if (!registry_exists(name))
        return error_set(err, ERROR_USAGE, 0, "no sandbox \"%s\" (sandpiper ps lists them)", name);
    if (registry_take(&hold, name, err) < 0)
        return -1;
    enum registry_state state = registry_look(&hold, &r);
    if (state == REGISTRY_UNSEEN)
        return tell_unseen(name, err);
    if (state == REGISTRY_NEW)
        return error_set(err, ERROR_USAGE, 0, "no sandbox \"%s\" (sandpiper ps lists them)", name);
    bool alive = state == REGISTRY_ALIVE;
    engine_defaults(&o);
    struct engine_run *run = engine_attach(&o, loop, &r, err);
    if (!run && alive)
        return error_wrap(err, "the sandbox \"%s\"", name);
    if (!engine_end(run) && alive)
        return tell_left(&r, name, err);
    registry_forget(&hold);
    return 0;
}

/* Its idle limit was reached some time ago, and it still runs without answering. The clock alone proves
 * nothing: ours goes on while the machine sleeps, but the supervisor's does not. */
static void note_silent(void *ctx, const struct sandbox_info *s)
{
    if (s->silent && s->since > 0 && s->idle > 0 && (int64_t)time(NULL) > s->since + s->idle + IDLE_SPARE_S)
        argv_push(ctx, s->name);
}

static void end_silent(struct loop *loop, struct sweep_result *out)
{
    struct argv names autorelease(argv_release) = ARGV_INIT;

    sandbox_list(note_silent, &names);
    for (size_t i = 0; i < names.n; i++) {
        struct error err = {0};

        if (sandbox_remove(names.v[i], loop, &err) == 0)
            out->ended++;
        else
            sweep_failed(out, "the sandbox \"%s\"", names.v[i]);
    }
}

void sandbox_gc(struct loop *loop, struct sweep_result *out)
{
    *out = (struct sweep_result){0};
    end_silent(loop, out);
    sweep_now(loop, out);
}
