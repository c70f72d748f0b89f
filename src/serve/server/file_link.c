/* file_link.c - links to files of a sandbox. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sha256.h"
#include "server/media.h"
#include "server/private.h"
#include "server/sandboxes.h"

/* A link works by itself, so that it can be handed to a browser or to another service: it is signed, until
 * the server ends, for the client whose file it is. Nested as in HMAC, for a hash alone could be
 * continued. */
static void sign(const struct http_request *q, const char *client, const char *file, char out[SHA256_HEX])
{
    const struct server *s = q->s;
    autofree char *inner = xasprintf("%s/%s/%s", s->signs, client, file);

    sha256_hex(inner, strlen(inner), out);
    autofree char *outer = xasprintf("%s/%s", s->signs, out);
    sha256_hex(outer, strlen(outer), out);
}

static bool same_key(const char *a, const char *b)
{
    unsigned differ = 0;

    for (size_t i = 0; i < SHA256_HEX; i++)
        differ |= (unsigned)(a[i] ^ b[i]);
    return differ == 0;
}

bool file_link_good(struct http_request *q, const char *id, const char *name)
{
    const struct tokens *t = q->s->o.tokens;
    const char *key = http_request_query(q, "key");
    autofree char *file = xasprintf("%s/%s", id, name);
    char good[SHA256_HEX];

    if (!key || strlen(key) != SHA256_HEX - 1)
        return false;
    for (size_t i = 0; i < t->n; i++) {
        sign(q, tokens_client(t, i), file, good);
        if (!t->gone[i] && same_key(good, key)) {
            q->client = tokens_client(t, i);
            return true;
        }
    }
    return false;
}

char *sandbox_file_url(const struct http_request *q, const char *id, const char *name)
{
    autofree char *path = media_url(name), *file = xasprintf("%s/%s", id, name);
    char key[SHA256_HEX];

    sign(q, http_request_client(q), file, key);
    return xasprintf("%s/files/%s/%s?key=%s", http_request_base(q), id, path, key);
}
