/* network.c - reads a request of the code's from JSON, and says it in a line.
 */
#include "conversation/network.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "json/json.h"

static const char *const states[] = {
    [NETWORK_OPEN] = "open",
    [NETWORK_REFUSED] = "refused",
    [NETWORK_DONE] = "done",
    [NETWORK_LOST] = "lost",
};

const char *network_state_name(enum network_state s)
{
    return states[s];
}

int network_request_read(const struct json *o, struct network_request *r)
{
    const char *state = json_text(json_get(o, "state"));
    size_t i = 0;

    while (i < NETWORK_LOST && strcmp(state, states[i]) != 0)
        i++;
    if (i == NETWORK_LOST)
        return -1;
    *r = (struct network_request){
        .state = (enum network_state)i,
        .number = json_int(json_get(o, "number"), 0),
        .method = json_str(json_get(o, "method")),
        .host = json_str(json_get(o, "host")),
        .path = json_str(json_get(o, "path")),
        .secret = json_str(json_get(o, "secret")),
        .why = json_str(json_get(o, "why")),
        .port = (int)json_int(json_get(o, "port"), 0),
        .status = (int)json_int(json_get(o, "status"), 0),
        .sent = json_int(json_get(o, "sent"), 0),
        .received = json_int(json_get(o, "received"), 0),
    };
    return 0;
}

/* "https://api.example.com" for a tunnel; for others the whole URL. */
static char *network_target(const struct network_request *r)
{
    bool tunnel = r->method && !strcmp(r->method, "CONNECT");
    bool v6 = r->host && strchr(r->host, ':');
    autofree char *port = r->port && r->port != (tunnel ? 443 : 80) ? xasprintf(":%d", r->port) : xstrdup("");

    if (!r->host)
        return xstrdup("a request");
    return xasprintf("%s%shttp%s://%s%s%s%s%s", tunnel || !r->method ? "" : r->method,
                     tunnel || !r->method ? "" : " ", tunnel ? "s" : "", v6 ? "[" : "", r->host,
                     v6 ? "]" : "", port, r->path ? r->path : "");
}

char *network_line(const struct network_request *r)
{
    autofree char *to = network_target(r);

    switch (r->state) {
    case NETWORK_OPEN:
        return xasprintf("network: %s%s%s%s", to, r->secret ? " (" : "", r->secret ? r->secret : "",
                         r->secret ? " is added)" : "");
    case NETWORK_REFUSED:
        return xasprintf("network: refused: %s: %s", to, r->why ? r->why : "");
    case NETWORK_DONE:
        return xasprintf("network: %s is done: %s sent, %s received", to, size_text(r->sent).text,
                         size_text(r->received).text);
    default:
        return xstrdup("network: its proxy has ended, so code reaches no host any more");
    }
}

void network_count_add(struct network_count *n, const struct network_request *r)
{
    n->allowed += r->state == NETWORK_OPEN;
    n->refused += r->state == NETWORK_REFUSED;
}

char *network_count_line(const struct network_count *n)
{
    return xasprintf("network was on: %u request%s, %u refused", n->allowed, n->allowed == 1 ? "" : "s",
                     n->refused);
}
