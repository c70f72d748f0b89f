/* packages.c - from a list of names to a folder: what it came to before, else a lock, a folder, and a note of
 * both.
 */
#include "packages/packages.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/sha256.h"
#include "base/size.h"
#include "json/json.h"
#include "packages/index.h"
#include "packages/kept.h"
#include "packages/lock.h"
#include "packages/installer.h"
#include "process/loop.h"
#include "process/signals.h"

#define WORTH_COMPILING (512 * 1024) /* bytes of Python: a third of a second at each import */
#define CONFLICTS_MOST  6            /* tries to keep what the sandbox has */

struct getting {
    const struct packages_ask *ask;
    struct packages_set *set;
    struct installer installer;
    struct lock lock;
    char *names;      /* what was wanted, with versions */
    struct buf lines; /* of the lock, without what the sandbox has */
    char list[SHA256_HEX], id[SHA256_HEX];
    char *root, *scratch; /* scratch: a folder for this run, the writer's */
    int writer;           /* kept_lock(); -1: we are not the one that writes */
};

static void tell_getting(const struct getting *g, bool detail, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void tell_getting(const struct getting *g, bool detail, const char *fmt, ...)
{
    va_list ap;

    if (!g->ask->notice)
        return;
    va_start(ap, fmt);
    autofree char *text = xvasprintf(fmt, ap), *line = scrub_line(text, SCRUB_TERMINAL);
    va_end(ap);
    g->ask->notice(g->ask->ctx, detail, line);
}

/* Also what uv had begun when it was ended: it never goes on with that. */
static void clear_scratch(const struct getting *g)
{
    autofree char *cache = xasprintf("%s/uv-cache", g->root);
    autoclosedir DIR *d = opendir(cache);

    file_remove_tree(g->scratch);
    for (struct dirent *e; d && (e = readdir(d));)
        if (!strncmp(e->d_name, ".tmp", 4)) {
            autofree char *begun = xasprintf("%s/%s", cache, e->d_name);

            file_remove_tree(begun);
        }
}

static void getting_release(struct getting *g)
{
    installer_release(&g->installer);
    lock_release(&g->lock);
    buf_release(&g->lines);
    free(g->names);
    if (g->scratch && g->writer >= 0)
        clear_scratch(g);
    fd_close(&g->writer);
    free(g->scratch);
    free(g->root);
}

/* What tells this list from another one. */
static void name_list(struct getting *g)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);
    struct argv sorted autorelease(argv_release) = ARGV_INIT;
    const struct packages_python *p = g->ask->python;

    for (size_t i = 0; i < g->ask->wanted->n; i++)
        argv_push(&sorted, g->ask->wanted->v[i]);
    argv_sort(&sorted);
    buf_addf(&text, "1 %s %s %" PRId64 "\n", p->version, p->platform, g->ask->cooldown_ms);
    for (size_t i = 0; i < sorted.n; i++)
        buf_addf(&text, "%s\n", sorted.v[i]);
    for (size_t i = 0; i < p->installed.n; i++)
        buf_addf(&text, "=%s\n", p->installed.v[i]);
    index_describe(&text);
    sha256_hex(buf_str(&text), text.len, g->list);
}

static bool find_kept_set(struct getting *g)
{
    autofree char *id = kept_read("lists", g->list, NULL);

    return id && strlen(id) == SHA256_HEX - 1 && strspn(id, "0123456789abcdef") == strlen(id)
           && kept_open(id, g->set);
}

/* ---- why there is none ---- */

/* Behind the word, up to a blank or a quote; NULL. The caller frees. */
static char *word_behind(const char *text, const char *before)
{
    const char *p = strstr(text, before);

    if (!p)
        return NULL;
    p += strlen(before);
    size_t n = strcspn(p, " `'\"\n,");
    return n && n < 100 ? xmemdup0(p, n) : NULL;
}

/* Memory for it has an end (installer.c). */
static bool says_too_large(const char *said)
{
    return strstr(said, "memory allocation of") != NULL;
}

static bool says_network(const char *said)
{
    static const char *const words[] = {"error sending request",
                                        "Failed to fetch",
                                        "dns error",
                                        "timed out",
                                        "NewConnectionError",
                                        "Could not connect",
                                        "invalid peer certificate",
                                        "certificate verify failed",
                                        "Network is unreachable",
                                        "Connection refused",
                                        "tunnel error",
                                        "Tunnel connection failed"};

    for (size_t i = 0; i < countof(words); i++)
        if (strstr(said, words[i]))
            return true;
    return says_too_large(said);
}

static bool says_unreadable(const char *said)
{
    return strstr(said, "parse requirement") != NULL;
}

/* uv's reason without its lead, as one line; of what it cannot read it draws the place below. */
static char *reason_of(const char *said)
{
    const char *p = strstr(said, "cause: ");
    const char *hint = NULL;

    p = p ? p + strlen("cause: ") : said + (!strncmp(said, "error: ", 7) ? 7 : 0);
    hint = strstr(p, says_unreadable(said) ? "\n" : "\n\nhint:");
    autofree char *text = xmemdup0(p, hint ? (size_t)(hint - p) : strlen(p)),
                  *line = scrub_line(text, SCRUB_TERMINAL);
    struct buf out = BUF_INIT(600);
    bool blank = false;

    for (const char *c = line; *c; c++) {
        if (*c != ' ' || !blank)
            buf_addch(&out, *c);
        blank = *c == ' ';
    }
    buf_trim(&out, " ");
    return buf_steal(&out, NULL);
}

static int explain_none(const struct getting *g, struct error *err)
{
    const char *said = buf_str(&g->installer.said);
    autofree char *unknown = word_behind(said, "Because "),
                  *no_wheel = word_behind(said, "Wheels are required for `");
    autofree char *reason = reason_of(said);

    if (strstr(said, "was not found in the package registry") && unknown)
        return error_set(err, ERROR_USAGE, 0, "there is no package %s in the index\nIs it spelt that way?",
                         unknown);
    if (says_unreadable(said))
        return error_set(err, ERROR_USAGE, 0,
                         "a package's versions cannot be read: %.600s\n"
                         "Write them as in polars>=1, pandas==2.2.* or a name alone.",
                         reason);
    if (no_wheel)
        return error_set(err, ERROR_USAGE, 0,
                         "%s has no wheel for Python %s here, and nothing of a package is run to install it\n"
                         "Ask for another version, or use an image of your own that has it: --image",
                         no_wheel, g->ask->python->version);
    if (says_too_large(said))
        return error_set(err, ERROR_NETWORK, 0,
                         "the index sends an answer that is too large to be read\n"
                         "Is UV_DEFAULT_INDEX or pip.conf right?");
    if (says_network(said))
        return error_set(err, ERROR_NETWORK, 0,
                         "the index of packages cannot be reached: %.600s\n"
                         "Check the network, the proxy and UV_DEFAULT_INDEX or pip.conf.",
                         reason);
    if (strstr(said, "no such option: --uploaded-prior-to"))
        return error_set(err, ERROR_SANDBOX, 0,
                         "pip here is too old to leave out young packages (cooldown)\n"
                         "Install uv, or set cooldown: 0 in config.yaml.");
    return error_set(err, ERROR_USAGE, 0, "the packages cannot be had together: %.900s", reason);
}

static struct short_text age_of(int64_t seconds)
{
    static const struct {
        int64_t seconds;
        const char *name;
    } units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
    struct short_text t = {"less than a second"};

    for (size_t i = 0; i < countof(units); i++)
        if (seconds >= units[i].seconds) {
            int64_t n = seconds / units[i].seconds;

            snprintf(t.text, sizeof t.text, "%" PRId64 " %s%s", n, units[i].name, n == 1 ? "" : "s");
            break;
        }
    return t;
}

static int explain_young(const struct getting *g, const struct lock *any, struct error *err)
{
    int64_t seconds = g->ask->cooldown_ms / 1000, now = (int64_t)time(NULL);
    const struct locked *young = lock_youngest(any, now, seconds);

    if (!young)
        return error_set(
            err, ERROR_USAGE, 0,
            "the index does not tell how old its packages are, and nothing younger than %s is taken\n"
            "If you trust this index: cooldown: 0 in config.yaml, or --cooldown 0.",
            age_of(seconds).text);
    return error_set(err, ERROR_USAGE, 0,
                     "%s %s is %s old, and nothing younger than %s is taken\n"
                     "Wait, ask for an older version, or change cooldown in config.yaml (--cooldown).",
                     young->name, young->version, age_of(now - young->uploaded).text, age_of(seconds).text);
}

/* ---- the lock ---- */

/* Was every version given with its hashes? Then that is the lock. */
static bool take_given_lock(struct getting *g)
{
    const struct argv *wanted = g->ask->wanted;
    struct argv sorted autorelease(argv_release) = ARGV_INIT;

    for (size_t i = 0; i < wanted->n; i++) {
        if (!strstr(wanted->v[i], "--hash=sha256:") || !strstr(wanted->v[i], "=="))
            return false;
        argv_push(&sorted, wanted->v[i]);
    }
    argv_sort(&sorted);
    for (size_t i = 0; i < sorted.n; i++)
        buf_addf(&g->lines, "%s\n", sorted.v[i]);
    return true;
}

/* Those that the reason does not name: they were not in the way. False: it names none. */
static bool without_named(const struct argv *installed, const char *reason, struct argv *out)
{
    for (size_t i = 0; i < installed->n; i++)
        if (!strstr(reason, installed->v[i]))
            argv_push(out, installed->v[i]);
    return out->n < installed->n;
}

/* What the sandbox has already is kept as it is: another numpy would not go with what was built for that one.
 * What is in the way is given up, and in the end all of it. */
static int resolve_wanted(struct getting *g, int64_t before, struct lock *lock, struct error *err)
{
    const struct packages_python *p = g->ask->python;
    struct argv kept autorelease(argv_release) = ARGV_INIT;
    struct installer_question q = {p, g->ask->wanted, NULL, before};
    int rc = 1;

    for (size_t i = 0; i < p->installed.n; i++)
        argv_push(&kept, p->installed.v[i]);
    for (int tries = 0; rc == 1 && kept.n && tries < CONFLICTS_MOST; tries++) {
        struct argv fewer autorelease(argv_release) = ARGV_INIT;

        q.installed = &kept;
        rc = installer_resolve(&g->installer, &q, lock, err);
        if (rc == 1
            && (says_network(buf_str(&g->installer.said))
                || !without_named(&kept, buf_str(&g->installer.said), &fewer)))
            break;
        if (rc == 1) {
            argv_release(&kept);
            kept = fewer;
            fewer = (struct argv)ARGV_INIT;
        }
    }
    if (rc == 1 && !(q.installed && says_network(buf_str(&g->installer.said)))) {
        q.installed = NULL;
        rc = installer_resolve(&g->installer, &q, lock, err);
    }
    return rc;
}

/* Say which of the sandbox's own packages are not used any more. */
static void tell_replaced(const struct getting *g)
{
    struct buf line autorelease(buf_release) = BUF_INIT(400);
    const struct argv *has = &g->ask->python->installed;

    for (size_t i = 0; i < g->lock.n; i++) {
        autofree char *plain = package_name_plain(g->lock.v[i].name, strlen(g->lock.v[i].name));
        size_t n = strlen(plain);

        for (size_t k = 0; k < has->n; k++)
            if (!strncmp(has->v[k], plain, n) && !strncmp(has->v[k] + n, "==", 2))
                buf_addf(&line, "%s%s %s (for %s)", line.len ? ", " : "", plain, g->lock.v[i].version,
                         has->v[k] + n + 2);
    }
    if (line.len)
        tell_getting(g, true, "Packages: newer than those of the sandbox, which others there may need: %s",
                     buf_str(&line));
}

static int make_lock(struct getting *g, struct error *err)
{
    struct lock any autorelease(lock_release) = {0};
    int64_t before = g->ask->cooldown_ms ? (int64_t)time(NULL) - g->ask->cooldown_ms / 1000 : 0;

    tell_getting(g, false, "Packages: looking for versions");
    int rc = resolve_wanted(g, before, &g->lock, err);
    if (rc == 0 || rc < 0)
        return rc;
    if (explain_none(g, err), err->kind != ERROR_USAGE || !before)
        return -1;
    struct error later = {0};
    rc = resolve_wanted(g, 0, &any, &later);
    return rc == 0 ? explain_young(g, &any, err) : -1;
}

/* "seaborn 0.13.2": of what was wanted, in the order in which it was. */
static void name_wanted(struct getting *g)
{
    struct buf out = BUF_INIT(2000);
    const struct argv *wanted = g->ask->wanted;

    for (size_t i = 0; i < wanted->n && i < 12; i++) {
        size_t len = strspn(wanted->v[i],
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
        autofree char *plain = package_name_plain(wanted->v[i], len);
        const char *equals = strstr(wanted->v[i], "==");
        autofree char *version = equals ? xmemdup0(equals + 2, strcspn(equals + 2, " ;,")) : NULL;

        for (size_t k = 0; k < g->lock.n; k++) {
            autofree char *its = package_name_plain(g->lock.v[k].name, strlen(g->lock.v[k].name));

            if (!strcmp(its, plain))
                xreplace(&version, xstrdup(g->lock.v[k].version));
        }
        buf_addf(&out, "%s%s%s%s", out.len ? ", " : "", plain, version ? " " : "", version ? version : "");
    }
    if (wanted->n > 12)
        buf_addf(&out, " and %zu more", wanted->n - 12);
    g->names = buf_steal(&out, NULL);
}

/* "seaborn 0.13.2 and 2 others, 8 MiB". */
static char *describe_set(const struct getting *g)
{
    struct buf out = BUF_INIT(0);
    int64_t bytes = 0;
    size_t others = g->lock.n > g->ask->wanted->n ? g->lock.n - g->ask->wanted->n : 0;

    for (size_t i = 0; i < g->lock.n; i++)
        bytes += g->lock.v[i].size > 0 && g->lock.v[i].size < (int64_t)1 << 40 ? g->lock.v[i].size : 0;
    buf_addstr(&out, g->names);
    if (others)
        buf_addf(&out, " and %zu other%s", others, others == 1 ? "" : "s");
    if (bytes)
        buf_addf(&out, ", %s", size_text(bytes).text);
    return buf_steal(&out, NULL);
}

static void name_set(struct getting *g)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    buf_addf(&text, "1 %s %s\n%s", g->ask->python->version, g->ask->python->platform, buf_str(&g->lines));
    sha256_hex(buf_str(&text), text.len, g->id);
}

/* ---- the folder ---- */

static void tell_waits(void *ctx)
{
    tell_getting(ctx, false, "Packages: waiting for another sandpiper that fetches some");
}

static int become_writer(struct getting *g, struct error *err)
{
    g->writer = kept_lock(g->ask->loop, tell_waits, g, err);
    return g->writer < 0 ? -1 : 0;
}

static int make_scratch(const struct getting *g, struct error *err)
{
    clear_scratch(g);
    return file_mkdirs(g->scratch, 0700, err);
}

/* Others may write while a person thinks. */
static int ask_whether_allowed(struct getting *g, const char *what, struct error *err)
{
    clear_scratch(g);
    fd_close(&g->writer);
    if (!g->ask->allow(g->ask->ctx, what))
        return error_set(err, ERROR_CANCELLED, 0,
                         g->ask->loop && loop_cancelled(g->ask->loop) ? "interrupted"
                                                                      : "the user did not allow it");
    return become_writer(g, err) < 0 ? -1 : make_scratch(g, err);
}

static struct json *about_set(const struct getting *g, const struct argv *told)
{
    struct json *lines = json_array();
    unsigned n = 0;

    for (size_t i = 0; i < told->n; i++)
        json_add(lines, json_string(told->v[i]));
    for (const char *p = buf_str(&g->lines); (p = strchr(p, '\n')); p++)
        n++;
    return json_object_of({"v", json_integer(1)}, {"names", json_string(g->names)},
                          {"python", json_string(g->ask->python->version)},
                          {"platform", json_string(g->ask->python->platform)}, {"packages", json_integer(n)},
                          {"lock", json_string(buf_str(&g->lines))}, {"told", lines});
}

static int make_set(struct getting *g, struct error *err)
{
    struct argv told autorelease(argv_release) = ARGV_INIT;
    autofree char *folder = xasprintf("%s/set", g->scratch), *what = describe_set(g);
    bool none = !g->lines.len; /* the sandbox has all of it */

    if (g->ask->allow && !none && ask_whether_allowed(g, what, err) < 0)
        return -1;
    if (kept_open(g->id, g->set)) /* another has fetched it */
        return 0;
    int64_t began = clock_ms();
    tell_getting(g, none, "Packages: fetching %s", what);
    if (file_mkdirs(folder, 0755, err) < 0)
        return -1;
    int rc = none ? 0 : installer_install(&g->installer, g->ask->python, buf_str(&g->lines), folder, err);
    if (rc == 1) {
        autofree char *reason = reason_of(buf_str(&g->installer.said));

        rc = error_set(err, says_network(buf_str(&g->installer.said)) ? ERROR_NETWORK : ERROR_SANDBOX, 0,
                       "the packages could not be fetched: %.900s", reason);
    }
    if (rc < 0 || kept_clean(folder, &told, err) < 0)
        return -1;
    if (g->ask->compile && kept_size(folder, ".py") > WORTH_COMPILING) {
        tell_getting(g, false, "Packages: compiling them in a sandbox");
        kept_open_folders(folder);
        g->ask->compile(g->ask->ctx, folder);
        if (kept_clean(folder, &told, err) < 0)
            return -1;
    }
    autojson struct json *o = about_set(g, &told);
    if (kept_add(folder, g->id, o, err) < 0)
        return -1;
    tell_getting(g, none, "Packages: %s, in %.1f s", what, (double)(clock_ms() - began) / 1000);
    return 0;
}

/* Where the lock was given, nobody has to be asked for one. */
static int lock_and_lines(struct getting *g, bool given, struct error *err)
{
    autofree char *root = kept_path(NULL);

    g->scratch = xasprintf("%s/new", root); /* there is one writer */
    if (make_scratch(g, err) < 0)
        return -1;
    g->root = steal(&root);
    g->installer = (struct installer){.loop = g->ask->loop,
                                      .root = g->root,
                                      .scratch = g->scratch,
                                      .most_bytes = INSTALLER_BYTES,
                                      .most_files = INSTALLER_FILES,
                                      .offline_first = given,
                                      .notice = g->ask->notice,
                                      .ctx = g->ask->ctx};
    if (installer_find(&g->installer, err) < 0 || (!given && make_lock(g, err) < 0))
        return -1;
    if (given)
        return 0;
    name_wanted(g);
    lock_leave_out(&g->lock, &g->ask->python->installed);
    lock_write(&g->lock, &g->lines);
    name_set(g);
    tell_replaced(g);
    return 0;
}

static int fetch_set(struct getting *g, struct error *err)
{
    bool given = take_given_lock(g), there = false;

    if (given) {
        name_wanted(g);
        name_set(g);
        there = kept_open(g->id, g->set);
    }
    if (!there && lock_and_lines(g, given, err) < 0)
        return -1;
    if (!there && (make_set(g, err) < 0 || (!g->set->id && !kept_open(g->id, g->set))))
        return err->kind ? -1 : error_set(err, ERROR_SANDBOX, 0, "the packages changed while they were kept");
    kept_write("lists", g->list, g->id);
    return 0;
}

static void tell_set(const struct getting *g)
{
    const struct packages_set *s = g->set;

    for (size_t i = 0; i < s->told.n; i++)
        tell_getting(
            g, false,
            "Packages: %s is left out: nothing of a package runs by itself. If something is missing because "
            "of it, "
            "use an image of your own (--image)",
            s->told.v[i]);
}

int packages_get(const struct packages_ask *ask, struct packages_set *s, struct error *err)
{
    struct getting g autorelease(getting_release) = {
        .ask = ask, .set = s, .lines = BUF_INIT(LOCK_BYTES), .writer = -1};
    struct error why = {0};

    *s = PACKAGES_SET_INIT;
    name_list(&g);
    if (find_kept_set(&g)) {
        tell_getting(&g, true, "Packages: %s, fetched before", s->names);
        tell_set(&g);
        return 0;
    }
    if (become_writer(&g, err) < 0)
        return -1;
    if (!find_kept_set(&g) && fetch_set(&g, &why) < 0) {
        *err = why;
        packages_set_release(s);
        return -1;
    }
    tell_set(&g);
    return 0;
}
