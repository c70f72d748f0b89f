/* print.c - main's own output. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "json/json.h"
#include "main/command.h"
#include "process/signals.h"
#include "process/out.h"
#include "show/show.h"

static void print(const char *prefix, const char *text, int width)
{
    struct buf clean autorelease(buf_release) = BUF_INIT(65536), out autorelease(buf_release) = BUF_INIT(0);
    const char *next;

    scrub_text(text, strlen(text), isatty(2) ? SCRUB_TERMINAL : SCRUB_PIPE, &clean);
    while (clean.len && clean.data[clean.len - 1] == '\n')
        clean.len--;
    buf_addstr(&out, prefix);
    for (const char *line = buf_str(&clean); line; line = next) {
        size_t len = strcspn(line, "\n");
        bool first = line == buf_str(&clean), indent = !first && *prefix && *line != ' ';

        next = line[len] ? line + len + 1 : NULL;
        /* a remedy is indented, so it cannot pass for another program's line */
        buf_addstr(&out, indent ? "  " : "");
        show_wrap(&out, line, len, first ? (int)strlen(prefix) : indent ? 2 : 0, width);
        buf_addch(&out, '\n');
    }
    out_write(2, buf_str(&out), out.len, NULL); /* if stderr is gone, nothing can be done */
}

void print_line(const char *text)
{
    print("sandpiper: ", text, show_is_terminal(2) ? show_width(2) : 0);
}

void print_plain(const char *text)
{
    print("", text, 0);
}

void print_error(const struct error *err)
{
    autofree char *message = error_message(err);

    print_line(message);
}

int print_failure(const struct error *err)
{
    const struct loop *signals = loop_of_signals();

    if (err->kind == ERROR_CANCELLED && signals)
        return loop_exit_code(signals);
    print_error(err);
    return error_exit_code(err);
}

void print_notices(struct config *c)
{
    for (size_t i = 0; i < c->notices.n && !c->front.quiet; i++)
        print_line(c->notices.v[i]);
    argv_release(&c->notices);
    if (c->said)
        print_line(c->said);
    c->said = NULL;
}

static int write_out(const char *text, size_t len)
{
    if (out_write(1, text, len, NULL) == 0)
        return 0;
    if (errno == EPIPE)
        return 141;
    if (errno == EINTR) /* interrupted while the reader stalled */
        return loop_exit_code(loop_of_signals());
    autofree char *line = xasprintf("cannot write to stdout: %s", strerror(errno));
    print_line(line);
    return 1;
}

int print_out(const char *text, size_t len)
{
    struct buf clean autorelease(buf_release) = BUF_INIT(0);

    if (!isatty(1))
        return write_out(text, len);
    scrub_text(text, len, SCRUB_TERMINAL, &clean);
    return write_out(buf_str(&clean), clean.len);
}

int print_json(const char *text, size_t len)
{
    struct buf ascii autorelease(buf_release) = BUF_INIT(0);

    if (!isatty(1))
        return write_out(text, len);
    json_ascii(text, len, &ascii);
    return write_out(buf_str(&ascii), ascii.len);
}

/* If the runtime folder has a wrong mode or owner it cannot be used, and named sandboxes seem to be new or
 * gone.
 */
void tell_runtime_dir(struct config *c)
{
    const char *set = getenv("XDG_RUNTIME_DIR");
    autofree char *own = xasprintf("%s/sandpiper", set ? set : ""), *used = xdg_path(XDG_RUNTIME, NULL);
    bool wanted = c->sandbox_name || c->args.command == COMMAND_PS || c->args.command == COMMAND_RM
                  || c->args.command == COMMAND_FORK || c->args.command == COMMAND_GC;

    if (!wanted || !set || !*set || (used && !strcmp(own, used)))
        return;
    autofree char *shown = scrub_line(set, SCRUB_TERMINAL);
    argv_pushf(&c->notices,
               "XDG_RUNTIME_DIR=%.200s is ignored: it must belong to you and have mode 0700. Named sandboxes "
               "are kept in %s\n"
               "chmod 700 it, or unset XDG_RUNTIME_DIR",
               shown, used ? used : "no folder at all");
}
