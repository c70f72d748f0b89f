/* texts.c - the prompts with their placeholders filled in. What is installed is asked of the sandbox, so that
 * the system prompt never promises a package that is not there.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/private.h"
#include "base/error.h"
#include "base/fill.h"
#include "base/mem.h"

/* YAML's literal blocks end in a newline that no one wants to send. */
static char *fill(const char *text, const struct text_var *vars, size_t n)
{
    char *filled = text_fill(text, vars, n);

    for (size_t len = strlen(filled); len && filled[len - 1] == '\n';)
        filled[--len] = '\0';
    return filled;
}

static void today(char *out, size_t size)
{
    time_t now = time(NULL);
    struct tm tm;

    if (!localtime_r(&now, &tm) || !strftime(out, size, "%Y-%m-%d", &tm))
        snprintf(out, size, "unknown");
}

/* The packages inside, "" when the sandbox cannot start: a question may need no code, so that is no error
 * yet. */
static int packages(struct agent *a, const char **out, struct error *err)
{
    struct error e = {0};

    *out = sandbox_packages(a->sandbox, &e);
    memset(&a->no_sandbox, 0, sizeof a->no_sandbox);
    if (*out && e.kind == ERROR_NONE)
        return 0;
    *out = "";
    if (e.kind == ERROR_CANCELLED) {
        *err = e;
        return -1;
    }
    a->no_sandbox = e;
    return 0;
}

static char *with_user_system(struct agent *a, const char *text, const struct text_var *vars, size_t n)
{
    char *filled = fill(text, vars, n);

    if (text_blank(a->system))
        return filled;
    char *joined = xasprintf("%s\n\n%s", filled, a->system);
    free(filled);
    return joined;
}

/* "numpy 1.24, scikit-learn 1.2" -> "numpy, sklearn": the names to import; versions cost a small model more
 * tokens than they are worth, and it imports what it reads. */
static char *import_names(const char *packages)
{
    struct buf out = BUF_INIT(4096);

    for (const char *p = packages; *p;) {
        size_t len = strcspn(p, ",");
        size_t name = strcspn(p, " ,");

        buf_addstr(&out, out.len ? ", " : "");
        if (name == strlen("scikit-learn") && !strncmp(p, "scikit-learn", name))
            buf_addstr(&out, "sklearn");
        else if (name == strlen("pillow") && !strncmp(p, "pillow", name))
            buf_addstr(&out, "PIL");
        else
            buf_add(&out, p, name);
        p += len;
        p += strspn(p, ", ");
    }
    return buf_steal(&out, NULL);
}

int texts_make(struct agent *a, struct texts *t, struct error *err)
{
    const struct prompts *p = a->o.prompts;
    const char *installed;
    char date[32], limits[64];

    memset(t, 0, sizeof *t);
    if (packages(a, &installed, err))
        return -1;
    /* The next call into the sandbox may change what it returned. */
    autofree char *inside = xstrdup(*installed ? installed : "the standard library only");
    autofree char *names = *installed ? import_names(installed) : xstrdup("the standard library only");
    const char *python = sandbox_python(a->sandbox);
    autofree char *version = xstrdup(python && *python ? python : "3");

    today(date, sizeof date);
    snprintf(limits, sizeof limits, "%.0f s a run, %.0f MiB of memory", (double)a->o.cell_ms / 1000,
             (double)a->o.memory / (1 << 20));
    const struct text_var v[] = {
        {"python", version}, {"packages", inside}, {"names", names},
        {"limits", limits},  {"date", date},       {"tool", agent_tools[0].name},
    };
    size_t n = countof(v);

    t->system_native = with_user_system(a, p->system_native, v, n);
    t->system_blocks = with_user_system(a, p->system_blocks, v, n);
    t->examples_table = fill(p->examples_table, v, n);
    t->examples_json = fill(p->examples_json, v, n);
    t->nudge = fill(p->nudge, v, n);
    t->blocks_ok = fill(p->blocks_ok, v, n);
    t->blocks_failed = fill(p->blocks_failed, v, n);
    t->blocks_malformed = fill(p->blocks_malformed, v, n);
    t->blocks_interrupted = fill(p->blocks_interrupted, v, n);
    t->blocks_no_more = fill(p->blocks_no_more, v, n);
    t->tool_description = fill(p->tool_description, v, n);
    t->tool_code = fill(p->tool_code, v, n);
    t->empty = fill(p->empty, v, n);
    t->no_more_code = fill(p->no_more_code, v, n);
    t->same_code = fill(p->same_code, v, n);
    t->same_output = fill(p->same_output, v, n);
    return 0;
}

void texts_release(struct texts *t)
{
    char **all[] = {
        &t->system_native,
        &t->system_blocks,
        &t->examples_table,
        &t->examples_json,
        &t->nudge,
        &t->blocks_ok,
        &t->blocks_failed,
        &t->blocks_malformed,
        &t->blocks_interrupted,
        &t->blocks_no_more,
        &t->tool_description,
        &t->tool_code,
        &t->empty,
        &t->no_more_code,
        &t->same_code,
        &t->same_output,
    };

    for (size_t i = 0; i < countof(all); i++) {
        free(*all[i]);
        *all[i] = NULL;
    }
}
