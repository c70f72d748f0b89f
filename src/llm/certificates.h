/* certificates.h - whom a server's certificate must be signed by, as users of curl expect: the file that the
 * user names (--ca-cert), else CURL_CA_BUNDLE, else SSL_CERT_FILE and SSL_CERT_DIR, else what libcurl was
 * built with. And what to say of a certificate that fails.
 */
#ifndef LLM_CERTIFICATES_H
#define LLM_CERTIFICATES_H

#include <stdbool.h>

#include "llm/curl_load.h"

struct failure;

/* ca_cert: the file that the user names, or NULL. Not CURLE_OK: it cannot be checked against them. */
CURLcode certificates_use(const struct curl_api *curl, CURL *easy, const char *ca_cert);
bool certificates_refused(CURLcode code); /* the server's, or the files above */
/* Fills f when the code is one of these; why: libcurl's words. */
bool certificates_describe(CURLcode code, const char *why, const char *host, const char *ca_cert,
                           struct failure *f);

#endif
