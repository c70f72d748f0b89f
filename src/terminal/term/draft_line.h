/* draft_line.h - what is typed or pasted while an answer comes: a draft, and at most one message that Enter
 * has queued. Nothing here is sent: the editor begins its next line with the draft, and sends the queued
 * message when the answer is there (editor.c, begin_line). Knows nothing of readline.
 */
#ifndef TERM_DRAFT_LINE_H
#define TERM_DRAFT_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct key;

struct draft_line {
    struct buf text; /* with marks in place of long pastes (pastes.h) */
    char *queued;    /* or NULL */
    bool leaving;    /* Ctrl-D where nothing else was typed */
    bool cut;        /* it holds no more than QUESTION_MAX, and more was typed */
    enum { SEQUENCE_NONE, SEQUENCE_BEGUN, SEQUENCE_CSI } sequence; /* of an arrow or function key */
};

void draft_line_init(struct draft_line *d);
void draft_line_release(struct draft_line *d);
/* Take a KEY_CHAR. Enter queues the draft unless it is blank or something is queued, Escape takes back what
 * is queued; Backspace, Ctrl-W and Ctrl-U delete; arrows and their like do nothing. */
void draft_line_key(struct draft_line *d, const struct key *key);
void draft_line_add(struct draft_line *d, const char *text, size_t len);
/* Delete so many bytes at the end, which are whole characters. */
void draft_line_delete(struct draft_line *d, size_t len);
/* Put what is queued in front of the draft again. */
void draft_line_take_back(struct draft_line *d);

#endif
