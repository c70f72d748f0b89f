/* seccomp_table.c - the system calls: which are allowed, which are refused and with which errno, which depend
 * on their arguments. EPERM says "not permitted"; ENOSYS says "does not exist", which lets a C library fall
 * back. No rule kills the process: a new C library that tries an unknown call must not die of it.
 *
 * RULE: What code may ask of the kernel is this table and no other list (docs/SECURITY.md says which engines
 *     use it).
 */
#include "limits/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/mem.h"

#define LOW32 0xffffffffu /* an int argument: the kernel looks only at these bits (CVE-2019-10063) */

static const char *const allowed[] = {
    /* bytes and descriptors */
    "read",
    "write",
    "readv",
    "writev",
    "pread64",
    "pwrite64",
    "preadv",
    "pwritev",
    "preadv2",
    "pwritev2",
    "lseek",
    "_llseek",
    "close",
    "close_range",
    "dup",
    "dup2",
    "dup3",
    "pipe",
    "pipe2",
    "flock",
    "sendfile",
    "sendfile64",
    "splice",
    "tee",
    "copy_file_range",
    "readahead",
    "fadvise64",
    "fadvise64_64",
    "fallocate",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "ftruncate",
    "ftruncate64",
    "truncate",
    "truncate64",
    "memfd_create",
    /* files and names */
    "stat",
    "fstat",
    "lstat",
    "stat64",
    "fstat64",
    "lstat64",
    "newfstatat",
    "fstatat64",
    "statx",
    "statfs",
    "fstatfs",
    "statfs64",
    "fstatfs64",
    "access",
    "faccessat",
    "faccessat2",
    "getdents",
    "getdents64",
    "getcwd",
    "chdir",
    "fchdir",
    "rename",
    "renameat",
    "renameat2",
    "rmdir",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "symlink",
    "symlinkat",
    "readlink",
    "readlinkat",
    "chown",
    "chown32",
    "fchown",
    "fchown32",
    "lchown",
    "lchown32",
    "fchownat",
    "umask",
    "utime",
    "utimes",
    "utimensat",
    "futimesat",
    "getxattr",
    "lgetxattr",
    "fgetxattr",
    "listxattr",
    "llistxattr",
    "flistxattr",
    "removexattr",
    "lremovexattr",
    "fremovexattr",
    "cachestat",
    /* memory */
    "brk",
    "mmap",
    "mmap2",
    "munmap",
    "mremap",
    "mprotect",
    "msync",
    "mincore",
    "madvise",
    "mlock",
    "mlock2",
    "mlockall",
    "munlock",
    "munlockall",
    "membarrier",
    "pkey_alloc",
    "pkey_free",
    "pkey_mprotect",
    "map_shadow_stack",
    /* waiting */
    "poll",
    "ppoll",
    "select",
    "_newselect",
    "pselect6",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "eventfd",
    "eventfd2",
    "signalfd",
    "signalfd4",
    "timerfd_create",
    "timerfd_settime",
    "timerfd_gettime",
    "nanosleep",
    "clock_nanosleep",
    "pause",
    "alarm",
    "getitimer",
    "setitimer",
    "timer_create",
    "timer_settime",
    "timer_gettime",
    "timer_getoverrun",
    "timer_delete",
    "restart_syscall",
    "futex",
    "futex_waitv",
    "futex_wait",
    "futex_wake",
    "futex_requeue",
    "set_robust_list",
    "get_robust_list",
    "rseq",
    /* time */
    "time",
    "gettimeofday",
    "clock_gettime",
    "clock_getres",
    "times",
    /* processes, threads, signals */
    "fork",
    "vfork",
    "execve",
    "execveat",
    "exit",
    "exit_group",
    "wait4",
    "waitid",
    "waitpid",
    "kill",
    "tkill",
    "tgkill",
    "pidfd_open",
    "pidfd_send_signal",
    "getpid",
    "getppid",
    "gettid",
    "getpgid",
    "setpgid",
    "getpgrp",
    "getsid",
    "setsid",
    "set_tid_address",
    "set_thread_area",
    "get_thread_area",
    "arch_prctl",
    "prctl",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigpending",
    "rt_sigtimedwait",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    "rt_sigsuspend",
    "sigaltstack",
    "sigreturn",
    "sched_yield",
    "sched_getaffinity",
    "sched_getparam",
    "sched_getscheduler",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "sched_rr_get_interval",
    "sched_getattr",
    "getpriority",
    "ioprio_get",
    "getcpu",
    "getrlimit",
    "ugetrlimit",
    "setrlimit",
    "getrusage",
    "sysinfo",
    "uname",
    "getrandom",
    "seccomp",
    /* users: without capabilities, nothing can be gained by these */
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getgroups",
    "getresuid",
    "getresgid",
    "getuid32",
    "geteuid32",
    "getgid32",
    "getegid32",
    "getgroups32",
    "getresuid32",
    "getresgid32",
    "setuid",
    "setgid",
    "setgroups",
    "setreuid",
    "setregid",
    "setresuid",
    "setresgid",
    "setfsuid",
    "setfsgid",
    "capget",
    "capset",
    /* sockets; socket and socketpair are decided by family, below */
    "bind",
    "connect",
    "listen",
    "accept",
    "accept4",
    "getsockname",
    "getpeername",
    "getsockopt",
    "sendto",
    "recvfrom",
    "sendmsg",
    "recvmsg",
    "sendmmsg",
    "recvmmsg",
    "shutdown",
};

static const struct {
    int err;
    const char *name;
} refused[] = {
    /* namespaces, mounts, roots */
    {EPERM, "unshare"},
    {EPERM, "setns"},
    {EPERM, "mount"},
    {EPERM, "umount"},
    {EPERM, "umount2"},
    {EPERM, "pivot_root"},
    {EPERM, "chroot"},
    {ENOSYS, "open_tree"},
    {ENOSYS, "move_mount"},
    {ENOSYS, "fsopen"},
    {ENOSYS, "fsconfig"},
    {ENOSYS, "fsmount"},
    {ENOSYS, "fspick"},
    {ENOSYS, "mount_setattr"},
    /* Its flags are behind a pointer, where no filter can look. It must be ENOSYS, or glibc cannot start a
     * thread. Listed here although that is the default, because docker 20.10 ignores defaultErrnoRet. */
    {ENOSYS, "clone3"},
    {ENOSYS, "openat2"},
    /* other processes, the supervisor among them */
    {EPERM, "ptrace"},
    {EPERM, "process_vm_readv"},
    {EPERM, "process_vm_writev"},
    {EPERM, "kcmp"},
    {EPERM, "pidfd_getfd"},
    {EPERM, "process_madvise"},
    {EPERM, "process_mrelease"},
    /* kernel code with a bad security record and no use for data work */
    {EPERM, "bpf"},
    {EPERM, "perf_event_open"},
    {EPERM, "userfaultfd"},
    {EPERM, "io_uring_setup"},
    {EPERM, "io_uring_enter"},
    {EPERM, "io_uring_register"},
    {EPERM, "add_key"},
    {EPERM, "request_key"},
    {EPERM, "keyctl"},
    {EPERM, "fanotify_init"},
    {EPERM, "fanotify_mark"},
    {EPERM, "name_to_handle_at"},
    {EPERM, "open_by_handle_at"},
    {EPERM, "lookup_dcookie"},
    {EPERM, "vmsplice"},
    {EPERM, "modify_ldt"},
    {EPERM, "remap_file_pages"},
    {ENOSYS, "landlock_create_ruleset"},
    {ENOSYS, "landlock_add_rule"},
    {ENOSYS, "landlock_restrict_self"},
    {EPERM, "mbind"},
    {EPERM, "migrate_pages"},
    {EPERM, "move_pages"},
    {EPERM, "get_mempolicy"},
    {EPERM, "set_mempolicy"},
    {EPERM, "set_mempolicy_home_node"},
    /* They show who opens what in the folders of the host that bwrap binds; and instances are limited per
     * user, to 128. */
    {ENOSYS, "inotify_init"},
    {ENOSYS, "inotify_init1"},
    {ENOSYS, "inotify_add_watch"},
    {ENOSYS, "inotify_rm_watch"},
    /* these write out every file system of the host, for everybody; fsync does one file */
    {EPERM, "sync"},
    {EPERM, "syncfs"},
    /* administration of the host */
    {EPERM, "init_module"},
    {EPERM, "finit_module"},
    {EPERM, "delete_module"},
    {EPERM, "create_module"},
    {EPERM, "query_module"},
    {EPERM, "get_kernel_syms"},
    {EPERM, "kexec_load"},
    {EPERM, "kexec_file_load"},
    {EPERM, "reboot"},
    {EPERM, "swapon"},
    {EPERM, "swapoff"},
    {EPERM, "acct"},
    {EPERM, "quotactl"},
    {EPERM, "quotactl_fd"},
    {EPERM, "syslog"},
    {EPERM, "settimeofday"},
    {EPERM, "clock_settime"},
    {EPERM, "clock_settime64"},
    {EPERM, "clock_adjtime"},
    {EPERM, "clock_adjtime64"},
    {EPERM, "adjtimex"},
    {EPERM, "stime"},
    {EPERM, "sethostname"},
    {EPERM, "setdomainname"},
    {EPERM, "iopl"},
    {EPERM, "ioperm"},
    {EPERM, "vhangup"},
    {EPERM, "nfsservctl"},
    {EPERM, "uselib"},
    {EPERM, "ustat"},
    {EPERM, "sysfs"},
    {EPERM, "_sysctl"},
    {EPERM, "vm86"},
    {EPERM, "vm86old"},
    {EPERM, "mknod"},
    {EPERM, "mknodat"},
    /* System V memory outlives its processes, and no rlimit covers it */
    {ENOSYS, "shmget"},
    {ENOSYS, "msgget"},
    {ENOSYS, "semget"},
    /* security.* attributes, file capabilities, labels */
    {EOPNOTSUPP, "setxattr"},
    {EOPNOTSUPP, "lsetxattr"},
    {EOPNOTSUPP, "fsetxattr"},
};

/* The arguments after the name are comparisons: {argument, mask, value}. */
#define RULE(err_, name_, ...)                                                                             \
    fn(ctx,                                                                                                \
       &(struct seccomp_rule){.name = (name_),                                                             \
                              .err = (err_),                                                               \
                              .n = sizeof(struct seccomp_cmp[]){__VA_ARGS__} / sizeof(struct seccomp_cmp), \
                              .cmp = {__VA_ARGS__}})

/* AF_VSOCK and AF_ALG belong to no namespace, NETLINK and PACKET are attack surface, and raw IP is for
 * probing. Of the network families only plain TCP and UDP remain, for servers on the sandbox's own
 * loopback. */
static void walk_sockets(seccomp_fn *fn, void *ctx)
{
    static const char *const calls[] = {"socket", "socketpair"};
    static const struct {
        unsigned type, protocol;
    } inet[] = {{SOCK_STREAM, 0}, {SOCK_STREAM, 6}, {SOCK_DGRAM, 0}, {SOCK_DGRAM, 17}};
    static const unsigned families[] = {AF_INET, AF_INET6};

    for (size_t i = 0; i < countof(calls); i++) {
        RULE(0, calls[i], {0, LOW32, AF_UNIX});
        for (size_t f = 0; f < countof(families); f++)
            for (size_t k = 0; k < countof(inet); k++)
                RULE(0, calls[i], {0, LOW32, families[f]}, {1, 0xf, inet[k].type},
                     {2, LOW32, inet[k].protocol});
        /* families 16 to 31 and 48 and up: NETLINK, PACKET, BLUETOOTH */
        RULE(EAFNOSUPPORT, calls[i], {0, 0x10, 0x10});
        RULE(EAFNOSUPPORT, calls[i], {0, 0x20, 0x20}); /* 32 and up: ALG, VSOCK, QIPCRTR, XDP */
    }
}

/* SO_LINGER makes close() wait for as long as the code likes, in whichever process closes the socket, even
 * one that was sent it and drops it unseen. As for ioctl below, the rules allow every other level and
 * every other option. */
static void walk_linger(seccomp_fn *fn, void *ctx)
{
    for (unsigned bit = 0; bit < 32; bit++) {
        RULE(0, "setsockopt", {1, 1u << bit, ~(unsigned)SOL_SOCKET & (1u << bit)});
        RULE(0, "setsockopt", {2, 1u << bit, ~(unsigned)SO_LINGER & (1u << bit)});
    }
    RULE(EPERM, "setsockopt", {1, LOW32, SOL_SOCKET}, {2, LOW32, SO_LINGER});
}

static void walk_clone(seccomp_fn *fn, void *ctx)
{
    static const unsigned ns[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,   CLONE_NEWNET,
                                  CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP};
    unsigned all = 0;

    for (size_t i = 0; i < countof(ns); i++) {
        all |= ns[i];
        RULE(EPERM, "clone", {0, ns[i], ns[i]});
    }
    RULE(0, "clone", {0, all, 0});
    RULE(0, "personality", {0, LOW32, 0});
    RULE(0, "personality", {0, LOW32, LOW32}); /* only reads it */
}

/* Allow limits, priorities and processors only for the caller itself, written as pid 0. The supervisor has
 * the code's uid, and the kernel checks no more than that. */
static void walk_self(seccomp_fn *fn, void *ctx)
{
    static const char *const by_pid[] = {"prlimit64", "sched_setscheduler", "sched_setparam", "sched_setattr",
                                         "sched_setaffinity"};
    static const struct {
        const char *name;
        unsigned process;
    } by_kind[] = {{"setpriority", 0}, {"ioprio_set", 1}};

    for (size_t i = 0; i < countof(by_pid); i++) {
        RULE(0, by_pid[i], {0, LOW32, 0});
        for (unsigned bit = 0; bit < 32; bit++)
            RULE(EPERM, by_pid[i], {0, 1u << bit, 1u << bit});
    }
    for (size_t i = 0; i < countof(by_kind); i++) {
        RULE(0, by_kind[i].name, {0, LOW32, by_kind[i].process}, {1, LOW32, 0});
        for (unsigned bit = 0; bit < 32; bit++) {
            /* a process group or a user */
            RULE(EPERM, by_kind[i].name, {0, 1u << bit, (by_kind[i].process ^ 1u << bit) & 1u << bit});
            RULE(EPERM, by_kind[i].name, {0, LOW32, by_kind[i].process}, {1, 1u << bit, 1u << bit});
        }
    }
}

/* Leases and notifications on a folder reveal what the host does with its files and hold it up; write
 * hints change the host's inodes. What is not named here belongs to a newer kernel, or to none. */
static void walk_fcntl(seccomp_fn *fn, void *ctx)
{
    static const char *const calls[] = {"fcntl", "fcntl64"};
    static const unsigned yes[] = {
        F_DUPFD,
        F_DUPFD_CLOEXEC,
        1027 /* F_DUPFD_QUERY */,
        1028 /* F_CREATED_QUERY */,
        F_GETFD,
        F_SETFD,
        F_GETFL,
        F_SETFL,
        5,
        6,
        7,
        12,
        13,
        14 /* locks, by the old and the new numbers */,
        F_OFD_GETLK,
        F_OFD_SETLK,
        F_OFD_SETLKW,
        F_SETOWN,
        F_GETOWN,
        F_SETSIG,
        F_GETSIG,
        F_SETOWN_EX,
        F_GETOWN_EX,
        17 /* F_GETOWNER_UIDS */,
        F_GETLEASE,
        F_SETPIPE_SZ,
        F_GETPIPE_SZ,
        F_ADD_SEALS,
        F_GET_SEALS,
        F_GET_RW_HINT,
        F_GET_FILE_RW_HINT,
    };
    static const unsigned no[] = {F_SETLEASE, F_NOTIFY, F_SET_RW_HINT, F_SET_FILE_RW_HINT,
                                  1040 /* F_SETDELEG */};

    for (size_t c = 0; c < countof(calls); c++) {
        for (size_t i = 0; i < countof(yes); i++)
            RULE(0, calls[c], {1, LOW32, yes[i]});
        for (size_t i = 0; i < countof(no); i++)
            RULE(EPERM, calls[c], {1, LOW32, no[i]});
    }
}

/* TIOCSTI and TIOCLINUX put keystrokes into a terminal. A filter has no "not equal", so allow every
 * request that differs from 0x541? in one of the upper 28 bits, and fourteen of the sixteen that are
 * 0x541?. */
static void walk_ioctl(seccomp_fn *fn, void *ctx)
{
    const unsigned base = TIOCSTI & ~0xfu, sti = TIOCSTI & 0xf, lin = 0xc;

    for (unsigned bit = 4; bit < 32; bit++)
        RULE(0, "ioctl", {1, 1u << bit, ~base & (1u << bit)});
    for (unsigned low = 0; low < 16; low++) {
        if (low != sti && low != lin)
            RULE(0, "ioctl", {1, LOW32, base | low});
        else
            RULE(EPERM, "ioctl", {1, LOW32, base | low});
    }
}

/* No call may give a file a set-uid or set-gid bit, in whatever way it is made (systemd calls this
 * RestrictSUIDSGID). */
static void walk_modes(seccomp_fn *fn, void *ctx)
{
    static const struct {
        const char *name;
        unsigned mode;
    } makes[] = {
        {"chmod", 1}, {"fchmod", 1},  {"fchmodat", 2}, {"fchmodat2", 2},
        {"mkdir", 1}, {"mkdirat", 2}, {"creat", 1},
    };
    static const struct {
        const char *name;
        unsigned flags;
    } opens[] = {{"open", 1}, {"openat", 2}};
    static const unsigned bits[] = {S_ISUID, S_ISGID};
    const unsigned tmpfile = O_TMPFILE & ~O_DIRECTORY, make[] = {O_CREAT, tmpfile};

    for (size_t i = 0; i < countof(makes); i++) {
        RULE(0, makes[i].name, {makes[i].mode, S_ISUID | S_ISGID, 0});
        for (size_t b = 0; b < countof(bits); b++)
            RULE(EPERM, makes[i].name, {makes[i].mode, bits[b], bits[b]});
    }
    for (size_t i = 0; i < countof(opens); i++) {
        unsigned flags = opens[i].flags, mode = flags + 1;

        RULE(0, opens[i].name, {flags, O_CREAT | tmpfile, 0});
        for (size_t m = 0; m < countof(make); m++) {
            RULE(0, opens[i].name, {flags, make[m], make[m]}, {mode, S_ISUID | S_ISGID, 0});
            for (size_t b = 0; b < countof(bits); b++)
                RULE(EPERM, opens[i].name, {flags, make[m], make[m]}, {mode, bits[b], bits[b]});
        }
    }
}

void seccomp_walk(seccomp_fn *fn, void *ctx)
{
    for (size_t i = 0; i < countof(allowed); i++)
        fn(ctx, &(struct seccomp_rule){.name = allowed[i]});
    for (size_t i = 0; i < countof(refused); i++)
        fn(ctx, &(struct seccomp_rule){.name = refused[i].name, .err = refused[i].err});
    walk_sockets(fn, ctx);
    walk_linger(fn, ctx);
    walk_clone(fn, ctx);
    walk_self(fn, ctx);
    walk_fcntl(fn, ctx);
    walk_ioctl(fn, ctx);
    walk_modes(fn, ctx);
}
