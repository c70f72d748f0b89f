/* calls.c - makes the list of calls of a reply that is complete, from deltas, text or channels (harmony);
 * each call is whole or has a problem.
 */
#include "calls/calls.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "json/json.h"
#include "base/mem.h"
#include "base/random.h"
#include "calls/arguments.h"
#include "calls/tool_names.h"

void calls_drop(struct calls *c, size_t keep)
{
    while (c->n > keep) {
        struct llm_call *k = &c->v[--c->n];
        call_release(&k->call);
        free(k->problem);
        free(k->sent_name);
        free(k->sent_arguments);
    }
}

void calls_release(struct calls *c)
{
    if (!c)
        return;
    calls_drop(c, 0);
    free(c->v);
    *c = (struct calls){.tools = c->tools};
}

/* Nine random letters and digits, since Mistral accepts no other ids. The caller frees it. */
static char *new_id(void)
{
    char *id = xmalloc(11);
    random_hex(id, 10);
    id[9] = '\0';
    return id;
}

static bool id_used(const struct calls *c, const char *id)
{
    for (size_t i = 0; i < c->n; i++)
        if (!strcmp(c->v[i].call.id, id))
            return true;
    return false;
}

/* A call as it was sent. */
struct written_call {
    const char *id, *name, *arguments, *extra; /* id and extra may be NULL */
    size_t len;                                /* bytes of arguments */
    const struct llm_tool *tool;               /* the tool that is meant; NULL: unknown */
};

/* Takes ownership of arguments and problem. */
static struct llm_call *add_call(struct calls *c, const struct written_call *w, char *arguments,
                                 char *problem)
{
    if (c->n == c->alloc)
        c->v = xreallocarray(c->v, c->alloc = c->alloc ? c->alloc * 2 : 4, sizeof *c->v);
    bool usable = w->id && *w->id && strlen(w->id) <= CALL_DELTAS_ID_MAX && !id_used(c, w->id);
    struct llm_call *k = &c->v[c->n++];
    *k = (struct llm_call){.call = {.id = usable ? xstrdup(w->id) : new_id(),
                                    .name = tool_names_for_history(w->tool ? w->tool->name : w->name),
                                    .arguments = arguments,
                                    .extra = xstrdup(w->extra)},
                           .problem = problem,
                           .sent_name = xstrdup(w->name),
                           .sent_arguments = xmemdup0(w->arguments, w->len)};
    return k;
}

static void add_problem(struct calls *c, const struct written_call *w, char *problem)
{
    add_call(c, w, xstrdup("{}"), problem);
}

static char *unknown_tool(const char *name, const struct llm_toolset *tools)
{
    struct buf list autorelease(buf_release) = BUF_INIT(1024);
    for (size_t i = 0; i < tools->n; i++)
        buf_addf(&list, "%s%s", i ? ", " : "", tools->v[i].name);
    return xasprintf(tools->n == 1 ? "unknown tool %.100s; the only tool is %s"
                                   : "unknown tool %.100s; the tools are: %s",
                     name, buf_str(&list));
}

/* cut: the token limit ended the reply here. */
static void add_written(struct calls *c, struct written_call w, bool cut)
{
    const struct llm_tool *t = tool_names_find(c->tools, w.name);
    if (!t && !*w.name && c->tools->n == 1)
        t = c->tools->v; /* arguments without a name can only be for the one tool */
    if (!t) {
        add_problem(c, &w, unknown_tool(w.name, c->tools));
        return;
    }
    struct arguments a;
    w.tool = t;
    arguments_read(&a, w.arguments, w.len, t->code_key, cut);
    if (a.problem) /* the tool's real name too, which the call may have got wrong */
        xreplace(&a.problem, xasprintf("%s was not run: %s", t->name, a.problem));
    add_call(c, &w, a.text, a.problem);
}

/* Several objects glued together in one call's arguments become one call each; empty objects between them are
 * dropped. True when that was the case. */
static bool add_glued(struct calls *c, const struct written_call *all)
{
    struct written_call part[32];
    size_t n = 0, i = 0, objects = 0;
    while (i < all->len) {
        if (isspace((unsigned char)all->arguments[i])) {
            i++;
            continue;
        }
        size_t used = 0;
        autojson struct json *j = json_parse(all->arguments + i, all->len - i, JSON_PREFIX | JSON_DUPLICATES,
                                             &used, NULL);
        if (json_type(j) != JSON_OBJECT || !used)
            return false;
        objects++;
        if (json_size(j) && n < countof(part))
            part[n++] = (struct written_call){
                .name = all->name, .arguments = all->arguments + i, .len = used};
        i += used;
    }
    if (objects < 2)
        return false;
    if (!n)
        part[n++] = (struct written_call){.name = all->name, .arguments = "{}", .len = 2};
    part[0].id = all->id;
    part[0].extra = all->extra;
    for (size_t k = 0; k < n; k++)
        add_written(c, part[k], false);
    return true;
}

static bool is_json(const char *s, size_t len)
{
    autojson struct json *j = json_parse(s, len, JSON_DUPLICATES, NULL, NULL);
    return j != NULL;
}

static void add_partial(struct calls *c, const struct partial_call *s, bool cut)
{
    struct written_call w = {.id = s->id,
                             .name = buf_str(&s->name),
                             .arguments = buf_str(&s->args),
                             .extra = s->extra,
                             .len = s->args.len};
    if (s->args.full || s->too_long) {
        add_problem(c, &w, xstrdup("the arguments are too long (more than 1 MiB)"));
        return;
    }
    if (w.len && !is_json(w.arguments, w.len)) {
        size_t half = w.len / 2;
        if (s->fragments > 1 && s->cumulative) {
            w.arguments += s->last;
            w.len -= s->last;
        } else if (w.len % 2 == 0 && !memcmp(w.arguments, w.arguments + half, half)
                   && is_json(w.arguments, half)) {
            w.len = half;
        } else if (add_glued(c, &w)) {
            return;
        }
    }
    add_written(c, w, cut);
}

/* Keeps the first calls whole. A call that loses its arguments is not run; the model is told about it. */
static void bound(struct calls *c)
{
    size_t bytes = 0;
    for (size_t i = 0; i < c->n; i++) {
        struct llm_call *k = &c->v[i];
        size_t more = strlen(k->call.arguments) + (k->call.extra ? strlen(k->call.extra) : 0);
        if (more <= CALLS_BYTES - bytes) {
            bytes += more;
            continue;
        }
        free(k->call.arguments);
        free(steal(&k->call.extra));
        k->call.arguments = xstrdup("{}");
        if (!k->problem)
            k->problem = xstrdup(
                "the calls of this reply are too long together (more than 4 MiB); send fewer at once");
    }
}

void calls_from_deltas(struct calls *c, const struct call_deltas *s, bool cut)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].name.len || s->v[i].args.len)
            add_partial(c, &s->v[i], cut && i + 1 == s->n);
    bound(c);
}

void calls_from_code(struct calls *c, const char *code, size_t len, const char *problem)
{
    const struct llm_tool *t = c->tools->v, *end = t + c->tools->n;
    while (t < end && !t->code_key)
        t++;
    if (t == end)
        return;
    bool blank = true;
    for (size_t i = 0; i < len && blank; i++)
        blank = isspace((unsigned char)code[i]);
    if (!problem && blank)
        problem = "the block is empty";
    struct written_call none = {.name = t->name};
    struct llm_call *k = add_call(
        c, &none, problem ? xstrdup("{}") : arguments_of_code(t->code_key, code, len), xstrdup(problem));
    free(steal(&k->sent_name));
    free(steal(&k->sent_arguments));
}

int calls_move(struct calls *to, struct calls *from)
{
    size_t moved = from->n;
    if (from->n && to->n + from->n > to->alloc)
        to->v = xreallocarray(to->v, to->alloc = to->n + from->n, sizeof *to->v);
    for (size_t i = 0; i < from->n; i++) {
        struct llm_call *k = &to->v[to->n];
        *k = from->v[i];
        if (id_used(to, k->call.id))
            xreplace(&k->call.id, new_id());
        to->n++;
    }
    free(from->v);
    *from = (struct calls){.tools = from->tools};
    return (int)moved;
}

int calls_from_named(struct calls *c, const char *name, const char *args, size_t len)
{
    if (!tool_names_find(c->tools, name))
        return 0;
    add_written(c, (struct written_call){.name = name, .arguments = args, .len = len}, false);
    return 1;
}

/* Finds the name and arguments of an object in the text, in the ways that models write them. *args becomes a
 * new value or NULL. */
static const char *text_call(const struct json *j, struct json **args)
{
    static const char *const name_keys[] = {"name",     "tool",          "tool_name",
                                            "function", "function_name", "action"};
    static const char *const args_keys[] = {"arguments",  "parameters", "args",        "input",
                                            "tool_input", "params",     "action_input"};
    for (size_t i = 0; i < 2; i++) {
        const struct json *inner = json_get(j, i ? "function" : "tool_call");
        j = json_type(inner) == JSON_OBJECT ? inner : j;
    }
    const char *name = NULL, *name_key = NULL;
    for (size_t i = 0; i < countof(name_keys) && !name; i++)
        if ((name = json_str(json_get(j, name_keys[i]))))
            name_key = name_keys[i];
    if (!name)
        return NULL;
    for (size_t i = 0; i < countof(args_keys); i++) {
        const struct json *a = json_get(j, args_keys[i]);
        if (json_type(a) == JSON_OBJECT || json_type(a) == JSON_STRING) {
            *args = json_copy(a);
            return name;
        }
    }
    *args = json_copy(j); /* flat: the arguments are members beside the name */
    json_drop(*args, name_key);
    json_drop(*args, "type");
    json_drop(*args, "id");
    return name;
}

/* The text does not parse but is clearly meant as a call of ours. The model is told so, rather than showing
 * JSON to the user. */
static const struct llm_tool *meant_for(const struct llm_toolset *tools, const char *text, size_t len)
{
    static const char *const heads[] = {"{\"name\":\"", "{\"tool\":\"", "{\"function\":\"",
                                        "{\"tool_name\":\"", NULL};
    char head[128];
    size_t n = 0;
    while (len && isspace((unsigned char)text[len - 1]))
        len--;
    if (!len || text[len - 1] != '}')
        return NULL; /* text that talks about a call */
    for (size_t i = 0; i < len && n + 1 < sizeof head; i++)
        if (!isspace((unsigned char)text[i]))
            head[n++] = text[i];
    head[n] = '\0';
    for (size_t k = 0; heads[k]; k++) {
        size_t h = strlen(heads[k]);
        if (strncmp(head, heads[k], h))
            continue;
        char *end = strchr(head + h, '"');
        if (!end || end[1] != ',')
            return NULL;
        *end = '\0';
        return tool_names_find(tools, head + h);
    }
    return NULL;
}

/* Reads one object. unknown: a call of an unknown tool counts as an error for the model to read, since a call
 * of a known tool came with it. */
static bool call_from_object(struct calls *c, const struct json *j, bool unknown)
{
    autojson struct json *args = NULL;
    const char *name = json_type(j) == JSON_OBJECT ? text_call(j, &args) : NULL;
    if (!name || (!unknown && !tool_names_find(c->tools, name)))
        return false;
    autofree char *s = json_str(args) ? xstrdup(json_str(args)) : json_print(args);
    struct written_call w = {
        .id = json_str(json_get(j, "id")), .name = name, .arguments = s, .len = strlen(s)};
    add_written(c, w, false);
    return true;
}

#define LIST_MAX 64

/* Reads an object, a list of objects, or {"tool_calls": [...]}. Every element of a list must be a call, and
 * at least one must be of a known tool. */
static int calls_from_value(struct calls *c, const struct json *j)
{
    const struct json *list = json_type(j) == JSON_ARRAY ? j : json_get(j, "tool_calls");
    if (json_type(list) != JSON_ARRAY)
        return call_from_object(c, j, false);
    struct calls found = {.tools = c->tools};
    bool good = json_size(list) <= LIST_MAX, known = false;
    for (const struct json *e = json_first(list); good && e; e = json_next(e)) {
        bool ours = call_from_object(&found, e, false);
        known = known || ours;
        good = ours || call_from_object(&found, e, true);
    }
    if (!good || !known)
        calls_drop(&found, 0);
    return calls_move(c, &found);
}

int calls_from_text(struct calls *c, const char *text, size_t len)
{
    struct error err = {0};
    autojson struct json *j = arguments_parse(text, len, &err);
    if (j)
        return calls_from_value(c, j);
    const struct llm_tool *t = meant_for(c->tools, text, len);
    if (t)
        add_problem(c, &(struct written_call){.name = t->name, .arguments = text, .len = len},
                    xasprintf("the call was written as text and is %.200s", err.text));
    return t != NULL;
}

/* What follows the next "to=", or NULL. */
static const char *find_to(const char *from, const char *end)
{
    const char *to = memmem(from, (size_t)(end - from), "to=", 3);
    return to ? to + 3 : NULL;
}

/* Reads what follows "to=". Returns how many bytes a call of a known tool took; 0: there is none. */
static size_t harmony_call(struct calls *c, const char *to, const char *next, const char *end)
{
    const char *brace = memchr(to, '{', (size_t)((next ? next : end) - to));
    size_t used = 0;
    if (!brace)
        return 0;
    autofree char *name = xmemdup0(to, strcspn(to, " <{\n\t"));
    autojson struct json *j = json_parse(brace, (size_t)(end - brace), JSON_PREFIX, &used, NULL);
    return j && calls_from_named(c, name, brace, used) ? (size_t)(brace - to) + used : 0;
}

int calls_from_harmony(struct calls *c, const char *text, size_t len)
{
    autofree char *copy = xmemdup0(text, len);
    struct calls found = {.tools = c->tools};
    const char *end = copy + strlen(copy), *rest = NULL;
    for (const char *to = find_to(copy, end); to && found.n < LIST_MAX;) {
        const char *next = find_to(to, end);
        size_t used = harmony_call(&found, to, next, end);
        rest = used ? to + used : rest; /* analysis channels come before the call and name no tool */
        to = used ? find_to(rest, end) : next;
    }
    rest = rest ? rest + strspn(rest, " \t\r\n") : "no call";
    if (*rest && strncmp(rest, "<|", 2) != 0)
        calls_drop(&found, 0);
    return calls_move(c, &found);
}
