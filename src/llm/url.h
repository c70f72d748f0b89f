/* url.h - the little that is needed of URLs: the endpoint below a base URL, its host for messages, whether it is loopback. */
#ifndef LLM_URL_H
#define LLM_URL_H

#include <stdbool.h>
#include <stddef.h>

struct error;

/* base + path, put before a ?query; a slash at the end of base and a path that is there already are not doubled. The caller frees.
 * NULL with ERROR_USAGE when base is not http:// or https:// with a host. */
char *url_endpoint(const char *base, const char *path, struct error *err);
void url_host(const char *url, char *out, size_t size);    /* host[:port], without credentials */
void url_show(const char *url, char *out, size_t size);    /* for messages: credentials and query taken out */
bool url_loopback(const char *url);

#endif
