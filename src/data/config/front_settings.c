/* front_settings.c - what a front is told of the configuration, from the table of options: no setting is
 * named here, so none can be forgotten.
 *
 * RULE: A front gets each of its settings and a runner each option of its front, from the table of options.
 */
#include <stddef.h>

#include "config/config.h"
#include "json/json.h"

/* Where the option's value is in f. NULL: it is not told. */
static void *place_of(const struct option *o, const struct front_settings *f)
{
    size_t begin = offsetof(struct config, front), end = begin + sizeof *f;

    return o->offset >= begin && o->offset < end ? (char *)(uintptr_t)f + (o->offset - begin) : NULL;
}

static struct json *list_of(const struct argv *words)
{
    struct json *out = json_array();

    for (size_t i = 0; i < words->n; i++)
        json_add(out, json_string(words->v[i]));
    return out;
}

static struct json *setting_json(const struct option *o, const void *at)
{
    switch (o->type) {
    case OPTION_BOOL:
    case OPTION_NOT:
        return json_boolean(*(const bool *)at);
    case OPTION_LIST:
    case OPTION_WORDS:
    case OPTION_PATHS:
        return list_of(at);
    case OPTION_INT:
        return json_integer(*(const int *)at);
    case OPTION_NUMBER:
        return json_number(*(const double *)at);
    case OPTION_SIZE:
    case OPTION_TIME:
        return json_integer(*(const int64_t *)at);
    default:
        return json_string(*(const char *const *)at);
    }
}

static void read_setting(const struct option *o, void *at, const struct json *value)
{
    switch (o->type) {
    case OPTION_BOOL:
    case OPTION_NOT:
        *(bool *)at = json_bool(value, false);
        return;
    case OPTION_LIST:
    case OPTION_WORDS:
    case OPTION_PATHS:
        for (const struct json *word = json_first(value); word; word = json_next(word))
            argv_push(at, json_text(word));
        return;
    case OPTION_INT:
        *(int *)at = (int)json_int(value, 0);
        return;
    case OPTION_NUMBER:
        *(double *)at = json_double(value, 0);
        return;
    case OPTION_SIZE:
    case OPTION_TIME:
        *(int64_t *)at = json_int(value, 0);
        return;
    default:
        *(const char **)at = json_str(value);
    }
}

struct json *front_settings_write(const struct front_settings *f)
{
    struct json *out = json_object();

    for (size_t i = 0; i < option_count; i++)
        if (place_of(&option_table[i], f))
            json_set(out, option_table[i].flag,
                     setting_json(&option_table[i], place_of(&option_table[i], f)));
    return out;
}

void front_settings_read(struct front_settings *f, const struct json *j)
{
    *f = (struct front_settings){0};
    for (size_t i = 0; i < option_count; i++)
        if (place_of(&option_table[i], f))
            read_setting(&option_table[i], place_of(&option_table[i], f), json_get(j, option_table[i].flag));
}

void front_settings_release(struct front_settings *f)
{
    for (size_t i = 0; i < option_count; i++)
        if (option_is_list(&option_table[i]) && place_of(&option_table[i], f))
            argv_release(place_of(&option_table[i], f));
}
