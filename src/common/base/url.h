/* url.h - checks a URL before a key is sent to it, joins a base URL and a path, and prints URLs for messages.
 * libcurl parses URLs too: url_check accepts only a plain form, so that the two cannot disagree. Nothing here
 * resolves a name.
 */
#ifndef BASE_URL_H
#define BASE_URL_H

#include <stdbool.h>
#include <stddef.h>

struct error;

/* Accept http:// or https://, a host, and no user info, blanks, control characters, backslashes or fragment.
 * where names the origin of the URL in the error. 0, or -1 with ERROR_USAGE. */
int url_check(const char *url, const char *where, struct error *err);
bool url_is_plain(const char *url); /* http:// */
/* Is the host "localhost", a 127.x.y.z address with four numbers, or [::1]? Nothing else counts: what merely
 * looks like one gets no key without TLS. */
bool url_is_loopback(const char *url);
/* The same host, or a host below its domain (eu.api.openai.com of api.openai.com). */
bool url_same_service(const char *url, const char *base);
char *url_trim(const char *url); /* a copy without slashes at the end; the caller frees */
/* Turn a value of OLLAMA_HOST into http://HOST:PORT/v1. NULL if it is not one; the caller frees. */
char *url_from_host(const char *host, int port);

/* base + path, put before a ?query; a slash at the end of base and a path that is there already are not
 * doubled. The caller frees. NULL with ERROR_USAGE when base is not http:// or https:// with a host. */
char *url_endpoint(const char *base, const char *path, struct error *err);
char *url_host(const char *url); /* host[:port], without credentials; the caller frees */
#define URL_SHOWN 500            /* bytes */
/* For messages: without credentials and query, and at most URL_SHOWN bytes behind http://. The caller frees
 * it. */
char *url_show(const char *url);

#endif
