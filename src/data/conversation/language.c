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
    },
};

const struct language *language_of_tag(const char *tag, size_t len)
{
    for (size_t i = 0; i < countof(languages); i++)
        for (const char *const *t = languages[i].tags; *t; t++)
            if (strlen(*t) == len && !strncasecmp(tag, *t, len))
                return &languages[i];
    return NULL;
}
