/* offered.c - which of its tools the model is offered: none that its prompts do not describe, that gets
 * packages where the agent has no means to, or that runs a language whose program the sandbox lacks.
 */
#include <string.h>

#include "agent/private.h"
#include "base/error.h"
#include "base/mem.h"
#include "conversation/language.h"

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
