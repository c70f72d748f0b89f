/* engine_place.h - a folder of the test's own for engines that are shell scripts, for records and for caches.
 * For tests that include it.
 */
#ifndef TESTS_ENGINE_PLACE_H
#define TESTS_ENGINE_PLACE_H

#include <sys/stat.h>
#include <unistd.h>

#include "../unit.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/engine.h"
#include "engine/options.h"
#include "process/loop.h"

struct place {
    char dir[64];
    char *path; /* what PATH was */
    struct loop *loop;
    struct engine_options o;
    struct buf notices;
    int told, status; /* done: how often, last answer */
    struct error err;
};

static inline void notice(void *ctx, bool detail, const char *line)
{
    struct place *p = ctx;

    buf_addf(&p->notices, "%s%s\n", detail ? "(detail) " : "", line);
}

static inline int set_up(void **state)
{
    struct place *p = xcalloc(1, sizeof *p);

    snprintf(p->dir, sizeof p->dir, "/tmp/sandpiper-test-XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    chmod(p->dir, 0755); /* bwrap as another uid must reach nothing here, but the kernel asks */
    p->path = xstrdup(getenv("PATH"));
    autofree char *run = xasprintf("%s/run", p->dir), *cache = xasprintf("%s/cache", p->dir);
    mkdir(run, 0700);
    setenv("XDG_RUNTIME_DIR", run, 1);
    setenv("XDG_CACHE_HOME", cache, 1);
    p->loop = loop_new();
    p->o = (struct engine_options){
        .engine = "auto",
        .image = "img:1",
        .memory = 512 << 20,
        .cpus = 1,
        .pids = 64,
        .data_size = 16 << 20,
        .data_files = 100,
        .tmp_size = 16 << 20,
        .file_size = 8 << 20,
        .open_files = 200,
        .notice = notice,
        .notice_ctx = p,
    };
    *state = p;
    return 0;
}

static inline int tear_down(void **state)
{
    struct place *p = *state;

    setenv("PATH", p->path, 1);
    loop_free(p->loop);
    file_remove_tree(p->dir);
    buf_release(&p->notices);
    free(p->path);
    free(p);
    return 0;
}

/* A program of this name is found, and from now on no other but such. */
static inline void fake(struct place *p, const char *name, const char *script)
{
    autofree char *bin = xasprintf("%s/bin", p->dir), *file = xasprintf("%s/%s", bin, name),
                  *text = xasprintf("#!/bin/sh\n%s\n", script);

    mkdir(bin, 0755);
    assert_int_equal(file_write(file, text, strlen(text), NULL), 0);
    assert_int_equal(chmod(file, 0755), 0);
    chmod(file, 0755);
    setenv("PATH", bin, 1);
}

static inline void done(void *ctx, int status, const struct error *err)
{
    struct place *p = ctx;

    p->told++;
    p->status = status;
    if (status != 0)
        p->err = *err;
}

static inline struct engine_run *begin(struct place *p, const char *guest)
{
    return engine_begin(&(struct engine_start){&p->o, p->loop, guest, NULL, done, p});
}

static inline void wait_told(struct place *p, int times)
{
    int64_t end = clock_ms() + 20000;

    while (p->told < times && clock_ms() < end)
        loop_wait(p->loop, 100);
    assert_int_equal(p->told, times);
}

static inline size_t entries(const char *dir)
{
    autofree char *command = xasprintf("%s/sandpiper", dir);
    struct stat st;

    if (stat(command, &st) != 0)
        return 0;
    return st.st_nlink - 2; /* directories only, which is all it holds */
}

static inline bool run_dir_empty(void)
{
    return entries(getenv("XDG_RUNTIME_DIR")) == 0;
}

/* A keeper sees to the end of each attempt that failed. */
static inline void wait_run_dir_empty(void)
{
    for (int i = 0; i < 100 && !run_dir_empty(); i++)
        usleep(50000);
    assert_true(run_dir_empty());
}

#endif
