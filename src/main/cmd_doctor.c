/* cmd_doctor.c - "sandpiper doctor": the whole check-up, a line for each thing with ok or what to do.
 * First what a question needs of the model (check_model.c), then each engine: started with the options in
 * force, to see whether it works here and which limits are weaker than asked for.
 */
#include <stdio.h>
#include <string.h>

#include "ask/setup.h"
#include "base/argv.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "engine/engines.h"
#include "mount/mount.h"
#include "main/command.h"
#include "process/loop.h"
#include "process/signals.h"
#include "sandbox/sandbox.h"
#include "show/show.h"

#define TEXT_AT 18 /* column of the finding */

/* The result of printing the last line on stdout. After a failure nothing more is printed. */
static int out_status;

void doctor_line(const char *label, const char *state, const char *text)
{
    struct buf wrapped autorelease(buf_release) = BUF_INIT(0);
    autofree char *clean = scrub_line(text, SCRUB_TERMINAL);
    autofree char *line = xasprintf("%*s%s", TEXT_AT, "", clean);
    char head[TEXT_AT + 1];
    int n = snprintf(head, sizeof head, "%-11s %-5s", label, state);

    show_wrap_lines(&wrapped, line, 1);
    if (n > 0 && n < (int)sizeof head && wrapped.len >= sizeof head)
        memcpy(wrapped.data, head, (size_t)n);
    if (n >= (int)sizeof head) { /* an engine of the user's with a long name */
        autofree char *name = xasprintf("%s %s\n", label, state);

        out_status = out_status ? out_status : print_out(name, strlen(name));
    }
    out_status = out_status ? out_status : print_out(buf_str(&wrapped), wrapped.len);
}

void doctor_lines(const char *label, const char *state, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n"), blanks = strspn(text, " ");
        autofree char *line = xmemdup0(text + (blanks < n ? blanks : n), n - (blanks < n ? blanks : n));

        doctor_line(label, state, line);
        label = state = "";
        text += n + (text[n] == '\n');
    }
}

static void tell_list(const char *label, const struct argv *items)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);

    for (size_t i = 0; i < items->n; i++)
        buf_addf(&line, "%s%s", i ? ", " : label, items->v[i]);
    if (line.len > 0)
        doctor_line("", "", buf_str(&line));
}

static void tell_each(const char *label, const struct argv *items)
{
    for (size_t i = 0; i < items->n; i++) {
        autofree char *line = xasprintf("%s%s", label, items->v[i]);

        doctor_line("", "", line);
    }
}

static void tell_broken(const char *engine, const struct error *err)
{
    autofree char *line = xasprintf("%s%s%s", err->text + err->where, *err->remedy ? "; " : "", err->remedy);

    doctor_line(engine, "no", line);
}

static void tell_engine(const char *engine, const struct sandbox_check *c, bool verbose)
{
    if (!c->works) {
        tell_broken(engine, &c->err);
        return;
    }
    autofree char *line = xasprintf(
        "%sPython %s, first result after %.2f s%s%s",
        c->contained ? "" : "runs code, but its isolation could not be confirmed: ", c->python, c->seconds,
        c->runtime ? ", runtime " : "", c->runtime ? c->runtime : "");
    autofree char *packages = xasprintf("packages: %s",
                                        c->packages && *c->packages ? c->packages : "only Python's own");

    doctor_line(engine, c->contained ? "ok" : "no", line);
    tell_each("open: ", &c->open);
    if (verbose) {
        doctor_line("", "", packages);
        tell_list("isolation: ", &c->walls);
        tell_list("limits: ", &c->holds);
    }
    tell_each("mounted: ", &c->mounted);
    tell_each("weaker: ", &c->weaker);
    if (c->gvisor)
        doctor_line("", "",
                    "gVisor (runsc) is installed: --runtime runsc isolates the code from the host's kernel");
}

/* Examine one engine if the user wants it. Returns 1 if it runs code and was seen to contain it. */
static unsigned examine(struct config *c, struct loop *loop, const struct mounts *mounts, const char *engine)
{
    struct sandbox_options o;
    struct sandbox_check check;

    if (out_status || loop_cancelled(loop)
        || (strcmp(c->sandbox, "auto") != 0 && strcmp(c->sandbox, engine) != 0))
        return 0;
    setup_sandbox(c, &o);
    o.run.mounts = mounts;
    o.run.engine = engine;
    o.run.name = NULL; /* doctor's own sandbox must not outlive it */
    sandbox_check(&o, loop, &check);
    if (!loop_cancelled(loop))
        tell_engine(engine, &check, c->front.verbose);
    sandbox_check_release(&check);
    return check.works && check.contained;
}

/* Whether code may reach anything, as it is configured; the sandboxes that doctor starts reach nothing. */
static void tell_doctor_network(const struct config *c)
{
    struct network_setup n autorelease(network_setup_release) = {0};
    struct error err = {0};

    if (setup_network(c, &n, &err) < 0) {
        tell_broken("network", &err);
    } else if (n.text) {
        autofree char *line = xasprintf("on: code may reach %s (allow_net)", n.line);
        doctor_line("network", "ok", line);
        if (n.added)
            doctor_line("", "", n.added);
    }
}

int cmd_doctor(struct config *c, int closed)
{
    struct loop *loop = loop_new();
    struct mounts mounts autorelease(mounts_release) = {0};
    struct error err = {0};
    unsigned working = 0;
    int model = 0;

    (void)closed;
    print_notices(c);
    if (loop_signals(loop, &err) < 0)
        print_error(&err);
    if (!c->offline)
        model = check_model(c, loop);
    tell_doctor_network(c);
    if (setup_mounts(c, &mounts, &err) < 0) {
        out_status = print_failure(&err);
    } else {
        for (size_t i = 0; engines_at(i); i++)
            working += examine(c, loop, &mounts, engines_at(i)->name);
        if (loop_cancelled(loop))
            out_status = loop_exit_code(loop);
    }
    loop_free(loop);
    return out_status ? out_status : working > 0 ? model : 3; /* without an engine nothing works */
}
