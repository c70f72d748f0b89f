/* cmd_python.c - /code, /edit, /run, /last, /vars, /reset: the Python behind the answers. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/embed.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/quoting.h"
#include "base/value.h"
#include "process/signals.h"
#include "sandbox/sandbox.h"
#include "show/show.h"
#include "term/commands.h"
#include "term/private.h"

#define VARS_MAX   (256 * 1024)
#define OUTPUT_MAX (17 * 1024 * 1024)

EMBED(term_vars, "src/terminal/term/vars.py")

static const char no_code[] = "No code has run yet.";

static void slash_code(struct term *t)
{
    const char *text = past_code(&t->past);

    if (text)
        term_print(t, text, strlen(text));
    else
        term_say(t, NOTICE_INFO, no_code);
}

const struct chat_command command_code = {
    .name = "/code",
    .argument = "",
    .help = "the code that ran for the last question",
    .act = slash_code,
    .usual = true,
};

static void slash_edit(struct term *t)
{
    struct buf code autorelease(buf_release) = BUF_INIT(SANDBOX_CODE_MAX);
    const char *last = past_code(&t->past);
    struct error err = {0};

    if (!last) {
        term_say(t, NOTICE_INFO, no_code);
        return;
    }
    buf_addstr(&code, last);
    while (code.len && code.data[code.len - 1] == '\n')
        code.len--;
    int r = term_edit(t, ".py", &code, &err);
    if (r < 0)
        term_say_error(t, &err);
    else if (r == 0 || !code.len)
        term_say(t, NOTICE_INFO, "Nothing was changed, so nothing ran.");
    else
        term_run_code(t, buf_str(&code));
}

const struct chat_command command_edit = {
    .name = "/edit",
    .argument = "",
    .help = "edit the last code and run it",
    .act = slash_edit,
    .usual = true,
    .more = "Opens the code of the last question in VISUAL or EDITOR, and runs what comes\n"
            "back as your own code, if it was changed.\n",
};

/* A word that can only be the name of a file. */
static bool names_a_file(const char *s)
{
    size_t n = strlen(s);

    return !strpbrk(s, " \t\n()=\"'") && (*s == '/' || *s == '~' || (n > 3 && !strcmp(s + n - 3, ".py")));
}

static void slash_run(struct term *t, const char *argument)
{
    struct buf code autorelease(buf_release) = BUF_INIT(SANDBOX_CODE_MAX);
    autofree char *path = name_path(argument);
    struct error err = {0};
    struct stat st;

    if (stat(path, &st) < 0 && !names_a_file(argument))
        term_run_code(t, argument);
    else if (file_read(path, SANDBOX_CODE_MAX, &code, &err) < 0)
        term_say_error(t, &err);
    else if (memchr(buf_str(&code), 0, code.len))
        term_sayf(t, NOTICE_ERROR, "%s: not Python: it contains a NUL byte", path);
    else
        term_run_code(t, buf_str(&code));
}

const struct chat_command command_run = {
    .name = "/run",
    .argument = "FILE|CODE",
    .help = "run a Python file of this machine, or CODE",
    .run = slash_run,
    .files = true,
    .more = "The file is read here and runs in the sandbox, as !CODE does.\n",
};

/* "/last 3": of that cell, by its number. */
static void show_output(struct term *t, const char *argument)
{
    int64_t cell = 0;
    const char *text = value_int(argument, &cell) && cell > 0 && cell <= UINT_MAX
                           ? past_output(&t->past, (unsigned)cell)
                           : NULL;

    if (!text)
        term_sayf(t, NOTICE_ERROR, "No output is kept of run %s.", argument);
    else if (!*text)
        term_sayf(t, NOTICE_INFO, "Run %s printed nothing.", argument);
    else
        term_page(t, text, strlen(text));
}

static void slash_last(struct term *t, const char *argument)
{
    struct buf whole autorelease(buf_release) = BUF_INIT(0);

    if (*argument) {
        show_output(t, argument);
        return;
    }
    if (t->output_path && file_read(t->output_path, OUTPUT_MAX, &whole, NULL) == 0)
        term_page(t, buf_str(&whole), whole.len);
    else if (t->output.len)
        term_page(t, buf_str(&t->output), t->output.len);
    else
        term_say(t, NOTICE_INFO, sandbox_cells(t->o.sandbox) ? "The last code printed nothing." : no_code);
}

const struct chat_command command_last = {
    .name = "/last",
    .argument = "[N]",
    .help = "the last output in full, or that of run N",
    .run = slash_last,
    .more = "Through PAGER if it is longer than the screen. Output beyond half a screen is\n"
            "cut, and the line behind it says which run it is of.\n",
};

static void add_output(void *ctx, int stream, const char *text, size_t len)
{
    (void)stream;
    buf_add(ctx, text, len);
}

/* A cell that the model is not told of, and that leaves nothing behind. */
static void slash_vars(struct term *t)
{
    struct buf out autorelease(buf_release) = BUF_INIT(VARS_MAX);
    const struct cell_listener l = {.ctx = &out, .output = add_output};
    struct cell_result r = {0};
    struct error err = {0};

    loop_arm(t->loop);
    show_status(t->show, "Looking at the variables...");
    int ran = sandbox_run(t->o.sandbox, term_vars, EMBED_SIZE(term_vars), &l, &r, &err);
    show_status(t->show, NULL);
    if (ran < 0)
        term_say_error(t, &err);
    else if (r.status != CELL_OK)
        term_sayf(t, NOTICE_ERROR, "the variables could not be listed%s%s", r.exception ? ": " : "",
                  r.exception ? r.exception : "");
    else if (out.len)
        term_page(t, out.data, out.len);
    else
        term_say(t, NOTICE_INFO, "No variables yet.");
    cell_result_release(&r);
}

const struct chat_command command_vars = {
    .name = "/vars",
    .argument = "",
    .help = "the variables: types, shapes, sizes",
    .act = slash_vars,
};

static void slash_reset(struct term *t)
{
    struct error err = {0};

    loop_arm(t->loop);
    show_status(t->show, "Restarting Python...");
    int r = agent_reset(t->agent, &err);
    show_status(t->show, NULL);
    if (r < 0)
        term_say_error(t, &err);
    else
        term_say(t, NOTICE_INFO, "Python restarted: variables cleared, files kept.");
}

const struct chat_command command_reset = {
    .name = "/reset",
    .argument = "",
    .help = "restart Python; keep only files and conversation",
    .act = slash_reset,
    .usual = true,
    .more = "Starts a fresh Python: variables and imports are gone. Files and the\n"
            "conversation are kept, and the model is told with the next question.\n",
};
