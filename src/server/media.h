/* media.h - how a file from a sandbox is labelled when it is sent. Hostile code chose its bytes and its name,
 * and a browser may open it, so the type comes from a short list by the name's end and nothing is shown in
 * place.
 */
#ifndef SERVER_MEDIA_H
#define SERVER_MEDIA_H

/* One that no browser runs; application/octet-stream for HTML, SVG and all that is not in the list. */
const char *media_type(const char *name);
/* "attachment; filename=\"x.csv\"; filename*=UTF-8''x.csv" for the last part of name. The caller frees. */
char *media_disposition(const char *name);
/* The name of a file as a part of a URL's path; slashes stay. The caller frees. */
char *media_url(const char *name);

#endif
