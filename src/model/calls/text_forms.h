/* text_forms.h - how models write calls and thoughts into their text, as data: one row for each form. It
 * knows no tool and reads nothing; text_calls.c reads the rows.
 *
 * A mark is a template. Its letters stand for themselves, a blank for any white space or none; the rest are
 * the slots below.
 */
#ifndef CALLS_TEXT_FORMS_H
#define CALLS_TEXT_FORMS_H

#include <stdbool.h>
#include <stddef.h>

#define NAME        "\1"  /* the name of a known tool */
#define KEY         "\2"  /* the name of an argument */
#define VALUE       "\3"  /* its value, raw, up to the mark that follows */
#define CALLS       "\4"  /* a JSON object that names a tool, or a list of such */
#define ARGUMENTS   "\5"  /* a JSON object */
#define PYTHON_LIST "\6"  /* [tool(...), ...] */
#define PYTHON_CALL "\7"  /* tool(...), or print(tool(...)) */
#define CODE        "\10" /* the code itself, up to the mark that follows */
#define FENCED      "\11" /* the same, up to the line that closes a fence */
#define FENCE       "\12" /* three backticks or more */
#define LINE_END    "\13"
#define ATTRIBUTES  "\14" /* whatever else is in a tag */
#define HARMONY     "\15" /* everything that follows, as harmony's channels */
#define TAG         "\16" /* some letters, up to the mark that follows */
#define EACH        "\17" /* what is between EACH and AGAIN occurs once or more often */
#define AGAIN       "\20"
#define WHOLE       "\21" /* complete from here on; the marks that follow may be missing */

enum form_slot { /* the same slots as numbers */
                 AT_NAME = 1,
                 AT_KEY,
                 AT_VALUE,
                 AT_CALLS,
                 AT_ARGUMENTS,
                 AT_PYTHON_LIST,
                 AT_PYTHON_CALL,
                 AT_CODE,
                 AT_FENCED,
                 AT_FENCE,
                 AT_LINE_END,
                 AT_ATTRIBUTES,
                 AT_HARMONY,
                 AT_TAG,
                 AT_EACH,
                 AT_AGAIN,
                 AT_WHOLE,
};

enum form_kind {
    FORM_CALL,
    /* at the start of a reply: reasoning up to close; later the tag is only being talked about */
    FORM_THOUGHT,
    /* the end of a thought whose beginning was left out: everything before it is reasoning */
    FORM_CLOSE,
    FORM_END, /* may follow a call: a closing tag or a special token */
};

/* FORM_WORD: a word or the end of a sentence comes before it, and white space; FORM_LINE: only white space on
 * its line */
enum form_place { FORM_ANYWHERE, FORM_WORD, FORM_LINE, FORM_START };

struct form {
    enum form_kind kind;
    enum form_place place;
    bool alone; /* It counts only where nothing but calls follows, because people write such things too. */
    const char *mark;
    const char *outer[4]; /* marks, one of which may come before it */
    const char *close;    /* FORM_THOUGHT */
};

/* In order of precedence where a text matches several. */
extern const struct form text_forms[];
extern const size_t text_forms_n;

#endif
