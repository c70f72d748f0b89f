/* check_inside.c - read the findings of guest/walls.py, line by line. They are untrusted text, and a wall
 * that they do not mention does not stand.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/size.h"
#include "channel/guest.h"
#include "sandbox/private.h"

#define LINES_MAX 64

struct limits_seen {
    double memory, each, pids, cpus, data; /* the smallest value seen of each; INFINITY: none was seen */
};

static const char *const walls[] = {"network", "user", "files", "processes"};

/* Our own namespaces, for the code inside to compare with its own. */
static void add_here(struct buf *out)
{
    static const char *const kinds[] = {"net", "pid", "mnt", "user"};
    char path[32], id[64];

    buf_addstr(out, "HERE = {");
    for (size_t i = 0; i < countof(kinds); i++) {
        snprintf(path, sizeof path, "/proc/self/ns/%s", kinds[i]);
        ssize_t n = readlink(path, id, sizeof id - 1);
        if (n > 0)
            buf_addf(out, "'%s': '%.*s', ", kinds[i], (int)n, id);
    }
    buf_addstr(out, "}\n");
}

static void take_number(struct limits_seen *seen, const char *line)
{
    const struct {
        const char *word;
        double *at;
    } rows[] = {
        {"memory ", &seen->memory}, {"each ", &seen->each}, {"pids ", &seen->pids},
        {"cpus ", &seen->cpus},     {"data ", &seen->data},
    };
    double value;

    for (size_t i = 0; i < countof(rows); i++)
        if (!strncmp(line, rows[i].word, strlen(rows[i].word))
            && sscanf(line + strlen(rows[i].word), "%lf", &value) == 1 && value > 0 && value < *rows[i].at)
            *rows[i].at = value;
}

/* Add "WALL what was seen" to into. Returns the wall's bit, or 0. */
static unsigned take_wall(struct argv *into, const char *line)
{
    for (size_t i = 0; i < countof(walls); i++) {
        size_t len = strlen(walls[i]);

        if (!strncmp(line, walls[i], len) && line[len] == ' ') {
            argv_pushf(into, "%.300s", line + len + 1);
            return 1u << i;
        }
    }
    return 0;
}

/* A control group cannot be seen from inside; our own part on that machine has made it. */
static void add_held_there(const struct sandbox_options *o, const struct engine_run *run,
                           struct limits_seen *seen)
{
    const struct engine_facts facts = engine_facts(run);

    if (facts.inside && facts.holds_memory)
        seen->memory = fmin(seen->memory, (double)o->run.memory);
    if (facts.inside && facts.holds_pids)
        seen->pids = fmin(seen->pids, o->run.pids);
    if (facts.inside && facts.holds_cpu)
        seen->cpus = fmin(seen->cpus, o->run.cpus);
}

static void tell_limits(const struct sandbox_options *o, const struct limits_seen *seen,
                        struct sandbox_check *c)
{
    if (seen->memory <= (double)o->run.memory)
        argv_pushf(&c->holds, "memory %s", size_text((int64_t)seen->memory).text);
    else if (seen->each <= (double)o->run.memory)
        argv_pushf(&c->holds, "memory %s per process", size_text((int64_t)seen->each).text);
    else
        argv_push(&c->weaker, "memory: no limit was seen from inside");
    /* includes what the supervisor and other processes of that uid need */
    if (seen->pids < INFINITY)
        argv_pushf(&c->holds, "%.0f processes", seen->pids);
    else
        argv_push(&c->weaker, "processes: no limit was seen from inside");
    if (seen->cpus < INFINITY)
        argv_pushf(&c->holds, "%g CPU%s", seen->cpus, seen->cpus == 1 ? "" : "s");
    else
        argv_push(&c->weaker, "CPU time: no limit was seen from inside");
    if (seen->data <= 1.01 * (double)o->run.data_size)
        argv_pushf(&c->holds, "%s in /mnt/data", size_text((int64_t)seen->data).text);
    else
        argv_pushf(&c->weaker, "/mnt/data: its size is not limited to %s", size_text(o->run.data_size).text);
    argv_pushf(&c->holds, "%d files (counted after each run)", o->run.data_files);
    argv_pushf(&c->holds, "%d s a run", o->cell_ms / 1000);
}

void check_inside(struct sandbox *s, const struct sandbox_options *limits, struct sandbox_check *c)
{
    struct buf source autorelease(buf_release) = BUF_INIT(0), module autorelease(buf_release) = BUF_INIT(0);
    struct buf found autorelease(buf_release) = BUF_INIT(0);
    struct limits_seen seen = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    struct error err = {0};
    unsigned stand = 0, open = 0;
    size_t lines = 0;

    add_here(&source);
    if (s->o.run.mounts && s->o.run.mounts->n)
        buf_addstr(&source, "HERE['mounts'] = '" MOUNTS_DIR "/'\n");
    guest_walls(buf_str(&source), &module);
    struct helper h = {.name = "the isolation", .module = &module};
    if (sandbox_help(s, &h, &found, &err) < 0)
        argv_push(&c->open, err.text);
    for (const char *p = buf_str(&found); *p && lines < LINES_MAX; p += *p == '\n', lines++) {
        autofree char *raw = xmemdup0(p, strcspn(p, "\n"));
        autofree char *line = scrub_line(raw, SCRUB_TERMINAL);

        p += strcspn(p, "\n");
        if (*line == '+')
            stand |= take_wall(&c->walls, line + 1);
        else if (*line == '-')
            open |= take_wall(&c->open, line + 1);
        else if (*line == '=')
            take_number(&seen, line + 1);
        else if (*line == '~')
            argv_pushf(&c->weaker, "%.300s", line + 1);
    }
    for (size_t i = 0; i < countof(walls) && !err.kind; i++)
        if (!((stand | open) & 1u << i))
            argv_pushf(&c->open, "%s: nothing was seen", walls[i]);
    c->contained = stand == (1u << countof(walls)) - 1 && !open;
    if (limits)
        add_held_there(limits, s->run, &seen);
    if (limits)
        tell_limits(limits, &seen, c);
}
