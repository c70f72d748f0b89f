/* tools.c - the table of tools, and which calls of a reply are carried out. A new tool needs a row in the
 * table, a run function, and a description for the model in prompts/python.yaml; the loop does not change.
 *
 * RULE: An agent has the tools of its definition, whatever a model says, and none has both code and this
 *     machine.
 */
#include <stdio.h>
#include <string.h>

#include "agent/private.h"
#include "agent/small_model.h"
#include "base/error.h"
#include "base/mem.h"
#include "conversation/language.h"
#include "json/json.h"
#include "process/signals.h"

/* The first time code prints nothing, the model is told as if it had failed; otherwise a small model makes up
 * the missing output. It is not counted as a failing round, since "set x to 21" prints nothing. */
static void no_output(struct question *qn, struct tool_use *use)
{
    if (qn->told_no_output) {
        buf_addstr(&use->text, "(no output)");
        return;
    }
    qn->told_no_output = true;
    use->kind = RESULT_FAILED;
    buf_addstr(&use->text, "(no output) It ran without an error but printed nothing. Print the result.");
}

static void code_worked(struct agent *a, struct code_run *c, struct tool_use *use)
{
    struct question *qn = a->qn;

    budget_worked(&qn->budget);
    use->kind = RESULT_OK;
    if (c->told.len)
        buf_add(&use->text, c->told.data, c->told.len);
    else
        no_output(qn, use);
    const char *objection = qn->told_no_output ? NULL : small_model_objection(a, buf_str(&c->told));
    if (objection) {
        qn->told_no_output = true;
        use->kind = RESULT_FAILED;
        buf_addf(&use->text, "\n%s", objection);
    }
    if (c->output)
        xreplace(&qn->good, steal(&c->output));
}

static void code_failed(struct agent *a, const struct code_run *c, struct tool_use *use)
{
    struct question *qn = a->qn;
    /* Was it interrupted by us or by the user? Code that raises KeyboardInterrupt itself has simply failed.
     */
    bool stopped = c->r.status == CELL_INTERRUPTED && loop_cancelled(a->loop);

    autofree char *failure = cell_failure(&c->r);

    use->kind = stopped ? RESULT_INTERRUPTED : RESULT_FAILED;
    qn->vary = !stopped && budget_failure_seen(&qn->budget, failure);
    if (!stopped)
        budget_failed(&qn->budget, c->code, failure, buf_str(&c->told));
    buf_add(&use->text, buf_str(&c->told), c->told.len);
}

/* The code gave the same result twice: a third run would cost a round and tell nothing new. Worded as for
 * code that worked, since a model of the blocks dialect would otherwise be asked to mend it. */
static void same_output(struct agent *a, const struct code_run *c, const char *told, struct tool_use *use)
{
    budget_skipped(&a->qn->budget);
    a->qn->vary = true;
    use->kind = RESULT_OK;
    buf_addf(&use->text, "%s\n\n%s", *told ? told : "(no output)", a->qn->texts.same_output);
    cell_refused(a, c, "skipped: the same code has already run twice with the same result");
}

/* The same failing code came again. Its error alone did not help, so the facts about its data are added. */
static void same_failed(struct agent *a, const struct code_run *c, const char *why, struct tool_use *use)
{
    budget_failed_again(&a->qn->budget);
    a->qn->vary = true;
    use->kind = RESULT_FAILED;
    buf_addf(&use->text, "%s\n%s", a->qn->texts.same_code, why);
    facts_show(a, &use->text);
    cell_refused(a, c, "skipped: the same code has already failed");
}

static int run_code(struct agent *a, struct tool_use *use, struct error *err)
{
    struct question *qn = a->qn;
    const struct tool *tool = use->tool;
    const char *code = json_str(json_get(use->args, tool->code_key)), *why;
    autorelease(code_run_release) struct code_run c = {
        .id = use->call->id, .tool = tool->name, .language = tool->language, .code = code};

    if (text_is_blank(code)) {
        autofree char *problem = xasprintf(
            "The argument \"%s\" is missing or empty: %s takes {\"%s\": \"...\"}.", tool->code_key,
            tool->name, tool->code_key);
        return cell_malformed(a, use, problem, err);
    }
    budget_good_call(&qn->budget);
    if ((why = budget_failed_code(&qn->budget, code))) {
        same_failed(a, &c, why, use);
        return 0;
    }
    if ((why = budget_known_result(&qn->budget, code))) {
        same_output(a, &c, why, use);
        return 0;
    }

    bool python = language_is_python(tool->language);
    autofree char *shown = python ? small_model_code(a, code) : NULL;
    autofree char *whole = python ? facts_with_reading(a, shown) : NULL;
    c.code = python ? whole : code;
    if (cell_run(a, &c, err))
        return -1;
    c.code = code;
    if (c.r.state_lost && (!c.r.files_lost || c.r.files_back))
        facts_forget_variables(a);
    qn->cells++;
    qn->failed += !cell_succeeded(&c.r);
    qn->run_seconds += c.r.seconds;
    budget_ran(&qn->budget, code, buf_str(&c.told));
    images_of_cell(&c.r, &use->images);
    if (cell_succeeded(&c.r))
        code_worked(a, &c, use);
    else
        code_failed(a, &c, use);
    return 0;
}

/* Runs code in the language of that row. */
#define CODE_TOOL(tool, row, argument)                                                      \
    {                                                                                       \
        .name = (tool), .code_key = "code", .language = &languages[row], .run = run_code,   \
        .parameters = "{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\"," \
                      "\"description\":\"" argument "\"}},\"required\":[\"code\"]}",        \
    }

const struct tool agent_tools[] = {
    CODE_TOOL("execute_python", 0, "The Python code to run."),
    CODE_TOOL("execute_shell", 1, "The bash script to run."),
    CODE_TOOL("execute_sql", 2, "The SQL to run."),
    CODE_TOOL("execute_javascript", 3, "The JavaScript to run."),
    CODE_TOOL("execute_typescript", 4, "The TypeScript to run."),
    {
        .name = "access_file",
        .parameters = "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\","
                      "\"description\":\"The path of the file, or of a folder.\"}},\"required\":[\"path\"]}",
        .shown_key = "path",
        .host = true,
        .run = access_run,
    },
    {
        .name = "install_packages",
        .parameters = "{\"type\":\"object\",\"properties\":{\"packages\":{\"type\":\"string\","
                      "\"description\":\"Their names on PyPI: seaborn,polars>=1\"}},"
                      "\"required\":[\"packages\"]}",
        .shown_key = "packages",
        .installs = true,
        .run = install_run,
    },
};
const size_t agent_n_tools = countof(agent_tools);

/* The tool of a language of the user's own; NULL: there is none. */
static const struct tool *own_tool(const char *name)
{
    static struct tool own[LANGUAGES_OWN_MAX];
    static size_t n;
    const struct language *l = language_of_tool(name);

    for (size_t i = 0; i < n; i++)
        if (own[i].language == l)
            return &own[i];
    if (!l || !l->run || n == LANGUAGES_OWN_MAX)
        return NULL;
    own[n] = agent_tools[0];
    own[n].name = l->tool;
    own[n].language = l;
    own[n].parameters = "{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\",\"description\":"
                        "\"The code to run.\"}},\"required\":[\"code\"]}";
    return &own[n++];
}

const struct tool *tool_find(const struct agent *a, const char *name)
{
    for (size_t i = 0; i < a->o.n_tools; i++)
        if (!strcmp(a->o.tools[i].name, name))
            return tool_offered(a, &a->o.tools[i]) ? &a->o.tools[i] : NULL;
    const struct tool *own = own_tool(name);
    return own && tool_offered(a, own) ? own : NULL;
}

/* Whoever looks at this machine runs no code, and the other way round. */
int tools_check(const struct prompts *p, struct error *err)
{
    const struct tool *code = NULL, *host = NULL;

    for (size_t i = 0; i < p->n_tools; i++) {
        const struct tool *t = NULL;

        for (size_t k = 0; k < agent_n_tools && !t; k++)
            t = !strcmp(agent_tools[k].name, p->tools[i].name) ? &agent_tools[k] : NULL;
        t = t ? t : own_tool(p->tools[i].name);
        if (!t)
            return error_set(err, ERROR_USAGE, 0, "agent %.60s: there is no tool %.60s", p->role,
                             p->tools[i].name);
        code = t->code_key ? t : code;
        host = t->host ? t : host;
    }
    if (code && host)
        return error_set(err, ERROR_USAGE, 0,
                         "agent %.60s: %s and %s are never given to the same agent\n"
                         "Give them to two agents of a pipeline",
                         p->role, code->name, host->name);
    return 0;
}

static int not_called(struct agent *a, struct tool_use *use, struct error *err)
{
    const struct prompts *p = a->o.prompts;
    struct buf text autorelease(buf_release) = BUF_INIT(1024);

    buf_addf(&text, use->tool ? "The arguments of %.64s are not a JSON object." : "There is no tool %.64s.",
             use->call->name);
    for (size_t i = 0, n = 0; i < p->n_tools; i++)
        if (tool_find(a, p->tools[i].name))
            buf_addf(&text, "%s%s", n++ ? ", " : " The tools are: ", p->tools[i].name);
    return cell_malformed(a, use, buf_str(&text), err);
}

/* A tool that takes no code, with the events of its call. */
static int call_shown(struct agent *a, struct tool_use *use, struct error *err)
{
    const char *key = use->tool->shown_key, *shown = key ? json_text(json_get(use->args, key)) : NULL;
    const struct code_run c = {
        .id = use->call->id, .tool = use->tool->name, .code = shown ? shown : use->call->arguments};

    if (key && text_is_blank(shown)) {
        autofree char *problem = xasprintf("The argument \"%s\" is missing: {\"%s\": \"...\"}.", key, key);
        return cell_malformed(a, use, problem, err);
    }
    budget_good_call(&a->qn->budget);
    cell_send_call(a, &c);
    int status = use->tool->run(a, use, err);
    const char *text = status < 0 && !use->text.len ? err->text : buf_str(&use->text);
    if (status == 0 && use->kind == RESULT_OK)
        cell_send_result(a, &c, text);
    else
        cell_send_not_run(a, &c, use->shown ? use->shown : text, text);
    return status;
}

int tool_call(struct agent *a, struct tool_use *use, struct error *err)
{
    struct question *qn = a->qn;
    const struct call *call = use->call;

    if (use->index >= a->o.max_calls) {
        use->kind = RESULT_FAILED;
        buf_addf(
            &use->text,
            "Not run: at most %u calls of one reply are run. Send the rest again if they are still needed.",
            a->o.max_calls);
        return 0;
    }
    if (callers_has(a, call->name))
        return callers_call(a, use, err);
    if (qn->budget.no_more) {
        const struct code_run c = {.id = call->id, .tool = call->name, .code = ""};

        use->kind = RESULT_NO_MORE;
        buf_addstr(&use->text, qn->texts.no_more_code);
        cell_refused(a, &c, "not run: all repair attempts of this question are used up");
        return 0;
    }
    if (use->problem)
        return cell_malformed(a, use, use->problem, err);

    autojson struct json *args = json_parse(call->arguments, strlen(call->arguments), JSON_DUPLICATES, NULL,
                                            NULL);
    use->tool = tool_find(a, call->name);
    use->args = args;
    if (!use->tool || !args)
        return not_called(a, use, err);
    return use->tool->code_key ? use->tool->run(a, use, err) : call_shown(a, use, err);
}
