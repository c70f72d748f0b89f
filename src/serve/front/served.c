/* served.c - writes, reads, lists and removes the notes. */
#include "front/served.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/place.h"
#include "json/json.h"
#include "front/runners.h"

#define NOTE_MAX (LEASE_FACTS + 4096)

bool served_good_id(const char *id)
{
    return strlen(id) == RUNNERS_ID && strspn(id, "0123456789abcdef") == RUNNERS_ID;
}

static char *path_of_served(const char *id)
{
    autofree char *folder = xdg_path(XDG_STATE, "served");

    return folder ? xasprintf("%s/%s", folder, id) : NULL;
}

int served_write(const char *id, const struct served_sandbox *n, struct error *err)
{
    autofree char *path = path_of_served(id);
    autojson struct json *o = json_object_of(
        {"conversation", json_string(n->conversation)}, {"client", json_string(n->client)},
        {"within", json_string(n->outer)}, {"owner", json_string(n->owner)},
        {"created", json_integer(n->created)}, {"ended", json_integer(n->ended)},
        {"expired", json_boolean(n->expired)}, {"until", n->until ? json_integer(n->until) : NULL},
        {"paused", n->paused ? json_boolean(true) : NULL}, {"facts", n->facts ? json_copy(n->facts) : NULL});
    autofree char *text = json_print(o);

    return path ? place_write_soon(path, text, strlen(text), err)
                : error_set(err, ERROR_SYSTEM, 0, "no home folder");
}

int served_read(const char *id, struct served_sandbox *out)
{
    struct buf text autorelease(buf_release) = BUF_INIT(NOTE_MAX);
    autofree char *path = served_good_id(id) ? path_of_served(id) : NULL;

    *out = (struct served_sandbox){0};
    if (!path || place_read(path, NOTE_MAX, &text, NULL) < 0)
        return -1;
    autojson struct json *o = json_parse(buf_str(&text), text.len, 0, NULL, NULL);
    if (json_type(o) != JSON_OBJECT)
        return -1;
    out->conversation = xstrdup(json_str(json_get(o, "conversation")));
    out->client = xstrdup(json_text(json_get(o, "client")));
    out->outer = xstrdup(json_str(json_get(o, "within")));
    out->owner = xstrdup(json_text(json_get(o, "owner")));
    out->created = json_int(json_get(o, "created"), 0);
    out->ended = json_int(json_get(o, "ended"), 0);
    out->expired = json_bool(json_get(o, "expired"), false);
    out->until = json_int(json_get(o, "until"), 0);
    out->paused = json_bool(json_get(o, "paused"), false);
    if (json_type(json_get(o, "facts")) == JSON_OBJECT)
        out->facts = json_copy(json_get(o, "facts"));
    return 0;
}

void served_remove(const char *id)
{
    autofree char *path = path_of_served(id);

    if (path)
        unlink(path);
}

void served_each(void (*fn)(void *ctx, const char *id), void *ctx)
{
    autofree char *folder = xdg_path(XDG_STATE, "served");
    struct argv ids autorelease(argv_release) = ARGV_INIT;
    DIR *d = folder ? opendir(folder) : NULL;

    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (served_good_id(e->d_name))
            argv_push(&ids, e->d_name);
    if (d)
        closedir(d);
    for (size_t i = 0; i < ids.n; i++)
        fn(ctx, ids.v[i]);
}

void served_release(struct served_sandbox *n)
{
    free(n->conversation);
    free(n->client);
    free(n->outer);
    free(n->owner);
    json_free(n->facts);
    *n = (struct served_sandbox){0};
}
