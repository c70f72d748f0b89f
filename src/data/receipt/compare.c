/* compare.c - compares what code came to, line by line and word by word. */
#include "receipt/compare.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "conversation/bundle.h"
#include "provenance/numbers.h"
#include "receipt/receipt.h"

#define ADDRESS_DIGITS 5     /* of 0x7f..., at least */
#define CLOSE          1e-12 /* two computations of one number on different machines */
#define SHOWN          200   /* bytes of a line that is shown */

struct compared {
    struct comparison *c;
    const struct receipt *then, *now, *again;
    size_t piece;       /* from 0 */
    const char *answer; /* of the piece's question; or NULL */
};

/* A line, or a word of one; not terminated. */
struct part {
    const char *s;
    size_t n;
};

static struct part line_at(const char **text)
{
    struct part p = {*text, strcspn(*text, "\n")};

    *text += p.n + (p.s[p.n] == '\n');
    return p;
}

static bool same_part(struct part a, struct part b)
{
    return a.n == b.n && !memcmp(a.s, b.s, a.n);
}

static bool joins_word(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("_.:+-", c)) || (c & 0x80);
}

/* The next word or mark of the line; n 0: there is none. */
static struct part word_at(struct part *line)
{
    struct part p = {line->s, 0};

    while (p.n < line->n && joins_word(p.s[p.n]))
        p.n++;
    if (p.n == 0 && line->n)
        p.n = 1;
    line->s += p.n;
    line->n -= p.n;
    return p;
}

static bool is_address(struct part p)
{
    size_t i = 2;

    if (p.n < 2 + ADDRESS_DIGITS || p.s[0] != '0' || p.s[1] != 'x')
        return false;
    while (i < p.n && isxdigit((unsigned char)p.s[i]))
        i++;
    return i == p.n;
}

/* All of it is a number with a point. */
static bool as_number(struct part p, double *out)
{
    char text[64], *end;

    if (p.n == 0 || p.n >= sizeof text || !memchr(p.s, '.', p.n))
        return false;
    memcpy(text, p.s, p.n);
    text[p.n] = '\0';
    *out = strtod(text, &end);
    return !*end && isfinite(*out);
}

static bool equal_words(struct part a, struct part b)
{
    double x, y;

    return same_part(a, b) || (is_address(a) && is_address(b))
           || (as_number(a, &x) && as_number(b, &y) && fabs(x - y) <= CLOSE * fmax(fabs(x), fabs(y)));
}

/* The day of a run, as programs write it. */
static void day_of(int64_t seconds, char out[16])
{
    time_t when = (time_t)seconds;
    struct tm tm;

    if (!gmtime_r(&when, &tm) || !strftime(out, 16, "%Y-%m-%d", &tm))
        *out = '\0';
}

/* Does a begin with the day of the one run, and b with that of the other? */
static bool both_today(const struct compared *x, struct part a, struct part b)
{
    size_t question = x->then->pieces[x->piece].question;
    char then[16], now[16];

    day_of(question ? x->then->questions[question - 1].time : x->then->made, then);
    day_of(x->now->made, now);
    return *then && a.n >= 10 && b.n >= 10 && !memcmp(a.s, then, 10) && !memcmp(b.s, now, 10);
}

/* Does the answer have that word's number? */
static bool in_answer(const struct compared *x, struct part p)
{
    autofree char *word = xmemdup0(p.s, p.n);

    return x->answer && strpbrk(word, "0123456789") && numbers_shared(x->answer, word);
}

enum likeness { SAME, CHANGING, DIFFERENT };

/* The words of a are those of b in another order, and there is a set among them. */
static bool another_order(struct part a, struct part b)
{
    unsigned seen[256] = {0};

    if (a.n != b.n || !memchr(a.s, '{', a.n))
        return false;
    for (size_t i = 0; i < a.n; i++) {
        seen[(unsigned char)a.s[i]]++;
        seen[(unsigned char)b.s[i]]--;
    }
    for (size_t i = 0; i < countof(seen); i++)
        if (seen[i])
            return false;
    return true;
}

static size_t count_words(struct part line)
{
    size_t n = 0;

    while (word_at(&line).n)
        n++;
    return n;
}

/* again.s NULL: there is no second run. */
static enum likeness compare_lines(const struct compared *x, struct part then, struct part now,
                                   struct part again)
{
    enum likeness likeness = SAME;
    bool side_by_side = count_words(then) == count_words(now)
                        && (!again.s || count_words(again) == count_words(now));

    if (same_part(then, now) || another_order(then, now))
        return SAME;
    if (!side_by_side)
        return again.s && !same_part(now, again) && !in_answer(x, then) ? CHANGING : DIFFERENT;
    while (then.n) {
        struct part a = word_at(&then), b = word_at(&now), c = again.s ? word_at(&again) : b;

        if (equal_words(a, b))
            continue;
        if ((same_part(b, c) && !both_today(x, a, b)) || in_answer(x, a))
            return DIFFERENT;
        likeness = CHANGING;
    }
    return likeness;
}

static char *shown(struct part p)
{
    return p.s ? xasprintf("%.*s%s", (int)(p.n < SHOWN ? p.n : SHOWN), p.s, p.n > SHOWN ? "..." : "") : NULL;
}

/* where is given away */
static void note_difference(struct compared *x, char *where, struct part then, struct part now)
{
    autofree char *own = where;

    if (x->c->differences++)
        return;
    x->c->where = steal(&own);
    x->c->then = shown(then);
    x->c->now = shown(now);
}

static size_t lines_in(const char *text)
{
    size_t n = 0;

    for (; *text; line_at(&text))
        n++;
    return n;
}

/* A text as it was then, is now, and is once more (NULL: there is no second run). */
struct texts {
    const char *then, *now, *again;
};

/* line 0: all of it. The caller frees. */
static char *where_is(const struct compared *x, const char *what, size_t line)
{
    return line ? xasprintf("piece %zu, line %zu of its %s", x->piece + 1, line, what)
                : xasprintf("piece %zu, its %s", x->piece + 1, what);
}

static void note_likeness(struct compared *x, enum likeness v, char *where, struct part then, struct part now)
{
    autofree char *own = where;

    if (v == CHANGING)
        argv_push(&x->c->changing, own);
    else
        note_difference(x, steal(&own), then, now);
}

/* Returns how many lines are the same. */
static size_t compare_texts(struct compared *x, const char *what, struct texts t)
{
    const struct part none = {NULL, 0};
    size_t lines = lines_in(t.then), here = lines_in(t.now), equal = 0;
    bool single = lines <= 1 && here <= 1;

    if (t.again && lines_in(t.again) != here && strcmp(t.then, t.now) != 0) {
        struct part all = {t.then, strlen(t.then)};

        note_likeness(x, in_answer(x, all) ? DIFFERENT : CHANGING, where_is(x, what, 0), all,
                      (struct part){t.now, strlen(t.now)});
        return 0;
    }
    for (size_t line = 1; line <= lines && line <= here; line++) {
        struct part a = line_at(&t.then), b = line_at(&t.now), c = t.again ? line_at(&t.again) : none;
        enum likeness v = compare_lines(x, a, b, c);

        if (v == SAME)
            equal++;
        else
            note_likeness(x, v, where_is(x, what, single ? 0 : line), a, b);
    }
    if (lines > here)
        note_difference(x, where_is(x, what, single ? 0 : here + 1), line_at(&t.then), none);
    else if (here > lines)
        note_difference(x, where_is(x, what, single ? 0 : lines + 1), none, line_at(&t.now));
    return equal;
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

static struct part part_of(const char *s)
{
    return (struct part){s, s ? strlen(s) : 0};
}

/* ---- files */

static const struct receipt_file *file_named(const struct receipt *r, size_t piece, const char *name)
{
    if (r)
        for (size_t i = 0; i < r->pieces[piece].n_files; i++)
            if (!strcmp(r->pieces[piece].files[i].name, name))
                return &r->pieces[piece].files[i];
    return NULL;
}

static bool is_picture(const struct receipt_file *f)
{
    const char *dot = strrchr(f->name, '.');

    return f->kind != FILE_MADE || names_image(f->name)
           || (dot && (!strcmp(dot, ".svg") || !strcmp(dot, ".pdf")));
}

static void compare_file(struct compared *x, const struct receipt_file *then)
{
    const struct receipt_file *now = file_named(x->now, x->piece, then->name),
                              *again = file_named(x->again, x->piece, then->name);
    autofree char *where = xasprintf("piece %zu, its file %s", x->piece + 1, then->name);
    struct comparison *c = x->c;

    if (!now) {
        note_difference(x, steal(&where), part_of(then->sha256), part_of(NULL));
    } else if (!*then->sha256 || !*now->sha256) {
        argv_push(&c->not_compared, then->name);
    } else if (!strcmp(then->sha256, now->sha256)) {
        c->files += !is_picture(then);
        c->figures += is_picture(then);
    } else if (is_picture(then)) {
        argv_push(&c->not_compared, then->name);
    } else if (again && strcmp(again->sha256, now->sha256) != 0) {
        argv_push(&c->changing, where);
    } else {
        note_difference(x, steal(&where), part_of(then->sha256), part_of(now->sha256));
    }
}

static void compare_files(struct compared *x)
{
    const struct receipt_piece *then = &x->then->pieces[x->piece], *now = &x->now->pieces[x->piece];

    for (size_t i = 0; i < then->n_files; i++)
        compare_file(x, &then->files[i]);
    for (size_t i = 0; i < now->n_files; i++)
        if (!file_named(x->then, x->piece, now->files[i].name))
            note_difference(x, xasprintf("piece %zu, its file %s", x->piece + 1, now->files[i].name),
                            part_of(NULL), part_of(now->files[i].sha256));
}

/* ---- pieces */

static void compare_piece(struct compared *x)
{
    const struct receipt_piece *then = &x->then->pieces[x->piece], *now = &x->now->pieces[x->piece],
                               *again = x->again ? &x->again->pieces[x->piece] : NULL;
    static const char *const streams[] = {"output", "error output"};

    x->answer = then->question ? x->then->questions[then->question - 1].answer : NULL;
    for (int i = 0; i < 2; i++)
        x->c->lines += compare_texts(x, streams[i],
                                     (struct texts){or_empty(then->out[i]), or_empty(now->out[i]),
                                                    again ? or_empty(again->out[i]) : NULL});
    if (compare_texts(x, "value",
                      (struct texts){or_empty(then->value), or_empty(now->value),
                                     again ? or_empty(again->value) : NULL}))
        x->c->values++;
    if (then->status != now->status)
        note_difference(x, xasprintf("piece %zu, how it ended", x->piece + 1),
                        part_of(cell_status_name(then->status)), part_of(cell_status_name(now->status)));
    else
        compare_texts(x, "error",
                      (struct texts){or_empty(then->exception), or_empty(now->exception),
                                     again ? or_empty(again->exception) : NULL});
    compare_files(x);
    x->c->pieces++;
}

/* ---- versions */

/* The version behind that name in the last place that has it, or NULL. */
static const char *version_in(const struct receipt *r, const char *name, size_t n)
{
    for (size_t i = r->n_places; i-- > 0;)
        for (size_t k = 0; k < r->places[i].packages.n; k++) {
            const char *line = r->places[i].packages.v[k];

            if (!strncmp(line, name, n) && line[n] == ' ')
                return line + n + 1;
        }
    return NULL;
}

static void compare_versions(struct comparison *c, const struct receipt_place *then,
                             const struct receipt *now)
{
    const char *python = now->n_places ? now->places[now->n_places - 1].python : NULL;

    if (then->python && python && strcmp(then->python, python) != 0)
        argv_pushf(&c->versions, "Python %s (here %s)", then->python, python);
    for (size_t i = 0; i < then->packages.n; i++) {
        const char *line = then->packages.v[i], *here = version_in(now, line, strcspn(line, " "));

        if (here && strcmp(here, line + strcspn(line, " ") + 1) != 0)
            argv_pushf(&c->versions, "%s (here %s)", line, here);
    }
}

void receipt_compare(const struct receipt *then, const struct receipt *now, const struct receipt *again,
                     struct comparison *c)
{
    struct compared x = {.c = c, .then = then, .now = now, .again = again};

    for (x.piece = 0; x.piece < then->n_pieces; x.piece++)
        compare_piece(&x);
    for (size_t i = 0; i < then->n_places; i++)
        compare_versions(c, &then->places[i], now);
}

void comparison_release(struct comparison *c)
{
    free(c->where);
    free(c->then);
    free(c->now);
    argv_release(&c->changing);
    argv_release(&c->not_compared);
    argv_release(&c->versions);
    *c = (struct comparison){0};
}
