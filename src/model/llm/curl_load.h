/* curl_load.h - loads libcurl on first use. It brings in 39 shared objects, and `sandpiper --version` must
 * not wait for them. Call functions as curl->easy_init(); the members have libcurl's own types.
 */
#ifndef LLM_CURL_LOAD_H
#define LLM_CURL_LOAD_H

#define CURL_DISABLE_TYPECHECK
#define CURL_DISABLE_DEPRECATION /* an older libcurl has only the older option */
#include <curl/curl.h>
/* curl.h turns some names into macros of the same name, but the table needs the plain functions. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

/* These are newer than the libcurl that we require (7.66), so an older header may lack them. A libcurl that
 * does not know an option reports that when it is set. */
#if LIBCURL_VERSION_NUM < 0x075500
#define CURLOPT_PROTOCOLS_STR ((CURLoption)(CURLOPTTYPE_OBJECTPOINT + 318))
#endif
#if LIBCURL_VERSION_NUM < 0x075700
#define CURLOPT_QUICK_EXIT ((CURLoption)(CURLOPTTYPE_LONG + 322))
#endif
#if LIBCURL_VERSION_NUM < 0x074900
#define CURLE_PROXY ((CURLcode)97)
#endif

struct error;
struct loop;

/* clang-format off */
#define CURL_FUNCTIONS(X) \
    X(global_init) X(getdate) \
    X(easy_init) X(easy_setopt) X(easy_getinfo) X(easy_perform) X(easy_reset) X(easy_cleanup) \
    X(easy_strerror) X(easy_send) X(easy_recv) \
    X(multi_init) X(multi_add_handle) X(multi_remove_handle) X(multi_perform) X(multi_poll) \
    X(multi_info_read) X(multi_setopt) X(multi_cleanup) \
    X(slist_append) X(slist_free_all)
/* clang-format on */

struct curl_api {
#define X(name) __typeof__(&curl_##name) name;
    CURL_FUNCTIONS(X)
#undef X
};

/* Sets what all our transfers share: only http and https, no redirects, no signals, our user agent, our
 * certificates (ca_cert is as in certificates.h). Any result but CURLE_OK means that libcurl cannot do this,
 * and nothing may be sent. */
CURLcode curl_common(const struct curl_api *c, CURL *easy, const char *url, const char *ca_cert,
                     int connect_ms);

/* Waits until libcurl has something to do, but for at most ms, and serves the loop (NULL: none) meanwhile. */
void curl_wait(const struct curl_api *c, CURLM *multi, struct loop *loop, int ms);

/* Returns the table, which is the same each time. NULL with ERROR_SYSTEM when libcurl is missing. */
const struct curl_api *curl_load(struct error *err);

#endif
