/* seccomp.c - the two back ends of the table: a BPF program, made by libseccomp, and a JSON profile for
 * docker and podman. */
#include "limits/seccomp.h"

#include <errno.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "json/json.h"
#include "base/mem.h"

struct build {
    scmp_filter_ctx filter;
    int rc;           /* the first failure, as a negative errno */
    const char *name; /* the system call that it concerns */
};

static void build_rule(void *ctx, const struct seccomp_rule *r)
{
    struct build *b = ctx;
    struct scmp_arg_cmp cmp[SECCOMP_CMPS];
    int nr = seccomp_syscall_resolve_name(r->name);

    /* Unknown to this libseccomp, or (negative) not a call of this machine: the default applies. */
    if (b->rc < 0 || nr < 0)
        return;
    for (unsigned i = 0; i < r->n; i++)
        cmp[i] = SCMP_CMP(r->cmp[i].arg, SCMP_CMP_MASKED_EQ, r->cmp[i].mask, r->cmp[i].value);
    if (r->err == ENOSYS && r->n == 0)
        return; /* this is the default, and libseccomp refuses to add it as a rule */
    int rc = seccomp_rule_add_array(b->filter, r->err ? SCMP_ACT_ERRNO((uint16_t)r->err) : SCMP_ACT_ALLOW, nr,
                                    r->n, cmp);
    if (rc < 0) {
        b->rc = rc;
        b->name = r->name;
    }
}

int seccomp_program(struct error *err)
{
    struct build b = {.filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS))};
    autoclose int fd = -1;

    if (!b.filter)
        return error_set(err, ERROR_SYSTEM, ENOMEM, "seccomp: cannot create a filter");
    /* The calls of another ABI (32-bit, x32) have other numbers; code that makes one is trying to get
     * around the filter. */
    b.rc = seccomp_attr_set(b.filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    /* a binary tree, because every call of the sandbox passes through it */
    (void)seccomp_attr_set(b.filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    seccomp_walk(build_rule, &b);
    if (b.rc == 0) {
        fd = memfd_create("seccomp", MFD_CLOEXEC);
        b.rc = fd < 0 ? -errno : seccomp_export_bpf(b.filter, fd);
    }
    if (b.rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
        b.rc = -errno;
    seccomp_release(b.filter);
    if (b.rc < 0)
        return error_set(err, ERROR_SYSTEM, -b.rc, "seccomp filter (%s): %s", b.name ? b.name : "export",
                         strerror(-b.rc));
    return fd_steal(&fd);
}

static void profile_rule(void *ctx, const struct seccomp_rule *r)
{
    struct json *list = ctx, *args = r->n > 0 ? json_array() : NULL;

    for (unsigned i = 0; i < r->n; i++)
        json_add(args, json_object_of({"index", json_integer(r->cmp[i].arg)},
                                      {"value", json_integer((int64_t)r->cmp[i].mask)},
                                      {"valueTwo", json_integer((int64_t)r->cmp[i].value)},
                                      {"op", json_string("SCMP_CMP_MASKED_EQ")}));
    json_add(list, json_object_of({"names", json_array_of(json_string(r->name))},
                                  {"action", json_string(r->err ? "SCMP_ACT_ERRNO" : "SCMP_ACT_ALLOW")},
                                  {"errnoRet", r->err ? json_integer(r->err) : NULL}, {"args", args}));
}

static const char *architecture(void)
{
    switch (seccomp_arch_native()) {
    case SCMP_ARCH_X86_64:
        return "SCMP_ARCH_X86_64";
    case SCMP_ARCH_AARCH64:
        return "SCMP_ARCH_AARCH64";
    case SCMP_ARCH_RISCV64:
        return "SCMP_ARCH_RISCV64";
    case SCMP_ARCH_PPC64LE:
        return "SCMP_ARCH_PPC64LE";
    case SCMP_ARCH_S390X:
        return "SCMP_ARCH_S390X";
    default:
        return NULL; /* the engine then uses its default */
    }
}

static struct json *profile_of_rules(seccomp_fn *rule, const char *otherwise, struct json *err)
{
    struct json *calls = json_array();
    const char *arch = architecture();

    seccomp_walk(rule, calls);
    /* Only this architecture: the 32-bit calls are not in the list, and kill the process. */
    return json_object_of({"defaultAction", json_string(otherwise)}, {"defaultErrnoRet", err},
                          {"architectures", arch ? json_array_of(json_string(arch)) : NULL},
                          {"syscalls", calls});
}

struct json *seccomp_profile(void)
{
    return profile_of_rules(profile_rule, "SCMP_ACT_ERRNO", json_integer(ENOSYS));
}

static void without_enosys(void *ctx, const struct seccomp_rule *r)
{
    if (r->err != ENOSYS)
        profile_rule(ctx, r);
}

/* Apptainer has EPERM for every refusal, and with that for clone3 glibc starts no thread. So the default is
 * that a tracer decides: the kernel answers ENOSYS where there is none, and nobody inside can be one, since
 * ptrace is refused. */
struct json *seccomp_profile_apptainer(void)
{
    return profile_of_rules(without_enosys, "SCMP_ACT_TRACE", NULL);
}
