/* nearest.c - edit distance. */
#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { FAR = 99 };

unsigned edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
    unsigned d[3][33];

    if (na > 31 || nb > 31)
        return FAR;
    for (size_t j = 0; j <= nb; j++)
        d[0][j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        unsigned *row = d[i % 3], *up = d[(i + 2) % 3], *up2 = d[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned best = up[j - 1] + (a[i - 1] != b[j - 1]);
            if (up[j] + 1 < best)
                best = up[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && up2[j - 2] + 1 < best)
                best = up2[j - 2] + 1;
            row[j] = best;
        }
    }
    return d[na % 3][nb];
}

/* The dashes of a flag or the slash of a command, which every name has, do not make a word long. */
static size_t letters(const char *word, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += isalnum((unsigned char)word[i]) != 0;
    return n;
}

/* Is that one of its words, as effort is of --reasoning-effort? */
static bool has_word(const char *name, const char *word, size_t len)
{
    for (; len && *word == '-'; len--)
        word++;
    for (const char *at = name; len > 3 && (at = strchr(at, '-')) != NULL; at++)
        if (!strncmp(at + 1, word, len) && (at[1 + len] == '\0' || at[1 + len] == '-'))
            return true;
    return false;
}

/* Two slips count only behind a right first letter: sesion does not mean vision. */
static bool begins_alike(const char *a, const char *b)
{
    return tolower((unsigned char)a[strspn(a, "-/")]) == tolower((unsigned char)b[strspn(b, "-/")]);
}

void nearest_offer(struct nearest *n, const char *name)
{
    unsigned d = edit_distance(n->word, n->len, name, strlen(name));

    if (d > 1 && !begins_alike(n->word, name))
        d = FAR;
    if (d > 0 && n->len >= 3 && strlen(name) > n->len
        && (!strncmp(name, n->word, n->len) || has_word(name, n->word, n->len)))
        d = 1; /* its beginning or one of its words counts as a typo */
    if (n->best && (d > n->least || (d == n->least && strlen(name) >= strlen(n->best))))
        return;
    n->least = d;
    n->best = name;
}

const char *nearest_found(const struct nearest *n)
{
    return n->least <= (letters(n->word, n->len) + 2) / 4 ? n->best : NULL;
}

const char *nearest_name(const char *word, size_t len, const char *const *names)
{
    struct nearest n = {.word = word, .len = len};

    for (; *names; names++)
        nearest_offer(&n, *names);
    return nearest_found(&n);
}
