/* json_schema.h - checks a JSON value against a JSON schema. The words that are checked: type (one or a
 * list), properties, required, additionalProperties, items (a schema), enum, const, anyOf, oneOf, allOf, $ref
 * within the schema ("#/$defs/NAME"), and the bounds of numbers, strings (in characters), arrays and objects.
 * All others are ignored.
 */
#ifndef JSON_JSON_SCHEMA_H
#define JSON_JSON_SCHEMA_H

struct error;
struct json;

#define SCHEMA_BYTES (64 << 10) /* of a schema that somebody else sends */
#define SCHEMA_DEPTH 64

/* what names the value in the error; "" is the whole. 0, or -1 with ERROR_USAGE: one line that says where and
 * what is wrong. A schema that leads too far (it refers to itself, or branches and branches) is ERROR_LIMIT;
 * any schema may be given. */
int schema_check(const struct json *schema, const struct json *value, const char *what, struct error *err);

/* Looks at a schema that somebody else sends: at most SCHEMA_BYTES and SCHEMA_DEPTH, made of schemas, each
 * $ref of which leads somewhere. Returns the words in it that would say more about a value and that are not
 * checked ("pattern", "format", ...), as an array that the caller frees. NULL with ERROR_USAGE. */
struct json *schema_survey(const struct json *schema, struct error *err);

#endif
