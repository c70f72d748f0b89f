/* sniff_data.c - is this data where questions should be? Asking each line of a table would cost a request per
 * line, so plain data is recognised. But a question that is refused cannot be asked at all, so in doubt it is
 * a question.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "sniff/sniff.h"
#include "sniff/sniff_table.h"

#define LINES       20 /* lines examined */
#define BINARY_HEAD 512

static bool is_number(const char *s, size_t n)
{
    size_t i = n > 1 && (*s == '-' || *s == '+'), digits = 0;

    for (; i < n; i++) {
        if (!isdigit((unsigned char)s[i]) && s[i] != '.' && s[i] != ',')
            return false;
        digits += isdigit((unsigned char)s[i]) != 0;
    }
    return digits > 0 && isdigit((unsigned char)s[n - 1]);
}

/* One number per line, perhaps with a name above them. */
static bool has_numbers(const char *s, size_t len)
{
    size_t numbers = 0;
    bool named = false;

    while (len > 0 && numbers < LINES) {
        size_t n = sniff_plain_end(s, len, '\n'), end = n;

        while (end && isspace((unsigned char)s[end - 1]))
            end--;
        if (is_number(s, end))
            numbers++;
        else if (end && (numbers || named || sniff_words(s, end) > 1))
            return false;
        else
            named = named || end;
        n += n < len;
        s += n;
        len -= n;
    }
    return numbers >= 3;
}

/* "|---|:--:|", the second line of a Markdown table. */
static bool has_markdown(const char *s, size_t len)
{
    const char *second = memchr(s, '\n', len);

    if (*s != '|' || !second)
        return false;
    second++;
    size_t n = sniff_plain_end(second, len - (size_t)(second - s), '\n');
    return n >= 5 && *second == '|' && strspn(second, "|-: \r") >= n && memmem(second, n, "---", 3);
}

static bool is_json_value(const char *s, size_t len, bool whole)
{
    size_t at;

    /* the only fault of a beginning is that it ends early */
    return json_valid(s, len, &at) || (!whole && at >= len);
}

/* A whole JSON value, the beginning of one, or one per line. */
static bool has_json(const char *s, size_t len, bool whole)
{
    const char *end = memrchr(s, '\n', len);

    if (!len || (*s != '{' && *s != '['))
        return false;
    if (is_json_value(s, len, whole))
        return true;
    if (!whole && end)
        len = (size_t)(end - s);
    for (unsigned lines = 0; len > 0 && lines < LINES; lines++) {
        size_t n = sniff_plain_end(s, len, '\n');

        if ((*s != '{' && *s != '[') || !is_json_value(s, n, true))
            return false;
        n += n < len;
        s += n;
        len -= n;
        while (len && isspace((unsigned char)*s)) {
            s++;
            len--;
        }
    }
    return true;
}

static bool is_binary(const char *s, size_t len)
{
    size_t head = len < BINARY_HEAD ? len : BINARY_HEAD, odd = 0;

    for (size_t i = 0; i < head; i++)
        odd += (unsigned char)s[i] < 0x20 && !isspace((unsigned char)s[i]) && s[i] != '\x1b';
    return odd > 3 && memchr(s, 0, head);
}

static const char *file_kind(const char *s, size_t len, bool whole)
{
    static const struct {
        const char *kind, *name;
    } files[] = {
        {"png", "a PNG image"},        {"jpg", "a JPEG image"},   {"pdf", "a PDF file"},
        {"parquet", "a Parquet file"}, {"xlsx", "an Excel file"}, {"zip", "a ZIP archive"},
    };
    static const struct {
        const char *bytes, *name;
    } heads[] = {
        {"\x1f\x8b", "gzip data"},
        {"BZh", "bzip2 data"},
        {"\xfd"
         "7zXZ",
         "xz data"},
        {"\x28\xb5\x2f\xfd", "zstd data"},
        {"GIF8", "a GIF image"},
        {"SQLite format 3", "an SQLite database"},
        {"\xd0\xcf\x11\xe0", "an old Excel or Word file"},
        {"\x89HDF", "an HDF5 file"},
        {"\x93NUMPY", "a NumPy array"},
        {"\x7f"
         "ELF",
         "a program"},
    };
    const char *kind = sniff_content(s, len, whole);

    for (size_t i = 0; i < countof(files); i++)
        if (!strcmp(kind, files[i].kind))
            return files[i].name;
    for (size_t i = 0; i < countof(heads); i++)
        if (!strncmp(s, heads[i].bytes, strlen(heads[i].bytes)))
            return heads[i].name;
    return is_binary(s, len) ? "binary data" : NULL;
}

static const char *markup_kind(const char *s)
{
    static const struct {
        const char *head, *name;
    } kinds[] = {
        {"<?xml", "XML"},         {"<!doctype html", "HTML"},    {"<html", "HTML"},
        {"<svg", "an SVG image"}, {"{\\rtf", "an RTF document"},
    };

    for (size_t i = 0; i < countof(kinds); i++)
        if (!strncasecmp(s, kinds[i].head, strlen(kinds[i].head)))
            return kinds[i].name;
    return NULL;
}

/* Whoever writes """ blocks has written questions. */
static bool has_fence(const char *s, size_t len)
{
    const char *q = s;

    while ((q = memmem(q, len - (size_t)(q - s), "\"\"\"", 3)) != NULL) {
        const char *from = q, *to = q + 3;

        while (from > s && (from[-1] == ' ' || from[-1] == '\t'))
            from--;
        to += strspn(to, " \t\r");
        if ((from == s || from[-1] == '\n') && (*to == '\n' || !*to))
            return true;
        q += 3;
    }
    return false;
}

const char *sniff_data(const char *s, size_t len, bool whole)
{
    const char *name = file_kind(s, len, whole), *end;

    if (name)
        return name;
    size_t bom = sniff_bom(s, len), blank = strspn(s + bom, " \t\r\n");
    s += bom;
    len -= bom;
    if ((name = markup_kind(s + blank)))
        return name;
    if (has_json(s + blank, len - blank, whole))
        return "JSON";
    end = memrchr(s, '\n', len);
    if (!whole && end)
        len = (size_t)(end - s) + 1; /* ignore a line whose end has not been read */
    if (has_fence(s, len))
        return NULL;
    if (has_markdown(s, len))
        return "a table";
    if (sniff_is_table(s, len, '\t'))
        return "tab-separated data";
    if (sniff_is_table(s, len, ',') || sniff_is_table(s, len, ';') || sniff_is_table(s, len, '|'))
        return "CSV";
    return has_numbers(s, len) ? "a column of numbers" : NULL;
}
