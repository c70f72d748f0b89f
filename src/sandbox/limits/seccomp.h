/* seccomp.h - which system calls the code may make: one table with two back ends. bwrap gets a BPF program in
 * a memfd; docker and podman get the same rules as a JSON profile. A call that no rule names gets ENOSYS, so
 * the calls of newer kernels stay closed.
 */
#ifndef LIMITS_SECCOMP_H
#define LIMITS_SECCOMP_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct json;

struct seccomp_cmp { /* holds if (argument & mask) == value */
    unsigned arg;
    uint64_t mask, value;
};

#define SECCOMP_CMPS 3

struct seccomp_rule {
    const char *name;
    int err;    /* the errno that the call gets; 0: allowed */
    unsigned n; /* number of comparisons, all of which must hold; 0: the rule always applies */
    struct seccomp_cmp cmp[SECCOMP_CMPS];
};

/* Calls fn for every rule. A system call has either one rule without comparisons or any number of rules
 * with them. No two of those overlap with different results, so their order does not matter. */
typedef void seccomp_fn(void *ctx, const struct seccomp_rule *rule);
void seccomp_walk(seccomp_fn *fn, void *ctx);

/* The program as bwrap's --add-seccomp-fd reads it: a CLOEXEC memfd at offset 0, owned by the caller, or
 * -1. */
int seccomp_program(struct error *err);
/* The same, from the copy that was made when sandpiper was built. */
int seccomp_ready(struct error *err);
/* The profile for --security-opt seccomp=FILE. The caller frees. */
struct json *seccomp_profile(void);
/* The profile for Apptainer's --security seccomp:FILE. The caller frees. */
struct json *seccomp_profile_apptainer(void);

#endif
