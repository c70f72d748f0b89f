/* chat_part.c - reads text, or the name and bytes of a file. Nothing is fetched, so a URL that is not a
 * data: URL is refused.
 */
#include "openai/chat_part.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "json/json.h"

const char *chat_part_text(const struct json *part)
{
    if (json_is(part, "text") || json_is(part, "input_text") || json_is(part, "output_text"))
        return json_str(json_get(part, "text"));
    return json_is(part, "refusal") ? json_str(json_get(part, "refusal")) : NULL;
}

static bool is_image(const struct json *part)
{
    return json_is(part, "image_url") || json_is(part, "input_image");
}

/* Reads {"image_url": {"url": ...}} and, as Responses has it, {"image_url": "..."}. */
static const char *image_url(const struct json *part)
{
    const struct json *image = is_image(part) ? json_get(part, "image_url") : NULL;

    return json_str(image) ? json_str(image) : json_str(json_get(image, "url"));
}

/* Reads {"file": {"file_data": ...}} and, as Responses has it, the same without the inner object. */
static const struct json *file_of(const struct json *part)
{
    return json_is(part, "input_file") ? part : json_is(part, "file") ? json_get(part, "file") : NULL;
}

const char *chat_part_data(const struct json *part)
{
    const char *url = image_url(part), *data = json_str(json_get(file_of(part), "file_data"));

    return url ? url : data ? data : json_str(json_get(file_of(part), "file_url"));
}

/* Returns what follows "data:TYPE;base64,"; NULL: it is another kind of URL. */
static const char *base64_of(const char *url)
{
    const char *comma = strchr(url, ',');

    if (strncmp(url, "data:", 5) != 0 || !comma || comma - url < 12 || comma - url > 200)
        return NULL;
    return !strncmp(comma - 7, ";base64", 7) ? comma + 1 : NULL;
}

static char *name_by_type(const char *url, size_t number)
{
    static const char *const types[][3] = {
        {"image/png", "image", ".png"},        {"image/jpeg", "image", ".jpg"},
        {"image/jpg", "image", ".jpg"},        {"image/gif", "image", ".gif"},
        {"image/webp", "image", ".webp"},      {"image/bmp", "image", ".bmp"},
        {"text/csv", "file", ".csv"},          {"text/plain", "file", ".txt"},
        {"application/json", "file", ".json"}, {"application/pdf", "file", ".pdf"},
    };

    for (size_t i = 0; i < countof(types); i++) {
        size_t len = strlen(types[i][0]);

        if (!strncmp(url + 5, types[i][0], len) && (url[5 + len] == ';' || url[5 + len] == ','))
            return xasprintf("%s-%zu%s", types[i][1], number, types[i][2]);
    }
    return xasprintf("file-%zu", number);
}

struct json *chat_part_file(const struct json *part, size_t number, const char **why)
{
    const char *url = chat_part_data(part), *name = json_str(json_get(file_of(part), "filename"));
    const char *content = url ? base64_of(url) : NULL;

    *why = NULL;
    if (!url && (json_get(file_of(part), "file_id") || (is_image(part) && json_get(part, "file_id"))))
        *why = "a file cannot be given by its id; send the file itself (file_data)";
    else if (url && !content)
        *why = "must be a data: URL in base64; nothing is fetched from other machines";
    if (!content)
        return NULL;
    autofree char *made = name && *name ? xstrdup(name) : name_by_type(url, number);
    return json_object_of({"name", json_string(made)}, {"content", json_string(content)},
                          {"encoding", json_string("base64")});
}
