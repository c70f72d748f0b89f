/* sniff_table.h - rows and columns in text that may as well be prose. Inside src/agent. */
#ifndef AGENT_SNIFF_TABLE_H
#define AGENT_SNIFF_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* s is NUL-terminated at len. */
bool sniff_is_table(const char *s, size_t len, char separator);
/* The end of a cell without quotes: at separator, newline or len. */
size_t sniff_plain_end(const char *s, size_t len, char separator);
size_t sniff_words(const char *s, size_t n);

#endif
