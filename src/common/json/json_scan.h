/* json_scan.h - checks JSON text before cJSON parses it: grammar of RFC 8259, depth, repairs. Private to
 * json. */
#ifndef JSON_JSON_SCAN_H
#define JSON_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* A value that is set apart from what cJSON parses, and put into the tree afterwards: a number that a double
 * cannot hold or that is longer than cJSON reads, or a string so long that cJSON would take long over it. */
struct json_apart {
    size_t index;   /* among the values of the text, from 0; an array or object counts before what is in it */
    size_t at, len; /* where it is in the text given: the digits, or what is between the quotes */
    bool broken;    /* a string: some of it is not UTF-8, or is an escape that stands for no character */
};

struct json_scan {
    bool prefix; /* text after the value is no error */
    size_t most; /* how many values it may have; 0: any number, and only start and end are noted */
    /* what comes of it: */
    size_t start, end; /* where the value is in the text given */
    bool repaired;     /* copy holds the value; otherwise the text can be used as it is */
    struct buf copy;
    size_t values; /* how many there are; keys do not count */
    struct json_apart *apart;
    size_t n_apart, alloc_apart;
    const char *reason; /* why it is refused */
    size_t at;          /* byte offset of that */
    bool too_much;      /* it may be JSON, but has more values than allowed */
};

/* s is empty but for prefix and most. 0, or -1 with reason and at. Release s in both cases. */
int json_scan(struct json_scan *s, const char *text, size_t len);
void json_scan_release(struct json_scan *s);

#endif
