/* bundle.h - what a cell shows as MIME bundles, named as Jupyter names them: an object with a member for each
 * type of the same thing, "text/plain", "image/png" (base64), "text/html", "image/svg+xml". The bytes are
 * read from the files that were copied out, and go out as they are: nothing is decoded.
 */
#ifndef CHAT_BUNDLE_H
#define CHAT_BUNDLE_H

#include <stddef.h>

#include "conversation/cell_result.h"

struct json;

/* Bytes of one form: of an image, and of a text, which may become six times as long in JSON and must fit
 * beside the output into a line (RUNNER_LINE_MAX). A larger one is only a file. */
#define BUNDLE_IMAGE_MAX ((size_t)4 << 20)
#define BUNDLE_TEXT_MAX  ((size_t)2 << 20)

/* Is it a form of the value, and no figure of its own? */
bool bundle_of_value(enum file_kind kind);
/* The type that a file of that kind has in a bundle; NULL: it is in none. */
const char *bundle_type(enum file_kind kind);
/* Does the name end as those of images do that a terminal or a model can be shown? */
bool names_image(const char *name);
/* Add the file that is open at fd to the bundle, up to most bytes. False: it is empty or larger, or no bundle
 * has that kind. */
bool bundle_add(struct json *bundle, enum file_kind kind, int fd, size_t most);
/* The same of a copy that was just made, up to these limits. The user may have put something else there.
 */
bool bundle_add_path(struct json *bundle, enum file_kind kind, const char *path);
/* The value of a cell in all its forms, as --json, a server and MCP give it; null: it has no value. */
struct json *bundle_of_result(const struct cell_result *r);

#endif
