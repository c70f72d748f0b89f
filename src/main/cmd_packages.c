/* cmd_packages.c - "sandpiper packages": the packages that --with fetched and that are kept: list, rm, gc.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/size.h"
#include "json/json.h"
#include "main/command.h"
#include "packages/packages.h"

struct packages_table {
    bool json;
    struct buf out;
    unsigned n;
    int64_t bytes;
};

static void add_kept_json(struct packages_table *t, const struct packages_kept *k)
{
    autojson struct json *o = json_object_of(
        {"id", json_string(k->id)}, {"names", json_string(k->names)}, {"python", json_string(k->python)},
        {"platform", json_string(k->platform)}, {"packages", json_integer(k->n)},
        {"bytes", json_integer(k->bytes)}, {"made", json_integer(k->made)}, {"used", json_integer(k->used)},
        {"in_use", json_boolean(k->in_use)});

    json_line(o, &t->out);
}

static void add_kept(void *ctx, const struct packages_kept *k)
{
    struct packages_table *t = ctx;
    int64_t days = (time(NULL) - k->used) / 86400;
    char used[32];

    t->n++;
    t->bytes += k->bytes;
    if (t->json) {
        add_kept_json(t, k);
        return;
    }
    autofree char *names = scrub_line(k->names, SCRUB_TERMINAL);
    snprintf(used, sizeof used, "%lld days ago", (long long)days);
    if (t->n == 1)
        buf_addf(&t->out, "%-7s %-10s %-14s %s\n", "PYTHON", "SIZE", "USED", "PACKAGES");
    buf_addf(&t->out, "%-7.7s %-10s %-14s %s\n", k->python, size_text(k->bytes).text,
             k->in_use   ? "now"
             : days < 1  ? "today"
             : days == 1 ? "yesterday"
                         : used,
             names);
}

static int list_packages(const struct config *c)
{
    struct packages_table t = {.json = c->json, .out = BUF_INIT(0)};

    packages_each(add_kept, &t);
    if (!t.n && !t.json)
        buf_addstr(&t.out, "no packages are kept; --with NAME fetches some\n");
    if (t.n > 1 && !t.json)
        buf_addf(&t.out, "%u sets, %s\n", t.n, size_text(t.bytes).text);
    int status = t.json ? print_json(buf_str(&t.out), t.out.len) : print_out(buf_str(&t.out), t.out.len);
    buf_release(&t.out);
    return status;
}

static int remove_packages(const struct config *c, struct error *err)
{
    const struct argv *names = &c->args.names;
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    unsigned removed = 0, in_use = 0;
    int unknown = 0;

    if (names->n < 2 && !c->all)
        return error_set(err, ERROR_USAGE, 0,
                         "which packages? sandpiper packages rm NAME, or sandpiper packages rm --all");
    for (size_t i = 1; i < names->n || (c->all && i == 1); i++) {
        unsigned busy, gone;

        if (packages_remove(c->all ? NULL : names->v[i], &gone, &busy, err) < 0)
            return -1;
        removed += gone;
        in_use += busy;
        if (c->all)
            break;
        if (!gone && !busy) {
            struct error none = {0};

            error_set(&none, ERROR_USAGE, 0, "no package %.100s is kept\nsandpiper packages lists them",
                      names->v[i]);
            unknown = print_failure(&none);
        }
    }
    if (unknown && !removed && !in_use)
        return unknown;
    buf_addf(&out, removed ? "removed %u set%s of packages\n" : "nothing to remove\n", removed,
             removed == 1 ? "" : "s");
    if (in_use) {
        autofree char *line = xasprintf("%u set%s in use by a sandbox and stay%s", in_use,
                                        in_use == 1 ? " is" : "s are", in_use == 1 ? "s" : "");
        print_line(line);
    }
    int status = print_out(buf_str(&out), out.len);
    return status ? status : unknown ? unknown : in_use ? 1 : 0;
}

static int sweep_packages(struct error *err)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    int64_t bytes = 0;
    unsigned n = 0;

    if (packages_sweep(&n, &bytes, err) < 0)
        return -1;
    if (n || bytes)
        buf_addf(&out, "removed %u set%s of packages not used for 30 days, and what uv kept: %s\n", n,
                 n == 1 ? "" : "s", size_text(bytes).text);
    else
        buf_addstr(&out, "nothing to remove\n");
    return print_out(buf_str(&out), out.len);
}

int cmd_packages(struct config *c, int closed)
{
    const struct argv *names = &c->args.names;
    const char *what = names->n ? names->v[0] : "list";
    struct error err = {0};
    int status = -1;

    (void)closed;
    print_notices(c);
    if (!strcmp(what, "rm"))
        status = remove_packages(c, &err);
    else if (!strcmp(what, "list") && names->n <= 1)
        status = list_packages(c);
    else if (!strcmp(what, "gc") && names->n == 1)
        status = sweep_packages(&err);
    else if (!strcmp(what, "list") || !strcmp(what, "gc"))
        error_set(&err, ERROR_USAGE, 0, "packages %s takes no arguments", what);
    else
        error_set(&err, ERROR_USAGE, 0,
                  "unknown command \"packages %.40s\"; there are list, rm and gc\n"
                  "Packages are fetched where they are needed: --with NAME",
                  what);
    return status < 0 ? print_failure(&err) : status;
}
