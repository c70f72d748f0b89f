/* latex.c - converts a formula from left to right; an argument is converted into a buffer of its own, so
 * that it can be looked at before it is placed.
 */
#include "markdown/latex.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "markdown/latex_symbols.h"

#define DEPTH_MAX 12

struct tex {
    const char *s, *end;
    struct buf *out;
    size_t from; /* of out, where the formula begins */
    int depth;
    bool failed, script;    /* script: blanks are dropped */
    const char *row, *cell; /* what stands for \\ and &; NULL: a newline, nothing */
};

static void read_formula(struct tex *t, char until);

static void tex_fail(struct tex *t)
{
    t->failed = true;
    t->s = t->end;
}

/* The last byte of the formula so far; NUL: there is none. */
static char last(const struct tex *t)
{
    return t->out->len > t->from ? buf_last(t->out) : '\0';
}

static void trim(struct tex *t, const char *set)
{
    buf_cut(t->out, t->from + trimmed_length(buf_str(t->out) + t->from, t->out->len - t->from, set));
}

static void blank(struct tex *t)
{
    if (!t->script && last(t) && !strchr(" \n", last(t)))
        buf_addch(t->out, ' ');
}

static bool empty(const struct tex *t)
{
    return t->s >= t->end;
}

static void tex_skip_blanks(struct tex *t)
{
    while (!empty(t) && (unsigned char)*t->s <= ' ')
        t->s++;
}

static void command(struct tex *t);

/* Convert with the same source into another buffer: up to until (read_formula()), or one command where that
 * is a backslash. */
static void into(struct tex *t, struct buf *out, bool script, char until)
{
    struct tex inner = *t;

    inner.out = out;
    inner.from = out->len;
    inner.script = script;
    if (++inner.depth > DEPTH_MAX) {
        tex_fail(t);
        return;
    }
    if (until == '\\')
        command(&inner);
    else
        read_formula(&inner, until);
    t->s = inner.s;
    t->failed = inner.failed;
}

/* One character as it stands, UTF-8. */
static size_t char_length(const struct tex *t)
{
    uint32_t cp;
    int n = utf8_decode(t->s, (size_t)(t->end - t->s), &cp);

    return n > 0 ? (size_t)n : 1;
}

/* The argument of a command or a script: a group, a command, or one character. */
static void argument(struct tex *t, struct buf *out, bool script)
{
    tex_skip_blanks(t);
    if (empty(t) || *t->s == '}' || *t->s == '&') {
        tex_fail(t);
    } else if (*t->s == '{') {
        t->s++;
        into(t, out, script, '}');
    } else if (*t->s == '\\') {
        into(t, out, script, '\\');
    } else {
        size_t n = char_length(t);

        buf_add(out, t->s, n);
        t->s += n;
    }
}

/* Text in braces, of which nothing is converted. */
static void plain_argument(struct tex *t, struct buf *out)
{
    const char *close;

    tex_skip_blanks(t);
    if (empty(t) || *t->s != '{' || !(close = memchr(t->s, '}', (size_t)(t->end - t->s)))) {
        tex_fail(t);
        return;
    }
    buf_add(out, t->s + 1, (size_t)(close - t->s - 1));
    t->s = close + 1;
}

/* Would it be misread beside an operator: has it one of its own? */
static bool compound(const struct buf *b)
{
    for (size_t i = 0; i < b->len; i++)
        if (strchr(" +-*/=,<>|", b->data[i]) && (i > 0 || b->data[i] != '-'))
            return true;
    return strstr(buf_str(b), "·") || strstr(buf_str(b), "±");
}

/* A number and more factors: "/2a" may be read as a half of a. */
static bool is_product(const struct buf *b)
{
    size_t digits = strspn(buf_str(b), "0123456789.");
    uint32_t cp = 0;

    return digits && utf8_decode(b->data + digits, b->len - digits, &cp) > 0
           && (cp < 0x80 ? isalpha((int)cp) : cp >= 0x370) && (cp < 0x2070 || cp > 0x207f);
}

static void add_operand(struct buf *out, const struct buf *b, bool below)
{
    bool paren = (compound(b) || (below && is_product(b)))
                 && !(b->len > 1 && b->data[0] == '('
                      && memchr(b->data, ')', b->len) == b->data + b->len - 1);

    buf_addf(out, paren ? "(%s)" : "%s", buf_str(b));
}

static bool is_factor(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80 || c == ')' || c == '(';
}

static void fraction(struct tex *t)
{
    struct buf above autorelease(buf_release) = BUF_INIT(LATEX_MAX),
                     below autorelease(buf_release) = BUF_INIT(LATEX_MAX);

    argument(t, &above, t->script);
    argument(t, &below, t->script);
    if (t->failed)
        return;
    bool before = is_factor(last(t));
    bool behind = !empty(t)
                  && (is_factor(*t->s) || *t->s == '^'
                      || (*t->s == '\\' && t->end - t->s > 1 && isalpha((unsigned char)t->s[1])));

    buf_addstr(t->out, before || behind ? "(" : "");
    add_operand(t->out, &above, false);
    buf_addch(t->out, '/');
    add_operand(t->out, &below, true);
    buf_addstr(t->out, before || behind ? ")" : "");
}

static void binomial(struct tex *t)
{
    buf_addch(t->out, '(');
    argument(t, t->out, false);
    buf_addstr(t->out, " choose ");
    argument(t, t->out, false);
    buf_addch(t->out, ')');
}

static size_t characters(const struct buf *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->len; i++)
        n += ((unsigned char)b->data[i] & 0xc0) != 0x80;
    return n;
}

static void root(struct tex *t)
{
    struct buf degree autorelease(buf_release) = BUF_INIT(LATEX_MAX),
                      of autorelease(buf_release) = BUF_INIT(LATEX_MAX);

    tex_skip_blanks(t);
    if (!empty(t) && *t->s == '[') {
        t->s++;
        into(t, &degree, true, ']');
    }
    argument(t, &of, t->script);
    if (!strcmp(buf_str(&degree), "3"))
        buf_addstr(t->out, "∛");
    else if (!strcmp(buf_str(&degree), "4"))
        buf_addstr(t->out, "∜");
    else if (degree.len && !latex_script(degree.data, degree.len, true, t->out))
        tex_fail(t);
    else
        buf_addstr(t->out, "√");
    size_t digits = strspn(buf_str(&of), "0123456789.");
    bool simple = characters(&of) <= 1 || digits == of.len;
    buf_addf(t->out, simple ? "%s" : "(%s)", buf_str(&of));
}

static void accent(struct tex *t, const char *mark)
{
    struct buf of autorelease(buf_release) = BUF_INIT(LATEX_MAX);

    argument(t, &of, t->script);
    for (size_t i = 0; i < of.len;) {
        uint32_t cp = 0;
        int n = utf8_decode(of.data + i, of.len - i, &cp);

        if (n <= 0)
            break;
        buf_add(t->out, of.data + i, (size_t)n);
        i += (size_t)n;
        /* a hat stands over the first of several, a line over all */
        bool over_all = !strcmp(mark, "\xcc\x85") || !strcmp(mark, "\xcc\xb2") || !strcmp(mark, "\xcc\xb8");
        if (cp != ' ' && utf8_width(cp) > 0 && (over_all || i == (size_t)n))
            buf_addstr(t->out, mark);
    }
}

static void blackboard(struct tex *t)
{
    static const struct {
        char c;
        uint32_t cp;
    } early[] = {{'C', 0x2102}, {'H', 0x210d}, {'N', 0x2115}, {'P', 0x2119},
                 {'Q', 0x211a}, {'R', 0x211d}, {'Z', 0x2124}};
    struct buf of autorelease(buf_release) = BUF_INIT(LATEX_MAX);

    argument(t, &of, true);
    for (size_t i = 0; i < of.len; i++) {
        uint32_t cp = (unsigned char)of.data[i];

        if (cp >= 'A' && cp <= 'Z')
            cp = 0x1d538 + cp - 'A';
        else if (cp == '1')
            cp = 0x1d7d9;
        else
            tex_fail(t);
        for (size_t k = 0; k < countof(early); k++)
            if (early[k].c == of.data[i])
                cp = early[k].cp;
        utf8_add(t->out, cp);
    }
}

static const struct environment {
    const char *name, *open, *row, *cell, *close;
} environments[] = {
    {"matrix", "[", "; ", " ", "]"},  {"pmatrix", "(", "; ", " ", ")"},  {"bmatrix", "[", "; ", " ", "]"},
    {"vmatrix", "|", "; ", " ", "|"}, {"Bmatrix", "{", "; ", " ", "}"},  {"array", "", "; ", " ", ""},
    {"cases", "{ ", "; ", " ", ""},   {"aligned", "", NULL, NULL, ""},   {"align", "", NULL, NULL, ""},
    {"align*", "", NULL, NULL, ""},   {"alignat", "", NULL, NULL, ""},   {"split", "", NULL, NULL, ""},
    {"gather", "", NULL, NULL, ""},   {"gather*", "", NULL, NULL, ""},   {"gathered", "", NULL, NULL, ""},
    {"equation", "", NULL, NULL, ""}, {"equation*", "", NULL, NULL, ""}, {"smallmatrix", "[", "; ", " ", "]"},
};

static void environment(struct tex *t)
{
    struct buf name autorelease(buf_release) = BUF_INIT(64), end autorelease(buf_release) = BUF_INIT(128);
    const struct environment *e = NULL;
    const char *close;

    plain_argument(t, &name);
    for (size_t i = 0; i < countof(environments); i++)
        if (!strcmp(environments[i].name, buf_str(&name)))
            e = &environments[i];
    buf_addf(&end, "\\end{%s}", buf_str(&name));
    if (t->failed || !e || t->depth >= DEPTH_MAX
        || !(close = memmem(t->s, (size_t)(t->end - t->s), end.data, end.len))) {
        tex_fail(t);
        return;
    }
    struct tex inner = *t;
    inner.end = close;
    inner.depth++;
    inner.row = e->row;
    inner.cell = e->cell;
    if (!strcmp(e->name, "array")) {
        struct buf columns autorelease(buf_release) = BUF_INIT(64);

        plain_argument(&inner, &columns);
    }
    tex_skip_blanks(&inner);
    buf_addstr(t->out, e->open);
    read_formula(&inner, '\0');
    trim(t, " \n");
    if (e->row && last(t) == ';') /* a \\ behind the last row */
        buf_cut(t->out, t->out->len - 1);
    buf_addstr(t->out, e->close);
    t->failed = inner.failed;
    t->s = close + end.len;
}

static void not(struct tex * t)
{
    struct buf of autorelease(buf_release) = BUF_INIT(LATEX_MAX);

    blank(t);
    argument(t, &of, true);
    buf_add(t->out, buf_str(&of), of.len);
    buf_addstr(t->out, "\xcc\xb8"); /* U+0338 strikes it through */
    blank(t);
}

static void named(struct tex *t, const struct latex_symbol *symbol)
{
    static void (*const forms[])(struct tex *) = {
        [LATEX_FRACTION] = fraction,     [LATEX_BINOMIAL] = binomial, [LATEX_ROOT] = root,
        [LATEX_BLACKBOARD] = blackboard, [LATEX_BEGIN] = environment, [LATEX_NOT] = not,
    };
    struct buf dropped autorelease(buf_release) = BUF_INIT(LATEX_MAX);

    switch (symbol->kind) {
    case LATEX_SYMBOL:
        buf_addstr(t->out, symbol->text);
        break;
    case LATEX_OPERATOR:
        blank(t);
        buf_addstr(t->out, symbol->text);
        blank(t);
        break;
    case LATEX_WORD:
        if (isalnum((unsigned char)last(t)))
            blank(t);
        buf_addstr(t->out, symbol->text);
        if (!empty(t) && (isalnum((unsigned char)*t->s) || *t->s == '\\'))
            blank(t);
        break;
    case LATEX_TEXT:
        argument(t, t->out, false);
        break;
    case LATEX_DROP:
        if (!empty(t) && *t->s == '.') /* \right. */
            t->s += !strcmp(symbol->name, "left") || !strcmp(symbol->name, "right");
        break;
    case LATEX_DROP_ARGUMENT:
        plain_argument(t, &dropped);
        break;
    case LATEX_ACCENT:
        accent(t, symbol->text);
        break;
    default:
        forms[symbol->kind](t);
    }
}

/* At a backslash. */
static void command(struct tex *t)
{
    const char *name = ++t->s;
    const struct latex_symbol *symbol;

    while (!empty(t) && isalpha((unsigned char)*t->s))
        t->s++;
    if (t->s > name) {
        symbol = latex_symbol(name, (size_t)(t->s - name));
        if (symbol)
            named(t, symbol);
        else
            tex_fail(t);
        return;
    }
    if (empty(t)) {
        tex_fail(t);
        return;
    }
    switch (*t->s++) {
    case '\\':
        tex_skip_blanks(t);
        trim(t, " ");
        buf_addstr(t->out, t->row ? t->row : "\n");
        break;
    case ',':
    case ':':
    case ';':
    case ' ':
        blank(t);
        break;
    case '!':
        break;
    case '|':
        buf_addstr(t->out, "‖");
        break;
    case '{':
    case '}':
    case '%':
    case '$':
    case '#':
    case '_':
    case '&':
        buf_addch(t->out, t->s[-1]);
        break;
    default:
        tex_fail(t);
    }
}

static void script(struct tex *t, bool up)
{
    struct buf of autorelease(buf_release) = BUF_INIT(LATEX_MAX);

    argument(t, &of, true);
    if (t->failed)
        return;
    if (up && (!strcmp(buf_str(&of), "∘") || !strcmp(buf_str(&of), "°")))
        buf_addstr(t->out, "°");
    else if (up && of.len && strspn(buf_str(&of), "′") == of.len)
        buf_addstr(t->out, buf_str(&of));
    else if (!latex_script(buf_str(&of), of.len, up, t->out))
        buf_addf(t->out, characters(&of) == 1 ? "%c%s" : "%c(%s)", up ? '^' : '_', buf_str(&of));
}

/* Everything up to until, which is taken too, or to the end if until is 0. */
static void read_formula(struct tex *t, char until)
{
    while (!empty(t)) {
        char c = *t->s;

        if (until && c == until) {
            t->s++;
            return;
        }
        if (c == '\\') {
            command(t);
            continue;
        }
        t->s++;
        if (c == '^' || c == '_')
            script(t, c == '^');
        else if (c == '{')
            into(t, t->out, t->script, '}');
        else if (c == '}')
            tex_fail(t);
        else if (c == '&')
            buf_addstr(t->out, t->cell ? t->cell : "");
        else if (c == '\'')
            buf_addstr(t->out, "′");
        else if ((unsigned char)c <= ' ' || c == '~')
            blank(t);
        else
            buf_addch(t->out, c);
    }
    if (until)
        t->failed = true;
}

bool latex_unicode(const char *s, size_t len, struct buf *out)
{
    struct tex t = {.s = s, .end = s + len, .out = out, .from = out->len};

    if (len > LATEX_MAX)
        return false;
    tex_skip_blanks(&t);
    read_formula(&t, '\0');
    trim(&t, " \n");
    if (t.failed || out->full)
        buf_cut(out, t.from);
    return !t.failed && out->len > t.from;
}
