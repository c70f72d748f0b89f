/* draft_line.c - edits the draft by its end: the editor that comes after the answer has all the rest. */
#include "term/draft_line.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conversation/conversation.h"
#include "term/keys.h"

#define CTRL_D    0x04
#define CTRL_U    0x15
#define CTRL_W    0x17
#define ESCAPE    0x1b
#define BACKSPACE 0x7f

void draft_line_init(struct draft_line *d)
{
    *d = (struct draft_line){0};
    buf_init(&d->text, QUESTION_MAX);
}

void draft_line_release(struct draft_line *d)
{
    buf_release(&d->text);
    free(steal(&d->queued));
}

void draft_line_add(struct draft_line *d, const char *text, size_t len)
{
    if (d->text.len + len < QUESTION_MAX)
        buf_add(&d->text, text, len);
    else
        d->cut = true;
}

static void cut_to(struct draft_line *d, size_t len)
{
    d->text.len = len;
    buf_end(&d->text);
}

void draft_line_delete(struct draft_line *d, size_t len)
{
    cut_to(d, d->text.len - len);
}

static void delete_character(struct draft_line *d)
{
    size_t n = d->text.len;

    while (n > 0 && ((unsigned char)d->text.data[n - 1] & 0xc0) == 0x80)
        n--;
    if (d->text.len > 0)
        cut_to(d, n > 0 ? n - 1 : 0);
}

static void delete_word(struct draft_line *d)
{
    size_t n = d->text.len;

    while (n > 0 && strchr(" \n", d->text.data[n - 1]))
        n--;
    while (n > 0 && !strchr(" \n", d->text.data[n - 1]))
        n--;
    if (d->text.len > 0)
        cut_to(d, n);
}

static void queue_draft(struct draft_line *d)
{
    if (d->queued || text_is_blank(buf_str(&d->text)))
        return;
    d->queued = xstrdup(buf_str(&d->text));
    buf_clear(&d->text);
}

void draft_line_take_back(struct draft_line *d)
{
    autofree char *after = xstrdup(buf_str(&d->text));

    if (!d->queued)
        return;
    buf_clear(&d->text);
    buf_addstr(&d->text, d->queued);
    if (*after && !buf_addf(&d->text, "\n%s", after))
        d->cut = true;
    free(steal(&d->queued));
}

/* Is this byte part of an escape sequence? */
static bool in_sequence(struct draft_line *d, unsigned char c)
{
    if (d->sequence == SEQUENCE_NONE)
        return false;
    if (d->sequence == SEQUENCE_BEGUN)
        d->sequence = c == '[' || c == 'O' ? SEQUENCE_CSI : SEQUENCE_NONE;
    else if (c >= '@' && c <= '~')
        d->sequence = SEQUENCE_NONE;
    return true;
}

void draft_line_key(struct draft_line *d, const struct key *key)
{
    unsigned char c = (unsigned char)key->bytes[0];

    if (in_sequence(d, c))
        return;
    if (c == ESCAPE && key->more)
        d->sequence = SEQUENCE_BEGUN;
    else if (c == ESCAPE)
        draft_line_take_back(d);
    else if (c == '\r' || c == '\n')
        queue_draft(d);
    else if (c == BACKSPACE || c == '\b')
        delete_character(d);
    else if (c == CTRL_U)
        cut_to(d, 0);
    else if (c == CTRL_W)
        delete_word(d);
    else if (c == CTRL_D)
        d->leaving = !d->text.len && !d->queued;
    else if (c >= ' ' || c == '\t')
        draft_line_add(d, key->bytes, key->n);
}
