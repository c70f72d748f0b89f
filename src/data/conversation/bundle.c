/* bundle.c - writes a value or a file into a bundle under its MIME type. */
#include "conversation/bundle.h"

#include <fcntl.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/place.h"
#include "base/utf8.h"
#include "json/json.h"

/* What the guest puts in front of HTML, so that a browser takes the file for UTF-8 (guest/rich.py). */
#define HTML_HEAD "<!DOCTYPE html><meta charset=\"utf-8\">\n"

const char *bundle_type(enum file_kind kind)
{
    static const char *const types[] = {
        [FILE_MADE] = NULL,
        [FILE_FIGURE] = "image/png",
        [FILE_VALUE_PNG] = "image/png",
        [FILE_VALUE_HTML] = "text/html",
        [FILE_VALUE_SVG] = "image/svg+xml",
        [FILE_FIGURE_FORM] = NULL,
    };

    return types[kind];
}

bool bundle_of_value(enum file_kind kind)
{
    return kind == FILE_VALUE_PNG || kind == FILE_VALUE_HTML || kind == FILE_VALUE_SVG;
}

bool names_image(const char *name)
{
    static const char *const ends[] = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp"};
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && i < countof(ends); i++)
        if (!strcasecmp(dot, ends[i]))
            return true;
    return false;
}

bool bundle_add(struct json *bundle, enum file_kind kind, int fd, size_t most)
{
    struct buf bytes autorelease(buf_release) = BUF_INIT(0), text autorelease(buf_release) = BUF_INIT(0);
    const char *type = bundle_type(kind);

    if (!type || fd_read_all(fd, most, &bytes) < 0 || !bytes.len)
        return false;
    if (kind == FILE_VALUE_HTML || kind == FILE_VALUE_SVG) {
        size_t skip = bytes.len >= strlen(HTML_HEAD) && !memcmp(bytes.data, HTML_HEAD, strlen(HTML_HEAD))
                          ? strlen(HTML_HEAD)
                          : 0;

        utf8_repair(&text, bytes.data + skip, bytes.len - skip);
    } else {
        base64_add(&text, (const unsigned char *)bytes.data, bytes.len);
    }
    json_set(bundle, type, json_string_n(buf_str(&text), text.len));
    return true;
}

bool bundle_add_path(struct json *bundle, enum file_kind kind, const char *path)
{
    autoclose int fd = path ? place_open(path, O_RDONLY, NULL) : -1;

    bool text = kind == FILE_VALUE_HTML || kind == FILE_VALUE_SVG;

    return fd >= 0 && bundle_add(bundle, kind, fd, text ? BUNDLE_TEXT_MAX : BUNDLE_IMAGE_MAX);
}

struct json *bundle_of_result(const struct cell_result *r)
{
    if (!r->value)
        return json_null();
    struct json *bundle = json_object_of({"text/plain", json_string(r->value)});
    for (size_t i = 0; i < r->n_files; i++)
        if (bundle_of_value(r->files[i].kind))
            bundle_add_path(bundle, r->files[i].kind, r->files[i].path);
    return bundle;
}
