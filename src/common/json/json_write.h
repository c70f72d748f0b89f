/* json_write.h - prints a tree. Private to json.
 *
 * cJSON's own printer takes five times as long: it asks for each number whether it reads back as the same.
 */
#ifndef JSON_JSON_WRITE_H
#define JSON_JSON_WRITE_H

struct buf;
struct cJSON;

/* Appends the compact text of c; NULL: null. */
void json_write(const struct cJSON *c, struct buf *out);

#endif
