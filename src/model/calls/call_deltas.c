/* call_deltas.c - finds the call of a delta by its index, id or place, and appends the name and the
 * arguments.
 *
 * RULE: What is kept of one reply is bounded, whatever a service streams (CALL_DELTAS_BYTES, CALLS_BYTES,
 *     READER_REPLY_MAX).
 */
#include "calls/call_deltas.h"

#include <stdlib.h>
#include <string.h>

#include "json/json.h"
#include "base/mem.h"

#define NAME_MAX_BYTES 256
/* Bytes before anything is cleaned up: cumulative senders repeat themselves. calls.c caps what is kept at 1
 * MiB. */
#define ARGS_MAX (4u << 20)

void call_deltas_release(struct call_deltas *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++) {
        free(s->v[i].id);
        free(s->v[i].extra);
        free(s->v[i].item);
        buf_release(&s->v[i].name);
        buf_release(&s->v[i].args);
    }
    free(s->v);
    *s = (struct call_deltas){0};
}

static struct partial_call *add_partial_call(struct call_deltas *s, int64_t index)
{
    if (s->n == CALL_DELTAS_MAX)
        return NULL;
    if (s->n == s->alloc)
        s->v = xreallocarray(s->v, s->alloc = s->alloc ? s->alloc * 2 : 4, sizeof *s->v);
    struct partial_call *t = &s->v[s->n++];
    *t = (struct partial_call){.index = index, .cumulative = true};
    buf_init(&t->name, NAME_MAX_BYTES);
    buf_init(&t->args, ARGS_MAX);
    return t;
}

static struct partial_call *by_index(struct call_deltas *s, int64_t index)
{
    for (size_t i = s->n; i-- > 0;) /* the latest, because one index may have opened several calls */
        if (s->v[i].index == index)
            return &s->v[i];
    return NULL;
}

static struct partial_call *by_id(struct call_deltas *s, const char *id)
{
    for (size_t i = s->n; i-- > 0;)
        if (s->v[i].id && !strcmp(s->v[i].id, id))
            return &s->v[i];
    return NULL;
}

static struct partial_call *find_partial_call(struct call_deltas *s, const struct json *index, const char *id,
                                              const char *name)
{
    if (json_type(index) == JSON_NUMBER) {
        int64_t i = json_int(index, 0);
        struct partial_call *t = by_index(s, i);
        /* Ollama and lmdeploy send all calls under index 0. */
        bool other = t && *id && *name && t->id && strcmp(t->id, id);
        return t && !other ? t : add_partial_call(s, i);
    }
    struct partial_call *t = *id ? by_id(s, id) : NULL;
    if (t)
        return t;
    if (*id || *name || !s->n)
        return add_partial_call(s, -1);
    return &s->v[s->n - 1];
}

static void add_name(struct partial_call *t, const char *name)
{
    if (!*name || t->args.len)
        return; /* once arguments have begun, a name is a repeat */
    if (t->name.len && !strcmp(buf_str(&t->name), name))
        return;
    buf_addstr(&t->name, name);
}

/* True when all calls of the reply together have room for n more bytes. */
static bool has_room(struct call_deltas *s, struct partial_call *t, size_t n)
{
    t->too_long = t->too_long || n > CALL_DELTAS_BYTES - s->bytes;
    return !t->too_long;
}

static void forget_args(struct call_deltas *all, struct partial_call *t)
{
    all->bytes -= t->args.len;
    buf_clear(&t->args);
    t->fragments = 0;
}

/* Counts the line ends that were written as \n in JSON, or bare by those who write it badly. */
static void count_lines(struct call_deltas *all, struct partial_call *t, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        all->lines += s[i] == '\n' || (t->escape && s[i] == 'n');
        t->escape = !t->escape && s[i] == '\\';
    }
}

static void add_fragment(struct call_deltas *all, struct partial_call *t, const char *s, size_t n)
{
    if (!n || !has_room(all, t, n))
        return;
    if (t->fragments && t->cumulative) {
        size_t before = t->args.len - t->last;
        t->cumulative = n >= before && !memcmp(t->args.data + t->last, s, before);
    }
    t->fragments++;
    t->last = t->args.len;
    buf_add(&t->args, s, n);
    count_lines(all, t, s, n);
    all->bytes += t->args.len - t->last;
}

static bool add_args(struct call_deltas *all, struct partial_call *t, const struct json *args)
{
    const char *s = json_str(args);
    if (s) {
        add_fragment(all, t, s, strlen(s));
        return *s;
    }
    if (json_type(args) == JSON_NULL)
        return false;
    autofree char *whole = json_print(args); /* an object replaces everything that came before */
    forget_args(all, t);
    add_fragment(all, t, whole, strlen(whole));
    return true;
}

static const char *id_or_empty(const struct json *j)
{
    const char *s = json_text(j);
    return strlen(s) <= CALL_DELTAS_ID_MAX ? s : "";
}

static void add_extra(struct call_deltas *all, struct partial_call *t, const struct json *extra)
{
    if (json_type(extra) != JSON_OBJECT)
        return;
    all->bytes -= t->extra ? strlen(t->extra) : 0;
    xreplace(&t->extra, json_print(extra));
    size_t n = strlen(t->extra);
    if (has_room(all, t, n))
        all->bytes += n;
    else
        free(steal(&t->extra));
}

bool call_deltas_add(struct call_deltas *s, const struct json *d)
{
    const struct json *f = json_get(d, "function");
    const struct json *call = json_type(f) == JSON_OBJECT ? f : d;
    const struct json *args = json_get(call, "arguments");
    const char *id = id_or_empty(json_get(d, "id")), *name = json_text(json_get(call, "name"));
    bool args_null = json_type(args) == JSON_NULL || (json_str(args) && !*json_str(args));
    const struct json *extra = json_get(d, "extra_content");
    if (!*id && !*name && args_null && json_type(extra) == JSON_NULL)
        return false; /* Workers AI ends a call with a delta of nulls, which must not open another call */
    struct partial_call *t = find_partial_call(s, json_get(d, "index"), id, name);
    if (!t)
        return true;
    if (!t->id && *id)
        t->id = xstrdup(id);
    add_name(t, name);
    add_args(s, t, args);
    add_extra(s, t, extra);
    return true;
}

void call_deltas_add_whole(struct call_deltas *s, const char *id, const char *name, const struct json *args)
{
    struct partial_call *t = add_partial_call(s, -1);
    if (!t)
        return;
    t->id = id && *id && strlen(id) <= CALL_DELTAS_ID_MAX ? xstrdup(id) : NULL;
    add_name(t, name ? name : "");
    add_args(s, t, args);
}

/* Finds a call by its place in the output, and by its id only where no place is given, because some gateways
 * give each event a different id. */
static struct partial_call *item_call(struct call_deltas *s, const struct json *event, const char *item)
{
    const struct json *place = json_get(event, "output_index");
    int64_t index = json_type(place) == JSON_NUMBER ? json_int(place, 0) : -1;
    struct partial_call *t = index >= 0 ? by_index(s, index) : NULL;
    for (size_t i = s->n; !t && index < 0 && *item && i-- > 0;)
        if (s->v[i].item && !strcmp(s->v[i].item, item))
            t = &s->v[i];
    if (!t && index < 0 && !*item && s->n)
        t = &s->v[s->n - 1];
    if (!t)
        t = add_partial_call(s, index);
    if (t && !t->item && *item)
        t->item = xstrdup(item);
    return t;
}

/* The whole arguments replace the pieces that came before. */
static void set_args(struct call_deltas *all, struct partial_call *t, const struct json *args)
{
    if (!json_truthy(args))
        return;
    forget_args(all, t);
    add_args(all, t, args);
}

bool call_deltas_add_item(struct call_deltas *s, const struct json *event, const struct json *item, bool done)
{
    const char *id = id_or_empty(json_get(item, "call_id"));
    struct partial_call *t = item_call(s, event, id_or_empty(json_get(item, "id")));
    if (!t)
        return true;
    if (!t->id && *id)
        t->id = xstrdup(id);
    if (!t->name.len)
        buf_addstr(&t->name, json_text(json_get(item, "name")));
    if (done)
        set_args(s, t, json_get(item, "arguments"));
    return true;
}

bool call_deltas_add_item_arguments(struct call_deltas *s, const struct json *event,
                                    const struct json *arguments, bool done)
{
    const char *piece = json_text(arguments);
    struct partial_call *t = *piece ? item_call(s, event, id_or_empty(json_get(event, "item_id"))) : NULL;
    if (!t)
        return false;
    if (done)
        set_args(s, t, arguments);
    else
        add_fragment(s, t, piece, strlen(piece));
    return true;
}

bool call_deltas_add_function_call(struct call_deltas *s, const struct json *f)
{
    const char *name = json_text(json_get(f, "name")), *args = json_text(json_get(f, "arguments"));
    if (!*name && (!s->n || !*args))
        return false; /* Snowflake sends one with empty values along with every text */
    struct partial_call *t = by_index(s, -2);
    if (!t)
        t = add_partial_call(s, -2);
    if (!t)
        return true;
    add_name(t, name);
    add_args(s, t, json_get(f, "arguments"));
    return true;
}

void call_deltas_join(struct call_deltas *s)
{
    for (size_t i = 0; i < s->n; i++) {
        struct buf *args = &s->v[i].args, whole = BUF_INIT(ARGS_MAX);
        struct json_joint joint = {0};

        json_join(&joint, buf_str(args), args->len, &whole);
        json_join_end(&joint, &whole);
        whole.full |= args->full;
        buf_release(args);
        *args = whole;
    }
}
