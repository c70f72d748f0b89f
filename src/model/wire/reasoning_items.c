/* reasoning_items.c - keeps the items of a reply in their order, and joins fragments that belong together.
 */
#include "wire/reasoning_items.h"

#include <stdlib.h>
#include <string.h>

#include "json/json.h"
#include "base/mem.h"

void reasoning_items_release(struct reasoning_items *k)
{
    json_free(k->list);
    json_free(k->open);
    buf_release(&k->text);
    free(k->place);
    *k = (struct reasoning_items){0};
}

static void add_item(struct reasoning_items *k, struct json *item, int64_t place)
{
    if (!k->list)
        k->list = json_array();
    json_add(k->list, item);
    k->place = xreallocarray(k->place, k->n_places + 1, sizeof *k->place);
    k->place[k->n_places] = place >= 0 ? place : k->n_places ? k->place[k->n_places - 1] : 0;
    k->n_places++;
}

#define VALUE_BYTES 96 /* bytes that a value takes besides its text, as a node of a tree */
#define PLACE_BYTES 64 /* and an item besides its values */

/* Returns the bytes that a value takes, with everything in it. Its depth is bounded, because it comes from a
 * document whose depth is. */
static size_t cost(const struct json *j)
{
    size_t n = VALUE_BYTES + (json_key(j) ? strlen(json_key(j)) : 0)
               + (json_str(j) ? strlen(json_str(j)) : 0);
    for (const struct json *m = json_first(j); m; m = json_next(m))
        n += cost(m);
    return n;
}

/* False once there is too much to keep. members: of one item. */
static bool room(struct reasoning_items *k, size_t members, size_t bytes)
{
    k->bytes += bytes;
    if ((k->bytes > REASONING_ITEMS_MAX || members > REASONING_MEMBERS_MAX) && !k->lost) {
        reasoning_items_release(k);
        k->lost = true;
    }
    return !k->lost;
}

/* A reasoning item is kept whole, except for members that only an answer may have. Of other items only what
 * tells their place is kept, because the turn has their text and arguments. */
void reasoning_items_keep(struct reasoning_items *k, const struct json *item, int64_t place)
{
    static const char *const places[] = {"type", "id", "call_id", "phase"};
    bool reasoning = !strcmp(json_text(json_get(item, "type")), "reasoning");
    if (!reasoning && strcmp(json_text(json_get(item, "type")), "message")
        && strcmp(json_text(json_get(item, "type")), "function_call"))
        return;
    if (reasoning && !room(k, json_size(item), 0))
        return;
    struct json *o = json_object();
    for (const struct json *m = reasoning ? json_first(item) : NULL; m; m = json_next(m))
        if (json_type(m) != JSON_NULL && strcmp(json_key(m), "status"))
            json_set(o, json_key(m), json_copy(m));
    for (size_t i = 0; !reasoning && i < countof(places); i++)
        if (json_str(json_get(item, places[i])))
            json_set_str(o, places[i], json_str(json_get(item, places[i])));
    if (room(k, 0, cost(o) + PLACE_BYTES))
        add_item(k, o, place);
    else
        json_free(o);
}

static void close_open(struct reasoning_items *k)
{
    if (!k->open)
        return;
    if (k->key)
        json_set(k->open, k->key, json_string_n(buf_str(&k->text), k->text.len));
    add_item(k, k->open, -1);
    k->open = NULL;
    buf_clear(&k->text);
}

static bool goes_on(const struct reasoning_items *k, const struct json *piece)
{
    const struct json *a = json_get(k->open, "index"), *b = json_get(piece, "index");
    return k->open && json_type(a) == JSON_NUMBER && json_type(b) == JSON_NUMBER
           && json_int(a, 0) == json_int(b, 0)
           && !strcmp(json_text(json_get(k->open, "type")), json_text(json_get(piece, "type")));
}

void reasoning_items_add_detail(struct reasoning_items *k, const struct json *piece)
{
    static const char *const growing[] = {"text", "summary", "data"};
    if (json_type(piece) != JSON_OBJECT || k->lost)
        return;
    if (!goes_on(k, piece)) {
        close_open(k);
        k->open = json_object();
        k->key = NULL;
        buf_release(&k->text);
        buf_init(&k->text, REASONING_ITEMS_MAX);
    }
    if (!room(k, json_size(k->open) + json_size(piece), 0))
        return;
    size_t bytes = PLACE_BYTES;
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
        /* The signature comes last, and a null must not remove what came before. */
        else if (json_type(m) != JSON_NULL) {
            const struct json *was = json_get(k->open, json_key(m));
            size_t before = was ? cost(was) : 0, now = cost(m);
            bytes += now > before ? now - before : 0;
            json_set(k->open, json_key(m), json_copy(m));
        }
        bytes += grows ? strlen(s) : 0;
    }
    room(k, 0, bytes);
}

struct placed_item {
    const struct json *item;
    int64_t place;
    size_t arrived;
};

static int by_place(const void *a, const void *b)
{
    const struct placed_item *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->arrived < y->arrived ? -1 : x->arrived > y->arrived;
}

static void put_in_order(struct reasoning_items *k)
{
    struct placed_item *v = xreallocarray(NULL, k->n_places, sizeof *v);
    size_t n = 0;
    for (const struct json *e = json_first(k->list); e; e = json_next(e), n++)
        v[n] = (struct placed_item){e, k->place[n], n};
    qsort(v, n, sizeof *v, by_place);
    struct json *sorted = json_array();
    for (size_t i = 0; i < n; i++) {
        json_add(sorted, json_copy(v[i].item));
        k->place[i] = v[i].place;
    }
    free(v);
    json_free(k->list);
    k->list = sorted;
}

char *reasoning_items_text(struct reasoning_items *k)
{
    bool ordered = true;
    close_open(k);
    for (size_t i = 1; i < k->n_places; i++)
        ordered = ordered && k->place[i - 1] <= k->place[i];
    if (!ordered)
        put_in_order(k);
    return k->list ? json_print(k->list) : NULL;
}
