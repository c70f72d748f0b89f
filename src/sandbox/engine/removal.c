/* removal.c - see removal.h. */
#include "engine/removal.h"

#include <string.h>

#include "base/argv.h"
#include "engine/client.h"
#include "engine/container.h"
#include "engine/engines.h"

struct child *removal_start(const struct engine *engine, const char *name, struct child_watch watch)
{
    struct argv argv = ARGV_INIT;

    engine->remove(engine, name, &argv);
    return client_command(&argv, watch);
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
