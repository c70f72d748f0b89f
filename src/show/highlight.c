/* highlight.c - finds the keywords, strings and comments of code, as chat/language.h describes its language.
 */
#include "show/highlight.h"

#include <stdbool.h>
#include <string.h>

#include "chat/language.h"

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
           || (unsigned char)c >= 0x80;
}

static bool is_keyword(const struct language *language, const char *s, size_t len)
{
    for (const char *const *k = language->keywords; *k; k++)
        if (strlen(*k) == len && !memcmp(*k, s, len))
            return true;
    return false;
}

/* The end of the string whose opening quote is at i. An unclosed short string ends with its line. */
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

void highlight(const struct language *language, const char *s, size_t len, unsigned char *out)
{
    size_t i = 0, mark = language ? strlen(language->comment) : 0;

    memset(out, CODE_PLAIN, len);
    while (language && i < len) {
        size_t from = i;

        if (len - i >= mark && !memcmp(s + i, language->comment, mark)) {
            while (i < len && s[i] != '\n')
                i++;
            memset(out + from, CODE_COMMENT, i - from);
        } else if (s[i] && strchr(language->quotes, s[i])) {
            i = string_end(s, len, i);
            memset(out + from, CODE_STRING, i - from);
        } else if (is_word(s[i])) {
            while (i < len && is_word(s[i]))
                i++;
            if (is_keyword(language, s + from, i - from))
                memset(out + from, CODE_KEYWORD, i - from);
        } else {
            i++;
        }
    }
}
