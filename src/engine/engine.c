/* engine.c - see engine.h: which engines are tried and in what order, what is remembered, what the user is
 * told. */
#include "engine/engine.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/mem.h"
#include "engine/attempt.h"
#include "engine/engine_cache.h"
#include "engine/plan.h"
#include "engine/uid_range.h"
#include "engine/job.h"
#include "engine/registry.h"
#include "engine/owner.h"
#include "engine/options.h"

#define ENGINES 3
#define END_MS  10000

struct engine_run {
    const struct sandbox_options *o;
    struct loop *loop;
    const char *guest;
    engine_done_fn *done;
    void *ctx;
    const struct engine_description *candidates[ENGINES];
    size_t n, at;
    bool remembered; /* the first candidate worked within the last day */
    struct engine_memory memory;
    struct buf causes; /* of all that failed, for the last word of auto */
    struct attempt attempt;
    bool ended; /* candidates are used up, or done has been told */
};

static const struct engine_description *find_engine(const char *name)
{
    static const struct engine_description *const all[ENGINES] = {&engine_docker, &engine_podman,
                                                                  &engine_bwrap};

    for (size_t i = 0; i < countof(all); i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

/* Who names a runtime wants what it isolates, and who names an image what is in it; bwrap has neither. */
static bool can_honour(const struct sandbox_options *o, const struct engine_description *d)
{
    return d->container || (!o->runtime && !(o->asked & SANDBOX_ASKED_IMAGE));
}

/* Rootless first: an escape from it is an ordinary user. podman of root comes after docker, which more people
 * have set up. */
static void list_candidates(struct engine_run *r)
{
    const struct engine_description *first = r->remembered ? find_engine(r->memory.engine) : NULL;
    const struct engine_description *const order[2][ENGINES] = {
        {&engine_podman, &engine_docker, &engine_bwrap},
        {&engine_docker, &engine_podman, &engine_bwrap},
    };
    bool root = geteuid() == 0;

    if (strcmp(r->o->engine, "auto") != 0) {
        const struct engine_description *only = find_engine(r->o->engine);
        if (only && can_honour(r->o, only))
            r->candidates[r->n++] = only;
        return;
    }
    if (first && can_honour(r->o, first))
        r->candidates[r->n++] = first;
    for (size_t i = 0; i < ENGINES; i++)
        if (order[root][i] != first && can_honour(r->o, order[root][i]))
            r->candidates[r->n++] = order[root][i];
}

static bool automatic(const struct engine_run *r)
{
    return strcmp(r->o->engine, "auto") == 0;
}

static void begin_next(void *ctx, short revents);

/* Of an engine that the user has named as well. */
static int cannot_honour(const struct sandbox_options *o, const char *engine, struct error *err)
{
    const char *what = o->runtime ? "runtime" : "image";

    return error_set(err, ERROR_USAGE, 0, "%s has no %ss\nleave out --%s, or use --sandbox docker or podman",
                     engine, what, what);
}

/* None of those that could honour what was named works. */
static void tell_named(const struct engine_run *r, struct error *err)
{
    const struct sandbox_options *o = r->o;
    bool image = o->asked & SANDBOX_ASKED_IMAGE;

    if (o->runtime)
        error_set(err, ERROR_SANDBOX, 0,
                  "no sandbox engine works with the runtime %.100s%s%.100s (%.500s)\n"
                  "install it, or leave out --runtime",
                  o->runtime, image ? " and the image " : "", image ? o->image : "", buf_str(&r->causes));
    else
        error_set(err, ERROR_SANDBOX, 0,
                  "no sandbox engine works with the image %.100s (%.600s)\n"
                  "fetch it (docker pull %.100s), or leave out --image",
                  o->image, buf_str(&r->causes), o->image);
}

/* The effect first, then the cause, then the shortest way out. */
static void tell_none(const struct engine_run *r, struct error *err)
{
    autofree char *bwrap = job_find_program("bwrap"), *docker = job_find_program("docker"),
                  *podman = job_find_program("podman");
    const char *way =
        bwrap ? "sandpiper doctor says how to fix each"
              : "Quickest: sudo apt install bubblewrap python3-numpy python3-pandas python3-matplotlib";

    if (!bwrap && !docker && !podman)
        error_set(err, ERROR_SANDBOX, 0,
                  "cannot run code: none of docker, podman and bubblewrap is installed\n%s", way);
    else
        error_set(err, ERROR_SANDBOX, 0, "cannot run code: no sandbox engine works here (%.700s)\n%s",
                  buf_str(&r->causes), way);
}

static void tell_failure(struct engine_run *r)
{
    struct error err = {0};

    if (r->n == 0 && find_engine(r->o->engine))
        cannot_honour(r->o, r->o->engine, &err);
    else if (r->n == 0)
        error_set(&err, ERROR_USAGE, 0,
                  "unknown sandbox engine \"%.100s\"\nuse auto, docker, podman or bwrap", r->o->engine);
    else if (!automatic(r))
        err = r->attempt.err;
    else if (r->o->runtime || (r->o->asked & SANDBOX_ASKED_IMAGE))
        tell_named(r, &err);
    else {
        tell_none(r, &err);
    }
    r->ended = true;
    r->done(r->ctx, -1, &err);
}

/* First line of an error, without the engine's name: "docker: its daemon ..." or "docker is not installed".
 */
static void first_line(const struct error *err, const char *engine, char *out, size_t size)
{
    const char *p = err->text;
    size_t n = strlen(engine);

    if (strncmp(p, engine, n) == 0 && strncmp(p + n, ": ", 2) == 0)
        p += n + 2;
    else if (strncmp(p, engine, n) == 0 && strncmp(p + n, " is ", 4) == 0)
        p += n + 4;
    snprintf(out, size, "%.*s", (int)strcspn(p, "\n"), p);
}

static void candidate_failed(struct engine_run *r)
{
    const char *name = r->candidates[r->at]->name;
    char cause[400], line[600];

    first_line(&r->attempt.err, name, cause, sizeof cause);
    buf_addf(&r->causes, "%s%s: %s", r->causes.len ? "; " : "", name, cause);
    bool absent = r->attempt.fault == FAULT_ABSENT && !(r->remembered && r->at == 0);
    attempt_abandon(&r->attempt);
    if (++r->at < r->n && r->o->notice) {
        snprintf(line, sizeof line, "%s cannot start (%s); trying %s", name, cause,
                 r->candidates[r->at]->name);
        r->o->notice(r->o->notice_ctx, absent, line);
    }
    loop_timer(r->loop, clock_ms(), begin_next, r);
}

static void attempt_done(void *ctx, bool up)
{
    struct engine_run *r = ctx;

    if (up && attempt_refused(&r->attempt, &r->attempt.err))
        up = false;
    if (up)
        r->done(r->ctx, 0, NULL);
    else
        candidate_failed(r);
}

static void begin_next(void *ctx, short revents)
{
    struct engine_run *r = ctx;
    struct attempt *a = &r->attempt;

    (void)revents;
    if (r->at >= r->n) {
        tell_failure(r);
        return;
    }
    a->engine = r->candidates[r->at];
    free(a->runtime);
    a->runtime = xstrdup(r->o->runtime);
    /* gVisor opens no socket of the host from inside unless its own configuration says so. */
    a->stdio = a->runtime && strncmp(a->runtime, "runsc", 5) == 0;
    if (r->remembered && r->at == 0) {
        a->stdio = r->memory.stdio;
        free(a->runtime);
        a->runtime = xstrdup(r->memory.runtime);
    }
    attempt_begin(a);
}

struct engine_run *engine_begin(const struct sandbox_options *o, struct loop *loop, const char *guest,
                                engine_done_fn *done, void *ctx)
{
    struct engine_run *r = xcalloc(1, sizeof *r);

    *r = (struct engine_run){.o = o, .loop = loop, .guest = guest, .done = done, .ctx = ctx};
    buf_init(&r->causes, 2048);
    r->attempt = (struct attempt){.o = o, .loop = loop, .guest = guest, .done = attempt_done, .ctx = r};
    attempt_init(&r->attempt);
    r->remembered = engine_memory_load(o, &r->memory) && find_engine(r->memory.engine);
    list_candidates(r);
    loop_timer(loop, clock_ms(), begin_next, r);
    return r;
}

int engine_channel(const struct engine_run *r)
{
    return r->attempt.channel;
}

int engine_channel_out(const struct engine_run *r)
{
    return r->attempt.channel_out;
}

const char *engine_name(const struct engine_run *r)
{
    return r->at < r->n ? r->candidates[r->at]->name : "";
}

void engine_reject(struct engine_run *r, const char *why)
{
    if (!r || r->ended || r->at >= r->n)
        return;
    attempt_blame(&r->attempt, why);
    candidate_failed(r);
}

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The first result waits for us; what is known for less than an hour need not be written again. */
static bool known(const struct engine_run *r, const struct engine_memory *m)
{
    const struct engine_memory *old = &r->memory;
    int64_t age = (int64_t)time(NULL) - old->time;

    return r->remembered && age >= 0 && age < 3600 && same(old->engine, m->engine)
           && same(old->python, m->python) && same(old->packages, m->packages)
           && same(old->runtime, m->runtime) && old->stdio == m->stdio;
}

static void tell(struct engine_run *r, bool detail, const char *text)
{
    autofree char *line = xasprintf("%s: %s", engine_name(r), text);

    if (r->o->notice)
        r->o->notice(r->o->notice_ctx, detail, line);
}

/* Once: it is the same with every start. */
static void tell_spare(struct engine_run *r)
{
    static bool told;
    autofree char *runtime = xdg_path(XDG_RUNTIME, NULL), *line = NULL;
    int code = r->attempt.dir.runtime_errno;

    if (!code || told || !r->o->notice)
        return;
    told = true;
    line = xasprintf("%s %s: using %.*s for the sandbox's socket. %s, or set XDG_RUNTIME_DIR.",
                     runtime ? runtime : "/tmp", disk_trouble(code),
                     (int)(strlen(r->attempt.dir.path) - strlen(r->attempt.dir.id) - 1), r->attempt.dir.path,
                     disk_remedy(code));
    r->o->notice(r->o->notice_ctx, false, line);
}

void engine_accept(struct engine_run *r, const char *python, const char *packages)
{
    struct engine_memory m = {.engine = xstrdup(engine_name(r)),
                              .python = xstrdup(python),
                              .packages = xstrdup(packages),
                              .runtime = xstrdup(r->attempt.runtime),
                              .stdio = r->attempt.stdio};
    const char *weakness = engine_weakness(r);
    bool told = r->remembered && r->at == 0;

    /* Told at the first start here, and to who has named such a limit; then only to who wants details: it is
     * the same every day. */
    if (weakness)
        tell(r, told && !(r->o->asked & (SANDBOX_ASKED_MEMORY | SANDBOX_ASKED_CPUS | SANDBOX_ASKED_PIDS)),
             weakness);
    for (const char *line = engine_fewer(r); *line; line += strcspn(line, "\n"), line += *line == '\n') {
        autofree char *one = xmemdup0(line, strcspn(line, "\n"));
        tell(r, told, one);
    }
    tell_spare(r);
    if (!known(r, &m))
        engine_memory_store(r->o, &m);
    engine_memory_release(&m);
}

bool engine_remembered(const struct sandbox_options *o, char **engine, char **python, char **packages)
{
    struct engine_memory m;
    bool known = engine_memory_load(o, &m);

    *engine = *python = *packages = NULL;
    if (!known && strcmp(o->engine, "bwrap") != 0)
        return false;
    *engine = known ? steal(&m.engine) : xstrdup("bwrap");
    /* The host's packages may have changed since; looking costs a millisecond. */
    if (strcmp(*engine, "bwrap") != 0 || !engine_host_python("", python, packages)) {
        *python = steal(&m.python);
        *packages = steal(&m.packages);
    }
    engine_memory_release(&m);
    if (*python && *packages)
        return true;
    free(steal(engine));
    free(steal(python));
    free(steal(packages));
    return false;
}

int64_t engine_memory_kills(struct engine_run *r)
{
    return r->at < r->n ? attempt_memory_kills(&r->attempt) : -1;
}

bool engine_alive(struct engine_run *r, char *why, size_t size)
{
    if (r->at < r->n && r->attempt.begun)
        return attempt_alive(&r->attempt, why, size);
    snprintf(why, size, "it never started");
    return false;
}

const char *engine_weakness(const struct engine_run *r)
{
    return r->at < r->n && r->attempt.up ? attempt_weakness(&r->attempt) : NULL;
}

const struct sandbox_options *engine_given(const struct engine_run *r)
{
    return &r->attempt.given;
}

const char *engine_fewer(const struct engine_run *r)
{
    return buf_str(&r->attempt.fewer);
}

const char *engine_image(const struct engine_run *r)
{
    const struct attempt *a = &r->attempt;

    return !a->engine || !a->engine->container ? NULL : a->taken ? a->image : r->o->image;
}

pid_t engine_peer(const struct engine_run *r)
{
    const struct attempt *a = &r->attempt;

    if (!a->up)
        return 0;
    return a->engine->container || a->peer > 0 || !a->client ? a->peer : a->client->pid;
}

const char *engine_runtime(const struct engine_run *r)
{
    return r->attempt.runtime;
}

static void free_run(struct engine_run *r)
{
    loop_timer_stop(r->loop, r);
    engine_memory_release(&r->memory);
    buf_release(&r->causes);
    free(r);
}

bool engine_end(struct engine_run *r)
{
    if (!r)
        return true;
    bool gone = attempt_end(&r->attempt, clock_ms() + END_MS);
    free_run(r);
    return gone;
}

void engine_part(struct engine_run *r)
{
    if (!r)
        return;
    attempt_part(&r->attempt);
    free_run(r);
}

void engine_leave(struct engine_run *r)
{
    if (!r)
        return;
    attempt_leave(&r->attempt);
    free_run(r);
}

void engine_stays(struct engine_run *r)
{
    keeper_dismiss(&r->attempt, 0);
}

int engine_describe(struct engine_run *r, struct name_record *out, struct error *err)
{
    return attempt_describe(&r->attempt, out, err);
}

struct engine_run *engine_known(const struct sandbox_options *o, struct loop *loop,
                                const struct name_record *record, struct error *err)
{
    struct engine_run *r = xcalloc(1, sizeof *r);

    *r = (struct engine_run){.o = o, .loop = loop};
    buf_init(&r->causes, 2048);
    r->attempt = (struct attempt){.o = o, .loop = loop, .ctx = r, .engine = find_engine(record->engine)};
    attempt_init(&r->attempt);
    if (r->attempt.engine && attempt_known(&r->attempt, record, err) == 0) {
        r->candidates[r->n++] = r->attempt.engine;
        return r;
    }
    if (!r->attempt.engine)
        error_set(err, ERROR_SANDBOX, 0, "its engine is \"%.40s\", unknown to this version", record->engine);
    free_run(r);
    return NULL;
}

int engine_connect(struct engine_run *r)
{
    return attempt_connect(&r->attempt);
}

int engine_argv(const struct sandbox_options *o, const char *engine, const char *guest, struct argv *out,
                struct error *err)
{
    const struct engine_description *d = find_engine(engine);
    struct engine_memory m = {0};

    if (!d && strcmp(engine, "auto") == 0) {
        /* What auto would begin with: what worked last, else the first that is installed. */
        struct engine_run r = {.o = o};

        r.remembered = engine_memory_load(o, &r.memory);
        list_candidates(&r);
        for (size_t i = 0; i < r.n && !d; i++) {
            autofree char *program = job_find_program(r.candidates[i]->name);

            if (program)
                d = r.candidates[i];
        }
        engine_memory_release(&r.memory);
        if (!d)
            return error_set(err, ERROR_SANDBOX, 0,
                             "no sandbox engine is installed\nquickest: sudo apt install bubblewrap");
    }
    if (!d)
        return error_set(err, ERROR_USAGE, 0,
                         "unknown sandbox engine \"%.100s\"\nuse auto, docker, podman or bwrap", engine);
    if (!can_honour(o, d))
        return cannot_honour(o, d->name, err);
    engine_memory_load(o, &m);
    bool ours = m.engine && strcmp(m.engine, d->name) == 0;
    autofree char *owner = owner_self();
    struct engine_plan p = {
        .o = o,
        .guest = guest,
        .program = d->name,
        .name = "sandpiper-ID",
        .owner = owner,
        .dir = "RUNTIME/ID/in",
        .profile = "RUNTIME/ID/seccomp",
        .runtime = ours ? m.runtime : o->runtime,
        .stdio = ours ? m.stdio : o->runtime && strncmp(o->runtime, "runsc", 5) == 0,
        .hard_nproc = 4096,
        .uid = ENGINE_UID_FIRST,
        .channel = 3,
        .seccomp = 4,
        .info = 5,
        .holds_pids = geteuid() == 0,
        .holds_memory = geteuid() == 0,
        .shares_user = geteuid() != 0,
    };
    d->vector(&p, out);
    engine_memory_release(&m);
    return 0;
}
