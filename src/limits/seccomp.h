/* seccomp.h - which system calls the code may make: one table, two back ends. bwrap gets a BPF program in a
 * memfd, docker and podman get the same rules as a JSON profile. What no rule names gets ENOSYS, so calls of
 * a newer kernel stay closed.
 */
#ifndef LIMITS_SECCOMP_H
#define LIMITS_SECCOMP_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct json;

struct seccomp_cmp { /* (argument & mask) == value */
    unsigned arg;
    uint64_t mask, value;
};

#define SECCOMP_CMPS 3

struct seccomp_rule {
    const char *name;
    int err;    /* the errno it gets; 0: allowed */
    unsigned n; /* comparisons, all of which must hold; 0: always */
    struct seccomp_cmp cmp[SECCOMP_CMPS];
};

/* Every rule in turn. A system call has either one rule without comparison or any number with; no two of
 * those overlap with different answers, so the order says nothing. */
typedef void seccomp_fn(void *ctx, const struct seccomp_rule *rule);
void seccomp_walk(seccomp_fn *fn, void *ctx);

/* What the table answers: 0 allowed, else the errno. For tests, and an oracle for both back ends. */
int seccomp_decide(const char *name, const uint64_t args[6]);

/* The program as bwrap's --add-seccomp-fd reads it: a CLOEXEC memfd at offset 0, or -1. */
int seccomp_program(struct error *err);
/* The same, made when the program was built. */
int seccomp_ready(struct error *err);
/* The profile for --security-opt seccomp=FILE. The caller frees. */
struct json *seccomp_profile(void);

#endif
