/* url.h - what must be known of a URL before a key is sent to it, the endpoint below a base URL, and its host
 * for messages. libcurl reads URLs too: so that no two readers can differ, url_check lets only a plain form
 * through. Nothing here resolves a name.
 */
#ifndef BASE_URL_H
#define BASE_URL_H

#include <stdbool.h>
#include <stddef.h>

struct error;

/* http:// or https://, a host, no user info, no blanks, controls, backslashes or fragment. where names its
 * origin in the message. */
int url_check(const char *url, const char *where, struct error *err);
bool url_is_plain(const char *url); /* http:// */
/* "localhost", an address of 127.0.0.0/8 with its four numbers, or [::1]. Nothing else: what merely looks
 * like one gets no key without TLS. */
bool url_is_loopback(const char *url);
/* The same host, or a host below its domain (eu.api.openai.com of api.openai.com). */
bool url_same_service(const char *url, const char *base);
char *url_trim(const char *url); /* a copy without slashes at the end; the caller frees */
/* OLLAMA_HOST's forms to http://HOST:PORT/v1; NULL when it is none; the caller frees */
char *url_from_host(const char *host, int port);

/* base + path, put before a ?query; a slash at the end of base and a path that is there already are not
 * doubled. The caller frees. NULL with ERROR_USAGE when base is not http:// or https:// with a host. */
char *url_endpoint(const char *base, const char *path, struct error *err);
void url_host(const char *url, char *out, size_t size); /* host[:port], without credentials */
void url_show(const char *url, char *out, size_t size); /* for messages: credentials and query taken out */

#endif
