/* check.c - what an engine really does on this machine, for "sandpiper doctor": a real start, one cell, and
 * the limits as the kernel reports them. Claims nothing that was not seen.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/size.h"
#include "engine/client.h"
#include "engine/engines.h"
#include "engine/plan.h"
#include "limits/cgroup.h"
#include "process/child.h"
#include "process/loop.h"
#include "sandbox/private.h"

/* CVE-2025-31133, -52565 and -52881 are fixed in 1.2.8, 1.3.3 and 1.4.0 and later. */
static bool runc_is_old(const char *version)
{
    unsigned v[3] = {0};

    if (sscanf(version, "%u.%u.%u", &v[0], &v[1], &v[2]) < 2 || v[0] != 1)
        return false;
    return v[1] < 2 || (v[1] == 2 && v[2] < 8) || (v[1] == 3 && v[2] < 3)
           || (v[1] == 4 && v[2] == 0 && strstr(version, "-rc"));
}

/* What a client prints on stdout, or NULL. The caller frees. */
static char *client_says(struct argv *argv)
{
    struct child *c = client_command(argv, (struct child_watch){0});
    char *text = child_wait(c, CLIENT_MS) && child_ok(c) ? xstrdup(buf_str(&c->out_text)) : NULL;

    child_free(c);
    return text;
}

static void check_runc(const struct engine *engine, const char *runtime, struct sandbox_check *out)
{
    struct argv argv = ARGV_INIT;
    const char *mark = "runc version ";

    if (engine->runc_version)
        engine->runc_version(runtime, &argv);
    if (argv.n == 0)
        return;
    autofree char *text = client_says(&argv);
    const char *p = text ? strstr(text, mark) : NULL;
    if (!p)
        return;
    autofree char *version = xmemdup0(p + strlen(mark), strcspn(p + strlen(mark), " \n"));
    autofree char *shown = scrub_line(version, SCRUB_TERMINAL);
    if (runc_is_old(version))
        argv_pushf(&out->weaker,
                   "runc %.40s is outdated (CVE-2025-31133, -52565, -52881; not exploitable as used here). "
                   "Update: sudo apt install --only-upgrade runc",
                   shown);
}

static void check_limits(const struct sandbox_options *o, const struct engine_facts *run,
                         struct sandbox_check *out)
{
    const struct engine *engine = engines_find(run->name);
    struct cgroup_limits held = {0};

    if (run->peer > 0)
        cgroup_limits_of(NULL, run->peer, &held);
    if (held.memory > 0 && held.memory <= o->run.memory)
        argv_pushf(&out->holds, "memory %s", size_text(held.memory).text);
    else if (run->holds_memory) /* so it says */
        argv_pushf(&out->weaker,
                   run->peer > 0 ? "memory: no limit for the whole sandbox"
                                 : "the limits of %s cannot be seen from here",
                   engine->name);
    /* If no control group counts processes, the supervisor's own limit in the user namespace does. */
    argv_pushf(&out->holds, "%d processes",
               held.pids > 0 && held.pids < run->given->pids ? held.pids : run->given->pids);
    if (held.cpus > 0)
        argv_pushf(&out->holds, "%g CPU%s", held.cpus, held.cpus == 1 ? "" : "s");
    argv_pushf(&out->holds, "%s in /mnt/data", size_text(o->run.data_size).text);
    if (engine->holds_files && !runtime_is_gvisor(run->runtime))
        argv_pushf(&out->holds, "%d files", o->run.data_files);
    else
        argv_pushf(&out->holds, "%d files (counted after each run)", o->run.data_files);
    argv_pushf(&out->holds, "%d s a run", o->cell_ms / 1000);
    for (const char *line = run->fewer; *line; line += strcspn(line, "\n"), line += *line == '\n')
        argv_pushf(&out->weaker, "%.*s", (int)strcspn(line, "\n"), line);
    if (run->weakness)
        argv_push(&out->weaker, run->weakness);
}

static int first_cell(struct sandbox *s, struct error *err)
{
    struct cell_result r = {0};

    if (sandbox_run(s, "6 * 7", 5, NULL, &r, err) < 0)
        return -1;
    bool right = r.status == CELL_OK && r.value && !strcmp(r.value, "42");
    if (!right)
        error_set(err, ERROR_SANDBOX, 0,
                  "%s starts, but code does not run: %.300s\n"
                  "is it short of memory or processes? try --memory 1g --pids 128",
                  s->o.run.engine,
                  r.what        ? r.what
                  : r.exception ? r.exception
                                : "wrong result");
    cell_result_release(&r);
    return right ? 0 : -1;
}

void sandbox_check(const struct sandbox_options *o, struct loop *loop, struct sandbox_check *out)
{
    struct sandbox_options silent = *o;
    int64_t begin = clock_ms();

    *out = (struct sandbox_check){0};
    silent.run.notice = NULL;
    struct sandbox *s = sandbox_new(&silent, loop);
    if (sandbox_wait(s, &out->err) == 0 && first_cell(s, &out->err) == 0) {
        out->works = true;
        out->seconds = (double)(clock_ms() - begin) / 1000;
        snprintf(out->python, sizeof out->python, "%s", s->python);
        out->packages = xstrdup(s->packages);
        const struct engine *engine = engines_find(s->engine);
        autofree char *runsc = child_find_program("runsc");
        out->gvisor = runsc && !o->run.runtime && engine->images;
        const struct engine_facts run = engine_facts(s->run);
        out->runtime = xstrdup(run.runtime);
        for (size_t i = 0; o->run.mounts && i < o->run.mounts->n; i++) {
            autofree char *line = mount_line(&o->run.mounts->v[i]);
            argv_push(&out->mounted, line);
        }
        check_inside(s, engine->custom ? o : NULL, out);
        if (!engine->custom)
            check_limits(o, &run, out);
        check_runc(engine, run.runtime, out);
    }
    sandbox_free(s);
}

void sandbox_check_release(struct sandbox_check *c)
{
    if (!c)
        return;
    free(c->packages);
    free(c->runtime);
    argv_release(&c->holds);
    argv_release(&c->weaker);
    argv_release(&c->mounted);
    argv_release(&c->walls);
    argv_release(&c->open);
}
