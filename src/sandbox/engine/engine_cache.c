/* engine_cache.c - reads and writes the file of what worked. An entry's key is the options and the client's
 * file (path, size and time, which a new version changes), so an entry from before a change is simply not
 * found. A damaged file is never an error; it is written anew.
 */
#include "engine/engine_cache.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/place.h"
#include "engine/engines.h"
#include "engine/hard_limits.h"
#include "engine/options.h"
#include "json/json.h"
#include "process/child.h"

#define FILE_MAX_BYTES (64 * 1024)
#define ENTRIES        8
#define DAY            (24 * 3600)

static char *options_key(const struct engine_options *o)
{
    autofree char *room = hard_limits_key();

    return xasprintf("1 %s %u %s %s %lld %g %d %lld %d %lld %lld %d room %s uid %u", o->engine, o->asked,
                     o->image, o->runtime ? o->runtime : "-", (long long)o->memory, o->cpus, o->pids,
                     (long long)o->data_size, o->data_files, (long long)o->tmp_size, (long long)o->file_size,
                     o->open_files, room, (unsigned)geteuid());
}

static char *client_key(const char *engine)
{
    const struct engine *e = engines_find(engine);
    autofree char *path = e ? child_find_program(engines_client(e)) : NULL;
    const char *host = e && e->host_variable ? getenv(e->host_variable) : NULL;
    struct stat st;

    if (!path || stat(path, &st) != 0)
        return NULL;
    return xasprintf("%s %lld %lld.%09ld %s%s", path, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
                     st.st_mtim.tv_nsec, host ? host : "", e->identity ? e->identity : "");
}

static struct json *load_all(void)
{
    autofree char *path = xdg_path(XDG_CACHE, "engine");
    struct buf text autorelease(buf_release) = BUF_INIT(FILE_MAX_BYTES);

    return path && place_read(path, FILE_MAX_BYTES, &text, NULL) == 0
               ? json_parse(text.data, text.len, 0, NULL, NULL)
               : NULL;
}

/* Is that member this text? */
static bool is(const struct json *entry, const char *member, const char *text)
{
    const char *its = json_str(json_get(entry, member));

    return its && text && !strcmp(its, text);
}

static char *copy_of(const struct json *entry, const char *key)
{
    return xstrdup(json_str(json_get(entry, key)));
}

/* A runtime is a program that is started: it is one that a start from here can have had, whatever the file
 * says. */
static char *runtime_of(const struct json *entry, const char *engine, const struct engine_options *o)
{
    const struct engine *e = engines_find(engine);
    bool known = is(entry, "runtime", o->runtime) || (e && is(entry, "runtime", e->fallback_runtime));

    return known ? copy_of(entry, "runtime") : NULL;
}

bool engine_cache_load(const struct engine_options *o, struct engine_cached *m)
{
    autofree char *key = options_key(o);
    autojson struct json *all = load_all();
    int64_t now = (int64_t)time(NULL);

    *m = (struct engine_cached){0};
    for (const struct json *e = json_first(all); e; e = json_next(e)) {
        const char *engine = json_str(json_get(e, "engine"));
        int64_t at = json_int(json_get(e, "time"), 0);

        if (!is(e, "key", key) || !engine || at > now || now - at > DAY)
            continue;
        autofree char *client = client_key(engine);
        if (!is(e, "client", client))
            continue;
        m->engine = xstrdup(engine);
        m->python = copy_of(e, "python");
        m->packages = copy_of(e, "packages");
        m->runtime = runtime_of(e, engine, o);
        m->stdio = json_bool(json_get(e, "stdio"), false);
        m->time = at;
        return true;
    }
    return false;
}

void engine_cache_store(const struct engine_options *o, const struct engine_cached *m)
{
    autofree char *key = options_key(o), *client = client_key(m->engine),
                  *path = xdg_path(XDG_CACHE, "engine");
    autojson struct json *old = load_all();
    autojson struct json *all = json_array_of(
        json_object_of({"key", json_string(key)}, {"client", json_string(client)},
                       {"time", json_integer((int64_t)time(NULL))}, {"engine", json_string(m->engine)},
                       {"python", json_string(m->python)}, {"packages", json_string(m->packages)},
                       {"runtime", json_string(m->runtime)}, {"stdio", json_boolean(m->stdio)}));

    if (json_type(old) == JSON_ARRAY)
        for (const struct json *e = json_first(old); e && json_size(all) < ENTRIES; e = json_next(e))
            if (json_type(e) == JSON_OBJECT && !is(e, "key", key))
                json_add(all, json_copy(e));
    autofree char *text = json_print(all);
    if (client)
        cache_keep(path, text, strlen(text));
}

bool engine_cache_knows(const char *engine)
{
    autojson struct json *all = load_all();

    for (const struct json *e = json_first(all); e; e = json_next(e))
        if (is(e, "engine", engine))
            return true;
    return false;
}

void engine_cache_release(struct engine_cached *m)
{
    free(m->engine);
    free(m->python);
    free(m->packages);
    free(m->runtime);
    *m = (struct engine_cached){0};
}

/* ---- what the host's /usr has ---- */

struct found_version {
    char name[16], version[16];
};

#define FOUND_MAX 16

static size_t packages_wanted(struct found_version list[FOUND_MAX])
{
    size_t n = 0;

    for (const char *p = ENGINE_PACKAGES; *p && n < FOUND_MAX; n++) {
        size_t len = strcspn(p, ",");

        snprintf(list[n].name, sizeof list[n].name, "%.*s", (int)len, p);
        list[n].version[0] = '\0';
        p += len + (p[len] == ',');
    }
    return n;
}

/* Is this the metadata of that package? File names spell it differently: "scikit_learn-1.2.1.dist-info". */
static bool metadata_of(const char *file, const char *name)
{
    for (; *name; file++, name++)
        if (tolower((unsigned char)*file) != (*name == '-' ? '_' : *name))
            return false;
    return *file == '-';
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);

    return n > k && !strcmp(s + n - k, end);
}

/* "numpy-1.24.2.egg-info" or "scipy-1.10.1.dist-info": keep the first two parts of the version. */
static void note_package(struct found_version *list, size_t n, const char *file)
{
    if (!ends_with(file, ".egg-info") && !ends_with(file, ".dist-info"))
        return;
    for (size_t i = 0; i < n; i++) {
        if (list[i].version[0] || !metadata_of(file, list[i].name))
            continue;
        const char *v = file + strlen(list[i].name) + 1;
        size_t digits = strspn(v, "0123456789");
        if (v[digits] == '.' && strspn(v + digits + 1, "0123456789") > 0)
            digits += 1 + strspn(v + digits + 1, "0123456789");
        if (digits > 0 && digits < sizeof list[i].version)
            snprintf(list[i].version, sizeof list[i].version, "%.*s", (int)digits, v);
    }
}

bool engine_host_python(const char *root, char **python, char **packages)
{
    struct found_version list[FOUND_MAX];
    size_t wanted = packages_wanted(list);
    char target[64];
    autofree char *link = xasprintf("%s/usr/bin/python3", root);
    ssize_t n = readlink(link, target, sizeof target - 1);

    target[n > 0 ? n : 0] = '\0';
    const char *version = strstr(target, "python3.");
    if (!version)
        return false;
    version += strlen("python");
    char *places[] = {xasprintf("%s/usr/lib/python3/dist-packages", root),
                      xasprintf("%s/usr/lib/python%s/site-packages", root, version),
                      xasprintf("%s/usr/local/lib/python%s/dist-packages", root, version)};
    for (size_t i = 0; i < countof(places); i++) {
        autoclosedir DIR *d = opendir(places[i]);

        for (struct dirent *e; d && (e = readdir(d)) != NULL;)
            note_package(list, wanted, e->d_name);
        free(places[i]);
    }
    struct buf text = BUF_INIT(1024);
    for (size_t i = 0; i < wanted; i++)
        if (list[i].version[0])
            buf_addf(&text, "%s%s %s", text.len ? ", " : "", list[i].name, list[i].version);
    *python = xstrdup(version);
    *packages = buf_steal(&text, NULL);
    return true;
}
