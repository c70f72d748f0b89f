/* installer.h - the program that resolves and fetches: uv where it is in PATH, else one that pip fetched
 * once into our own folder, else pip itself.
 *
 * It gets an environment of its own: the index, proxy and certificates that this machine has for uv and pip,
 * and nothing else of ours; an empty HOME and working folder; a deadline; what it says is capped.
 */
#ifndef PACKAGES_INSTALLER_H
#define PACKAGES_INSTALLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct argv;
struct error;
struct loop;
struct lock;
struct packages_python;

#define INSTALLER_BYTES (24LL << 30)
#define INSTALLER_FILES 300000 /* thirty large packages have a fifth of that */

struct installer {
    struct loop *loop;
    const char *root;    /* of our cache */
    const char *scratch; /* an empty folder, for this run alone */
    char *uv;            /* its path; NULL: pip is used */
    char *python;        /* the host's Python that pip and uv look at */
    struct buf said;     /* what the last run wrote to stderr */
    int64_t most_bytes;  /* that one run may write below root: INSTALLER_BYTES */
    int64_t most_files;  /* likewise, INSTALLER_FILES */
    bool offline_first;  /* the wheels may be here already: ask the index only for what is not */
    void (*notice)(void *ctx, bool detail, const char *line);
    void *ctx;
};

/* Find it, or fetch it. ERROR_SANDBOX: there is none. */
int installer_find(struct installer *t, struct error *err);
void installer_release(struct installer *t);

struct installer_question {
    const struct packages_python *python;
    const struct argv *wanted;
    const struct argv *installed; /* what is there already and should do; NULL: that does not matter */
    int64_t before;               /* nothing uploaded later, time(); 0: whenever */
};
/* 0: *lock is the answer; 1: there is no answer, t->said says why; -1: err. */
int installer_resolve(struct installer *t, const struct installer_question *q, struct lock *lock,
                      struct error *err);
/* Install these lines (lock_write()) into folder. The same results. */
int installer_install(struct installer *t, const struct packages_python *p, const char *lines,
                      const char *folder, struct error *err);

#endif
