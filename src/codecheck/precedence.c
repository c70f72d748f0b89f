/* precedence.c - does code rely on Python's "and" binding more closely than its "or"? A small model that
 * writes "a or b and c" means "(a or b) and c": of 13 such programs all were wrong, and of those that were
 * shown the line with brackets nearly all became right (docs/BENCH.md).
 */
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "codecheck/codecheck.h"

#define DEPTH_MAX 64

/* Of the innermost brackets: where the present condition begins, and what it has had. */
struct condition {
    const char *start;
    bool or, loop; /* "or"; "for", whose "in" belongs to it */
};

static bool is_word(const char *s, size_t len, const char *word)
{
    return len == strlen(word) && !strncmp(s, word, len);
}

/* The end of the string that begins here. */
static const char *string_end(const char *s)
{
    const char three[] = {*s, *s, *s, '\0'}, *end;
    const char quote = *s;

    if (!strncmp(s, three, 3))
        return (end = strstr(s + 3, three)) ? end + 3 : s + strlen(s);
    for (s++; *s && *s != quote && *s != '\n';)
        s += *s == '\\' && s[1] ? 2 : 1;
    return s + (*s == quote);
}

/* Does a condition end here, so that another one may begin? */
static bool ends_condition(const char *code, const char *s, size_t len, size_t depth)
{
    static const char *const words[] = {"if", "elif", "else", "while", "return", "lambda", "assert"};

    for (size_t i = 0; i < countof(words); i++)
        if (is_word(s, len, words[i]))
            return true;
    if (*s == '=')
        return s[1] != '=' && (s == code || !strchr("=!<>", s[-1]));
    return strchr(",:;", *s) || (*s == '\n' && !depth);
}

/* The line, or lines, from start to the "and" at end, with brackets around what stands between them. */
static char *with_brackets(const char *code, const char *start, const char *end)
{
    struct buf out = BUF_INIT(0);
    const char *line;

    start += strspn(start, " \t\n");
    for (line = start; line > code && line[-1] != '\n';)
        line--;
    line += strspn(line, " \t");
    const char *last = end + strcspn(end, "\n");
    while (end > start && isspace((unsigned char)end[-1]))
        end--;
    buf_addf(&out, "%.*s(%.*s)%.*s", (int)(start - line), line, (int)(end - start), start, (int)(last - end),
             end);
    return buf_steal(&out, NULL);
}

char *line_with_brackets(const char *code)
{
    struct condition open[DEPTH_MAX] = {{.start = code}};
    size_t depth = 0;

    for (const char *s = code, *next; *s; s = next) {
        size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        struct condition *c = &open[depth];

        next = s + len + !len;
        if (*s == '#')
            next = s + strcspn(s, "\n");
        else if (*s == '\'' || *s == '"')
            next = string_end(s);
        else if (strchr("([{", *s))
            open[depth += depth < DEPTH_MAX - 1] = (struct condition){.start = next};
        else if (strchr(")]}", *s))
            depth -= depth > 0;
        else if (*s == '|' || is_word(s, len, "or"))
            c->or = true;
        else if (c->or &&(*s == '&' || is_word(s, len, "and")))
            return with_brackets(code, c->start, s);
        else if (is_word(s, len, "for") || (c->loop && is_word(s, len, "in")))
            *c = (struct condition){.start = next, .loop = *s == 'f'};
        else if (ends_condition(code, s, len, depth))
            *c = (struct condition){.start = next};
    }
    return NULL;
}
