/* sandbox_named.c - attaches to the sandbox that has our name, or sees to it that a new one outlives us. It
 * also tells the user what was lost since the last program, and what is still there.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "records/owner.h"
#include "records/record.h"
#include "sandbox/private.h"

static void tell_ended(struct sandbox *s, const struct record *r)
{
    int64_t now = (int64_t)time(NULL);
    char how[64] = "it was removed or died";

    if (r->owner && owner_check(r->owner) == OWNER_BEFORE_BOOT)
        snprintf(how, sizeof how, "the machine was restarted");
    else if (s->hold.used > 0 && r->idle > 0 && now - s->hold.used >= r->idle)
        snprintf(how, sizeof how, "idle for %lld %s", (long long)(r->idle >= 120 ? r->idle / 60 : r->idle),
                 r->idle >= 120 ? "min" : "s");
    engine_notice(&s->o.run, false,
                  "the sandbox \"%s\" had ended (%s): its variables and files are gone; starting a new one",
                  s->o.run.name, how);
    s->told_named = true;
}

/* Send that we keep this sandbox, how long it is to live after us, and how much we accept of the files
 * that the code makes. */
static void send_keep(struct sandbox *s)
{
    struct buf body autorelease(buf_release) = BUF_INIT(256);

    tagged_add_int(&body, 'v', 1);
    tagged_add_int(&body, 'i', s->o.run.idle_ms / 1000);
    tagged_add_int(&body, 'f', s->o.max_file);
    tagged_add_int(&body, 't', sandbox_most_delivered(&s->o));
    channel_send(s->channel, &(struct frame_out){.type = TO_GUEST_KEEP, .body = {body.data, body.len}});
}

static void named_fail(struct sandbox *s, const struct error *err)
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
        named_tell_unseen(s->o.run.name, &s->error);
        s->stage = STAGE_FAILED;
        return true;
    }
    if (state == REGISTRY_NEW) {
        if (!s->told_named)
            engine_notice(&s->o.run, s->o.name_is_ours, "the sandbox \"%s\" is new: no variables, no files",
                          s->o.run.name);
        s->told_named = true;
        return false;
    }
    s->run = engine_attach(&s->o.run, s->loop, &r, &err);
    if (!s->run && alive) {
        named_fail(s, &err);
        return true;
    }
    bool up = alive && engine_connect(s->run) == 0;
    /* It has ended only if nobody listens any more. Otherwise the fault may be on our side: it is stopped
     * and its queue is full, or we have no descriptor left. */
    if (alive && !up && errno != ECONNREFUSED && errno != ENOENT) {
        error_errno(&err, "it is running, but cannot be reached");
        engine_detach(steal(&s->run));
        named_fail(s, &err);
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
    send_keep(s);
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

void named_silent(struct sandbox *s)
{
    struct record r autorelease(record_release) = {0};
    enum registry_state state = registry_look(&s->hold, &r);

    channel_free(steal(&s->channel));
    if (state == REGISTRY_UNSEEN) {
        named_tell_unseen(s->o.run.name, &s->error);
        engine_detach(steal(&s->run));
        s->stage = STAGE_FAILED;
        return;
    }
    if (!engine_end(steal(&s->run)) && r.engine) {
        named_tell_left(&r, s->o.run.name, &s->error);
        s->stage = STAGE_FAILED;
        return;
    }
    registry_forget(&s->hold);
    engine_notice(&s->o.run, false,
                  "the sandbox \"%s\" did not answer and was removed: its variables and files are gone; "
                  "starting a new one",
                  s->o.run.name);
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
    named_fail(s, &err);
}

/* ---- it is up ---- */

void named_keep(struct sandbox *s)
{
    struct error err = {0};
    const char *dir = engine_disown(s->run, &err);

    if (dir && registry_store(&s->hold, dir, &err) == 0) {
        s->kept = true;
        engine_keep(s->run);
        send_keep(s);
        return;
    }
    engine_notice(&s->o.run, false, "the sandbox \"%s\" cannot be kept: %s; it ends with this session",
                  s->o.run.name, err.text);
}

static void resume(struct sandbox *s, const struct earlier_program *e)
{
    const char *how = e->unfinished
                          ? "the previous session ended while its code ran, and the code had to be killed"
                          : "Python died between sessions";

    s->cells = e->cells;
    s->touched = e->cells > 0 && (!e->died || e->restored);
    s->has_files = true; /* for all we know */
    if (s->kept_limits)
        engine_notice(&s->o.run, false, "%s", s->kept_limits);
    free(steal(&s->kept_limits));
    if (e->died && e->restored) {
        autofree char *from = sandbox_snapshot_age(e->behind, "that");

        engine_notice(&s->o.run, false, "the sandbox \"%s\": %s; variables are those from before %s",
                      s->o.run.name, how, from);
    } else if (e->died) {
        s->lost_state = true;
        snprintf(s->lost_why, sizeof s->lost_why, "%s", how);
        engine_notice(&s->o.run, false, "the sandbox \"%s\": %s; variables are gone, files are kept",
                      s->o.run.name, s->lost_why);
    } else if (e->unfinished) {
        engine_notice(&s->o.run, false,
                      "the sandbox \"%s\": the previous session ended while its code ran; the code was "
                      "interrupted, variables are as it left them",
                      s->o.run.name);
    } else if (!s->told_named) {
        engine_notice(&s->o.run, true, "the sandbox \"%s\" continues: %s, %u cell%s so far", s->o.run.name,
                      s->engine, e->cells, e->cells == 1 ? "" : "s");
    }
    s->told_named = true;
}

void named_greeted(struct sandbox *s, const struct earlier_program *e)
{
    if (s->taken)
        resume(s, e);
    else if (!s->keep_later)
        named_keep(s);
}

void sandbox_set_idle(struct sandbox *s, int64_t ms)
{
    s->o.run.idle_ms = ms;
    if (s->kept && s->stage == STAGE_READY)
        send_keep(s);
}
