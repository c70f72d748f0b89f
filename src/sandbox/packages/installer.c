/* installer.c - finds uv or pip, and runs it. */
#include "packages/installer.h"

#include <errno.h>
#include <fts.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/place.h"
#include "base/size.h"
#include "packages/index.h"
#include "packages/lock.h"
#include "packages/packages.h"
#include "process/child.h"
#include "process/loop.h"
#include "process/signals.h"

#define TOOL_MS     (15 * 60 * 1000) /* for one run: torch is 800 MB */
#define GRACE_MS    2000
#define TOOL_MEMORY (4LL << 30)
#define TOOL_FILE   (8LL << 30) /* the largest wheels of today have 3 GB */
#define LOOK_MS     250
#define SAID_MAX    (64 * 1024)
/* What is fetched where no uv is there: a version that was old enough when this was written. It runs on this
 * machine, so it is what it was then, whatever index it comes from: Linux, x86-64 and arm64. */
#define UV_FETCHED                                                                              \
    "uv==0.13.9 --hash=sha256:d7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19" \
    " --hash=sha256:ecb6028d79dc96fbeafffe5c8af62a7099487ebc05a701e76714eebcffd06375"           \
    " --hash=sha256:5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe"           \
    " --hash=sha256:2c45530751517d6c3bbc69a19473f6effe47cce047bede01ffd8af7ea7b36b25\n"
#define UV_OLDEST 8 /* 0.8: the first that does all that is asked here */

/* ---- running it ---- */

struct run {
    const struct installer *t;
    struct argv argv, env;
};

static void run_release(struct run *r)
{
    argv_release(&r->argv);
    argv_release(&r->env);
}

static void run_begin(struct run *r, const struct installer *t)
{
    *r = (struct run){.t = t};
    index_environment(&r->env);
    argv_pushf(&r->env, "HOME=%s", t->scratch);
    argv_pushf(&r->env, "TMPDIR=%s", t->scratch);
    argv_pushf(&r->env, "UV_CACHE_DIR=%s/uv-cache", t->root);
    /* no links: what is mounted to be compiled would be what uv keeps for other sets */
    argv_pushl(&r->env, "UV_LINK_MODE=copy", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
               "UV_NO_PROGRESS=1", "NO_COLOR=1", "UV_PYTHON_DOWNLOADS=never",
               "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1", "PIP_NO_CACHE_DIR=1",
               "PYTHONNOUSERSITE=1", NULL);
}

static int set_limits_of_tool(void *ctx)
{
    const struct rlimit memory = {TOOL_MEMORY, TOOL_MEMORY}, file = {TOOL_FILE, TOOL_FILE};

    (void)ctx;
    umask(022); /* whoever runs the code inside has another uid, and is to read the files */
    /* an index may send without end */
    return setrlimit(RLIMIT_AS, &memory) != 0 || setrlimit(RLIMIT_FSIZE, &file) != 0 ? -1 : 0;
}

/* ---- how much it may write: a small wheel may unpack to more than the disk has ---- */

struct written {
    const struct installer *t;
    struct child *running;
    struct statvfs before;
    time_t began;
    bool over;
};

/* What is new below our folder; exact, but it takes its time. */
static bool wrote_too_much(const struct written *w)
{
    char *const roots[] = {(char *)w->t->root, NULL};
    FTS *f = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    int64_t bytes = 0, files = 0;

    for (FTSENT *e; f && bytes <= w->t->most_bytes && files <= w->t->most_files && (e = fts_read(f));) {
        bool counts = e->fts_info != FTS_DP && e->fts_statp->st_ctime >= w->began;

        files += counts;
        bytes += counts ? (int64_t)e->fts_statp->st_blocks * 512 : 0;
    }
    if (f)
        fts_close(f);
    return bytes > w->t->most_bytes || files > w->t->most_files;
}

/* The file system knows at once how much is less, whoever it was. */
static void look_at_written(void *ctx)
{
    struct written *w = ctx;
    uint64_t most_bytes = (uint64_t)w->t->most_bytes, most_files = (uint64_t)w->t->most_files;
    struct statvfs now;

    if (w->running && statvfs(w->t->root, &now) == 0
        && ((w->before.f_bfree > now.f_bfree && (w->before.f_bfree - now.f_bfree) * now.f_frsize > most_bytes)
            || (w->before.f_ffree > now.f_ffree && w->before.f_ffree - now.f_ffree > most_files))
        && wrote_too_much(w)) {
        w->over = true;
        child_kill(w->running, SIGKILL);
        return;
    }
    loop_timer(w->t->loop, clock_ms() + LOOK_MS, look_at_written, w);
}

static struct child *run_watched(struct written *w, struct child_options *o, struct error *err)
{
    bool watched = w->t->loop && statvfs(w->t->root, &w->before) == 0;

    o->running = &w->running;
    if (watched)
        look_at_written(w);
    struct child *c = child_run(o, err);
    if (watched)
        loop_timer_stop(w->t->loop, w);
    return c;
}

/* 0: it did; 1: it did not, t->said says why; -1: it could not be run. */
static int run_it(struct installer *t, struct run *r, struct error *err)
{
    struct written w = {.t = t, .began = time(NULL)};
    struct child_options o = {.argv = r->argv.v,
                              .env = r->env.v,
                              .cwd = t->scratch,
                              .in = CHILD_NULL,
                              .out = CHILD_KEPT,
                              .err = CHILD_KEPT,
                              .cap = SAID_MAX,
                              .deadline_ms = TOOL_MS,
                              .grace_ms = GRACE_MS,
                              .watch = {.loop = t->loop},
                              .die_with_parent = true,
                              .setup = set_limits_of_tool};
    struct child *c = run_watched(&w, &o, err);

    if (!c)
        return err->kind == ERROR_CANCELLED ? -1 : error_wrap(err, "%s", r->argv.v[0]);
    buf_clear(&t->said);
    buf_add(&t->said, buf_str(&c->err_text), c->err_text.len);
    if (!c->err_text.len)
        buf_add(&t->said, buf_str(&c->out_text), c->out_text.len);
    int status = child_ok(c) ? 0 : 1;
    if (c->timed_out)
        status = error_set(err, ERROR_NETWORK, 0, "the packages did not come within %d minutes",
                           TOOL_MS / 60000);
    if (w.over) {
        autofree char *unpacked = xasprintf("%s/uv-cache", t->root);

        file_remove_tree(unpacked); /* all of it: uv cannot say what is new */
        status = error_set(err, ERROR_SANDBOX, 0,
                           "the packages unpack to more than %s files or %s, so this was ended\n"
                           "Use an image with the packages: --image",
                           count_text(t->most_files).text, size_text(t->most_bytes).text);
    }
    child_free(c);
    return status;
}

/* ---- finding it ---- */

/* "uv 0.13.9 (...)": new enough? One that cannot be run is not. */
static bool is_usable(struct installer *t, const char *uv)
{
    struct run r autorelease(run_release);
    unsigned major = 0, minor = 0;
    struct error err = {0};

    run_begin(&r, t);
    argv_pushl(&r.argv, uv, "--version", NULL);
    return run_it(t, &r, &err) == 0 && sscanf(buf_str(&t->said), "uv %u.%u", &major, &minor) == 2
           && (major > 0 || minor >= UV_OLDEST);
}

static void tell_installer(const struct installer *t, bool detail, const char *line)
{
    if (t->notice)
        t->notice(t->ctx, detail, line);
}

/* Fetched by pip, once. False: it cannot be had. */
static bool fetch_uv(struct installer *t, const char *folder)
{
    struct run r autorelease(run_release);
    autofree char *fresh = xasprintf("%s/uv", t->scratch), *in = xasprintf("%s/uv.txt", t->scratch);
    struct error err = {0};

    tell_installer(t, false, "Packages: fetching uv, once");
    if (file_write_soon(in, UV_FETCHED, strlen(UV_FETCHED), &err) < 0)
        return false;
    run_begin(&r, t);
    argv_pushl(&r.argv, t->python, "-I", "-m", "pip", "install", "-q", "--only-binary", ":all:", "--no-deps",
               "--no-compile", "--require-hashes", "--target", fresh, "-r", in, NULL);
    if (run_it(t, &r, &err) != 0)
        return false;
    file_remove_tree(folder);
    return rename(fresh, folder) == 0;
}

static int find_python(struct installer *t, struct error *err)
{
    t->python = access("/usr/bin/python3", X_OK) == 0 ? xstrdup("/usr/bin/python3") : NULL;
    if (!t->python)
        t->python = child_find_program("python3");
    return t->python
               ? 0
               : error_set(err, ERROR_SANDBOX, ENOENT,
                           "no python3 on this machine, and uv and pip need one\n"
                           "Install it (apt install python3), or use an image with the packages: --image");
}

int installer_find(struct installer *t, struct error *err)
{
    autofree char *own = xasprintf("%s/uv", t->root), *own_uv = xasprintf("%s/bin/uv", own);
    char *found = child_find_program("uv");

    t->said = (struct buf)BUF_INIT(SAID_MAX);
    if (find_python(t, err) < 0) {
        free(found);
        return -1;
    }
    if (found && is_usable(t, found)) {
        t->uv = found;
        return 0;
    }
    free(found);
    if (is_usable(t, own_uv) || (fetch_uv(t, own) && is_usable(t, own_uv)))
        t->uv = steal(&own_uv);
    else if (t->loop && loop_cancelled(t->loop))
        return error_set(err, ERROR_CANCELLED, 0, "interrupted");
    else
        tell_installer(t, false,
                       "Packages: no uv here, and pip could not fetch it; pip is used, which is slower");
    return 0;
}

void installer_release(struct installer *t)
{
    free(t->uv);
    free(t->python);
    buf_release(&t->said);
}

/* ---- what is asked of it ---- */

static int write_lines(const char *path, const struct argv *lines, struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    for (size_t i = 0; i < lines->n; i++)
        buf_addf(&text, "%s\n", lines->v[i]);
    return file_write_soon(path, buf_str(&text), text.len, err);
}

static void push_before(struct argv *argv, const char *option, int64_t before)
{
    time_t at = (time_t)before;
    struct tm tm;
    char text[32];

    if (before && gmtime_r(&at, &tm) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm))
        argv_pushl(argv, option, text, NULL);
}

static void push_uv_target(struct argv *argv, const struct installer *t, const struct packages_python *p)
{
    argv_pushl(argv, "--no-build", "--no-python-downloads", "--python", t->python, "--python-version",
               p->version, "--python-platform", p->platform, NULL);
}

/* pip wants each platform that will do: those of this libc and all older ones. */
static void push_pip_target(struct argv *argv, const struct packages_python *p)
{
    unsigned minor = 0;
    const char *libc = strstr(p->platform, "-manylinux_2_");
    autofree char *machine = xmemdup0(p->platform, strcspn(p->platform, "-"));

    if (libc)
        sscanf(libc, "-manylinux_2_%u", &minor);
    argv_pushl(argv, "--only-binary", ":all:", "--implementation", "cp", "--python-version", p->version,
               NULL);
    for (unsigned m = minor; libc && m >= 5; m--)
        argv_option(argv, "--platform", "manylinux_2_%u_%s", m, machine);
    if (libc)
        argv_option(argv, "--platform", "manylinux2014_%s", machine);
    for (unsigned m = 2; !libc && m; m--)
        argv_option(argv, "--platform", "musllinux_1_%u_%s", m, machine);
}

static int read_lock(const char *path, bool pylock, struct lock *lock, struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(LOCK_BYTES);

    if (file_read(path, LOCK_BYTES, &text, err) < 0)
        return -1;
    /* these are for one machine, on which the conditions of what was wanted hold */
    int rc = pylock ? lock_read_pylock(lock, buf_str(&text), text.len, err)
                    : lock_read_report(lock, buf_str(&text), text.len, err);
    for (size_t i = 0; i < lock->n; i++)
        free(steal(&lock->v[i].marker));
    return rc < 0 ? error_wrap(err, "what %s resolved", pylock ? "uv" : "pip") : 0;
}

int installer_resolve(struct installer *t, const struct installer_question *q, struct lock *lock,
                      struct error *err)
{
    struct run r autorelease(run_release);
    autofree char *in = xasprintf("%s/wanted.txt", t->scratch),
                  *has = xasprintf("%s/installed.txt", t->scratch);
    autofree char *out = xasprintf("%s/%s", t->scratch, t->uv ? "pylock.toml" : "report.json");

    run_begin(&r, t);
    if (write_lines(in, q->wanted, err) < 0 || (q->installed && write_lines(has, q->installed, err) < 0))
        return -1;
    unlink(out);
    if (t->uv) {
        argv_pushl(&r.argv, t->uv, "pip", "compile", "-q", "--no-header", "--no-annotate", "--format",
                   "pylock.toml", "-o", out, NULL);
        push_uv_target(&r.argv, t, q->python);
        push_before(&r.argv, "--exclude-newer", q->before);
    } else {
        argv_pushl(&r.argv, t->python, "-I", "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed",
                   "--target", t->scratch, "--report", out, "-r", in, NULL);
        push_pip_target(&r.argv, q->python);
        push_before(&r.argv, "--uploaded-prior-to", q->before);
    }
    if (q->installed)
        argv_pushl(&r.argv, "-c", has, NULL);
    if (t->uv)
        argv_push(&r.argv, in);
    int rc = run_it(t, &r, err);
    return rc ? rc : read_lock(out, t->uv, lock, err);
}

static int install_lines(struct installer *t, const struct packages_python *p, const char *in,
                         const char *folder, bool offline, struct error *err)
{
    struct run r autorelease(run_release);

    run_begin(&r, t);
    if (t->uv) {
        argv_pushl(&r.argv, t->uv, "pip", "install", "-q", "--no-deps", "--require-hashes", "--target",
                   folder, "-r", in, NULL);
        push_uv_target(&r.argv, t, p);
        if (offline)
            argv_push(&r.argv, "--offline");
    } else {
        argv_pushl(&r.argv, t->python, "-I", "-m", "pip", "install", "-q", "--no-deps", "--require-hashes",
                   "--no-compile", "--target", folder, "-r", in, NULL);
        push_pip_target(&r.argv, p);
    }
    return run_it(t, &r, err);
}

int installer_install(struct installer *t, const struct packages_python *p, const char *lines,
                      const char *folder, struct error *err)
{
    autofree char *in = xasprintf("%s/lock.txt", t->scratch);
    int rc = 1;

    if (file_write_soon(in, lines, strlen(lines), err) < 0)
        return -1;
    if (t->uv && t->offline_first)
        rc = install_lines(t, p, in, folder, true, err);
    return rc == 1 ? install_lines(t, p, in, folder, false, err) : rc;
}
