/* container.h - what docker and podman have in common: the life of a container by way of a client that takes
 * nearly the same words. struct engine's "own" is a struct container_client.
 */
#ifndef ENGINE_CONTAINER_H
#define ENGINE_CONTAINER_H

#include <stdbool.h>

#include "engine/engines.h"

struct container_client {            /* where the words of the two differ */
    const char *bind_read_only;      /* of --mount */
    const char *list_format;         /* of ps: name, space, label "sandpiper.owner" */
    const char *const *run_words;    /* more flags of run, NULL at the end */
    const char *const *remove_words; /* and of rm -f */
    const char *fallback_runtime;    /* tried where the default one fails; or NULL */
    bool runtime_is_global;          /* --runtime stands before "run" */
    bool tmpfs_owned;                /* a tmpfs can have an owner and a number of files */
    bool raises_limits;              /* its daemon may raise our hard limits */
    bool rootless_may_lack_groups;   /* without root it has the control groups that systemd delegates */
};

/* Members of struct engine for both: container_argv.c, then container.c. */
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
int container_attach(struct attempt *a, const struct registry_entry *entry, struct error *err);
void container_detach(struct attempt *a);

#define CONTAINER_ENGINE                                                                           \
    .named = true, .images = true,                                                                 \
    .python_advice = "use an image with python3 3.8 or newer (--image), or make ours: make image", \
    .vector = container_vector, .explain = container_explain, .start = container_start,            \
    .alive = container_alive, .weakness = container_weakness, .end = container_end,                \
    .end_at_once = container_end_at_once, .end_as_keeper = container_end_as_keeper,                \
    .attach = container_attach, .detach = container_detach, .remove = container_remove,            \
    .list = container_list

/* Does what a client wrote to stderr say that no daemon is there for us? */
bool container_no_daemon(const char *said);

#endif
