/* template.c - walks a template and the scope together, and makes the value. */
#include "json/template.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "json/json.h"

struct filling {
    const struct json *scope;
    const struct json *item, *index; /* of the innermost $each */
    const char *key;
    const struct template_words *words;
};

static struct json *fill(const struct filling *f, const struct json *t);

static const struct json *member(const struct json *value, const char *name, size_t len)
{
    autofree char *key = xmemdup0(name, len);
    char *end;

    if (json_type(value) != JSON_ARRAY)
        return json_get(value, key);
    size_t i = strtoul(key, &end, 10);
    return *key && !*end ? json_at(value, i) : NULL;
}

static const struct json *walk(const struct json *value, const char *path)
{
    while (value && *path) {
        size_t n = strcspn(path, ".");
        value = member(value, path, n);
        path += n + (path[n] == '.');
    }
    return value;
}

static struct json *reference(const struct filling *f, const char *path)
{
    static const char item[] = "item", key[] = "key", index[] = "index";
    size_t n = strcspn(path, ".");

    if (f->item && n == strlen(item) && !strncmp(path, item, n))
        return json_copy(walk(f->item, path + n + (path[n] == '.')));
    if (f->item && !strcmp(path, key))
        return f->key ? json_string(f->key) : json_null();
    if (f->item && !strcmp(path, index))
        return json_copy(f->index);
    return json_copy(walk(f->scope, path));
}

/* The words. at(i): the i-th part of the argument, filled in. */
static struct json *at(const struct filling *f, const struct json *argument, size_t i)
{
    return fill(f, json_at(argument, i));
}

static struct json *word_case(const struct filling *f, const struct json *a)
{
    autojson struct json *on = at(f, a, 0);
    const struct json *arm = json_str(on) ? json_get(json_at(a, 1), json_str(on)) : NULL;

    return fill(f, arm ? arm : json_at(a, 2));
}

static struct json *word_if(const struct filling *f, const struct json *a)
{
    autojson struct json *on = at(f, a, 0);

    return at(f, a, json_truthy(on) ? 1 : 2);
}

static struct json *word_or(const struct filling *f, const struct json *a)
{
    struct json *value = json_null();

    for (const struct json *one = json_first(a); one && !json_truthy(value); one = json_next(one)) {
        json_free(value);
        value = fill(f, one);
    }
    return value;
}

/* For each element of the list that is the first part of a: the second part, filled in, goes into the array
 * to; where to is an object, the second and the third part are a key and its value. Returns to. */
static struct json *each(const struct filling *f, const struct json *a, struct json *to)
{
    autojson struct json *list = at(f, a, 0);
    struct filling inner = *f;
    int64_t i = 0;

    for (const struct json *one = json_first(list); one; one = json_next(one)) {
        autojson struct json *index = json_integer(i++);
        inner.item = one;
        inner.index = index;
        inner.key = json_type(list) == JSON_OBJECT ? json_key(one) : NULL;
        autojson struct json *second = at(&inner, a, 1);
        autojson struct json *value = json_type(to) == JSON_OBJECT ? at(&inner, a, 2) : NULL;
        if (json_type(to) == JSON_ARRAY)
            json_add(to, steal(&second));
        else if (json_str(second) && json_type(value) != JSON_NULL)
            json_set(to, json_str(second), steal(&value));
    }
    return to;
}

static struct json *word_each(const struct filling *f, const struct json *a)
{
    return each(f, a, json_array());
}

static struct json *word_object(const struct filling *f, const struct json *a)
{
    return each(f, a, json_object());
}

static struct json *word_list(const struct filling *f, const struct json *a)
{
    struct json *list = json_array();

    for (const struct json *one = json_first(a); one; one = json_next(one)) {
        autojson struct json *value = fill(f, one);
        if (json_type(value) == JSON_ARRAY) {
            for (const struct json *e = json_first(value); e; e = json_next(e))
                if (json_type(e) != JSON_NULL)
                    json_add(list, json_copy(e));
        } else if (json_type(value) != JSON_NULL) {
            json_add(list, json_copy(value));
        }
    }
    return list;
}

static struct json *joined(const struct filling *f, const struct json *a, bool lines)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    for (const struct json *one = json_first(a); one; one = json_next(one)) {
        autojson struct json *value = fill(f, one);
        autofree char *number = json_type(value) == JSON_NUMBER ? json_print(value) : NULL;
        const char *s = number ? number : json_text(value);
        if (lines && *s && text.len && buf_last(&text) != '\n')
            buf_addch(&text, '\n');
        buf_addstr(&text, s);
    }
    return json_string_n(buf_str(&text), text.len);
}

static struct json *word_text(const struct filling *f, const struct json *a)
{
    return joined(f, a, false);
}

static struct json *word_lines(const struct filling *f, const struct json *a)
{
    return joined(f, a, true);
}

static struct json *word_seconds(const struct filling *f, const struct json *a)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 0.001}, {"m", 60}, {"h", 3600}};
    autojson struct json *value = fill(f, a);
    const char *text = json_str(value);
    char *end = NULL;
    double number = text ? strtod(text, &end) : json_double(value, -1);

    for (size_t i = 0; i < countof(units); i++)
        if (isfinite(number) && number >= 0 && !strcmp(end ? end : "", units[i].unit))
            return json_number(number * units[i].seconds);
    return json_null();
}

static struct json *word_over(const struct filling *f, const struct json *a)
{
    autojson struct json *left = at(f, a, 0), *right = at(f, a, 1);
    double value = json_double(left, NAN) / json_double(right, NAN);

    return isfinite(value) ? json_number(value) : json_null();
}

static const struct {
    const char *name;
    struct json *(*fill)(const struct filling *f, const struct json *argument);
} words[] = {
    {"$case", word_case},       {"$if", word_if},     {"$or", word_or},     {"$each", word_each},
    {"$object", word_object},   {"$list", word_list}, {"$text", word_text}, {"$lines", word_lines},
    {"$seconds", word_seconds}, {"$over", word_over},
};

/* The value of an object that is a word; NULL: it is an ordinary object. */
static struct json *word(const struct filling *f, const struct json *t)
{
    const struct json *only = json_size(t) == 1 ? json_first(t) : NULL;
    const char *name = only ? json_key(only) : "";

    if (*name != '$')
        return NULL;
    for (size_t i = 0; i < countof(words); i++)
        if (!strcmp(name, words[i].name))
            return words[i].fill(f, only);
    for (const struct template_word *w = f->words ? f->words->v : NULL; w && w->name; w++)
        if (!strcmp(name, w->name)) {
            autojson struct json *argument = fill(f, only);
            struct json *value = w->fill(f->words->ctx, argument);
            return value ? value : json_null();
        }
    return NULL;
}

static struct json *object(const struct filling *f, const struct json *t)
{
    struct json *result = word(f, t);

    if (result)
        return result;
    result = json_object();
    for (const struct json *m = json_first(t); m; m = json_next(m)) {
        struct json *value = fill(f, m);
        size_t n = strlen(json_key(m));
        bool may_lack = n && json_key(m)[n - 1] == '?';
        autofree char *key = xmemdup0(json_key(m), n - may_lack);
        if (may_lack && json_type(value) == JSON_NULL)
            json_free(value);
        else
            json_set(result, key, value);
    }
    return result;
}

static struct json *array(const struct filling *f, const struct json *t)
{
    struct json *result = json_array();

    for (const struct json *e = json_first(t); e; e = json_next(e))
        json_add(result, fill(f, e));
    return result;
}

static struct json *fill(const struct filling *f, const struct json *t)
{
    const char *text = json_str(t);

    if (json_type(t) == JSON_OBJECT)
        return object(f, t);
    if (json_type(t) == JSON_ARRAY)
        return array(f, t);
    if (text && *text == '$')
        return text[1] == '$' ? json_string(text + 1) : reference(f, text + 1);
    return json_copy(t);
}

struct json *template_fill(const struct json *template, const struct json *scope,
                           const struct template_words *more)
{
    return fill(&(struct filling){.scope = scope, .words = more}, template);
}
