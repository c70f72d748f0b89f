/* json.h - reads and writes JSON, more strictly than cJSON, which is included nowhere else.
 *
 * The parser refuses trailing text, nesting over the limit, duplicate keys (unless told otherwise), and texts
 * with too many bytes or values, before anything is allocated for those. It replaces invalid UTF-8, \u0000
 * and lone surrogates by U+FFFD. Keys are case-sensitive. Integers above 2^53 keep their digits when printed
 * again. A const struct json * points into its document and lives as long as that. JSON is never built by
 * formatting strings.
 */
#ifndef JSON_JSON_H
#define JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct error;
struct json; /* a value: document, member or element */

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

#define JSON_DEPTH      200
#define JSON_BYTES      (16u << 20) /* longest text that is parsed */
#define JSON_LONG_BYTES (64u << 20)
#define JSON_VALUES     200000 /* most values in a text, not counting keys; each costs up to 130 bytes */
#define JSON_FEW_VALUES 50000
#define JSON_DUPLICATES 1  /* flag: of two members with one key the first counts, instead of an error */
#define JSON_PREFIX     2  /* flag: text after the value is no error; *used tells where the value ended */
#define JSON_LONG       4  /* flag: up to JSON_LONG_BYTES */
#define JSON_FEW        8  /* flag: up to JSON_FEW_VALUES, where others wait until it is parsed (25 ms) */
#define JSON_NAN        16 /* flag: NaN, Infinity and -Infinity, which Python writes, are read as null */
#define JSON_PIECES     32 /* flag: strings are pieces of longer ones, see json_join() */

/* NULL with err (code is the byte offset): ERROR_PROTOCOL if text is not a JSON value, ERROR_LIMIT if it is
 * too much of it. used may be NULL. */
struct json *json_parse(const char *text, size_t len, int flags, size_t *used, struct error *err);
/* Is text a JSON value? It may have any size, since nothing is kept of it. *at: where it stops being one. */
bool json_valid(const char *text, size_t len, size_t *at);
void json_free(struct json *j);
static inline void json_freep(struct json **j)
{
    json_free(*j);
}
#define autojson __attribute__((cleanup(json_freep)))

/* NULL counts as JSON_NULL, here and below */
enum json_type json_type(const struct json *j);
/* NULL if there is no such key, or obj is not an object. */
const struct json *json_get(const struct json *obj, const char *key);
const struct json *json_at(const struct json *arr, size_t i);
size_t json_size(const struct json *j);              /* members or elements */
const struct json *json_first(const struct json *j); /* walk members or elements */
const struct json *json_next(const struct json *j);
const char *json_key(const struct json *member);
/* The string (without NULs inside), or NULL if j is not a string. */
const char *json_str(const struct json *j);
bool json_is(const struct json *o, const char *type); /* is that the string of its member "type"? */
const char *json_text(const struct json *j);          /* the same, but "" when it is none */
/* as Python would: not null, false, 0, "", [] or {} */
bool json_truthy(const struct json *j);
bool json_bool(const struct json *j, bool otherwise);
double json_double(const struct json *j, double otherwise); /* 1e999 counts as no number */
int64_t json_int(const struct json *j, int64_t otherwise);
char *json_print(const struct json *j);                     /* compact text; the caller frees */
void json_line(const struct json *j, struct buf *out);      /* appends the same text and a newline */
bool json_same(const struct json *a, const struct json *b); /* do both print as the same text? */
/* Text may come in pieces that are cut within a character: half of a surrogate pair, or a byte of UTF-8, in
 * each. With JSON_PIECES such a part is kept as a private character (U+10F000 to U+10F8FF) instead of
 * U+FFFD. json_join() appends a piece to out, where what belongs together is one character again and what
 * does not is U+FFFD; an unfinished character at its end is held back for the next piece of the same text.
 */
struct json_joint {
    uint16_t part[4]; /* surrogates, or bytes */
    unsigned n;
};
void json_join(struct json_joint *j, const char *piece, size_t len, struct buf *out);
void json_join_end(struct json_joint *j, struct buf *out); /* no piece follows */

/* Append JSON text with everything above U+007E escaped. Such characters occur in strings only, where the
 * escape means the same. */
void json_ascii(const char *text, size_t len, struct buf *out);

/* Building. Values given to set/add are owned by the container afterwards. Strings are repaired to valid
 * UTF-8. */
struct json *json_object(void);
struct json *json_array(void);
struct json *json_string(const char *s);
struct json *json_string_n(const char *s, size_t len);
struct json *json_number(double v);
struct json *json_integer(int64_t v);
struct json *json_boolean(bool v);
struct json *json_null(void);
struct json *json_copy(const struct json *j); /* of NULL: null */
/* An object that has the members of j, which must outlive it. It is for printing. */
struct json *json_borrowed(const struct json *j);
void json_set(struct json *obj, const char *key, struct json *value); /* replaces */
void json_set_str(struct json *obj, const char *key, const char *s);  /* s NULL: null */
void json_set_int(struct json *obj, const char *key, int64_t v);
void json_set_bool(struct json *obj, const char *key, bool v);
void json_drop(struct json *obj, const char *key); /* the member of that name, if there is one */
void json_add(struct json *arr, struct json *value);

/* A whole object or array in one expression, in the order in which it is to be printed:
 *
 *     json_object_of({"name", json_string(name)}, {"sizes", json_array_of(json_integer(1), json_integer(2))})
 *
 * json_set_all(obj, ...) adds such members to an object and returns it. A member whose value is NULL is left
 * out; json_array_of() takes no NULL.
 */
struct json_member {
    const char *key;
    struct json *value; /* given away */
};
#define json_object_of(...)    json_set_all(json_object(), __VA_ARGS__)
#define json_set_all(obj, ...) json_set_members(obj, (const struct json_member[]){__VA_ARGS__, {NULL, NULL}})
#define json_array_of(...)     json_of_elements((struct json *const[]){__VA_ARGS__, NULL})
struct json *json_set_members(struct json *obj,
                              const struct json_member *v);  /* ends with a row without a key */
struct json *json_of_elements(struct json *const *elements); /* ends with NULL */
/* Copies members of one object into another, where they replace members of the same name: all of them, or
 * those of the n names, of which one that from does not have is skipped. */
void json_copy_all(struct json *to, const struct json *from);
void json_copy_some(struct json *to, const struct json *from, const char *const *names, size_t n);
/* Moves the member of from into to, under the name as. Nothing happens if there is none. */
void json_move(struct json *to, const char *as, struct json *from, const char *key);

#endif
