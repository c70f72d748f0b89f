/* csv.h - reads comma-separated values, as RFC 4180 has them and spreadsheets write them: a field between
 * double quotes may hold separators, line ends and doubled quotes; lines end in LF or CRLF.
 */
#ifndef BATCH_CSV_H
#define BATCH_CSV_H

#include <stddef.h>

struct argv;

#define CSV_FIELDS_MAX 1000

/* The separator of a table with this first line: the one of , ; and tab that stands in it most often. */
char csv_separator(const char *line, size_t len);
/* Appends the fields of the record at *at to fields, and moves *at behind it. 1; 0: there is no record any
 * more; -1: a quoted field does not end, or there are more than CSV_FIELDS_MAX fields. Invalid UTF-8 and NULs
 * are the caller's affair: the text ends at end. Empty lines are skipped. */
int csv_next(const char **at, const char *end, char separator, struct argv *fields);

#endif
