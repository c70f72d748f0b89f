/* mcp_lines.h - cuts what comes from stdin into messages, one a line. The same bytes give the same messages
 * however they are cut; a line over MCP_MESSAGE_MAX is not kept.
 */
#ifndef MCP_MCP_LINES_H
#define MCP_MCP_LINES_H

#include <stdbool.h>

#include "base/buf.h"

struct mcp_lines {
    struct buf line; /* what has come of it */
    bool skipping;   /* the line was too long and is read to its end */
    /* len 0, text NULL: a line that was too long */
    void (*message)(void *ctx, const char *text, size_t len);
    void *ctx;
};

void mcp_lines_init(struct mcp_lines *l, void (*message)(void *ctx, const char *text, size_t len), void *ctx);
void mcp_lines_release(struct mcp_lines *l);
void mcp_lines_feed(struct mcp_lines *l, const char *bytes, size_t n);
void mcp_lines_end(struct mcp_lines *l); /* what has come is the last message, though its line has no end */

#endif
