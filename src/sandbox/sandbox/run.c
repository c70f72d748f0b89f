/* run.c - run a cell: send it, keep its deadlines, and describe how it ended.
 *
 * The ladder is the same for a time-out, for Ctrl-C and for code that writes too much: SIGINT to the code;
 * after 1 s, or at a second Ctrl-C, the supervisor kills the worker with SIGKILL and starts a new one; after
 * another 2 s without an answer, the whole sandbox is ended. Every deadline is measured outside the sandbox,
 * and none waits for a reader of ours: while a write to the user is blocked, the ladder is climbed all the
 * same, up to SIGKILL (what the supervisor answers is not read then). Code for which memory is so short that
 * it no longer moves is killed at once: an interrupt would not reach it.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/utf8.h"
#include "conversation/language.h"
#include "limits/cgroup.h"
#include "process/child.h"
#include "process/loop.h"
#include "process/signals.h"
#include "process/out.h"
#include "sandbox/cell.h"

#define HEAD_MAX      2048  /* bytes of what says how a cell in another language runs */
#define FILES_IDLE_MS 10000 /* the longest pause while files are being sent */
#define LOOK_MS       1000  /* between looks whether memory is so short that nothing moves */
#define PATIENCE_MS   10000 /* the most that a person who stops the terminal adds to the time of a cell */

enum reason { REASON_NONE, REASON_TIMEOUT, REASON_INTERRUPT, REASON_MEMORY, REASON_OUTPUT };
enum rung { RUNG_NONE, RUNG_SIGINT, RUNG_KILL, RUNG_GONE };

/* ms from a rung to the next. With the first, code is dead, and its variables restored, within 2 s of
 * its limit. */
static const int step_ms[] = {[RUNG_SIGINT] = 1000, [RUNG_KILL] = 2000};

struct ladder {
    struct sandbox *s;
    struct cell *c;
    enum rung rung;
    enum reason reason;
    int64_t began, stepped; /* ms; when the cell began; when the present rung was reached */
    int64_t waited;         /* out_waited_ms() when the cell began */
    unsigned interrupts;    /* interrupts of the loop seen so far */
    int64_t looked;         /* ms */
    struct cgroup_thrash thrash;
};

static void step_ladder(struct ladder *l, enum rung rung, enum reason reason)
{
    struct sandbox *s = l->s;

    l->rung = rung;
    l->stepped = clock_ms();
    if (reason && !l->reason)
        l->reason = reason;
    if (rung != RUNG_GONE && !loop_blocked(s->loop)) /* the status line cannot be drawn into another write */
        sandbox_tell_phase(s, rung == RUNG_SIGINT ? PHASE_STOPPING : PHASE_RESTORING);
    if (rung == RUNG_SIGINT)
        channel_order(s->channel, TO_GUEST_INTERRUPT);
    else if (rung == RUNG_KILL)
        channel_order(s->channel, TO_GUEST_KILL);
    else if (rung == RUNG_GONE)
        sandbox_break(s, "the supervisor in the sandbox did not respond");
}

/* The time limit of the cell; behind it, and behind an interrupt, when the next step is due; in ms. */
static int64_t next_due(const struct ladder *l)
{
    const struct sandbox *s = l->s;

    if (l->rung != RUNG_NONE)
        return l->stepped + step_ms[l->rung];
    if (l->c->answered)
        return l->c->request.progress_at + FILES_IDLE_MS;
    if (s->o.cell_ms <= 0)
        return INT64_MAX;
    int64_t waited = out_waited_ms() - l->waited;
    return l->began + s->o.cell_ms + (waited < PATIENCE_MS ? waited : PATIENCE_MS);
}

/* What is a reason for a step at once. */
static void look_for_reasons(struct ladder *l)
{
    struct sandbox *s = l->s;
    unsigned interrupts = loop_interrupts(s->loop);
    int64_t now = clock_ms();

    if (loop_fatal(s->loop) && l->rung < RUNG_KILL) {
        step_ladder(l, RUNG_KILL, REASON_INTERRUPT);
    } else if (interrupts != l->interrupts) {
        /* The second press while the cell still runs kills it, even if it comes more than a second after
         * the first: the user has then waited even longer. */
        l->interrupts = interrupts;
        if (l->rung < RUNG_KILL)
            step_ladder(l, l->rung == RUNG_NONE && interrupts < 2 ? RUNG_SIGINT : RUNG_KILL,
                        REASON_INTERRUPT);
    }
    if (l->rung != RUNG_NONE || l->c->answered)
        return;
    if (l->c->flooded) {
        step_ladder(l, RUNG_SIGINT, REASON_OUTPUT);
    } else if (now >= l->looked + LOOK_MS) {
        l->looked = now;
        if (s->run && engine_thrashes(s->run, &l->thrash))
            step_ladder(l, RUNG_KILL, REASON_MEMORY);
    }
}

/* Take the steps that are due. Returns how many ms remain until the next one. */
static int64_t climb(struct ladder *l)
{
    look_for_reasons(l);
    if (l->rung == RUNG_GONE)
        return 0;
    int64_t now = clock_ms(), due = next_due(l);

    if (now >= due && l->rung == RUNG_KILL && loop_blocked(l->s->loop)) {
        /* It may have answered. Once the write is over it has its time again. */
        l->stepped = now;
        out_hurry(true);
        return step_ms[RUNG_KILL];
    }
    if (now >= due)
        step_ladder(l, l->rung + 1, l->rung == RUNG_NONE && !l->c->answered ? REASON_TIMEOUT : REASON_NONE);
    return now >= due ? 0 : due - now < LOOK_MS ? due - now : LOOK_MS;
}

/* What the loop calls in the time in which a write to the user is blocked. */
static void climb_while_blocked(void *ctx)
{
    struct ladder *l = ctx;
    bool blocked = loop_blocked(l->s->loop); /* otherwise run_to_end() climbs in a moment */
    int64_t at = blocked ? clock_ms() + climb(l) : next_due(l), soon = clock_ms() + LOOK_MS / 10;

    loop_deadline(l->s->loop, at > soon ? at : soon, climb_while_blocked, l);
}

/* A group around the sandbox may allow less than the user does. */
static struct short_text memory_limit(const struct sandbox *s)
{
    int64_t held = s->run ? engine_memory_limit(s->run) : 0;

    return size_text(held > 0 ? held : s->o.run.memory);
}

static void note_memory(struct sandbox *s, struct cell_result *r, bool grew)
{
    if (!grew || (r->status != CELL_OK && r->status != CELL_EXCEPTION))
        return;
    xreplace(&r->hint, xasprintf("%s%sa process of the code was killed: out of memory (limit %s)",
                                 r->hint ? r->hint : "", r->hint ? "\n" : "", memory_limit(s).text));
}

char *sandbox_snapshot_age(unsigned behind, const char *cell)
{
    if (behind == 0)
        return xstrdup(cell);
    return behind == 1 ? xasprintf("%s and the run before it", cell)
                       : xasprintf("%s and the %u runs before it", cell, behind);
}

/* What is left of the variables after the worker died. */
static char *what_remains(const struct request *q)
{
    if (q->restored) {
        autofree char *when = sandbox_snapshot_age(q->behind, "this code");

        return xasprintf("variables are back to what they were before %s", when);
    }
    return q->unkept ? xasprintf("variables are gone (no snapshot to restore: %s)", q->unkept)
                     : xstrdup("variables are gone");
}

static const char *interrupter(const struct cell *c)
{
    return c->listener && c->listener->interrupter ? c->listener->interrupter(c->listener->ctx) : "the user";
}

static char *too_much_output(const struct sandbox *s, const char *what)
{
    return xasprintf("the %s was stopped: it wrote more than %s of output, the limit (--max-output)", what,
                     size_text(s->o.max_output).text);
}

/* What the user calls a crash: the processor or the C library stopped Python. */
static bool is_crash(int status)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};

    for (size_t i = 0; i < countof(crashes); i++)
        if (WIFSIGNALED(status) && WTERMSIG(status) == crashes[i])
            return true;
    return false;
}

/* The worker died in this cell. Describe why, as seen from outside. */
static void explain_death(struct sandbox *s, const struct cell *c, const struct ladder *l, bool memory)
{
    int status = (int)c->request.wait_status;
    struct cell_result *r = c->r;
    const struct short_text limit = memory_limit(s), how = child_status_text(status);
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    int64_t files = (memory || killed) && s->run ? engine_memory_of_files(s->run) : 0;

    r->left = what_remains(&c->request);
    r->earlier = false;
    r->state_restored = c->request.restored;
    r->state_lost |= !r->state_restored;
    r->status = CELL_DIED;
    r->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    /* sigint_sent matters: the worker may have died by itself, and the interrupt come only while files
     * were sent. */
    if (c->request.sigint_sent && l->reason == REASON_TIMEOUT) {
        r->status = CELL_TIMEOUT;
        r->what = xasprintf(
            "the code was killed: it ran longer than %g s, the time limit, and ignored the interrupt",
            s->o.cell_ms / 1000.0);
    } else if (c->flooded) {
        r->status = CELL_OUTPUT;
        r->what = too_much_output(s, "code");
    } else if (c->request.sigint_sent && l->reason == REASON_INTERRUPT) {
        r->status = CELL_INTERRUPTED;
        r->what = loop_fatal(s->loop)
                      ? xstrdup("sandpiper was terminated, so the code was killed")
                      : xasprintf("%s interrupted the code and it did not stop by itself, so it was killed",
                                  interrupter(c));
    } else if (files) { /* a kill just before the cell was counted then, and only files can be its cause */
        r->status = CELL_MEMORY;
        r->what = xasprintf("the code was killed: out of memory (limit %s, of which files in /mnt/data, /tmp "
                            "and /dev/shm take %s)",
                            limit.text, size_text(files).text);
    } else if (memory) {
        r->status = CELL_MEMORY;
        r->what = xasprintf("the code was killed: out of memory (limit %s)", limit.text);
    } else if (c->request.closed) {
        r->what = xstrdup("Python was killed: the code closed or replaced its file descriptors");
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == GUEST_EXIT_GAVE_UP) {
        r->what = xstrdup("Python ended (exit code 70): the code closed or replaced its file "
                          "descriptors or modules, or called os._exit");
    } else if (WIFEXITED(status) && WEXITSTATUS(status) == GUEST_EXIT_NOT_STARTED) {
        r->what = xstrdup("Python could not be started in the sandbox, or the code called os._exit "
                          "(exit code 71)");
    } else if (WIFEXITED(status)) {
        r->what = xasprintf("the code ended Python itself (os._exit, %s)", how.text);
    } else if (killed && s->memory_kills < 0) {
        r->what = xasprintf("Python was %s, most likely out of memory (limit %s)", how.text, limit.text);
    } else if (is_crash(status)) {
        r->what = xasprintf("Python crashed (SIG%s)", sigabbrev_np(WTERMSIG(status)));
    } else {
        r->what = xasprintf("Python was %s", how.text);
    }
}

static void explain_answer(struct sandbox *s, const struct cell *c, const struct ladder *l)
{
    struct cell_result *r = c->r;

    r->status = c->claimed;
    /* sigint_sent is what the supervisor says, from before it read the worker's answer. */
    if (c->request.sigint_sent && l->reason == REASON_TIMEOUT) {
        r->status = CELL_TIMEOUT;
        r->what = xasprintf("the code was interrupted: it ran longer than %g s, the time limit",
                            s->o.cell_ms / 1000.0);
    } else if (c->flooded) {
        r->status = CELL_OUTPUT;
        r->what = too_much_output(s, "code");
    } else if (c->request.sigint_sent && l->reason == REASON_INTERRUPT) {
        r->status = CELL_INTERRUPTED;
        r->what = loop_fatal(s->loop) ? xstrdup("sandpiper was terminated, so the code was interrupted")
                                      : xasprintf("%s interrupted the code", interrupter(c));
    } else if (r->status == CELL_INTERRUPTED) {
        r->status = CELL_EXCEPTION; /* the code raised KeyboardInterrupt itself */
    } else if (r->status == CELL_EXIT) {
        r->what = xasprintf("the code ended with exit code %d", r->exit_code);
    }
    r->left = r->what ? xstrdup("variables are kept") : NULL;
}

/* The request did not end: the sandbox is gone, or was ended because nothing in it responded. */
static void explain_loss(struct sandbox *s, const struct ladder *l, bool memory, struct cell_result *r)
{
    r->state_lost = r->files_lost = true;
    s->lost_state = s->lost_files = false; /* reported here */
    r->status = l->reason == REASON_TIMEOUT     ? CELL_TIMEOUT
                : l->reason == REASON_INTERRUPT ? CELL_INTERRUPTED
                : l->reason == REASON_OUTPUT    ? CELL_OUTPUT
                : memory                        ? CELL_MEMORY
                                                : CELL_DIED;
    r->exit_code = 128 + SIGKILL;
    autofree char *back = put_back_names(s);
    r->left = !back ? xstrdup("variables and the files in /mnt/data are gone")
                    : xasprintf("variables are gone, but these files in /mnt/data were copied in again: %s",
                                back);
    r->files_back = back != NULL;
    r->what = r->status == CELL_MEMORY
                  ? xasprintf("the sandbox was killed: out of memory (limit %s)", memory_limit(s).text)
                  : xasprintf("the sandbox was lost (%s)", s->broken_why);
}

/* Report what was lost before this cell and not reported yet. */
static void tell_old_loss(struct sandbox *s, struct cell_result *r)
{
    autofree char *from = s->behind ? sandbox_snapshot_age(s->behind - 1, "the last code") : NULL;

    if (!s->lost_state && !s->lost_files && !s->restored)
        return;
    autofree char *back = s->lost_files ? put_back_names(s) : NULL;

    r->state_lost = s->lost_state || s->lost_files;
    r->files_back = back != NULL;
    r->before = r->state_lost
                    ? xasprintf("before this code, %s were lost (%s)%s%s",
                                s->lost_files ? "variables and the files in /mnt/data" : "variables",
                                s->lost_why, back ? "; copied in again: " : "", back ? back : "")
                    : xasprintf("%s; variables are %s%s", s->lost_why,
                                from ? "back to what they were before " : "as they were then",
                                from ? from : "");
    r->state_restored = !r->state_lost;
    r->earlier = true;
    r->files_lost |= s->lost_files;
    s->lost_state = s->lost_files = s->restored = false;
}

static void explain(struct sandbox *s, struct cell *c, const struct ladder *l)
{
    struct cell_result *r = c->r;
    int64_t kills = s->run ? engine_memory_kills(s->run) : -1,
            grew = s->memory_kills >= 0 ? kills - s->memory_kills : 0;
    if (l->reason == REASON_MEMORY && (c->request.sigint_sent || !c->request.done))
        grew++; /* we did it, since the kernel did not */
    /* A snapshot killed to free memory does not concern the cell, if the cell survived. */
    bool memory = grew > 0, process = grew > c->request.snapshots_killed;

    s->memory_kills = kills >= 0 ? kills : s->memory_kills;
    if (!c->request.done) {
        sandbox_break(s, s->broken_why);
        explain_loss(s, l, memory, r);
        return;
    }
    s->touched = true;
    tell_old_loss(s, r);
    if (!c->answered || c->request.wait_status >= 0) {
        explain_death(s, c, l,
                      process
                          || (memory && WIFSIGNALED((int)c->request.wait_status)
                              && WTERMSIG((int)c->request.wait_status) == SIGKILL));
        s->touched = r->state_restored;
        if (!r->state_restored)
            free(steal(&r->before)); /* an earlier loss no longer matters */
    } else {
        explain_answer(s, c, l);
        note_memory(s, r, process);
    }
    r->state_restored = r->state_restored && !r->state_lost;
    /* The code may have killed the snapshot itself; then memory was not short. */
    if (c->request.snapshots_killed > 0 && memory && c->request.wait_status < 0)
        engine_notice(
            &s->o.run, true,
            "memory ran short, so the snapshot of the interpreter was given up; a new one is made after "
            "the cell");
}

/* What the output has to fit, where that has changed since the last cell. */
static void tell_terminal(struct sandbox *s)
{
    struct sandbox_terminal t = SANDBOX_TERMINAL_NONE;
    struct buf body autorelease(buf_release) = BUF_INIT(0);

    if (s->o.terminal)
        s->o.terminal(s->o.ctx, &t);
    t.columns = t.columns < 20 ? 20 : t.columns > 1000 ? 1000 : t.columns;
    if (t.columns == s->terminal.columns && t.background == s->terminal.background
        && t.figure_columns == s->terminal.figure_columns && t.figure_rows == s->terminal.figure_rows)
        return;
    s->terminal = t;
    tagged_add_int(&body, 'w', t.columns);
    if (t.background >= 0)
        tagged_add_int(&body, 'b', t.background & 0xffffff);
    if (t.figure_columns > 0 && t.figure_rows > 0) {
        tagged_add_int(&body, 'c', t.figure_columns);
        tagged_add_int(&body, 'r', t.figure_rows);
    }
    channel_send(s->channel, &(struct frame_out){.type = TO_GUEST_TERMINAL, .body = {body.data, body.len}});
}

/* Send it, and keep its deadlines until it has ended. */
static void run_to_end(struct sandbox *s, struct cell *c, struct frame_out f, struct ladder *l)
{
    int64_t began_us = clock_us();

    *l = (struct ladder){.s = s,
                         .c = c,
                         .began = clock_ms(),
                         .waited = out_waited_ms(),
                         .interrupts = loop_interrupts(s->loop)};
    l->looked = l->began;
    loop_deadline(s->loop, next_due(l), climb_while_blocked, l);
    sandbox_tell_phase(s, PHASE_RUNNING);
    f.nonce = c->request.nonce;
    channel_send(s->channel, &f);
    loop_expect(s->loop);
    while (!c->request.done && s->stage == STAGE_READY) {
        int64_t wait = climb(l);
        if (s->stage != STAGE_READY)
            break;
        loop_wait(s->loop, (int)wait);
    }
    loop_timer_stop(s->loop, l);
    c->r->seconds = (double)(clock_us() - began_us) / 1e6;
}

_Static_assert(SANDBOX_CODE_MAX < FRAME_OUT_MAX, "a frame takes the longest code");

static int get_ready(struct sandbox *s, size_t len, struct cell_result *r, struct error *err)
{
    *r = (struct cell_result){0};
    if (len > SANDBOX_CODE_MAX)
        return error_set(err, ERROR_USAGE, EFBIG, "the code is too long: %zu bytes, the limit is %u", len,
                         SANDBOX_CODE_MAX);
    if (sandbox_wait(s, err) < 0)
        return -1;
    if (loop_cancelled(s->loop))
        return error_set(err, ERROR_CANCELLED, 0, "interrupted before the code ran");
    return 0;
}

static void go_on(struct sandbox *s)
{
    if (s->stage != STAGE_READY && !loop_fatal(s->loop))
        sandbox_start(s); /* while the caller handles the bad news */
}

int sandbox_run(struct sandbox *s, const char *code, size_t len, const struct cell_listener *listener,
                struct cell_result *r, struct error *err)
{
    struct ladder l;
    struct cell c = {0};
    unsigned char number[4];

    if (get_ready(s, len, r, err) < 0)
        return -1;
    tell_terminal(s);
    s->cells++;
    put_u32(number, s->cells);
    cell_begin(&c, s, listener, r);
    run_to_end(s, &c,
               (struct frame_out){.type = TO_GUEST_RUN, .head = {number, sizeof number}, .body = {code, len}},
               &l);
    explain(s, &c, &l);
    cell_end(&c);
    go_on(s);
    return 0;
}

/* How a command ended, which says nothing about the worker. */
static void explain_command(struct sandbox *s, const struct cell *c, const struct ladder *l)
{
    int64_t before = s->memory_kills;
    const struct request *q = &c->request;
    struct cell_result *r = c->r;
    int status = (int)q->wait_status;

    sandbox_count_kills(s);
    bool killed = q->wait_status >= 0 && WIFSIGNALED(status),
         memory = killed && WTERMSIG(status) == SIGKILL
                  && (l->reason == REASON_MEMORY || (before >= 0 && s->memory_kills > before));
    if (!q->done) {
        sandbox_break(s, s->broken_why);
        explain_loss(s, l, memory, r);
        return;
    }
    s->has_files = true; /* for all we know */
    r->status = q->error                                          ? CELL_NOT_RUN
                : q->sigint_sent && l->reason == REASON_TIMEOUT   ? CELL_TIMEOUT
                : c->flooded                                      ? CELL_OUTPUT
                : q->sigint_sent && l->reason == REASON_INTERRUPT ? CELL_INTERRUPTED
                : memory                                          ? CELL_MEMORY
                                                                  : CELL_EXIT;
    r->exit_code = q->wait_status < 0 ? 127 : killed ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (r->status == CELL_NOT_RUN)
        r->what = xasprintf("the command could not be started: %s", q->error);
    else if (r->status == CELL_TIMEOUT)
        r->what = xasprintf("the command was ended: it ran longer than %g s, the time limit",
                            s->o.cell_ms / 1000.0);
    else if (r->status == CELL_OUTPUT)
        r->what = too_much_output(s, "command");
    else if (r->status == CELL_INTERRUPTED)
        r->what = xasprintf("%s interrupted the command", interrupter(c));
    else if (memory)
        r->what = xasprintf("the command was killed: out of memory (limit %s)", memory_limit(s).text);
}

int sandbox_command(struct sandbox *s, const struct argv *words, const struct cell_listener *listener,
                    struct cell_result *r, struct error *err)
{
    struct buf body autorelease(buf_release) = BUF_INIT(0);
    struct cell c = {.command = true};
    struct ladder l;

    for (size_t i = 0; i < words->n; i++)
        buf_add(&body, words->v[i], strlen(words->v[i]) + 1);
    if (get_ready(s, body.len, r, err) < 0)
        return -1;
    cell_begin(&c, s, listener, r);
    run_to_end(s, &c, (struct frame_out){.type = TO_GUEST_COMMAND, .body = {body.data, body.len}}, &l);
    explain_command(s, &c, &l);
    cell_end(&c);
    go_on(s);
    return 0;
}

static enum cell_status how_it_ended(const struct cell *c, const struct ladder *l, bool memory)
{
    const struct request *q = &c->request;
    bool died = q->wait_status >= 0;

    return q->error                                          ? CELL_NOT_RUN
           : q->sigint_sent && l->reason == REASON_TIMEOUT   ? CELL_TIMEOUT
           : c->flooded                                      ? CELL_OUTPUT
           : q->sigint_sent && l->reason == REASON_INTERRUPT ? CELL_INTERRUPTED
           : died && memory                                  ? CELL_MEMORY
           : !died                                           ? c->claimed
           : WIFEXITED((int)q->wait_status)                  ? CELL_EXIT
                                                             : CELL_DIED;
}

/* Why it was not run, and the way out where the sandbox has no such program. */
static char *why_not_run(const struct sandbox *s, const struct cell *c)
{
    const char *package = c->request.error_code == ENOENT ? c->language->package : NULL;
    const char *way = package || c->request.error_code != ENOENT ? ""
                      : sandbox_image(s)                         ? "; --image names one that has it"
                                                                 : "; install it on that machine";

    return xasprintf("the code was not run: %s%s%s%s", c->request.error, way,
                     package ? "; add one with --with " : "", package ? package : "");
}

/* One line on a cell in another language, or NULL. */
static char *what_ended_it(const struct sandbox *s, const struct cell *c)
{
    const struct cell_result *r = c->r;
    const char *name = c->language->name, *done = r->ended ? "killed" : "interrupted";

    switch (r->status) {
    case CELL_NOT_RUN:
        return why_not_run(s, c);
    case CELL_TIMEOUT:
        return xasprintf("the code was %s: it ran longer than %g s, the time limit", done,
                         s->o.cell_ms / 1000.0);
    case CELL_OUTPUT:
        return too_much_output(s, "code");
    case CELL_INTERRUPTED:
        return loop_fatal(s->loop) ? xasprintf("sandpiper was terminated, so the code was %s", done)
               : r->ended
                   ? xasprintf("%s interrupted the code and it did not stop by itself, so it was killed",
                               interrupter(c))
                   : xasprintf("%s interrupted the code", interrupter(c));
    case CELL_MEMORY:
        return xasprintf("the %s was killed: out of memory (limit %s)", name, memory_limit(s).text);
    case CELL_EXIT:
        return r->ended ? xasprintf("the code ended the %s (exit code %d)", name, r->exit_code)
                        : xasprintf("exit code %d", r->exit_code);
    case CELL_DIED:
        return xasprintf("the %s was %s", name, child_status_text((int)c->request.wait_status).text);
    case CELL_OK:
    case CELL_EXCEPTION:
        break;
    }
    return NULL;
}

/* How a cell in another language ended, which says nothing about the worker. */
static void explain_language(struct sandbox *s, struct cell *c, const struct ladder *l)
{
    int64_t before = s->memory_kills;
    const struct request *q = &c->request;
    struct cell_result *r = c->r;
    int status = (int)q->wait_status;
    bool killed = q->wait_status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;

    sandbox_count_kills(s);
    bool memory = l->reason == REASON_MEMORY || (before >= 0 && s->memory_kills > before);
    if (!q->done) {
        sandbox_break(s, s->broken_why);
        explain_loss(s, l, memory, r);
        return;
    }
    s->has_files = true; /* for all we know */
    tell_old_loss(s, r);
    r->ended = q->wait_status >= 0;
    r->status = how_it_ended(c, l, memory && killed);
    if (r->ended)
        r->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (c->language->run && r->status == CELL_EXIT) { /* a program, of which nothing is to stay */
        r->ended = false;
        r->status = r->exit_code ? CELL_EXIT : CELL_OK;
    }
    r->what = what_ended_it(s, c);
    if (c->language->run) {
        r->ended = false;
        return;
    }
    if (r->ended)
        r->left = xasprintf("its %s are gone; those of Python are kept", c->language->keeps);
    else if (r->what && r->status != CELL_EXIT && r->status != CELL_NOT_RUN)
        r->left = xasprintf("%s of the %s are kept", c->language->keeps, c->language->name);
    if (q->began_anew && !r->before)
        r->before = xasprintf("before this code the %s had ended: its %s were gone", c->language->name,
                              c->language->keeps);
    note_memory(s, r, memory && !r->ended);
}

/* A cell of a notebook, for Python's worker. */
static int run_magic(struct sandbox *s, const struct cell_code *code, const struct cell_listener *listener,
                     struct cell_result *r, struct error *err)
{
    struct buf whole autorelease(buf_release) = BUF_INIT(0);

    buf_addstr(&whole, code->language->magic);
    buf_add(&whole, code->text, code->len);
    return sandbox_run(s, buf_str(&whole), whole.len, listener, r, err);
}

static void add_words_head(struct buf *head, uint32_t number, const struct argv *words)
{
    unsigned char n[4];
    size_t size = 0;

    for (size_t i = 0; i < words->n; i++)
        size += strlen(words->v[i]) + 1;
    put_u32(n, number);
    buf_add(head, n, sizeof n);
    put_u32(n, (uint32_t)size);
    buf_add(head, n, sizeof n);
    for (size_t i = 0; i < words->n; i++)
        buf_add(head, words->v[i], strlen(words->v[i]) + 1);
}

int sandbox_look_for(struct sandbox *s, const struct argv *programs, char **lacking, struct error *err)
{
    struct request q autorelease(request_end) = {.what = "the look for programs", .idle_ms = FILES_IDLE_MS};
    struct argv words autorelease(argv_release) = ARGV_INIT;
    struct buf head autorelease(buf_release) = BUF_INIT(HEAD_MAX);

    argv_push(&words, "find");
    for (size_t i = 0; i < programs->n; i++)
        argv_push(&words, programs->v[i]);
    add_words_head(&head, s->cells, &words);
    if (sandbox_wait(s, err) < 0
        || request_ask(
               s, &q,
               (struct frame_out){.type = TO_GUEST_LANGUAGE, .head = {head.data, head.len}, .body = {"", 0}},
               err)
               < 0)
        return -1;
    if (q.error || !q.text) /* a named sandbox may be of an earlier version */
        return error_set(err, ERROR_SANDBOX, 0, "%s: %s", q.what, q.error ? q.error : "no answer");
    *lacking = xasprintf(" %s ", q.text);
    return 0;
}

/* The number of the cell, and what runs it. */
static void add_language_head(struct buf *head, uint32_t number, const struct language *l)
{
    struct argv words autorelease(argv_release) = ARGV_INIT;

    argv_push(&words, l->run ? "run" : l->interpreter);
    if (l->kind)
        argv_push(&words, l->kind);
    if (l->run)
        argv_push(&words, l->ends[0] ? l->ends[0] : "");
    for (const char *const *w = l->run; w && *w; w++)
        argv_push(&words, *w);
    add_words_head(head, number, &words);
}

int sandbox_run_code(struct sandbox *s, const struct cell_code *code, const struct cell_listener *listener,
                     struct cell_result *r, struct error *err)
{
    struct buf head autorelease(buf_release) = BUF_INIT(HEAD_MAX);
    struct cell c = {.language = code->language};
    struct ladder l;

    if (language_is_python(code->language))
        return sandbox_run(s, code->text, code->len, listener, r, err);
    if (code->language->magic)
        return run_magic(s, code, listener, r, err);
    if (get_ready(s, code->len, r, err) < 0)
        return -1;
    s->cells++;
    add_language_head(&head, s->cells, code->language);
    if (head.full)
        return error_set(err, ERROR_USAGE, 0, "the command of the language %s is too long",
                         code->language->name);
    cell_begin(&c, s, listener, r);
    run_to_end(s, &c,
               (struct frame_out){
                   .type = TO_GUEST_LANGUAGE, .head = {head.data, head.len}, .body = {code->text, code->len}},
               &l);
    explain_language(s, &c, &l);
    cell_end(&c);
    go_on(s);
    return 0;
}

void sandbox_output_text(struct sandbox *s, size_t max, struct buf *out)
{
    const char *value = s->last_value ? s->last_value : "";
    size_t value_len = strlen(value), half = max / 2;

    /* The value gets at most half of the room, so that it cannot displace what was printed. */
    if (value_len > half && s->output.bytes > 0)
        value_len = utf8_cut(value, value_len, half);
    else if (value_len > max)
        value_len = utf8_cut(value, value_len, max);
    output_text(&s->output, value_len + 1 < max ? max - value_len - (value_len > 0) : 0, out);
    if (value_len == 0)
        return;
    bool newline = out->len > 0 && buf_last(out) != '\n';
    if (newline)
        buf_addch(out, '\n');
    buf_add(out, value, value_len);
    if (value_len < strlen(value))
        buf_addstr(out, "...");
}
