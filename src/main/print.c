/* print.c - main's own words. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "main/command.h"

static void print(const char *prefix, const char *text)
{
    struct buf out autorelease(buf_release) = BUF_INIT(65536);
    struct scrub s;

    scrub_init(&s, isatty(2) ? SCRUB_TERMINAL : SCRUB_PIPE);
    buf_addstr(&out, prefix);
    scrub_feed(&s, text, strlen(text), &out);
    scrub_end(&s, &out);
    while (out.len && out.data[out.len - 1] == '\n')
        out.len--;
    buf_addch(&out, '\n');
    fd_write_all(2, buf_str(&out), out.len);       /* nothing can be done about a stderr that is gone */
}

void print_line(const char *text)
{
    print("sandpiper: ", text);
}

void print_plain(const char *text)
{
    print("", text);
}

void print_error(const struct error *err)
{
    print_line(err->text);
}

void print_notices(const struct config *c)
{
    for (size_t i = 0; i < c->notices.n && !c->quiet; i++)
        print_line(c->notices.v[i]);
}

int print_out(const char *text, size_t len)
{
    if (fd_write_all(1, text, len) == 0)
        return 0;
    if (errno == EPIPE)
        return 141;
    autofree char *line = xasprintf("cannot write to stdout: %s", strerror(errno));
    print_line(line);
    return 1;
}
