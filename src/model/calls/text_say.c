/* text_say.c - what a form says that was found whole in the text: its calls. See text_cursor.h. */
#include "calls/text_cursor.h"
#include <ctype.h>
#include <string.h>
#include "json/json.h"
#include "base/mem.h"
#include "calls/python_call.h"
#include "calls/tool_names.h"

char *text_slice(const struct text_calls *k, struct text_slice s)
{
    return xmemdup0(k->held.data + s.at, s.len);
}

/* White space around the code belongs to the tags. When the first code line has a line of its own and all the
 * code is indented, the indentation belongs to the tags too. */
static void add_code(struct buf *out, const char *s, size_t n)
{
    size_t lead = 0, line = 0;
    while (n && isspace((unsigned char)s[n - 1]))
        n--;
    for (; lead < n && isspace((unsigned char)s[lead]); lead++)
        line = s[lead] == '\n' ? lead + 1 : line;
    const char *indent = s + line;
    size_t width = lead - line;
    bool all = line > 0;
    for (const char *p = s + lead, *end = s + n; all && (p = memchr(p, '\n', (size_t)(end - p))); p++)
        all = p[1] == '\n' || ((size_t)(end - p - 1) >= width && !memcmp(p + 1, indent, width));
    for (const char *p = s + lead, *end = s + n, *lf; p < end; p = lf) {
        lf = memchr(p, '\n', (size_t)(end - p));
        lf = lf ? lf + 1 : end;
        buf_add(out, p, (size_t)(lf - p));
        if (all && lf < end && *lf != '\n')
            lf += width;
    }
}

static char *arguments_json(const struct text_calls *k, const struct text_cursor *c)
{
    autojson struct json *j = json_object();
    for (size_t i = 0; i < c->n; i++) {
        struct buf text autorelease(buf_release) = BUF_INIT(0);
        autofree char *key = text_slice(k, c->key[i]);
        add_code(&text, k->held.data + c->value[i].at, c->value[i].len);
        json_set(j, key, json_string_n(buf_str(&text), text.len));
    }
    return json_print(j);
}

static bool is_slot(const struct text_cursor *c, const char *slot)
{
    return strstr(c->form->mark, slot) != NULL;
}

static void say_code(const struct text_calls *k, const struct text_cursor *c, struct calls *out)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);
    add_code(&text, k->held.data + c->body.at, c->body.len);
    if (text.len)
        calls_from_code(out, text.data, text.len, text.len > CALL_ARGS_MAX ? "the code is too long" : NULL);
}

void text_say(const struct text_calls *k, const struct text_cursor *c, struct calls *out)
{
    const char *s = k->held.data;
    autofree char *name = text_slice(k, c->name), *made = NULL;
    if (is_slot(c, CALLS)) {
        calls_from_text(out, s + c->body.at, c->body.len);
    } else if (is_slot(c, ARGUMENTS)) {
        calls_from_named(out, name, s + c->body.at, c->body.len);
    } else if (is_slot(c, VALUE)) {
        made = arguments_json(k, c);
        calls_from_named(out, name, made, strlen(made));
    } else if (is_slot(c, PYTHON_LIST) || is_slot(c, PYTHON_CALL)) {
        for (size_t i = 0; i < c->n; i++)
            if (!python_call_read(out, s + c->value[i].at, c->value[i].len))
                break;
    } else if (is_slot(c, HARMONY)) {
        calls_from_harmony(out, s + k->from, k->held.len - k->from);
    } else {
        say_code(k, c, out);
    }
}
