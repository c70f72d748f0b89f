/* tools.c - the table of tools, and which calls of a reply are carried out. execute_python is the first; a
 * new tool is a new line in the table and a function, the loop does not change.
 */
#include <stdio.h>
#include <string.h>

#include "agent/private.h"
#include "base/error.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"

static char *python_schema(const struct texts *t)
{
    autojson struct json *schema = json_object();
    struct json *properties = json_object(), *code = json_object(), *required = json_array();

    json_set_str(code, "type", "string");
    json_set_str(code, "description", t->tool_code);
    json_set(properties, "code", code);
    json_add(required, json_string("code"));
    json_set_str(schema, "type", "object");
    json_set(schema, "properties", properties);
    json_set(schema, "required", required);
    return json_print(schema);
}

/* Code that printed nothing is told so once as if it had failed: a small model otherwise makes the missing
 * output up. It is no failing round: "set x to 21" is fine. */
static void no_output(struct question *q, struct tool_outcome *out)
{
    if (q->told_no_output) {
        buf_addstr(&out->text, "(no output)");
        return;
    }
    q->told_no_output = true;
    out->kind = RESULT_FAILED;
    buf_addstr(&out->text, "(no output) It ran without an error but printed nothing. Print the result.");
}

static void python_worked(struct agent *a, struct cell_told *told, struct tool_outcome *out)
{
    struct question *q = a->q;

    budget_worked(&q->budget);
    out->kind = RESULT_OK;
    if (told->text.len)
        buf_add(&out->text, told->text.data, told->text.len);
    else
        no_output(q, out);
    if (told->output) {
        free(q->good);
        q->good = steal(&told->output);
    }
}

/* Run twice with one result: a third time would cost a round and say nothing new. In the words of code that
 * worked, or a model of the blocks dialect would be asked to mend it. */
static void same_output(struct agent *a, const char *id, const char *code, const char *told,
                        struct tool_outcome *out)
{
    budget_known(&a->q->budget);
    a->q->vary = true;
    out->kind = RESULT_OK;
    buf_addf(&out->text, "%s\n\n%s", *told ? told : "(no output)", a->q->texts.same_output);
    cell_refused(a, id, agent_tools[0].name, code,
                 "skipped: the same code has already run twice with the same result");
}

/* Failing code that came again: its error alone did not help, so what it works on is said with it. */
static void same_failed(struct agent *a, const char *why, struct tool_outcome *out)
{
    out->kind = RESULT_FAILED;
    buf_addf(&out->text, "%s\n%s", a->q->texts.same_code, why);
    facts_show(a, &out->text);
}

static int python_run(struct agent *a, const char *id, const struct json *args, struct tool_outcome *out,
                      struct error *err)
{
    struct question *q = a->q;
    const char *code = json_str(json_get(args, "code")), *why;

    if (text_blank(code)) {
        out->kind = RESULT_MALFORMED;
        buf_addf(&out->text, "The argument \"code\" is missing or empty: %s takes {\"code\": \"...\"}.",
                 agent_tools[0].name);
        cell_refused(a, id, agent_tools[0].name, "", buf_str(&out->text));
        return budget_bad_call(&q->budget, buf_str(&out->text), err);
    }
    budget_good_call(&q->budget);
    if ((why = budget_same(&q->budget, code))) {
        budget_same_again(&q->budget);
        q->vary = true;
        same_failed(a, why, out);
        cell_refused(a, id, agent_tools[0].name, code, "skipped: the same code has already failed");
        return 0;
    }
    if ((why = budget_again(&q->budget, code))) {
        same_output(a, id, code, why, out);
        return 0;
    }

    autorelease(cell_told_release) struct cell_told told = {0};
    autofree char *whole = facts_with_reading(a, code);
    if (cell_run(a, id, agent_tools[0].name, whole, strlen(whole), &told, err))
        return -1;
    q->cells++;
    budget_ran(&q->budget, code, buf_str(&told.text));
    if (told.status == CELL_OK) {
        python_worked(a, &told, out);
        return 0;
    }
    /* An interrupt of ours or of the user; code that raises KeyboardInterrupt by itself has simply failed. */
    bool stopped = told.status == CELL_INTERRUPTED && loop_cancelled(a->loop);
    out->kind = stopped ? RESULT_INTERRUPTED : RESULT_FAILED;
    q->vary = !stopped && budget_same_error(&q->budget, buf_str(&told.text));
    if (!stopped)
        budget_broke(&q->budget, code, buf_str(&told.text));
    buf_add(&out->text, buf_str(&told.text), told.text.len);
    return 0;
}

const struct tool agent_tools[] = {
    {"execute_python", "code", python_schema, python_run},
};
const size_t agent_n_tools = countof(agent_tools);

static const struct tool *find_tool(const char *name)
{
    for (size_t i = 0; i < agent_n_tools; i++)
        if (!strcmp(agent_tools[i].name, name))
            return &agent_tools[i];
    return NULL;
}

static void list_tools(struct buf *out)
{
    for (size_t i = 0; i < agent_n_tools; i++)
        buf_addf(out, "%s%s", i ? ", " : "", agent_tools[i].name);
}

static int malformed(struct agent *a, const struct call *call, const char *problem, struct tool_outcome *out,
                     struct error *err)
{
    out->kind = RESULT_MALFORMED;
    buf_addstr(&out->text, problem);
    cell_refused(a, call->id, call->name, "", problem);
    return budget_bad_call(&a->q->budget, problem, err);
}

int tool_call(struct agent *a, const struct call *call, const char *problem, size_t index,
              struct tool_outcome *out, struct error *err)
{
    struct question *q = a->q;

    if (index >= a->o.max_calls) {
        out->kind = RESULT_FAILED;
        buf_addf(
            &out->text,
            "Not run: at most %u calls of one reply are run. Send the rest again if they are still needed.",
            a->o.max_calls);
        return 0;
    }
    if (q->budget.no_more) {
        out->kind = RESULT_NO_MORE;
        buf_addstr(&out->text, q->texts.no_more_code);
        autofree char *why = xasprintf("not run: %u repair attempts were already made", a->o.max_repairs);
        cell_refused(a, call->id, call->name, "", why);
        return 0;
    }
    if (problem)
        return malformed(a, call, problem, out, err);

    const struct tool *tool = find_tool(call->name);
    autojson struct json *args = json_parse(call->arguments, strlen(call->arguments), JSON_DUPLICATES, NULL,
                                            NULL);
    if (tool && args)
        return tool->run(a, call->id, args, out, err);

    struct buf text = BUF_INIT(1024);
    buf_addf(&text, tool ? "The arguments of %.64s are not a JSON object." : "There is no tool %.64s.",
             call->name);
    buf_addstr(&text, " The tools are: ");
    list_tools(&text);
    int status = malformed(a, call, buf_str(&text), out, err);
    buf_release(&text);
    return status;
}
