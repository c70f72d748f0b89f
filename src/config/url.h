/* url.h - what must be known of a base URL before a key is sent to it. No library reads it here, so that no two readers can differ: only a plain
 * form is let through at all.
 */
#ifndef CONFIG_URL_H
#define CONFIG_URL_H

#include <stdbool.h>

struct error;

/* http:// or https://, a host, no user info, no blanks, controls, backslashes or fragment. where names its origin in the message. */
int url_check(const char *url, const char *where, struct error *err);
bool url_is_plain(const char *url);        /* http:// */
bool url_is_loopback(const char *url);     /* localhost, 127.0.0.0/8 or [::1]; of a URL that passed url_check */
/* The same host, or a host below its domain (eu.api.openai.com of api.openai.com). */
bool url_same_service(const char *url, const char *base);
char *url_trim(const char *url);           /* a copy without slashes at the end */
char *url_from_host(const char *host, int port);   /* OLLAMA_HOST's forms to http://HOST:PORT/v1; NULL when it is none */

#endif
