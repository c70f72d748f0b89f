/* inside.c - what runs on the other machine. It is a parent of the walls, which lives as long as they do: it
 * ends them when the channel is closed and they do not end by themselves, and removes their control group.
 *
 * Its words come over a channel that the user has chosen (ssh, srun), and are checked all the same.
 */
#include "engine/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/bwrap.h"
#include "engine/hard_limits.h"
#include "engine/inside_apptainer.h"
#include "engine/options.h"
#include "limits/cgroup.h"
#include "limits/seccomp.h"
#include "process/child.h"
#include "records/owner.h"

#define END_MS  2000 /* for everything to be gone once the channel is closed */
#define STEP_MS 200  /* between looks whether it is closed */

/* As far as the common parts ask: it is bwrap's. */
static const struct engine here = {
    .name = "bwrap", .host_python = true, .users_uid = true, .processes_fresh = 1, .processes_ours = 8};

struct inside {
    struct engine_options o;
    const char *nonce, *walls, *image;
    char *const *python; /* Python's words */
    struct cgroup group;
    char *program; /* bwrap or apptainer */
    bool apptainer;
    struct child *relay; /* of what the walls write, where stdout is a terminal; or NULL */
};

static int inside_fail(int code, const char *what, const char *remedy)
{
    fprintf(stderr, INSIDE_FAILED "%s%s%s\n", what, *remedy ? INSIDE_REMEDY : "", remedy);
    return code;
}

/* ---- the words ---- */

#define O(member) offsetof(struct inside, member)
static const struct key {
    const char *name;
    enum { K_INT64, K_INT, K_UNSIGNED, K_BOOL, K_DOUBLE, K_WORD } type;
    size_t offset;
} keys[] = {
    {"nonce", K_WORD, O(nonce)},
    {"walls", K_WORD, O(walls)},
    {"image", K_WORD, O(image)},
    {"asked", K_UNSIGNED, O(o.asked)},
    {"memory", K_INT64, O(o.memory)},
    {"cpus", K_DOUBLE, O(o.cpus)},
    {"pids", K_INT, O(o.pids)},
    {"data_size", K_INT64, O(o.data_size)},
    {"tmp_size", K_INT64, O(o.tmp_size)},
    {"file_size", K_INT64, O(o.file_size)},
    {"open_files", K_INT, O(o.open_files)},
    {"snapshots", K_BOOL, O(o.snapshots)},
};

void inside_keys(const struct engine_options *o, const char *version, const char *nonce, const char *walls,
                 const char *image, struct argv *out)
{
    argv_push(out, version);
    argv_pushf(out, "nonce=%s", nonce);
    argv_pushf(out, "walls=%s", walls);
    if (image)
        argv_pushf(out, "image=%s", image);
    argv_pushf(out, "asked=%u", o->asked);
    argv_pushf(out, "memory=%lld", (long long)o->memory);
    argv_pushf(out, "cpus=%g", o->cpus);
    argv_pushf(out, "pids=%d", o->pids);
    argv_pushf(out, "data_size=%lld", (long long)o->data_size);
    argv_pushf(out, "tmp_size=%lld", (long long)o->tmp_size);
    argv_pushf(out, "file_size=%lld", (long long)o->file_size);
    argv_pushf(out, "open_files=%d", o->open_files);
    argv_pushf(out, "snapshots=%d", o->snapshots);
}

/* A number that is all of text and above 0, or for a bit field at least 0. */
static bool key_take(const struct key *k, const char *text, struct inside *in)
{
    void *at = (char *)in + k->offset;
    char *end;
    double d = strtod(text, &end);

    if (k->type == K_WORD) {
        *(const char **)at = text;
        return *text;
    }
    if (end == text || *end || !(d >= 0) || d > 1e18 || (d > 2e9 && k->type != K_INT64))
        return false;
    if (k->type == K_INT64)
        *(int64_t *)at = strtoll(text, NULL, 10);
    else if (k->type == K_INT)
        *(int *)at = (int)d;
    else if (k->type == K_UNSIGNED)
        *(unsigned *)at = (unsigned)d;
    else if (k->type == K_BOOL)
        *(bool *)at = d != 0;
    else
        *(double *)at = d;
    return d > 0 || k->type == K_UNSIGNED || k->type == K_BOOL;
}

static bool take_word(const char *word, struct inside *in)
{
    size_t len = strcspn(word, "=");

    for (size_t i = 0; word[len] && i < countof(keys); i++)
        if (strlen(keys[i].name) == len && !memcmp(keys[i].name, word, len))
            return key_take(&keys[i], word + len + 1, in);
    return false;
}

static int read_words(char *const *words, const char *version, struct inside *in)
{
    engine_defaults(&in->o);
    in->walls = "auto";
    if (!words[0] || strcmp(words[0], version) != 0) {
        autofree char *what = xasprintf("this is version %s, and the other side is %.40s", version,
                                        words[0] ? words[0] : "unknown");
        return inside_fail(2, what, "install the same version of sandpiper on both machines");
    }
    for (words++; *words && strcmp(*words, "--") != 0; words++)
        if (!take_word(*words, in)) {
            autofree char *what = xasprintf("not understood: %.60s", *words);
            return inside_fail(2, what, "\"inside\" is run by sandpiper itself, on the machine of an engine");
        }
    if (!*words || !words[1] || !in->nonce || strspn(in->nonce, "0123456789abcdef") != strlen(in->nonce))
        return inside_fail(2, "words are missing",
                           "\"inside\" is run by sandpiper itself, on the machine of an engine");
    in->python = words + 1;
    return 0;
}

/* ---- before the walls ---- */

static int find_walls(struct inside *in)
{
    const char *const names[] = {"bwrap", "apptainer", "singularity"};
    bool any = !strcmp(in->walls, "auto");

    for (size_t i = 0; i < countof(names) && !in->program; i++)
        if (any || !strcmp(in->walls, names[i]) || (i == 2 && !strcmp(in->walls, "apptainer"))) {
            in->program = child_find_program(names[i]);
            in->apptainer = i > 0;
        }
    if (!in->program)
        return inside_fail(
            3, any ? "neither bwrap nor apptainer is installed there" : "its walls are not installed",
            "have bubblewrap installed on that machine, or Apptainer");
    if (in->apptainer && !in->image)
        return inside_fail(3, "there is no bwrap, and Apptainer needs an image",
                           "name one in config.yaml: with: {image: /shared/python.sif}");
    if (!in->apptainer && access("/usr/bin/python3", X_OK) != 0)
        return inside_fail(3, "that machine has no /usr/bin/python3", "have python3 installed there");
    return 0;
}

/* A control group where we may make one, which root may, or a user to whom systemd has delegated one. */
static int make_limits(struct inside *in)
{
    const struct cgroup_limits limits = {
        .memory = in->o.memory, .cpus = in->o.cpus, .pids = plan_pids(&in->o)};
    autofree char *name = owner_group_name();
    struct buf told autorelease(buf_release) = BUF_INIT(0);
    struct hard_limits hard;
    struct error err = {0};

    cgroup_make(&in->group, NULL, name, &limits);
    hard_limits_read(&here, &hard);
    if (hard_limits_fit(&hard, &in->o, &told, &err) != 0)
        return inside_fail(3, err.text, err.remedy);
    const char *which = engine_restricts(&in->o, in->group.cpu ? 0 : ENGINE_ASKED_CPUS);
    if (which) {
        autofree char *what = xasprintf("cannot enforce --%s there: no permission to make a control group",
                                        which);
        autofree char *remedy = xasprintf("leave out --%s", which);
        return inside_fail(3, what, remedy);
    }
    return 0;
}

/* Python's words say what it is to limit itself. Here it is known what holds without it. */
static void add_python(const struct inside *in, struct argv *out)
{
    for (char *const *w = in->python; *w; w++)
        argv_push(out, *w);
    if (in->group.pids)
        argv_push(out, "nproc=0");
    else
        argv_pushf(out, "nproc=%d", plan_pids(&in->o));
    argv_pushf(out, "nofile=%d", in->o.open_files);
    if (in->group.memory)
        argv_pushf(out, "memory=%lld", (long long)in->o.memory);
    /* bwrap's have a limit of address space, which Apptainer itself would not survive */
    if (in->group.memory || !in->apptainer)
        argv_push(out, "heap=0");
}

static void send_greeting(const struct inside *in)
{
    const struct cgroup *g = &in->group;

    dprintf(STDOUT_FILENO, INSIDE_GREETING "%s %s %s%s%s%s\n", in->nonce,
            in->apptainer ? "apptainer" : "bwrap", g->memory ? "memory," : "", g->pids ? "pids," : "",
            g->cpu ? "cpus," : "", "-");
}

/* ---- beside the walls ---- */

/* Kill the first process inside, and with it all others there. bwrap, or Apptainer's starter, is its
 * parent. */
static void kill_walls(struct child *walls)
{
    char path[64];
    struct buf text autorelease(buf_release) = BUF_INIT(256);

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)walls->pid, (int)walls->pid);
    if (file_read(path, 256, &text, NULL) == 0)
        for (char *p = text.data, *end; p && *p; p = end) {
            pid_t pid = (pid_t)strtol(p, &end, 10);

            if (end == p)
                break;
            if (pid > 1)
                kill(pid, SIGKILL);
        }
    child_kill(walls, SIGKILL);
}

/* Until it ends. Its own supervisor ends with the channel; one that hangs is ended from here. */
static int attend(struct child *walls)
{
    struct pollfd closed = {.fd = STDIN_FILENO, .events = POLLRDHUP};

    while (!child_wait(walls, STEP_MS))
        if (poll(&closed, 1, 0) > 0 && !child_wait(walls, END_MS)) {
            kill_walls(walls);
            child_wait(walls, END_MS);
            break;
        }
    return !walls->ended                ? 128 + SIGKILL
           : WIFEXITED(walls->status)   ? WEXITSTATUS(walls->status)
           : WIFSIGNALED(walls->status) ? 128 + WTERMSIG(walls->status)
                                        : 1;
}

static int inside_relay(void *unused)
{
    char piece[64 << 10];
    ssize_t n;

    (void)unused;
    while ((n = read(STDIN_FILENO, piece, sizeof piece)) > 0)
        if (fd_write_all(STDOUT_FILENO, piece, (size_t)n) < 0)
            return 1;
    return n < 0;
}

/* What the walls have as stdout. A step of Slurm has a terminal there (srun --unbuffered), and bwrap and
 * Apptainer show a terminal that they have as /dev/console: code with the rights of its owner, an ordinary
 * user, could write into the channel. So they get a pipe, and a relay outside passes it on. */
static int inside_stdout(struct inside *in, struct error *err)
{
    bool terminal = isatty(STDOUT_FILENO);
    int p[2];

    if (terminal ? pipe2(p, O_CLOEXEC) < 0 : (p[1] = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) < 0)
        return error_errno(err, "opening a pipe");
    if (!terminal)
        return p[1];
    in->relay = child_start(&(struct child_options){.argv = (char *[]){(char[]){"sandpiper"}, NULL},
                                                    .in = p[0],
                                                    .out = STDOUT_FILENO,
                                                    .err = STDERR_FILENO,
                                                    .body = inside_relay,
                                                    .ignores_signals = true,
                                                    .die_with_parent = true},
                            err);
    close(p[0]);
    if (!in->relay)
        close(p[1]);
    return in->relay ? p[1] : -1;
}

static struct child *inside_start(struct inside *in, struct child_options o, struct error *err)
{
    send_greeting(in);
    autoclose int out = inside_stdout(in, err);
    if (out < 0)
        return NULL;
    o.in = STDIN_FILENO;
    o.out = out;
    o.err = STDERR_FILENO;
    o.cwd = "/";
    return child_start(&o, err);
}

static struct child *inside_start_apptainer(struct inside *in, struct error *err)
{
    struct argv argv autorelease(argv_release) = ARGV_INIT;
    struct bwrap_setup limits = {.o = &in->o, .group = in->group.n ? &in->group : NULL};
    struct apptainer a = {.program = in->program, .image = in->image, .limits = &limits};

    if (apptainer_prepare(&a, err) != 0)
        return NULL;
    autoclose int filter = a.filter;
    const int keep[] = {filter, -1};
    apptainer_words(&a, &argv);
    add_python(in, &argv);
    return inside_start(
        in, (struct child_options){.argv = argv.v, .keep = keep, .setup = apptainer_set_limits, .ctx = &a},
        err);
}

static struct child *inside_start_bwrap(struct inside *in, struct error *err)
{
    struct argv argv autorelease(argv_release) = ARGV_INIT;
    autoclose int filter = seccomp_ready(err);
    struct engine_plan plan = {.engine = &here,
                               .o = &in->o,
                               .program = in->program,
                               .shares_user = geteuid() != 0,
                               .seccomp = filter,
                               .info = -1};
    struct bwrap_setup setup = {.o = &in->o,
                                .uid = geteuid() == 0 ? bwrap_pick_uid() : 0,
                                .limit_memory = !in->group.memory,
                                .group = in->group.n ? &in->group : NULL};
    const int keep[] = {filter, -1};

    if (filter < 0)
        return NULL;
    bwrap_walls(&plan, &argv);
    argv_push(&argv, "/usr/bin/python3");
    add_python(in, &argv);
    return inside_start(
        in, (struct child_options){.argv = argv.v, .keep = keep, .setup = bwrap_set_limits, .ctx = &setup},
        err);
}

static int run_walls(struct inside *in)
{
    struct error err = {0};
    struct child *walls = in->apptainer ? inside_start_apptainer(in, &err) : inside_start_bwrap(in, &err);

    if (!walls)
        return inside_fail(3, err.text, err.remedy);
    /* the end of Python's stdout is the end of the channel */
    autoclose int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nothing, STDOUT_FILENO);
    int code = attend(walls);
    if (in->relay)
        attend(in->relay);
    child_free(in->relay);
    child_free(walls);
    return code;
}

int inside_run(char *const *words, const char *version)
{
    static const int enders[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};
    struct inside in = {0};
    int code = read_words(words, version, &in);

    /* Whoever sends one of these (srun, sshd) closes the channel too, and the walls are to end first. */
    for (size_t i = 0; i < countof(enders); i++)
        signal(enders[i], SIG_IGN);
    if (code == 0 && (code = find_walls(&in)) == 0 && (code = make_limits(&in)) == 0)
        code = run_walls(&in);
    cgroup_remove(&in.group);
    free(in.program);
    return code;
}
