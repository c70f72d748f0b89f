/* items.c - see items.h. */
#include "llm/items.h"

#include <string.h>

#include "base/json.h"
#include "base/mem.h"

void items_release(struct items *k)
{
    json_free(k->list);
    json_free(k->open);
    buf_release(&k->text);
    *k = (struct items){0};
}

static void add(struct items *k, struct json *item)
{
    if (!k->list)
        k->list = json_array();
    json_add(k->list, item);
}

/* False once there is too much. */
static bool room(struct items *k, size_t bytes)
{
    k->bytes += bytes + 64;
    if (k->bytes > ITEMS_MAX && !k->lost) {
        items_release(k);
        k->lost = true;
    }
    return !k->lost;
}

static const char *type_of(const struct json *j) { return json_str(json_get(j, "type")) ? json_str(json_get(j, "type")) : ""; }

/* A reasoning item whole, but for what only an answer may hold. Of the others what places them: their text and arguments are the turn's. */
void items_keep(struct items *k, const struct json *item)
{
    static const char *const places[] = {"type", "id", "call_id", "phase"};
    bool reasoning = !strcmp(type_of(item), "reasoning");
    if (!reasoning && strcmp(type_of(item), "message") && strcmp(type_of(item), "function_call"))
        return;
    struct json *o = json_object();
    for (const struct json *m = reasoning ? json_first(item) : NULL; m; m = json_next(m))
        if (json_type(m) != JSON_NULL && strcmp(json_key(m), "status"))
            json_set(o, json_key(m), json_copy(m));
    for (size_t i = 0; !reasoning && i < countof(places); i++)
        if (json_str(json_get(item, places[i])))
            json_set_str(o, places[i], json_str(json_get(item, places[i])));
    autofree char *text = json_print(o);
    if (room(k, strlen(text)))
        add(k, o);
    else
        json_free(o);
}

static void close_open(struct items *k)
{
    if (!k->open)
        return;
    if (k->key)
        json_set(k->open, k->key, json_string_n(buf_str(&k->text), k->text.len));
    add(k, k->open);
    k->open = NULL;
    buf_clear(&k->text);
}

static bool goes_on(const struct items *k, const struct json *piece)
{
    const struct json *a = json_get(k->open, "index"), *b = json_get(piece, "index");
    return k->open && json_type(a) == JSON_NUMBER && json_type(b) == JSON_NUMBER && json_int(a, 0) == json_int(b, 0)
        && !strcmp(type_of(k->open), type_of(piece));
}

void items_piece(struct items *k, const struct json *piece)
{
    static const char *const growing[] = {"text", "summary", "data"};
    if (json_type(piece) != JSON_OBJECT || k->lost)
        return;
    if (!goes_on(k, piece)) {
        close_open(k);
        k->open = json_object();
        k->key = NULL;
        buf_release(&k->text);
        buf_init(&k->text, ITEMS_MAX);
    }
    size_t bytes = 0;
    for (const struct json *m = json_first(piece); m; m = json_next(m)) {
        const char *s = json_str(m);
        bool grows = false;
        for (size_t i = 0; s && i < countof(growing); i++)
            if (!strcmp(json_key(m), growing[i]) && (!k->key || k->key == growing[i])) {
                k->key = growing[i];
                grows = true;
            }
        if (grows)
            buf_addstr(&k->text, s);
        else if (json_type(m) != JSON_NULL)    /* the signature comes last, and nothing takes away what came before */
            json_set(k->open, json_key(m), json_copy(m));
        bytes += s ? strlen(s) : 16;
    }
    room(k, bytes);
}

char *items_text(struct items *k)
{
    close_open(k);
    return k->list ? json_print(k->list) : NULL;
}
