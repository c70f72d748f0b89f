/* install.c - the tool install_packages: packages that the model asks for. The listener decides whether there
 * are any, and asks the user; here are only the words. An agent without the means is not offered the tool,
 * nor that of a language whose program the sandbox lacks.
 */
#include <ctype.h>
#include <string.h>

#include "agent/private.h"
#include "base/error.h"
#include "base/mem.h"
#include "conversation/language.h"
#include "json/json.h"
#include "process/signals.h"

/* What runs code of that tool inside; NULL: nothing but Python. */
static const char *program_of(const char *tool)
{
    const struct language *l = language_of_tool(tool);

    return !l ? NULL : l->run ? l->run[0] : l->program;
}

static bool is_lacking(const struct agent *a, const char *tool)
{
    const char *program = a->lacking ? program_of(tool) : NULL;
    autofree char *word = program ? xasprintf(" %s ", program) : NULL;

    return word && strstr(a->lacking, word);
}

void tools_look_inside(struct agent *a)
{
    const struct prompts *p = a->o.prompts;
    struct argv programs autorelease(argv_release) = ARGV_INIT;
    struct error err;

    for (size_t i = 0; !a->lacking && i < p->n_tools; i++)
        if (program_of(p->tools[i].name))
            argv_push(&programs, program_of(p->tools[i].name));
    if (!programs.n)
        return;
    if (sandbox_look_for(a->sandbox, &programs, &a->lacking, &err) < 0) /* the first cell says why */
        a->lacking = xstrdup("");
    for (size_t i = 0; i < p->n_tools; i++)
        if (is_lacking(a, p->tools[i].name)) {
            const struct language *l = language_of_tool(p->tools[i].name);

            agent_notice(a, NOTICE_WARNING, "the model is not offered %s: there is no %s in the sandbox%s%s",
                         l->name, program_of(p->tools[i].name), l->package ? "; add one with --with " : "",
                         l->package ? l->package : "");
        }
}

bool tool_offered(const struct agent *a, const struct tool *tool)
{
    const struct prompts *p = a->o.prompts;
    size_t i = 0;

    while (i < p->n_tools && strcmp(p->tools[i].name, tool->name) != 0)
        i++;
    return i < p->n_tools && (!tool->installs || a->install) && !is_lacking(a, tool->name);
}

bool tools_install(const struct agent *a)
{
    for (size_t i = 0; i < a->o.n_tools; i++)
        if (a->o.tools[i].installs && tool_offered(a, &a->o.tools[i]))
            return true;
    return false;
}

/* "seaborn polars >=1" as "seaborn,polars >=1": a blank between two names is a comma. */
static char *with_commas(const char *names)
{
    char *text = xstrdup(names);

    for (char *p = text; *p; p++) {
        size_t blanks = strspn(p, " \t\r\n");

        if (blanks && p > text && (isalnum((unsigned char)p[-1]) || p[-1] == ']')
            && isalpha((unsigned char)p[blanks]) && !strchr(text, ';'))
            *p = ',';
    }
    return text;
}

int install_run(struct agent *a, struct tool_use *use, struct error *err)
{
    const char *asked = json_str(json_get(use->args, "packages")),
               *before = budget_failed_code(&a->qn->budget, asked);
    autofree char *names = with_commas(asked), *told = NULL;
    struct error why = {0};

    if (!before && a->install(a->event_ctx, names, &told, &why) == 0) {
        use->kind = RESULT_OK;
        budget_worked(&a->qn->budget);
        buf_addf(&use->text, "Code can import %s now.", told);
        return 0;
    }
    use->kind = RESULT_FAILED;
    if (before) {
        budget_failed_again(&a->qn->budget);
        buf_addf(&use->text, "%s\n%s", a->qn->texts.same_code, before);
        use->shown = "skipped: the same was refused before";
        return 0;
    }
    buf_addstr(&use->text, why.text);
    if (loop_cancelled(a->loop)) {
        *err = why;
        return -1;
    }
    budget_failed(&a->qn->budget, asked, why.text, why.text);
    return 0;
}

/* What the sandbox says of itself is that nothing can be had. */
void install_hint(const struct agent *a, struct cell_result *r)
{
    static const char missing[] = "ModuleNotFoundError: ";

    if (r->exception && r->hint && !strncmp(r->exception, missing, strlen(missing)) && tools_install(a))
        xreplace(&r->hint, xstrdup("install_packages can add the package that has it"));
}
