/* scrub.c - drops from text what a terminal would obey. There are two stages. Bytes become characters
 * (invalid ones U+FFFD); characters pass through the states of a terminal's escape parser, so that whatever
 * a terminal would take for a sequence is recognised and dropped.
 */
#include "base/scrub.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"

enum {
    GIVE_UP = 4096, /* bytes after which an unfinished sequence is given up */
    MARKS = 8,      /* combining marks allowed in a row */
};

enum scrub_state {
    GROUND,
    ESCAPE,        /* after ESC */
    ESCAPE_MIDDLE, /* after ESC and 0x20..0x2f: charset selection and the like */
    CSI,
    OSC,        /* ends with BEL or ST */
    STRING,     /* DCS, APC, PM, SOS, and screen's window title: end with ST only */
    OSC_ESCAPE, /* ESC inside a string: the first half of ST, or the start of another sequence */
    STRING_ESCAPE,
};

void scrub_init(struct scrub *s, enum scrub_for target)
{
    *s = (struct scrub){.target = target};
}

/* Characters without a shape of their own that can hide or reorder text (Trojan Source, ASCII smuggling by
 * tags and variation selectors). Combining marks are not among them. */
static bool invisible(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},     {0x115f, 0x1160}, {0x17b4, 0x17b5},
        {0x180b, 0x180f},   {0x200b, 0x200f},   {0x202a, 0x202e},   {0x2060, 0x206f}, {0x3164, 0x3164},
        {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},   {0xfff0, 0xfffb}, {0x13430, 0x1343f},
        {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    };
    if (c < 0xad)
        return false;
    for (size_t i = 0; i < countof(ranges) && c >= ranges[i].first; i++) {
        if (c <= ranges[i].last)
            return true;
    }
    return false;
}

/* A joiner belongs to the script or emoji in front of it (Persian, the languages of India, families), one
 * at a time; anywhere else it only hides something. */
static bool is_joiner(const struct scrub *s, uint32_t c)
{
    bool script = (s->last >= 0x600 && s->last <= 0x109f) || (s->last >= 0x1780 && s->last <= 0x18af);
    bool emoji = (s->last >= 0x2190 && s->last <= 0x2bff) || (s->last >= 0x1f000 && s->last <= 0x1faff);

    return (c == 0x200c && script) || (c == 0x200d && (script || emoji));
}

/* Write a printable character for the target; it is outside any sequence. */
static void print(struct scrub *s, uint32_t c, struct buf *out)
{
    if (s->target == SCRUB_TERMINAL && c >= 0x80) {
        if (c == 0x2028 || c == 0x2029)
            c = '\n';
        if (invisible(c) && !is_joiner(s, c))
            /* Keep counting marks: scrubbing the result again must change nothing. */
            return;
        if (c != '\n' && utf8_width(c) == 0) {
            if (++s->marks > MARKS)
                return;
            utf8_add(out, c);
            s->last = c == 0x200c || c == 0x200d ? 0 : s->last;
            return;
        }
    }
    s->last = c;
    s->marks = 0;
    if (c < 0x80)
        buf_addch(out, (char)c);
    else
        utf8_add(out, c);
}

/* A carriage return is kept or dropped by what follows it directly. */
static void settle_cr(struct scrub *s, uint32_t next, struct buf *out)
{
    if (!s->cr)
        return;
    s->cr = false;
    if (s->target == SCRUB_PIPE) {
        if (next == '\n')
            buf_addch(out, '\r');
    } else if (next != '\n') {
        buf_addch(out, '\n'); /* a progress bar overwriting its line */
        s->marks = 0;
    }
}

static void begin_sequence(struct scrub *s, enum scrub_state state)
{
    s->state = state;
    s->eaten = 0;
}

/* The kind of sequence that ESC and this letter begin, and so does the C1 control of the same number; GROUND:
 * none. */
static enum scrub_state sequence_of(uint32_t letter)
{
    switch (letter) {
    case '[':
        return CSI;
    case ']':
        return OSC;
    case 'P':
    case 'X':
    case '^':
    case '_':
        return STRING;
    default:
        return GROUND;
    }
}

static void ground(struct scrub *s, uint32_t c, struct buf *out)
{
    settle_cr(s, c, out);
    if (c == '\r')
        s->cr = true;
    else if (c == 0x1b)
        begin_sequence(s, ESCAPE);
    else if (c >= 0x80 && c < 0xa0)
        begin_sequence(s, sequence_of(c - 0x40));
    else if (c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f))
        print(s, c, out);
}

/* Handle the character after ESC. True if it belonged to the sequence. */
static bool after_escape(struct scrub *s, uint32_t c)
{
    enum scrub_state next = c == 'k' ? STRING : sequence_of(c);

    if (c == 0x1b)
        return true;
    if (next != GROUND)
        begin_sequence(s, next);
    else
        s->state = c >= 0x20 && c <= 0x2f ? ESCAPE_MIDDLE : GROUND;
    return c >= 0x20 && c <= 0x7e;
}

/* Handle a character within OSC and the like. */
static void in_string(struct scrub *s, uint32_t c)
{
    bool osc = s->state == OSC;
    if (c == 0x9c || c == 0x18 || c == 0x1a || (osc && c == 0x07))
        s->state = GROUND;
    else if (c == 0x1b)
        s->state = osc ? OSC_ESCAPE : STRING_ESCAPE;
}

static void feed_char(struct scrub *s, uint32_t c, unsigned bytes, struct buf *out)
{
    if (s->state == GROUND) {
        ground(s, c, out);
        return;
    }
    s->eaten += bytes;
    bool ours = true; /* the character is part of the sequence */
    switch ((enum scrub_state)s->state) {
    case ESCAPE:
        ours = after_escape(s, c);
        break;
    case ESCAPE_MIDDLE:
        if (c < 0x20 || c > 0x2f) {
            s->state = GROUND;
            ours = c >= 0x30 && c <= 0x7e;
        }
        break;
    case CSI:
        if (c < 0x20 || c > 0x3f) {
            s->state = GROUND;
            ours = c >= 0x40 && c <= 0x7e;
        }
        break;
    case OSC:
    case STRING:
        in_string(s, c);
        break;
    case OSC_ESCAPE:
    case STRING_ESCAPE:
        if (c == '\\')
            s->state = GROUND;
        else /* a terminal drops the string and begins the new sequence */
            ours = after_escape(s, c);
        break;
    case GROUND:
        break;
    }
    if (!ours)
        ground(s, c, out);
    else if (s->state != GROUND && s->eaten >= GIVE_UP)
        s->state = GROUND;
}

/* Length of the run of bytes that every target shows unchanged: most of any text. */
static size_t plain_run(const char *text, size_t len)
{
    size_t i = 0;
    while (i < len
           && (((unsigned char)text[i] >= 0x20 && (unsigned char)text[i] < 0x7f) || text[i] == '\n'
               || text[i] == '\t'))
        i++;
    return i;
}

static void feed_byte(struct scrub *s, char byte, struct buf *out)
{
    uint32_t c;
    s->part[s->n_part++] = byte;
    int n = utf8_decode(s->part, s->n_part, &c);
    if (n == 0)
        return;
    unsigned had = s->n_part;
    s->n_part = 0;
    if (n > 0) {
        feed_char(s, c, had, out);
    } else if (had == 1) {
        feed_char(s, 0xfffd, 1, out);
    } else {
        /* A character was cut short: write one U+FFFD for it and start again with this byte. */
        feed_char(s, 0xfffd, had - 1, out);
        feed_byte(s, byte, out);
    }
}

void scrub_feed(struct scrub *s, const char *text, size_t len, struct buf *out)
{
    size_t i = 0;
    while (i < len) {
        if (s->state == GROUND && s->n_part == 0 && !s->cr) {
            size_t run = plain_run(text + i, len - i);
            if (run > 0) {
                buf_add(out, text + i, run);
                s->marks = s->last = 0;
                i += run;
                continue;
            }
        }
        feed_byte(s, text[i++], out);
    }
}

void scrub_end(struct scrub *s, struct buf *out)
{
    if (s->n_part > 0)
        feed_char(s, 0xfffd, s->n_part, out);
    if (s->state == GROUND)
        settle_cr(s, 0, out);
    scrub_init(s, s->target);
}

void scrub_text(const char *text, size_t len, enum scrub_for target, struct buf *out)
{
    struct scrub s;
    scrub_init(&s, target);
    scrub_feed(&s, text, len, out);
    scrub_end(&s, out);
}

char *scrub_line(const char *text, enum scrub_for target)
{
    struct buf out = BUF_INIT(0);
    size_t kept = 0;
    scrub_text(text, strlen(text), target, &out);
    for (size_t i = 0; i < out.len; i++) {
        char c = out.data[i];
        if (c != '\r')
            out.data[kept++] = c == '\n' || c == '\t' ? ' ' : c;
    }
    buf_cut(&out, kept);
    return buf_steal(&out, NULL);
}
