/* past.h - what the chat can show, copy or edit again of the questions that its conversation has: each with
 * its answer and the code that ran for it. /undo and /clear take away here what they take out of the
 * conversation.
 */
#ifndef TERM_PAST_H
#define TERM_PAST_H

#include <stddef.h>
#include <stdint.h>

struct past {
    struct past_question {
        uint64_t serial; /* agent_question_serial() once it was asked; later ones have larger ones */
        char *answer;    /* as it was shown, but not laid out; or NULL */
        char *code;      /* all that ran for it; or NULL */
    } * v;
    size_t n;
};

/* answer and code may be NULL; they are copied. The oldest of many are forgotten. */
void past_add(struct past *p, uint64_t serial, const char *answer, const char *code);
/* The conversation ends with the question of that serial (0: it is empty): forget all later ones. */
void past_undo(struct past *p, uint64_t serial);
/* Of the last question that has one; or NULL. Valid until the next change. */
const char *past_answer(const struct past *p);
const char *past_code(const struct past *p);
void past_release(struct past *p);

#endif
