/* custom.c - engines that the user defines. config.yaml gives the command that starts the engine's Python,
 * which then talks to us over its stdin and stdout. The user provides the walls; only code inside can see
 * which of them stand ("sandpiper doctor").
 *
 * The command is not a container and leaves nothing behind to be removed by name. The end of its stdin ends
 * the supervisor and everything inside; a command that then does not exit is killed.
 *
 * RULE: A user's own engine isolates only as well as its command does, and doctor says what it saw from
 *     inside.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/file.h"
#include "base/fill.h"
#include "base/mem.h"
#include "engine/attempt.h"
#include "engine/client.h"
#include "process/child.h"

#define END_MS     2000 /* for the command to exit by itself; it may have to tell another machine */
#define AT_ONCE_MS 30   /* what the program waits at its end; after that the keeper does */
#define KILLED_MS  1000

static const struct argv *start_of(const struct engine *e)
{
    return e->own;
}

static bool names(const struct engine *e, const char *placeholder)
{
    const struct argv *words = start_of(e);

    for (size_t i = 0; i < words->n; i++)
        if (strstr(words->v[i], placeholder))
            return true;
    return false;
}

/* ---- the command ---- */

static void push_variable(void *ctx, const char *name, const char *value)
{
    argv_pushf(ctx, "env:%s=%s", name, value);
}

/* The words that replace {python}. The supervisor's source arrives as the first lines that Python reads
 * (-i: as if typed). So no word here is too long, or means anything to the shell that ssh hands them to. */
static void python_words(const struct engine_plan *p, struct argv *out)
{
    struct engine_plan plan = *p;

    plan.holds_memory = names(p->engine, "{memory}");
    plan.holds_pids = names(p->engine, "{pids}");
    plan.shares_user = true; /* nothing else has set a limit on files */
    argv_pushl(out, "-I", "-S", "-u", "-i", "-q", "-", "stdio", NULL);
    plan_options(&plan, out);
    argv_pushf(out, "heap=%lld", plan.holds_memory ? 0 : (long long)p->o->memory);
    plan_environment(&plan, push_variable, out);
}

static char *words_joined(const struct argv *words)
{
    struct buf line = BUF_INIT(0);

    for (size_t i = 0; i < words->n; i++)
        buf_addf(&line, "%s%s", i ? " " : "", words->v[i]);
    return buf_steal(&line, NULL);
}

static void custom_vector(const struct engine_plan *p, struct argv *out)
{
    struct argv python autorelease(argv_release) = ARGV_INIT;
    const struct argv *words = start_of(p->engine);
    char memory[24], cpus[24], pids[24], data_size[24], tmp_size[24];

    python_words(p, &python);
    autofree char *line = words_joined(&python);
    snprintf(memory, sizeof memory, "%lld", (long long)p->o->memory);
    snprintf(cpus, sizeof cpus, "%g", p->o->cpus);
    snprintf(pids, sizeof pids, "%d", plan_pids(p->o));
    snprintf(data_size, sizeof data_size, "%lld", (long long)p->o->data_size);
    snprintf(tmp_size, sizeof tmp_size, "%lld", (long long)p->o->tmp_size);
    const struct text_var vars[] = {
        {"python", line}, {"name", p->name},        {"memory", memory},     {"cpus", cpus},
        {"pids", pids},   {"data_size", data_size}, {"tmp_size", tmp_size},
    };

    argv_push(out, p->program);
    for (size_t i = 1; i < words->n; i++) {
        autofree char *word = text_fill(words->v[i], &(struct text_vars){vars, countof(vars)});

        if (strcmp(words->v[i], "{python}") != 0)
            argv_push(out, word);
        for (size_t k = 0; k < python.n && !strcmp(words->v[i], "{python}"); k++)
            argv_push(out, python.v[k]);
    }
}

/* Append text as Python's b'...', with \xNN for every byte that needs escaping. */
static void add_python_bytes(struct buf *out, const char *text)
{
    buf_addstr(out, "b'");
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p < 0x20 || *p > 0x7e || *p == '\'' || *p == '\\')
            buf_addf(out, "\\x%02x", *p);
        else
            buf_addch(out, (char)*p);
    }
    buf_addstr(out, "'");
}

/* The lines that Python reads first. The empty last line ends the statement; the channel follows. */
static char *opening(const char *guest)
{
    struct buf text = BUF_INIT(0);

    buf_addstr(&text, "try: import sys; del sys.ps1, sys.ps2; exec(");
    add_python_bytes(&text, guest);
    buf_addstr(
        &text,
        ")\nexcept BaseException as e: import os; "
        "sys.stderr.write('%s: %s\\n' % (type(e).__name__, e)); sys.stderr.flush(); os._exit(70)\n\nN");
    return buf_steal(&text, NULL);
}

/* ---- start and end ---- */

static int custom_start_client(struct attempt *a, int in, int out)
{
    struct argv argv autorelease(argv_release) = ARGV_INIT;
    struct engine_plan plan;

    autofree char *name = xasprintf("sandpiper-%s", a->dir.id);

    attempt_plan(a, &plan);
    plan.name = name;
    custom_vector(&plan, &argv);
    /* A session of its own, so that a client that wants a password has no terminal to ask on. */
    a->client = client_start(
        (struct child_options){
            .argv = argv.v, .watch = {.loop = a->loop}, .in = in, .out = out, .own_session = true},
        &a->err);
    if (a->client)
        attempt_found_peer(a, a->client->pid); /* the nearest process to the inside that can be seen */
    return a->client ? 0 : -1;
}

static int custom_start(struct attempt *a)
{
    a->holds_memory = names(a->engine, "{memory}");
    a->holds_pids = names(a->engine, "{pids}");
    a->holds_cpu = names(a->engine, "{cpus}");
    if (attempt_make_dir(a) != 0 || attempt_record(a, NULL, false, &a->err) != 0)
        return -1;
    autofree char *text = opening(a->guest);
    return attempt_over_pipes(a, custom_start_client, text);
}

/* Without {memory}, memory is limited per process; the number of processes is limited for their uid. */
static const char *custom_weakness(const struct attempt *a, unsigned *unheld)
{
    *unheld = a->holds_cpu ? 0 : ENGINE_ASKED_CPUS;
    if (!a->holds_memory)
        return a->holds_cpu ? "its start has no {memory}: memory is limited per process, not in total"
                            : "its start has no {memory} and no {cpus}: memory is limited per process, "
                              "not in total, and CPU time is not limited";
    return a->holds_cpu ? NULL : "its start has no {cpus}: CPU time is not limited";
}

/* Skip Python's prompts, which precede its first message. */
static const char *without_prompts(const char *said)
{
    while (!strncmp(said, ">>> ", 4) || !strncmp(said, "... ", 4))
        said += 4;
    return said;
}

static enum engine_fault custom_explain(const struct engine_plan *p, const char *said, struct error *err)
{
    said = without_prompts(said);
    if (strstr(said, "'" DATA_DIR "'") && strstr(said, "No such file"))
        error_set(err, ERROR_SANDBOX, 0,
                  "there is no " DATA_DIR " inside\nhave its start make one, for bwrap: --dir /mnt --size "
                  "{data_size} --tmpfs " DATA_DIR);
    else
        error_set(err, ERROR_SANDBOX, 0, "%.300s\nsee what is started: sandpiper exec --dry-run --sandbox %s",
                  said, p->engine->name);
    return FAULT_OTHER;
}

/* ---- end ---- */

static bool end_client(struct attempt *a, int wait_ms)
{
    if (child_wait(a->client, wait_ms))
        return true;
    child_kill(a->client, SIGKILL); /* and its process group */
    return child_wait(a->client, KILLED_MS);
}

static bool custom_end(struct attempt *a, int64_t until)
{
    int left = attempt_left_ms(until);

    return end_client(a, left < END_MS ? left : END_MS);
}

static bool custom_end_at_once(struct attempt *a)
{
    return child_wait(a->client, AT_ONCE_MS);
}

static bool custom_end_as_keeper(struct attempt *a)
{
    return end_client(a, END_MS);
}

const struct engine engine_custom = {
    .attached = true,
    .custom = true,
    .own_limits = true,
    .python_advice = "does its start run a python3 3.8 or newer with {python}, and print nothing else to "
                     "stdout? sandpiper exec --dry-run shows it",
    .vector = custom_vector,
    .explain = custom_explain,
    .start = custom_start,
    .weakness = custom_weakness,
    .end = custom_end,
    .end_at_once = custom_end_at_once,
    .end_as_keeper = custom_end_as_keeper,
};
