/* curl_load.c - see curl_load.h. */
#include "llm/curl_load.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/url.h"
#include "llm/certificates.h"

const struct curl_api *curl_load(struct error *err)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    static struct curl_api api;
    static int loaded;
    if (loaded)
        return &api;
    void *lib = NULL;
    for (size_t i = 0; i < countof(names) && !lib; i++)
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        error_set(err, ERROR_SYSTEM, 0,
                  "libcurl cannot be loaded: %s\ninstall it (Debian: apt install libcurl4)", dlerror());
        return NULL;
    }
    static const struct {
        const char *name;
        size_t offset;
    } table[] = {
#define X(name) {"curl_" #name, offsetof(struct curl_api, name)},
        CURL_FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < countof(table); i++) {
        void *fn = dlsym(lib, table[i].name);
        if (!fn) {
            error_set(err, ERROR_SYSTEM, 0, "this libcurl has no %s; version 7.66 or newer is required",
                      table[i].name);
            return NULL;
        }
        memcpy((char *)&api + table[i].offset, &fn, sizeof fn);
    }
    if (api.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        error_set(err, ERROR_SYSTEM, 0, "libcurl could not be initialised");
        return NULL;
    }
    loaded = 1;
    return &api;
}

/* Other schemes could read files. The newer option came with 7.85. */
static CURLcode http_alone(const struct curl_api *c, CURL *easy)
{
    CURLcode rc = c->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    return rc == CURLE_UNKNOWN_OPTION
               ? c->easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS))
               : rc;
}

CURLcode curl_common(const struct curl_api *c, CURL *easy, const char *url, const char *ca_cert,
                     int connect_ms)
{
    CURLcode rc = http_alone(c, easy);
    rc = rc ? rc : certificates_use(c, easy, ca_cert);
    rc = rc ? rc : c->easy_setopt(easy, CURLOPT_URL, url);
    rc = rc ? rc : c->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    /* A proxy cannot reach our loopback, and must not see what goes there. */
    if (url_is_loopback(url))
        rc = rc ? rc : c->easy_setopt(easy, CURLOPT_PROXY, "");
    rc = rc ? rc : c->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    rc = rc ? rc : c->easy_setopt(easy, CURLOPT_USERAGENT, "sandpiper/" VERSION);
    rc = rc ? rc : c->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    /* Do not wait for a resolver thread after a cancel. Since 7.87; with an older libcurl a cancel may only
     * take longer. */
    c->easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    return rc;
}
