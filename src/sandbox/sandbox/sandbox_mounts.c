/* sandbox_mounts.c - the folders of --mount (mount/mount.h) in a sandbox: what is said of them, and those
 * of a named sandbox, which were decided on at its start.
 */
#include <unistd.h>

#include "base/mem.h"
#include "engine/engines.h"
#include "mount/mount.h"
#include "records/record.h"
#include "sandbox/private.h"

void sandbox_mounts(const struct sandbox *s, struct buf *out)
{
    const struct mounts *m = s->o.run.mounts;

    for (size_t i = 0; m && i < m->n; i++)
        buf_addf(out, "%s%s (%s)", i ? ", " : "", m->v[i].inside,
                 m->v[i].write ? "can be changed" : "read-only");
}

void sandbox_tell_lacking(const struct sandbox *s, const struct argv *mounted)
{
    const struct mounts *m = s->o.run.mounts;
    const struct engine *engine = engines_find(s->engine);
    bool other_user = !engine || !engine->users_uid || geteuid() == 0;

    for (size_t i = 0; m && i < m->n; i++) {
        autofree char *line = mount_lacks(&m->v[i], other_user, mounted);

        if (line)
            engine_notice(&s->o.run, false, "%s", line);
    }
}

int named_check_mounts(struct sandbox *s, const struct record *r, struct error *err)
{
    const struct mounts *asked = s->o.run.mounts, *has = &s->known_mounts;

    mounts_release(&s->known_mounts);
    mount_release(&s->known_packages);
    s->known_packages = (struct mount){.fd = -1};
    for (size_t i = 0; i < r->mounts.n; i++) {
        struct mounts *known = &s->known_mounts;

        mounts_take(known, r->mounts.v[i]);
        if (known->n && mount_is_packages(&known->v[known->n - 1]))
            s->known_packages = known->v[--known->n];
    }
    if (!asked || !asked->n || (mounts_within(asked, has) && mounts_within(has, asked)))
        return 0;
    autofree char *first = has->n ? mount_line(&has->v[0]) : xstrdup("none is");
    return error_set(err, ERROR_SANDBOX, 0,
                     "the sandbox \"%s\" has other folders mounted than you asked for: %s%s\n"
                     "leave out --mount, or remove it first: sandpiper rm %s",
                     s->o.run.name, first, has->n > 1 ? ", and more" : "", s->o.run.name);
}

void named_drop_mounts(struct sandbox *s)
{
    if (s->o.run.mounts != &s->known_mounts)
        return;
    s->o.run.mounts = NULL;
    if (s->known_mounts.n > 0)
        engine_notice(&s->o.run, false, "the new sandbox \"%s\" has no folders mounted; give --mount again",
                      s->o.run.name);
}
