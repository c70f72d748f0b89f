/* ydoc.h - one YAML document as a small tree that knows its lines. The only door to libyaml.
 *
 * Refused: more than 64 KiB, a second document, aliases and anchors (a bomb in nine lines), tags, nesting
 * over 16, duplicate keys, keys that are no plain words. Errors are ERROR_USAGE, "NAME:LINE: what is wrong".
 */
#ifndef CONFIG_YDOC_H
#define CONFIG_YDOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define YDOC_MAX ((size_t)64 * 1024)

enum ydoc_type { YDOC_TEXT, YDOC_LIST, YDOC_MAP };

struct ydoc {
    enum ydoc_type type;
    int line;
    char *key; /* of a member of a map; else NULL */
    int key_line;
    char *text;     /* TEXT: never NULL, no NUL inside */
    bool quoted;    /* written with quotes or as a block: always a string */
    struct ydoc *v; /* elements or members */
    size_t n;
};

/* *root is NULL after success when the text holds nothing but comments. */
int ydoc_parse(const char *text, size_t len, const char *name, struct ydoc **root, struct error *err);
void ydoc_free(struct ydoc *root);

/* NULL when not there or map is none */
const struct ydoc *ydoc_get(const struct ydoc *map, const char *key);
/* "key:" with nothing behind, ~ or null */
bool ydoc_nothing(const struct ydoc *y);
/* "a list", "a map", "nothing", "a number or word" for messages */
const char *ydoc_kind(const struct ydoc *y);

#endif
