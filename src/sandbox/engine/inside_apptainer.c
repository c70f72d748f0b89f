/* inside_apptainer.c - Apptainer as walls. Its own options build them; it reads the filter of system calls
 * from a file, as docker does. */
#include "engine/inside_apptainer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/embed.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/plan.h"

EMBED(seccomp_json, SECCOMP_JSON)

static int write_profile(struct inside_profile *p, struct error *err)
{
    p->dir = xstrdup("/tmp/sandpiper-XXXXXX");
    if (!mkdtemp(p->dir)) {
        error_errno(err, "%s", p->dir);
        free(steal(&p->dir));
        return -1;
    }
    p->file = xasprintf("%s/seccomp", p->dir);
    return file_write_soon(p->file, seccomp_json, EMBED_SIZE(seccomp_json), err);
}

int inside_apptainer(struct inside_profile *p, const char *program, const char *image, struct argv *out,
                     struct error *err)
{
    argv_push(out, program);
    /* Nothing of the host but the image: own /tmp and home, no environment, own namespaces, no network, no
     * rights. */
    argv_pushl(out, "exec", "--containall", "--cleanenv", "--no-home", "--no-privs", "--no-umask",
               "--no-eval", "--net", "--network", "none", "--scratch", DATA_DIR, "--pwd", DATA_DIR, NULL);
    if (EMBED_SIZE(seccomp_json) > 0) {
        if (write_profile(p, err) != 0)
            return -1;
        argv_option(out, "--security", "seccomp:%s", p->file);
    }
    argv_push(out, image);
    return 0;
}

void inside_apptainer_done(struct inside_profile *p)
{
    if (p->file)
        unlink(p->file);
    if (p->dir)
        rmdir(p->dir);
    free(steal(&p->file));
    free(steal(&p->dir));
}
