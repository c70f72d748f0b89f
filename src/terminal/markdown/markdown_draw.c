/* markdown_draw.c - has md4c parse a piece of inline Markdown, and draws what it finds. */
#include <ctype.h>
#include <md4c.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/utf8.h"
#include "markdown/flow.h"
#include "markdown/latex_symbols.h"
#include "markdown/markdown.h"
#include "markdown/markdown_inline.h"
#include "markdown/markdown_tags.h"

#define SPANS_MAX 32
#define URL_MAX   2000

struct draw {
    struct flow *f;
    const struct markdown_options *o;
    unsigned style, styles[SPANS_MAX]; /* of the spans around this one */
    size_t depth;
    struct buf url, label; /* of the link or image that is open; the label is text without style */
    bool labelled;         /* within one */
    int images;            /* that are open; their text is not drawn */
    char script;           /* '^', '_' or 0: within <sup> or <sub> */
};

static const struct markdown_tag tags[] = {
    {"a", TAG_NOTHING, 0},
    {"b", TAG_STYLE, STYLE_BOLD},
    {"br", TAG_BREAK, 0},
    {"center", TAG_NOTHING, 0},
    {"code", TAG_STYLE, STYLE_CODE},
    {"del", TAG_STYLE, STYLE_STRIKE},
    {"details", TAG_BREAK, 0},
    {"div", TAG_BREAK, 0},
    {"em", TAG_STYLE, STYLE_ITALIC},
    {"font", TAG_NOTHING, 0},
    {"i", TAG_STYLE, STYLE_ITALIC},
    {"ins", TAG_STYLE, STYLE_UNDERLINE},
    {"kbd", TAG_STYLE, STYLE_CODE},
    {"mark", TAG_STYLE, STYLE_BOLD},
    {"p", TAG_BREAK, 0},
    {"s", TAG_STYLE, STYLE_STRIKE},
    {"small", TAG_NOTHING, 0},
    {"span", TAG_NOTHING, 0},
    {"strong", TAG_STYLE, STYLE_BOLD},
    {"sub", TAG_SUBSCRIPT, 0},
    {"summary", TAG_STYLE, STYLE_BOLD},
    {"sup", TAG_SUPERSCRIPT, 0},
    {"u", TAG_STYLE, STYLE_UNDERLINE},
};

const struct markdown_tag *markdown_tag(const char *s, size_t len)
{
    size_t n = 0;

    if (len && *s == '/') {
        s++;
        len--;
    }
    while (n < len && isalpha((unsigned char)s[n]))
        n++;
    if (n < len && !strchr(" />", s[n]))
        return NULL;
    for (size_t i = 0; i < countof(tags); i++)
        if (strlen(tags[i].name) == n && !strncasecmp(tags[i].name, s, n))
            return &tags[i];
    return NULL;
}

static void put_labelled(struct draw *d, const char *s, size_t len)
{
    if (d->labelled)
        buf_add(&d->label, s, len);
    if (d->images)
        return;
    if (d->script) {
        struct buf form autorelease(buf_release) = BUF_INIT(0);

        if (latex_script(s, len, d->script == '^', &form)) {
            flow_text(d->f, d->style, form.data, form.len);
            return;
        }
        flow_text(d->f, d->style, &d->script, 1);
    }
    flow_text(d->f, d->style, s, len);
}

/* Text without our own marks. */
static void put_text(struct draw *d, const char *s, size_t len)
{
    while (len) {
        size_t n = 0;

        while (n < len && s[n] != '\v' && s[n] != INLINE_BREAK)
            n++;
        if (n)
            put_labelled(d, s, n);
        if (n < len && s[n] == INLINE_BREAK && !d->images)
            flow_break(d->f);
        n += n < len;
        s += n;
        len -= n;
    }
}

/* A character that was written by name or number may be anything, so it is scrubbed like all other text. */
static void add_entity(struct buf *out, const char *s, size_t len)
{
    static const struct {
        const char *name, *text;
    } named[] = {
        {"amp", "&"},    {"lt", "<"},    {"gt", ">"},     {"quot", "\""},  {"apos", "'"},  {"nbsp", " "},
        {"copy", "©"},   {"reg", "®"},   {"deg", "°"},    {"plusmn", "±"}, {"times", "×"}, {"divide", "÷"},
        {"middot", "·"}, {"bull", "•"},  {"hellip", "…"}, {"ndash", "–"},  {"mdash", "—"}, {"lsquo", "‘"},
        {"rsquo", "’"},  {"ldquo", "“"}, {"rdquo", "”"},  {"larr", "←"},   {"rarr", "→"},  {"le", "≤"},
        {"ge", "≥"},     {"ne", "≠"},    {"asymp", "≈"},  {"infin", "∞"},  {"sum", "∑"},   {"radic", "√"},
        {"alpha", "α"},  {"beta", "β"},  {"gamma", "γ"},  {"mu", "μ"},     {"pi", "π"},    {"sigma", "σ"},
        {"sup2", "²"},   {"sup3", "³"},  {"frac12", "½"}, {"euro", "€"},   {"pound", "£"}, {"check", "✓"}};

    if (len > 3 && s[1] == '#') {
        bool hex = s[2] == 'x' || s[2] == 'X';
        struct buf raw autorelease(buf_release) = BUF_INIT(8);

        utf8_add(&raw, (uint32_t)strtoul(s + (hex ? 3 : 2), NULL, hex ? 16 : 10));
        scrub_text(raw.data, raw.len, SCRUB_TERMINAL, out);
        return;
    }
    for (size_t i = 0; i < countof(named); i++)
        if (strlen(named[i].name) + 2 == len && !memcmp(s + 1, named[i].name, len - 2)) {
            buf_addstr(out, named[i].text);
            return;
        }
    buf_add(out, s, len);
}

static void put_entity(struct draw *d, const char *s, size_t len)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);
    autofree char *own = xmemdup0(s, len);

    add_entity(&text, own, len);
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '\n' || text.data[i] == '\t')
            text.data[i] = ' ';
    put_labelled(d, buf_str(&text), text.len);
}

static void put_tag(struct draw *d, const char *s, size_t len)
{
    const struct markdown_tag *tag = len > 2 ? markdown_tag(s + 1, len - 1) : NULL;
    bool closes = len > 1 && s[1] == '/';

    if (!tag) {
        put_text(d, s, len);
        return;
    }
    if (tag->does == TAG_BREAK && !d->images && (d->f->wrote || d->f->n_runs))
        flow_break(d->f);
    if (tag->does == TAG_STYLE)
        d->style = closes ? d->style & ~tag->style : d->style | tag->style;
    if (tag->does == TAG_SUPERSCRIPT || tag->does == TAG_SUBSCRIPT)
        d->script = closes ? '\0' : tag->does == TAG_SUPERSCRIPT ? '^' : '_';
}

static int on_text(MD_TEXTTYPE type, const MD_CHAR *s, MD_SIZE len, void *ctx)
{
    struct draw *d = ctx;

    switch (type) {
    case MD_TEXT_ENTITY:
        put_entity(d, s, len);
        break;
    case MD_TEXT_HTML:
        put_tag(d, s, len);
        break;
    case MD_TEXT_BR:
    case MD_TEXT_SOFTBR:
        put_labelled(d, " ", 1);
        break;
    case MD_TEXT_NULLCHAR:
        break;
    default:
        if (len && *s == '\x01') { /* what inline_draw put in front */
            size_t n = len > 1 ? 2 : 1;

            s += n;
            len -= (MD_SIZE)n;
        }
        put_text(d, s, len);
    }
    return 0;
}

/* Only what may stand in an OSC 8 sequence: the rest is percent-encoded. */
static void set_url(struct draw *d, const MD_ATTRIBUTE *a)
{
    buf_clear(&d->url);
    buf_clear(&d->label);
    d->labelled = true;
    for (unsigned i = 0; a->text && a->substr_offsets[i] < a->size; i++) {
        const char *s = a->text + a->substr_offsets[i];
        size_t len = a->substr_offsets[i + 1] - a->substr_offsets[i];

        if (a->substr_types[i] == MD_TEXT_ENTITY) {
            autofree char *own = xmemdup0(s, len);

            add_entity(&d->url, own, len);
        } else {
            buf_add(&d->url, s, len);
        }
    }
    for (size_t i = 0; i < d->url.len; i++) /* a line break, from an entity or our own mark */
        if ((unsigned char)d->url.data[i] < ' ')
            d->url.data[i] = ' ';
}

static bool starts_with(const char *s, const char *what)
{
    return !strncasecmp(s, what, strlen(what));
}

static bool safe_to_open(const char *url)
{
    return starts_with(url, "https://") || starts_with(url, "http://") || starts_with(url, "mailto:");
}

static void open_link(struct draw *d)
{
    struct buf encoded autorelease(buf_release) = BUF_INIT(URL_MAX);

    if (!d->o->flow.hyperlink || !safe_to_open(buf_str(&d->url)))
        return;
    for (size_t i = 0; i < d->url.len; i++) {
        unsigned char c = (unsigned char)d->url.data[i];

        if (c > ' ' && c < 0x7f)
            buf_addch(&encoded, (char)c);
        else
            buf_addf(&encoded, "%%%02X", c);
    }
    if (!encoded.full)
        flow_link(d->f, encoded.data);
}

/* Does the text itself claim to be an address? Then another one behind it must be seen. */
static bool claims_address(const char *label)
{
    return strstr(label, "://") || starts_with(label, "www.");
}

/* Behind a link's text: its address, where it cannot be clicked on, or is not what the text says. */
static void close_link(struct draw *d)
{
    bool linked = d->f->within != 0;
    const char *url = buf_str(&d->url), *label = buf_str(&d->label);
    const char *bare = starts_with(url, "mailto:")                                     ? url + 7
                       : starts_with(url, "http://www.") && starts_with(label, "www.") ? url + 7
                                                                                       : url;

    flow_link(d->f, NULL);
    d->labelled = false;
    if (d->images || !*url || *url == '#' || !strcmp(label, bare) || !strcmp(label, url)
        || (linked && !claims_address(label)))
        return;
    flow_blanks(d->f, 1);
    flow_text(d->f, d->style & ~STYLE_LINK, "(", 1);
    /* a blank would break it in two */
    for (const char *s = url; *s; s += strcspn(s, " "), s += *s == ' ') {
        flow_text(d->f, d->style & ~STYLE_LINK, s, strcspn(s, " "));
        if (s[strcspn(s, " ")])
            flow_text(d->f, d->style & ~STYLE_LINK, "%20", 3);
    }
    flow_text(d->f, d->style & ~STYLE_LINK, ")", 1);
}

static void close_image(struct draw *d)
{
    const char *src = buf_str(&d->url), *alt = buf_str(&d->label), *slash = strrchr(src, '/');

    d->labelled = false;
    if (d->o->image && *src) {
        struct buf picture autorelease(buf_release) = BUF_INIT(0);

        if (d->o->image(d->o->image_ctx, src, alt, &picture)) {
            flow_end(d->f);
            flow_put_gap(d->f);
            buf_add(d->f->out, buf_str(&picture), picture.len);
            return;
        }
    }
    const char *name = starts_with(src, "data:")                 ? "data"
                       : slash && slash[1] && !safe_to_open(src) ? slash + 1
                                                                 : src;
    autofree char *text = *alt && *name ? xasprintf("%s (%s)", alt, name) : xstrdup(*alt ? alt : name);

    unsigned link = d->f->within; /* an image within a link leads nowhere itself */

    d->f->within = 0;
    flow_text(d->f, d->style | STYLE_ITALIC, text, strlen(text));
    d->f->within = link;
}

/* How the text of a span looks, and the marks around it where nothing else tells it from other text. */
static const struct {
    unsigned style;
    const char *mark;
} spans[] = {
    [MD_SPAN_EM] = {STYLE_ITALIC, ""},  [MD_SPAN_STRONG] = {STYLE_BOLD, ""},
    [MD_SPAN_A] = {STYLE_LINK, ""},     [MD_SPAN_IMG] = {0, ""},
    [MD_SPAN_CODE] = {STYLE_CODE, "`"}, [MD_SPAN_DEL] = {STYLE_STRIKE, "~~"},
};

static void put_mark(struct draw *d, MD_SPANTYPE type)
{
    if (!d->f->o.colour)
        put_labelled(d, spans[type].mark, strlen(spans[type].mark));
}

static int on_enter(MD_SPANTYPE type, void *detail, void *ctx)
{
    struct draw *d = ctx;

    if (d->depth < SPANS_MAX)
        d->styles[d->depth] = d->style;
    d->depth++;
    if (type == MD_SPAN_IMG && !d->images++)
        set_url(d, &((MD_SPAN_IMG_DETAIL *)detail)->src);
    if (type == MD_SPAN_A && !d->images) {
        set_url(d, &((MD_SPAN_A_DETAIL *)detail)->href);
        open_link(d);
    }
    d->style |= spans[type].style;
    put_mark(d, type);
    return 0;
}

static int on_leave(MD_SPANTYPE type, void *detail, void *ctx)
{
    struct draw *d = ctx;

    (void)detail;
    put_mark(d, type);
    d->depth--;
    if (d->depth < SPANS_MAX)
        d->style = d->styles[d->depth];
    if (type == MD_SPAN_A && !d->images)
        close_link(d);
    if (type == MD_SPAN_IMG && !--d->images)
        close_image(d);
    return 0;
}

static int on_block(MD_BLOCKTYPE type, void *detail, void *ctx)
{
    (void)type, (void)detail, (void)ctx;
    return 0;
}

void inline_draw(struct flow *f, const struct markdown_options *o, unsigned style, const struct buf *prepared)
{
    static const MD_PARSER parser = {
        .flags = MD_FLAG_PERMISSIVEURLAUTOLINKS | MD_FLAG_STRIKETHROUGH | MD_FLAG_NOINDENTEDCODEBLOCKS
                 | MD_FLAG_NOHTMLBLOCKS,
        .enter_block = on_block,
        .leave_block = on_block,
        .enter_span = on_enter,
        .leave_span = on_leave,
        .text = on_text,
    };
    struct draw d = {.f = f, .o = o, .style = style, .url = BUF_INIT(URL_MAX), .label = BUF_INIT(URL_MAX)};
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    /* In front, so that nothing of it is taken for the beginning of a block: a paragraph is all it can be. */
    buf_addstr(&text, "\x01 ");
    buf_add(&text, buf_str(prepared), prepared->len);
    md_parse(text.data, (MD_SIZE)text.len, &parser, &d);
    buf_release(&d.url);
    buf_release(&d.label);
}
