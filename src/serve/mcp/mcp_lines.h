/* mcp_lines.h - cuts what comes from stdin into messages, one a line. The same bytes give the same messages
 * however they are cut. A line of more than MCP_MESSAGE_MAX is not kept.
 */
#ifndef MCP_MCP_LINES_H
#define MCP_MCP_LINES_H

#include <stdbool.h>

#include "base/buf.h"

struct mcp_lines {
    struct buf line; /* the line so far */
    bool skipping;   /* the line is too long, and is only read to its end */
    /* text NULL: the line was too long */
    void (*message)(void *ctx, const char *text, size_t len);
    void *ctx;
};

void mcp_lines_init(struct mcp_lines *l, void (*message)(void *ctx, const char *text, size_t len), void *ctx);
void mcp_lines_release(struct mcp_lines *l);
void mcp_lines_feed(struct mcp_lines *l, const char *bytes, size_t n);
void mcp_lines_end(struct mcp_lines *l); /* no more bytes come: a line without its end is a message too */

#endif
