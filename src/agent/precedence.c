/* precedence.c - does code rely on Python's "and" binding more closely than its "or"? A small model that
 * writes "a or b and c" means "(a or b) and c" (doubt.c).
 */
#include <ctype.h>
#include <string.h>

#include "agent/private.h"
#include "base/mem.h"

#define DEPTH_MAX 64

/* Do these words, which are no operators of a condition, begin another one? */
static bool begins_another(const char *word, size_t len)
{
    static const char *const words[] = {"if", "elif",   "else",   "while", "for",
                                        "in", "return", "lambda", "assert"};

    for (size_t i = 0; i < countof(words); i++)
        if (len == strlen(words[i]) && !strncmp(word, words[i], len))
            return true;
    return false;
}

/* The same for a character; depth: of brackets. */
static bool ends_condition(const char *s, size_t depth)
{
    return *s == ',' || *s == ':' || *s == ';' || (*s == '\n' && !depth)
           || (*s == '=' && s[1] != '=' && !strchr("=!<>", s[-1]));
}

/* The end of the string that begins here. */
static const char *string_end(const char *s)
{
    const char quote = *s++;

    while (*s && *s != quote && *s != '\n')
        s += *s == '\\' && s[1] ? 2 : 1;
    return s + (*s == quote);
}

bool or_before_and(const char *code)
{
    struct buf plain autorelease(buf_release) = BUF_INIT(2 * SANDBOX_CODE_MAX);
    bool seen_or[DEPTH_MAX] = {false};
    size_t depth = 0;

    buf_addch(&plain, '\n');
    plain_code(code, &plain);
    for (const char *s = buf_str(&plain) + (plain.len > 0), *word = s; *s; s = word) {
        if (*s == '\'' || *s == '"') {
            word = string_end(s);
            continue;
        }
        while (isalnum((unsigned char)*word) || *word == '_')
            word++;
        size_t len = (size_t)(word - s);

        word += !len;
        if (strchr("([{", *s))
            seen_or[depth += depth < DEPTH_MAX - 1] = false;
        else if (strchr(")]}", *s))
            depth -= depth > 0;
        else if (len == 2 && !strncmp(s, "or", 2))
            seen_or[depth] = true;
        else if (len == 3 && !strncmp(s, "and", 3) && seen_or[depth])
            return true;
        else if (len ? begins_another(s, len) : ends_condition(s, depth))
            seen_or[depth] = false;
    }
    return false;
}
