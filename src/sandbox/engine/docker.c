/* docker.c - where docker differs from podman (container.h). */
#include <string.h>

#include "engine/container.h"

static const char *const no_words[] = {NULL};

static const struct container_client client = {
    .bind_read_only = "readonly",
    .bind_private = "bind-propagation=rprivate", /* it has no others */
    .bind_packages = "bind-propagation=rprivate",
    .list_format = "{{.Names}} {{.Label \"sandpiper.owner\"}}",
    .run_words = no_words,
    .remove_words = no_words,
    .tmpfs_owned = true,
    .raises_limits = true,
};

/* Asks for the daemon's own runc, wherever the daemon is. */
static void docker_runc_version(const char *runtime, struct argv *out)
{
    if (!runtime || !strcmp(runtime, "runc"))
        argv_pushl(out, "docker", "version", "-f",
                   "{{range .Server.Components}}{{.Name}} version {{.Version}}\n{{end}}", NULL);
}

const struct engine engine_docker = {
    .name = "docker",
    .package = "docker.io",
    .host_variable = "DOCKER_HOST",
    .own = &client,
    .holds_files = true,
    .own_limits = true,
    .processes_ours = 8,
    .runc_version = docker_runc_version,
    CONTAINER_ENGINE,
};
