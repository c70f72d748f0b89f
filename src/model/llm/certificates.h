/* certificates.h - decides which authorities may sign a server's certificate, in the order that users of curl
 * expect: the file that the user names (--ca-cert), else CURL_CA_BUNDLE, else SSL_CERT_FILE and SSL_CERT_DIR,
 * else what libcurl was built with, or the usual place that this system has. It also explains to the user why
 * a certificate was refused.
 */
#ifndef LLM_CERTIFICATES_H
#define LLM_CERTIFICATES_H

#include <stdbool.h>

#include "llm/curl_load.h"

struct failure;

/* ca_cert is the file that the user names, or NULL. Any result but CURLE_OK means that the certificate cannot
 * be checked against these files. */
CURLcode certificates_use(const struct curl_api *curl, CURL *easy, const char *ca_cert);
bool certificates_refused(CURLcode code); /* a fault of the server's certificate, or of the files above */
/* Fills f and returns true when code is about certificates. why is libcurl's own message. */
bool certificates_describe(CURLcode code, const char *why, const char *host, const char *ca_cert,
                           struct failure *f);

#endif
