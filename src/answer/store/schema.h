/* schema.h - the tables of the database, all of which are made when the file is made. A file that has
 * anything else in it was not made by this program, and is not read.
 */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#define SCHEMA_APPLICATION 0x73706572 /* "sper": says whose file this is */
#define SCHEMA_VERSION     7          /* 1 to 6 were never released */

struct schema_part {
    const char *name;
    const char *sql; /* as SQLite keeps it, which is how it is compared */
    bool implied;    /* SQLite makes it with the part before */
};
extern const struct schema_part schema_parts[];
extern const size_t schema_count;

#endif
