/* mcp_runners.h - makes the sandboxes of runner the host that mcp.h asks. */
#ifndef MCP_MCP_RUNNERS_H
#define MCP_MCP_RUNNERS_H

#include "mcp/mcp.h"

struct runners;

/* runners is borrowed for as long as the host is used. */
struct mcp_host mcp_runners_host(struct runners *runners);

#endif
