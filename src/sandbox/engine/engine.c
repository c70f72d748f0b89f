/* engine.c - tries one engine after another until one works: which ones, in what order, what is cached, what
 * the user is told.
 */
#include "engine/engine.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/attempt.h"
#include "engine/engine_cache.h"
#include "engine/engines.h"
#include "engine/options.h"
#include "engine/plan.h"
#include "engine/uids.h"
#include "mount/mount.h"
#include "process/child.h"
#include "process/loop.h"
#include "records/owner.h"
#include "records/record.h"

#define CANDIDATES 8
#define END_MS     10000

struct engine_run {
    struct engine_start given;
    const struct engine_options *o;
    const struct engine *candidates[CANDIDATES];
    size_t n, at;
    bool from_cache; /* the first candidate worked within the last day, according to the cache */
    struct engine_cached cached;
    struct buf causes; /* of all failures so far, for auto's final error */
    struct attempt attempt;
    bool ended; /* no candidate is left, or done was called with a failure */
};

/* A user who names a runtime wants its isolation, and one who names an image wants its contents. */
static bool can_honour(const struct engine_options *o, const struct engine *e)
{
    return e->images || (!o->runtime && !(o->asked & ENGINE_ASKED_IMAGE));
}

static void add_candidate(struct engine_run *r, const struct engine *e)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->candidates[i] == e)
            return;
    if (e && can_honour(r->o, e) && r->n < CANDIDATES)
        r->candidates[r->n++] = e;
}

static void list_candidates(struct engine_run *r)
{
    if (strcmp(r->o->engine, "auto") != 0) {
        add_candidate(r, engines_find(r->o->engine));
        return;
    }
    if (r->from_cache)
        add_candidate(r, engines_find(r->cached.engine));
    for (size_t i = 0; engines_auto(i); i++)
        add_candidate(r, engines_auto(i));
}

static bool automatic(const struct engine_run *r)
{
    return !strcmp(r->o->engine, "auto");
}

int engine_check(const struct engine_options *o, struct error *err)
{
    const struct engine *engine = engines_find(o->engine);
    const char *what = o->runtime ? "runtime" : "image";

    if (!engine || can_honour(o, engine))
        return 0;
    return error_set(err, ERROR_USAGE, 0, "%s has no %ss\nleave out --%s, or use --sandbox docker or podman",
                     o->engine, what, what);
}

/* No engine works that could honour what was named. */
static void tell_named(const struct engine_run *r, struct error *err)
{
    const struct engine_options *o = r->o;
    bool image = o->asked & ENGINE_ASKED_IMAGE;

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

/* First the effect, then the cause, then the shortest way out. */
static void tell_none(const struct engine_run *r, struct error *err)
{
    const struct engine *simplest = NULL;
    bool installed = false;

    for (size_t i = 0; i < r->n; i++) {
        autofree char *program = child_find_program(engines_client(r->candidates[i]));

        installed = installed || program;
        if (program && r->candidates[i]->host_python)
            simplest = r->candidates[i];
    }
    const char *way = simplest ? "sandpiper doctor says how to fix each"
                               : "Quickest: sudo apt install bubblewrap python3-numpy python3-pandas "
                                 "python3-matplotlib";
    if (!installed)
        error_set(err, ERROR_SANDBOX, 0,
                  "cannot run code: none of docker, podman and bubblewrap is installed\n%s", way);
    else
        error_set(err, ERROR_SANDBOX, 0, "cannot run code: no sandbox engine works here (%.700s)\n%s",
                  buf_str(&r->causes), way);
}

/* There is no candidate at all. */
static void tell_unknown(const struct engine_options *o, struct error *err)
{
    if (engine_check(o, err) == 0)
        error_set(err, ERROR_USAGE, 0,
                  "unknown sandbox engine \"%.100s\"\n"
                  "choose auto, docker, podman or bwrap",
                  o->engine);
}

static void tell_failure(struct engine_run *r)
{
    struct error err = {0};

    if (r->n == 0)
        tell_unknown(r->o, &err);
    else if (!automatic(r))
        err = r->attempt.err;
    else if (r->o->runtime || (r->o->asked & ENGINE_ASKED_IMAGE))
        tell_named(r, &err);
    else
        tell_none(r, &err);
    r->ended = true;
    r->given.done(r->given.ctx, -1, &err);
}

static bool needs_socket(const struct engine_options *o)
{
    return o->name || o->no_proxy || (o->mounts && o->mounts->n);
}

/* Does the environment send its client elsewhere than to a socket of this machine? */
static bool elsewhere(const struct engine *e)
{
    const char *host = e->host_variable ? getenv(e->host_variable) : NULL;

    return host && *host && strncmp(host, "unix://", 7) != 0;
}

static void candidate_failed(struct engine_run *r);

static void begin_next(void *ctx)
{
    struct engine_run *r = ctx;
    struct attempt *a = &r->attempt;

    if (r->at >= r->n) {
        tell_failure(r);
        return;
    }
    a->engine = r->candidates[r->at];
    if (automatic(r) && elsewhere(a->engine)) {
        error_set(&a->err, ERROR_SANDBOX, 0, "%s is not a socket of this machine (--sandbox %s uses it)",
                  a->engine->host_variable, a->engine->name);
        a->fault = FAULT_ABSENT;
        candidate_failed(r);
        return;
    }
    xreplace(&a->runtime, xstrdup(r->o->runtime));
    a->stdio = runtime_is_gvisor(a->runtime); /* it opens no socket of the host */
    if (r->from_cache && r->at == 0) {
        /* It may have been necessary only once, on a busy machine. */
        a->stdio = a->stdio || (r->cached.stdio && !needs_socket(r->o));
        xreplace(&a->runtime, xstrdup(r->cached.runtime));
    }
    attempt_begin(a);
}

/* What an engine and its files say of a failure does not name the engine; here it is named. */
static void candidate_failed(struct engine_run *r)
{
    struct error *err = &r->attempt.err;
    const char *name = r->candidates[r->at]->name;
    bool absent = r->attempt.fault == FAULT_ABSENT && !(r->from_cache && r->at == 0);

    buf_addf(&r->causes, "%s%s: %.400s", r->causes.len ? "; " : "", name, err->text);
    attempt_abandon(&r->attempt);
    if (++r->at < r->n)
        engine_notice(r->o, absent, "%s cannot start (%.400s); trying %s", name, err->text,
                      r->candidates[r->at]->name);
    error_wrap(err, "%s", name);
    loop_timer(r->given.loop, clock_ms(), begin_next, r);
}

static void attempt_done(void *ctx, bool up)
{
    struct engine_run *r = ctx;

    if (up)
        r->given.done(r->given.ctx, 0, NULL);
    else
        candidate_failed(r);
}

static struct engine_run *run_new(const struct engine_start *given)
{
    struct engine_run *r = xcalloc(1, sizeof *r);

    *r = (struct engine_run){.given = *given, .o = given->o};
    buf_init(&r->causes, 2048);
    r->attempt = (struct attempt){.o = given->o,
                                  .loop = given->loop,
                                  .guest = given->guest,
                                  .parts = given->parts,
                                  .done = attempt_done,
                                  .ctx = r};
    attempt_init(&r->attempt);
    return r;
}

struct engine_run *engine_begin(const struct engine_start *given)
{
    struct engine_run *r = run_new(given);

    r->from_cache = engine_cache_load(r->o, &r->cached) && engines_find(r->cached.engine);
    list_candidates(r);
    loop_timer(given->loop, clock_ms(), begin_next, r);
    return r;
}

struct engine_facts engine_facts(const struct engine_run *r)
{
    const struct attempt *a = &r->attempt;
    bool candidate = r->at < r->n;
    unsigned unheld;

    return (struct engine_facts){
        .name = candidate ? r->candidates[r->at]->name : "",
        .channel = a->channel,
        .channel_out = a->channel_out,
        .peer = a->up ? a->peer : 0,
        .runtime = a->runtime,
        .image = !a->engine || !a->engine->images ? NULL
                 : a->taken                       ? a->image
                                                  : r->o->image,
        .weakness = candidate && a->up ? a->engine->weakness(a, &unheld) : NULL,
        .has_parts = a->has_parts,
        .holds_memory = a->holds_memory,
        .inside = a->inside,
        .holds_pids = a->holds_pids,
        .holds_cpu = a->holds_cpu,
        .given = &a->given,
        .fewer = buf_str(&a->fewer),
    };
}

bool engine_refuses(const struct engine_run *r)
{
    struct error why;

    return attempt_refused(&r->attempt, &why);
}

void engine_reject(struct engine_run *r, const char *why)
{
    if (!r || r->ended || r->at >= r->n)
        return;
    if (!attempt_refused(&r->attempt, &r->attempt.err))
        attempt_blame(&r->attempt, why);
    candidate_failed(r);
}

static bool same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* The first result waits for us, so an entry less than an hour old is not written again. */
static bool known(const struct engine_run *r, const struct engine_cached *m)
{
    const struct engine_cached *old = &r->cached;
    int64_t age = (int64_t)time(NULL) - old->time;

    return r->from_cache && age >= 0 && age < 3600 && same(old->engine, m->engine)
           && same(old->python, m->python) && same(old->packages, m->packages)
           && same(old->runtime, m->runtime) && old->stdio == m->stdio;
}

/* Only once, because it is the same at every start. */
static void tell_spare(struct engine_run *r)
{
    static bool told;
    autofree char *runtime = xdg_path(XDG_RUNTIME, NULL);
    int code = r->attempt.dir.runtime_errno;

    if (!code || told || !r->o->notice)
        return;
    told = true;
    engine_notice(r->o, false, "%s %s: using %.*s for the sandbox's socket. %s, or set XDG_RUNTIME_DIR.",
                  runtime ? runtime : "/tmp", disk_trouble(code),
                  (int)(strlen(r->attempt.dir.path) - strlen(r->attempt.dir.id) - 1), r->attempt.dir.path,
                  disk_remedy(code));
}

static void tell_weaker(const struct engine_run *r, bool detail, const char *text, size_t len)
{
    autofree char *line = xasprintf("%s: %.*s", engine_facts(r).name, (int)len, text);

    engine_tell_weaker(r->o, detail, line);
}

void engine_accept(struct engine_run *r, const char *python, const char *packages)
{
    const struct engine_facts facts = engine_facts(r);
    struct engine_cached m = {.engine = xstrdup(facts.name),
                              .python = xstrdup(python),
                              .packages = xstrdup(packages),
                              .runtime = xstrdup(r->attempt.runtime),
                              .stdio = r->attempt.stdio};
    bool told = r->from_cache && r->at == 0;

    /* Shown at the first start here, and always to a user who has set such a limit. Otherwise it is a
     * detail, because it is the same every day. */
    if (facts.weakness)
        tell_weaker(r, told && !(r->o->asked & (ENGINE_ASKED_MEMORY | ENGINE_ASKED_CPUS | ENGINE_ASKED_PIDS)),
                    facts.weakness, strlen(facts.weakness));
    for (const char *line = facts.fewer; *line; line += strcspn(line, "\n"), line += *line == '\n')
        tell_weaker(r, told, line, strcspn(line, "\n"));
    tell_spare(r);
    if (!known(r, &m))
        engine_cache_store(r->o, &m);
    engine_cache_release(&m);
}

bool engine_from_cache(const struct engine_options *o, struct engine_cached *known)
{
    const struct engine *e = engines_find(engine_cache_load(o, known) ? known->engine : o->engine);
    char *python, *packages;

    /* The host's packages may have changed since; looking takes a millisecond. */
    if (e && e->host_python && engine_host_python("", &python, &packages)) {
        engine_cache_release(known);
        *known = (struct engine_cached){.engine = xstrdup(e->name), .python = python, .packages = packages};
    }
    if (known->python && known->packages)
        return true;
    engine_cache_release(known);
    return false;
}

int64_t engine_memory_kills(struct engine_run *r)
{
    return cgroup_kills_read(r->attempt.kills);
}

int64_t engine_memory_limit(struct engine_run *r)
{
    static const __rlimit_resource_t ours[] = {RLIMIT_AS, RLIMIT_DATA};
    int64_t least = r->attempt.memory_held;
    bool each = r->attempt.kills < 0 && r->attempt.engine && !r->attempt.engine->own_limits;
    struct rlimit held;

    for (size_t i = 0; each && i < countof(ours); i++)
        if (getrlimit(ours[i], &held) == 0 && held.rlim_cur < INT64_MAX
            && (!least || (int64_t)held.rlim_cur < least))
            least = (int64_t)held.rlim_cur;
    return least < r->o->memory ? least : 0;
}

int64_t engine_room_for_files(struct engine_run *r)
{
    int64_t files = cgroup_files_read(r->attempt.stat);

    return files > r->o->memory ? 0 : r->o->memory - (files > 0 ? files : 0);
}

int64_t engine_memory_of_files(struct engine_run *r)
{
    int64_t files = cgroup_files_read(r->attempt.stat);

    return files >= r->o->memory - r->o->memory / 8 ? files : 0;
}

bool engine_thrashes(struct engine_run *r, struct cgroup_thrash *t)
{
    return cgroup_thrashes(t, r->attempt.stat, r->o->memory);
}

bool engine_alive(struct engine_run *r, char *why, size_t size)
{
    if (r->at < r->n && r->attempt.begun)
        return attempt_alive(&r->attempt, why, size);
    snprintf(why, size, "it never started");
    return false;
}

static void free_run(struct engine_run *r)
{
    loop_timer_stop(r->given.loop, r);
    engine_cache_release(&r->cached);
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

void engine_end_in_background(struct engine_run *r)
{
    if (!r)
        return;
    attempt_end_in_background(&r->attempt);
    free_run(r);
}

void engine_detach(struct engine_run *r)
{
    if (!r)
        return;
    attempt_detach(&r->attempt);
    free_run(r);
}

void engine_keep(struct engine_run *r)
{
    keeper_dismiss(&r->attempt, 0);
}

const char *engine_disown(struct engine_run *r, struct error *err)
{
    const struct attempt *a = &r->attempt;
    autofree char *first = a->peer > 0 ? owner_of(a->peer) : xstrdup("");

    return attempt_record(a, first, true, err) == 0 ? a->dir.path : NULL;
}

struct engine_run *engine_attach(const struct engine_options *o, struct loop *loop,
                                 const struct record *record, struct error *err)
{
    struct engine_run *r = run_new(&(struct engine_start){.o = o, .loop = loop});

    r->attempt.engine = engines_find(record->engine);
    if (r->attempt.engine && attempt_attach(&r->attempt, record, err) == 0) {
        r->candidates[r->n++] = r->attempt.engine;
        return r;
    }
    if (!r->attempt.engine)
        error_set(err, ERROR_SANDBOX, 0, "its engine is \"%.40s\", unknown to this version",
                  record->engine ? record->engine : "");
    free_run(r);
    return NULL;
}

int engine_connect(struct engine_run *r)
{
    struct attempt *a = &r->attempt;

    a->channel = a->channel_out = run_dir_connect(&a->dir);
    a->up = a->channel >= 0;
    return a->up ? 0 : -1;
}

/* The engine that a start would try first. NULL: err says why there is none. */
static const struct engine *first_candidate(const struct engine_options *o, struct error *err)
{
    struct engine_run r = {.o = o};
    const struct engine *first = NULL;

    r.from_cache = engine_cache_load(o, &r.cached);
    list_candidates(&r);
    if (r.n == 0)
        tell_unknown(o, err);
    else if (!automatic(&r))
        first = r.candidates[0];
    for (size_t i = 0; i < r.n && !first; i++) {
        autofree char *program = child_find_program(engines_client(r.candidates[i]));

        if (program && !elsewhere(r.candidates[i]))
            first = r.candidates[i];
    }
    if (!first && r.n > 0)
        error_set(err, ERROR_SANDBOX, 0,
                  "no sandbox engine is installed\nquickest: sudo apt install bubblewrap");
    engine_cache_release(&r.cached);
    return first;
}

int engine_argv(const struct engine_options *o, const char *guest, size_t i, struct argv *out,
                struct error *err)
{
    const struct engine *e = first_candidate(o, err);
    struct engine_cached m = {0};

    if (!e)
        return -1;
    engine_cache_load(o, &m);
    bool ours = m.engine && !strcmp(m.engine, e->name);
    bool shares_user = e->users_uid && geteuid() != 0;
    autofree char *owner = owner_self();
    struct engine_plan p = {
        .engine = e,
        .o = o,
        .guest = guest,
        .program = engines_client(e),
        .holds_pids = !shares_user, /* users other than root mostly cannot make control groups */
        .holds_memory = !shares_user,
        .holds_cpu = !shares_user,
        .shares_user = shares_user,
        .name = "sandpiper-ID",
        .owner = owner,
        .dir = "RUNTIME/ID/in",
        .profile = "RUNTIME/ID/seccomp",
        .uid = UID_RANGE_FIRST,
        .runtime = ours ? m.runtime : o->runtime,
        .stdio = ours ? m.stdio : runtime_is_gvisor(o->runtime),
        .channel = 3,
        .seccomp = 4,
        .info = 5,
    };
    bool found = e->commands ? e->commands(&p, i, out) : i == 0;
    if (found && !e->commands)
        e->vector(&p, out);
    engine_cache_release(&m);
    return found;
}
