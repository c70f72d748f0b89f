/* past.h - what the chat can show, copy or edit again of the questions that its conversation has: each with
 * its answer and the code that ran for it; and each run of code with its output, the user's own too. /undo
 * and /clear take away here what they take out of the conversation.
 */
#ifndef TERM_PAST_H
#define TERM_PAST_H

#include <stddef.h>
#include <stdint.h>

struct past {
    struct past_question {
        uint64_t serial; /* agent_question_serial() once it was asked; later ones have larger ones */
        char *question;  /* as it was typed, with the marks of its pastes */
        char *answer;    /* as it was shown, but not laid out; or NULL */
        char *code;      /* all that ran for it; or NULL */
    } * v;
    size_t n;
    struct past_run {
        uint64_t serial; /* as of the question that it ran for, or after */
        unsigned number; /* of the runs of that question, from 1; 0: the user's own code */
        unsigned cell;   /* its number in the session */
        char *code, *output;
    } * runs;
    size_t n_runs;
};

/* answer and code may be NULL; all are copied. The oldest of many are forgotten. */
void past_add(struct past *p, uint64_t serial, const char *question, const char *answer, const char *code);
/* Code has run. Takes over both texts; any number but 0 becomes the next of its question. */
void past_ran(struct past *p, struct past_run r);
/* The conversation ends with the question of that serial (0: it is empty): forget all later ones. */
void past_undo(struct past *p, uint64_t serial);
/* Of the last question that has one; or NULL. Valid until the next change. */
const char *past_answer(const struct past *p);
const char *past_code(const struct past *p);
const char *past_output(const struct past *p, unsigned cell); /* NULL: that cell is not kept */
const struct past_question *past_last(const struct past *p);  /* NULL: there is none */
void past_release(struct past *p);

#endif
