/* with.c - finds out which Python the sandbox has, gets the packages for it, and opens their folder. */
#include "ask/with.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "config/config.h"
#include "config/prompt_file.h"
#include "engine/engine.h"
#include "engine/engine_cache.h"
#include "engine/engines.h"
#include "sandbox/sandbox.h"

#define TOLD_MAX (256 * 1024) /* bytes that the code inside may print */

void with_release(struct with *w)
{
    while (w->added) {
        struct with *one = w->added;

        w->added = one->added;
        one->added = NULL;
        with_release(one);
        free(one);
    }
    argv_release(&w->wanted);
    packages_set_release(&w->set);
    mount_release(&w->mount);
    *w = WITH_INIT;
}

/* ---- the Python inside ---- */

static void add_stat(struct buf *out, const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0)
        buf_addf(out, " %llu %lld.%09ld", (unsigned long long)st.st_ino, (long long)st.st_mtim.tv_sec,
                 st.st_mtim.tv_nsec);
}

/* What tells this Python from another: the engine, its image, and for bwrap this machine's own packages. */
static void name_python(const struct sandbox_options *o, char out[SHA256_HEX])
{
    struct engine_cached known autorelease(engine_cache_release) = {0};
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    engine_from_cache(&o->run, &known);
    buf_addf(&text, "2 %s %s %s %s", o->run.engine, known.engine ? known.engine : "-", o->run.image,
             o->run.runtime ? o->run.runtime : "-");
    /* what the last start saw inside: the image of that name may be a new one */
    buf_addf(&text, " %s %s", known.python ? known.python : "-", known.packages ? known.packages : "-");
    add_stat(&text, "/usr/bin/python3");
    add_stat(&text, "/usr/lib/python3/dist-packages");
    sha256_hex(buf_str(&text), text.len, out);
}

static void keep_told(void *ctx, int stream, const char *text, size_t len)
{
    if (stream == 1)
        buf_add(ctx, text, len);
}

/* A sandbox for one piece of our own code, of which nobody hears. */
static void make_plain(struct sandbox_options *o)
{
    o->run.name = NULL;
    o->run.mounts = NULL;
    o->network = o->hosts = NULL;
    o->run.snapshots = false;
    o->run.program = true;
    o->session_dir = o->out_dir = NULL;
    o->up = NULL;
    o->terminal = NULL;
}

/* Ask a sandbox of that kind, in which nothing else runs. */
static int ask_python(const struct with_ask *ask, const struct sandbox_options *o, struct buf *told,
                      struct error *err)
{
    struct sandbox_options plain = *o;
    struct cell_result r autorelease(cell_result_release) = {0};
    const struct cell_listener l = {.ctx = told, .output = keep_told};
    const char *code = packages_python_code();

    make_plain(&plain);
    struct sandbox *s = sandbox_new(&plain, ask->loop);
    int rc = sandbox_run(s, code, strlen(code), &l, &r, err);
    sandbox_free(s);
    return rc < 0 ? -1 : 0;
}

static int find_inside_python(const struct with_ask *ask, const struct sandbox_options *o,
                              struct packages_python *p, struct error *err)
{
    struct buf told autorelease(buf_release) = BUF_INIT(TOLD_MAX);
    char key[SHA256_HEX];

    name_python(o, key);
    if (packages_python_recall(key, p))
        return 0;
    if (ask_python(ask, o, &told, err) < 0 || packages_python_read(p, buf_str(&told), err) < 0)
        return -1;
    name_python(o, key); /* now it is known which engine that was */
    packages_python_keep(key, buf_str(&told));
    return 0;
}

/* ---- compiled in a sandbox of that kind: Python's compiler reads a stranger's text ---- */

struct with_work {
    const struct with_ask *ask;
    const struct sandbox_options *o;
};

static void tell_with(void *work, bool detail, const char *line)
{
    const struct with_work *w = work;

    if (w->ask->notice)
        w->ask->notice(w->ask->ctx, detail, line);
}

static bool allow_with(void *work, const char *what)
{
    const struct with_work *w = work;

    return w->ask->allow(w->ask->ctx, what);
}

/* Who is not root could not remove what another uid has made. */
static bool can_own(const struct sandbox_options *o)
{
    struct engine_cached known autorelease(engine_cache_release) = {0};
    const struct engine *e = engine_from_cache(&o->run, &known) ? engines_find(known.engine) : NULL;

    return e && e->mounts && (geteuid() == 0 || (e->users_uid && e->host_python));
}

/* What cannot be compiled stays as it is. */
static void compile_inside(void *work, const char *folder)
{
    static const char code[] = "import compileall, py_compile\n"
                               "compileall.compile_dir('" MOUNT_PACKAGES "', quiet=2, force=True,\n"
                               "    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)\n";
    const struct with_work *w = work;
    struct sandbox_options o = *w->o;
    struct mount m = {.fd = -1};
    struct cell_result r autorelease(cell_result_release) = {0};
    struct error err;

    if (!can_own(&o) || mount_packages(&m, folder, &err) < 0)
        return;
    m.write = true;
    make_plain(&o);
    o.run.packages = &m;
    struct sandbox *s = sandbox_new(&o, w->ask->loop);
    if (sandbox_run(s, code, strlen(code), NULL, &r, &err) < 0 || r.status != CELL_OK)
        tell_with(work, true, "Packages: they could not be compiled; each import takes a little longer");
    sandbox_free(s);
    mount_release(&m);
}

/* ---- what is asked for ---- */

static int want_for_agent(void *wanted, const char *agent, const char *with, struct error *err)
{
    autofree char *where = xasprintf("with: of the agent %.60s", agent);

    return packages_want(wanted, where, with, err);
}

static int collect_wanted(const struct with_ask *ask, struct argv *wanted, struct error *err)
{
    const struct config *c = ask->c;

    if (ask->agents && pipeline_packages(c->agents, want_for_agent, wanted, err) < 0)
        return -1;
    for (size_t i = 0; i < c->with.n; i++)
        if (packages_want(wanted, "--with", c->with.v[i], err) < 0)
            return -1;
    return c->requirements ? packages_want_file(wanted, c->requirements, err) : 0;
}

static int get_wanted(struct with *w, const struct with_ask *ask, const char *has, struct sandbox_options *o,
                      struct error *err)
{
    struct packages_python python autorelease(packages_python_release) = {0};

    if (find_inside_python(ask, o, &python, err) < 0)
        return -1;
    packages_python_add(&python, has);
    struct with_work work = {ask, o};
    const struct packages_ask get = {.wanted = &w->wanted,
                                     .python = &python,
                                     .cooldown_ms = ask->c->cooldown,
                                     .loop = ask->loop,
                                     .notice = tell_with,
                                     .allow = ask->allow ? allow_with : NULL,
                                     .compile = compile_inside,
                                     .ctx = &work};
    if (packages_get(&get, &w->set, err) < 0 || mount_packages(&w->mount, w->set.folder, err) < 0)
        return -1;
    w->any = true;
    o->run.packages = &w->mount;
    o->with = w->set.names;
    o->with_lock = w->set.lock;
    snprintf(w->python, sizeof w->python, "%s", python.version);
    o->with_python = w->python;
    return 0;
}

/* An engine that mounts nothing gets them as files in /tmp, with room for them: each in whole blocks. */
static void give_room(const struct with *w, struct sandbox_options *o)
{
    const struct engine *e = engines_find(o->run.engine);
    int64_t room = w->set.bytes * 3 / 2, most = o->run.memory / 2;

    if (e && !e->mounts && o->run.tmp_size < room)
        o->run.tmp_size = room < most ? room : most > o->run.tmp_size ? most : o->run.tmp_size;
}

int with_get(struct with *w, const struct with_ask *ask, struct sandbox_options *o, struct error *err)
{
    if (!ask->alone && collect_wanted(ask, &w->wanted, err) < 0)
        return -1;
    if (!w->wanted.n)
        return 0;
    if (get_wanted(w, ask, "", o, err) < 0)
        return -1;
    give_room(w, o);
    return 0;
}

/* There is room for one folder that is mounted: all that the sandbox was given is in it, as it is locked. */
static int get_all(struct with *w, const struct with_ask *ask, struct sandbox *s, const char *lock,
                   struct error *err)
{
    struct sandbox_options o = *sandbox_options(s);
    struct packages_python python autorelease(packages_python_release) = {0};
    struct argv lines autorelease(argv_release) = ARGV_INIT;
    struct with_work work = {ask, &o};
    const struct packages_ask get = {.wanted = &lines,
                                     .python = &python,
                                     .cooldown_ms = ask->c->cooldown,
                                     .loop = ask->loop,
                                     .notice = tell_with,
                                     .compile = compile_inside,
                                     .ctx = &work};

    autofree char *names = steal(&w->set.names); /* what was asked for now */
    packages_set_release(&w->set);
    mount_release(&w->mount);
    if (find_inside_python(ask, &o, &python, err) < 0
        || packages_want_lock(&lines, "the packages", lock, err) < 0 || packages_get(&get, &w->set, err) < 0)
        return -1;
    xreplace(&w->set.names, steal(&names));
    return mount_packages(&w->mount, w->set.folder, err);
}

static int mount_all(struct with *w, const struct with_ask *ask, struct sandbox *s, const char *names,
                     const char *lock, struct error *err)
{
    const char *had = sandbox_options(s)->with_lock;

    if (had && *had && get_all(w, ask, s, lock, err) < 0)
        return -1;
    if (ask->notice)
        ask->notice(ask->ctx, false,
                    "Packages: starting the sandbox again with them; variables and files are kept");
    return sandbox_mount_packages(s, &w->mount, names, lock, err);
}

/* What was added before counts as installed: it stays at its version. */
const struct packages_set *with_add(struct with *w, const struct with_ask *ask, struct sandbox *s,
                                    const struct argv *wanted, struct error *err)
{
    const struct sandbox_options *now = sandbox_options(s);
    struct sandbox_options o = *now;
    struct with *one = xcalloc(1, sizeof *one);

    *one = WITH_INIT;
    for (size_t i = 0; i < wanted->n; i++)
        argv_push(&one->wanted, wanted->v[i]);
    if (get_wanted(one, ask, now->with_lock, &o, err) == 0) {
        autofree char *names = packages_names_join(now->with, one->set.names),
                      *lock = packages_lock_join(now->with_lock, one->set.lock);

        if (sandbox_add_packages(s, one->set.n ? one->set.folder : NULL, names, lock, err) == 0
            || (ask->restarts && err->code == ENOSPC && mount_all(one, ask, s, names, lock, err) == 0)) {
            one->added = w->added;
            w->added = one;
            return &one->set;
        }
    }
    with_release(one);
    free(one);
    return NULL;
}
