/* container.h - what docker and podman share: the life of a container, run through a client that takes nearly
 * the same arguments. The member "own" of struct engine is a struct container_client.
 */
#ifndef ENGINE_CONTAINER_H
#define ENGINE_CONTAINER_H

#include <stdbool.h>

#include "engine/engines.h"

struct container_client {            /* where the arguments of the two clients differ */
    const char *bind_read_only;      /* the read-only option of --mount */
    const char *bind_private;        /* its options for a folder of the user's */
    const char *bind_packages;       /* and for packages, whose machine code may run */
    const char *list_format;         /* for ps: name, space, label "sandpiper.owner" */
    const char *const *run_words;    /* further arguments of run, ending with NULL */
    const char *const *remove_words; /* further arguments of rm -f, ending with NULL */
    bool runtime_is_global;          /* --runtime goes before "run" */
    bool tmpfs_owned;                /* a tmpfs can have an owner and a limit on its number of files */
    bool raises_limits;              /* its daemon may raise our hard limits */
    bool rootless_may_lack_groups;   /* without root it has only the control groups that systemd delegates */
};

/* Members of struct engine for both, from container_argv.c and then from container.c. */
void container_vector(const struct engine_plan *p, struct argv *out);
enum engine_fault container_explain(const struct engine_plan *p, const char *said, struct error *err);
void container_remove(const struct engine *e, const char *name, struct argv *out);
void container_list(const struct engine *e, struct argv *out);

int container_start(struct attempt *a);
bool container_alive(struct attempt *a);
const char *container_weakness(const struct attempt *a, unsigned *unheld);
bool container_end(struct attempt *a, int64_t until);
bool container_end_at_once(struct attempt *a);
bool container_end_as_keeper(struct attempt *a);
int container_attach(struct attempt *a, const struct record *record, struct error *err);
void container_detach(struct attempt *a);

#define CONTAINER_ENGINE                                                                           \
    .named = true, .mounts = true, .images = true,                                                 \
    .python_advice = "use an image with python3 3.8 or newer (--image), or make ours: make image", \
    .vector = container_vector, .explain = container_explain, .start = container_start,            \
    .alive = container_alive, .weakness = container_weakness, .end = container_end,                \
    .end_at_once = container_end_at_once, .end_as_keeper = container_end_as_keeper,                \
    .attach = container_attach, .detach = container_detach, .remove = container_remove,            \
    .list = container_list

/* Does what a client wrote to stderr say that the daemon is not running or refuses us? */
bool container_no_daemon(const char *said);

#endif
