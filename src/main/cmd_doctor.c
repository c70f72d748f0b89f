/* cmd_doctor.c - "sandpiper doctor": starts each engine with the options in force to see which work here,
 * which limits they hold and which are weaker; gives the one command that mends what does not work; and
 * checks that the model can be asked (check_model.c).
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

static void add_list(struct buf *out, const char *label, const struct argv *items)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);

    for (size_t i = 0; i < items->n; i++)
        buf_addf(&line, "%s%s", i ? ", " : "", items->v[i]);
    if (line.len > 0)
        add_line(out, label, buf_str(&line));
}

/* Short names are padded to a column. */
static void add_name(struct buf *out, const char *engine)
{
    buf_addf(out, "%-7s ", engine);
}

static void tell(const char *engine, const struct sandbox_check *c, struct buf *out)
{
    add_name(out, engine);
    if (!c->works) {
        size_t n = strlen(engine);
        bool named = strncmp(c->err.text, engine, n) == 0 && strncmp(c->err.text + n, ": ", 2) == 0;
        autofree char *clean = scrub_line(c->err.text + (named ? n + 2 : 0), SCRUB_TERMINAL);

        buf_addf(out, "does not work: %s\n", clean);
        if (*c->err.remedy)
            add_line(out, "remedy", c->err.remedy);
        return;
    }
    buf_addf(out, "%s: Python %s, first result after %.2f s%s%s\n",
             c->contained ? "works" : "runs code, but it was not seen to contain it", c->python, c->seconds,
             c->runtime ? ", runtime " : "", c->runtime ? c->runtime : "");
    for (size_t i = 0; i < c->open.n; i++)
        add_line(out, "open", c->open.v[i]);
    add_line(out, "packages", c->packages && *c->packages ? c->packages : "only Python's own");
    add_list(out, "walls", &c->walls);
    add_list(out, "limits", &c->holds);
    for (size_t i = 0; i < c->weaker.n; i++)
        add_line(out, "weaker", c->weaker.v[i]);
    if (c->gvisor)
        add_line(out, "note",
                 "gVisor (runsc) is installed: --runtime runsc isolates the code from the host's kernel");
}

static int print_wrapped(const struct buf *text)
{
    struct buf wrapped autorelease(buf_release) = BUF_INIT(0);

    show_wrap_lines(&wrapped, buf_str(text), 1);
    return print_out(buf_str(&wrapped), wrapped.len);
}

/* The exit code: without an engine nothing works, so that comes first; then the code a question would end
 * with. */
static int verdict(unsigned working, int model)
{
    return working > 0 ? model : 3;
}

struct examination {
    struct config *c;
    struct loop *loop;
    struct buf out;
    unsigned working; /* engines that run code and were seen to contain it */
    int status;       /* of writing to stdout */
};

/* Examine one engine if the user wants it. Printed as soon as it is known, since a start may take a while. */
static void examine(struct examination *x, const char *engine)
{
    struct sandbox_options o;
    struct sandbox_check check;

    if (x->status || loop_cancelled(x->loop)
        || (strcmp(x->c->sandbox, "auto") != 0 && strcmp(x->c->sandbox, engine) != 0))
        return;
    setup_sandbox(x->c, &o);
    o.run.engine = engine;
    o.run.name = NULL; /* doctor's own sandbox must not outlive it */
    sandbox_check(&o, x->loop, &check);
    x->working += check.works && check.contained;
    if (!loop_cancelled(x->loop)) {
        buf_clear(&x->out);
        tell(engine, &check, &x->out);
        x->status = print_wrapped(&x->out);
    }
    sandbox_check_release(&check);
}

int cmd_doctor(struct config *c, int closed)
{
    struct examination x = {.c = c, .loop = loop_new()};
    struct error err = {0};
    int model = 0;

    (void)closed;
    print_notices(c);
    if (loop_signals(x.loop, &err) < 0)
        print_error(&err);
    for (size_t i = 0; engines_at(i); i++)
        examine(&x, engines_at(i)->name);
    if (x.status == 0 && !c->offline && !loop_cancelled(x.loop)) {
        buf_clear(&x.out);
        model = check_model(c, x.loop, &x.out);
        x.status = loop_cancelled(x.loop) ? 0 : print_wrapped(&x.out);
    }
    buf_release(&x.out);
    if (loop_cancelled(x.loop))
        x.status = loop_fatal(x.loop) ? 143 : 130;
    loop_free(x.loop);
    return x.status ? x.status : verdict(x.working, model);
}
