/* uri.c - the URI of a file of a sandbox: sandpiper://HANDLE/NAME, percent-encoded. */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/percent.h"
#include "base/utf8.h"
#include "mcp/mcp_private.h"

#define SCHEME  "sandpiper://"
#define LONGEST 4096 /* bytes of a name in a URI; no file has a longer one */

char *mcp_uri(const char *sandbox, const char *name)
{
    struct buf b = BUF_INIT(0);

    buf_addf(&b, SCHEME "%s/", sandbox);
    percent_encode(&b, name, "/");
    return buf_steal(&b, NULL);
}

bool mcp_uri_parse(const char *uri, char sandbox[MCP_ID + 1], char **name)
{
    const char *id = uri + strlen(SCHEME);

    if (strncmp(uri, SCHEME, strlen(SCHEME)) != 0 || strspn(id, "0123456789abcdef") != MCP_ID
        || id[MCP_ID] != '/')
        return false;
    autofree char *text = percent_decode(id + MCP_ID + 1, strlen(id + MCP_ID + 1), false);
    size_t len = text ? strlen(text) : 0;
    if (!len || len > LONGEST || !utf8_valid(text, len))
        return false;
    memcpy(sandbox, id, MCP_ID);
    sandbox[MCP_ID] = 0;
    *name = steal(&text);
    return true;
}
