/* headers.c - compares the headers of a POST with its body, which they repeat (revision 2026-07-28). A value
 * that is not plain ASCII comes as =?base64?...?=. It is compared in that form, so nothing has to be decoded.
 */
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "mcp/mcp_private.h"

#define OPEN  "=?base64?"
#define CLOSE "?="

static bool is_encoded(const char *text, size_t len)
{
    return len >= strlen(OPEN CLOSE) && !strncmp(text, OPEN, strlen(OPEN))
           && !strncmp(text + len - strlen(CLOSE), CLOSE, strlen(CLOSE));
}

/* Does the header hold that value? Blanks around it are not part of it. */
static bool holds(const char *header, const char *value)
{
    struct buf coded autorelease(buf_release) = BUF_INIT(0);

    header += strspn(header, " \t");
    size_t len = trimmed_length(header, strlen(header), " \t");
    if (is_encoded(header, len)) {
        buf_addstr(&coded, OPEN);
        base64_add(&coded, (const unsigned char *)value, strlen(value));
        buf_addstr(&coded, CLOSE);
        value = buf_str(&coded);
    }
    return strlen(value) == len && !memcmp(header, value, len);
}

/* Do they differ, or is only one of them there? */
static bool differs(const char *header, const char *value)
{
    return (header != NULL) != (value != NULL) || (header && !holds(header, value));
}

const char *mcp_header_wrong(const struct mcp_request *q, const char *method, const char *version)
{
    const struct mcp_headers *h = q->link->o.headers;
    const char *by = q->method ? q->method->named_by : NULL;

    if (!h)
        return NULL;
    if (!h->version || !holds(h->version, version))
        return "MCP-Protocol-Version";
    if (!h->method || !holds(h->method, method))
        return "Mcp-Method";
    if (by && json_get(q->params, by) && differs(h->name, json_str(json_get(q->params, by))))
        return "Mcp-Name";
    if (!strcmp(method, "tools/call")
        && differs(h->sandbox, json_str(json_get(json_get(q->params, "arguments"), "sandbox"))))
        return "Mcp-Param-Sandbox";
    return NULL;
}
