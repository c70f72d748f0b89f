/* cmd_sandbox.c - /sandbox, /timeout, /doctor, /verbose: where code runs, and what is said about it. */
#include <inttypes.h>
#include <string.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/size.h"
#include "sandbox/sandbox.h"
#include "sandbox/sandbox_options.h"
#include "show/show.h"
#include "term/commands.h"
#include "term/private.h"

static void slash_sandbox(struct term *t)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    const struct sandbox_options *o = sandbox_options(t->o.sandbox);
    autofree char *place = sandbox_place(t->o.sandbox);
    const char *name = t->o.sandbox_name;
    struct error err = {0};

    buf_addf(&out, "engine   %s\n", place ? place : "not known yet");
    if (sandbox_failed(t->o.sandbox, &err))
        buf_addf(&out, "state    it did not start: %s\n", err.text);
    buf_addf(&out, "name     %s\n",
             name ? name : "none: it ends with this chat (--sandbox-name NAME keeps it)");
    buf_addf(&out, "memory   %s, no swap\n", size_text(o->run.memory).text);
    buf_addf(&out, "cpus     %g, at most %d processes\n", o->run.cpus, o->run.pids);
    buf_addf(&out, "files    %s in /mnt/data\n", size_text(o->run.data_size).text);
    buf_addf(&out, "network  %s\n", o->hosts ? o->hosts : "none (--allow-net HOST allows one)");
    buf_addf(&out, "time     %g s for one run (/timeout)\n", o->cell_ms / 1000.0);
    buf_addf(&out, "runs     %u so far\n", sandbox_cells(t->o.sandbox));
    term_print_wrapped(t, buf_str(&out));
}

const struct chat_command command_sandbox = {
    .name = "/sandbox",
    .argument = "",
    .help = "where code runs, and its limits",
    .act = slash_sandbox,
};

static void slash_timeout(struct term *t, const char *text)
{
    struct error err = {0};
    int64_t ms = 0;

    if (!t->o.cell_time || t->o.cell_time(t->o.ctx, *text ? text : NULL, &ms, &err) < 0)
        term_say_error(t, &err);
    else
        term_sayf(t, NOTICE_INFO, "Time limit per run: %g s.", (double)ms / 1000);
}

const struct chat_command command_timeout = {
    .name = "/timeout",
    .argument = "[TIME]",
    .help = "how long one run of code may take, such as 5m",
    .run = slash_timeout,
};

/* In a process of its own, which says what it finds on the terminal itself. */
static void slash_doctor(struct term *t)
{
    struct argv words autorelease(argv_release) = ARGV_INIT;
    struct error err = {0};

    argv_pushl(&words, "/proc/self/exe", "doctor", NULL);
    t->o.doctor(t->o.ctx, &words);
    if (term_lend(t, &words, &err) < 0 && *err.text)
        term_say_error(t, &err);
}

const struct chat_command command_doctor = {
    .name = "/doctor",
    .argument = "",
    .help = "check the model and the sandbox engines",
    .act = slash_doctor,
    .more = "\"sandpiper doctor\" with the options and the model of this chat; it costs one\n"
            "small request.\n",
};

static void slash_verbose(struct term *t, const char *word)
{
    bool on = !*word ? !t->o.show.verbose : !strcmp(word, "on");

    if (*word && !on && strcmp(word, "off") != 0) {
        term_sayf(t, NOTICE_ERROR, "/verbose: expected on or off, found \"%s\"", word);
        return;
    }
    t->o.show.verbose = on;
    show_set_verbose(t->show, on);
    term_sayf(t, NOTICE_INFO, "%s tokens, timings and what the model is told.",
              on ? "Showing" : "No longer showing");
}

static const char *const on_off[] = {"on", "off", NULL};

const struct chat_command command_verbose = {
    .name = "/verbose",
    .argument = "[on|off]",
    .help = "show tokens, timings and what the model is told",
    .run = slash_verbose,
    .words = on_off,
};
