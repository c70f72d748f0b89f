/* tool_names.c - gets from "functions.execute_python<|channel|>commentary" and the like to the tool. Each
 * step only cuts off a part. A name that matches no tool in the end is unknown, and the model is told so.
 */
#include "calls/tool_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* What models that were trained on a built-in interpreter call it. These names mean the tool that takes
 * code. */
static const char *const aliases[] = {
    "python",
    "python3",
    "py",
    "ipython",
    "jupyter",
    "python_interpreter",
    "python_repl",
    "python_exec",
    "python_execute",
    "code_interpreter",
    "code_execution",
    "code_executor",
    "run_python",
    "run_python_code",
    "execute_python_code",
    "exec_python",
    "python_code",
    "run_code",
    "execute_code",
    "exec_code",
    "execute",
    "exec",
    "interpreter",
    "tool_code",
    "pythonrepl",
    "repl",
};

static const struct llm_tool *exact(const struct llm_toolset *tools, const char *name)
{
    for (size_t i = 0; i < tools->n; i++)
        if (!strcmp(name, tools->v[i].name))
            return &tools->v[i];
    return NULL;
}

static const struct llm_tool *loose(const struct llm_toolset *tools, const char *name)
{
    for (size_t i = 0; i < tools->n; i++)
        if (!strcasecmp(name, tools->v[i].name))
            return &tools->v[i];
    for (size_t i = 0; i < tools->n; i++)
        for (size_t k = 0; tools->v[i].code_key && k < countof(aliases); k++)
            if (!strcasecmp(name, aliases[k]))
                return &tools->v[i];
    return NULL;
}

static void trim(char *s)
{
    size_t n = strlen(s), lead = strspn(s, " \t\r\n\"'`");
    memmove(s, s + lead, n - lead + 1);
    n -= lead;
    while (n && strchr(" \t\r\n\"'`", s[n - 1]))
        s[--n] = '\0';
}

static void strip_prefix(char *s)
{
    static const char *const prefixes[] = {
        "functions.", "functions:",   "function.",  "function:",  "tools.",  "tool.",
        "tool:",      "default_api.", "assistant.", "namespace.", "builtin."};
    for (size_t i = 0; i < countof(prefixes); i++) {
        size_t k = strlen(prefixes[i]);
        if (!strncasecmp(s, prefixes[i], k)) {
            memmove(s, s + k, strlen(s + k) + 1);
            i = (size_t)-1; /* start again: "functions.functions.x" has been seen */
        }
    }
}

static const struct llm_tool *without_suffix(const struct llm_toolset *tools, char *s)
{
    static const char *const suffixes[] = {"json", "code", "commentary", "analysis", "final"};
    size_t len = strlen(s);
    for (size_t i = 0; i < countof(suffixes); i++) {
        size_t k = strlen(suffixes[i]);
        if (len <= k || strcasecmp(s + len - k, suffixes[i]))
            continue;
        char rest[256];
        snprintf(rest, sizeof rest, "%.*s", (int)(len - k), s);
        trim(rest);
        const struct llm_tool *t = exact(tools, rest);
        if (t)
            return t;
    }
    return NULL;
}

const struct llm_tool *tool_names_find(const struct llm_toolset *tools, const char *name)
{
    const struct llm_tool *t = exact(tools, name);
    if (t)
        return t;
    char s[256];
    const char *to = strstr(name, "to=");
    snprintf(s, sizeof s, "%s", to ? to + 3 : name);
    char *cut = strstr(s, "<|");
    if (cut)
        *cut = '\0';
    trim(s);
    if (to)
        s[strcspn(s, " \t\n")] = '\0';
    strip_prefix(s);
    if ((t = exact(tools, s)))
        return t;
    char *colon = strrchr(s, ':');
    if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1))
        *colon = '\0';
    if ((t = exact(tools, s)) || (t = without_suffix(tools, s)))
        return t;
    return loose(tools, s);
}

char *tool_names_for_history(const char *name)
{
    char s[65];
    size_t n = 0;
    for (; *name && n < 64; name++)
        s[n++] = isalnum((unsigned char)*name) || *name == '_' || *name == '-' ? *name : '_';
    s[n] = '\0';
    return xstrdup(n ? s : "unknown");
}
