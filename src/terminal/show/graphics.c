/* graphics.c - writes the queries, recognises the replies among what is typed, and picks the best way. */
#include "show/graphics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "show/show.h"

void graphics_init(struct graphics *g)
{
    const char *program = getenv("TERM_PROGRAM"), *behind_ssh = getenv("LC_TERMINAL");
    const char *colours = getenv("COLORFGBG"), *last = colours ? strrchr(colours, ';') : NULL;

    *g = (struct graphics){.background = -1};
    /* these variables are handed on through tmux and screen, what iTerm2 understands is not */
    g->iterm2 = !show_is_multiplexed()
                && ((program && !strcmp(program, "iTerm.app"))
                    || (behind_ssh && !strcmp(behind_ssh, "iTerm2")));
    long colour = last && last[1] >= '0' && last[1] <= '9' ? strtol(last + 1, NULL, 10) : -1;
    if (colour >= 0) /* of the sixteen colours, 7 and 9 to 15 are light */
        g->background = colour == 7 || colour > 8 ? 0xffffff : 0;
}

/* Every terminal answers this, and in order: nothing of the query follows that reply. */
static void end_query(struct graphics *g, struct buf *out)
{
    buf_addstr(out, "\033[c");
    g->awaited++;
    g->answered = false;
}

void graphics_query(struct graphics *g, struct buf *out)
{
    const char *term = getenv("TERM");

    if (!term || !strcmp(term, "linux") || !strcmp(term, "dumb"))
        return;
    if (!g->asked) {
        g->asked = true;
        /* the one name that is as old as kitty's graphics: its first versions do not tell theirs */
        g->knows_kitty |= !strcmp(term, "xterm-kitty") && !show_is_multiplexed();
        buf_addstr(out, "\033]11;?\033\\\033[>q\033[16t");
        end_query(g, out);
    }
    if (g->knows_kitty && !g->asked_kitty && !g->answered) {
        g->asked_kitty = true;
        buf_addstr(out, "\033_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\033\\");
        end_query(g, out);
    }
}

/* "62;4;22c": what it can do; 4 is sixel. Other reports have other letters. */
static void take_attributes(struct graphics *g, const char *text)
{
    size_t len = strlen(text);

    if (!len || text[len - 1] != 'c')
        return;
    g->awaited -= g->awaited > 0;
    g->answered = !g->awaited;
    for (const char *p = strchr(text, ';'); p; p = strchr(p + 1, ';'))
        if (p[1] == '4' && (p[2] == ';' || p[2] == 'c'))
            g->sixel = true;
}

static void take_cell(struct graphics *g, const char *text)
{
    int height = 0, width = 0;

    if (sscanf(text, "%4d;%4d", &height, &width) == 2 && height >= 4 && width >= 2 && height <= 256
        && width <= 256) {
        g->cell_height = height;
        g->cell_width = width;
    }
}

static void take_kitty(struct graphics *g, const char *text)
{
    g->kitty = !strcmp(text, "i=31;OK");
}

/* Who the terminal says it is. Another one may take the query of kitty's graphics for something else, such as
 * tmux, for which it is the title of the pane. */
static const struct terminal_name {
    const char *begins;
    bool iterm2, kitty;
} names[] = {
    {"kitty(", false, true},  {"ghostty ", false, true}, {"Konsole ", false, true},
    {"WezTerm ", true, true}, {"iTerm2 ", true, false},
};

static void take_version(struct graphics *g, const char *text)
{
    for (size_t i = 0; i < countof(names); i++)
        if (!strncmp(text, names[i].begins, strlen(names[i].begins))) {
            g->iterm2 |= names[i].iterm2;
            g->knows_kitty |= names[i].kitty;
        }
}

/* "rgb:1e1e/1e1e/2e2e", with one to four digits each. */
static void take_background(struct graphics *g, const char *text)
{
    int32_t colour = 0;
    const char *p = text;

    if (strncmp(p, "rgb:", 4) != 0 && strncmp(p, "rgba:", 5) != 0)
        return;
    p = strchr(p, ':') + 1;
    for (int i = 0; i < 3; i++) {
        size_t n = strspn(p, "0123456789abcdefABCDEF");

        if (n < 1 || n > 4 || (i < 2 && p[n] != '/'))
            return;
        autofree char *digits = xmemdup0(p, n);
        colour = colour << 8 | (int32_t)(strtoul(digits, NULL, 16) * 255 / ((1u << 4 * n) - 1));
        p += n + 1;
    }
    g->background = colour;
}

#define ANY '@'

/* The replies that are taken out of what is typed. */
static const struct reply_form {
    const char *prefix;
    char final; /* the letter that ends its parameters; ANY; or 0: it is a string */
    void (*take)(struct graphics *g, const char *text); /* what stands between prefix and end */
} forms[] = {
    {"\033[?", ANY, take_attributes}, /* of any report */
    {"\033[6;", 't', take_cell},      /* ESC [ 6 ; 5 ~ is a key */
    {"\033_G", 0, take_kitty},        {"\033P>|", 0, take_version}, {"\033]11;", 0, take_background},
};

/* s follows the prefix. *text: how much of it the reply says. Returns as reply_length(), counted from s. */
static int parameters_length(char final, const char *s, size_t len, size_t *text)
{
    for (*text = 0; *text < len; ++*text) {
        char c = s[*text];

        if (c >= '@' && c <= '~')
            return final == ANY || c == final ? (int)*text + 1 : REPLY_NONE;
        if (c < '0' || c > '?')
            return REPLY_NONE;
    }
    return REPLY_BEGUN;
}

/* Ended by BEL or ESC \\; what breaks it off otherwise is not part of it. */
static int string_length(const char *s, size_t len, size_t *text)
{
    for (*text = 0; *text < len; ++*text) {
        const char *c = s + *text;

        if (*c == '\a')
            return (int)*text + 1;
        if (*c == '\033' && *text + 1 == len)
            return REPLY_BEGUN;
        if ((unsigned char)*c < ' ')
            return (int)*text + (*c == '\033' && c[1] == '\\' ? 2 : 0);
    }
    return REPLY_BEGUN;
}

static const struct reply_form *form_of(const char *s, size_t len, int *length, size_t *text)
{
    *length = REPLY_NONE;
    for (size_t i = 0; i < countof(forms); i++) {
        size_t n = strlen(forms[i].prefix);

        if (len < n && !memcmp(s, forms[i].prefix, len)) {
            *length = REPLY_MAYBE;
        } else if (len >= n && !memcmp(s, forms[i].prefix, n)) {
            int rest = forms[i].final ? parameters_length(forms[i].final, s + n, len - n, text)
                                      : string_length(s + n, len - n, text);

            *length = rest > 0 || (!rest && !forms[i].final) ? (int)n + rest : rest;
            if (*length == REPLY_BEGUN && len == REPLY_MAX)
                *length = REPLY_MAX;
            return &forms[i];
        }
    }
    return NULL;
}

int reply_length(const char *s, size_t len)
{
    size_t text;
    int length;

    if (!len || *s != '\033')
        return REPLY_NONE;
    if (len > REPLY_MAX)
        len = REPLY_MAX;
    form_of(s, len, &length, &text);
    return length;
}

void graphics_reply(struct graphics *g, const char *reply, size_t len)
{
    size_t n = 0;
    int length;
    const struct reply_form *f = form_of(reply, len, &length, &n);

    if (!f || length <= 0 || n > REPLY_MAX)
        return;
    autofree char *text = xmemdup0(reply + strlen(f->prefix), n + (f->final != 0)); /* with its letter */
    f->take(g, text);
}

enum graphics_way graphics_way(const struct graphics *g)
{
    return g->kitty          ? GRAPHICS_KITTY
           : g->placeholders ? GRAPHICS_PLACEHOLDERS
           : g->iterm2       ? GRAPHICS_ITERM2
           : g->sixel        ? GRAPHICS_SIXEL
                             : GRAPHICS_BLOCKS;
}

bool graphics_dark(const struct graphics *g)
{
    int red = g->background >> 16 & 255, green = g->background >> 8 & 255, blue = g->background & 255;

    return g->background >= 0 && 2 * red + 5 * green + blue < 8 * 128;
}
