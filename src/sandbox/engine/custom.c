/* custom.c - engines that are data: those that the user defines, and those that are built in as recipes
 * (config/engines.yaml). A recipe's commands start the engine's Python, which then talks to us over its
 * stdin and stdout. Where start has {inside}, our own part builds the walls there (inside.h) and says
 * which limits it holds; otherwise the user provides the walls, and only code inside can see which of them
 * stand ("sandpiper doctor").
 *
 * A start has up to three steps: it joins the site (site.h), runs before, and starts the client. The clock
 * of the supervisor's greeting starts only when something runs there: a job may wait in a queue for hours.
 *
 * The end of its stdin ends the supervisor and everything inside; a command that then does not exit is
 * told to, and at last killed. What before has made is removed by after.
 *
 * RULE: A user's own engine isolates only as well as its command does, and doctor says what it saw from
 *     inside.
 * /
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/file.h"
#include "base/fill.h"
#include "base/mem.h"
#include "engine/attempt.h"
#include "engine/client.h"
#include "engine/inside_send.h"
#include "engine/recipe.h"
#include "engine/site.h"
#include "process/child.h"

#define END_MS     2000 /* for the command to exit by itself; it may have to tell another machine */
#define TOLD_MS    1000 /* the same once it was told to */
#define AT_ONCE_MS 30   /* what the program waits at its end; after that the keeper does */
#define KILLED_MS  1000
#define BESIDES_MB 64 /* of memory, besides the code */

static const struct engine_recipe *recipe_of(const struct engine *e)
{
    return e->own;
}

/* Does its start name it, or before, which makes the place? */
static bool start_names(const struct engine *e, const char *placeholder)
{
    const struct argv *const both[] = {&recipe_of(e)->before, &recipe_of(e)->start};

    for (size_t k = 0; k < countof(both); k++)
        for (size_t i = 0; i < both[k]->n; i++)
            if (strstr(both[k]->v[i], placeholder))
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

    plan.holds_memory = start_names(p->engine, "{memory}");
    plan.holds_pids = start_names(p->engine, "{pids}");
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

/* The values of the placeholders that stand for the limits. */
struct values {
    char memory[24], memory_mb[24], cpus[24], cpus_whole[24], pids[24], data_size[24], tmp_size[24];
    char memory_per_cpu[24];
    struct text_var v[9];
};

/* MiB of memory for each of {cpus_whole}, with some for what runs besides the code. */
static long long memory_per_cpu(const struct engine_options *o)
{
    long long cpus = o->cpus > 1 ? (long long)(o->cpus + 0.999) : 1;

    return ((o->memory >> 20) + BESIDES_MB + cpus - 1) / cpus;
}

static struct text_vars limit_values(const struct engine_options *o, const char *name, struct values *s)
{
    snprintf(s->memory, sizeof s->memory, "%lld", (long long)o->memory);
    snprintf(s->memory_mb, sizeof s->memory_mb, "%lld", (long long)((o->memory + (1 << 20) - 1) >> 20));
    snprintf(s->cpus, sizeof s->cpus, "%g", o->cpus);
    snprintf(s->cpus_whole, sizeof s->cpus_whole, "%d", o->cpus > 1 ? (int)(o->cpus + 0.999) : 1);
    snprintf(s->memory_per_cpu, sizeof s->memory_per_cpu, "%lld", memory_per_cpu(o));
    snprintf(s->pids, sizeof s->pids, "%d", plan_pids(o));
    snprintf(s->data_size, sizeof s->data_size, "%lld", (long long)o->data_size);
    snprintf(s->tmp_size, sizeof s->tmp_size, "%lld", (long long)o->tmp_size);
    const struct text_var v[] = {
        {"name", name},
        {"memory", s->memory},
        {"memory_mb", s->memory_mb},
        {"cpus", s->cpus},
        {"pids", s->pids},
        {"data_size", s->data_size},
        {"tmp_size", s->tmp_size},
        {"cpus_whole", s->cpus_whole},
        {"memory_per_cpu", s->memory_per_cpu},
    };
    memcpy(s->v, v, sizeof v);
    return (struct text_vars){s->v, countof(v)};
}

/* {python} and {inside}: as a word of its own it stands for many, within a word for a line that a shell
 * reads. */
struct spliced {
    const char *placeholder;
    struct argv words;
    char *line;
};

static void add_start_word(const char *word, const struct spliced *s, size_t n, const struct text_vars *vars,
                           const struct argv *facts, struct argv *out)
{
    struct text_var lines[2];

    for (size_t i = 0; i < n; i++) {
        autofree char *alone = xasprintf("{%s}", s[i].placeholder);

        lines[i] = (struct text_var){s[i].placeholder, s[i].line};
        if (!strcmp(word, alone)) {
            for (size_t k = 0; k < s[i].words.n; k++)
                argv_push(out, s[i].words.v[k]);
            return;
        }
    }
    struct argv one autorelease(argv_release) = ARGV_INIT, filled autorelease(argv_release) = ARGV_INIT;
    argv_push(&one, word);
    recipe_fill(&one, vars, facts, &filled);
    autofree char *whole = text_fill(filled.v[0], &(struct text_vars){lines, n});
    argv_push(out, whole);
}

/* The words of before or of start. */
static void words_filled(const struct engine_plan *p, const struct argv *words, const char *nonce,
                         const struct argv *facts, struct argv *out)
{
    const struct engine_recipe *r = recipe_of(p->engine);
    struct spliced s[] = {{"python", ARGV_INIT, NULL}, {"inside", ARGV_INIT, NULL}};
    struct buf quoted = BUF_INIT(0);
    struct values values;
    const struct text_vars vars = limit_values(p->o, p->name, &values);

    python_words(p, &s[0].words);
    s[0].line = words_joined(&s[0].words);
    inside_words(p, r, nonce, &s[1].words);
    for (size_t i = 0; i < s[0].words.n; i++)
        argv_push(&s[1].words, s[0].words.v[i]);
    argv_quote(&s[1].words, &quoted);
    s[1].line = buf_steal(&quoted, NULL);
    for (size_t i = 0; i < words->n; i++)
        if (i == 0 && words == &r->start && *words->v[0] != '{')
            argv_push(out, p->program);
        else
            add_start_word(words->v[i], s, countof(s), &vars, facts, out);
    for (size_t i = 0; i < countof(s); i++) {
        argv_release(&s[i].words);
        free(s[i].line);
    }
}

/* For --dry-run: what is not known before the start stays as it is. */
static void custom_vector(const struct engine_plan *p, struct argv *out)
{
    words_filled(p, &recipe_of(p->engine)->start, "NONCE", NULL, out);
}

static bool custom_commands(const struct engine_plan *p, size_t i, struct argv *out)
{
    const struct engine_recipe *r = recipe_of(p->engine);
    const struct argv *const steps[] = {&r->open, &r->before, &r->start, &r->after, &r->close}, *found = NULL;
    struct values values;
    const struct text_vars vars = limit_values(p->o, p->name, &values);

    for (size_t k = 0; k < countof(steps) && !found; k++)
        if (steps[k]->n > 0 && i-- == 0)
            found = steps[k];
    if (found == &r->start || found == &r->before)
        words_filled(p, found, "NONCE", NULL, out);
    else if (found)
        recipe_fill(found, &vars, NULL, out);
    return found;
}

/* What Python reads first. It reads lines with a system call for each byte, so there
 * are few of them; they take the guest as it is, which stands behind the empty line that ends the statement.
 * The channel follows. */
static char *opening(const char *guest)
{
    size_t n = strlen(guest);

    return xasprintf(
        "try: import sys, posix; del sys.ps1, sys.ps2; b = b''; "
        "exec('while len(b) < %zu: b += posix.read(0, %zu - len(b)) or posix._exit(0)'); exec(b)\n"
        "except BaseException as e: "
        "sys.stderr.write('%%s: %%s\\n' %% (type(e).__name__, e)); sys.stderr.flush(); posix._exit(70)\n"
        "\n%sN",
        n, n, guest);
}

/* ---- start ---- */

static int recipe_client(struct attempt *a, int in, int out)
{
    struct argv argv autorelease(argv_release) = ARGV_INIT;
    struct engine_plan plan;
    autofree char *name = xasprintf("sandpiper-%s", a->dir.id);

    attempt_plan(a, &plan);
    plan.name = name;
    words_filled(&plan, &recipe_of(a->engine)->start, a->nonce, &a->facts, &argv);
    /* A session of its own, so that a client that wants a password has no terminal to ask on. */
    a->client = recipe_start(recipe_of(a->engine),
                             (struct child_options){.argv = argv.v,
                                                    .watch = {.loop = a->loop},
                                                    .in = in,
                                                    .out = out,
                                                    .cwd = site_folder(a->site),
                                                    .own_session = true},
                             &a->err);
    if (a->client)
        attempt_found_peer(a, a->client->pid); /* the nearest process to the inside that can be seen */
    return a->client ? 0 : -1;
}

static void on_greeted(void *ctx, struct child *c)
{
    struct attempt *a = ctx;
    struct inside_holds holds;

    if (child_ok(c) && inside_read_greeting(buf_str(&c->out_text), a->nonce, &holds)
        && fd_nonblock(a->channel, true) == 0 && fd_nonblock(a->channel_out, true) == 0) {
        a->inside = true;
        a->holds_memory = holds.memory;
        a->holds_pids = holds.pids;
        a->holds_cpu = holds.cpus;
        attempt_up(a);
        return;
    }
    if (c->timed_out) {
        autofree char *said = recipe_complaint(recipe_of(a->engine), a->client);

        error_set(&a->err, ERROR_SANDBOX, 0,
                  "nothing ran there within %lld s (%.300s)\nwait longer: --queue-timeout, or ask for less",
                  (long long)recipe_of(a->engine)->queue_ms / 1000, said);
        attempt_fail(a, FAULT_OTHER);
        return;
    }
    attempt_blame(a, "our part on the other machine did not start");
    attempt_fail(a, a->fault);
}

/* The client runs; hear what it says before the channel can be used. */
static int await_greeting(struct attempt *a, const char *first)
{
    const struct engine_recipe *r = recipe_of(a->engine);
    struct inside_talk talk = {
        .in = a->channel_out, .out = a->channel, .sent = !r->program, .nonce = a->nonce, .first = first};
    char *const argv[] = {(char *)"the other machine", NULL};
    const int keep[] = {a->channel, a->channel_out, -1};

    a->helper = child_start(&(struct child_options){.argv = argv,
                                                    .watch = {a->loop, on_greeted, a},
                                                    .deadline_ms = (int)r->queue_ms,
                                                    .in = CHILD_NULL,
                                                    .out = CHILD_KEPT,
                                                    .err = CHILD_KEPT,
                                                    .keep = keep,
                                                    .cwd = "/",
                                                    .die_with_parent = true,
                                                    .body = inside_begin,
                                                    .ctx = &talk},
                            &a->err);
    return a->helper ? 0 : -1;
}

static int start_inside(struct attempt *a, const char *first)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    int rc = pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ? error_errno(&a->err, "pipe")
                                                                     : recipe_client(a, in[0], out[1]);

    fd_close(&in[0]);
    fd_close(&out[1]);
    a->channel = out[0];
    a->channel_out = in[1];
    if (rc != 0)
        return -1;
    keeper_start(a);
    keeper_tell(a);
    return await_greeting(a, first);
}

static int start_client(struct attempt *a)
{
    autofree char *text = opening(a->guest);

    return start_names(a->engine, "{inside}") ? start_inside(a, text)
                                              : attempt_over_pipes(a, recipe_client, text);
}

static void after_before(struct attempt *a)
{
    if (start_client(a) != 0)
        attempt_fail(a, FAULT_OTHER);
}

/* ---- what comes before it ---- */

static void on_before(void *ctx, struct child *c)
{
    struct attempt *a = ctx;
    const struct engine_recipe *r = recipe_of(a->engine);

    if (child_ok(c) && recipe_facts(&r->gives, buf_str(&c->out_text), &a->facts)) {
        child_free(steal(&a->helper));
        after_before(a);
        return;
    }
    autofree char *said = recipe_complaint(r, c);
    recipe_explain(r, said, &a->err);
    attempt_fail(a, FAULT_OTHER);
}

static int run_before(struct attempt *a)
{
    const struct engine_recipe *r = recipe_of(a->engine);
    struct argv argv autorelease(argv_release) = ARGV_INIT;
    struct engine_plan plan;
    autofree char *name = xasprintf("sandpiper-%s", a->dir.id);

    attempt_plan(a, &plan);
    plan.name = name;
    words_filled(&plan, &r->before, a->nonce, &a->facts, &argv);
    a->helper = recipe_start(r,
                             (struct child_options){.argv = argv.v,
                                                    .watch = {a->loop, on_before, a},
                                                    .deadline_ms = (int)r->queue_ms,
                                                    .in = CHILD_NULL,
                                                    .out = CHILD_KEPT,
                                                    .cwd = site_folder(a->site)},
                             &a->err);
    if (a->helper)
        keeper_start(a);
    return a->helper ? 0 : -1;
}

static int after_site(struct attempt *a)
{
    return recipe_of(a->engine)->before.n ? run_before(a) : start_client(a);
}

static void on_site_waits(void *ctx, const char *state)
{
    const struct attempt *a = ctx;

    engine_notice(a->o, false, "%s: waiting: %s", a->engine->name, state);
}

static void on_site_ready(void *ctx, const struct argv *facts)
{
    struct attempt *a = ctx;

    for (size_t i = 0; i < facts->n; i++)
        argv_push(&a->facts, facts->v[i]);
    if (after_site(a) != 0)
        attempt_fail(a, FAULT_OTHER);
}

static void on_site_failed(void *ctx, const struct error *err)
{
    struct attempt *a = ctx;

    a->err = *err;
    attempt_fail(a, FAULT_OTHER);
}

static int join_site(struct attempt *a)
{
    struct values values;
    autofree char *name = xasprintf("sandpiper-%s", a->dir.id);
    const struct text_vars vars = limit_values(&a->given, name, &values);
    const struct site_listener l = {a, on_site_waits, on_site_ready, on_site_failed};

    a->site = site_join(a->loop, recipe_of(a->engine), &vars, &l, &a->err);
    return a->site ? 0 : -1;
}

static int custom_start(struct attempt *a)
{
    const struct engine_recipe *r = recipe_of(a->engine);
    uint64_t lot;

    a->inside = false;
    a->holds_memory = start_names(a->engine, "{memory}");
    a->holds_pids = start_names(a->engine, "{pids}");
    a->holds_cpu = start_names(a->engine, "{cpus}");
    if (start_names(a->engine, "{inside}") && !r->program && !inside_carried())
        return error_set(&a->err, ERROR_SANDBOX, 0,
                         "this build of sandpiper does not carry the part that runs there\n"
                         "install sandpiper there too, and name it: with: {program: /usr/bin/sandpiper}");
    if (getrandom(&lot, sizeof lot, 0) != sizeof lot)
        return error_errno(&a->err, "random numbers");
    snprintf(a->nonce, sizeof a->nonce, "%016llx", (unsigned long long)lot);
    if (attempt_make_dir(a) != 0)
        return -1;
    if (r->after.n) /* by which it is removed, and found again where we are killed */
        xreplace(&a->name, xasprintf("sandpiper-%s", a->dir.id));
    if (attempt_record(a, NULL, false, &a->err) != 0)
        return -1;
    if (r->open.n)
        keeper_start(a); /* it may be queued for long before there is a client */
    return r->open.n ? join_site(a) : after_site(a);
}

static const char *inside_weakness(const struct attempt *a)
{
    if (!a->holds_memory)
        return a->holds_cpu
                   ? "no memory control group there: memory is limited per process, not in total"
                   : "no permission to create a control group there: memory is limited per process, not "
                     "in total, and CPU time is not limited";
    return a->holds_cpu ? NULL : "no CPU control group there: CPU time is not limited";
}

/* Without {memory}, memory is limited per process; the number of processes is limited for their uid. */
static const char *custom_weakness(const struct attempt *a, unsigned *unheld)
{
    *unheld = a->holds_cpu ? 0 : ENGINE_ASKED_CPUS;
    if (a->inside)
        return inside_weakness(a);
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
        recipe_explain(recipe_of(p->engine), said, err);
    return FAULT_OTHER;
}

static char *complaint(const struct attempt *a)
{
    return recipe_complaint(recipe_of(a->engine), a->client);
}

/* ---- end ---- */

/* Its stdin is closed. A cluster's client that is told to end gives up its job first; one that is killed
 * cannot. */
static bool end_client(struct attempt *a, int wait_ms)
{
    if (child_wait(a->client, wait_ms))
        return true;
    child_kill(a->client, SIGTERM);
    if (child_wait(a->client, TOLD_MS))
        return true;
    child_kill(a->client, SIGKILL); /* and its process group */
    return child_wait(a->client, KILLED_MS);
}

static void removal(const struct engine *e, const char *name, struct argv *out)
{
    recipe_fill(&recipe_of(e)->after, &(struct text_vars){(struct text_var[]){{"name", name}}, 1}, NULL, out);
}

/* Remove what before has made. False: it could not be removed in time. */
static bool run_after(struct attempt *a, int ms)
{
    const struct engine_recipe *r = recipe_of(a->engine);
    struct argv argv autorelease(argv_release) = ARGV_INIT;

    if (!r->after.n || !a->name)
        return true;
    removal(a->engine, a->name, &argv);
    struct child *c = recipe_start(r,
                                   (struct child_options){.argv = argv.v,
                                                          .deadline_ms = CLIENT_MS,
                                                          .in = CHILD_NULL,
                                                          .out = CHILD_NULL,
                                                          .own_session = true},
                                   NULL);
    bool gone = c && child_wait(c, ms) && child_ok(c);
    child_free(c);
    return gone;
}

static bool custom_end(struct attempt *a, int64_t until)
{
    int left = attempt_left_ms(until);
    bool ended = end_client(a, left < END_MS ? left : END_MS);

    return run_after(a, attempt_left_ms(until)) && ended;
}

static bool custom_end_at_once(struct attempt *a)
{
    return child_wait(a->client, AT_ONCE_MS) && !recipe_of(a->engine)->after.n;
}

static bool custom_end_as_keeper(struct attempt *a)
{
    bool ended = end_client(a, END_MS);

    return run_after(a, CLIENT_MS) && ended;
}

const struct engine engine_custom = {
    .attached = true,
    .custom = true,
    .own_limits = true,
    .python_advice = "does its start run a python3 3.8 or newer with {python}, and print nothing else to "
                     "stdout? sandpiper exec --dry-run shows it",
    .vector = custom_vector,
    .commands = custom_commands,
    .explain = custom_explain,
    .complaint = complaint,
    .start = custom_start,
    .weakness = custom_weakness,
    .end = custom_end,
    .end_at_once = custom_end_at_once,
    .end_as_keeper = custom_end_as_keeper,
    .remove = removal,
};
