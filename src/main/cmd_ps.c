/* cmd_ps.c - "sandpiper ps": lists the named sandboxes, one per line or as JSON objects. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "json/json.h"
#include "base/mem.h"
#include "base/size.h"
#include "main/command.h"
#include "mount/mount.h"
#include "sandbox/sandbox.h"

struct ps {
    bool json;
    struct buf *out;
};

static struct short_text age_text(int64_t seconds)
{
    struct short_text out;

    if (seconds < 0)
        seconds = 0;
    if (seconds < 120)
        snprintf(out.text, sizeof out.text, "%d s", (int)seconds);
    else if (seconds < 120 * 60)
        snprintf(out.text, sizeof out.text, "%d min", (int)(seconds / 60));
    else
        snprintf(out.text, sizeof out.text, "%d h", (int)(seconds / 3600));
    return out;
}

/* As the event of a sandbox has them (docs/events.schema.json). */
static struct json *mounts_json(const struct mounts *m)
{
    struct json *out = json_array();

    for (size_t i = 0; i < m->n; i++)
        json_add(out,
                 json_object_of({"path", json_string(m->v[i].path)}, {"inside", json_string(m->v[i].inside)},
                                {"writable", json_boolean(m->v[i].write)}));
    return out;
}

static void print_sandbox_json(struct ps *p, const struct sandbox_info *s)
{
    autojson struct json *o = json_object_of(
        {"name", json_string(s->name)}, {"engine", json_string(s->engine)}, {"image", json_string(s->image)},
        {"state", json_string(s->holder   ? "held"
                              : s->silent ? "silent"
                                          : "idle")},
        {"holder", s->holder > 0 ? json_integer(s->holder) : json_null()}, {"since", json_integer(s->since)},
        {"created", json_integer(s->created)}, {"idle_limit", json_integer(s->idle)},
        {"memory", s->memory_used >= 0 ? json_integer(s->memory_used) : json_null()},
        {"memory_limit", s->memory >= 0 ? json_integer(s->memory) : json_null()},
        {"mounts", mounts_json(s->mounts)});
    json_line(o, p->out);
}

static void add_sandbox_line(void *ctx, const struct sandbox_info *s)
{
    struct ps *p = ctx;
    struct short_text idle = {"-"}, memory = {"-"}, ends = {"-"};
    char state[40] = "idle";
    int64_t now = (int64_t)time(NULL);

    if (p->json) {
        print_sandbox_json(p, s);
        return;
    }
    if (s->memory_used >= 0)
        snprintf(memory.text, sizeof memory.text, "%lld MiB", (long long)(s->memory_used >> 20));
    if (s->holder > 0) {
        snprintf(state, sizeof state, "in use by %ld", s->holder);
    } else if (s->holder < 0) {
        snprintf(state, sizeof state, "held");
    } else {
        if (s->silent)
            snprintf(state, sizeof state, "no answer");
        if (s->since > 0) { /* a full disk may have kept it from being written */
            idle = age_text(now - s->since);
            ends = age_text(s->since + s->idle - now);
        }
    }
    if (p->out->len == 0)
        buf_addf(p->out, "%-20s %-8s %-16s %-8s %-8s %-8s %s\n", "NAME", "ENGINE", "STATE", "AGE", "IDLE",
                 "ENDS IN", "MEMORY");
    buf_addf(p->out, "%-20s %-8s %-16s %-8s %-8s %-8s %s\n", s->name, *s->engine ? s->engine : "-", state,
             age_text(now - s->created).text, idle.text, ends.text, memory.text);
    for (size_t i = 0; i < s->mounts->n; i++) {
        autofree char *line = mount_line(&s->mounts->v[i]);

        buf_addf(p->out, "  %s\n", line);
    }
}

int cmd_ps(struct config *c, int closed)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    struct ps p = {.json = c->json, .out = &out};

    (void)closed;
    print_notices(c);
    sandbox_list(add_sandbox_line, &p);
    if (out.len == 0 && !p.json)
        buf_addstr(&out, "no named sandboxes (sandpiper --sandbox-name NAME creates one)\n");
    return !out.len ? 0 : (p.json ? print_json : print_out)(buf_str(&out), out.len);
}
