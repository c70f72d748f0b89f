/* media.h - the headers with which a file from a sandbox is sent. Hostile code may have chosen its bytes
 * and its name, and a browser may open it. So the type comes from a short list, by the end of the name, and
 * the file is always an attachment.
 */
#ifndef SERVER_MEDIA_H
#define SERVER_MEDIA_H

/* Returns a type that no browser runs: application/octet-stream for HTML, SVG and whatever is not in the
 * list. */
const char *media_type(const char *name);
/* Returns attachment; filename="x.csv"; filename*=UTF-8''x.csv for the last part of name. The caller frees
 * it. */
char *media_disposition(const char *name);
/* Percent-encodes the name of a file for the path of a URL. Slashes stay. The caller frees it. */
char *media_url(const char *name);

#endif
