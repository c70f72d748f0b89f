/* podman.c - where podman differs from docker (container.h). */
#include <string.h>

#include "engine/container.h"

static const char *const run_words[] = {"--no-hosts", "--http-proxy=false", "--read-only-tmpfs=false", NULL};
/* otherwise a supervisor that hangs is asked to end first, and given longer than we wait */
static const char *const remove_words[] = {"-t", "0", NULL};

static const struct container_client client = {
    .bind_read_only = "ro=true",
    .bind_private = "bind-propagation=rprivate,bind-nonrecursive,nosuid,nodev,noexec",
    .bind_packages = "bind-propagation=rprivate,bind-nonrecursive,nosuid,nodev",
    .list_format = "{{.Names}} {{index .Labels \"sandpiper.owner\"}}",
    .run_words = run_words,
    .remove_words = remove_words,
    .runtime_is_global = true,
    .rootless_may_lack_groups = true,
};

static void podman_runc_version(const char *runtime, struct argv *out)
{
    if (!runtime)
        argv_pushl(out, "podman", "info", "-f", "{{.Host.OCIRuntime.Version}}", NULL);
    else if (!strcmp(runtime, "runc"))
        argv_pushl(out, "runc", "--version", NULL);
}

const struct engine engine_podman = {
    .name = "podman",
    .package = "podman",
    .host_variable = "CONTAINER_HOST",
    .own = &client,
    .only_here = true,
    .fallback_runtime = "runc",
    .processes_ours = 40, /* a Go program with one thread for each thing it waits for */
    .runc_version = podman_runc_version,
    CONTAINER_ENGINE,
};
