/* cmd_rm.c - "sandpiper rm NAME...": ends named sandboxes and prints which. If one cannot be ended, that is
 * reported and the others are ended all the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/mem.h"
#include "main/command.h"
#include "process/loop.h"
#include "process/out.h"
#include "sandbox/sandbox.h"

static void add_sandbox_name(void *ctx, const struct sandbox_info *s)
{
    argv_push(ctx, s->name);
}

/* "a", or "3 sandboxes: a, b, c". */
static void add_sandbox_names(struct buf *out, const struct argv *names, const char *colon)
{
    if (names->n > 1)
        buf_addf(out, "%zu sandboxes%s", names->n, colon);
    for (size_t i = 0; i < names->n; i++)
        buf_addf(out, "%s%s", i ? ", " : "", names->v[i]);
}

static bool wanted(const struct config *c, const struct argv *names)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);

    if (!c->all || c->force || names->n == 0)
        return true;
    buf_addstr(&line, "Remove ");
    add_sandbox_names(&line, names, " (");
    buf_addf(&line, "%s variables and files? [y/N] ", names->n > 1 ? ") with their" : " with its");
    return confirm(buf_str(&line), NULL) != CONFIRM_NO;
}

static int remove_sandboxes(const struct argv *names, struct argv *removed)
{
    struct loop *loop = loop_new();
    int status = 0;

    for (size_t i = 0; i < names->n; i++) {
        struct error err = {0};

        if (sandbox_remove(names->v[i], loop, &err) == 0) {
            argv_push(removed, names->v[i]);
            continue;
        }
        print_error(&err);
        status = status ? status : error_exit_code(&err);
    }
    loop_free(loop);
    return status;
}

static int report(const struct argv *removed)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);

    buf_addstr(&line, "removed ");
    add_sandbox_names(&line, removed, ": ");
    buf_addch(&line, '\n');
    return print_out(buf_str(&line), line.len);
}

int cmd_rm(struct config *c, int closed)
{
    struct argv all autorelease(argv_release) = ARGV_INIT, removed autorelease(argv_release) = ARGV_INIT;
    const struct argv *names = c->all ? &all : &c->args.names;
    int status, told = 0;

    (void)closed;
    print_notices(c);
    if (c->all)
        sandbox_list(add_sandbox_name, &all);
    argv_sort(&all);
    if (names->n == 0)
        return print_out("nothing to remove\n", strlen("nothing to remove\n"));
    if (!wanted(c, names)) {
        print_line("nothing was removed");
        return 1;
    }
    status = remove_sandboxes(names, &removed);
    if (removed.n > 0)
        told = report(&removed);
    return status ? status : told;
}
