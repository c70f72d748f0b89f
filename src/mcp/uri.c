/* uri.c - what a file of a sandbox is called: sandpiper://HANDLE/NAME, percent-encoded. */
#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "mcp/mcp_private.h"

#define SCHEME  "sandpiper://"
#define LONGEST 4096 /* bytes of a name in a URI; no file has a longer one */

char *mcp_uri(const char *sandbox, const char *name)
{
    struct buf b = BUF_INIT(0);

    buf_addf(&b, SCHEME "%s/", sandbox);
    for (const char *p = name; *p; p++)
        if (isalnum((unsigned char)*p) || strchr("-._~/", *p))
            buf_addch(&b, *p);
        else
            buf_addf(&b, "%%%02X", (unsigned char)*p);
    return buf_steal(&b, NULL);
}

static int hex(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;

    return at ? (int)(at - digits) : -1;
}

static bool decode(const char *text, struct buf *out)
{
    for (const char *p = text; *p; p++) {
        if (*p != '%') {
            buf_addch(out, *p);
            continue;
        }
        int high = hex(p[1]), low = high < 0 ? -1 : hex(p[2]);
        if (low < 0 || (high == 0 && low == 0))
            return false;
        buf_addch(out, (char)(high * 16 + low));
        p += 2;
    }
    return out->len > 0 && !out->full && utf8_valid(buf_str(out), out->len);
}

bool mcp_uri_parse(const char *uri, char sandbox[MCP_ID + 1], char **name)
{
    struct buf b autorelease(buf_release) = BUF_INIT(LONGEST);
    const char *id = uri + strlen(SCHEME);

    if (strncmp(uri, SCHEME, strlen(SCHEME)) != 0 || strlen(id) < MCP_ID + 2 || id[MCP_ID] != '/'
        || strspn(id, "0123456789abcdef") != MCP_ID || !decode(id + MCP_ID + 1, &b))
        return false;
    memcpy(sandbox, id, MCP_ID);
    sandbox[MCP_ID] = 0;
    *name = buf_steal(&b, NULL);
    return true;
}
