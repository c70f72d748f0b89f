/* child_files.c - the operations on files. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "runner/child_private.h"
#include "sandbox/sandbox.h"

#define DELIVERED_MAX 500

/* A figure has no file inside, so the copy of it is the only one. */
void child_delivered(struct runner_child *c, const char *name, const char *path)
{
    struct delivered *d = NULL;

    for (size_t i = 0; i < c->n_delivered && !d; i++)
        if (strcmp(c->delivered[i].name, name) == 0)
            d = &c->delivered[i];
    if (!d && c->n_delivered == DELIVERED_MAX) {
        free(c->delivered[0].name);
        free(c->delivered[0].path);
        memmove(c->delivered, c->delivered + 1, --c->n_delivered * sizeof *d);
    }
    if (!d) {
        c->delivered = xreallocarray(c->delivered, c->n_delivered + 1, sizeof *d);
        d = &c->delivered[c->n_delivered++];
        *d = (struct delivered){.name = xstrdup(name)};
    }
    free(d->path);
    d->path = xstrdup(path);
}
