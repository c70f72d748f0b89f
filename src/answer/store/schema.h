/* schema.h - the tables of the database, and how older ones become the present ones. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#define SCHEMA_APPLICATION 0x73706572 /* "sper": says whose file this is */

/* schema_steps[i] leads from version i to i + 1; ends with NULL. A step that was released is never changed.
 */
extern const char *const schema_steps[];
#define SCHEMA_VERSION 4

#endif
