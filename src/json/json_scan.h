/* json_scan.h - checks JSON text before cJSON parses it: grammar of RFC 8259, depth, repairs. Private to
 * src/json. */
#ifndef JSON_JSON_SCAN_H
#define JSON_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* A number that a double cannot hold, or that is longer than cJSON reads. */
struct json_number_at {
    size_t index;   /* among the numbers of the text, from 0 */
    size_t at, len; /* where its digits are in the text given */
};

struct json_scan {
    size_t start, end; /* where the value is in the text given */
    bool repaired;     /* copy holds the value; otherwise the text can be used as it is */
    struct buf copy;
    size_t numbers;
    struct json_number_at *odd;
    size_t n_odd, alloc_odd;
    const char *reason; /* why it is not JSON */
    size_t at;          /* byte offset of that */
};

/* 0, or -1 with reason and at. prefix: text after the value is no error. Release s in both cases. */
int json_scan(struct json_scan *s, const char *text, size_t len, bool prefix);
void json_scan_release(struct json_scan *s);

#endif
