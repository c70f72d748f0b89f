/* sniff.h - what kind of file this is, by its first bytes alone. */
#ifndef AGENT_SNIFF_H
#define AGENT_SNIFF_H

#include <stdbool.h>
#include <stddef.h>

/* The usual extension: "csv", "tsv", "json", "jsonl", "xlsx", "parquet", "png", "jpg", "pdf", "zip", "txt";
 * "" when unknown. head is NUL-terminated at len; whole: it is all of the file, not just its beginning. */
const char *sniff_content(const char *head, size_t len, bool whole);

/* For what should be questions, one a line: what kind of data it is instead ("CSV", "a PNG image"), or NULL.
 * Prose is never taken for data, whatever its punctuation; a table that nothing tells from prose is not
 * found. Of what is not whole only the lines with an end count. */
const char *sniff_data(const char *head, size_t len, bool whole);

#endif
