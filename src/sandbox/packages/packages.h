/* packages.h - Python packages that the user asks for (--with), fetched on this machine and seen by a sandbox
 * that itself has no network.
 *
 * A list of names becomes a lock: exact versions with their hashes, for the Python and the libc of the
 * sandbox. A lock becomes a folder, in which every file is as its wheel had it. Both are kept below
 * XDG_CACHE/packages and are used again without the network. uv does the work (installer.h).
 *
 * RULE: No code of a package runs on this machine: wheels only, and nothing is imported or compiled here.
 * RULE: What Python would run by itself (.pth, sitecustomize) is taken out of a folder before it gets its
 *     name.
 */
#ifndef PACKAGES_PACKAGES_H
#define PACKAGES_PACKAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/argv.h"

struct error;
struct loop;

#define PACKAGES_WANTED 200 /* names in a list, at most */

/* The Python inside, as guest code told it; see packages_python_read(). */
struct packages_python {
    char version[8];       /* "3.11" */
    char platform[40];     /* as uv calls it: "x86_64-manylinux_2_36" */
    struct argv installed; /* "numpy==1.24.2", the names in lower case with dashes; sorted */
};

/* From the lines that packages_python_code() prints inside: hostile text. ERROR_SANDBOX: wheels are not made
 * for such a Python; err says what it is. */
const char *packages_python_code(void);
int packages_python_read(struct packages_python *p, const char *text, struct error *err);
/* What a lock has (NULL: nothing) is installed too, in place of other versions. */
void packages_python_add(struct packages_python *p, const char *lock);
void packages_python_release(struct packages_python *p);
/* What is known of the Python of these engines and images from the last day; key tells them apart. */
bool packages_python_recall(const char *key, struct packages_python *p);
void packages_python_keep(const char *key, const char *text);

/* ---- what is wanted (wanted.c): one requirement a word, as pip has them: "polars>=1,<2". No URLs, no paths,
 * no options. All ERROR_USAGE. ---- */

/* "seaborn,polars>=1,<2": a comma before a name parts two of them. where goes before a message. */
int packages_want(struct argv *wanted, const char *where, const char *text, struct error *err);
/* A file of requirements, as pip has it, or a pylock.toml, whose versions and hashes then hold. */
int packages_want_file(struct argv *wanted, const char *path, struct error *err);

/* What a script asks for in its own comments: "# /// script", "# dependencies = [...]", "# ///" (PEP 723). */
int packages_want_script(struct argv *wanted, const char *name, const char *code, struct error *err);
/* Does "requires-python" in those comments allow that Python, "3.11.2"? What cannot be understood does. -1
 * with ERROR_USAGE: it does not. */
int packages_script_fits(const char *name, const char *code, const char *python, struct error *err);
/* The lines of a lock (packages_set.lock), which may be a stranger's. */
int packages_want_lock(struct argv *wanted, const char *where, const char *lines, struct error *err);

/* May a client ask for them? allowed: what the user wrote, "seaborn,polars". ERROR_USAGE: one of allowed is
 * no name alone. ERROR_USAGE with EPERM: one of wanted is none of them. What a package needs is allowed with
 * it. wanted NULL: only look at allowed. */
int packages_allowed(const struct argv *allowed, const struct argv *wanted, struct error *err);

/* ---- what is had ---- */

struct packages_set {  /* owns all of it */
    char *folder, *id; /* id: the folder's name */
    char *names;       /* what was wanted, with versions: "emoji 2.16.0, seaborn 0.13.2"; one line */
    char *lock;        /* a line for each: "emoji==2.16.0 --hash=sha256:..." */
    struct argv told;  /* what was left out and may be missed, one line each */
    unsigned n;        /* packages in it; those that the sandbox has anyway do not count */
    int64_t bytes;
    int hold; /* keeps others from removing it; -1 */
};

/* Names and locks of two sets, the second of which was added to the first: of a package that both have, the
 * second's. had may be NULL. The caller frees. */
char *packages_names_join(const char *had, const char *more);
char *packages_lock_join(const char *had, const char *more);

#define PACKAGES_SET_INIT ((struct packages_set){.hold = -1})
void packages_set_release(struct packages_set *s);

struct packages_ask {
    const struct argv *wanted;
    const struct packages_python *python;
    int64_t cooldown_ms; /* nothing younger is taken */
    struct loop *loop;   /* served meanwhile; a cancel ends it */
    /* what is done now, one line; detail: shown only with -v. May be NULL */
    void (*notice)(void *ctx, bool detail, const char *line);
    /* May this be fetched? what: "seaborn 0.13.2 and 2 others, 8 MB". NULL: yes. */
    bool (*allow)(void *ctx, const char *what);
    /* Compile what is in this new folder, in a sandbox, so that each import need not. NULL: leave it. */
    void (*compile)(void *ctx, const char *folder);
    void *ctx;
};

/* Fills *s, from the cache where it can. ERROR_USAGE: there is no such package, version or wheel, or it is
 * too young; ERROR_NETWORK; ERROR_SANDBOX: it could not be fetched or kept; ERROR_CANCELLED, also where it
 * was not allowed. */
int packages_get(const struct packages_ask *ask, struct packages_set *s, struct error *err);

/* ---- what is kept ---- */

struct packages_kept {
    const char *id, *names, *python, *platform;
    int64_t bytes, made, used; /* made, used: time() */
    unsigned n;
    bool in_use;
};
void packages_each(void (*fn)(void *ctx, const struct packages_kept *k), void *ctx);
/* Remove the sets that have a package of that name, or all (NULL). *busy: how many are in use and stay.
 * ERROR_SANDBOX, also of the next: another program fetches some. */
int packages_remove(const char *name, unsigned *removed, unsigned *busy, struct error *err);
/* Remove what was not used for 30 days, what killed programs left, and what uv keeps for itself. *removed:
 * the number of sets; *bytes: what became free. */
int packages_sweep(unsigned *removed, int64_t *bytes, struct error *err);

#endif
