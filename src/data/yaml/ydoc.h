/* ydoc.h - one YAML document as a small tree that knows its lines. The only door to libyaml.
 *
 * Refused: more than 64 KiB, a second document, aliases and anchors (a bomb in nine lines), tags, nesting
 * over 16, duplicate keys, keys that are no plain words. Errors are ERROR_USAGE, "NAME:LINE: what is wrong".
 */
#ifndef YAML_YDOC_H
#define YAML_YDOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define YDOC_MAX ((size_t)64 * 1024)

enum ydoc_type { YDOC_TEXT, YDOC_LIST, YDOC_MAP };

struct ydoc {
    enum ydoc_type type;
    const char *file; /* for messages; borrowed from ydoc_parse's caller */
    int line;
    char *key; /* of a member of a map; else NULL */
    int key_line;
    char *text;     /* TEXT: never NULL, no NUL inside */
    bool quoted;    /* written with quotes or as a block: always a string */
    struct ydoc *v; /* elements or members */
    size_t n;
};

/* file is named in messages and must live as long as the tree. A text that holds nothing but comments is
 * ydoc_nothing(). NULL with err set on failure. */
struct ydoc *ydoc_parse(const char *text, size_t len, const char *file, struct error *err);
void ydoc_free(struct ydoc *root);
static inline void ydoc_freep(struct ydoc **root)
{
    ydoc_free(*root);
}
#define autoydoc __attribute__((cleanup(ydoc_freep)))

/* The member of that key; NULL: there is none, or map is NULL or no map. */
const struct ydoc *ydoc_get(const struct ydoc *map, const char *key);
/* Is it "key:" with nothing behind, ~ or null? */
bool ydoc_nothing(const struct ydoc *y);
/* What it is, for messages: "a list", "a map", "nothing" or "a single value". */
const char *ydoc_kind(const struct ydoc *y);

/* Sets err to ERROR_USAGE, "FILE:LINE: ..."; of ydoc_key_error the line is that of the key. Returns -1. */
int ydoc_error(const struct ydoc *y, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int ydoc_key_error(const struct ydoc *y, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* "FILE:LINE: KEY: expected WHAT, found ..."; returns -1. */
int ydoc_expected(const struct ydoc *y, const char *what, struct error *err);

#endif
