/* calls.c - see calls.h. */
#include "wire/calls.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "wire/arguments.h"
#include "wire/tool_names.h"

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
    *c = (struct calls){0};
}

char *calls_new_id(void)
{
    static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    unsigned char raw[9] = {0};
    if (getrandom(raw, sizeof raw, 0) != (ssize_t)sizeof raw)
        abort(); /* cannot fail for so few bytes once the system is up */
    char *id = xmalloc(10);
    for (int i = 0; i < 9; i++)
        id[i] = set[raw[i] % (sizeof set - 1)];
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

static void add_sent(struct llm_call *k, const char *name, const char *args, size_t len)
{
    k->sent_name = xstrdup(name);
    k->sent_arguments = xmemdup0(args, len);
}

/* Takes arguments, problem and extra over. */
static struct llm_call *add(struct calls *c, const char *id, const char *name, char *arguments, char *extra,
                            char *problem)
{
    if (c->n == c->alloc)
        c->v = xreallocarray(c->v, c->alloc = c->alloc ? c->alloc * 2 : 4, sizeof *c->v);
    char *own = id && *id && strlen(id) <= 256 && !id_used(c, id) ? xstrdup(id) : calls_new_id();
    struct llm_call *k = &c->v[c->n++];
    *k = (struct llm_call){
        .call = {.id = own, .name = name_for_history(name), .arguments = arguments, .extra = extra},
        .problem = problem};
    return k;
}

static char *tool_list(const struct llm_tool *tools, size_t n)
{
    struct buf b = BUF_INIT(1024);
    for (size_t i = 0; i < n; i++)
        buf_addf(&b, "%s%s", i ? ", " : "", tools[i].name);
    return buf_steal(&b, NULL);
}

static char *unknown_tool(const char *name, const struct llm_tool *tools, size_t n)
{
    autofree char *list = tool_list(tools, n);
    return xasprintf(n == 1 ? "unknown tool %.100s; the only tool is %s"
                            : "unknown tool %.100s; the tools are: %s",
                     name, list);
}

/* One call from a written name and arguments text. */
static void add_written(struct calls *c, const char *id, const char *name, const char *args, size_t len,
                        const char *extra, const struct llm_tool *tools, size_t n_tools, bool cut)
{
    const struct llm_tool *t = calls_tool(name, tools, n_tools);
    if (!t && !*name && n_tools == 1)
        t = tools; /* arguments without a name: there is only one it can mean */
    if (!t) {
        add_sent(add(c, id, name, xstrdup("{}"), xstrdup(extra), unknown_tool(name, tools, n_tools)), name,
                 args, len);
        return;
    }
    struct arguments a;
    arguments_read(&a, args, len, t->code_key, cut);
    if (a.problem) { /* with the tool's real name, which the call may have got wrong too */
        char *why = xasprintf("%s was not run: %s", t->name, a.problem);
        free(a.problem);
        a.problem = why;
    }
    add_sent(add(c, id, t->name, a.text, xstrdup(extra), a.problem), name, args, len);
}

/* Several objects glued into one slot become a call each; empty objects between them are dropped. True when
 * that is what it was. */
static bool add_glued(struct calls *c, const struct slot *s, const struct llm_tool *tools, size_t n_tools)
{
    struct {
        size_t at, len;
    } part[32];
    size_t n = 0, i = 0, objects = 0;
    const char *text = buf_str(&s->args);
    while (i < s->args.len) {
        if (isspace((unsigned char)text[i])) {
            i++;
            continue;
        }
        size_t used = 0;
        autojson struct json *j = json_parse(text + i, s->args.len - i, JSON_PREFIX | JSON_DUPLICATES, &used,
                                             NULL);
        if (json_type(j) != JSON_OBJECT || !used)
            return false;
        objects++;
        if (json_size(j) && n < countof(part)) {
            part[n].at = i;
            part[n++].len = used;
        }
        i += used;
    }
    if (objects < 2)
        return false;
    if (!n)
        add_written(c, s->id, buf_str(&s->name), "{}", 2, s->extra, tools, n_tools, false);
    for (size_t k = 0; k < n; k++)
        add_written(c, k ? NULL : s->id, buf_str(&s->name), text + part[k].at, part[k].len,
                    k ? NULL : s->extra, tools, n_tools, false);
    return true;
}

static bool is_json(const char *s, size_t len)
{
    autojson struct json *j = json_parse(s, len, JSON_DUPLICATES, NULL, NULL);
    return j != NULL;
}

static void add_slot(struct calls *c, const struct slot *s, const struct llm_tool *tools, size_t n_tools,
                     bool cut)
{
    const char *text = buf_str(&s->args);
    size_t len = s->args.len;
    if (s->args.full || s->too_long) {
        add_sent(add(c, s->id, buf_str(&s->name), xstrdup("{}"), xstrdup(s->extra),
                     xstrdup("the arguments are too long (more than 1 MiB)")),
                 buf_str(&s->name), text, len);
        return;
    }
    if (len && !is_json(text, len)) {
        if (s->fragments > 1 && s->cumulative) {
            text += s->last;
            len -= s->last;
        } else if (len % 2 == 0 && !memcmp(text, text + len / 2, len / 2) && is_json(text, len / 2)) {
            len /= 2;
        } else if (add_glued(c, s, tools, n_tools)) {
            return;
        }
    }
    add_written(c, s->id, buf_str(&s->name), text, len, s->extra, tools, n_tools, cut);
}

/* The first ones keep what they have. A call without its arguments is one that the model is told about, not
 * one that runs. */
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

void calls_from_slots(struct calls *c, const struct slots *s, const struct llm_tool *tools, size_t n_tools,
                      bool cut)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].name.len || s->v[i].args.len)
            add_slot(c, &s->v[i], tools, n_tools, cut && i + 1 == s->n);
    bound(c);
}

static const struct llm_tool *code_tool(const struct llm_tool *tools, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (tools[i].code_key)
            return &tools[i];
    return NULL;
}

void calls_from_code(struct calls *c, const char *code, size_t len, const struct llm_tool *tools,
                     size_t n_tools, const char *problem)
{
    const struct llm_tool *t = code_tool(tools, n_tools);
    if (!t)
        return;
    bool blank = true;
    for (size_t i = 0; i < len && blank; i++)
        blank = isspace((unsigned char)code[i]);
    if (!problem && blank)
        problem = "the block is empty";
    add(c, NULL, t->name, problem ? xstrdup("{}") : arguments_of_code(t->code_key, code, len), NULL,
        problem ? xstrdup(problem) : NULL);
}

void calls_move(struct calls *to, struct calls *from)
{
    if (from->n && to->n + from->n > to->alloc)
        to->v = xreallocarray(to->v, to->alloc = to->n + from->n, sizeof *to->v);
    for (size_t i = 0; i < from->n; i++) {
        struct llm_call *k = &to->v[to->n];
        *k = from->v[i];
        if (id_used(to, k->call.id)) {
            free(k->call.id);
            k->call.id = calls_new_id();
        }
        to->n++;
    }
    free(from->v);
    *from = (struct calls){0};
}

int calls_from_named(struct calls *c, const char *name, const char *args, size_t len,
                     const struct llm_tool *tools, size_t n_tools)
{
    if (!calls_tool(name, tools, n_tools))
        return 0;
    add_written(c, NULL, name, args, len, NULL, tools, n_tools, false);
    return 1;
}

/* name and arguments of an object in the text, in the ways models write them. args: a new value or NULL. */
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
    *args = json_object(); /* flat: the arguments lie beside the name */
    for (const struct json *m = json_first(j); m; m = json_next(m))
        if (strcmp(json_key(m), name_key) && strcmp(json_key(m), "type") && strcmp(json_key(m), "id"))
            json_set(*args, json_key(m), json_copy(m));
    return name;
}

/* It does not parse, yet it plainly is meant as a call of ours: the model is told, instead of the user being
 * shown JSON. */
static const struct llm_tool *meant_for(const char *text, size_t len, const struct llm_tool *tools,
                                        size_t n_tools)
{
    static const char *const heads[] = {"{\"name\":\"", "{\"tool\":\"", "{\"function\":\"",
                                        "{\"tool_name\":\"", NULL};
    char head[128];
    size_t n = 0;
    while (len && isspace((unsigned char)text[len - 1]))
        len--;
    if (!len || text[len - 1] != '}')
        return NULL; /* prose about a call */
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
        return calls_tool(head + h, tools, n_tools);
    }
    return NULL;
}

/* One object; unknown: that of a tool that is not there is an error for the model to read, beside one that
 * is. */
static bool from_object(struct calls *c, const struct json *j, bool unknown, const struct llm_tool *tools,
                        size_t n_tools)
{
    struct json *args = NULL;
    const char *name = json_type(j) == JSON_OBJECT ? text_call(j, &args) : NULL;
    bool counts = name && (unknown || calls_tool(name, tools, n_tools));
    if (counts) {
        autofree char *s = json_str(args) ? xstrdup(json_str(args)) : json_print(args);
        add_written(c, json_str(json_get(j, "id")), name, s, strlen(s), NULL, tools, n_tools, false);
    }
    json_free(args);
    return counts;
}

#define LIST_MAX 64

/* An object, a list of them, or {"tool_calls": [...]}. All of a list must be calls, and one at least of a
 * known tool. */
static int from_value(struct calls *c, const struct json *j, const struct llm_tool *tools, size_t n_tools)
{
    const struct json *list = json_type(j) == JSON_ARRAY ? j : json_get(j, "tool_calls");
    if (json_type(list) != JSON_ARRAY)
        return from_object(c, j, false, tools, n_tools);
    struct calls found = {0};
    bool good = json_size(list) <= LIST_MAX, known = false;
    for (const struct json *e = json_first(list); good && e; e = json_next(e)) {
        bool ours = from_object(&found, e, false, tools, n_tools);
        known = known || ours;
        good = ours || from_object(&found, e, true, tools, n_tools);
    }
    int n = good && known ? (int)found.n : 0;
    if (n)
        calls_move(c, &found);
    else
        calls_release(&found);
    return n;
}

int calls_from_text(struct calls *c, const char *text, size_t len, const struct llm_tool *tools,
                    size_t n_tools)
{
    struct error err = {0};
    struct json *j = json_parse(text, len, 0, NULL, &err);
    if (!j) {
        autofree char *mended = arguments_mend(text, len);
        j = mended ? json_parse(mended, strlen(mended), 0, NULL, NULL) : NULL;
    }
    if (!j) {
        const struct llm_tool *t = meant_for(text, len, tools, n_tools);
        if (t)
            add_sent(add(c, NULL, t->name, xstrdup("{}"), NULL,
                         xasprintf("the call was written as text and is %.200s", err.text)),
                     t->name, text, len);
        return t != NULL;
    }
    int n = from_value(c, j, tools, n_tools);
    json_free(j);
    return n;
}

/* From "to=" on. The number of bytes that a call of a known tool took, 0 where there is none. */
static size_t harmony_call(struct calls *c, const char *to, const struct llm_tool *tools, size_t n_tools)
{
    char name[128];
    const char *next = strstr(to + 3, "to="), *brace = strchr(to, '{');
    size_t n = strcspn(to + 3, " <{\n\t"), used = 0;
    if (!brace || (next && next < brace))
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)n, to + 3);
    if (!calls_tool(name, tools, n_tools))
        return 0;
    autojson struct json *j = json_parse(brace, strlen(brace), JSON_PREFIX, &used, NULL);
    if (!j)
        return 0;
    add_written(c, NULL, name, brace, used, NULL, tools, n_tools, false);
    return (size_t)(brace - to) + used;
}

int calls_from_harmony(struct calls *c, const char *text, size_t len, const struct llm_tool *tools,
                       size_t n_tools)
{
    autofree char *copy = xmemdup0(text, len);
    struct calls found = {0};
    const char *rest = NULL;
    for (char *p = copy; (p = strstr(p, "to=")) && found.n < LIST_MAX;) {
        size_t used = harmony_call(&found, p, tools, n_tools);
        p += used ? used : 3; /* analysis channels come before the call, and name nobody */
        rest = used ? p : rest;
    }
    rest = rest ? rest + strspn(rest, " \t\r\n") : "no call";
    if (*rest && strncmp(rest, "<|", 2) != 0)
        calls_release(&found);
    int n = (int)found.n;
    calls_move(c, &found);
    return n;
}
