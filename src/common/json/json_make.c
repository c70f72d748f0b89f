/* json_make.c - objects and arrays made in one expression, or from parts of others. See json.h. */
#include "json/json.h"

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
