/* engine_memory.c - see engine_memory.h. The key of an entry is the options and the client's file (path, size, time: a new version has
 * another), so a changed machine is simply not found. What is wrong with the file is never an error: it is then made anew.
 */
#include "sandbox/engine_memory.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "sandbox/job.h"
#include "sandbox/sandbox.h"

#define FILE_MAX_BYTES (64 * 1024)
#define ENTRIES 8
#define DAY (24 * 3600)

static char *options_key(const struct sandbox_options *o)
{
    return xasprintf("1 %s %u %s %s %lld %g %d %lld %d %lld %lld %d uid %u", o->engine, o->asked, o->image, o->runtime ? o->runtime : "-", (long long)o->memory, o->cpus, o->pids,
                     (long long)o->data_size, o->data_files, (long long)o->tmp_size, (long long)o->file_size, o->open_files,
                     (unsigned)geteuid());
}

static char *client_key(const char *engine)
{
    autofree char *path = job_find_program(engine);
    const char *host = getenv(strcmp(engine, "podman") == 0 ? "CONTAINER_HOST" : "DOCKER_HOST");
    struct stat st;

    if (!path || stat(path, &st) != 0)
        return NULL;
    return xasprintf("%s %lld %lld.%09ld %s", path, (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
                     host ? host : "");
}

static struct json *load_all(void)
{
    autofree char *path = xdg_path(XDG_CACHE, "engine");
    struct buf text = BUF_INIT(FILE_MAX_BYTES);
    struct json *all = NULL;

    if (path && file_read(path, FILE_MAX_BYTES, &text, NULL) == 0)
        all = json_parse(text.data, text.len, 0, NULL, NULL);
    buf_release(&text);
    return all;
}

static bool is_for(const struct json *entry, const char *key)
{
    const char *its = json_str(json_get(entry, "key"));

    return its && strcmp(its, key) == 0;
}

static char *copy_of(const struct json *entry, const char *key)
{
    return xstrdup(json_str(json_get(entry, key)));
}

bool engine_memory_load(const struct sandbox_options *o, struct engine_memory *m)
{
    autofree char *key = options_key(o);
    autojson struct json *all = load_all();
    int64_t now = (int64_t)time(NULL);

    *m = (struct engine_memory){0};
    for (const struct json *e = json_first(all); e; e = json_next(e)) {
        const char *engine = json_str(json_get(e, "engine")), *client = json_str(json_get(e, "client"));
        int64_t at = json_int(json_get(e, "time"), 0);

        if (!is_for(e, key) || !engine || !client || at > now || now - at > DAY)
            continue;
        autofree char *is = client_key(engine);
        if (!is || strcmp(is, client) != 0)
            continue;
        m->engine = xstrdup(engine);
        m->python = copy_of(e, "python");
        m->packages = copy_of(e, "packages");
        m->runtime = copy_of(e, "runtime");
        m->stdio = json_bool(json_get(e, "stdio"), false);
        m->time = at;
        return true;
    }
    return false;
}

void engine_memory_store(const struct sandbox_options *o, const struct engine_memory *m)
{
    autofree char *key = options_key(o), *client = client_key(m->engine), *path = xdg_path(XDG_CACHE, "engine");
    autofree char *dir = xdg_path(XDG_CACHE, NULL);
    autojson struct json *old = load_all();
    autojson struct json *all = json_array();
    struct json *entry = json_object();
    int n = 1;

    json_set_str(entry, "key", key);
    json_set_str(entry, "client", client);
    json_set_int(entry, "time", (int64_t)time(NULL));
    json_set_str(entry, "engine", m->engine);
    json_set_str(entry, "python", m->python);
    json_set_str(entry, "packages", m->packages);
    json_set_str(entry, "runtime", m->runtime);
    json_set_bool(entry, "stdio", m->stdio);
    json_add(all, entry);
    if (json_type(old) == JSON_ARRAY)
        for (const struct json *e = json_first(old); e && n < ENTRIES; e = json_next(e))
            if (json_type(e) == JSON_OBJECT && !is_for(e, key)) {
                json_add(all, json_copy(e));
                n++;
            }
    autofree char *text = json_print(all);
    if (path && client && file_mkdirs(dir, 0700, NULL) == 0)
        file_write_soon(path, text, strlen(text), 0600, NULL);
}

bool engine_memory_uses(const char *engine)
{
    autojson struct json *all = load_all();

    for (const struct json *e = json_first(all); e; e = json_next(e)) {
        const char *its = json_str(json_get(e, "engine"));

        if (its && strcmp(its, engine) == 0)
            return true;
    }
    return false;
}

void engine_memory_release(struct engine_memory *m)
{
    free(m->engine);
    free(m->python);
    free(m->packages);
    free(m->runtime);
    *m = (struct engine_memory){0};
}

/* ---- what the host's /usr has ---- */

struct found {
    const char *file, *name;    /* as the metadata's file begins, as people say it */
    char version[16];
};

/* "numpy-1.24.2.egg-info" or "scipy-1.10.1.dist-info": the first two parts of the version say enough. */
static void note_package(struct found *list, size_t n, const char *file)
{
    size_t len = strlen(file);

    if (len < 10 || (strcmp(file + len - 9, ".egg-info") != 0 && (len < 11 || strcmp(file + len - 10, ".dist-info") != 0)))
        return;
    for (size_t i = 0; i < n; i++) {
        size_t k = strlen(list[i].file);

        if (strncasecmp(file, list[i].file, k) != 0 || file[k] != '-' || list[i].version[0])
            continue;
        const char *v = file + k + 1;
        size_t digits = strspn(v, "0123456789");
        if (v[digits] == '.' && strspn(v + digits + 1, "0123456789") > 0)
            digits += 1 + strspn(v + digits + 1, "0123456789");
        if (digits > 0 && digits < sizeof list[i].version)
            memcpy(list[i].version, v, digits);
    }
}

bool engine_host_python(const char *root, char **python, char **packages)
{
    struct found list[] = {
        {.file = "numpy", .name = "numpy"}, {.file = "pandas", .name = "pandas"}, {.file = "matplotlib", .name = "matplotlib"},
        {.file = "scipy", .name = "scipy"}, {.file = "scikit_learn", .name = "scikit-learn"}, {.file = "sympy", .name = "sympy"},
        {.file = "openpyxl", .name = "openpyxl"}, {.file = "pillow", .name = "Pillow"}, {.file = "statsmodels", .name = "statsmodels"},
        {.file = "seaborn", .name = "seaborn"}, {.file = "networkx", .name = "networkx"},
    };
    char target[64];
    autofree char *link = xasprintf("%s/usr/bin/python3", root);
    ssize_t n = readlink(link, target, sizeof target - 1);

    target[n > 0 ? n : 0] = '\0';
    const char *version = strstr(target, "python3.");
    if (!version)
        return false;
    version += strlen("python");
    char *places[] = {xasprintf("%s/usr/lib/python3/dist-packages", root), xasprintf("%s/usr/lib/python%s/site-packages", root, version),
                      xasprintf("%s/usr/local/lib/python%s/dist-packages", root, version)};
    for (size_t i = 0; i < countof(places); i++) {
        DIR *d = opendir(places[i]);

        for (struct dirent *e; d && (e = readdir(d)) != NULL;)
            note_package(list, countof(list), e->d_name);
        if (d)
            closedir(d);
        free(places[i]);
    }
    struct buf text = BUF_INIT(1024);
    for (size_t i = 0; i < countof(list); i++)
        if (list[i].version[0])
            buf_addf(&text, "%s%s %s", text.len ? ", " : "", list[i].name, list[i].version);
    *python = xstrdup(version);
    *packages = buf_steal(&text, NULL);
    return true;
}
