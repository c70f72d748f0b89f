/* sniff.h - finds the kind of a file by its first bytes alone. */
#ifndef SNIFF_SNIFF_H
#define SNIFF_SNIFF_H

#include <stdbool.h>
#include <stddef.h>

/* The usual extension: "csv", "tsv", "json", "jsonl", "xlsx", "parquet", "png", "jpg", "pdf", "zip", "txt";
 * "" if unknown. head has len bytes and a NUL after them; whole: it is the whole file, not just its
 * beginning. */
const char *sniff_content(const char *head, size_t len, bool whole);

/* Look at input that should be questions, one per line. Returns what kind of data it is instead ("CSV", "a
 * PNG image"), or NULL. Prose is never taken for data, whatever its punctuation; a table that cannot be told
 * from prose is not found. If whole is false, a last line without its end is ignored. */
const char *sniff_data(const char *head, size_t len, bool whole);

#endif
