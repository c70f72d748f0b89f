/* json_schema.c - one walk over a schema and a value; and one over a schema alone, for one that a client
 * sends. */
#include "json/json_schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "json/json.h"

#define WHAT_MAX  200
#define STEPS_MAX 100000 /* schemas that are looked at for one value: branches of branches double each time */
#define DEPTH_MAX 300    /* of them within each other; a value is at most JSON_DEPTH deep */

struct schema_walk {
    const struct json *root; /* where "#/..." leads to */
    unsigned steps, depth;
};

static int walk(struct schema_walk *w, const struct json *schema, const struct json *v, const char *what,
                struct error *err);

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
        {"minProperties", JSON_OBJECT, '>', " entries"},
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

static int check_object(struct schema_walk *w, const struct json *schema, const struct json *v,
                        const char *what, struct error *err)
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
        if (inner && walk(w, inner, m, name, err) < 0)
            return -1;
    }
    return 0;
}

static int check_items(struct schema_walk *w, const struct json *items, const struct json *v,
                       const char *what, struct error *err)
{
    size_t i = 0;

    for (const struct json *e = json_first(v); e; e = json_next(e)) {
        char name[WHAT_MAX];

        snprintf(name, sizeof name, "%.150s[%zu]", what, i++);
        if (walk(w, items, e, name, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- schemas made of others ---- */

static void pointer_unescape(char *part)
{
    char *to = part;

    for (const char *from = part; *from; from++)
        if (*from == '~' && (from[1] == '0' || from[1] == '1'))
            *to++ = *++from == '0' ? '~' : '/';
        else
            *to++ = *from;
    *to = '\0';
}

/* What "#" or "#/a/b" leads to; NULL: nothing, or it leads elsewhere. */
static const struct json *referred(const struct json *root, const char *ref)
{
    const struct json *at = root;

    if (*ref != '#' || (ref[1] && ref[1] != '/'))
        return NULL;
    for (ref++; *ref && at;) {
        size_t len = strcspn(++ref, "/");
        autofree char *part = xmemdup0(ref, len);

        pointer_unescape(part);
        at = json_get(at, part);
        ref += len;
    }
    return at;
}

/* The schema itself, behind its "$ref"s. */
static const struct json *behind_refs(const struct schema_walk *w, const struct json *schema)
{
    const char *ref;

    for (unsigned n = 0; n < 16 && (ref = json_str(json_get(schema, "$ref"))); n++)
        schema = referred(w->root, ref);
    return schema;
}

/* None of the branches fits. The error is that of the one branch that has the value's type; if there is none,
 * it names the types. */
static int tell_branches(struct schema_walk *w, const struct json *all, const struct json *v,
                         const char *what, struct error *err)
{
    autojson struct json *types = json_array();
    const struct json *near = NULL;
    size_t n = 0;

    for (const struct json *s = json_first(all); s; s = json_next(s)) {
        const struct json *type = json_get(behind_refs(w, s), "type");

        if (!type || check_type(type, v, what, NULL) == 0) {
            near = s;
            n++;
        }
        if (json_str(type))
            json_add(types, json_copy(type));
    }
    if (!n)
        return check_type(types, v, what, err);
    if (n == 1)
        return walk(w, near, v, what, err);
    return error_set(err, ERROR_USAGE, 0, "%s: is none of the %zu forms that it may have", what_of(what), n);
}

/* word: "anyOf", "oneOf" or "allOf". */
static int check_branches(struct schema_walk *w, const struct json *schema, const char *word,
                          const struct json *v, const char *what, struct error *err)
{
    const struct json *all = json_get(schema, word);
    size_t fit = 0;

    if (json_type(all) != JSON_ARRAY)
        return 0;
    for (const struct json *s = json_first(all); s; s = json_next(s)) {
        if (!strcmp(word, "allOf") && walk(w, s, v, what, err) < 0)
            return -1;
        if (strcmp(word, "allOf") != 0)
            fit += walk(w, s, v, what, NULL) == 0;
        if (fit && !strcmp(word, "anyOf"))
            return 0;
    }
    if (fit > 1)
        return error_set(err, ERROR_USAGE, 0, "%s: is %zu of the forms of which it may have one",
                         what_of(what), fit);
    return fit || !strcmp(word, "allOf") ? 0 : tell_branches(w, all, v, what, err);
}

/* ---- one schema ---- */

static int check_fixed(const struct json *schema, const struct json *v, const char *what, struct error *err)
{
    const struct json *type = json_get(schema, "type"), *some = json_get(schema, "enum"),
                      *one = json_get(schema, "const");

    if (type && check_type(type, v, what, err) < 0)
        return -1;
    if (some && check_enum(some, v, what, err) < 0)
        return -1;
    if (one && !json_same(one, v)) {
        autofree char *shown = json_print(one);
        return error_set(err, ERROR_USAGE, 0, "%s: must be %.100s", what_of(what), shown);
    }
    return check_bounds(schema, v, what, err);
}

static int check_all(struct schema_walk *w, const struct json *schema, const struct json *v, const char *what,
                     struct error *err)
{
    static const char *const made_of[] = {"allOf", "anyOf", "oneOf"};
    const struct json *items = json_get(schema, "items");
    const char *ref = json_str(json_get(schema, "$ref"));

    if (json_type(schema) == JSON_BOOL && !json_bool(schema, true))
        return error_set(err, ERROR_USAGE, 0, "%s: must not be there", what_of(what));
    if (check_fixed(schema, v, what, err) < 0)
        return -1;
    if (ref && referred(w->root, ref) && walk(w, referred(w->root, ref), v, what, err) < 0)
        return -1;
    for (size_t i = 0; i < countof(made_of); i++)
        if (check_branches(w, schema, made_of[i], v, what, err) < 0)
            return -1;
    if (json_type(v) == JSON_OBJECT)
        return check_object(w, schema, v, what, err);
    return items && json_type(v) == JSON_ARRAY ? check_items(w, items, v, what, err) : 0;
}

static int walk(struct schema_walk *w, const struct json *schema, const struct json *v, const char *what,
                struct error *err)
{
    if (++w->steps > STEPS_MAX || w->depth >= DEPTH_MAX) {
        w->steps = STEPS_MAX; /* nothing goes on from here */
        return error_set(err, ERROR_LIMIT, 0, "%s: the schema leads too far to be checked", what_of(what));
    }
    w->depth++;
    int status = check_all(w, schema, v, what, err);
    w->depth--;
    return status;
}

int schema_check(const struct json *schema, const struct json *v, const char *what, struct error *err)
{
    struct schema_walk w = {.root = schema};

    return walk(&w, schema, v, what, err);
}

/* ---- a schema by itself ---- */

/* Words that say what a value must be and that are not checked. All others say nothing about it. */
static const char *const not_checked[] = {"pattern",
                                          "format",
                                          "multipleOf",
                                          "uniqueItems",
                                          "contains",
                                          "prefixItems",
                                          "patternProperties",
                                          "propertyNames",
                                          "not",
                                          "if",
                                          "dependentRequired",
                                          "dependentSchemas",
                                          "unevaluatedItems",
                                          "unevaluatedProperties"};

struct schema_view {
    const struct json *root;
    struct json *unchecked;
    struct error *err;
};

static int survey(const struct schema_view *w, const struct json *schema, unsigned depth);

static int survey_each(const struct schema_view *w, const struct json *all, unsigned depth)
{
    for (const struct json *s = json_first(all); s; s = json_next(s))
        if (survey(w, s, depth) < 0)
            return -1;
    return 0;
}

static bool is_type_word(const struct json *type)
{
    static const char *const words[] = {"null", "boolean", "number", "integer", "string", "array", "object"};

    for (size_t i = 0; i < countof(words); i++)
        if (!strcmp(json_text(type), words[i]))
            return true;
    return false;
}

static int survey_type(const struct json *type, struct error *err)
{
    const struct json *first = json_type(type) == JSON_ARRAY ? json_first(type) : type;
    bool good = first != NULL;

    for (const struct json *t = first; t && good; t = t == type ? NULL : json_next(t))
        good = is_type_word(t);
    return good ? 0 : error_set(err, ERROR_USAGE, 0, "the schema has a type that is none of JSON's");
}

static void note_unchecked(const struct json *schema, struct json *unchecked)
{
    for (size_t i = 0; i < countof(not_checked); i++) {
        bool there = false;

        for (const struct json *u = json_first(unchecked); u; u = json_next(u))
            there |= !strcmp(json_text(u), not_checked[i]);
        if (!there && json_get(schema, not_checked[i]))
            json_add(unchecked, json_string(not_checked[i]));
    }
}

static int survey(const struct schema_view *w, const struct json *schema, unsigned depth)
{
    static const char *const maps[] = {"properties", "$defs", "definitions"},
                             *const lists[] = {"anyOf", "oneOf", "allOf"},
                             *const single[] = {"items", "additionalProperties"};
    const char *ref = json_str(json_get(schema, "$ref"));

    if (json_type(schema) == JSON_BOOL)
        return 0;
    if (json_type(schema) != JSON_OBJECT)
        return error_set(w->err, ERROR_USAGE, 0,
                         "the schema holds what is no schema: an object, true or false");
    if (depth >= SCHEMA_DEPTH)
        return error_set(w->err, ERROR_USAGE, 0, "the schema is nested more than %d deep", SCHEMA_DEPTH);
    if (ref && !referred(w->root, ref))
        return error_set(w->err, ERROR_USAGE, 0,
                         "the schema has no %.100s: \"$ref\" may point only into the schema itself", ref);
    if (json_get(schema, "type") && survey_type(json_get(schema, "type"), w->err) < 0)
        return -1;
    note_unchecked(schema, w->unchecked);
    for (size_t i = 0; i < countof(maps); i++)
        if (survey_each(w, json_get(schema, maps[i]), depth + 1) < 0)
            return -1;
    for (size_t i = 0; i < countof(lists); i++)
        if (survey_each(w, json_get(schema, lists[i]), depth + 1) < 0)
            return -1;
    for (size_t i = 0; i < countof(single); i++)
        if (json_get(schema, single[i]) && survey(w, json_get(schema, single[i]), depth + 1) < 0)
            return -1;
    return 0;
}

struct json *schema_survey(const struct json *schema, struct error *err)
{
    autofree char *text = json_print(schema);
    struct json *unchecked = json_array();
    const struct schema_view w = {schema, unchecked, err};

    if (strlen(text) > SCHEMA_BYTES)
        error_set(err, ERROR_USAGE, 0, "the schema is longer than %d KiB", SCHEMA_BYTES >> 10);
    else if (survey(&w, schema, 0) == 0)
        return unchecked;
    json_free(unchecked);
    return NULL;
}
