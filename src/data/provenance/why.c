/* why.c - finds the line of output that has a number, and the line of Python that printed it. Code is not
 * parsed: a line that prints is one that says so, or the last one for the value behind "= ". Where that does
 * not tell which it was, none is named. */
#include "provenance/why.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "provenance/provenance.h"

#define LITERAL_MIN 2 /* bytes of a text that code and output both have */

bool why_number(const char *typed, struct numeral *out)
{
    typed += strcspn(typed, "0123456789");
    if (!*typed)
        return false;
    numeral_read(typed, out);
    return out->n > 0;
}

/* The first line of a text, or the one behind it. False: there is no more. */
static bool line_after(const char *text, struct text_line *l)
{
    const char *s = l->number ? l->text + l->len : text;

    if (!*s || (l->number && !*++s))
        return false;
    *l = (struct text_line){l->number + 1, s, strcspn(s, "\n")};
    return true;
}

static bool line_is_blank(const struct text_line *l)
{
    size_t i = 0;

    while (i < l->len && isspace((unsigned char)l->text[i]))
        i++;
    return i == l->len;
}

struct text_line why_line(const char *text, const struct numeral *number, bool exactly)
{
    struct text_line l = {0};

    while (line_after(text, &l)) {
        autofree char *line = xmemdup0(l.text, l.len);

        if (provenance_has(line, number, exactly))
            return l;
    }
    return (struct text_line){0};
}

static bool prints(const struct text_line *l)
{
    static const char *const words[] = {"print(", "pprint(", ".write(", "display("};
    autofree char *line = xmemdup0(l->text, l->len);

    if (line[strspn(line, " \t")] == '#')
        return false;
    for (size_t i = 0; i < countof(words); i++)
        if (strstr(line, words[i]))
            return true;
    return false;
}

/* The text of a string at s, which begins with its quote, up to a field of an f-string. Returns the bytes of
 * the whole string. */
static size_t string_at(const char *s, const char **text, size_t *len)
{
    char quote = *s;
    size_t n = 1;

    while (s[n] && s[n] != quote)
        n += s[n] == '\\' && s[n + 1] ? 2 : 1;
    *text = s + 1;
    *len = n - 1;
    const char *field = memchr(*text, '{', *len);
    if (field)
        *len = (size_t)(field - *text);
    while (*len && isspace((unsigned char)(*text)[*len - 1]))
        --*len;
    return n + (s[n] == quote);
}

/* Do the line of code and the line of output have a text in common? */
static bool shares_text(const struct text_line *code, const char *printed)
{
    autofree char *line = xmemdup0(code->text, code->len);

    for (const char *s = line; *s;) {
        const char *text;
        size_t len, n = *s == '"' || *s == '\'' ? string_at(s, &text, &len) : 0;

        if (n && len >= LITERAL_MIN) {
            autofree char *word = xmemdup0(text, len);

            if (strstr(printed, word))
                return true;
        }
        s += n ? n : 1;
    }
    return false;
}

/* The value of the last expression stands behind all that was printed, from a line that begins with "= ". */
static size_t value_begins(const char *output)
{
    struct text_line l = {0};
    size_t at = 0;

    while (line_after(output, &l))
        if (l.len >= 2 && !strncmp(l.text, "= ", 2))
            at = l.number;
    return at;
}

static struct text_line last_line(const char *code)
{
    struct text_line l = {0}, last = {0};

    while (line_after(code, &l))
        if (!line_is_blank(&l) && l.text[strspn(l.text, " \t")] != '#')
            last = l;
    return last;
}

/* How many lines were printed, and how many of them up to this one. */
static size_t printed_lines(const char *output, size_t value, size_t up_to)
{
    struct text_line l = {0};
    size_t n = 0;

    while (line_after(output, &l) && l.number <= up_to && (!value || l.number < value))
        n += !line_is_blank(&l);
    return n;
}

struct text_line why_printed(const char *code, const char *output, struct text_line printed)
{
    size_t value = value_begins(output), lines = printed_lines(output, value, (size_t)-1),
           place = printed_lines(output, value, printed.number), n = 0, same = 0;
    struct text_line l = {0}, only = {0}, in_place = {0}, saying = {0};
    autofree char *text = xmemdup0(printed.text, printed.len);

    if (value && printed.number >= value)
        return last_line(code);
    while (line_after(code, &l)) {
        if (!prints(&l))
            continue;
        only = l;
        if (++n == place)
            in_place = l;
        if (shares_text(&l, text) && ++same)
            saying = l;
    }
    return same == 1 ? saying : n == 1 ? only : n == lines ? in_place : (struct text_line){0};
}
