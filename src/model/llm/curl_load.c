/* curl_load.c - looks up libcurl's functions by their names, and sets the options that every transfer of
 * ours has.
 */
#include "llm/curl_load.h"

#include <assert.h>
#include <poll.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/url.h"
#include "llm/certificates.h"
#include "process/loop.h"

const struct curl_api *curl_load(struct error *err)
{
    static struct curl_api api;
    static bool loaded;
#define X(name) "curl_" #name,
    static const char *const names[] = {CURL_FUNCTIONS(X)};
#undef X
    const struct library curl = {"libcurl", "libcurl4",    "7.66", {"libcurl.so.4", "libcurl-gnutls.so.4"},
                                 names,     countof(names)};

    static_assert(sizeof api == sizeof names, "a name for each member");
    if (loaded)
        return &api;
    if (library_open(&curl, &api, err) != 0)
        return NULL;
    if (api.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return error_null(err, ERROR_SYSTEM, 0, "libcurl could not be initialised");
    loaded = true;
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

/* multi_poll does not report hang-ups of other descriptors than libcurl's, so those are polled once more. */
void curl_wait(const struct curl_api *c, CURLM *multi, struct loop *loop, int ms)
{
    size_t n = 0;
    struct pollfd *fds = loop ? loop_fds(loop, 0, &n) : NULL;
    struct curl_waitfd *extra = xcalloc(n + 1, sizeof *extra);
    for (size_t i = 0; i < n; i++)
        extra[i] = (struct curl_waitfd){
            .fd = fds[i].fd,
            .events = (short)((fds[i].events & POLLIN ? CURL_WAIT_POLLIN : 0)
                              | (fds[i].events & POLLOUT ? CURL_WAIT_POLLOUT : 0))};
    int ready = 0;
    c->multi_poll(multi, extra, (unsigned)n, loop ? loop_timeout(loop, ms) : ms, &ready);
    free(extra);
    if (!loop)
        return;
    if (n && ready > 0 && poll(fds, n, 0) < 0)
        n = 0;
    loop_serve(loop, fds, n); /* without that poll their revents are all zero */
    free(fds);
}
