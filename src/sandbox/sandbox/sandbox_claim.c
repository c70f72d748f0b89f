/* sandbox_claim.c - takes the name of a sandbox for this program, and compares what the user asked for with
 * the sandbox that has the name.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "records/record.h"
#include "sandbox/private.h"

int sandbox_name_check(const char *name, struct error *err)
{
    return registry_check_name(name, err);
}

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
        struct short_text has, asked;

        if (!(o->asked & rows[i].bit) || (rows[i].has >= rows[i].asked && rows[i].has <= rows[i].asked))
            continue;
        if (rows[i].bytes) {
            has = size_text((int64_t)rows[i].has);
            asked = size_text((int64_t)rows[i].asked);
        } else {
            snprintf(has.text, sizeof has.text, "%g", rows[i].has);
            snprintf(asked.text, sizeof asked.text, "%g", rows[i].asked);
        }
        buf_addf(out, "%s%s %s (you asked for %s)", out->len ? ", " : "", rows[i].what, has.text, asked.text);
    }
    if ((o->asked & ENGINE_ASKED_IMAGE) && r->image && strcmp(o->image, r->image) != 0)
        buf_addf(other, "%simage %s (you asked for %s)", other->len ? ", " : "", r->image, o->image);
}

/* What runs has the engine, image and limits that it was started with. A wish that it cannot fulfil is
 * refused; one that merely differs is told when it is up. */
static int adopt(struct sandbox *s, const struct record *r, struct error *err)
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
    const char *which = engine_restricts(&s->o.run, r->holds_cpu ? 0 : ENGINE_ASKED_CPUS);
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
    if (other.len > 0)
        s->kept_limits = xasprintf(
            "the sandbox \"%s\" keeps the limits it was started with: %s; sandpiper rm %s removes it",
            s->o.run.name, buf_str(&other), s->o.run.name);
    s->o.run.memory = r->memory;
    s->o.run.cpus = r->cpus;
    s->o.run.pids = (int)r->pids;
    s->o.run.data_size = r->data_size;
    if (!s->o.run.mounts || !s->o.run.mounts->n)
        s->o.run.mounts = &s->known_mounts;
    snprintf(s->engine, sizeof s->engine, "%s", r->engine);
    s->image = xstrdup(r->image);
    return 0;
}

/* A full disk does not matter for an existing sandbox: nothing need be written to find it. */
static bool is_full(const struct error *err)
{
    return err->kind == ERROR_SYSTEM && (err->code == ENOSPC || err->code == EDQUOT || err->code == EROFS);
}

int sandbox_claim(struct sandbox *s, struct error *err)
{
    struct record r autorelease(record_release) = {0};
    int status = 0;

    if (!s->o.run.name || s->hold.name)
        return 0;
    if (registry_take(&s->hold, s->o.run.name, err) < 0) {
        if (is_full(err) && !registry_exists(s->o.run.name)) {
            engine_notice(&s->o.run, false,
                          "the sandbox \"%s\" is new and cannot be kept: %s; it ends with this session",
                          s->o.run.name, err->text);
            s->o.run.name = NULL;
            return 0;
        }
        if (err->kind == ERROR_SYSTEM) /* as for any other start */
            err->kind = ERROR_SANDBOX;
        return -1;
    }
    enum registry_state state = registry_look(&s->hold, &r);
    if (state == REGISTRY_UNSEEN)
        status = named_tell_unseen(s->o.run.name, err);
    else if (state == REGISTRY_ALIVE)
        status = adopt(s, &r, err);
    if (status < 0)
        registry_release(&s->hold);
    return status;
}
