/* request_workers_ai.c - writes requests for Cloudflare's own API, where the model is a part of the URL.
 * Facts: developers.cloudflare.com/workers-ai (get-started/rest-api, models/gpt-oss-120b,
 * ai-gateway/usage/providers/workersai), and the messages that cloudflare/ai sends
 * (packages/workers-ai-provider/src/convert-to-workersai-chat-messages.ts).
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "json/json.h"
#include "base/mem.h"
#include "base/percent.h"
#include "base/url.h"
#include "wire/api.h"
#include "wire/request_parts.h"

static bool ends(const char *s, size_t len, const char *with)
{
    size_t n = strlen(with);
    return len >= n && !strncmp(s + len - n, with, n);
}

/* The model's name becomes a part of the path, and may come from a hostile folder's .env, so it must not lead
 * anywhere else. */
static char *path_of_model(const char *model, struct error *err)
{
    struct buf b autorelease(buf_release) = BUF_INIT(4096);
    percent_encode(&b, model, "@/:");
    for (const char *p = buf_str(&b);; p++) {
        size_t n = strcspn(p, "/");
        if (!n || (n <= 2 && !strncmp(p, "..", n)))
            return error_null(
                err, ERROR_USAGE, 0,
                "model \"%.100s\": the name is a part of the URL here, like @cf/meta/llama-3.1-8b-instruct",
                model);
        p += n;
        if (!*p)
            return buf_steal(&b, NULL);
    }
}

char *workers_ai_url(const char *base, const char *model, struct error *err)
{
    autofree char *name = path_of_model(model, err);
    if (!name)
        return NULL;
    base = base ? base : "";
    size_t len = strcspn(base, "?#");
    while (len && base[len - 1] == '/')
        len--;
    const char *query = base + strcspn(base, "?#"), *between = "/ai/run/";
    if (ends(base, len, "/ai/v1"))
        len -= 3;
    if (ends(base, len, "/ai"))
        between = "/run/";
    else if (ends(base, len, "/ai/run") || ends(base, len, "/workers-ai"))
        between = "/";
    autofree char *root = xasprintf("%.*s%s", (int)len, base, query),
                  *path = xasprintf("%s%s", between, name);
    return url_endpoint(root, path, err);
}

char *workers_ai_model(const char *url)
{
    const char *at = strstr(url, "/run/");
    at = at ? at + 5 : (at = strstr(url, "/workers-ai/")) ? at + 12 : NULL;
    return at && *at && *at != '?' ? xmemdup0(at, strcspn(at, "?#")) : NULL;
}

/* max_tokens is always sent, because its default here is 256. Usage comes without being asked for. */
void request_workers_ai(struct request_out *o)
{
    const struct request_shape *s = o->s;
    request_messages(o, (struct request_style){.names = true});
    json_set(o->body, "messages", o->messages);
    request_tools(o);
    if (s->max_tokens > 0 && s->learnt->max_tokens_field == MAX_TOKENS_OLD)
        json_set_int(o->body, "max_tokens", s->max_tokens);
    request_temperature(o);
    request_thinking(o);
    json_set_bool(o->body, "stream", s->stream);
}
