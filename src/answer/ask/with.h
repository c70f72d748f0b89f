/* with.h - packages that the user asks for (--with, packages/packages.h), for the sandbox that the
 * configuration describes.
 */
#ifndef ASK_WITH_H
#define ASK_WITH_H

#include "base/argv.h"
#include "mount/mount.h"
#include "packages/packages.h"

struct config;
struct error;
struct loop;
struct sandbox;
struct sandbox_options;

struct with {           /* must outlive the sandbox */
    struct argv wanted; /* what else than the configuration says; filled by the caller */
    struct packages_set set;
    struct mount mount;
    char python[8];     /* that they are for, "3.11" */
    bool any;           /* there are packages: the others are set */
    struct with *added; /* the latest of with_add(), or NULL */
};

#define WITH_INIT ((struct with){.set = PACKAGES_SET_INIT, .mount = {.fd = -1}})
void with_release(struct with *w);

struct with_ask {
    const struct config *c;
    struct loop *loop;
    void (*notice)(void *ctx, bool detail, const char *line);
    bool (*allow)(void *ctx, const char *what); /* as in packages_ask */
    void *ctx;
    bool agents;   /* there is a model: what its agents want, too */
    bool alone;    /* what w->wanted has, and not what the configuration says */
    bool restarts; /* where packages have no room in a sandbox that runs, it may be started again */
};

/* Get what the configuration and w->wanted ask for, and put it into o, which is otherwise complete. Nothing
 * happens where nothing is asked for. A sandbox is started where its Python is not known. The errors of
 * packages_get() and of sandbox_wait(). */
int with_get(struct with *w, const struct with_ask *ask, struct sandbox_options *o, struct error *err);

/* The same for a sandbox that may run already, and whose variables stay: get what wanted names, send it, and
 * add it to its options. What it has by now counts as installed, at its version. w holds it. The set, or NULL
 * with err, as above: all is as before. */
const struct packages_set *with_add(struct with *w, const struct with_ask *ask, struct sandbox *s,
                                    const struct argv *wanted, struct error *err);

#endif
