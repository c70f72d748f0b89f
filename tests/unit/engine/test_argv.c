/* test_engine_argv.c - what each engine would be started with. No container is. */
#include "tests/unit/unit.h"

#include "base/argv.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "engine/attempt.h"
#include "engine/engine.h"
#include "engine/engines.h"
#include "engine/hard_limits.h"
#include "mount/mount.h"
#include "engine/options.h"
#include "process/child.h"

static char *added[] = {(char *)"word=1", NULL};
static const struct argv words = {added, 1, 0};
static const struct engine_options options = {
    .engine = "auto",
    .image = "img:1",
    .memory = 512 << 20,
    .cpus = 1.5,
    .pids = 77,
    .data_size = 100 << 20,
    .data_files = 1234,
    .tmp_size = 32 << 20,
    .file_size = 64 << 20,
    .words = &words,
    .open_files = 200,
};

static struct engine_plan plan_for_tests(const struct engine *engine)
{
    return (struct engine_plan){
        .engine = engine,
        .o = &options,
        .guest = "GUEST",
        .program = "/x/engine",
        .name = "sandpiper-0123456789abcdef",
        .owner = "h/b/n:1:2",
        .dir = "/run/d/in",
        .profile = "/run/d/seccomp",
        .uid = 23456,
        .channel = 7,
        .seccomp = 8,
        .info = 9,
        .holds_pids = true,
        .holds_memory = true,
        .holds_cpu = true,
    };
}

static int find(const struct argv *a, const char *word)
{
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->v[i], word) == 0)
            return (int)i;
    return -1;
}

static void has(const struct argv *a, const char *word)
{
    if (find(a, word) < 0)
        fail_msg("\"%s\" is not in the vector", word);
}

static void has_not(const struct argv *a, const char *word)
{
    if (find(a, word) >= 0)
        fail_msg("\"%s\" is in the vector", word);
}

/* The words follow each other somewhere. */
static bool pair(const struct argv *a, const char *word, const char *value)
{
    for (size_t i = 0; i + 1 < a->n; i++)
        if (strcmp(a->v[i], word) == 0 && strcmp(a->v[i + 1], value) == 0)
            return true;
    return false;
}

static void has_pair(const struct argv *a, const char *word, const char *value)
{
    if (!pair(a, word, value))
        fail_msg("\"%s %s\" is not in the vector", word, value);
}

static void check_container(const struct argv *a)
{
    has_pair(a, "--network", "none");
    has_pair(a, "--cap-drop", "ALL");
    has_pair(a, "--security-opt", "no-new-privileges");
    has_pair(a, "--security-opt", "seccomp=/run/d/seccomp");
    has_pair(a, "--user", "23456:23456");
    has_pair(a, "-e", "USER=sandpiper"); /* no image knows the uid */
    has_pair(a, "--pull", "never");
    has_pair(a, "--log-driver", "none");
    has_pair(a, "--ipc", "private");
    has_pair(a, "--cgroupns", "private");
    has_pair(a, "--name", "sandpiper-0123456789abcdef");
    has_pair(a, "--label", "sandpiper.owner=h/b/n:1:2");
    has_pair(a, "--ulimit", "core=0:0");
    autofree char *locked = xasprintf("memlock=%1$llu:%1$llu",
                                      (unsigned long long)hard_limit(RLIMIT_MEMLOCK, LOCKED_MOST));
    has_pair(a, "--ulimit", locked);
    has_pair(a, "--ulimit", "nofile=200:200");
    has_pair(a, "--ulimit", "sigpending=256:256");
    has(a, "nofile=0"); /* the engine has set it, for the supervisor too */
    has_pair(a, "--ulimit", "fsize=67108864:67108864");
    has_pair(a, "--shm-size", "33554432");
    has_pair(a, "-e", "http_proxy=");
    has_pair(a, "-e", "HTTPS_PROXY=");
    has_pair(a, "-e", "OPENBLAS_NUM_THREADS=2");
    has_pair(a, "-e", "MPLBACKEND=Agg");
    has_pair(a, "-w", "/mnt/data");
    has_pair(a, "--entrypoint", "python3");
    has(a, "--read-only");
    has(a, "--rm");
    has_pair(a, "img:1", "-I");
    has_pair(a, "-c", "GUEST");
    assert_string_equal(a->v[a->n - 4], "data=/mnt/data");
    assert_string_equal(a->v[a->n - 3], "told_pids=77"); /* for hints alone */
    assert_string_equal(a->v[a->n - 2], "told_memory=536870912");
    assert_string_equal(a->v[a->n - 1], "word=1"); /* what the room above adds */
    /* Never: a terminal, docker's init, the host's namespaces, more rights, the daemon's socket, an
     * upper-case short cut to any of it. */
    static const char *const never[] = {"-t",           "-it",      "-ti",      "--tty",         "--init",
                                        "--privileged", "-v",       "--volume", "--cap-add",     "--device",
                                        "--pid",        "--userns", "host",     "--network=host"};
    for (size_t i = 0; i < countof(never); i++)
        has_not(a, never[i]);
    for (size_t i = 0; i < a->n; i++)
        assert_null(strstr(a->v[i], ".sock"));
}

static void test_docker(void **state)
{
    (void)state;
    struct engine_plan p = plan_for_tests(&engine_docker);
    struct argv a = ARGV_INIT;

    p.engine->vector(&p, &a);
    check_container(&a);
    has_pair(&a, "run", "-d");
    has_pair(&a, "--memory", "536870912");
    has_pair(&a, "--memory-swap", "536870912");
    has_pair(&a, "--cpus", "1.5");
    has_pair(&a, "--pids-limit", "77");
    has_pair(&a, "--mount", "type=bind,src=/run/d/in,dst=/run/sandpiper,readonly");
    has_pair(&a, "--tmpfs",
             "/mnt/data:rw,nosuid,nodev,exec,mode=0700,uid=23456,gid=23456,size=104857600,nr_inodes=1234");
    has_pair(&a, "unix:/run/sandpiper/s", "nproc=0");
    has(&a, "files=0");
    has_not(&a, "--no-hosts");
    argv_release(&a);
}

/* Nothing in a user's path is another word of --mount. */
static void test_mount_source(void **state)
{
    (void)state;
    static const char *const dirs[][2] = {{"/a,dst=\"/etc\"/in", "\"src=/a,dst=\"\"/etc\"\"/in\""},
                                          {"/a b=c/in", "src=/a b=c/in"}};

    for (size_t i = 0; i < countof(dirs); i++) {
        struct engine_plan p = plan_for_tests(&engine_docker);
        struct argv a = ARGV_INIT;
        autofree char *value = xasprintf("type=bind,%s,dst=/run/sandpiper,readonly", dirs[i][1]);

        p.dir = dirs[i][0];
        p.engine->vector(&p, &a);
        has_pair(&a, "--mount", value);
        argv_release(&a);
    }
}

static const struct mounts two = {
    .v = {{.path = (char *)"/srv/a,b \"c", .inside = (char *)"/mnt/host/a_b_c"},
          {.path = (char *)"/srv/out", .inside = (char *)"/mnt/host/out", .write = true}},
    .n = 2};

/* Folders of the user's: read-only unless they are to be written, and what is inside is told to say so. */
static void test_mounts(void **state)
{
    (void)state;
    static const struct {
        const struct engine *engine;
        const char *ro, *rw;
    } rows[] = {
        {&engine_docker,
         "type=bind,\"src=/srv/a,b \"\"c\",dst=/mnt/host/a_b_c,readonly,bind-propagation=rprivate",
         "type=bind,src=/srv/out,dst=/mnt/host/out,bind-propagation=rprivate"},
        {&engine_podman,
         "type=bind,\"src=/srv/a,b \"\"c\",dst=/mnt/host/a_b_c,ro=true,bind-propagation=rprivate,"
         "bind-nonrecursive,nosuid,nodev,noexec",
         "type=bind,src=/srv/out,dst=/mnt/host/out,bind-propagation=rprivate,bind-nonrecursive,nosuid,nodev,"
         "noexec"},
    };
    struct engine_options o = options;
    struct argv a = ARGV_INIT;

    for (size_t i = 0; i < countof(rows); i++) {
        struct engine_plan p = plan_for_tests(rows[i].engine);

        p.engine->vector(&p, &a);
        has_not(&a, "mounts=/mnt/host");
        argv_release(&a);
        o.mounts = &two;
        p.o = &o;
        p.engine->vector(&p, &a);
        check_container(&a);
        has_pair(&a, "--mount", rows[i].ro);
        has_pair(&a, "--mount", rows[i].rw);
        has(&a, "mounts=/mnt/host");
        argv_release(&a);
    }
    struct engine_plan p = plan_for_tests(&engine_bwrap);
    p.o = &o;
    p.engine->vector(&p, &a);
    has_pair(&a, "--ro-bind", "/srv/a,b \"c");
    has_pair(&a, "/srv/a,b \"c", "/mnt/host/a_b_c");
    has_pair(&a, "--bind", "/srv/out");
    has_pair(&a, "/srv/out", "/mnt/host/out");
    assert_true(find(&a, "/srv/out") < find(&a, "--remount-ro")
                || find(&a, "--clearenv") > find(&a, "/srv/out"));
    argv_release(&a);
    p.staged = true; /* by root: bound from where they were put for it, never by their paths */
    p.engine->vector(&p, &a);
    has_pair(&a, "--ro-bind", STAGE_DIR "/0");
    has_pair(&a, "--bind", STAGE_DIR "/1");
    has_not(&a, "/srv/out");
    argv_release(&a);
}

/* Processes are those that were asked for: the snapshot is not the code's. */
static void test_snapshot_process(void **state)
{
    (void)state;
    struct engine_plan p = plan_for_tests(&engine_docker);
    struct engine_options o = *p.o;
    struct argv a = ARGV_INIT;

    o.snapshots = true;
    p.o = &o;
    p.engine->vector(&p, &a);
    has_pair(&a, "--pids-limit", "78");
    /* more than the worker's 150 could not be taken back in there */
    has_pair(&a, "--oom-score-adj", "100");
    has_pair(&a, "snapshots=1", "memory=536870912");
    argv_release(&a);
    p.holds_pids = p.holds_memory = false;
    p.engine = &engine_podman;
    p.engine->vector(&p, &a);
    has(&a, "nproc=78");
    has_pair(&a, "snapshots=1", "memory=0");
    argv_release(&a);
    p.holds_pids = false;
    p.holds_memory = true;
    p.engine = &engine_bwrap;
    p.engine->vector(&p, &a);
    has(&a, "nproc=78");
    has_pair(&a, "snapshots=1", "memory=536870912");
    argv_release(&a);
}

static void test_podman(void **state)
{
    (void)state;
    struct engine_plan p = plan_for_tests(&engine_podman);
    struct argv a = ARGV_INIT;

    const struct rlimit few = {1000, 1000}; /* for good, where root does not run the tests */
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NPROC, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_NPROC, &few), 0);
    p.engine->vector(&p, &a);
    check_container(&a);
    has(&a, "--no-hosts");
    has(&a, "--http-proxy=false");
    has(&a, "--read-only-tmpfs=false");
    has_pair(&a, "--ulimit", "nproc=1000:1000");
    (void)!setrlimit(RLIMIT_NPROC, &before);
    has_pair(&a, "unix:/run/sandpiper/s", "nproc=0");
    has(&a, "files=1234"); /* podman 4 cannot limit them */
    for (size_t i = 0; i < a.n; i++)
        assert_null(strstr(a.v[i], "nr_inodes"));
    argv_release(&a);

    p.runtime = "runc";
    p.engine->vector(&p, &a);
    assert_int_equal(find(&a, "--runtime"), 1); /* before "run": it is podman's own option */
    assert_string_equal(a.v[2], "runc");
    assert_string_equal(a.v[3], "run");
    argv_release(&a);
}

static void test_runtime(void **state)
{
    (void)state;
    struct engine_options o = options;
    struct engine_plan p = plan_for_tests(&engine_docker);
    struct argv a = ARGV_INIT;
    struct error err = {0};

    p.runtime = "runsc";
    p.engine->vector(&p, &a);
    assert_string_equal(a.v[1], "run"); /* docker has it as an option of run, podman before */
    assert_string_equal(a.v[2], "--runtime");
    assert_string_equal(a.v[3], "runsc");
    autofree char *pids = xasprintf("%d", 5 * plan_pids(p.o) + 64); /* its own threads count, too */
    autofree char *files = xasprintf("files=%d", p.o->data_files);  /* no inode limit of a tmpfs there */
    has_pair(&a, "--pids-limit", pids);
    has(&a, files);
    argv_release(&a);
    o.runtime = "runsc";
    for (int i = 0; i < 2; i++) { /* gVisor shares no socket: attached pipes at once */
        o.engine = i ? "podman" : "docker";
        assert_int_equal(engine_argv(&o, "G", 0, &a, &err), 1);
        has_pair(&a, "--runtime", "runsc");
        has(&a, "-i");
        has(&a, "stdio");
        has_not(&a, "--mount");
        argv_release(&a);
    }
    o.runtime = "kata";
    o.engine = "docker";
    assert_int_equal(engine_argv(&o, "G", 0, &a, &err), 1);
    has_pair(&a, "--runtime", "kata");
    has(&a, "-d");
    argv_release(&a);
    o.runtime = "runsc";
    o.engine = "bwrap";
    assert_int_equal(engine_argv(&o, "G", 0, &a, &err), -1);
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_non_null(strstr(err.text, "bwrap has no runtimes"));
    assert_true(*err.remedy);
    argv_release(&a);
    p.o = &o;
    assert_int_equal(
        p.engine->explain(&p, "docker: Error response from daemon: Unknown runtime specified runsc.", &err),
        FAULT_ABSENT);
    assert_non_null(strstr(message_of(&err), "unknown runtime runsc\ninstall gVisor (sudo runsc install"));
    p.engine = &engine_podman;
    assert_int_equal(
        p.engine->explain(&p, "Error: default OCI runtime \"runsc\" not found: invalid argument", &err),
        FAULT_ABSENT);
    assert_non_null(strstr(message_of(&err), "unknown runtime runsc\n"));
    p.runtime = "runsc"; /* what is to be tried by hand fails for the same reason */
    p.engine->explain(&p, "something new", &err);
    assert_non_null(strstr(message_of(&err), "podman --runtime runsc run --rm "));
    p.engine = &engine_docker;
    p.engine->explain(&p, "something new", &err);
    assert_non_null(strstr(message_of(&err), "docker run --rm --runtime runsc "));
}

static void test_without_control_groups(void **state)
{
    (void)state;
    struct engine_plan p = plan_for_tests(&engine_podman);
    struct argv a = ARGV_INIT;

    p.holds_cpu = false; /* podman refuses to start with a limit that it cannot hold */
    p.engine->vector(&p, &a);
    check_container(&a);
    has_pair(&a, "--memory", "536870912");
    has_not(&a, "--cpus");
    argv_release(&a);
    p.holds_pids = p.holds_memory = false;
    p.engine->vector(&p, &a);
    check_container(&a);
    has_not(&a, "--memory");
    has_not(&a, "--pids-limit");
    has_not(&a, "--cpus");
    has_pair(&a, "--ulimit", "data=536870912:536870912");
    has(&a, "nproc=77");
    argv_release(&a);
}

/* A sandbox with a name has no owner that it would die with. */
static void test_named(void **state)
{
    (void)state;
    struct engine_options o = options;
    struct engine_plan p = plan_for_tests(&engine_docker);
    struct argv a = ARGV_INIT;

    o.name = "work";
    p.o = &o;
    p.owner = "";
    p.info = 9;
    p.engine->vector(&p, &a);
    has_pair(&a, "--label", "sandpiper=1");
    has_pair(&a, "--label", "sandpiper.owner=");
    has_pair(&a, "--label", "sandpiper.name=work");
    argv_release(&a);
    p.engine = &engine_bwrap;
    p.engine->vector(&p, &a);
    has_not(&a, "--die-with-parent");
    has_pair(&a, "--info-fd", "9");
    has(&a, "--new-session");
    argv_release(&a);
}

static void test_stdio(void **state)
{
    (void)state;
    struct engine_plan p = plan_for_tests(&engine_docker);
    struct argv a = ARGV_INIT;

    p.stdio = true;
    p.engine->vector(&p, &a);
    check_container(&a);
    has_pair(&a, "run", "-i");
    has_not(&a, "-d");
    has_not(&a, "--mount");
    has_pair(&a, "stdio", "nproc=0");
    argv_release(&a);
}

static void test_bwrap(void **state)
{
    (void)state;
    static const char *const flags[] = {
        "--unshare-user",   "--unshare-ipc",    "--unshare-pid", "--unshare-net", "--unshare-uts",
        "--unshare-cgroup", "--disable-userns", "--new-session", "--as-pid-1",    "--clearenv"};
    struct engine_plan p = plan_for_tests(&engine_bwrap);
    struct argv a = ARGV_INIT;

    p.engine->vector(&p, &a);
    assert_string_equal(a.v[0], "/x/engine");
    for (size_t i = 0; i < countof(flags); i++)
        has(&a, flags[i]);
    has_pair(&a, "--uid", "65532");
    has_pair(&a, "--cap-drop", "ALL");
    /* it can be killed at a moment at which that leaves a child behind */
    has_not(&a, "--die-with-parent");
    has_pair(&a, "--add-seccomp-fd", "8");
    has_pair(&a, "--info-fd", "9");
    has_pair(&a, "--", "/usr/bin/python3"); /* never one from PATH */
    has_pair(&a, "GUEST", "fd:7");
    has_pair(&a, "fd:7", "nproc=0");
    has(&a, "files=1234");
    has_pair(&a, "--remount-ro", "/");
    has_pair(&a, "--remount-ro", "/dev");
    has_pair(&a, "--ro-bind", "/usr");
    has_pair(&a, "--ro-bind", "/proc/sys");
    has_pair(&a, "HOME", "/mnt/data");
    /* Each tmpfs has a size, and the root is made read-only after all of them. */
    int at = -1;
    for (size_t i = 0; i < a.n; i++)
        if (strcmp(a.v[i], "--tmpfs") == 0) {
            assert_string_equal(a.v[i - 4], "--size");
            assert_string_equal(a.v[i - 2], "--perms");
            at = (int)i;
        }
    assert_int_equal(find(&a, "/mnt/data"), at + 1);
    int root = -1;
    for (size_t i = 0; i + 1 < a.n; i++)
        if (strcmp(a.v[i], "--remount-ro") == 0 && strcmp(a.v[i + 1], "/") == 0)
            root = (int)i;
    assert_true(root > at);
    /* Nothing writable of the host, nothing of /home, /root, /var, /run. */
    has_not(&a, "--bind");
    has_not(&a, "--dev-bind");
    has_not(&a, "--share-net");
    for (size_t i = 0; i < a.n; i++)
        if (strcmp(a.v[i], "/home") != 0 && strcmp(a.v[i], "/home/user") != 0) /* a link to /mnt/data */
            assert_true(strncmp(a.v[i], "/home", 5) != 0 && strncmp(a.v[i], "/root", 5) != 0
                        && strncmp(a.v[i], "/var", 4) != 0 && strncmp(a.v[i], "/run", 4) != 0);
    has_pair(&a, "--dir", "/home");
    assert_string_equal(a.v[find(&a, "/home/user") - 2], "--symlink");
    argv_release(&a);

    p.holds_pids = false;
    p.engine->vector(&p, &a);
    has_pair(&a, "fd:7", "nproc=77");
    has(&a, "nofile=0");
    argv_release(&a);

    p.shares_user = true; /* an ordinary user's: the code's own limits are set inside */
    p.engine->vector(&p, &a);
    has_pair(&a, "nofile=200", "pending=256");
    argv_release(&a);

    p.info = -1;
    p.engine->vector(&p, &a);
    has_not(&a, "--info-fd");
    argv_release(&a);
}

static void test_dry_run(void **state)
{
    (void)state;
    struct error err = {0};
    struct argv a = ARGV_INIT;
    struct engine_options o = options;

    o.engine = "docker";
    assert_int_equal(engine_argv(&o, "G", 0, &a, &err), 1);
    assert_string_equal(a.v[0], "docker");
    has(&a, "img:1");
    argv_release(&a);
    o.engine = "vmware";
    assert_int_equal(engine_argv(&o, "G", 0, &a, &err), -1);
    assert_int_equal(err.kind, ERROR_USAGE);
    argv_release(&a);
}

struct saying {
    const struct engine *engine;
    const char *said, *cause, *remedy;
    enum engine_fault fault;
};

static void test_explanations(void **state)
{
    (void)state;
    static const struct saying sayings[] = {
        {&engine_docker, "docker: Error response from daemon: No such image: img:1.",
         "image img:1 is missing", "pull it (docker pull img:1), or check --image", FAULT_ABSENT},
        {&engine_podman, "Error: img:1: image not known", "image img:1 is missing",
         "pull it (podman pull img:1), or check --image", FAULT_ABSENT},
        {&engine_docker,
         "permission denied while trying to connect to the Docker daemon socket at "
         "unix:///var/run/docker.sock: dial unix "
         "/var/run/docker.sock: connect: permission denied",
         "permission denied", "usermod -aG docker", FAULT_ABSENT},
        {&engine_docker,
         "docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon "
         "running?.",
         "daemon is not running", "systemctl start docker", FAULT_ABSENT},
        {&engine_docker,
         "docker: failed to connect to the docker API at unix:///var/run/docker.sock; check if the path is "
         "correct and if the daemon is running: dial unix /var/run/docker.sock: connect: no such file or "
         "directory",
         "daemon is not running", "systemctl start docker", FAULT_ABSENT},
        {&engine_docker,
         "docker: Error response from daemon: invalid mount config for type \"bind\": bind source path does "
         "not exist: /x",
         "cannot share", "--sandbox", FAULT_SHARE},
        {&engine_podman,
         "Error: OCI runtime error: crun: cgroups in hybrid mode not supported, drop all controllers from "
         "cgroupv2",
         "hybrid mode", "podman run", FAULT_RUNTIME},
        {&engine_docker, "exec: \"python3\": executable file not found in $PATH: unknown.", "has no python3",
         "--image", FAULT_OTHER},
        {&engine_docker,
         "docker: Error response from daemon: OCI runtime start failed: starting container: setting up "
         "network: "
         "creating interfaces from net namespace \"/proc/1/ns/net\": cannot run with network enabled in root "
         "network namespace: unknown",
         "too old for this kernel", "runsc install -- --network=none", FAULT_OTHER},
        {&engine_docker, "something new", "something new", "docker run", FAULT_OTHER},
        {&engine_bwrap,
         "bwrap: No permissions to create new namespace, likely because the kernel does not allow it",
         "user namespace", "", FAULT_OTHER},
        {&engine_bwrap, "bwrap: Unknown option --disable-userns", "too old", "0.8", FAULT_OTHER},
        {&engine_bwrap, "bwrap: execvp /usr/bin/python3: No such file or directory", "no /usr/bin/python3",
         "apt install python3", FAULT_OTHER},
    };
    struct engine_plan p = plan_for_tests(NULL);

    for (size_t i = 0; i < countof(sayings); i++) {
        struct error err = {0};

        p.engine = sayings[i].engine;
        assert_int_equal(sayings[i].engine->explain(&p, sayings[i].said, &err), sayings[i].fault);
        assert_int_equal(err.kind, ERROR_SANDBOX);
        assert_true(*err.remedy && !strchr(err.remedy, '\n')); /* cause, remedy: two lines, no more */
        assert_non_null(strstr(err.text, sayings[i].cause));
        assert_non_null(strstr(err.remedy, sayings[i].remedy));
    }
}

/* What docker's daemon says of limits when it makes a container: which it does not hold at all. */
static void test_what_docker_cannot_hold(void **state)
{
    (void)state;
    static const struct {
        const char *said;
        unsigned unheld;
        const char *told;
    } rows[] = {
        {"", 0, NULL},
        {"WARNING: Your kernel does not support memory limit capabilities or the cgroup is not mounted. "
         "Limitation discarded.\n",
         ENGINE_ASKED_MEMORY, "cannot enforce every limit"},
        {"WARNING: Your kernel does not support PIDs limit capabilities or the cgroup is not mounted. PIDs "
         "limit discarded.\n",
         ENGINE_ASKED_PIDS, "cannot enforce every limit"},
        {"WARNING: Your kernel does not support swap limit capabilities or the cgroup is not mounted. Memory "
         "limited without swap.\n",
         0, "cannot enforce every limit"},
    };

    for (size_t i = 0; i < countof(rows); i++) {
        struct child client = {.err_text = BUF_INIT(4096)};
        const struct attempt a = {.engine = &engine_docker,
                                  .client = &client,
                                  .holds_memory = true,
                                  .holds_pids = true,
                                  .holds_cpu = true};
        unsigned unheld = 99;

        buf_addstr(&client.err_text, rows[i].said);
        const char *told = engine_docker.weakness(&a, &unheld);
        assert_int_equal(unheld, rows[i].unheld);
        if (rows[i].told)
            assert_non_null(strstr(told ? told : "", rows[i].told));
        else
            assert_null(told);
        buf_release(&client.err_text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_docker),
        cmocka_unit_test(test_mount_source),
        cmocka_unit_test(test_mounts),
        cmocka_unit_test(test_snapshot_process),
        cmocka_unit_test(test_podman),
        cmocka_unit_test(test_without_control_groups),
        cmocka_unit_test(test_named),
        cmocka_unit_test(test_stdio),
        cmocka_unit_test(test_runtime),
        cmocka_unit_test(test_bwrap),
        cmocka_unit_test(test_dry_run),
        cmocka_unit_test(test_explanations),
        cmocka_unit_test(test_what_docker_cannot_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
