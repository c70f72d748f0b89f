/* form.c - an answer that a program reads: JSON that fits a schema. A model often puts it into a code fence,
 * which is taken off; whatever else stands around it is an error, so that nothing is guessed.
 */
#include <ctype.h>
#include <string.h>

#include "agent/private.h"
#include "base/error.h"
#include "base/fill.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/json_schema.h"

#define FENCE "```"

void agent_set_form(struct agent *a, const struct json *schema)
{
    json_free(a->form);
    a->form = schema ? json_copy(schema) : NULL;
}

static const char *without_space(const char *text, size_t *len)
{
    while (*len && isspace((unsigned char)*text))
        text++, --*len;
    while (*len && isspace((unsigned char)text[*len - 1]))
        --*len;
    return text;
}

/* What is within the only fence of the text, or all of it. */
static const char *within_fence(const char *text, size_t *len)
{
    const char *open = strstr(text, FENCE), *line = open ? strchr(open, '\n') : NULL,
               *end = line ? strstr(line, "\n" FENCE) : NULL;

    if (!end || strstr(end + 1 + strlen(FENCE), FENCE)) {
        *len = strlen(text);
        return without_space(text, len);
    }
    *len = (size_t)(end - line);
    return without_space(line, len);
}

static const char *form_json(const struct agent *a, const char *text, size_t *len, struct error *err)
{
    const char *json = within_fence(text, len);
    struct error why = {0};
    autojson struct json *value = json_parse(json, *len, 0, NULL, &why);

    if (!value)
        error_set(err, ERROR_API, 0, "it is not one JSON value (%.150s)", why.text);
    else if (schema_check(a->form, value, "answer", &why) < 0)
        error_set(err, ERROR_API, 0, "%s", why.text);
    else
        return json;
    return NULL;
}

int form_check(const struct agent *a, const char *text, struct error *err)
{
    size_t len;

    return form_json(a, text, &len, err) ? 0 : -1;
}

int form_take(const struct agent *a, char **answer, struct error *err)
{
    size_t len;
    const char *json = form_json(a, *answer, &len, err);

    if (!json)
        return -1;
    xreplace(answer, xmemdup0(json, len));
    return 0;
}

char *form_told(const struct agent *a, const struct prompts *t)
{
    autofree char *schema = json_print(a->form);
    const struct text_var v[] = {{"schema", schema}};

    return text_fill(t->form, &(struct text_vars){v, countof(v)});
}

char *form_objection(const struct prompts *t, const struct error *why)
{
    const struct text_var v[] = {{"problem", why->text}};

    return text_fill(t->form_again, &(struct text_vars){v, countof(v)});
}
