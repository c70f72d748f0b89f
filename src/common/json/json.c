/* json.c - all JSON is read here. json_scan.c checks the grammar and the number of values; cJSON builds the
 * tree; this file adds what cJSON lacks: duplicate keys, long strings in a short time, and numbers that a
 * double cannot hold (kept as cJSON's raw text). json_write.c prints.
 */
#include "json/json.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fnv.h"
#include "base/mem.h"
#include "base/size.h"
#include "base/utf8.h"
#include "json/private.h"

static cJSON *inner(struct json *j)
{
    return (cJSON *)(void *)j;
}

static const cJSON *peek(const struct json *j)
{
    return (const cJSON *)(const void *)j;
}

static struct json *outer(cJSON *c)
{
    if (!c)
        mem_gone(); /* cJSON's constructors fail only for this reason */
    return (struct json *)(void *)c;
}

static const struct json *show(const cJSON *c)
{
    return (const struct json *)(const void *)c;
}

/* ---- after parsing ---- */

struct fix {
    struct json_scan *scan;
    size_t value, apart; /* values, and those set apart, that the walk has passed */
    bool drop_duplicates;
    const char *duplicate; /* the key that occurs twice although it may not; or NULL */
};

/* Puts the next value into the tree, if it was set apart. */
static void fix_value(struct fix *f, cJSON *c)
{
    size_t index = f->value++;
    if (f->apart == f->scan->n_apart || f->scan->apart[f->apart].index != index)
        return;
    struct json_apart *a = &f->scan->apart[f->apart++];
    char *text = steal(&a->text);
    if ((c->type & 0xff) == cJSON_String) {
        free(c->valuestring);
        c->valuestring = text;
        return;
    }
    c->type = cJSON_Raw;
    c->valuestring = text;
    c->valuedouble = strtod(text, NULL);
}

/* Remove or report a later member that has the key of an earlier one. */
static void duplicate_found(struct fix *f, cJSON *obj, cJSON *later)
{
    if (f->drop_duplicates)
        cJSON_Delete(cJSON_DetachItemViaPointer(obj, later));
    else if (!f->duplicate)
        f->duplicate = later->string;
}

static void few_keys(struct fix *f, cJSON *obj)
{
    for (cJSON *b = obj->child, *next; b != NULL; b = next) {
        next = b->next;
        for (cJSON *a = obj->child; a != b; a = a->next) {
            if (a->string[0] == b->string[0] && !strcmp(a->string, b->string)) {
                duplicate_found(f, obj, b);
                break;
            }
        }
    }
}

static uint64_t hash(const char *s)
{
    uint64_t h = fnv1a(FNV_START, s);
    return h ^ h >> 29;
}

struct sort_key {
    uint64_t hash;
    cJSON *member;
    size_t index;
};

static int by_key(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    int c = strcmp(x->member->string, y->member->string);
    return c != 0 ? c : x->index < y->index ? -1 : 1;
}

/* Sorted by hash first, since that is fast; a peer that picks keys of one hash gains nothing by it. */
static void many_keys(struct fix *f, cJSON *obj, size_t n)
{
    struct sort_key *v = xcalloc(n, sizeof(*v));
    size_t k = 0;
    for (cJSON *m = obj->child; m != NULL; m = m->next, k++)
        v[k] = (struct sort_key){.hash = hash(m->string), .member = m, .index = k};
    qsort(v, n, sizeof(*v), by_key);
    for (size_t i = 1, kept = 0; i < n; i++) {
        if (v[kept].hash == v[i].hash && !strcmp(v[kept].member->string, v[i].member->string))
            duplicate_found(f, obj, v[i].member);
        else
            kept = i;
    }
    free(v);
}

/* The scan bounds the depth, and so the recursion. */
static void fix_tree(struct fix *f, cJSON *c)
{
    int type = c->type & 0xff;
    fix_value(f, c);
    if (type != cJSON_Object && type != cJSON_Array)
        return;
    size_t n = 0;
    for (cJSON *m = c->child; m != NULL; m = m->next, n++)
        fix_tree(f, m);
    if (type != cJSON_Object || n < 2)
        return;
    if (n <= 12)
        few_keys(f, c);
    else
        many_keys(f, c, n);
}

static size_t values_of(int flags)
{
    return flags & JSON_FEW ? JSON_FEW_VALUES : JSON_VALUES;
}

/* Says why the text was refused. */
static void refused(const struct json_scan *scan, size_t len, int flags, struct error *err)
{
    if (scan->too_much)
        error_set(err, ERROR_LIMIT, (int)scan->at, "too much JSON: more than %s values",
                  count_text((int64_t)values_of(flags)).text);
    else
        error_set(err, ERROR_PROTOCOL, (int)scan->at, "invalid JSON: %s (byte %zu of %zu)", scan->reason,
                  scan->at, len);
}

struct json *json_parse(const char *text, size_t len, int flags, size_t *used, struct error *err)
{
    size_t most = flags & JSON_LONG ? JSON_LONG_BYTES : JSON_BYTES;
    if (len > most)
        return error_null(err, ERROR_LIMIT, 0, "too much JSON: %s bytes, at most %s",
                          count_text((int64_t)len).text, count_text((int64_t)most).text);
    struct json_scan scan = {.prefix = flags & JSON_PREFIX,
                             .nan = flags & JSON_NAN,
                             .pieces = flags & JSON_PIECES,
                             .most = values_of(flags)};
    cJSON *c = NULL;
    if (json_scan(&scan, text, len) < 0) {
        refused(&scan, len, flags, err);
        goto out;
    }
    const char *from = scan.repaired ? scan.copy.data : text + scan.start;
    c = cJSON_ParseWithLengthOpts(from, scan.repaired ? scan.copy.len : scan.end - scan.start, NULL, 0);
    if (!c)
        mem_gone(); /* the text is valid, so only memory can be missing */
    struct fix f = {.scan = &scan, .drop_duplicates = flags & JSON_DUPLICATES};
    fix_tree(&f, c);
    if (f.duplicate != NULL) {
        error_set(err, ERROR_PROTOCOL, (int)scan.start, "invalid JSON: duplicate key \"%.80s\"", f.duplicate);
        cJSON_Delete(c);
        c = NULL;
        goto out;
    }
    if (used != NULL)
        *used = scan.end;
out:
    json_scan_release(&scan);
    return c != NULL ? outer(c) : NULL;
}

bool json_valid(const char *text, size_t len, size_t *at)
{
    struct json_scan scan = {0};
    bool valid = json_scan(&scan, text, len) == 0;

    *at = valid ? len : scan.at;
    json_scan_release(&scan);
    return valid;
}

void json_free(struct json *j)
{
    cJSON_Delete(inner(j));
}

/* ---- reading ---- */

enum json_type json_type(const struct json *j)
{
    static const enum json_type types[256] = {
        [cJSON_NULL] = JSON_NULL,     [cJSON_False] = JSON_BOOL,    [cJSON_True] = JSON_BOOL,
        [cJSON_Number] = JSON_NUMBER, [cJSON_Raw] = JSON_NUMBER,    [cJSON_String] = JSON_STRING,
        [cJSON_Array] = JSON_ARRAY,   [cJSON_Object] = JSON_OBJECT,
    };
    return j != NULL ? types[peek(j)->type & 0xff] : JSON_NULL;
}

const struct json *json_get(const struct json *obj, const char *key)
{
    if (json_type(obj) != JSON_OBJECT || !key)
        return NULL;
    const cJSON *m = peek(obj)->child;
    while (m != NULL && strcmp(m->string, key) != 0)
        m = m->next;
    return show(m);
}

const struct json *json_at(const struct json *arr, size_t i)
{
    if (json_type(arr) != JSON_ARRAY)
        return NULL;
    const cJSON *m = peek(arr)->child;
    while (m != NULL && i-- > 0)
        m = m->next;
    return show(m);
}

size_t json_size(const struct json *j)
{
    size_t n = 0;
    for (const struct json *m = json_first(j); m != NULL; m = json_next(m))
        n++;
    return n;
}

const struct json *json_first(const struct json *j)
{
    enum json_type t = json_type(j);
    return t == JSON_ARRAY || t == JSON_OBJECT ? show(peek(j)->child) : NULL;
}

const struct json *json_next(const struct json *j)
{
    return j != NULL ? show(peek(j)->next) : NULL;
}

const char *json_key(const struct json *member)
{
    return member != NULL ? peek(member)->string : NULL;
}

const char *json_str(const struct json *j)
{
    return json_type(j) == JSON_STRING ? peek(j)->valuestring : NULL;
}

bool json_is(const struct json *o, const char *type)
{
    return !strcmp(json_text(json_get(o, "type")), type);
}

const char *json_text(const struct json *j)
{
    const char *s = json_str(j);
    return s ? s : "";
}

bool json_truthy(const struct json *j)
{
    switch (json_type(j)) {
    case JSON_NULL:
        return false;
    case JSON_BOOL:
        return json_bool(j, false);
    case JSON_NUMBER:
        return peek(j)->valuedouble != 0;
    case JSON_STRING:
        return peek(j)->valuestring[0] != '\0';
    case JSON_ARRAY:
    case JSON_OBJECT:
        return peek(j)->child != NULL;
    }
    return false;
}

bool json_bool(const struct json *j, bool otherwise)
{
    return json_type(j) == JSON_BOOL ? (peek(j)->type & 0xff) == cJSON_True : otherwise;
}

double json_double(const struct json *j, double otherwise)
{
    return json_type(j) == JSON_NUMBER && isfinite(peek(j)->valuedouble) ? peek(j)->valuedouble : otherwise;
}

int64_t json_int(const struct json *j, int64_t otherwise)
{
    if (json_type(j) != JSON_NUMBER)
        return otherwise;
    const cJSON *c = peek(j);
    if ((c->type & 0xff) == cJSON_Raw && !strpbrk(c->valuestring, ".eE"))
        return strtoll(c->valuestring, NULL, 10); /* exact for all digits; clamps */
    double v = c->valuedouble;
    if (!isfinite(v))
        return otherwise;
    if (v >= 9223372036854775808.0)
        return INT64_MAX;
    return v <= -9223372036854775808.0 ? INT64_MIN : (int64_t)v;
}

char *json_print(const struct json *j)
{
    struct buf out = BUF_INIT(0);

    json_write(peek(j), &out);
    return buf_steal(&out, NULL);
}

void json_line(const struct json *j, struct buf *out)
{
    json_write(peek(j), out);
    buf_addch(out, '\n');
}

bool json_same(const struct json *a, const struct json *b)
{
    autofree char *one = json_print(a), *two = json_print(b);

    return !strcmp(one, two);
}

/* ---- building ---- */

struct json *json_object(void)
{
    return outer(cJSON_CreateObject());
}

struct json *json_array(void)
{
    return outer(cJSON_CreateArray());
}

struct json *json_string(const char *s)
{
    return s != NULL ? json_string_n(s, strlen(s)) : json_null();
}

/* The bytes as a valid string without NUL: unchanged if they are one, otherwise repaired. The caller frees
 * it. */
static char *good_text(const char *s, size_t len)
{
    if (utf8_valid(s, len) && !memchr(s, '\0', len))
        return xmemdup0(s, len);
    struct buf b = BUF_INIT(0);
    utf8_repair(&b, s, len);
    return buf_steal(&b, NULL);
}

struct json *json_string_n(const char *s, size_t len)
{
    /* Tool output and prompts are long, so the string is handed over instead of copied. cJSON frees it with
     * free(), as no hooks are set. */
    cJSON *c = inner(outer(cJSON_CreateNull()));
    c->type = cJSON_String;
    c->valuestring = len > 0 ? good_text(s, len) : xmemdup0("", 0);
    return outer(c);
}

struct json *json_number(double v)
{
    return outer(isfinite(v) ? cJSON_CreateNumber(v) : cJSON_CreateNull());
}

struct json *json_integer(int64_t v)
{
    cJSON *c = inner(outer(cJSON_CreateNumber((double)v)));
    if (v > 999999999999999 || v < -999999999999999) {
        c->type = cJSON_Raw; /* cJSON would print 1e+15 */
        c->valuestring = xasprintf("%lld", (long long)v);
    }
    return outer(c);
}

struct json *json_boolean(bool v)
{
    return outer(cJSON_CreateBool(v));
}

struct json *json_null(void)
{
    return outer(cJSON_CreateNull());
}

struct json *json_copy(const struct json *j)
{
    return j != NULL ? outer(cJSON_Duplicate(peek(j), 1)) : json_null();
}

void json_set(struct json *obj, const char *key, struct json *value)
{
    assert(json_type(obj) == JSON_OBJECT && key != NULL && value != NULL && value != obj);
    autofree char *k = good_text(key, strlen(key));
    cJSON *o = inner(obj);
    bool done = json_get(obj, k) != NULL ? cJSON_ReplaceItemInObjectCaseSensitive(o, k, inner(value))
                                         : cJSON_AddItemToObject(o, k, inner(value));
    if (!done)
        mem_gone();
}

void json_set_str(struct json *obj, const char *key, const char *s)
{
    json_set(obj, key, json_string(s));
}

void json_set_int(struct json *obj, const char *key, int64_t v)
{
    json_set(obj, key, json_integer(v));
}

void json_set_bool(struct json *obj, const char *key, bool v)
{
    json_set(obj, key, json_boolean(v));
}

struct json *json_borrowed(const struct json *j)
{
    cJSON *c = inner(json_object());

    c->type |= cJSON_IsReference;
    c->child = (cJSON *)(uintptr_t)(const void *)json_first(j);
    return outer(c);
}

void json_move(struct json *to, const char *as, struct json *from, const char *key)
{
    cJSON *c = cJSON_DetachItemFromObjectCaseSensitive(inner(from), key);

    if (c)
        json_set(to, as, outer(c));
}

void json_drop(struct json *obj, const char *key)
{
    cJSON_DeleteItemFromObjectCaseSensitive(inner(obj), key);
}

void json_add(struct json *arr, struct json *value)
{
    assert(json_type(arr) == JSON_ARRAY && value != NULL && value != arr);
    if (!cJSON_AddItemToArray(inner(arr), inner(value)))
        mem_gone();
}

void json_ascii(const char *s, size_t len, struct buf *out)
{
    size_t i = 0;

    while (i < len) {
        uint32_t cp = 0xfffd;
        int n = utf8_decode(s + i, len - i, &cp);

        if (n <= 0)
            n = 1;
        if (cp < 0x7f)
            buf_addch(out, s[i]);
        else if (cp < 0x10000)
            buf_addf(out, "\\u%04x", (unsigned)cp);
        else
            buf_addf(out, "\\u%04x\\u%04x", 0xd800 + (unsigned)((cp - 0x10000) >> 10),
                     0xdc00 + (unsigned)((cp - 0x10000) & 0x3ff));
        i += (size_t)n;
    }
}

/* ---- made in one expression, or from parts of others ---- */

struct json *json_set_members(struct json *obj, const struct json_member *v)
{
    for (; v->key; v++)
        if (v->value)
            json_set(obj, v->key, v->value);
    return obj;
}

struct json *json_of_elements(struct json *const *elements)
{
    struct json *list = json_array();

    for (; *elements; elements++)
        json_add(list, *elements);
    return list;
}

void json_copy_all(struct json *to, const struct json *from)
{
    for (const struct json *m = json_first(from); m; m = json_next(m))
        json_set(to, json_key(m), json_copy(m));
}

void json_copy_some(struct json *to, const struct json *from, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (json_get(from, names[i]))
            json_set(to, names[i], json_copy(json_get(from, names[i])));
}
