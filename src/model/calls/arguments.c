/* arguments.c - parses the arguments of a call, escapes raw control characters in them, and takes the code
 * out. Valid JSON is never altered, and what was cut off is never completed: the code that runs is the code
 * that was sent.
 */
#include "calls/arguments.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "json/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "calls/calls.h"

#define SPACE " \t\n\v\f\r"

char *arguments_of_code(const char *code_key, const char *code, size_t len)
{
    autojson struct json *j = json_object();
    json_set(j, code_key, json_string_n(code, len));
    return json_print(j);
}

static void escape_control(struct buf *out, unsigned char c)
{
    const char *at = c ? strchr("\nn\tt\rr", c) : NULL; /* each character is followed by its letter */
    if (at)
        buf_addf(out, "\\%c", at[1]);
    else
        buf_addf(out, "\\u%04x", c);
}

/* NULL: there is nothing to mend. The caller frees it. */
static char *mend(const char *text, size_t len)
{
    struct buf out autorelease(buf_release) = BUF_INIT(4 * CALL_ARGS_MAX);
    bool in_string = false, changed = false;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (in_string && c < 0x20) {
            escape_control(&out, c);
            changed = true;
        } else if (in_string && c == '\\' && i + 1 < len && (unsigned char)text[i + 1] < 0x20) {
            buf_addstr(&out, "\\\\"); /* Python's line continuation, written raw */
            changed = true;
        } else if (in_string && c == '\\' && i + 1 < len) {
            buf_add(&out, text + i++, 2);
        } else if (!in_string && c == '<' && i + 1 < len && text[i + 1] == '|') {
            const char *end = memmem(text + i, len - i, "|>", 2);
            if (!end)
                end = text + len - 2;
            i = (size_t)(end - text) + 1;
            changed = true;
        } else {
            if (c == '"')
                in_string = !in_string;
            buf_addch(&out, (char)c);
        }
    }
    return changed && !out.full ? buf_steal(&out, NULL) : NULL;
}

struct json *arguments_parse(const char *text, size_t len, struct error *err)
{
    struct json *j = json_parse(text, len, JSON_NAN, NULL, err);
    autofree char *mended = j ? NULL : mend(text, len);
    return mended ? json_parse(mended, strlen(mended), JSON_NAN, NULL, NULL) : j;
}

static bool is_blank(const char *s)
{
    return !s[strspn(s, " \t\r\n")];
}

static void arguments_problem(struct arguments *a, char *problem)
{
    xreplace(&a->text, xstrdup("{}"));
    a->problem = problem;
}

/* Returns the only string, under whatever key ("script", "input"), or NULL. */
static const char *lone_string(const struct json *j)
{
    const char *found = NULL;
    for (const struct json *m = json_first(j); m; m = json_next(m)) {
        if (!json_str(m))
            continue;
        if (found)
            return NULL;
        found = json_str(m);
    }
    return found;
}

static void take_code(struct arguments *a, const char *key, const char *code)
{
    if (is_blank(code))
        arguments_problem(a, xasprintf("the argument %s is empty", key));
    else if (strlen(code) > CALL_ARGS_MAX)
        arguments_problem(a, xasprintf("the argument %s is too long (more than 1 MiB)", key));
    else
        a->text = arguments_of_code(key, code, strlen(code));
}

static void argument_of_object(struct arguments *a, const struct json *j, const char *key)
{
    if (!key) {
        a->text = json_print(j);
        return;
    }
    const struct json *code = json_get(j, key);
    if (json_str(code)) {
        if (is_blank(json_str(code)))
            arguments_problem(a, xasprintf("the argument %s is empty", key));
        else
            a->text = json_print(j);
        return;
    }
    const char *s = code ? NULL : lone_string(j);
    if (s)
        take_code(a, key, s);
    else if (code)
        arguments_problem(a, xasprintf("the argument %s must be a string", key));
    else
        arguments_problem(a, xasprintf("missing argument %s: send {\"%s\": \"...\"}", key, key));
}

/* Takes code that came as bare text, perhaps in a fence. */
static void from_bare(struct arguments *a, const char *text, size_t len, const char *key)
{
    autofree char *copy = xmemdup0(text, len);
    char *cut = strstr(copy, "<|call|>"), *s = copy;
    if (cut)
        *cut = '\0';
    size_t n = trimmed_length(s, strlen(s), SPACE);
    s[n] = '\0';
    if (!strncmp(s, "```", 3)) {
        char *line = strchr(s, '\n');
        if (line && n > 3 && !strcmp(s + n - 3, "```") && s + n - 3 > line) {
            s[n - 3] = '\0';
            s = line + 1;
        }
    }
    s[trimmed_length(s, strlen(s), SPACE)] = '\0';
    take_code(a, key, s);
}

static void argument_of_value(struct arguments *a, const struct json *j, const char *key, int depth)
{
    const char *s = json_str(j);
    if (json_type(j) == JSON_OBJECT) {
        argument_of_object(a, j, key);
    } else if (json_type(j) == JSON_NULL) {
        autojson struct json *empty = json_object();
        argument_of_object(a, empty, key);
    } else if (s && depth < 2) { /* JSON inside a JSON string, or code in one */
        autojson struct json *inner = json_parse(s, strlen(s), 0, NULL, NULL);
        if (inner && json_type(inner) != JSON_NUMBER)
            argument_of_value(a, inner, key, depth + 1);
        else if (key && s[strspn(s, " \t\r\n")] != '{')
            from_bare(a, s, strlen(s), key);
        else
            arguments_problem(a, xstrdup("the arguments are a string that holds invalid JSON"));
    } else {
        arguments_problem(a, xstrdup("the arguments must be a JSON object"));
    }
}

void arguments_read(struct arguments *a, const char *text, size_t len, const char *key, bool cut)
{
    *a = (struct arguments){0};
    for (; len && isspace((unsigned char)text[0]); len--)
        text++;
    len = trimmed_length(text, len, SPACE);
    if (len > CALL_ARGS_MAX) {
        arguments_problem(a, xstrdup("the arguments are too long (more than 1 MiB)"));
        return;
    }
    struct error err = {0};
    autojson struct json *j = NULL;
    if (!len)
        j = cut ? NULL : json_object();
    else
        j = cut ? json_parse(text, len, 0, NULL, &err) : arguments_parse(text, len, &err);
    if (cut && json_type(j) != JSON_OBJECT) {
        arguments_problem(a, xstrdup("the call was cut off by the token limit; send a shorter one"));
        return;
    }
    bool bare = len && key && *text != '{' && *text != '['
                && (*text != '"' || (len > 2 && !memcmp(text, "\"\"\"", 3)));
    if (j)
        argument_of_value(a, j, key, 0);
    else if (bare)
        from_bare(a, text, len, key);
    else
        arguments_problem(a, xasprintf("the arguments are %.200s", err.text));
}
