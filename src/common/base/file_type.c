/* file_type.c - the table of endings and media types. */
#include "base/file_type.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

const char *file_type(const char *name)
{
    static const struct {
        const char *end, *type;
    } types[] = {
        {"png", "image/png"},
        {"jpg", "image/jpeg"},
        {"jpeg", "image/jpeg"},
        {"gif", "image/gif"},
        {"webp", "image/webp"},
        {"svg", "image/svg+xml"},
        {"pdf", "application/pdf"},
        {"csv", "text/csv"},
        {"tsv", "text/tab-separated-values"},
        {"txt", "text/plain"},
        {"log", "text/plain"},
        {"py", "text/x-python"},
        {"md", "text/markdown"},
        {"html", "text/html"},
        {"htm", "text/html"},
        {"xml", "application/xml"},
        {"json", "application/json"},
        {"jsonl", "application/x-ndjson"},
        {"zip", "application/zip"},
        {"gz", "application/gzip"},
        {"parquet", "application/vnd.apache.parquet"},
        {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
        {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
        {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
        {"mp3", "audio/mpeg"},
        {"wav", "audio/wav"},
        {"mp4", "video/mp4"},
    };
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && i < countof(types); i++)
        if (!strcasecmp(dot + 1, types[i].end))
            return types[i].type;
    return "application/octet-stream";
}
