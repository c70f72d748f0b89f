/* markdown_scan.c - reads ahead in a piece of inline Markdown: whether it is complete, and what md4c
 * should see. Formulas become Unicode; where CommonMark's rules would misread what models write (2*3*4,
 * strong text beside Chinese) marks are escaped, or set apart by a vertical tab, which md4c takes for a
 * blank and inline_draw drops.
 *
 * RULE: The same text gives the same screen however it is cut into pieces.
 */
#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "markdown/latex.h"
#include "markdown/markdown_inline.h"
#include "markdown/markdown_refs.h"
#include "markdown/markdown_tags.h"

/* For how many bytes text is held back, from what opened it. */
enum { HOLD_MARK = 120, HOLD_SPAN = 300, HOLD_URL = 2000 };
enum { OPEN_MAX = 16 };

struct scan {
    const char *s;
    size_t len, i;
    struct buf *out;
    struct {
        char c;
        size_t n, at;
    } open[OPEN_MAX]; /* emphasis */
    size_t depth;
    struct {
        size_t at, out; /* in s, and in out */
    } bracket[OPEN_MAX];
    size_t brackets; /* that are open; of those beyond OPEN_MAX nothing is known */
    struct refs *refs;
    size_t held;   /* bytes since the first construct that holds the text back; 0: none does */
    bool given_up; /* it has held it for too long */
    /* What was looked for in vain is not there for later ones either: looked for once, a scan is linear. */
    bool no_paren, no_bracket, no_dollar, no_dollars, no_target, no_angle;
    uint32_t no_ticks; /* a bit for each length of a run */
};

bool inline_special(char c)
{
    static const bool special[256] = {
        ['\\'] = true, ['`'] = true, ['*'] = true, ['_'] = true,          ['~'] = true,
        ['['] = true,  [']'] = true, ['<'] = true, ['>'] = true,          ['&'] = true,
        ['$'] = true,  ['!'] = true, [':'] = true, [INLINE_BREAK] = true,
    };

    return special[(unsigned char)c];
}

static void hold(struct scan *s, size_t at, size_t limit)
{
    size_t bytes = s->len - at;

    if (bytes > s->held) {
        s->held = bytes;
        s->given_up = bytes >= limit;
    }
}

static char scan_at(const struct scan *s, size_t i)
{
    return i < s->len ? s->s[i] : '\0';
}

static bool is_blank(char c)
{
    return c == '\0' || c == ' ' || c == INLINE_BREAK;
}

static size_t run_length(const struct scan *s, size_t i)
{
    size_t n = 1;

    while (scan_at(s, i + n) == s->s[i])
        n++;
    return n;
}

static void copy_bytes(struct scan *s, size_t n)
{
    buf_add(s->out, s->s + s->i, n);
    s->i += n;
}

/* n bytes that md4c must leave as they are */
static void literal(struct scan *s, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (ispunct((unsigned char)text[i]))
            buf_addch(s->out, '\\');
        buf_addch(s->out, text[i] == '\n' ? INLINE_BREAK : text[i]);
    }
}

static void copy_literal(struct scan *s, size_t n)
{
    literal(s, s->s + s->i, n);
    s->i += n;
}

static void code_span(struct scan *s)
{
    size_t n = run_length(s, s->i), i = s->i + n;

    while (i < s->len && !(n < 32 && s->no_ticks & 1u << n)) {
        if (s->s[i] != '`') {
            i++;
            continue;
        }
        size_t m = run_length(s, i);
        i += m;
        if (m == n) {
            copy_bytes(s, i - s->i);
            return;
        }
    }
    if (n < 32)
        s->no_ticks |= 1u << n;
    hold(s, s->i, HOLD_SPAN);
    copy_literal(s, n);
}

/* A formula between delimiters of n bytes that ends before end. Without a form in Unicode it stays as it
 * was typed. */
static void scan_formula(struct scan *s, size_t n, size_t end)
{
    struct buf text autorelease(buf_release) = BUF_INIT(4 * LATEX_MAX);
    const char *from = s->s + s->i + n;

    if (latex_unicode(from, end - s->i - n, &text))
        literal(s, text.data, text.len);
    else
        literal(s, s->s + s->i, end - s->i + n);
    s->i = end + n;
}

/* \( or \[ */
static void backslash(struct scan *s)
{
    char c = scan_at(s, s->i + 1), close = c == '(' ? ')' : ']';
    bool *in_vain = c == '(' ? &s->no_paren : &s->no_bracket;

    if (c != '(' && c != '[') {
        if (ispunct((unsigned char)c))
            copy_bytes(s, 2);
        else
            copy_literal(s, 1);
        return;
    }
    for (size_t i = s->i + 2; i + 1 < s->len && !*in_vain; i++)
        if (s->s[i] == '\\') {
            if (s->s[i + 1] == close) {
                scan_formula(s, 2, i);
                return;
            }
            i++;
        }
    *in_vain = true;
    hold(s, s->i, HOLD_SPAN);
    copy_literal(s, 2);
}

/* "$5 and $6": an amount is a number, and no operator follows it. */
static bool is_amount(const struct scan *s, bool *unknown)
{
    size_t i = s->i + 1;

    while (isdigit((unsigned char)scan_at(s, i)) || (strchr(".,", scan_at(s, i)) && scan_at(s, i)))
        i++;
    if (i == s->i + 1)
        return false;
    if (strchr("kKmMbB", scan_at(s, i)) && scan_at(s, i))
        i++;
    if (scan_at(s, i) == '$')
        return false;
    while (scan_at(s, i) == ' ')
        i++;
    *unknown = i >= s->len;
    return *unknown || !strchr("\\+-*/=<>^_{}()|!", scan_at(s, i));
}

/* The closing $ is behind text, and no digit is behind it. */
static void dollar(struct scan *s)
{
    size_t n = scan_at(s, s->i + 1) == '$' ? 2 : 1;
    bool unknown = false, amount = n == 1 && is_amount(s, &unknown);
    bool *in_vain = n == 1 ? &s->no_dollar : &s->no_dollars;
    bool opens = !is_blank(scan_at(s, s->i + n))
                 && (n == 2 || s->i == 0 || !isalnum((unsigned char)s->s[s->i - 1]));

    if (n == 2)
        opens = s->i + 2 < s->len;
    if (!opens || (amount && !unknown)) {
        copy_literal(s, n);
        return;
    }
    for (size_t i = s->i + n; i < s->len && !*in_vain; i++) {
        if (s->s[i] == '\\') {
            i++;
            continue;
        }
        if (s->s[i] != '$' || (n == 2 && scan_at(s, i + 1) != '$'))
            continue;
        if (i == s->i + n || (n == 1 && (is_blank(s->s[i - 1]) || isdigit((unsigned char)scan_at(s, i + 1)))))
            continue;
        scan_formula(s, n, i);
        return;
    }
    *in_vain = true;
    hold(s, s->i, HOLD_SPAN);
    copy_literal(s, n);
}

/* Behind a closing bracket: the target of a link, of which nothing is emphasis. */
static void target(struct scan *s)
{
    size_t i = s->i + 1, depth = 0;

    for (; i < s->len && s->s[i] != INLINE_BREAK && !s->no_target; i++) {
        if (s->s[i] == '(')
            depth++;
        if (s->s[i] == ')' && depth-- == 1) {
            copy_bytes(s, i + 1 - s->i);
            return;
        }
    }
    s->no_target = true;
    if (i == s->len)
        hold(s, s->i, HOLD_URL);
    copy_bytes(s, 1);
}

static bool is_url(const char *s, size_t len)
{
    return (len > 7 && !strncasecmp(s, "http://", 7)) || (len > 8 && !strncasecmp(s, "https://", 8))
           || (len > 7 && !strncasecmp(s, "mailto:", 7));
}

/* A tag that is known, or an address in angle brackets; anything else is text, such as vector<int>. */
static void angle(struct scan *s)
{
    const char *from = s->s + s->i + 1, *close = s->no_angle ? NULL : memchr(from, '>', s->len - s->i - 1);

    s->no_angle = !close;

    if (!is_url(from, s->len - s->i - 1) && !markdown_tag(from, s->len - s->i - 1)) {
        copy_literal(s, 1);
    } else if (close) {
        copy_bytes(s, (size_t)(close - from) + 2);
    } else {
        hold(s, s->i, HOLD_MARK);
        copy_literal(s, 1);
    }
}

static bool is_word_part(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* "[docs][1]" is "docs [1]" while nothing defines 1. Other labels may well be no link: a[i][j]. */
static bool is_cited(const struct scan *s, size_t open, size_t label, size_t end)
{
    bool letter = false, digits = label < end;

    if (open && (is_word_part(s->s[open - 1]) || strchr("]!", s->s[open - 1])))
        return false;
    for (size_t i = open + 1; i < s->i; i++)
        letter = letter || isalpha((unsigned char)s->s[i]) || (unsigned char)s->s[i] >= 0x80;
    for (size_t i = label; i < end; i++)
        digits = digits && isdigit((unsigned char)s->s[i]);
    return letter && digits && s->i - open > 2;
}

/* A closing bracket without a target behind it: "[text][label]", "[label][]" or "[label]". */
static void reference(struct scan *s, size_t open, size_t out)
{
    size_t label = open + 1, end = s->i, behind = s->i + 1;
    const char *close = scan_at(s, behind) == '[' ? memchr(s->s + behind, ']', s->len - behind) : NULL;

    if (close && close - (s->s + behind) <= REF_LABEL_MAX) {
        label = behind + 1 < (size_t)(close - s->s) ? behind + 1 : label;
        end = label > s->i ? (size_t)(close - s->s) : end;
        behind = (size_t)(close - s->s) + 1;
    }
    const char *url = refs_use(s->refs, s->s + label, end - label);
    if (url) {
        buf_addf(s->out, "](<%s>)", url);
    } else if (label > s->i && is_cited(s, open, label, end)) {
        memmove(s->out->data + out, s->out->data + out + 1, s->out->len - out); /* with the NUL */
        s->out->len--;
        buf_addf(s->out, " \\[%.*s\\]", (int)(end - label), s->s + label);
    } else {
        copy_bytes(s, 1);
        return;
    }
    s->i = behind;
}

static void open_bracket(struct scan *s)
{
    if (s->brackets < OPEN_MAX) {
        s->bracket[s->brackets].at = s->i;
        s->bracket[s->brackets].out = s->out->len;
    }
    s->brackets++;
    copy_bytes(s, 1);
}

static void close_bracket(struct scan *s)
{
    if (!s->brackets)
        copy_bytes(s, 1);
    else if (s->brackets-- && scan_at(s, s->i + 1) == '(')
        target(s);
    else if (s->brackets < OPEN_MAX)
        reference(s, s->bracket[s->brackets].at, s->bracket[s->brackets].out);
    else
        copy_bytes(s, 1);
}

/* Take the run's marks from what is open; false: nothing of the kind is. */
static bool close_emphasis(struct scan *s, char c, size_t n)
{
    bool any = false;

    for (size_t d = s->depth; d-- > 0 && n > 0;) {
        if (s->open[d].c != c)
            continue;
        size_t m = s->open[d].n < n ? s->open[d].n : n;
        n -= m;
        s->open[d].n -= m;
        s->depth = s->open[d].n ? d + 1 : d;
        any = true;
    }
    return any;
}

static void emphasis(struct scan *s)
{
    char c = s->s[s->i], before = s->i ? s->s[s->i - 1] : '\0';
    size_t n = run_length(s, s->i);
    char behind = scan_at(s, s->i + n);
    bool inside = isalnum((unsigned char)before) && isalnum((unsigned char)behind);

    if ((c == '~' && n != 2) || (inside && c != '~') || (is_blank(before) && is_blank(behind))) {
        copy_literal(s, n);
    } else if (!is_blank(before) && close_emphasis(s, c, n)) {
        copy_bytes(s, n);
        if (is_word_part(behind))
            buf_addch(s->out, '\v');
    } else if (!is_blank(behind) && s->depth < OPEN_MAX) {
        s->open[s->depth].c = c;
        s->open[s->depth].n = n;
        s->open[s->depth++].at = s->i;
        if (is_word_part(before))
            buf_addch(s->out, '\v');
        copy_bytes(s, n);
    } else {
        copy_literal(s, n);
    }
}

/* Up to where an address can go; emphasis and brackets around it are not part of it. */
static void scan_address(struct scan *s)
{
    size_t n = 0;

    while (s->i + n < s->len && !strchr(" *`<>()[]\"|\x02", s->s[s->i + n]))
        n++;
    copy_bytes(s, n);
}

static void line_break(struct scan *s)
{
    buf_addstr(s->out, " \x02 ");
    s->i++;
}

static void scan_step(struct scan *s)
{
    static void (*const marks[128])(struct scan *) = {
        ['`'] = code_span,    ['\\'] = backslash,
        ['$'] = dollar,       ['*'] = emphasis,
        ['_'] = emphasis,     ['~'] = emphasis,
        ['['] = open_bracket, [']'] = close_bracket,
        ['<'] = angle,        [INLINE_BREAK] = line_break,
    };
    unsigned char c = (unsigned char)s->s[s->i];

    if (c < countof(marks) && marks[c])
        marks[c](s);
    else if ((s->i == 0 || !is_word_part(s->s[s->i - 1])) && is_url(s->s + s->i, s->len - s->i))
        scan_address(s);
    else
        copy_bytes(s, 1);
}

struct inline_open inline_scan(const char *text, size_t len, struct refs *refs, struct buf *out)
{
    struct scan s = {.s = text, .len = len, .out = out, .refs = refs};
    size_t marks = 0;

    while (s.i < len)
        scan_step(&s);
    struct inline_open open = {.strong = s.depth > 0 && !s.held && !s.brackets};
    for (size_t d = s.depth; d-- > 0;) {
        bool strong = s.open[d].c == '*' && s.open[d].n >= 2 && marks + s.open[d].n < sizeof open.marks;

        for (size_t n = 0; strong && n < s.open[d].n; n++)
            open.marks[marks++] = '*';
        open.strong = open.strong && strong;
    }
    for (size_t d = 0; d < s.depth; d++)
        hold(&s, s.open[d].at, open.strong ? SIZE_MAX : HOLD_MARK);
    if (s.brackets)
        hold(&s, s.bracket[0].at, HOLD_MARK);
    open.held = s.given_up ? 0 : (unsigned)s.held;
    return open;
}
