/* sniff.c - the kind of a file by its content: magic numbers, then JSON, then regular separators. The input
 * may be hostile. */
#include "sniff/sniff.h"
#include "sniff/sniff_table.h"
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "json/json.h"

#define LINES 20 /* records examined */

static bool begins(const char *s, size_t len, const char *magic)
{
    size_t n = strlen(magic);

    return len >= n && !memcmp(s, magic, n);
}

size_t sniff_bom(const char *s, size_t len)
{
    return begins(s, len, "\xef\xbb\xbf") ? 3 : 0;
}

static const char *sniff_magic(const char *s, size_t len)
{
    static const struct {
        const char *bytes, *kind;
    } magic[] = {
        {"\x89PNG\r\n\x1a\n", "png"}, {"\xff\xd8\xff", "jpg"}, {"%PDF-", "pdf"},
        {"PAR1", "parquet"},          {"PK\x03\x04", "zip"},
    };
    const char *kind = NULL;

    for (size_t i = 0; i < countof(magic) && !kind; i++)
        if (begins(s, len, magic[i].bytes))
            kind = magic[i].kind;
    return kind && !strcmp(kind, "zip") && memmem(s, len, "xl/", 3) ? "xlsx" : kind;
}

/* Text in UTF-8 or an 8-bit encoding: no NUL and very few control characters. */
static bool is_text(const char *s, size_t len)
{
    size_t odd = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];

        if (!c)
            return false;
        odd += (c < 0x20 && !strchr("\t\n\r\f\x1b", c)) || c == 0x7f;
    }
    return odd * 100 <= len;
}

/* s begins with a bracket. */
static bool parses(const char *s, size_t len)
{
    size_t at;

    return json_valid(s, len, &at);
}

static const char *sniff_json(const char *s, size_t len, bool whole)
{
    if (!len || (*s != '{' && *s != '['))
        return NULL;
    if (whole && parses(s, len))
        return "json";
    const char *end = memchr(s, '\n', len);
    if (end && parses(s, (size_t)(end - s)))
        return "jsonl";
    if (whole)
        return NULL;
    /* This is only the beginning of a large file: what follows the bracket must fit. */
    size_t i = 1 + strspn(s + 1, " \t\r\n");
    if (i < len && strchr(*s == '{' ? "\"}" : "{[\"-0123456789tfn]", s[i]))
        return "json";
    return NULL;
}

struct separator {
    char c;
    unsigned first, now; /* separators per record */
    /* regular: the same number in each record; tight: not always followed by a blank, as it is in prose */
    bool regular, tight;
};

static bool record_end(struct separator *sep, size_t n, unsigned records)
{
    for (size_t k = 0; k < n; k++) {
        if (records == 0)
            sep[k].first = sep[k].now;
        else if (sep[k].now != sep[k].first)
            sep[k].regular = false;
        sep[k].now = 0;
    }
    return records + 1 >= LINES;
}

static const char *sniff_table(const char *s, size_t len, bool whole)
{
    struct separator sep[] = {{'\t', 0, 0, true, true},
                              {';', 0, 0, true, false},
                              {',', 0, 0, true, false},
                              {'|', 0, 0, true, false}};
    unsigned records = 0;
    bool quoted = false, empty = true, enough = false;

    for (size_t i = 0; i < len && !enough; i++) {
        if (s[i] == '"')
            quoted = !quoted;
        if (quoted)
            continue;
        if (s[i] == '\n' && !empty) {
            enough = record_end(sep, 4, records++);
            empty = true;
            continue;
        }
        empty = empty && (s[i] == '\r' || s[i] == '\n');
        for (size_t k = 0; k < 4; k++)
            if (s[i] == sep[k].c) {
                sep[k].now++;
                sep[k].tight |= i + 1 < len && s[i + 1] != ' ';
            }
    }
    if (!enough && whole && !empty && !quoted)
        record_end(sep, 4, records++);
    for (size_t k = 0; k < 4 && records >= 2; k++)
        if (sep[k].regular && sep[k].first >= 1 && (sep[k].tight || sep[k].first >= 2))
            return sep[k].c == '\t' ? "tsv" : "csv";
    return NULL;
}

const char *sniff_content(const char *s, size_t len, bool whole)
{
    const char *kind = sniff_magic(s, len);

    if (kind || !len)
        return kind ? kind : "";
    if (!is_text(s, len))
        return "";
    size_t bom = sniff_bom(s, len), blank = bom + strspn(s + bom, " \t\r\n");
    kind = sniff_json(s + blank, len - blank, whole);
    if (!kind)
        kind = sniff_table(s + bom, len - bom, whole);
    return kind ? kind : "txt";
}
