/* left_out.c - does code leave out a number of its question? The answer of a small model that forgets one is
 * most likely wrong (agent/doubt.c).
 */
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "codecheck/codecheck.h"
#include "provenance/numbers.h"

#define ASKED_MAX 32          /* numbers of a question; one with more of them lists data */
#define USED_MAX  256         /* numbers of code; more of them are data as well */
#define CODE_MAX  (16 * 1024) /* bytes; longer code is not looked at, since each line is compared with all */

static size_t name_length(const char *s)
{
    size_t n = 0;

    while (isalnum((unsigned char)s[n]) || s[n] == '_')
        n++;
    return isdigit((unsigned char)*s) ? 0 : n;
}

/* Copy Python code without its comments and long strings. A blank follows each comma, so that two arguments
 * are not read as one number with its digits in groups. */
static void add_plain(struct buf *out, const char *s)
{
    char quote = '\0';

    for (; *s; s++) {
        bool opens = !quote && (*s == '"' || *s == '\'');

        if (opens && s[1] == *s && s[2] == *s) {
            const char three[] = {*s, *s, *s, '\0'}, *end = strstr(s + 3, three);

            if (!end)
                return;
            s = end + 2;
            continue;
        }
        if (!quote && *s == '#')
            s += strcspn(s, "\n");
        if (!*s)
            return;
        if (opens)
            quote = *s;
        else if (*s == quote || *s == '\n')
            quote = '\0';
        buf_addch(out, *s);
        if (quote && *s == '\\' && s[1])
            buf_addch(out, *++s);
        if (*s == ',')
            buf_addch(out, ' ');
    }
}

static size_t count_name(const char *code, const char *name, size_t len)
{
    size_t count = 0;

    while (*code) {
        size_t n = name_length(code);

        count += n == len && !strncmp(code, name, n);
        code += n ? n : 1;
    }
    return count;
}

/* Does this line only give a value to a name that stands nowhere else in the code? */
static bool assigns_unused_name(const char *line, const char *code)
{
    const char *name = line + strspn(line, " \t");
    size_t len = name_length(name);
    const char *equals = name + len + strspn(name + len, " \t");

    return len && *equals == '=' && equals[1 + strcspn(equals + 1, "=\n")] != '='
           && count_name(code, name, len) == 1;
}

/* Blank the digits of round(x, 2), which are no number of the question. */
static void blank_round_digits(char *code)
{
    for (char *s = code; (s = strstr(s, "round(")); s += strlen("round")) {
        char *comma = NULL, *p = s + strlen("round");
        int depth = 0;

        do {
            depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
            if (*p == ',' && depth == 1)
                comma = p;
        } while (depth && *++p);
        while (comma && comma < p)
            *comma++ = ' ';
    }
}

static size_t numbers_used(const char *code, double *out, bool *counts)
{
    struct buf plain autorelease(buf_release) = BUF_INIT(4 * CODE_MAX),
                     used autorelease(buf_release) = BUF_INIT(4 * CODE_MAX);

    add_plain(&plain, code);
    for (const char *line = buf_str(&plain); *line;) {
        size_t len = strcspn(line, "\n");

        if (!assigns_unused_name(line, buf_str(&plain)))
            buf_add(&used, line, len + (line[len] == '\n'));
        line += len + (line[len] == '\n');
    }
    if (used.data)
        blank_round_digits(used.data);
    *counts = strstr(buf_str(&used), "range(") != NULL;
    return numbers_read(buf_str(&used), out, USED_MAX);
}

/* May code write number as value? As a share of a hundred, in another unit, as the end of a range. */
static bool stands_for(double value, double number, bool counts, bool percent)
{
    const double forms[] = {number, number / 100, number * 1000, number / 1000, number * 100, number * 60,
                            counts ? number + 1 : number,
                            /* 20 percent more or less */
                            percent ? 1 + number / 100 : number, percent ? 1 - number / 100 : number,
                            percent ? 100 - number : number, percent ? 100 + number : number};

    for (size_t i = 0; i < countof(forms); i++)
        if (fabs(value - forms[i]) <= 1e-9 * fmax(1, fabs(value)))
            return true;
    return false;
}

static bool is_among(double value, const double *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (value == numbers[i])
            return true;
    return false;
}

size_t numbers_left_out(const char *question, const char *code, struct buf *out)
{
    double asked[ASKED_MAX + 1], used[USED_MAX];
    bool counts, percent = strchr(question, '%') || strcasestr(question, "percent")
                           || strcasestr(question, "per cent");
    size_t n = numbers_read(question, asked, countof(asked)), left = 0;

    if (n > ASKED_MAX || strlen(code) > CODE_MAX)
        return 0;
    size_t n_used = numbers_used(code, used, &counts);
    if (n_used == USED_MAX)
        return 0;
    for (size_t i = 0; i < n; i++) {
        bool found = asked[i] == 0 || is_among(asked[i], used, n_used);

        /* a number of the question stands for itself alone */
        for (size_t k = 0; k < n_used && !found; k++)
            found = stands_for(used[k], asked[i], counts, percent) && !is_among(used[k], asked, n);
        if (!found)
            buf_addf(out, "%s%.12g", left++ ? ", " : "", asked[i]);
    }
    return left;
}
