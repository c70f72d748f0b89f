/* callers.c - tools of the caller's. The model is offered them beside the agent's own, but a call of one is
 * not carried out here: the question ends with it, and goes on when the caller has brought the result.
 */
#include <string.h>

#include "agent/private.h"
#include "base/error.h"
#include "base/fill.h"
#include "base/mem.h"
#include "json/json.h"
#include "json/json_schema.h"

static const struct callers_tool *callers_find(const struct agent *a, const char *name)
{
    for (size_t i = 0; i < a->callers.n; i++)
        if (!strcmp(a->callers.v[i].name, name))
            return &a->callers.v[i];
    return NULL;
}

void callers_release(struct agent *a)
{
    for (size_t i = 0; i < a->callers.n; i++) {
        free(a->callers.v[i].name);
        free(a->callers.v[i].description);
        free(a->callers.v[i].parameters);
        json_free(a->callers.v[i].strict);
    }
    free(a->callers.v);
    a->callers = (struct callers_tools){0};
}

void callers_set(struct agent *a, const struct json *tools)
{
    callers_release(a);
    a->callers.v = xcalloc(json_size(tools) + 1, sizeof *a->callers.v);
    for (const struct json *t = json_first(tools); t; t = json_next(t)) {
        const struct json *parameters = json_get(t, "parameters");

        a->callers.v[a->callers.n++] = (struct callers_tool){
            .name = xstrdup(json_text(json_get(t, "name"))),
            .description = xstrdup(json_text(json_get(t, "description"))),
            .parameters = json_print(parameters),
            .strict = json_bool(json_get(t, "strict"), false) ? json_copy(parameters) : NULL,
        };
    }
}

void agent_want_call(struct agent *a, bool must, bool one)
{
    a->callers.must = must && a->callers.n;
    a->callers.one = one;
}

void callers_offer(const struct agent *a, struct llm_tool *out)
{
    for (size_t i = 0; i < a->callers.n; i++)
        out[i] = (struct llm_tool){.name = a->callers.v[i].name,
                                   .description = a->callers.v[i].description,
                                   .parameters = a->callers.v[i].parameters};
}

int callers_possible(const struct agent *a, struct error *err)
{
    if (!a->callers.n || !llm_in_blocks(a->llm))
        return 0;
    return error_set(err, ERROR_USAGE, 0,
                     "%s writes its code as text, so it cannot call the tools of a client; use a model that "
                     "calls tools",
                     llm_model(a->llm));
}

bool callers_has(const struct agent *a, const char *name)
{
    return callers_find(a, name) != NULL;
}

bool callers_called(const struct agent *a, const struct llm_reply *r)
{
    for (size_t i = 0; i < r->n_calls; i++)
        if (callers_has(a, r->calls[i].call.name))
            return true;
    return false;
}

int callers_call(struct agent *a, struct tool_use *use, struct error *err)
{
    const struct callers_tool *t = callers_find(a, use->call->name);
    const char *text = use->call->arguments;
    autojson struct json *args = json_parse(text, strlen(text), JSON_DUPLICATES, NULL, NULL);
    struct error why = {0};

    if (use->problem)
        return cell_malformed(a, use, use->problem, err);
    if (t->strict && schema_check(t->strict, args, "", &why) < 0)
        return cell_malformed(a, use, why.text, err);
    if (a->callers.one && a->qn->handed) {
        use->kind = RESULT_FAILED;
        buf_addstr(&use->text, "Not run: one call at a time. Send it again if it is still needed.");
        return 0;
    }
    budget_good_call(&a->qn->budget);
    a->qn->handed++;
    return 0;
}

char *callers_told(const struct agent *a, const char *text)
{
    struct buf names autorelease(buf_release) = BUF_INIT(0);

    for (size_t i = 0; i < a->callers.n; i++)
        buf_addf(&names, "%s%s", i ? " or " : "", a->callers.v[i].name);
    const struct text_var v[] = {{"tools", buf_str(&names)}};
    return text_fill(text, &(struct text_vars){v, countof(v)});
}
