/* client.c - starts an engine's client with an environment of its own, and takes the line out of its output
 * that says what is wrong.
 */
#include "engine/client.h"

#include <string.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "engine/container.h"
#include "engine/engines.h"
#include "process/child.h"

#define OUT_MAX (256 * 1024) /* for "ps": 110 bytes for each container of all users */

/* Does an engine's client need this variable? Keys, proxies with passwords and everything else are
 * withheld. */
static bool env_passes(const char *entry)
{
    static const char *const names[] = {
        "PATH=",
        "HOME=",
        "USER=",
        "LOGNAME=",
        "LANG=",
        "LC_ALL=",
        "TMPDIR=",
        "XDG_RUNTIME_DIR=",
        "XDG_CONFIG_HOME=",
        "XDG_DATA_HOME=",
        "XDG_CACHE_HOME=",
        "DBUS_SESSION_BUS_ADDRESS=",
        "SSH_AUTH_SOCK=",
        "DOCKER_",
        "CONTAINER",
        "PODMAN_",
        "BUILDAH_",
        "STORAGE_",
        "_CONTAINERS_",
        "REGISTRY_AUTH_FILE=",
    };

    for (size_t i = 0; i < countof(names); i++)
        if (!strncmp(entry, names[i], strlen(names[i])))
            return true;
    return false;
}

/* Is it one of names, which end in * where any end will do? */
static bool env_wanted(const char *entry, const struct argv *names)
{
    size_t len = strcspn(entry, "=");

    for (size_t i = 0; names && i < names->n; i++) {
        size_t n = strcspn(names->v[i], "*");

        if (!strncmp(entry, names->v[i], n) && (names->v[i][n] == '*' ? len >= n : len == n))
            return true;
    }
    return false;
}

struct child *client_start_with(struct child_options o, const struct argv *names, struct error *err)
{
    struct argv env autorelease(argv_release) = ARGV_INIT;

    for (char **e = environ; e && *e; e++)
        if (env_passes(*e) || env_wanted(*e, names))
            argv_push(&env, *e);
    argv_push(&env, "DOCKER_CLI_HINTS=false");
    o.env = env.v;
    o.err = CHILD_KEPT;
    o.cap = OUT_MAX;
    o.cwd = o.cwd ? o.cwd : "/";
    return child_start(&o, err);
}

struct child *client_start(struct child_options o, struct error *err)
{
    return client_start_with(o, NULL, err);
}

static struct child *command_with(struct argv *argv, const struct argv *names, struct child_watch watch)
{
    struct child *c = client_start_with((struct child_options){.argv = argv->v,
                                                               .watch = watch,
                                                               .deadline_ms = CLIENT_MS,
                                                               .grace_ms = CLIENT_GRACE_MS,
                                                               .in = CHILD_NULL,
                                                               .out = CHILD_KEPT},
                                        names, NULL);

    argv_release(argv);
    return c;
}

struct child *client_command(struct argv *argv, struct child_watch watch)
{
    return command_with(argv, NULL, watch);
}

/* Clients print warnings before the cause and usage hints after it. So this is the last line that mentions
 * an error, or else the first that is neither of these. */
char *client_complaint(const struct child *c)
{
    const char *best = NULL;
    size_t len = 0;

    for (const char *p = buf_str(&c->err_text); *p;) {
        size_t n = strcspn(p, "\n"), words = trimmed_length(p, n, " \t\r");
        bool idle = words == 0 || !strncmp(p, "See '", 5) || !strncmp(p, "WARNING", 7)
                    || !strncmp(p, "time=", 5);

        if (!idle && (!best || memmem(p, n, "rror", 4))) {
            best = p;
            len = words;
        }
        p += n + (p[n] == '\n');
    }
    if (best) {
        autofree char *line = xmemdup0(best, len > 300 ? 300 : len);
        return scrub_line(line, SCRUB_TERMINAL);
    }
    return xstrdup(c->timed_out ? "no answer in time"
                   : c->ended   ? child_status_text(c->status).text
                                : "it is still running");
}

struct child *removal_start(const struct engine *engine, const char *name, struct child_watch watch)
{
    struct argv argv = ARGV_INIT;

    engine->remove(engine, name, &argv);
    return command_with(&argv, engine->env, watch);
}

enum removal_end removal_end(const struct child *c)
{
    const char *said = buf_str(&c->err_text);

    /* A container whose supervisor has just ended removes itself (--rm). "Already in progress" does not
     * mean gone, so the caller asks again. */
    if (child_ok(c) || strcasestr(said, "no such container"))
        return REMOVAL_GONE;
    return c->timed_out || container_no_daemon(said) ? REMOVAL_NOBODY : REMOVAL_REFUSED;
}
