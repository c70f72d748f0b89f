/* cmd_doctor.c - "sandpiper doctor": which engines work here, by a real start of each with the options in
 * force; which limits they hold and which are weaker; for what does not work the one command that mends it;
 * and whether the model can be asked (check_model.c).
 */
#include <stdio.h>
#include <string.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "engine/engines.h"
#include "main/command.h"
#include "sandbox/sandbox.h"
#include "show/show.h"

static void add_line(struct buf *out, const char *label, const char *text)
{
    autofree char *clean = scrub_line(text, SCRUB_TERMINAL);

    buf_addf(out, "        %-9s%s\n", label, clean);
}

static void tell(const char *engine, const struct sandbox_check *c, struct buf *out)
{
    struct buf holds = BUF_INIT(0);

    if (!c->works) {
        size_t n = strlen(engine);
        const char *text =
            c->err.text
            + (strncmp(c->err.text, engine, n) == 0 && strncmp(c->err.text + n, ": ", 2) == 0 ? n + 2 : 0);
        const char *end = strchrnul(text, '\n');
        autofree char *cause = xmemdup0(text, (size_t)(end - text));
        autofree char *clean = scrub_line(cause, SCRUB_TERMINAL);

        buf_addf(out, "%-8sdoes not work: %s\n", engine, clean);
        if (*end)
            add_line(out, "remedy", end + 1);
        return;
    }
    buf_addf(out, "%-8sworks: Python %s, first result after %.2f s%s%s\n", engine, c->python, c->seconds,
             c->runtime ? ", runtime " : "", c->runtime ? c->runtime : "");
    add_line(out, "packages", c->packages && *c->packages ? c->packages : "none beyond Python's own");
    for (size_t i = 0; i < c->holds.n; i++)
        buf_addf(&holds, "%s%s", i ? ", " : "", c->holds.v[i]);
    add_line(out, "limits", buf_str(&holds));
    for (size_t i = 0; i < c->weaker.n; i++)
        add_line(out, "weaker", c->weaker.v[i]);
    if (c->gvisor)
        add_line(out, "note",
                 "gVisor (runsc) is installed: --runtime runsc keeps the code away from the host's kernel");
    buf_release(&holds);
}

static int print_wrapped(const struct buf *text)
{
    struct buf wrapped autorelease(buf_release) = BUF_INIT(0);

    show_wrap_lines(&wrapped, buf_str(text), 1);
    return print_out(buf_str(&wrapped), wrapped.len);
}

/* Without an engine nothing works, so that goes first; then what a question would end with. */
static int verdict(unsigned working, int model)
{
    return working > 0 ? model : 3;
}

int cmd_doctor(struct config *c, int closed)
{
    bool all = strcmp(c->sandbox, "auto") == 0;
    struct loop *loop = loop_new();
    struct sandbox_options o;
    struct buf out = BUF_INIT(0);
    struct error err = {0};
    const struct engine *engine;
    unsigned working = 0;
    int status = 0, model = 0;

    (void)closed;
    print_notices(c);
    if (loop_signals(loop, &err) < 0)
        print_error(&err);
    setup_sandbox(c, &o);
    o.name = NULL; /* what is started here ends here */
    for (size_t i = 0; (engine = engines_at(i)) != NULL && status == 0 && !loop_cancelled(loop); i++) {
        struct sandbox_check check;

        if (!all && strcmp(c->sandbox, engine->name) != 0)
            continue;
        o.engine = engine->name;
        sandbox_check(&o, loop, &check);
        working += check.works;
        if (!loop_cancelled(loop)) {
            out.len = 0;
            tell(engine->name, &check, &out);
            status = print_wrapped(&out); /* each as soon as it is known: a start may take its time */
        }
        sandbox_check_release(&check);
    }
    if (status == 0 && !c->offline && !loop_cancelled(loop)) {
        buf_clear(&out);
        model = check_model(c, loop, &out);
        status = loop_cancelled(loop) ? 0 : print_wrapped(&out);
    }
    buf_release(&out);
    if (loop_cancelled(loop))
        status = loop_fatal(loop) ? 143 : 130;
    loop_free(loop);
    return status ? status : verdict(working, model);
}
