/* fields.c - reads each kind of member: text, number, time, price, choice, list, JSON. */
#include "yaml/fields.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/error.h"
#include "json/json.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/value.h"
#include "yaml/ydoc.h"

static bool is_text(const struct ydoc *y)
{
    return y->type == YDOC_TEXT && !ydoc_nothing(y);
}

static bool is_variable(const struct ydoc *y)
{
    const char *s = y->text;

    if (y->type != YDOC_TEXT || (!isalpha((unsigned char)*s) && *s != '_'))
        return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_')
            return false;
    return true;
}

static int read_variables(char **at, const struct ydoc *y, struct error *err)
{
    size_t n = y->type == YDOC_LIST ? y->n : 1;

    for (size_t i = 0; i < KEY_VARIABLES; i++)
        xreplace(&at[i], NULL);
    if (n > KEY_VARIABLES)
        return ydoc_error(y, err, "%s: at most %d names", y->key, KEY_VARIABLES);
    for (size_t i = 0; i < n; i++) {
        const struct ydoc *item = y->type == YDOC_LIST ? &y->v[i] : y;
        if (!is_variable(item))
            return ydoc_expected(item, "the name of an environment variable, or a list of names", err);
        xreplace(&at[i], xstrdup(item->text));
    }
    return 0;
}

static int read_strings(struct argv *at, const struct ydoc *y, struct error *err)
{
    size_t n = y->type == YDOC_LIST ? y->n : 1;

    argv_release(at);
    for (size_t i = 0; i < n; i++) {
        const struct ydoc *item = y->type == YDOC_LIST ? &y->v[i] : y;
        if (!is_text(item))
            return ydoc_expected(item, "a string, or a list of strings", err);
        argv_push(at, item->text);
    }
    return at->n ? 0 : ydoc_expected(y, "a string, or a list of strings", err);
}

int fields_read_command(const struct ydoc *y, struct argv *out, struct error *err)
{
    static const char what[] = "a command: words separated by spaces, or a list of words";

    argv_release(out);
    if (y->type == YDOC_LIST)
        for (size_t i = 0; i < y->n; i++) {
            if (y->v[i].type != YDOC_TEXT)
                return ydoc_expected(y, what, err);
            argv_push(out, y->v[i].text);
        }
    else if (is_text(y))
        for (const char *p = y->text + strspn(y->text, " \t\n"); *p; p += strspn(p, " \t\n")) {
            size_t len = strcspn(p, " \t\n");
            argv_pushf(out, "%.*s", (int)len, p);
            p += len;
        }
    return out->n ? 0 : ydoc_expected(y, what, err);
}

static int read_choice(const struct field *f, const struct ydoc *y, char *at, struct error *err)
{
    autofree char *what = xasprintf("one of %s", f->choices);
    int index = y->type == YDOC_TEXT ? value_choice_index(y->text, strlen(y->text), f->choices) : -1;

    if (index < 0)
        return ydoc_expected(y, what, err);
    if (f->type == F_CHOICE_BOOL)
        *(bool *)(void *)at = index == 0;
    else
        *(unsigned *)(void *)at = (unsigned)index; /* an enum, in the order of choices */
    return 0;
}

static int read_choices(const struct field *f, const struct ydoc *y, char **at, struct error *err)
{
    autofree char *what = xasprintf("one or more of %s", f->choices);
    struct buf out autorelease(buf_release) = BUF_INIT(256);
    size_t n = y->type == YDOC_LIST ? y->n : 1;

    for (size_t i = 0; i < n; i++) {
        const struct ydoc *item = y->type == YDOC_LIST ? &y->v[i] : y;
        if (item->type != YDOC_TEXT || !value_choice(item->text, f->choices))
            return ydoc_expected(item, what, err);
        buf_addf(&out, "%s%s", out.len ? "|" : "", item->text);
    }
    xreplace(at, buf_steal(&out, NULL));
    return 0;
}

static bool is_date(const char *s)
{
    static const char form[] = "dddd-dd-dd";

    for (size_t i = 0; i < sizeof form; i++)
        if (form[i] == 'd' ? !isdigit((unsigned char)s[i]) : s[i] != form[i])
            return false;
    return true;
}

/* Unquoted words get the type they look like, as in YAML. */
static struct json *to_json(const struct ydoc *y)
{
    double number;

    if (y->type == YDOC_LIST) {
        struct json *list = json_array();
        for (size_t i = 0; i < y->n; i++)
            json_add(list, to_json(&y->v[i]));
        return list;
    }
    if (y->type == YDOC_MAP) {
        struct json *map = json_object();
        for (size_t i = 0; i < y->n; i++)
            json_set(map, y->v[i].key, to_json(&y->v[i]));
        return map;
    }
    if (ydoc_nothing(y))
        return json_null();
    if (!y->quoted && (!strcmp(y->text, "true") || !strcmp(y->text, "false")))
        return json_boolean(*y->text == 't');
    return !y->quoted && value_number(y->text, &number) ? json_number(number) : json_string(y->text);
}

char *fields_json(const struct ydoc *y)
{
    autojson struct json *j = to_json(y);

    return json_print(j);
}

static int read_json(const struct ydoc *y, char **at, struct error *err)
{
    autojson struct json *j = y->type == YDOC_MAP ? to_json(y) : NULL;

    if (!j)
        return ydoc_expected(y, "a map", err);
    xreplace(at, json_print(j));
    return 0;
}

static bool is_url(const char *s)
{
    /* A name in braces is filled in later. */
    return !strncmp(s, "http://", 7) || !strncmp(s, "https://", 8) || *s == '{';
}

static int read_text_field(const struct field *f, const struct ydoc *y, char **at, struct error *err)
{
    static const char *const expected[] = {
        [F_STRING] = "a string",
        [F_URL] = "a URL that starts with https:// or http://",
        [F_VARIABLE] = "the name of an environment variable",
        [F_DATE] = "a date such as 2026-12-31",
    };
    bool good = is_text(y)
                && (f->type == F_URL        ? is_url(y->text)
                    : f->type == F_VARIABLE ? is_variable(y)
                    : f->type == F_DATE     ? is_date(y->text)
                                            : true);

    if (!good)
        return ydoc_expected(y, expected[f->type], err);
    xreplace(at, xstrdup(y->text));
    return 0;
}

/* Without a price of its own a cached token costs what any other does. */
static int read_price(const struct ydoc *y, double price[3], struct error *err)
{
    static const char what[] = "dollars per million tokens as [in, out] or [in, cached, out]";
    double v[3];

    if (y->type != YDOC_LIST || y->n < 2 || y->n > 3)
        return ydoc_expected(y, what, err);
    for (size_t i = 0; i < y->n; i++)
        if (!is_text(&y->v[i]) || !value_number(y->v[i].text, &v[i]) || v[i] < 0 || v[i] > 1e6)
            return ydoc_expected(&y->v[i], what, err);
    price[0] = v[0];
    price[1] = y->n == 3 ? v[1] : v[0];
    price[2] = v[y->n - 1];
    return 0;
}

static int read_number(const struct field *f, const struct ydoc *y, void *at, struct error *err)
{
    int64_t n = 0;

    if (f->type == F_BOOL) {
        if (!is_text(y) || y->quoted || (strcmp(y->text, "true") && strcmp(y->text, "false")))
            return ydoc_expected(y, "true or false", err);
        *(bool *)at = y->text[0] == 't';
    } else if (f->type == F_COUNT) {
        if (!is_text(y) || !value_int(y->text, &n) || n < 16 || n > 100000000)
            return ydoc_expected(y, "a number of tokens", err);
        *(int *)at = (int)n;
    } else if (!is_text(y) || !value_number(y->text, at) || *(double *)at > 2) {
        return ydoc_expected(y, "a number from 0 to 2", err);
    }
    return 0;
}

static int read_field(const struct field *f, const struct ydoc *y, void *object, struct error *err)
{
    void *at = (char *)object + f->offset;

    if (f->has)
        *(bool *)(void *)((char *)object + f->has) = true;
    switch (f->type) {
    case F_STRING:
    case F_URL:
    case F_VARIABLE:
    case F_DATE:
        return read_text_field(f, y, at, err);
    case F_PRICE:
        return read_price(y, at, err);
    case F_STRINGS:
        return read_strings(at, y, err);
    case F_VARIABLES:
        return read_variables(at, y, err);
    case F_COMMAND:
        return fields_read_command(y, at, err);
    case F_CHOICE:
    case F_CHOICE_BOOL:
        return read_choice(f, y, at, err);
    case F_CHOICES:
        return read_choices(f, y, at, err);
    case F_JSON:
        return read_json(y, at, err);
    case F_OTHER:
        return 0;
    case F_BOOL:
    case F_COUNT:
    case F_NUMBER:
        return read_number(f, y, at, err);
    }
    return 0;
}

static int unknown_field(const struct schema *s, const struct ydoc *y, struct error *err)
{
    const struct field *f = s->fields;
    struct nearest near = {.word = y->key, .len = strlen(y->key)};

    for (size_t i = 0; i < s->n; i++)
        nearest_offer(&near, f[i].key);
    if (nearest_found(&near))
        return ydoc_key_error(y, err, "unknown key %.60s; did you mean %s?", y->key, nearest_found(&near));
    if (s->n < 3)
        return ydoc_key_error(y, err, "unknown key %.60s; expected %s", y->key, f[0].key);
    return ydoc_key_error(y, err, "unknown key %.60s; expected %s, %s, %s, ...", y->key, f[0].key, f[1].key,
                          f[2].key);
}

int fields_read(const struct schema *s, const struct ydoc *map, bool builtin, void *object, struct error *err)
{
    if (map->type != YDOC_MAP)
        return ydoc_expected(map, "a map of fields", err);
    for (size_t i = 0; i < map->n; i++) {
        const struct ydoc *y = &map->v[i];
        const struct field *f = NULL;

        for (size_t k = 0; k < s->n; k++)
            if (!strcmp(s->fields[k].key, y->key) && !(builtin && s->fields[k].users_only))
                f = &s->fields[k];
        if (!f)
            return unknown_field(s, y, err);
        if (read_field(f, y, object, err) < 0)
            return -1;
    }
    return 0;
}

static bool has_field(const struct field *f, const void *object)
{
    return *(const bool *)(const void *)((const char *)object + f->has);
}

void fields_merge(const struct schema *s, void *into, const void *from)
{
    static const size_t sizes[F_OTHER + 1] = {
        [F_STRING] = sizeof(char *),   [F_URL] = sizeof(char *),      [F_VARIABLE] = sizeof(char *),
        [F_BOOL] = sizeof(bool),       [F_CHOICE] = sizeof(unsigned), [F_CHOICE_BOOL] = sizeof(bool),
        [F_CHOICES] = sizeof(char *),  [F_COUNT] = sizeof(int),       [F_NUMBER] = sizeof(double),
        [F_PRICE] = sizeof(double[3]), [F_DATE] = sizeof(char *),     [F_JSON] = sizeof(char *),
    };
    char *to = into;

    for (size_t i = 0; i < s->n; i++) {
        const struct field *f = &s->fields[i];

        if (f->has && has_field(f, from) && !has_field(f, into))
            memcpy(to + f->offset, (const char *)from + f->offset, sizes[f->type]);
    }
    for (size_t i = 0; i < s->n; i++)
        if (s->fields[i].has && has_field(&s->fields[i], from))
            *(bool *)(void *)(to + s->fields[i].has) = true;
}
