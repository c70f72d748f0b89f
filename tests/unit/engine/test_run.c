/* test_run.c - runs against engines that are shell scripts, records and caches in a folder of the
 * test, and one real bwrap. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "engine/engine.h"
#include "engine/engine_cache.h"
#include "engine/uids.h"
#include "engine_place.h"
#include "mount/mount.h"
#include "process/child.h"
#include "records/owner.h"
#include "records/record.h"
#include "records/run_dir.h"

static void test_nothing_installed(void **state)
{
    struct place *p = *state;

    setenv("PATH", "/nonexistent", 1);
    struct engine_run *r = begin(p, "G");
    assert_int_equal(p->told, 0); /* never from inside engine_begin */
    wait_told(p, 1);
    assert_int_equal(p->status, -1);
    assert_int_equal(p->err.kind, ERROR_SANDBOX);
    assert_int_equal(error_exit_code(&p->err), 3);
    assert_non_null(strstr(message_of(&p->err), "cannot run code: none of docker, podman and bubblewrap is "
                                                "installed\nQuickest: sudo apt install bubblewrap"));
    engine_end(r);
}

/* bwrap is there and fails: installing it would not help. */
static void nothing_works(struct place *p, const char *script)
{
    fake(p, "bwrap", script);
    struct engine_run *r = begin(p, "G");
    wait_told(p, 1);
    if (p->status == 0) { /* it went on before bwrap had failed: its channel is closed */
        engine_reject(r, "it hung up");
        wait_told(p, 2);
    }
    assert_int_equal(p->status, -1);
    assert_non_null(strstr(p->err.text, "; bwrap: user namespaces are not allowed here ("));
    assert_non_null(strstr(message_of(&p->err), "\nsandpiper doctor says how to fix each"));
    engine_end(r);
}

static void test_nothing_works(void **state)
{
    nothing_works(*state, "echo 'bwrap: No permissions to create new namespace' >&2; exit 1");
}

/* AppArmor lets a namespace be made, and takes the rights in it. */
static void test_no_rights_in_a_namespace(void **state)
{
    nothing_works(*state, "echo 'bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted' >&2; exit 1");
}

static void test_by_name_is_not_replaced(void **state)
{
    struct place *p = *state;

    fake(p, "docker", "echo 'docker: Error response from daemon: No such image: img:1.' >&2; exit 125");
    fake(p, "bwrap", "sleep 5");
    p->o.engine = "docker";
    struct engine_run *r = begin(p, "G");
    wait_told(p, 1);
    assert_int_equal(p->status, -1);
    assert_string_equal(message_of(&p->err),
                        "docker: image img:1 is missing\npull it (docker pull img:1), or check --image");
    assert_string_equal(buf_str(&p->notices), "");
    engine_end(r);
    assert_true(run_dir_empty());
}

static void test_unknown_name(void **state)
{
    struct place *p = *state;

    p->o.engine = "vmware";
    struct engine_run *r = begin(p, "G");
    wait_told(p, 1);
    assert_int_equal(p->err.kind, ERROR_USAGE);
    engine_end(r);
}

/* A client that was killed may have made a container: it is removed, even if that is refused at first. */
static void test_client_is_killed(void **state)
{
    struct place *p = *state;
    autofree char *made = xasprintf("%s/made", p->dir),
                  *script = xasprintf("PATH=/usr/bin:/bin; cd %s; case $1 in\n"
                                      "run) : > made; kill -9 $$;;\n"
                                      "rm) [ ! -e tried ] || { rm made; exit; }; : > tried\n"
                                      "echo 'Could not kill running container' >&2; exit 1;;\n"
                                      "esac",
                                      p->dir);

    fake(p, "docker", script);
    p->o.engine = "docker";
    struct engine_run *r = begin(p, "G");
    wait_told(p, 1);
    assert_int_equal(p->status, -1);
    engine_end(r);
    wait_run_dir_empty();
    assert_int_not_equal(access(made, F_OK), 0);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

/* What is not there is a detail; what is there and fails is told. */
static void test_auto_goes_on(void **state)
{
    struct place *p = *state;

    if (geteuid() != 0)
        skip(); /* the order is another */
    fake(p, "docker",
         "echo 'Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?' >&2; exit "
         "125");
    fake(p, "podman", "case $1 in run) echo 'Error: the moon is full' >&2; exit 126;; esac");
    struct engine_run *r = begin(p, "G");
    wait_told(p, 1);
    assert_int_equal(p->status, -1);
    assert_string_equal(buf_str(&p->notices),
                        "(detail) docker cannot start (the daemon is not running); trying podman\n"
                        "podman cannot start (Error: the moon is full); trying bwrap\n");
    engine_end(r);
    wait_run_dir_empty();
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

/* auto takes no engine of another machine; a socket of this one is none, and who names the engine gets it. */
static void test_auto_stays_here(void **state)
{
    static const struct {
        const char *engine, *host;
        bool asked;
    } rows[] = {
        {"auto", "ssh://elsewhere", false},      {"auto", "tcp://10.0.0.1:2376", false},
        {"auto", "unix:///x/docker.sock", true}, {"auto", "", true},
        {"docker", "ssh://elsewhere", true},
    };
    struct place *p = *state;
    autofree char *log = xasprintf("%s/log", p->dir), *script = xasprintf("echo $1 >> %s; exit 1", log);

    fake(p, "docker", script);
    for (size_t i = 0; i < countof(rows); i++) {
        unlink(log);
        setenv("DOCKER_HOST", rows[i].host, 1);
        p->o.engine = rows[i].engine;
        struct engine_run *r = begin(p, "G");
        wait_told(p, (int)i + 1);
        assert_int_equal(p->status, -1);
        assert_int_equal(access(log, F_OK) == 0, rows[i].asked);
        assert_int_equal(strstr(p->err.text, "docker: DOCKER_HOST is") != NULL, !rows[i].asked);
        engine_end(r);
    }
    unsetenv("DOCKER_HOST");
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

static void test_flood_on_stderr(void **state)
{
    struct place *p = *state;

    fake(p, "docker", "PATH=/usr/bin:/bin; head -c 30000000 /dev/zero | tr '\\0' x >&2; exit 125");
    p->o.engine = "docker";
    struct engine_run *r = begin(p, "G");
    wait_told(p, 1);
    assert_int_equal(p->status, -1);
    assert_true(strlen(p->err.text) < sizeof p->err.text);
    engine_end(r);
}

/* podman's crun on a hybrid hierarchy: once more with runc. */
static void test_podman_runtime(void **state)
{
    struct place *p = *state;

    fake(p, "runc", "exit 0");
    fake(p, "podman",
         "if [ \"$1\" = run ]; then echo 'Error: crun: cgroups in hybrid mode not supported' >&2; exit 126; "
         "fi\n"
         "if [ \"$1 $2\" = '--runtime runc' ]; then echo 'Error: now it is runc' >&2; exit 126; fi");
    p->o.engine = "podman";
    struct engine_run *r = begin(p, "G");
    wait_told(p, 1);
    assert_non_null(strstr(p->err.text, "now it is runc"));
    engine_end(r);
}

/* A daemon that cannot see our directory: attached pipes. */
static void test_stdio(void **state)
{
    struct place *p = *state;
    char text[64];

    fake(p, "docker",
         "case \" $* \" in\n"
         "*' rm -f '*) exit 0;;\n"
         "*' run -d '*) echo 'invalid mount config for type \"bind\": bind source path does not exist' >&2; "
         "exit 125;;\n"
         "*' run -i '*) read -r x; echo \"got $x\"; read -r y;;\n"
         "esac");
    p->o.engine = "docker";
    struct engine_run *r = begin(p, "G");
    wait_told(p, 1);
    assert_int_equal(p->status, 0);
    assert_int_not_equal(engine_facts(r).channel, engine_facts(r).channel_out);
    assert_int_equal(write(engine_facts(r).channel_out, "!\n", 2), 2);
    struct pollfd fd = {.fd = engine_facts(r).channel, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 5000), 1);
    ssize_t n = read(fd.fd, text, sizeof text - 1);
    assert_true(n > 0);
    text[n] = '\0';
    assert_string_equal(text, "got N!\n"); /* first the byte N: no listener */
    char why[100];
    assert_true(engine_alive(r, why, sizeof why));
    engine_accept(r, "3.11", "numpy 1.24");
    engine_end(r);
    wait_run_dir_empty();

    struct engine_cached m;
    assert_true(engine_cache_load(&p->o, &m));
    assert_true(m.stdio);
    assert_string_equal(m.packages, "numpy 1.24");
    engine_cache_release(&m);
}

/* Attached pipes may have been necessary only once: what cannot be had over them tries the socket again. */
static void test_stdio_is_not_for_all(void **state)
{
    struct place *p = *state;
    struct mounts mounts = {.n = 1, .v = {{.path = (char *)"/srv/x", .inside = (char *)"/mnt/host/x"}}};
    const struct engine_cached pipes = {.engine = (char *)"docker", .stdio = true};

    fake(p, "docker", "case \" $* \" in *' run -d '*) echo 'the moon is full' >&2; exit 125;; esac");
    p->o.engine = "docker";
    engine_cache_store(&p->o, &pipes);
    for (int i = 0; i < 2; i++) {
        p->o.name = i ? NULL : "work";
        p->o.mounts = i ? &mounts : NULL;
        struct engine_run *r = begin(p, "G");
        wait_told(p, i + 1);
        assert_int_equal(p->status, -1);
        assert_string_equal(p->err.text, "docker: the moon is full");
        engine_end(r);
    }
}

/* The keeper of our only start; it gives itself its name. */
static pid_t keeper_pid(void)
{
    autofree char *children = xasprintf("/proc/self/task/%d/children", (int)getpid());
    int64_t end = clock_ms() + 5000;
    char name[16];
    int pid = 0;

    for (;; usleep(10000)) {
        FILE *f = fopen(children, "re");

        assert_non_null(f);
        while (fscanf(f, "%d", &pid) == 1) {
            autofree char *comm = xasprintf("/proc/%d/comm", pid);
            FILE *c = fopen(comm, "re");
            bool found = c && fscanf(c, "%15s", name) == 1 && !strcmp(name, "sp-keeper");

            if (c)
                fclose(c);
            if (found) {
                fclose(f);
                return pid;
            }
        }
        fclose(f);
        assert_true(clock_ms() < end);
    }
}

/* Somebody has killed the keeper: at the program's end another one does its work. */
static void test_keeper_is_killed(void **state)
{
    struct place *p = *state;
    const struct engine_cached pipes = {.engine = (char *)"docker", .stdio = true};

    signal(SIGPIPE, SIG_IGN); /* as in the program */
    fake(p, "docker", "case $1 in run) read -r x; read -r y;; esac");
    p->o.engine = "docker";
    engine_cache_store(&p->o, &pipes);
    struct engine_run *r = begin(p, "G");
    wait_told(p, 1);
    assert_int_equal(p->status, 0);
    pid_t keeper = keeper_pid();
    assert_int_equal(kill(keeper, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)keeper, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
    engine_end_in_background(r);
    wait_run_dir_empty();
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

static void test_memory(void **state)
{
    struct place *p = *state;
    struct engine_cached m = {.engine = (char *)"docker",
                              .python = (char *)"3.9",
                              .packages = (char *)"",
                              .runtime = NULL},
                         got;
    struct engine_cached known;

    assert_false(engine_cache_load(&p->o, &got));
    fake(p, "docker", "exit 1");
    engine_cache_store(&p->o, &m);
    assert_true(engine_from_cache(&p->o, &known));
    assert_string_equal(known.engine, "docker");
    assert_string_equal(known.python, "3.9");
    assert_string_equal(known.packages, "");
    engine_cache_release(&known);
    /* Other options, another version of the client: not known. */
    p->o.memory++;
    assert_false(engine_cache_load(&p->o, &got));
    p->o.memory--;
    fake(p, "docker", "exit 12");
    assert_false(engine_cache_load(&p->o, &got));
    /* A runtime is a program: only one that a start from here can have had. */
    fake(p, "podman", "exit 1");
    static const char *const runtimes[] = {"runc", "/tmp/evil", "../evil", "sh"};
    for (size_t i = 0; i < countof(runtimes); i++) {
        struct engine_cached had = {.engine = (char *)"podman", .runtime = (char *)runtimes[i]};

        engine_cache_store(&p->o, &had);
        assert_true(engine_cache_load(&p->o, &got));
        assert_int_equal(got.runtime != NULL, i == 0);
        engine_cache_release(&got);
    }
    /* Garbage is not an error. */
    autofree char *file = xdg_path(XDG_CACHE, "engine");
    static const char *const garbage[] = {"",      "{",      "[1,2]",     "[{}]", "[{\"key\":3}]",
                                          "\"x\"", "[[[[[[", "{\"a\":[]}"};
    for (size_t i = 0; i < countof(garbage); i++) {
        assert_int_equal(file_write(file, garbage[i], strlen(garbage[i]), NULL), 0);
        assert_false(engine_cache_load(&p->o, &got));
        engine_cache_store(&p->o, &m);
        assert_true(engine_cache_load(&p->o, &got));
        engine_cache_release(&got);
    }
}

static void test_host_python(void **state)
{
    struct place *p = *state;
    static const char *const dirs[] = {"usr/bin",
                                       "usr/lib/python3/dist-packages/numpy-1.24.2.egg-info",
                                       "usr/local/lib/python3.11/dist-packages/scikit_learn-1.2.1.dist-info",
                                       "usr/lib/python3/dist-packages/pandas-2.egg-info",
                                       "usr/lib/python3/dist-packages/Pillow-9.4.egg-info",
                                       "usr/lib/python3/dist-packages/scipy-1.10.dist-info",
                                       "usr/lib/python3/dist-packages/numpydoc-9.9.dist-info",
                                       "usr/lib/python3/dist-packages/.egg-info"};
    char *python = NULL, *packages = NULL;

    assert_false(engine_host_python(p->dir, &python, &packages));
    for (size_t i = 0; i < countof(dirs); i++) {
        autofree char *dir = xasprintf("%s/%s", p->dir, dirs[i]);
        assert_int_equal(file_mkdirs(dir, 0755, NULL), 0);
    }
    autofree char *link = xasprintf("%s/usr/bin/python3", p->dir);
    assert_int_equal(symlink("python3.11", link), 0);
    assert_true(engine_host_python(p->dir, &python, &packages));
    assert_string_equal(python, "3.11");
    assert_string_equal(packages, "numpy 1.24, pandas 2, scipy 1.10, scikit-learn 1.2, pillow 9.4");
    free(python);
    free(packages);
}

static void test_owner(void **state)
{
    (void)state;
    autofree char *me = owner_self(), *group = owner_group_name(), *renamed = xasprintf("elsewhere%s", me),
                  *other = xstrdup(renamed);

    strchr(other, '/')[1] = 'x'; /* another boot, of another host */
    assert_int_equal(owner_check(me), OWNER_ALIVE);
    assert_int_equal(owner_check(renamed), OWNER_ALIVE);
    assert_int_equal(owner_check_group(group), OWNER_ALIVE);
    assert_int_equal(owner_check(other), OWNER_ELSEWHERE);
    assert_int_equal(owner_check(""), OWNER_ELSEWHERE);
    assert_int_equal(owner_check("a/b/c:1"), OWNER_ELSEWHERE);
    assert_int_equal(owner_check(other + strlen("elsewhere")), OWNER_BEFORE_BOOT);
    *strrchr(me, ':') = '\0';
    autofree char *reused = xasprintf("%s:1", me); /* our pid, but it started at another time */
    assert_int_equal(owner_check(reused), OWNER_DEAD);
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    *strrchr(me, ':') = '\0';
    autofree char *dead = xasprintf("%s:%d:5", me, (int)pid);
    assert_int_equal(owner_check(dead), OWNER_DEAD);
    assert_true(owner_dead(dead) && !owner_dead(other) && !owner_dead(""));
    /* written by one that could not read when it started, or which boot this is: only kill() can tell */
    autofree char *unread = xasprintf("%s:%d:0", me, (int)getpid()),
                  *over = xasprintf("%s:%d:0", me, (int)pid),
                  *unbooted = xasprintf("%.*s/unknown/%s", (int)strcspn(me, "/"), me,
                                        strrchr(unread, '/') + 1);
    assert_int_equal(owner_check(unread), OWNER_ALIVE);
    assert_int_equal(owner_check(unbooted), OWNER_ALIVE);
    assert_int_equal(owner_check(over), OWNER_DEAD);
    assert_int_equal(owner_check_group("sandpiper-x"), OWNER_ELSEWHERE);
    assert_int_equal(owner_check_group("sandpiper-1-1-ffffffff"), OWNER_DEAD);
    /* of another pid namespace, which shares the place */
    autofree char *foreign = xasprintf("%.*s-1", (int)(strrchr(group, '-') - group), group);
    assert_int_equal(owner_check_group(foreign), OWNER_ELSEWHERE);
    *strchr(foreign + strlen("sandpiper-"), '-') = '\0';
    autofree char *gone = xasprintf("%s-1-ffffffff%s", foreign, strrchr(group, '-'));
    assert_int_equal(owner_check_group(gone), OWNER_DEAD);
}

/* Whoever tells this host its users: what is read instead of asked says the same. */
static void test_host_users(void **state)
{
    const struct passwd *user;

    (void)state;
    setpwent();
    for (int n = 0; n < 1000 && (user = getpwent()) != NULL; n++)
        if (!host_has_user(user->pw_uid))
            fail_msg("uid %u, %s, is not found", user->pw_uid, user->pw_name);
    endpwent();
    assert_true(host_has_user(0));
    for (unsigned uid = 20000; uid < 20100; uid++)
        assert_int_equal(host_has_user(uid), getpwuid(uid) != NULL);
    assert_false(host_has_user(0x7ffffffe));
}

/* A record keeps a container's uid from the next one, also while it is being removed. */
static void test_own_uid(void **state)
{
    (void)state;
    struct run_dir d;
    struct error err;

    for (int i = 0; i < 100; i++) {
        unsigned uid = uid_range_draw();

        assert_true(uid >= 20000 && uid < 60000);
        assert_null(getpwuid(uid));
    }
    assert_int_equal(run_dir_make(&d, &err), 0);
    assert_false(run_dir_has_uid(23456));
    autofree char *self = owner_self();
    assert_int_equal(record_write(&(struct record){.dir = d.path, .owner = self, .uid = 23456}, &err), 0);
    assert_true(run_dir_has_uid(23456));
    assert_false(run_dir_has_uid(23457));
    run_dir_remove(&d);
    assert_false(run_dir_has_uid(23456));
}

/* A supervisor of another uid connects, gets the byte and the listener; our own uid does not get in, and
 * later nobody else does. */
static void test_hand_over(void **state)
{
    (void)state;
    struct run_dir d;
    struct error err;
    struct stat st;
    pid_t peer = 0;

    if (geteuid() != 0)
        skip();
    assert_int_equal(run_dir_make(&d, &err), 0);
    assert_int_equal(stat(d.in, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0711);
    assert_int_equal(stat(d.path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    int listener = run_dir_listen(&d, true, &err);
    assert_true(listener >= 0);
    assert_int_equal(run_dir_accept(&d, listener, &peer), -1);
    assert_int_equal(errno, EAGAIN);

    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "%.90s/s", d.in);
    int mine = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(mine, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(run_dir_accept(&d, listener, &peer), -1); /* root: not the container */
    close(mine);

    int theirs = socket(AF_UNIX, SOCK_STREAM, 0), dir = open(d.in, O_PATH | O_DIRECTORY);
    pid_t pid = fork();
    if (pid == 0) {
        char byte, space[CMSG_SPACE(sizeof(int))];
        struct iovec part = {&byte, 1};
        struct msghdr m = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};

        /* as a bind mount would let it in */
        if (setgid(65532) != 0 || setuid(65532) != 0 || fchdir(dir) != 0)
            _exit(1);
        struct sockaddr_un s = {.sun_family = AF_UNIX, .sun_path = "s"};
        if (connect(theirs, (struct sockaddr *)&s, sizeof s) != 0 || recvmsg(theirs, &m, 0) != 1)
            _exit(2);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        if (byte != 'L' || !c || c->cmsg_type != SCM_RIGHTS)
            _exit(3);
        /* The code has the same uid; it must not get in any more. */
        int again = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(again, (struct sockaddr *)&s, sizeof s) == 0 || errno != EACCES)
            _exit(4);
        if (open("x", O_CREAT | O_WRONLY, 0600) >= 0 || unlink("s") == 0)
            _exit(5);
        _exit(0);
    }
    close(theirs);
    struct pollfd fd = {.fd = listener, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 5000), 1);
    int channel = run_dir_accept(&d, listener, &peer);
    assert_true(channel >= 0);
    assert_int_equal(peer, pid);
    assert_int_equal(run_dir_hand_over(channel, listener), 0);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close(channel);
    close(listener);
    close(dir);
    run_dir_remove(&d);
    assert_true(run_dir_empty());
}

/* ---- the real thing ---- */

static const char guest[] =
    "import os, socket, sys\n"
    "s = socket.socket(fileno=int(sys.argv[1][3:]))\n"
    "b = s.recv(1)\n"
    "u = open('/proc/self/uid_map').read().split()\n"
    "st = dict(l.split(':', 1) for l in open('/proc/self/status'))\n"
    "s.sendall(('%s pid %d cwd %s env %s map %s caps %s nnp %s sec %s\\n' % (b, os.getpid(), os.getcwd(), "
    "'SECRET_KEY' in os.environ, u[1], "
    "st['CapBnd'].strip(), st['NoNewPrivs'].strip(), st['Seccomp'].strip())).encode())\n"
    "s.recv(1)\n";

static void need_bwrap(void)
{
    char *const argv[] = {(char *)"bwrap",
                          (char *)"--unshare-all",
                          (char *)"--ro-bind",
                          (char *)"/",
                          (char *)"/",
                          (char *)"true",
                          NULL};
    struct child *c = child_run(
        &(struct child_options){
            .argv = argv, .deadline_ms = 10000, .in = CHILD_NULL, .out = CHILD_KEPT, .err = CHILD_KEPT},
        NULL);
    bool works = c && child_ok(c);

    child_free(c);
    if (works)
        return;
    if (getenv("SANDPIPER_TEST_ENGINES"))
        fail_msg("bwrap is required and does not work");
    skip();
}

/* The real uid of our one child, from outside. */
static unsigned uid_of(int pid)
{
    autofree char *status = xasprintf("/proc/%d/status", pid);
    FILE *f = fopen(status, "re");
    unsigned uid = 0;
    char line[256];

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Uid: %u", &uid) == 1)
            break;
    if (f)
        fclose(f);
    return uid;
}

/* The uid of a sandbox, but for the one that has this uid; what still sees to the end of earlier ones is
 * root's. */
static unsigned child_uid(unsigned but)
{
    autofree char *children = xasprintf("/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(children, "re");
    unsigned most = 0, uid;
    int pid = 0;

    assert_non_null(f);
    while (fscanf(f, "%d", &pid) == 1)
        if ((uid = uid_of(pid)) != but && uid > most)
            most = uid;
    fclose(f);
    return most;
}

static void test_real_bwrap(void **state)
{
    struct place *p = *state;
    char text[512] = "", why[100];

    need_bwrap();
    setenv("SECRET_KEY", "x", 1);
    p->o.engine = "bwrap";
    struct engine_run *r = begin(p, guest);
    wait_told(p, 1);
    assert_int_equal(p->status, 0);
    struct pollfd fd = {.fd = engine_facts(r).channel, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 10000), 1);
    assert_true(read(fd.fd, text, sizeof text - 1) > 0);
    assert_non_null(
        strstr(text, "b'N' pid 1 cwd /mnt/data env False map 0 caps 0000000000000000 nnp 1 sec 2"));
    assert_true(engine_alive(r, why, sizeof why));
    assert_string_equal(engine_facts(r).name, "bwrap");
    if (geteuid() == 0)
        assert_true(child_uid(0) >= 0x70000000u); /* uid 0 of the host never runs a cell */
    engine_end(r);
    assert_true(run_dir_empty());
    unsetenv("SECRET_KEY");
}

/* Two sandboxes of one program, as of --verify, count against no limit of each other's. */
static void test_each_real_bwrap_has_its_uid(void **state)
{
    struct place *p = *state;

    need_bwrap();
    if (geteuid() != 0)
        skip(); /* an ordinary user has no other uid to give */
    p->o.engine = "bwrap";
    struct engine_run *one = begin(p, guest), *other = begin(p, guest);
    wait_told(p, 2);
    assert_int_equal(p->status, 0);
    assert_true(child_uid(child_uid(0)) >= 0x70000000u);
    engine_end(one);
    engine_end(other);
    assert_true(run_dir_empty());
}

static void test_real_bwrap_bad_guest(void **state)
{
    struct place *p = *state;

    need_bwrap();
    p->o.engine = "bwrap";
    struct engine_run *r = begin(
        p, "import os, sys\nos.read(int(sys.argv[1][3:]), 1)\nsys.exit('no such luck')");
    wait_told(p, 1);
    struct pollfd fd = {.fd = engine_facts(r).channel, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 10000), 1);
    engine_reject(r, "it hung up");
    assert_int_equal(p->told, 1);
    wait_told(p, 2);
    assert_int_equal(p->status, -1);
    assert_non_null(strstr(p->err.text, "no such luck")); /* its own last words, not only ours */
    engine_end(r);
    assert_true(run_dir_empty());
}

static int count_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* However far a start comes with so few descriptors, those that it had are closed when it is ended. */
static void few_descriptors(struct place *p)
{
    int before = count_descriptors(), lowest = dup(0), more = 0;
    struct rlimit limit, few;

    close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    for (p->status = -1; p->status != 0 && more < 40; more++) {
        p->told = 0;
        few = (struct rlimit){(rlim_t)(lowest + more), limit.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        struct engine_run *r = begin(p, guest);
        while (!p->told)
            loop_wait(p->loop, 100);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        engine_end(r);
        if (count_descriptors() != before)
            fail_msg("%d descriptors more, after a start with %d", count_descriptors() - before, more);
    }
    if (more < 4 || p->status != 0)
        fail_msg("%d more descriptors, status %d: %s", more, p->status, p->err.text);
}

static void test_few_descriptors(void **state)
{
    struct place *p = *state;

    p->o.engine = "docker";
    p->o.runtime = "runsc"; /* attached pipes */
    signal(SIGPIPE, SIG_IGN);
    fake(p, "docker", "case \" $* \" in *' -i '*) read -r x; read -r y;; esac");
    few_descriptors(p);
}

static void test_few_descriptors_bwrap(void **state)
{
    struct place *p = *state;

    need_bwrap();
    p->o.engine = "bwrap";
    few_descriptors(p);
}

/* Ended in the middle of everything, nothing is left. */
static void test_end_at_any_time(void **state)
{
    struct place *p = *state;

    need_bwrap();
    p->o.engine = "bwrap";
    engine_end(NULL);
    engine_end(begin(p, guest));
    assert_int_equal(p->told, 0);
    for (int steps = 1; steps < 4; steps++) {
        struct engine_run *r = begin(p, guest);
        for (int i = 0; i < steps; i++)
            loop_wait(p->loop, 5);
        engine_end(r);
        assert_true(run_dir_empty());
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_nothing_installed),
        T(test_nothing_works),
        T(test_no_rights_in_a_namespace),
        T(test_by_name_is_not_replaced),
        T(test_unknown_name),
        T(test_client_is_killed),
        T(test_auto_goes_on),
        T(test_auto_stays_here),
        T(test_flood_on_stderr),
        T(test_podman_runtime),
        T(test_stdio),
        T(test_stdio_is_not_for_all),
        T(test_keeper_is_killed),
        T(test_memory),
        T(test_host_python),
        T(test_owner),
        T(test_own_uid),
        T(test_host_users),
        T(test_hand_over),
        T(test_real_bwrap),
        T(test_each_real_bwrap_has_its_uid),
        T(test_real_bwrap_bad_guest),
        T(test_end_at_any_time),
        T(test_few_descriptors),
        T(test_few_descriptors_bwrap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
