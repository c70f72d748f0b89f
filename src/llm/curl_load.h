/* curl_load.h - libcurl, loaded on first use: it drags in 39 shared objects, which `sandpiper --version` must
 * not wait for. Call as curl->easy_init(); the members have libcurl's own types.
 */
#ifndef LLM_CURL_LOAD_H
#define LLM_CURL_LOAD_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
/* curl.h turns some names into macros of the same name; the table needs the plain ones */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

struct error;

/* clang-format off */
#define CURL_FUNCTIONS(X) \
    X(global_init) X(getdate) \
    X(easy_init) X(easy_setopt) X(easy_getinfo) X(easy_reset) X(easy_cleanup) X(easy_strerror) \
    X(multi_init) X(multi_add_handle) X(multi_remove_handle) X(multi_perform) X(multi_poll) \
    X(multi_info_read) X(multi_setopt) X(multi_cleanup) \
    X(slist_append) X(slist_free_all)
/* clang-format on */

struct curl_api {
#define X(name) __typeof__(&curl_##name) name;
    CURL_FUNCTIONS(X)
#undef X
};

/* The table, the same each time; NULL with ERROR_SYSTEM when there is no libcurl. */
const struct curl_api *curl_load(struct error *err);

#endif
