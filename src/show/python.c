/* python.c - which bytes of Python code are keywords, strings and comments. */
#include "show/python.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

static const char *const keywords[] = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
           || (unsigned char)c >= 0x80;
}

static bool is_keyword(const char *s, size_t len)
{
    for (size_t i = 0; i < countof(keywords); i++)
        if (strlen(keywords[i]) == len && !memcmp(keywords[i], s, len))
            return true;
    return false;
}

/* The end of the string whose opening quote stands at i. An unclosed short one ends with its line. */
static size_t string_end(const char *s, size_t len, size_t i)
{
    char q = s[i];
    bool triple = i + 2 < len && s[i + 1] == q && s[i + 2] == q;

    for (i += triple ? 3 : 1; i < len; i++) {
        if (s[i] == '\\')
            i++;
        else if (triple && s[i] == q && i + 2 < len && s[i + 1] == q && s[i + 2] == q)
            return i + 3;
        else if (!triple && s[i] == q)
            return i + 1;
        else if (!triple && s[i] == '\n')
            return i;
    }
    return len;
}

void python_classify(const char *s, size_t len, unsigned char *out)
{
    size_t i = 0;

    memset(out, PYTHON_PLAIN, len);
    while (i < len) {
        size_t from = i;

        if (s[i] == '#') {
            while (i < len && s[i] != '\n')
                i++;
            memset(out + from, PYTHON_COMMENT, i - from);
        } else if (s[i] == '"' || s[i] == '\'') {
            i = string_end(s, len, i);
            memset(out + from, PYTHON_STRING, i - from);
        } else if (is_word(s[i])) {
            while (i < len && is_word(s[i]))
                i++;
            if (is_keyword(s + from, i - from))
                memset(out + from, PYTHON_KEYWORD, i - from);
        } else {
            i++;
        }
    }
}
