/* install.c - the tool install_packages: packages that the model asks for. The listener decides whether there
 * are any, and asks the user; here are only the words. An agent without the means is not offered the tool.
 */
#include <ctype.h>
#include <string.h>

#include "agent/private.h"
#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "process/signals.h"

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
