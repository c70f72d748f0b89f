/* mcp_runners.h - the sandboxes of src/runner as the host of src/mcp. */
#ifndef MCP_MCP_RUNNERS_H
#define MCP_MCP_RUNNERS_H

#include "mcp/mcp.h"

struct runners;

/* runners: borrowed, for as long as the host is used. */
struct mcp_host mcp_runners_host(struct runners *runners);

#endif
