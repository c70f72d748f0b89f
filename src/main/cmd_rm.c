/* cmd_rm.c - "sandpiper rm NAME...": end sandboxes with a name. Each that cannot be ended is told; the others end all the same. */
#include <string.h>

#include "base/argv.h"
#include "base/loop.h"
#include "base/mem.h"
#include "main/command.h"
#include "sandbox/sandbox.h"

static void add_name(void *ctx, const struct sandbox_info *s)
{
    argv_push(ctx, s->name);
}

int cmd_rm(struct config *c, int closed)
{
    struct loop *loop = loop_new();
    struct argv all = ARGV_INIT;
    int status = 0;

    (void)closed;
    print_notices(c);
    if (c->all)
        sandbox_list(add_name, &all);
    const struct argv *names = c->all ? &all : &c->names;
    for (size_t i = 0; i < names->n; i++) {
        struct error err = {0};

        if (sandbox_remove(names->v[i], loop, &err) == 0)
            continue;
        print_error(&err);
        status = status ? status : error_exit_code(&err);
    }
    argv_release(&all);
    loop_free(loop);
    return status;
}
