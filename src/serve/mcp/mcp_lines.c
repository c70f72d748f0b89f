/* mcp_lines.c - collects bytes up to a newline, and counts what is over the cap away. */
#include "mcp/mcp_lines.h"

#include <string.h>

#include "mcp/mcp.h"

void mcp_lines_init(struct mcp_lines *l, void (*message)(void *ctx, const char *text, size_t len), void *ctx)
{
    *l = (struct mcp_lines){.line = BUF_INIT(MCP_MESSAGE_MAX), .message = message, .ctx = ctx};
}

void mcp_lines_release(struct mcp_lines *l)
{
    buf_release(&l->line);
}

static void end_line(struct mcp_lines *l)
{
    const struct buf line = l->line;

    if (l->skipping)
        l->message(l->ctx, NULL, 0);
    else if (trimmed_length(buf_str(&line), line.len, " \t\r"))
        l->message(l->ctx, buf_str(&line), line.len);
    l->skipping = false;
    if (line.alloc > 65536) /* one long message must not keep its memory for ever */
        buf_release(&l->line);
    buf_clear(&l->line);
}

void mcp_lines_feed(struct mcp_lines *l, const char *bytes, size_t n)
{
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t len = end ? (size_t)(end - bytes) : n;

        if (!l->skipping && !buf_add(&l->line, bytes, len)) {
            l->skipping = true;
            buf_release(&l->line);
        }
        if (end)
            end_line(l);
        bytes += len + (end != NULL);
        n -= len + (end != NULL);
    }
}

void mcp_lines_end(struct mcp_lines *l)
{
    if (l->line.len > 0 || l->skipping)
        end_line(l);
}
