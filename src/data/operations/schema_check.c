/* schema_check.c - checks a JSON value against the part of JSON Schema that operations.json uses. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "json/json.h"
#include "operations/operations.h"

#define WHAT_MAX 200

static const char *what_of(const char *what)
{
    return *what ? what : "the arguments";
}

static bool is_whole(const struct json *v)
{
    double n = json_double(v, NAN);

    return n >= -9007199254740992.0 && n <= 9007199254740992.0 && n == floor(n);
}

static bool has_type(const struct json *v, const char *type)
{
    static const struct {
        const char *word;
        enum json_type type;
    } types[] = {
        {"null", JSON_NULL},     {"boolean", JSON_BOOL}, {"number", JSON_NUMBER}, {"integer", JSON_NUMBER},
        {"string", JSON_STRING}, {"array", JSON_ARRAY},  {"object", JSON_OBJECT},
    };

    for (size_t i = 0; i < countof(types); i++)
        if (!strcmp(type, types[i].word))
            return v && json_type(v) == types[i].type && (strcmp(type, "integer") != 0 || is_whole(v));
    return false;
}

static int check_type(const struct json *type, const struct json *v, const char *what, struct error *err)
{
    char list[120] = "";

    if (json_str(type)) {
        snprintf(list, sizeof list, "%s", json_str(type));
        if (has_type(v, json_str(type)))
            return 0;
    }
    for (const struct json *t = json_first(type); t; t = json_next(t)) {
        size_t n = strlen(list);

        if (has_type(v, json_text(t)))
            return 0;
        snprintf(list + n, sizeof list - n, "%s%s", n ? " or " : "", json_text(t));
    }
    bool an = strchr("aeio", list[0]) && list[0];
    return error_set(err, ERROR_USAGE, 0, "%s: must be %s %s", what_of(what), an ? "an" : "a", list);
}

static int check_enum(const struct json *all, const struct json *v, const char *what, struct error *err)
{
    char list[200] = "";

    for (const struct json *e = json_first(all); e; e = json_next(e)) {
        size_t n = strlen(list);
        autofree char *shown = json_print(e);

        if (json_same(e, v))
            return 0;
        snprintf(list + n, sizeof list - n, "%s%s", n ? ", " : "", shown);
    }
    return error_set(err, ERROR_USAGE, 0, "%s: must be one of %s", what_of(what), list);
}

static size_t characters(const char *s)
{
    size_t n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static double amount(const struct json *v)
{
    return json_type(v) == JSON_NUMBER   ? json_double(v, NAN)
           : json_type(v) == JSON_STRING ? (double)characters(json_str(v))
                                         : (double)json_size(v);
}

/* The bounds of a number, or of how much a string, array or object holds. */
static int check_bounds(const struct json *schema, const struct json *v, const char *what, struct error *err)
{
    static const struct {
        const char *word;
        enum json_type type;
        char bound; /* '<' at most, '>' at least, ')' less than, '(' more than */
        const char *unit;
    } rows[] = {
        {"minimum", JSON_NUMBER, '>', ""},
        {"maximum", JSON_NUMBER, '<', ""},
        {"exclusiveMinimum", JSON_NUMBER, '(', ""},
        {"exclusiveMaximum", JSON_NUMBER, ')', ""},
        {"minLength", JSON_STRING, '>', " characters"},
        {"maxLength", JSON_STRING, '<', " characters"},
        {"minItems", JSON_ARRAY, '>', " entries"},
        {"maxItems", JSON_ARRAY, '<', " entries"},
        {"maxProperties", JSON_OBJECT, '<', " entries"},
    };
    enum json_type type = json_type(v);

    for (size_t i = 0; i < countof(rows); i++) {
        const struct json *bound = rows[i].type == type ? json_get(schema, rows[i].word) : NULL;
        double b = json_double(bound, 0), has = bound ? amount(v) : 0;
        char how = rows[i].bound;

        if (!bound || (how == '<' ? has <= b : how == '>' ? has >= b : how == '(' ? has > b : has < b))
            continue;
        return error_set(err, ERROR_USAGE, 0, "%s: must %s %s %.15g%s", what_of(what),
                         *rows[i].unit ? "have" : "be",
                         how == '<'   ? "at most"
                         : how == '>' ? "at least"
                         : how == '(' ? "more than"
                                      : "less than",
                         b, rows[i].unit);
    }
    return 0;
}

/* Name a member as in "files[2].name"; what is the name of the object. */
static void name_member(const char *what, const char *key, char out[WHAT_MAX])
{
    autofree char *shown = scrub_line(key, SCRUB_TERMINAL);

    snprintf(out, WHAT_MAX, "%.120s%s%.60s", what, *what ? "." : "", shown);
}

static int check_object(const struct json *schema, const struct json *v, const char *what, struct error *err)
{
    const struct json *properties = json_get(schema, "properties"),
                      *others = json_get(schema, "additionalProperties");
    char name[WHAT_MAX];

    for (const struct json *r = json_first(json_get(schema, "required")); r; r = json_next(r)) {
        name_member(what, json_text(r), name);
        if (!json_get(v, json_text(r)))
            return error_set(err, ERROR_USAGE, 0, "%s: is missing", name);
    }
    for (const struct json *m = json_first(v); m; m = json_next(m)) {
        const struct json *inner = json_get(properties, json_key(m));

        name_member(what, json_key(m), name);
        if (!inner && json_type(others) == JSON_BOOL && !json_bool(others, true))
            return error_set(err, ERROR_USAGE, 0, "%s: there is no such field", name);
        inner = inner ? inner : json_type(others) == JSON_OBJECT ? others : NULL;
        if (inner && schema_check(inner, m, name, err) < 0)
            return -1;
    }
    return 0;
}

static int check_items(const struct json *items, const struct json *v, const char *what, struct error *err)
{
    size_t i = 0;

    for (const struct json *e = json_first(v); e; e = json_next(e)) {
        char name[WHAT_MAX];

        snprintf(name, sizeof name, "%.150s[%zu]", what, i++);
        if (schema_check(items, e, name, err) < 0)
            return -1;
    }
    return 0;
}

/* The error is that of the branch with the value's type; if there is no such branch, it names the types. */
static int check_any(const struct json *all, const struct json *v, const char *what, struct error *err)
{
    autojson struct json *types = json_array();

    for (const struct json *s = json_first(all); s; s = json_next(s)) {
        const struct json *type = json_get(s, "type");

        if (check_type(type, v, what, NULL) == 0)
            return schema_check(s, v, what, err);
        json_add(types, json_copy(type));
    }
    return check_type(types, v, what, err);
}

int schema_check(const struct json *schema, const struct json *v, const char *what, struct error *err)
{
    const struct json *type = json_get(schema, "type"), *some = json_get(schema, "enum"),
                      *one = json_get(schema, "const"), *any = json_get(schema, "anyOf"),
                      *items = json_get(schema, "items");

    if (type && check_type(type, v, what, err) < 0)
        return -1;
    if (some && check_enum(some, v, what, err) < 0)
        return -1;
    if (one && !json_same(one, v)) {
        autofree char *shown = json_print(one);
        return error_set(err, ERROR_USAGE, 0, "%s: must be %.100s", what_of(what), shown);
    }
    if (any && check_any(any, v, what, err) < 0)
        return -1;
    if (check_bounds(schema, v, what, err) < 0)
        return -1;
    if (json_type(v) == JSON_OBJECT)
        return check_object(schema, v, what, err);
    return items && json_type(v) == JSON_ARRAY ? check_items(items, v, what, err) : 0;
}
