/* record.c - writes the members of a record, and reads them back with every one checked. */
#include "records/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "json/json.h"
#include "base/mem.h"
#include "limits/cgroup.h"
#include "records/run_dir.h"

#define RECORD_MAX (128 * 1024) /* a path may have 4 KiB */

/* clang-format off */
#define MEMBER(m) {#m, offsetof(struct record, m)}
/* clang-format on */
static const struct member {
    const char *key;
    size_t at;
} texts[] = {MEMBER(owner), MEMBER(inside),  MEMBER(engine),  MEMBER(container),
             MEMBER(image), MEMBER(runtime), MEMBER(no_proxy)},
  numbers[] = {MEMBER(uid), MEMBER(memory), MEMBER(data_size), MEMBER(pids), MEMBER(created), MEMBER(idle)},
  flags[] = {MEMBER(named), MEMBER(ending), MEMBER(holds_memory), MEMBER(holds_pids), MEMBER(holds_cpu)},
  lists[] = {MEMBER(cgroups), MEMBER(mounts)};
#undef MEMBER

static void *at(const struct record *r, const struct member *m)
{
    return (char *)r + m->at;
}

int record_write(const struct record *r, struct error *err)
{
    autojson struct json *o = json_object();

    for (size_t i = 0; i < countof(texts); i++)
        json_set_str(o, texts[i].key, *(char **)at(r, &texts[i]));
    for (size_t i = 0; i < countof(numbers); i++)
        json_set_int(o, numbers[i].key, *(int64_t *)at(r, &numbers[i]));
    for (size_t i = 0; i < countof(flags); i++)
        json_set_bool(o, flags[i].key, *(bool *)at(r, &flags[i]));
    json_set(o, "cpus", json_number(r->cpus));
    for (size_t i = 0; i < countof(lists); i++) {
        const struct argv *list = at(r, &lists[i]);
        struct json *array = json_array();

        for (size_t k = 0; k < list->n; k++)
            json_add(array, json_string(list->v[k]));
        json_set(o, lists[i].key, array);
    }
    autofree char *text = json_print(o), *path = xasprintf("%s/record", r->dir);
    return file_write_soon(path, text, strlen(text), err);
}

static bool is_ours(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 022) == 0;
}

int record_read(struct record *r, const char *dir)
{
    struct buf text autorelease(buf_release) = BUF_INIT(RECORD_MAX);
    autofree char *path = xasprintf("%s/record", dir);
    struct error err = {0};

    *r = (struct record){0};
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (!is_ours(fd) || file_read_open(fd, path, RECORD_MAX, &text, &err) != 0) {
        errno = err.code == EFBIG || err.code == EISDIR ? 0 : err.code;
        return -1;
    }
    autojson struct json *o = json_parse(text.data, text.len, 0, NULL, NULL);
    if (!json_str(json_get(o, "owner"))) {
        errno = 0;
        return -1;
    }
    r->dir = xstrdup(dir);
    for (size_t i = 0; i < countof(texts); i++)
        *(char **)at(r, &texts[i]) = xstrdup(json_str(json_get(o, texts[i].key)));
    if (!run_dir_container(r->container)) /* another one is not ours to be removed */
        free(steal(&r->container));
    for (size_t i = 0; i < countof(numbers); i++)
        *(int64_t *)at(r, &numbers[i]) = json_int(json_get(o, numbers[i].key), 0);
    for (size_t i = 0; i < countof(flags); i++)
        *(bool *)at(r, &flags[i]) = json_bool(json_get(o, flags[i].key), false);
    r->cpus = json_double(json_get(o, "cpus"), 0);
    for (const struct json *g = json_first(json_get(o, "cgroups")); g; g = json_next(g)) {
        const char *name = strrchr(json_text(g), '/');

        if (name && !strncmp(name, "/sandpiper-", 11) && r->cgroups.n < CGROUP_DIRS)
            argv_push(&r->cgroups, json_str(g));
    }
    for (const struct json *m = json_first(json_get(o, "mounts")); m; m = json_next(m))
        if (json_str(m))
            argv_push(&r->mounts, json_str(m));
    return 0;
}

void record_release(struct record *r)
{
    free(r->dir);
    for (size_t i = 0; i < countof(texts); i++)
        free(*(char **)at(r, &texts[i]));
    argv_release(&r->cgroups);
    argv_release(&r->mounts);
    *r = (struct record){0};
}
