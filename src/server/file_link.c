/* file_link.c - links to files of a sandbox. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sha256.h"
#include "server/media.h"
#include "server/private.h"
#include "server/sandboxes.h"

/* A link works by itself, so that it can be handed to a browser or to another service: it is signed, until
 * the server ends. Nested as in HMAC, for a hash alone could be continued. */
static void sign(const struct server *s, const char *id, const char *name, char out[SHA256_HEX])
{
    autofree char *inner = xasprintf("%s/%s/%s", s->signs, id, name);

    sha256_hex(inner, strlen(inner), out);
    autofree char *outer = xasprintf("%s/%s", s->signs, out);
    sha256_hex(outer, strlen(outer), out);
}

bool file_link_good(const struct visit *q, const char *id, const char *name)
{
    const char *key = visit_query(q, "key");
    char good[SHA256_HEX];
    unsigned differ = 0;

    if (!key || strlen(key) != SHA256_HEX - 1)
        return false;
    sign(visit_server(q), id, name, good);
    for (size_t i = 0; i < SHA256_HEX; i++)
        differ |= (unsigned)(good[i] ^ key[i]);
    return differ == 0;
}

char *sandbox_file_url(const struct visit *q, const char *id, const char *name)
{
    autofree char *path = media_url(name);
    char key[SHA256_HEX];

    sign(visit_server(q), id, name, key);
    return xasprintf("%s/files/%s/%s?key=%s", visit_base(q), id, path, key);
}
