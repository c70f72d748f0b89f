/* sandbox.c - the life of a sandbox: start, loss, restart, end. incoming.c has what the supervisor says,
 * run.c, put_file.c, decode.c and transfer.c the requests. */
#include "sandbox/sandbox.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "engine/engine_cache.h"
#include "engine/engines.h"
#include "process/loop.h"
#include "process/signals.h"
#include "channel/guest.h"
#include "sandbox/private.h"

#define HELLO_MS \
    20000 /* from the channel's opening to the supervisor's first frame. A loaded machine is slow; a dead \
             supervisor hangs up */
#define KNOWN_HELLO_MS \
    8000 /* an existing sandbox can only be busy ending a cell: 2 s until SIGKILL, 2 s to restore the \
            snapshot */
#define ANSWER_MS 10000 /* for requests that take the supervisor no time */

/* How much is copied out: of one file, after one cell. Returns out, filled. */
static const struct argv *sandbox_words(const struct sandbox_options *o, struct argv *out)
{
    argv_pushf(out, "file=%lld", (long long)o->max_file);
    if (o->figure_svg || o->figure_pdf)
        argv_pushf(out, "figures=%s", !o->figure_pdf ? "svg" : o->figure_svg ? "svg,pdf" : "pdf");
    argv_pushf(out, "total=%lld", (long long)sandbox_most_delivered(o));
    return out;
}

void sandbox_set_folders(struct sandbox *s, const char *session_dir, const char *out_dir)
{
    struct error err;
    char *out = out_dir ? xstrdup(out_dir) : session_dir ? xasprintf("%s/files", session_dir) : NULL;

    xreplace(&s->strings[2], xstrdup(session_dir));
    xreplace(&s->strings[3], out);
    s->o.session_dir = s->strings[2];
    s->o.out_dir = s->strings[3];
    xreplace(&s->output_dir, session_dir ? xasprintf("%s/output", session_dir) : NULL);
    if (s->output_dir && file_mkdirs(s->output_dir, 0700, &err) < 0)
        free(steal(&s->output_dir)); /* then there are no copies on disk; everything else works */
}

struct sandbox *sandbox_new(const struct sandbox_options *o, struct loop *loop)
{
    struct sandbox *s = xcalloc(1, sizeof *s);

    s->o = *o;
    s->o.run.engine = s->strings[0] = xstrdup(o->run.engine ? o->run.engine : "auto");
    s->o.run.image = s->strings[1] = xstrdup(o->run.image);
    s->o.run.name = s->strings[5] = xstrdup(o->run.name);
    s->hold = (struct registry_hold)REGISTRY_HOLD_INIT;
    s->known_packages.fd = -1;
    sandbox_set_folders(s, o->session_dir, o->out_dir);
    s->o.run.runtime = s->strings[4] = xstrdup(o->run.runtime);
    s->o.with = s->strings[6] = xstrdup(o->with);
    s->o.with_lock = s->strings[7] = xstrdup(o->with_lock);
    s->o.run.words = sandbox_words(o, &s->words);
    s->loop = loop;
    s->answer_ms = ANSWER_MS;
    s->guest = guest_text();
    output_init(&s->output);
    ledger_init(&s->ledger, o->max_files_total);
    return s;
}

static void clear_run(struct sandbox *s, bool part)
{
    bool leave = s->kept && !s->discard && s->stage != STAGE_BROKEN;

    loop_timer_stop(s->loop, s);
    channel_free(steal(&s->channel));
    if (leave)
        engine_detach(steal(&s->run));
    else if (part && !s->kept)
        engine_end_in_background(steal(&s->run));
    else
        engine_end(steal(&s->run));
    if (!leave && s->kept)
        registry_forget(&s->hold);
    s->kept = s->taken = false;
}

void sandbox_discard(struct sandbox *s)
{
    s->discard = true;
}

void sandbox_free(struct sandbox *s)
{
    if (!s)
        return;
    clear_run(s, true);
    network_free(s->network);
    registry_release(&s->hold);
    if (s->swept)
        sweep_end_in_background(s->loop);
    for (size_t i = 0; i < countof(s->strings); i++)
        free(s->strings[i]);
    argv_release(&s->words);
    output_release(&s->output);
    ledger_release(&s->ledger);
    mounts_release(&s->known_mounts);
    mount_release(&s->known_packages);
    argv_release(&s->with);
    put_back_release(&s->put_back);
    free(s->guest);
    free(s->packages);
    free(s->packages_told);
    free(s->last_value);
    free(s->kept_limits);
    free(s->image);
    free(s->output_dir);
    free(s);
}

/* ---- start and end */

static void on_broken(void *ctx, const char *why)
{
    struct sandbox *s = ctx;

    loop_timer_stop(s->loop, s);
    if (s->stage == STAGE_HELLO && s->taken) {
        named_refused(s, why);
        return;
    }
    if (s->stage == STAGE_HELLO && s->error.kind) { /* another engine would do no better */
        s->stage = STAGE_FAILED;
        return;
    }
    if (s->stage == STAGE_HELLO) {
        char line[256];

        snprintf(line, sizeof line, "the supervisor did not start (%s)", why);
        channel_free(steal(&s->channel));
        s->stage = STAGE_STARTING;
        /* may call engine_done from the loop, with the next candidate or the final failure */
        engine_reject(s->run, line);
        return;
    }
    if (s->stage != STAGE_READY)
        return;
    s->stage = STAGE_BROKEN;
    snprintf(s->broken_why, sizeof s->broken_why, "%s", why);
}

static void on_hello_late(void *ctx)
{
    struct sandbox *s = ctx;

    if (s->taken)
        named_silent(s);
    else
        on_broken(ctx, "no greeting within 20 s");
}

void sandbox_opened(struct sandbox *s)
{
    struct channel_listener l = {s, sandbox_frame, on_broken};
    const struct engine_facts run = engine_facts(s->run);

    s->stage = STAGE_HELLO;
    s->error = (struct error){0};
    channel_free(s->channel);
    s->channel = channel_new(s->loop, run.channel, run.channel_out, &l);
    if (s->network)
        channel_expect(s->channel);
    loop_timer(s->loop, clock_ms() + (s->taken ? KNOWN_HELLO_MS : HELLO_MS), on_hello_late, s);
}

static void engine_done(void *ctx, int status, const struct error *err)
{
    struct sandbox *s = ctx;
    struct buf parts autorelease(buf_release) = {0};

    if (status < 0) {
        s->stage = STAGE_FAILED;
        s->error = *err;
        return;
    }
    sandbox_opened(s);
    if (engine_facts(s->run).has_parts)
        return;
    guest_parts(&parts);
    channel_send(s->channel, &(struct frame_out){.type = TO_GUEST_PARTS, .body = {parts.data, parts.len}});
}

/* Remove what is gone, and note what was lost with it. */
static void settle_broken(struct sandbox *s)
{
    if (s->stage == STAGE_BROKEN) {
        char why[160] = "";

        if (s->run && !engine_alive(s->run, why, sizeof why) && why[0])
            snprintf(s->broken_why, sizeof s->broken_why, "%s", why);
        if (s->touched)
            s->lost_state = true;
        if (s->touched || s->has_files)
            s->lost_files = s->put_back.due = true;
        if (s->lost_state || s->lost_files)
            snprintf(s->lost_why, sizeof s->lost_why, "%s", s->broken_why);
        s->touched = s->has_files = s->restored = false;
        clear_run(s, false);
        s->stage = STAGE_NONE;
    } else if (s->stage == STAGE_FAILED) {
        clear_run(s, false);
        /* try again when next asked: a daemon may have been started */
        s->stage = STAGE_NONE;
    }
}

void sandbox_break(struct sandbox *s, const char *why)
{
    if (s->stage != STAGE_READY && s->stage != STAGE_BROKEN)
        return;
    if (s->stage == STAGE_READY) {
        snprintf(s->broken_why, sizeof s->broken_why, "%s", why);
        s->stage = STAGE_BROKEN;
        processes_lost(s);
    }
    settle_broken(s);
}

/* Remove what killed programs left, while our own engine starts. */
static void sweep(void *loop)
{
    sweep_begin(loop);
}

static void pass_request(void *ctx, const struct network_request *r)
{
    const struct sandbox *s = ctx;

    if (s->o.on_network)
        s->o.on_network(s->o.ctx, r);
}

/* False: STAGE_FAILED. */
static bool start_network(struct sandbox *s)
{
    if (!s->o.network || s->network)
        return true;
    s->network = network_new(s->o.network, s->loop, pass_request, s);
    if (s->network)
        return true;
    error_set(&s->error, ERROR_SANDBOX, 0,
              "the process for --allow-net cannot be started\n"
              "end other programs, or leave out --allow-net and --secret");
    s->stage = STAGE_FAILED;
    return false;
}

void sandbox_start(struct sandbox *s)
{
    settle_broken(s);
    s->start_due = s->start_held;
    if (s->start_held || s->stage != STAGE_NONE || !start_network(s))
        return;
    if (s->o.run.name && !s->hold.name && sandbox_claim(s, &s->error) < 0) {
        s->stage = STAGE_FAILED;
        return;
    }
    if (!s->hold.name || !named_begin(s)) {
        s->stage = STAGE_STARTING;
        named_drop_mounts(s);
        s->run = engine_begin(
            &(struct engine_start){&s->o.run, s->loop, s->guest, guest_parts_file, engine_done, s});
    }
    if (!s->swept) /* after the engine's timer, so that it has been started by then */
        loop_timer(s->loop, clock_ms(), sweep, s->loop);
    s->swept = true;
}

void sandbox_hold_start(struct sandbox *s, bool hold)
{
    s->start_held = hold;
    if (!hold && s->start_due)
        sandbox_start(s);
}

static bool waits_for_start(const struct sandbox *s)
{
    return s->start_held || s->stage == STAGE_STARTING || s->stage == STAGE_HELLO;
}

void sandbox_tell_phase(const struct sandbox *s, enum phase phase)
{
    if (s->o.phase)
        s->o.phase(s->o.ctx, &(struct phase_now){.phase = phase});
}

void sandbox_tell_copied(struct sandbox *s, enum phase phase, size_t bytes)
{
    struct copy_progress *c = &s->copying;
    int64_t now;

    c->done += (int64_t)bytes;
    if (!s->o.phase || c->total < PHASE_TOLD_FROM || (now = clock_ms()) - c->told < PHASE_TOLD_EVERY_MS)
        return;
    c->told = now;
    s->o.phase(s->o.ctx,
               &(struct phase_now){.phase = phase, .done = (uint64_t)c->done, .total = (uint64_t)c->total});
}

int sandbox_wait(struct sandbox *s, struct error *err)
{
    if (s->stage == STAGE_READY)
        loop_wait(s->loop, 0); /* notice a hang-up now, before code is sent to nobody */
    sandbox_start(s);
    bool told = waits_for_start(s);
    if (told)
        sandbox_tell_phase(s, PHASE_STARTING);
    while (waits_for_start(s)) {
        if (loop_cancelled(s->loop))
            return error_set(err, ERROR_CANCELLED, 0, "interrupted while the sandbox started");
        loop_wait(s->loop, -1);
    }
    if (told)
        sandbox_tell_phase(s, PHASE_NONE);
    if (s->stage == STAGE_READY && with_send(s, err) < 0)
        return -1;
    if (s->stage == STAGE_READY && put_back(s))
        return 0;
    if (s->stage == STAGE_FAILED) {
        if (err)
            *err = s->error;
        settle_broken(s);
        return -1;
    }
    return error_set(err, ERROR_SANDBOX, 0, "the sandbox ended as soon as it had started: %s", s->broken_why);
}

const struct sandbox_options *sandbox_options(const struct sandbox *s)
{
    return &s->o;
}

void sandbox_set_cell_time(struct sandbox *s, int ms)
{
    s->o.cell_ms = ms;
}

bool sandbox_continued(const struct sandbox *s)
{
    return s->taken;
}

unsigned sandbox_cells(const struct sandbox *s)
{
    return s->cells;
}

bool sandbox_failed(const struct sandbox *s, struct error *err)
{
    if (s->stage != STAGE_FAILED)
        return false;
    *err = s->error;
    return true;
}

const char *sandbox_engine(const struct sandbox *s)
{
    return *s->engine ? s->engine : !strcmp(s->o.run.engine, "auto") ? "" : s->o.run.engine;
}

const char *sandbox_image(const struct sandbox *s)
{
    const struct engine *engine = engines_find(sandbox_engine(s));

    return s->image ? s->image : *s->engine || !engine || !engine->images ? NULL : s->o.run.image;
}

const char *sandbox_runtime(const struct sandbox *s)
{
    return s->run && s->stage == STAGE_READY ? engine_facts(s->run).runtime : s->o.run.runtime;
}

char *sandbox_place(struct sandbox *s)
{
    struct engine_cached known autorelease(engine_cache_release) = {0};
    const char *engine = sandbox_engine(s), *image = sandbox_image(s);

    if (!*engine) {
        if (!engine_from_cache(&s->o.run, &known))
            return NULL;
        engine = known.engine;
        image = engines_find(engine)->images ? s->o.run.image : NULL;
    }
    return image ? xasprintf("%s, image %s", engine, image) : xstrdup(engine);
}

/* What the cache has for these options, or what can be seen from outside. */
static void recall(struct sandbox *s)
{
    struct engine_cached known autorelease(engine_cache_release) = {0};

    if (s->packages || !engine_from_cache(&s->o.run, &known))
        return;
    s->packages = scrub_line(known.packages, SCRUB_TERMINAL);
    snprintf(s->python, sizeof s->python, "%.20s", known.python);
}

const char *sandbox_packages(struct sandbox *s, struct error *err)
{
    recall(s);
    if ((!s->packages || s->taken) && sandbox_wait(s, err) < 0)
        return NULL;
    if (!s->o.with || !s->packages)
        return s->packages ? s->packages : "";
    xreplace(&s->packages_told, xasprintf("%s%s%s", s->o.with, *s->packages ? ", " : "", s->packages));
    return s->packages_told;
}

const char *sandbox_python(struct sandbox *s)
{
    recall(s);
    return s->python;
}

int sandbox_dry_run(const struct sandbox_options *o, size_t i, struct argv *out, struct error *err)
{
    struct argv words autorelease(argv_release) = ARGV_INIT;
    struct engine_options run = o->run;
    autofree char *guest = guest_text();

    run.words = sandbox_words(o, &words);
    return engine_argv(&run, guest, i, out, err);
}

/* ---- requests */

void request_begin(struct sandbox *s, struct request *q)
{
    *q = (struct request){.sandbox = s,
                          .what = q->what,
                          .when = q->when,
                          .idle_ms = q->idle_ms ? q->idle_ms : s->answer_ms,
                          .frame = q->frame,
                          .wait_status = -1,
                          .progress_at = clock_ms()};
    /* Cannot fail for 16 bytes once the kernel's pool is initialised. If it did, it would not be safe to
     * go on. */
    if (getrandom(q->nonce, sizeof q->nonce, 0) != (ssize_t)sizeof q->nonce)
        abort();
    s->request = q;
}

void request_end(struct request *q)
{
    if (q->sandbox && q->sandbox->request == q)
        q->sandbox->request = NULL;
    free(steal(&q->error));
    free(steal(&q->text));
    free(steal(&q->unkept));
    for (size_t i = 0; i < q->n_lost; i++)
        free(q->lost[i].name);
    q->n_lost = 0;
}
