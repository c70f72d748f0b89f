/* highlight.c - finds the keywords, strings and comments of code, as conversation/language.h has them.
 */
#include "markdown/highlight.h"

#include <stdbool.h>
#include <string.h>

#include "conversation/language.h"

static bool is_word_byte(char c)
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

/* The end of the string whose opening quote is at i; of a string of three quotes that is open, from i. An
 * unclosed short string ends with its line. */
static size_t string_end(struct highlight *h, const char *s, size_t len, size_t i)
{
    bool triple = h->quote || (i + 2 < len && s[i + 1] == s[i] && s[i + 2] == s[i]);
    char q = h->quote ? h->quote : s[i];

    for (i += h->quote ? 0 : triple ? 3 : 1; i < len; i++) {
        if (s[i] == '\\') {
            i++;
        } else if (triple && s[i] == q && i + 2 < len && s[i + 1] == q && s[i + 2] == q) {
            h->quote = '\0';
            return i + 3;
        } else if (!triple && s[i] == q) {
            return i + 1;
        } else if (!triple && s[i] == '\n') {
            return i;
        }
    }
    h->quote = triple ? q : '\0';
    return len;
}

void highlight_line(struct highlight *h, const char *s, size_t len, unsigned char *out)
{
    const struct language *language = h->language;
    size_t i = 0, mark = language ? strlen(language->comment) : 0;

    memset(out, CODE_PLAIN, len);
    while (language && i < len) {
        size_t from = i;

        if (!h->quote && len - i >= mark && !memcmp(s + i, language->comment, mark)) {
            while (i < len && s[i] != '\n')
                i++;
            memset(out + from, CODE_COMMENT, i - from);
        } else if (h->quote || (s[i] && strchr(language->quotes, s[i]))) {
            i = string_end(h, s, len, i);
            memset(out + from, CODE_STRING, i - from);
        } else if (is_word_byte(s[i])) {
            while (i < len && is_word_byte(s[i]))
                i++;
            if (is_keyword(language, s + from, i - from))
                memset(out + from, CODE_KEYWORD, i - from);
        } else {
            i++;
        }
    }
}

void highlight(const struct language *language, const char *s, size_t len, unsigned char *out)
{
    struct highlight h = {.language = language};

    highlight_line(&h, s, len, out);
}
