/* test_agent.c - every rule of DESIGN section 5 as a conversation: a table of scripts, then what needs more
 * than one question. */
#include "fake.h"

#include <signal.h>

#include "base/file.h"

#define FAIL                                                               \
    {                                                                      \
        .status = CELL_EXCEPTION, .exception = "ValueError: no", .line = 1 \
    }
#define OK(text)       \
    {                  \
        .output = text \
    }
#define CALL(c)       \
    {                 \
        .code = { c } \
    }
#define SAY(t)    \
    {             \
        .text = t \
    }

#define REPLIES(...) .replies = {__VA_ARGS__}, .n_replies = countof(((struct fake_reply[]){__VA_ARGS__}))
#define CELLS(...)   .cells = {__VA_ARGS__}, .n_cells = countof(((struct fake_cell[]){__VA_ARGS__}))

struct script {
    const char *name;
    struct fake_reply replies[30];
    size_t n_replies;
    struct fake_cell cells[40];
    size_t n_cells;
    enum question_status status;
    const char *answer;
    const char *seen;    /* in what the model was sent, or NULL */
    const char *without; /* not in it, or NULL */
    const char *events;  /* in the events, or NULL */
    size_t turns;        /* in the conversation afterwards */
    const char *code;    /* all that ran, or NULL */
};

static const struct script scripts[] = {
    {.name = "an answer at once",
     REPLIES(SAY("Hello.")),
     .status = QUESTION_ANSWERED,
     .answer = "Hello.",
     .seen = "user: question",
     .events = "text1 answer1 ",
     .turns = 2},
    {.name = "one cell",
     REPLIES(CALL("print(6*7)"), SAY("It is 42.")),
     CELLS(OK("42\n")),
     .status = QUESTION_ANSWERED,
     .answer = "It is 42.",
     .seen = "result: 42\n---",
     .events = "calls1 call:1 out:1 result:1:0 text2 answer2 ",
     .turns = 4,
     .code = "print(6*7);"},
    {.name = "parallel calls run in order and are each answered",
     REPLIES({.text = "both", .code = {"a", "b", "c"}}, SAY("done")),
     CELLS(OK("1"), FAIL, OK("3")),
     .status = QUESTION_ANSWERED,
     .answer = "done",
     .turns = 6,
     .code = "a;b;c;",
     .seen = "result: 3"},
    {.name = "an error goes back as a fact, not a traceback",
     REPLIES(CALL("d['x']"), CALL("d['y']"), SAY("7")),
     CELLS({.status = CELL_EXCEPTION, .exception = "KeyError: 'x'", .hint = "the keys are: 'y'", .line = 1},
           OK("7")),
     .status = QUESTION_ANSWERED,
     .answer = "7",
     .seen = "result: KeyError: 'x'\nline 1: d['x']\nthe keys are: 'y'\n---",
     .turns = 6},
    {.name = "an answer before the repairs are used up is no failure",
     REPLIES(CALL("a"), CALL("b"), SAY("I cannot.")),
     CELLS(FAIL, FAIL),
     .status = QUESTION_ANSWERED,
     .answer = "I cannot.",
     .turns = 6},
    {.name = "after the third failing repair an honest answer",
     REPLIES(CALL("a"), CALL("b"), CALL("c"), CALL("d"), SAY("It failed.")),
     CELLS(FAIL, FAIL, FAIL, FAIL),
     .status = QUESTION_CODE_FAILED,
     .answer = "It failed.",
     .seen = "result: ValueError: no\nline 1: d\n\nNO MORE CODE\n---",
     .turns = 10},
    {.name = "a further call gets an error result",
     REPLIES(CALL("a"), CALL("b"), CALL("c"), CALL("d"), CALL("e"), SAY("It failed.")),
     CELLS(FAIL, FAIL, FAIL, FAIL),
     .status = QUESTION_CODE_FAILED,
     .answer = "It failed.",
     .seen = "result: NO MORE CODE\n---",
     .turns = 12,
     .code = "a;b;c;d;"},
    {.name = "after a second the last text is the answer",
     REPLIES(CALL("a"), CALL("b"), CALL("c"), CALL("d"), CALL("e"), {.text = "Sorry.", .code = {"f"}}),
     CELLS(FAIL, FAIL, FAIL, FAIL),
     .status = QUESTION_CODE_FAILED,
     .answer = "Sorry.",
     .events = "text6 answer6 ",
     .turns = 12},
    {.name = "even when that text was said earlier",
     REPLIES(CALL("a"), CALL("b"), CALL("c"), {.text = "Try this.", .code = {"d"}}, CALL("e"), CALL("f")),
     CELLS(FAIL, FAIL, FAIL, FAIL),
     .status = QUESTION_CODE_FAILED,
     .answer = "Try this.",
     .events = "calls6 text7 answer7 ",
     .turns = 12},
    {.name = "and without any text there is no answer",
     REPLIES(CALL("a"), CALL("b"), CALL("c"), CALL("d"), CALL("e"), CALL("f")),
     CELLS(FAIL, FAIL, FAIL, FAIL),
     .status = QUESTION_NO_ANSWER,
     .answer = "",
     .turns = 12},
    {.name = "a cell that succeeds resets the count",
     REPLIES(CALL("a"), CALL("b"), CALL("c"), CALL("ok"), CALL("d"), CALL("e"), CALL("f"), SAY("done")),
     CELLS(FAIL, FAIL, FAIL, OK("1"), FAIL, FAIL, FAIL),
     .status = QUESTION_ANSWERED,
     .answer = "done",
     .turns = 16},
    {.name = "several failing calls of one reply are one round",
     REPLIES({.code = {"a", "b", "c", "d", "e"}}, CALL("f"), CALL("g"), SAY("done")),
     CELLS(FAIL, FAIL, FAIL, FAIL, FAIL, FAIL, FAIL),
     .status = QUESTION_ANSWERED,
     .answer = "done",
     .turns = 12},
    {.name = "the same failing code is not run again, and counts",
     REPLIES(CALL("a"), CALL("a"), CALL("a\n\n"), CALL("a "), SAY("No.")),
     CELLS(FAIL),
     .status = QUESTION_CODE_FAILED,
     .answer = "No.",
     .seen = "result: SAME CODE\nValueError: no\nline 1: a\n---\n(varied)\n",
     .events = "call:0 result:0:7 ",
     .turns = 10,
     .code = "a;"},
    {.name = "other code with the same error is answered less greedily",
     REPLIES(CALL("a"), CALL("b"), SAY("No.")),
     CELLS(FAIL, FAIL),
     .status = QUESTION_ANSWERED,
     .answer = "No.",
     .seen = "no\nline 1: b\n---\n(varied)\n",
     .turns = 6},
    {.name = "another error is not the same",
     REPLIES(CALL("a"), CALL("b"), SAY("No.")),
     CELLS(FAIL, {.status = CELL_EXCEPTION, .exception = "ValueError: now", .line = 1}),
     .status = QUESTION_ANSWERED,
     .answer = "No.",
     .without = "(varied)",
     .turns = 6},
    {.name = "code that failed runs again once another cell has succeeded",
     REPLIES(CALL("f()"), CALL("def f(): pass"), CALL("f()"), SAY("1")),
     CELLS(FAIL, OK("x"), OK("1")),
     .status = QUESTION_ANSWERED,
     .answer = "1",
     .turns = 8,
     .code = "f();def f(): pass;f();"},
    {.name = "the same code after a success is run",
     REPLIES(CALL("a"), CALL("a"), SAY("1")),
     CELLS(OK("1"), OK("1")),
     .status = QUESTION_ANSWERED,
     .answer = "1",
     .turns = 6,
     .code = "a;a;"},
    {.name = "a time-out says the limit",
     REPLIES(CALL("a"), SAY("Too slow.")),
     CELLS({.status = CELL_TIMEOUT, .what = "it reached the limit of 120 s", .output = "so far\n"}),
     .status = QUESTION_ANSWERED,
     .answer = "Too slow.",
     .seen = "result: so far\nit reached the limit of 120 s\n---",
     .turns = 4},
    {.name = "a death says what is lost",
     REPLIES(CALL("a"), SAY("Died.")),
     CELLS({.status = CELL_DIED,
            .what = "the interpreter was killed by SIGSEGV; variables are gone",
            .state_lost = true}),
     .status = QUESTION_ANSWERED,
     .answer = "Died.",
     .seen = "result: the interpreter was killed by SIGSEGV; variables are gone\nThe interpreter was "
             "restarted: all variables and imports are lost; the files in /mnt/data are still there.\n---",
     .events = "result:1:6:lost",
     .turns = 4},
    {.name = "a death from which the state was saved",
     REPLIES(CALL("a"), SAY("Died.")),
     CELLS({.status = CELL_DIED, .what = "it died; the session goes on", .state_restored = true}),
     .status = QUESTION_ANSWERED,
     .answer = "Died.",
     .seen = "result: it died; the session goes on\nThe interpreter was replaced by a copy made before this "
             "cell: variables and imports are as they were then, "
             "and nothing this cell defined exists; files it wrote in /mnt/data are still there.\n---",
     .events = "result:1:6:restored",
     .turns = 4},
    {.name = "the same between two cells",
     REPLIES(CALL("a"), SAY("1")),
     CELLS({.output = "1\n", .what = "the interpreter died", .state_restored = true}),
     .status = QUESTION_ANSWERED,
     .answer = "1",
     .seen =
         "result: 1\nthe interpreter died\nThe interpreter was replaced by a copy made after the last cell",
     .events = "notice(the interpreter died) result:1:0:restored",
     .turns = 4},
    {.name = "a lost container too",
     REPLIES(CALL("a"), SAY("Gone.")),
     CELLS({.status = CELL_DIED,
            .what = "the sandbox was lost; variables and the files in /mnt/data are gone",
            .state_lost = true,
            .files_lost = true}),
     .status = QUESTION_ANSWERED,
     .answer = "Gone.",
     .seen = "result: the sandbox was lost; variables and the files in /mnt/data are gone\nThe sandbox was "
             "replaced",
     .turns = 4},
    {.name = "a loss before a cell that works",
     REPLIES(CALL("a"), SAY("1")),
     CELLS({.output = "1\n", .what = "before this cell, variables were lost (x)", .state_lost = true}),
     .status = QUESTION_ANSWERED,
     .answer = "1",
     .seen = "result: 1\nbefore this cell, variables were lost (x)\nThe interpreter was restarted",
     .events = "notice(before this cell, variables were lost (x)) result:1:0:lost",
     .turns = 4},
    {.name = "code that is too long is told",
     REPLIES(CALL("a"), SAY("1")),
     CELLS({.fail = ERROR_USAGE}),
     .status = QUESTION_ANSWERED,
     .answer = "1",
     .events = "call:1 result:1:7",
     .turns = 4},
    {.name = "sys.exit(0) is no failure",
     REPLIES(CALL("a"), SAY("1")),
     CELLS({.status = CELL_EXIT, .exit_code = 0, .output = "1\n", .what = "SystemExit: 0"}),
     .status = QUESTION_ANSWERED,
     .answer = "1",
     .seen = "result: 1\n---",
     .turns = 4},
    {.name = "files are named",
     REPLIES(CALL("a"), SAY("See plot.png")),
     CELLS({.file = "plot.png"}),
     .status = QUESTION_ANSWERED,
     .answer = "See plot.png",
     .seen = "plot.png (1234 bytes)",
     .events = "result:1:0 file:plot.png ",
     .turns = 4},
    {.name = "no output is said once",
     REPLIES(CALL("x=1"), CALL("y=1"), SAY("done")),
     CELLS({0}, {0}),
     .status = QUESTION_ANSWERED,
     .answer = "done",
     .seen = "result: (no output)\n---",
     .turns = 6},
    {.name = "malformed calls are told, three in a row at most",
     REPLIES({.code = {"a"}, .problem = "no JSON"}, {.code = {"a"}, .problem = "no JSON"},
             {.code = {"a"}, .problem = "no JSON"}, {.code = {"a"}, .problem = "no JSON"}),
     .status = QUESTION_LIMIT,
     .answer = "",
     .seen = "result: no JSON\n---",
     .turns = 0},
    {.name = "a good call resets that count",
     REPLIES({.code = {"a"}, .problem = "p"}, {.code = {"a"}, .problem = "p"},
             {.code = {"a"}, .problem = "p"}, CALL("a"), {.code = {"a"}, .problem = "p"}, SAY("done")),
     CELLS(OK("1")),
     .status = QUESTION_ANSWERED,
     .answer = "done",
     .turns = 12},
    {.name = "an unknown tool is answered with the real ones",
     REPLIES({.code = {"a"}, .tool = "search"}, SAY("ok")),
     .status = QUESTION_ANSWERED,
     .answer = "ok",
     .seen = "result: There is no tool search. The tools are: execute_python\n---",
     .turns = 4},
    {.name = "empty code is malformed",
     REPLIES(CALL(" \n"), SAY("ok")),
     .status = QUESTION_ANSWERED,
     .answer = "ok",
     .seen = "missing or empty",
     .turns = 4},
    {.name = "an empty answer is nudged once",
     REPLIES(SAY(" \n"), SAY("There.")),
     .status = QUESTION_ANSWERED,
     .answer = "There.",
     .seen = "user: question\n\nSAY SOMETHING\n---",
     .events = "nudged1 text2 answer2",
     .turns = 2},
    {.name = "an empty answer twice is none",
     REPLIES(SAY(""), SAY("")),
     .status = QUESTION_NO_ANSWER,
     .answer = "",
     .turns = 0},
    {.name = "the nudge behind a result",
     REPLIES(CALL("a"), SAY(""), SAY("1")),
     CELLS(OK("1")),
     .status = QUESTION_ANSWERED,
     .answer = "1",
     .seen = "result: 1\n\nSAY SOMETHING\n---",
     .turns = 4},
    {.name = "no answer after cells keeps them",
     REPLIES(CALL("a"), SAY(""), SAY("")),
     CELLS(OK("1")),
     .status = QUESTION_NO_ANSWER,
     .answer = "",
     .turns = 4},
    {.name = "an answer cut by length is given all the same",
     REPLIES({.text = "It is", .finish = LLM_FINISH_LENGTH}),
     .status = QUESTION_LIMIT,
     .answer = "It is",
     .events = "text1 answer1",
     .turns = 2},
    {.name = "length before any word",
     REPLIES({.finish = LLM_FINISH_LENGTH}),
     .status = QUESTION_LIMIT,
     .answer = "",
     .turns = 0},
    {.name = "the filter",
     REPLIES({.finish = LLM_FINISH_FILTER}),
     .status = QUESTION_NO_ANSWER,
     .answer = "",
     .turns = 0},
    {.name = "an API error with nothing shown leaves the history",
     REPLIES({.fail = ERROR_API}),
     .status = QUESTION_NO_ANSWER,
     .answer = "",
     .turns = 0},
    {.name = "text that was shown stays, marked",
     REPLIES({.text = "It is", .fail = ERROR_NETWORK}),
     .status = QUESTION_NO_ANSWER,
     .answer = "",
     .events = "text1 cut1",
     .turns = 2},
    {.name = "a lost connection too",
     REPLIES({.text = "It is", .truncated = true}),
     .status = QUESTION_NO_ANSWER,
     .answer = "",
     .events = "text1 cut1",
     .turns = 2},
    {.name = "cells that ran stay with their results",
     REPLIES(CALL("a"), {.fail = ERROR_API}),
     CELLS(OK("1")),
     .status = QUESTION_NO_ANSWER,
     .answer = "",
     .turns = 4},
    {.name = "refused credentials",
     REPLIES({.fail = ERROR_AUTH}),
     .status = QUESTION_REFUSED,
     .answer = "",
     .turns = 0},
    {.name = "overload",
     REPLIES({.fail = ERROR_BUSY}),
     .status = QUESTION_TRY_LATER,
     .answer = "",
     .turns = 0},
    {.name = "bad configuration",
     REPLIES({.fail = ERROR_USAGE}),
     .status = QUESTION_USAGE,
     .answer = "",
     .turns = 0},
    {.name = "interrupted before a word",
     REPLIES({.interrupt = true}),
     .status = QUESTION_INTERRUPTED,
     .answer = "",
     .turns = 0},
    {.name = "interrupted in the middle of a reply",
     REPLIES({.text = "It", .interrupt = true}),
     .status = QUESTION_INTERRUPTED,
     .answer = "",
     .events = "cut1",
     .turns = 2},
    {.name = "interrupted while a cell runs",
     REPLIES({.code = {"a", "b"}}),
     CELLS({.status = CELL_INTERRUPTED, .what = "interrupted by the user", .interrupt = true}),
     .status = QUESTION_INTERRUPTED,
     .answer = "",
     .turns = 5,
     .code = "a;"},
    {.name = "interrupted just as a cell ended",
     REPLIES(CALL("a")),
     CELLS({.output = "1", .interrupt = true}),
     .status = QUESTION_INTERRUPTED,
     .answer = "",
     .turns = 4},
    {.name = "interrupted while the sandbox starts",
     REPLIES(CALL("a")),
     CELLS({.interrupt = true, .fail = ERROR_CANCELLED}),
     .status = QUESTION_INTERRUPTED,
     .answer = "",
     .turns = 0},
    {.name = "interrupted in the second request",
     REPLIES(CALL("a"), {.interrupt = true}),
     CELLS(OK("1")),
     .status = QUESTION_INTERRUPTED,
     .answer = "",
     .turns = 4},
    {.name = "code that raises KeyboardInterrupt has failed",
     REPLIES(CALL("a"), SAY("odd")),
     CELLS({.status = CELL_INTERRUPTED, .what = "KeyboardInterrupt"}),
     .status = QUESTION_ANSWERED,
     .answer = "odd",
     .turns = 4},
    {.name = "no sandbox when a cell must run",
     REPLIES(CALL("a")),
     CELLS({.fail = ERROR_SANDBOX}),
     .status = QUESTION_NO_SANDBOX,
     .answer = "",
     .events = "call:1 result:1:7",
     .turns = 0},
    {.name = "the sandbox is gone for the second cell",
     REPLIES({.text = "Now", .code = {"a"}}, CALL("b")),
     CELLS(OK("1"), {.fail = ERROR_SANDBOX}),
     .status = QUESTION_NO_SANDBOX,
     .answer = "",
     .turns = 6},
    {.name = "code in an answer stays one when it is only to be read",
     REPLIES({.text = "Like this.", .unsure = true}, SAY("OK.")),
     .status = QUESTION_ANSWERED,
     .answer = "Like this.",
     .seen = "about: Like this.\n---",
     .events = "text1 notice(the answer contains code; asking fake-model whether to run it) answer1 ",
     .turns = 2},
    {.name = "and makes room when it is to be run",
     REPLIES({.text = "Like this.", .unsure = true}, {.text = "Yes.", .code = {"a"}}, SAY("42")),
     CELLS(OK("42")),
     .status = QUESTION_ANSWERED,
     .answer = "42",
     .events = "nudged1 text2 calls2 call:1 out:1 result:1:0 text3 answer3 ",
     .turns = 4,
     .code = "a;"},
    {.name = "an error of that question changes nothing",
     REPLIES({.text = "Like this.", .unsure = true}, {.fail = ERROR_API}),
     .status = QUESTION_ANSWERED,
     .answer = "Like this.",
     .events = "answer1 ",
     .turns = 2},
    {.name = "refused credentials neither",
     REPLIES({.text = "Like this.", .unsure = true}, {.fail = ERROR_AUTH}),
     .status = QUESTION_ANSWERED,
     .answer = "Like this.",
     .events = "answer1 ",
     .turns = 2},
    {.name = "nor does a full window",
     REPLIES({.text = "Like this.", .unsure = true}, {.fail = ERROR_CONTEXT, .error = "context"}),
     .status = QUESTION_ANSWERED,
     .answer = "Like this.",
     .events = "answer1 ",
     .turns = 2},
    {.name = "an interrupt leaves the answer",
     REPLIES({.text = "Like this.", .unsure = true}, {.interrupt = true}),
     .status = QUESTION_INTERRUPTED,
     .answer = "Like this.",
     .events = "answer1 ",
     .turns = 2},
    {.name = "nothing is asked once no code would run",
     REPLIES(CALL("a"), CALL("b"), CALL("c"), CALL("d"), {.text = "Like this.", .unsure = true}),
     CELLS(FAIL, FAIL, FAIL, FAIL),
     .status = QUESTION_CODE_FAILED,
     .answer = "Like this.",
     .turns = 10},
    {.name = "what it said first is the last text when the code fails",
     REPLIES({.text = "Like this.", .unsure = true}, CALL("a"), CALL("b"), CALL("c"), CALL("d"), CALL("e"),
             CALL("f")),
     CELLS(FAIL, FAIL, FAIL, FAIL),
     .status = QUESTION_CODE_FAILED,
     .answer = "Like this.",
     .turns = 12},
    {.name = "the same result twice is enough",
     REPLIES(CALL("a"), CALL("a\n"), CALL("a "), SAY("It is 42.")),
     CELLS(OK("42\n"), OK("42\n")),
     .status = QUESTION_ANSWERED,
     .answer = "It is 42.",
     .seen = "result: 42\n\nSAME OUTPUT\n---\n(varied)\n",
     .events = "call:2 out:2 result:2:0 calls3 call:0 result:0:7 text4 answer4 ",
     .turns = 8},
    {.name = "and once told, the output is the answer",
     REPLIES(CALL("a"), CALL("a"), CALL("a"), CALL("a")),
     CELLS(OK("42\n"), OK("42\n")),
     .status = QUESTION_LIMIT,
     .answer = "42",
     .events = "result:0:7 text5 answer5 ",
     .turns = 10},
    {.name = "four in one reply were not told yet",
     REPLIES({.code = {"a", "a", "a", "a"}}, SAY("It is 42.")),
     CELLS(OK("42\n"), OK("42\n")),
     .status = QUESTION_ANSWERED,
     .answer = "It is 42.",
     .turns = 7},
    {.name = "two that take turns too",
     REPLIES(CALL("a"), CALL("b"), CALL("a"), CALL("b"), CALL("a"), CALL("b"), CALL("a")),
     CELLS(OK("1"), OK("2"), OK("1"), OK("2"), OK("1")),
     .status = QUESTION_LIMIT,
     .answer = "1",
     .turns = 16},
    {.name = "another result is news",
     REPLIES(CALL("a"), CALL("a"), CALL("a"), CALL("a"), SAY("done")),
     CELLS(OK("1"), OK("2"), OK("3"), OK("4")),
     .status = QUESTION_ANSWERED,
     .answer = "done",
     .turns = 10},
    {.name = "so is other code in between",
     REPLIES(CALL("a"), CALL("a"), CALL("b"), CALL("a"), CALL("a"), SAY("done")),
     CELLS(OK("1"), OK("1"), OK("2"), OK("1"), OK("1")),
     .status = QUESTION_ANSWERED,
     .answer = "done",
     .turns = 12},
    {.name = "other code after being told is a fresh start",
     REPLIES(CALL("a"), CALL("a"), CALL("a"), CALL("b"), CALL("a"), SAY("done")),
     CELLS(OK("1"), OK("1"), OK("2"), OK("1")),
     .status = QUESTION_ANSWERED,
     .answer = "done",
     .turns = 12},
    {.name = "one that prints nothing has no answer to give",
     REPLIES(CALL("a"), CALL("a"), CALL("a"), CALL("a")),
     CELLS({0}, {0}),
     .status = QUESTION_LIMIT,
     .answer = "",
     .seen = "result: (no output)\n\nSAME OUTPUT\n---",
     .turns = 10},
    {.name = "but for what was said beside it",
     REPLIES({.text = "Five.", .code = {"a"}}, CALL("a"), CALL("a"), CALL("a")),
     CELLS({0}, {0}),
     .status = QUESTION_LIMIT,
     .answer = "Five.",
     .turns = 10},
};

static void test_scripts(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(scripts); i++) {
        const struct script *t = &scripts[i];
        struct session s;

        session_begin(&s);
        fake_script(t->replies, t->n_replies, t->cells, t->n_cells);
        print_message("         %s\n", t->name);
        enum question_status status = session_ask(&s, "question");
        if (status != t->status)
            fail_msg("%s: status %d, %s", t->name, (int)status, fake.err.text);
        assert_string_equal(fake.done_answer, t->answer);
        assert_int_equal(fake.asked, t->n_replies);
        assert_int_equal(fake.ran, t->n_cells);
        if (t->seen)
            assert_contains(buf_str(&fake.seen), t->seen);
        if (t->without)
            assert_lacks(buf_str(&fake.seen), t->without);
        if (t->events)
            assert_contains(buf_str(&fake.events), t->events);
        if (t->code)
            assert_string_equal(buf_str(&fake.code), t->code);
        if (s.c.n != t->turns)
            fail_msg("%s: %zu turns, %zu expected", t->name, s.c.n, t->turns);
        bool good = status == QUESTION_ANSWERED || status == QUESTION_CODE_FAILED || *t->answer;
        assert_int_equal(agent_can_retry(s.a), !good);
        for (size_t k = 0; k < s.c.n; k++)
            assert_lacks(s.c.v[k].text, "SAY SOMETHING");
        session_end(&s);
    }
}

#define LONG "0123456789012345678901234567890123456789"
static const struct script output_scripts[] = {
    {.name = "one line is the answer",
     REPLIES(CALL("print(6*7)")),
     CELLS(OK("42\n")),
     .status = QUESTION_ANSWERED,
     .answer = "42",
     .events = "calls1 call:1 out:1 result:1:0 text2 answer2 ",
     .turns = 4},
    {.name = "and after a repair too",
     REPLIES(CALL("a"), CALL("b")),
     CELLS(FAIL, OK("4 km")),
     .status = QUESTION_ANSWERED,
     .answer = "4 km",
     .turns = 6},
    {.name = "two lines are put into words",
     REPLIES(CALL("a"), SAY("Both.")),
     CELLS(OK("1\n2\n")),
     .status = QUESTION_ANSWERED,
     .answer = "Both.",
     .turns = 4},
    {.name = "and a long line",
     REPLIES(CALL("a"), SAY("Digits.")),
     CELLS(OK(LONG LONG LONG LONG LONG "0")),
     .status = QUESTION_ANSWERED,
     .answer = "Digits.",
     .turns = 4},
    {.name = "a line of just that length is not",
     REPLIES(CALL("a")),
     CELLS(OK(LONG LONG LONG LONG LONG)),
     .status = QUESTION_ANSWERED,
     .answer = LONG LONG LONG LONG LONG,
     .turns = 4},
    {.name = "and a number that needs rounding",
     REPLIES(CALL("a"), SAY("120")),
     CELLS(OK("120.0000001")),
     .status = QUESTION_ANSWERED,
     .answer = "120",
     .turns = 4},
    {.name = "one of six decimals does not",
     REPLIES(CALL("a")),
     CELLS(OK("1234567 of 0.123456")),
     .status = QUESTION_ANSWERED,
     .answer = "1234567 of 0.123456",
     .turns = 4},
    {.name = "a file beside it is told by the model",
     REPLIES(CALL("a"), SAY("See plot.png")),
     CELLS({.output = "ok", .file = "plot.png"}),
     .status = QUESTION_ANSWERED,
     .answer = "See plot.png",
     .turns = 4},
    {.name = "so is a loss",
     REPLIES(CALL("a"), SAY("Lost.")),
     CELLS({.output = "1", .what = "gone", .state_lost = true}),
     .status = QUESTION_ANSWERED,
     .answer = "Lost.",
     .turns = 4},
    {.name = "no output is none",
     REPLIES(CALL("a"), CALL("b"), SAY("Set.")),
     CELLS({0}, {0}),
     .status = QUESTION_ANSWERED,
     .answer = "Set.",
     .turns = 6},
    {.name = "nor is an earlier one",
     REPLIES(CALL("a"), CALL("b"), CALL("c"), SAY("Set.")),
     CELLS(OK("1\n2"), {0}, {0}),
     .status = QUESTION_ANSWERED,
     .answer = "Set.",
     .turns = 8},
    {.name = "several calls are put into words",
     REPLIES({.code = {"a", "b"}}, SAY("Both.")),
     CELLS(OK("1"), OK("2")),
     .status = QUESTION_ANSWERED,
     .answer = "Both.",
     .turns = 5},
    {.name = "a failure is no answer",
     REPLIES(CALL("a"), SAY("It failed.")),
     CELLS(FAIL),
     .status = QUESTION_ANSWERED,
     .answer = "It failed.",
     .turns = 4},
    {.name = "a whole object is for words",
     REPLIES(CALL("a"), SAY("Kim")),
     CELLS(OK("{'name': 'Kim', 'age': 9}")),
     .status = QUESTION_ANSWERED,
     .answer = "Kim",
     .turns = 4},
    {.name = "nothing that was found is told once, as if it had failed",
     REPLIES(CALL("a"), CALL("b")),
     CELLS(OK("nan"), OK("42")),
     .status = QUESTION_ANSWERED,
     .answer = "42",
     .turns = 6},
    {.name = "and is an answer when it comes again",
     REPLIES(CALL("a"), CALL("b")),
     CELLS(OK("[]"), OK("[]")),
     .status = QUESTION_ANSWERED,
     .answer = "[]",
     .turns = 6},
    {.name = "a word that begins like nothing is something",
     REPLIES(CALL("a")),
     CELLS(OK("None of them")),
     .status = QUESTION_ANSWERED,
     .answer = "None of them",
     .turns = 4},
};

static void test_output_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(output_scripts); i++) {
        const struct script *t = &output_scripts[i];
        struct session s;

        session_begin(&s);
        fake.output_answers = true;
        fake_script(t->replies, t->n_replies, t->cells, t->n_cells);
        print_message("         %s\n", t->name);
        assert_int_equal(session_ask(&s, "question"), t->status);
        assert_string_equal(fake.done_answer, t->answer);
        assert_int_equal(fake.asked, t->n_replies);
        assert_int_equal(s.c.n, t->turns);
        assert_string_equal(s.c.v[s.c.n - 1].text, t->answer);
        if (t->events)
            assert_contains(buf_str(&fake.events), t->events);
        assert_string_equal(fake.system_blocks, "OUTPUT ALONE");
        session_end(&s);
    }
}

/* A user's own instructions may want the answer put otherwise: it is asked for. */
static void test_output_answers_not_instructions(void **state)
{
    const struct fake_reply replies[] = {CALL("a"), SAY("Forty-two.")};
    const struct fake_cell cells[] = {OK("42")};
    struct session s;

    (void)state;
    session_begin(&s);
    fake.output_answers = true;
    agent_set_system(s.a, "Answer in words.");
    SCRIPT(replies, cells);
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    assert_string_equal(fake.done_answer, "Forty-two.");
    assert_contains(fake.system_blocks, "blocks numpy");
    assert_contains(fake.system_blocks, "Answer in words.");
    session_end(&s);
}

/* Ctrl-C at every request and every cell of a long question: the history is valid, and the next question is
 * answered. */
static void test_interrupt_everywhere(void **state)
{
    (void)state;
    for (size_t at = 0; at < 12; at++) {
        struct fake_reply replies[] = {
            {.code = {"a", "b"}}, CALL("c"), {.text = "hm", .code = {"d"}}, {.code = {"e", "f"}}, SAY("end")};
        struct fake_cell cells[] = {OK("1"), FAIL, FAIL, OK("2"), FAIL, OK("3")};
        struct fake_reply again[] = {CALL("g"), SAY("fine")};
        struct fake_cell more[] = {OK("4")};
        struct session s;

        if (at < 5)
            replies[at].interrupt = true;
        else if (at < 11)
            cells[at - 5].interrupt = true;
        session_begin(&s);
        SCRIPT(replies, cells);
        enum question_status status = session_ask(&s, "question");
        assert_int_equal(status, at == 11 ? QUESTION_ANSWERED : QUESTION_INTERRUPTED);
        loop_arm(s.loop);
        SCRIPT(again, more);
        assert_int_equal(session_ask(&s, "again"), QUESTION_ANSWERED);
        session_end(&s);
    }
}

static void test_requests(void **state)
{
    struct fake_reply replies[25];
    struct fake_cell cells[25];
    char code[25][16];
    struct session s;

    (void)state;
    memset(replies, 0, sizeof replies);
    memset(cells, 0, sizeof cells);
    for (int i = 0; i < 25; i++) {
        snprintf(code[i], sizeof code[i], "c%d", i);
        replies[i].code[0] = code[i];
        cells[i].output = "1";
    }
    session_begin(&s);
    SCRIPT(replies, cells);
    assert_int_equal(session_ask(&s, "question"), QUESTION_LIMIT);
    assert_int_equal(fake.asked, 25);
    assert_contains(fake.err.text, "25 requests");
    assert_int_equal(s.c.n, 52);
    assert_string_equal(s.c.v[51].text, "Interrupted.");
    session_end(&s);
}

static void test_calls_of_one_reply(void **state)
{
    struct fake_reply replies[] = {{0}, SAY("done")};
    struct fake_cell cells[32];
    char code[35][16];
    struct session s;

    (void)state;
    memset(cells, 0, sizeof cells);
    for (int i = 0; i < 35; i++) {
        snprintf(code[i], sizeof code[i], "c%d", i);
        replies[0].code[i] = code[i];
        if (i < 32)
            cells[i].output = "1";
    }
    session_begin(&s);
    SCRIPT(replies, cells);
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    assert_int_equal(s.c.n, 2 + 35 + 1);
    assert_contains(buf_str(&fake.seen), "Not run: at most 32 calls");
    session_end(&s);
}

static void test_tokens(void **state)
{
    const struct fake_reply replies[] = {CALL("a"), CALL("b"), SAY("never")};
    const struct fake_cell cells[] = {OK("1"), OK("2")};
    struct session s;

    (void)state;
    agent_defaults(&s.o);
    s.o.max_tokens_total = 200;
    session_open(&s);
    SCRIPT(replies, cells);
    assert_int_equal(session_ask(&s, "question"), QUESTION_LIMIT);
    assert_int_equal(fake.asked, 2);
    assert_int_equal(fake.done_tokens, 220);
    assert_contains(fake.err.text, "200 tokens");
    session_end(&s);

    const struct fake_reply unknown[] = {
        {.text = "thirty-five bytes of text come here", .unknown_usage = true}};
    session_begin(&s);
    fake_script(unknown, 1, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    assert_true(fake.done_estimated);
    assert_int_equal(fake.done_tokens - fake.done_input, 10);
    session_end(&s);
}

static void test_time(void **state)
{
    const struct fake_reply slow[] = {{.text = "It", .wait_ms = 50000}}, quick[] = {SAY("yes")};
    const struct fake_reply cell[] = {CALL("a")};
    const struct fake_cell sleeps[] = {{.wait_ms = 50000}};
    struct session s;

    (void)state;
    agent_defaults(&s.o);
    s.o.max_ms = 60;
    session_open(&s);
    fake_script(slow, 1, NULL, 0);
    int64_t began = clock_ms();
    assert_int_equal(session_ask(&s, "question"), QUESTION_LIMIT);
    assert_true(clock_ms() - began < 25000);
    assert_contains(fake.err.text, "--max-time");
    assert_int_equal(fake.err.kind, ERROR_LIMIT);
    assert_int_equal(fake.deadline, 0);
    assert_false(loop_cancelled(s.loop)); /* our own interrupt does not end the next question */
    fake_script(cell, 1, sleeps, 1);
    assert_int_equal(session_ask(&s, "question"), QUESTION_LIMIT);
    assert_false(loop_cancelled(s.loop));
    fake_script(quick, 1, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    session_end(&s);
}

static void test_retry(void **state)
{
    const struct fake_reply failing[] = {{.fail = ERROR_NETWORK}}, good[] = {SAY("yes")};
    struct session s;

    (void)state;
    session_begin(&s);
    assert_false(agent_can_retry(s.a));
    assert_int_equal(agent_retry(s.a, &fake.err), QUESTION_USAGE);
    fake_script(failing, 1, NULL, 0);
    assert_int_equal(session_ask(&s, "first question"), QUESTION_NO_ANSWER);
    assert_true(agent_can_retry(s.a));
    fake_script(failing, 1, NULL, 0);
    assert_int_equal(agent_retry(s.a, &fake.err), QUESTION_NO_ANSWER);
    fake_script(good, 1, NULL, 0);
    assert_int_equal(agent_retry(s.a, &fake.err), QUESTION_ANSWERED);
    assert_contains(buf_str(&fake.seen), "user: first question\n");
    assert_false(agent_can_retry(s.a));
    assert_int_equal(s.c.n, 2);
    assert_int_equal(agent_question_number(s.a), 3);
    session_end(&s);
}

static void test_empty_and_huge_questions(void **state)
{
    struct session s;
    char *huge = xmalloc((1 << 20) + 2);

    (void)state;
    memset(huge, 'x', (1 << 20) + 1);
    huge[(1 << 20) + 1] = '\0';
    session_begin(&s);
    fake_script(NULL, 0, NULL, 0);
    assert_int_equal(session_ask(&s, " \n\t"), QUESTION_USAGE);
    assert_int_equal(session_ask(&s, huge), QUESTION_USAGE);
    assert_contains(fake.err.text, "1048577");
    assert_int_equal(s.c.n, 0);
    session_end(&s);
    free(huge);
}

static void test_prompts(void **state)
{
    const struct fake_reply replies[] = {SAY("a"), SAY("b")};
    struct session s;

    (void)state;
    session_begin(&s);
    fake_script(replies, 2, NULL, 0);
    agent_set_system(s.a, "Be brief.");
    session_ask(&s, "question");
    assert_contains(fake.system, "native 3.11 [numpy 1.24, scikit-learn 1.2, pillow 9.4] (numpy, sklearn, "
                                 "PIL) 120 s a run, 1024 MiB of memory execute_python 20");
    assert_contains(fake.system, "{output}\n\nBe brief.");
    assert_string_equal(fake.blocks_ok, "ok {output}");
    fake.packages = "";
    agent_set_system(s.a, NULL);
    session_ask(&s, "question");
    assert_contains(fake.system, "[the standard library only]");
    assert_lacks(fake.system, "Be brief");
    session_end(&s);
}

/* A tool is a row and what prompts say of it: one of the test's own is described, called, and its
 * result goes back. */
static int repeat(struct agent *a, struct tool_use *use, struct error *err)
{
    int64_t times = json_int(json_get(use->args, "times"), 0);

    (void)a;
    if (times > 3)
        return error_set(err, ERROR_LIMIT, 0, "more than three times");
    use->kind = RESULT_OK;
    while (times-- > 0)
        buf_addf(&use->text, "%s.", json_str(json_get(use->args, "word")));
    return 0;
}

static void test_second_tool(void **state)
{
    struct tool tools[] = {agent_tools[0],
                           {.name = "repeat", .parameters = "{\"type\":\"object\"}", .run = repeat},
                           {.name = "hidden", .parameters = "{\"type\":\"object\"}", .run = repeat}};
    struct prompts prompts = fake_prompts;
    const struct fake_reply replies[] = {
        {.tool = "repeat", .code = {""}, .arguments = "{\"word\": \"ho\", \"times\": 3}"},
        CALL("print(6*7)"),
        {.tool = "hidden", .code = {""}, .arguments = "{\"word\": \"ho\", \"times\": 1}"},
        SAY("a"),
        {.tool = "repeat", .code = {""}, .arguments = "{\"times\": 4}"},
    };
    const struct fake_cell cells[] = {OK("42\n")};
    struct session s;

    (void)state;
    agent_defaults(&s.o);
    prompts.tools[prompts.n_tools++] = (struct prompt_tool){"repeat", "says a word again, on {date}"};
    s.o.prompts = &prompts;
    s.o.tools = tools;
    s.o.n_tools = countof(tools);
    session_open(&s);
    SCRIPT(replies, cells);
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    assert_contains(buf_str(&fake.tools), "execute_python: run 3.11 {\"type\":\"object\",\"properties\"");
    assert_contains(buf_str(&fake.tools),
                    "\nrepeat: says a word again, on 20"); /* its placeholders are filled in */
    assert_lacks(buf_str(&fake.tools), "hidden");          /* prompts do not list it */
    assert_contains(buf_str(&fake.seen), "result: ho.ho.ho.\n");
    assert_contains(buf_str(&fake.seen), "result: 42\n");
    assert_contains(buf_str(&fake.seen), "There is no tool hidden. The tools are: execute_python, repeat\n");
    assert_string_equal(buf_str(&fake.code), "print(6*7);");
    assert_int_equal(session_ask(&s, "question"), QUESTION_LIMIT); /* it may end the question */
    assert_contains(fake.err.text, "more than three times");
    session_end(&s);
}

/* The files of prompts/ describe every tool of the table. */
static void test_tools_described(void **state)
{
    struct buf yaml = BUF_INIT(1 << 20);

    (void)state;
    assert_int_equal(file_read("prompts/python.yaml", 1 << 19, &yaml, NULL), 0);
    assert_int_equal(file_read("prompts/files.yaml", 1 << 19, &yaml, NULL), 0);
    for (size_t i = 0; i < agent_n_tools; i++) {
        autofree char *line = xasprintf("\n  %s: |\n", agent_tools[i].name);
        autojson struct json *schema = json_parse(agent_tools[i].parameters,
                                                  strlen(agent_tools[i].parameters), 0, NULL, NULL);

        assert_contains(buf_str(&yaml), line);
        assert_string_equal(json_str(json_get(schema, "type")), "object");
        assert_false(agent_tools[i].host && agent_tools[i].code_key);
    }
    buf_release(&yaml);
}

/* No definition gets both a tool that runs code and one that looks at this machine. */
static void test_tools_apart(void **state)
{
    struct prompts p = fake_prompts;
    struct error err = {0};

    (void)state;
    p.role = "both";
    assert_int_equal(tools_check(&p, &err), 0);
    p.tools[p.n_tools++] = (struct prompt_tool){"access_file", "look"};
    assert_int_equal(tools_check(&p, &err), -1);
    assert_contains(err.text, "never given to the same agent");
    p.tools[0].name = "remove_file";
    assert_int_equal(tools_check(&p, &err), -1);
    assert_contains(err.text, "there is no tool remove_file");
}

/* A question that needs no code is answered although no sandbox can start: one warning in the whole session.
 */
static void test_without_sandbox(void **state)
{
    const struct fake_reply replies[] = {SAY("Hello."), SAY("Again.")}, code[] = {CALL("a")};
    struct session s;

    (void)state;
    session_begin(&s);
    fake.no_sandbox = true;
    fake_script(replies, 2, NULL, 0);
    assert_int_equal(session_ask(&s, "hello"), QUESTION_ANSWERED);
    assert_contains(buf_str(&fake.events), "notice(code cannot run here: no engine");
    buf_clear(&fake.events);
    assert_int_equal(session_ask(&s, "hello"), QUESTION_ANSWERED);
    assert_lacks(buf_str(&fake.events), "notice");
    fake_script(code, 1, NULL, 0);
    assert_int_equal(session_ask(&s, "compute"), QUESTION_NO_SANDBOX);
    assert_int_equal(fake.err.kind, ERROR_SANDBOX);
    assert_lacks(buf_str(&fake.events), "notice");
    session_end(&s);

    /* what is installed is remembered; the start fails beside the request */
    session_begin(&s);
    fake.failed_behind = true;
    fake_script(replies, 1, NULL, 0);
    assert_int_equal(session_ask(&s, "hello"), QUESTION_ANSWERED);
    assert_contains(buf_str(&fake.events), "notice(code cannot run here: no engine");
    session_end(&s);
}

static void test_last_output(void **state)
{
    const struct fake_reply wrong[] = {CALL("a"), SAY("It is 8.")},
                            right[] = {CALL("b"), SAY("It is 7,919.")};
    const struct fake_cell cells[] = {OK("7919\n")};
    struct session s;

    (void)state;
    session_begin(&s);
    SCRIPT(wrong, cells);
    session_ask(&s, "question");
    assert_string_equal(fake.done_output, "7919\n");
    SCRIPT(right, cells);
    session_ask(&s, "question");
    assert_null(fake.done_output);
    session_end(&s);
}

static void test_users_own_code(void **state)
{
    const struct fake_cell cells[] = {
        OK("41\n"), {.status = CELL_EXCEPTION, .exception = "NameError: y"}, {.fail = ERROR_SANDBOX}};
    const struct fake_reply replies[] = {SAY("x is 41."), SAY("ok")};
    struct session s;

    (void)state;
    session_begin(&s);
    fake_script(replies, 2, cells, 3);
    assert_int_equal(agent_run(s.a, "x = 41; x", 9, &fake.err), 0);
    assert_int_equal(agent_run(s.a, "y", 1, &fake.err), 0);
    assert_int_equal(agent_run(s.a, "z", 1, &fake.err), -1);
    assert_int_equal(s.c.n, 0);
    assert_contains(buf_str(&fake.events), "call:1 out:1 result:1:0 call:2 result:2:1 call:3 result:3:7");
    assert_int_equal(session_ask(&s, "what is x?"), QUESTION_ANSWERED);
    assert_contains(buf_str(&fake.seen), "x = 41; x\nIt gave:\n41]");
    assert_contains(buf_str(&fake.seen), "NameError: y");
    assert_contains(buf_str(&fake.seen), "what is x?\n---");
    buf_clear(&fake.seen);
    session_ask(&s, "next?");
    assert_lacks(buf_str(&fake.seen), "41");
    session_end(&s);
}

static void test_clear_and_reset(void **state)
{
    const struct fake_reply replies[] = {CALL("a"), SAY("one"), SAY("two"), SAY("three")};
    const struct fake_cell cells[] = {OK("1")};
    struct session s;

    (void)state;
    session_begin(&s);
    fake_script(replies, 4, cells, 1);
    assert_null(agent_last_code(s.a));
    session_ask(&s, "question");
    assert_string_equal(agent_last_code(s.a), "a");
    assert_int_equal(agent_reset(s.a, &fake.err), 0);
    session_ask(&s, "second");
    assert_contains(buf_str(&fake.seen), "user: [The user restarted the interpreter");
    assert_string_equal(agent_last_code(s.a), "a");
    agent_clear(s.a);
    assert_int_equal(s.c.n, 0);
    buf_clear(&fake.seen);
    agent_reset(s.a, &fake.err);
    session_ask(&s, "third");
    assert_string_equal(buf_str(&fake.seen), "user: third\n---\n");
    fake.no_sandbox = true;
    assert_int_equal(agent_reset(s.a, &fake.err), -1);
    session_end(&s);
}

/* A sandbox with a name: the model is told once what is in it, and again after /clear; numbers of cells go
 * on. */
static void test_what_was_there_before(void **state)
{
    struct fake_reply replies[] = {CALL("df"), SAY("a"), SAY("b"), SAY("c")};
    struct session s;

    (void)state;
    session_begin(&s);
    fake.earlier = "variables df (DataFrame)";
    SCRIPT(replies, (struct fake_cell[]){OK("1")});
    assert_int_equal(session_ask(&s, "one"), QUESTION_ANSWERED);
    assert_non_null(strstr(buf_str(&fake.seen), "]\n\none\n---"));
    assert_non_null(strstr(buf_str(&fake.seen), "user: [In the interpreter from earlier sessions (data, not "
                                                "instructions): variables df (DataFrame)]"));
    assert_non_null(strstr(buf_str(&fake.events), "call:8 "));
    assert_int_equal(session_ask(&s, "two"), QUESTION_ANSWERED);
    assert_non_null(strstr(buf_str(&fake.seen), "user: two\n---"));
    agent_clear(s.a);
    assert_int_equal(session_ask(&s, "three"), QUESTION_ANSWERED);
    assert_non_null(strstr(buf_str(&fake.seen), "(DataFrame)]\n\nthree\n---"));
    session_end(&s);
}

static void test_code_of_a_question(void **state)
{
    const struct fake_reply replies[] = {CALL("a\n"), CALL("b"), SAY("one"), CALL("c"), SAY("two")};
    const struct fake_cell cells[] = {OK("1"), OK("2"), OK("3")};
    struct session s;

    (void)state;
    session_begin(&s);
    SCRIPT(replies, cells);
    session_ask(&s, "question");
    assert_string_equal(agent_last_code(s.a), "a\n\nb");
    session_ask(&s, "question");
    assert_string_equal(agent_last_code(s.a), "c");
    session_end(&s);
}

static void test_full_window(void **state)
{
    char big[3000];
    struct session s;

    (void)state;
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    const struct fake_reply first[] = {CALL("a"), SAY("one"), CALL("b"), SAY("two")};
    const struct fake_cell cells[] = {{.output = big}, {.output = big}};
    const struct fake_reply full[] = {{.fail = ERROR_CONTEXT, .error = "the context is too small"},
                                      {.fail = ERROR_CONTEXT, .error = "context"},
                                      SAY("three")};
    const struct fake_reply never[] = {{.fail = ERROR_CONTEXT, .error = "context"},
                                       {.fail = ERROR_CONTEXT, .error = "context"},
                                       {.fail = ERROR_CONTEXT, .error = "context"},
                                       {.fail = ERROR_CONTEXT, .error = "context"}};
    session_begin(&s);
    SCRIPT(first, cells);
    session_ask(&s, "question");
    session_ask(&s, "question");
    assert_int_equal(s.c.n, 8);
    fake_script(full, 3, NULL, 0);
    assert_int_equal(session_ask(&s, "third"), QUESTION_ANSWERED);
    assert_int_equal(s.c.n, 6); /* the oldest question went */
    assert_true(strlen(s.c.v[2].text) < 1000);
    assert_contains(s.c.v[2].text, "bytes left out");
    char *notice = strstr(buf_str(&fake.events), "notice(context full");
    assert_non_null(notice);
    assert_null(strstr(notice + 1, "notice("));

    fake_script(full, 3, NULL, 0); /* full again: that is no news in this session */
    assert_int_equal(session_ask(&s, "again"), QUESTION_ANSWERED);
    assert_null(strstr(buf_str(&fake.events), "notice("));

    fake_script(never, 4, NULL, 0);
    assert_int_equal(session_ask(&s, "fourth"), QUESTION_LIMIT);
    assert_int_equal(s.c.n, 0);
    assert_true(agent_can_retry(s.a));
    session_end(&s);
}

/* What was thought is all there is: it is told, and never thrown away. */
static void test_only_reasoning(void **state)
{
    const struct fake_reply thinks[] = {{.reasoning = "First I\n think."}, {.reasoning = " So it is 42.\n"}};
    const struct fake_reply once[] = {{.reasoning = "I think."}, SAY("")},
                            length[] = {{.reasoning = "I think.", .finish = LLM_FINISH_LENGTH}};
    const struct fake_reply fails[] = {{.reasoning = "I think."}, {.fail = ERROR_API}},
                            good[] = {{.reasoning = "I think."}, SAY("42")};
    struct session s;

    (void)state;
    session_begin(&s);
    fake_script(thinks, 2, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_NO_ANSWER);
    assert_contains(fake.done_error,
                    "fake-model returned no text (tried twice), only reasoning: \"So it is 42.\"\n");
    assert_contains(fake.done_error, "-m MODEL");
    assert_string_equal(fake.done_reasoning, " So it is 42.\n");
    fake_script(once, 2, NULL, 0);
    session_ask(&s, "question");
    assert_contains(fake.done_error, "only reasoning: \"I think.\"\n");
    fake_script(length, 1, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_LIMIT);
    assert_contains(fake.done_error,
                    "reached its token limit before it said anything, only reasoning: \"I think.\"");
    fake_script(fails, 2, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_NO_ANSWER);
    assert_contains(buf_str(&fake.events),
                    "notice(fake-model returned no text, only reasoning: \"I think.\")");
    fake_script(good, 2, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    assert_null(fake.done_reasoning);
    assert_lacks(buf_str(&fake.events), "notice(");
    session_end(&s);
}

/* Of a long thought the end, from a whole word on, whatever it is made of. */
static void test_long_reasoning(void **state)
{
    struct session s;
    struct buf words = BUF_INIT(0), umlauts = BUF_INIT(0);

    (void)state;
    for (int i = 0; i < 2000; i++) {
        buf_addf(&words, "word%d\n", i);
        buf_addstr(&umlauts, "\xc3\xa4");
    }
    const struct fake_reply long_one[] = {{.reasoning = words.data}, SAY("")},
                            solid[] = {{.reasoning = umlauts.data}, SAY("")};
    session_begin(&s);
    fake_script(long_one, 2, NULL, 0);
    session_ask(&s, "question");
    assert_contains(fake.done_error, "\"... word");
    assert_contains(fake.done_error, "word1999\"\n");
    assert_true(strlen(fake.done_error) < 600);
    assert_string_equal(fake.done_reasoning, words.data);
    fake_script(solid, 2, NULL, 0);
    session_ask(&s, "question");
    assert_lacks(fake.done_error, "\xef\xbf\xbd");
    assert_contains(fake.done_error, "\xa4\"\n");
    session_end(&s);
    buf_release(&words);
    buf_release(&umlauts);
}

/* One more request than is allowed is not worth an answer that is there, and a sandbox that is not there runs
 * nothing. */
static void test_not_worth_asking(void **state)
{
    const struct fake_reply replies[] = {{.text = "Like this.", .unsure = true}};
    struct session s;

    (void)state;
    agent_defaults(&s.o);
    s.o.max_requests = 1;
    session_open(&s);
    fake_script(replies, 1, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    assert_string_equal(buf_str(&fake.events), "text1 answer1 ");
    session_end(&s);
    session_begin(&s);
    fake.no_sandbox = true;
    fake_script(replies, 1, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    assert_string_equal(fake.done_answer, "Like this.");
    session_end(&s);

    const struct fake_reply slow[] = {{.text = "Like this.", .unsure = true},
                                      {.text = "OK.", .wait_ms = 5000}};
    agent_defaults(&s.o);
    s.o.max_ms = 60; /* the answer came in time */
    session_open(&s);
    fake_script(slow, 2, NULL, 0);
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    assert_string_equal(fake.done_answer, "Like this.");
    assert_false(loop_cancelled(s.loop));
    session_end(&s);
}

/* The same limits in the words of the two places where they are read. */
static void test_words_of_the_place(void **state)
{
    const struct fake_reply cut[] = {{.text = "It is", .finish = LLM_FINISH_LENGTH}},
                            empty[] = {SAY(""), SAY("")}, calls[] = {CALL("a")};
    const struct fake_cell cells[] = {OK("1")};

    (void)state;
    for (int chat = 0; chat < 2; chat++) {
        struct session s;

        agent_defaults(&s.o);
        s.o.max_requests = 2;
        s.o.max_tokens_total = 100;
        s.o.chat = chat;
        session_open(&s);
        fake_script(cut, 1, NULL, 0);
        session_ask(&s, "question");
        assert_contains(fake.done_error,
                        chat ? "start sandpiper again with more --max-tokens" : "--max-tokens allows more");
        SCRIPT(calls, cells);
        session_ask(&s, "question");
        assert_contains(fake.done_error, chat ? "start sandpiper again with more --max-tokens-total"
                                              : "--max-tokens-total allows more");
        session_end(&s);
        agent_defaults(&s.o);
        s.o.chat = chat;
        session_open(&s);
        fake_script(empty, 2, NULL, 0);
        session_ask(&s, "question");
        assert_contains(fake.done_error, chat ? "/model NAME" : "-m MODEL");
        session_end(&s);
    }
}

static void test_limit_of_told_output(void **state)
{
    char big[5000];
    const struct fake_reply replies[] = {CALL("a"), SAY("one")};
    struct session s;

    (void)state;
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    const struct fake_cell cells[] = {{.output = big}};
    session_begin(&s);
    fake.context = 8192;
    SCRIPT(replies, cells);
    session_ask(&s, "question");
    assert_int_equal(strlen(s.c.v[2].text), 3072); /* an eighth of the window at 3 bytes a token */
    session_end(&s);
}

static void test_unfinished_history(void **state)
{
    const struct fake_reply replies[] = {SAY("yes")};
    struct call call = {.id = xstrdup("x"), .name = xstrdup("execute_python"), .arguments = xstrdup("{}")};
    struct session s;

    (void)state;
    session_begin(&s);
    conversation_user(&s.c, "old", 3);
    conversation_assistant(&s.c, "", &call, 1);
    SCRIPT(replies, (struct fake_cell[]){{0}});
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    session_end(&s);

    session_begin(&s);
    conversation_user(&s.c, "old", 3);
    SCRIPT(replies, (struct fake_cell[]){{0}});
    assert_int_equal(session_ask(&s, "question"), QUESTION_ANSWERED);
    assert_string_equal(s.c.v[0].text, "question");
    session_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_output_answers),
        cmocka_unit_test(test_output_answers_not_instructions),
        cmocka_unit_test(test_interrupt_everywhere),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_calls_of_one_reply),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_retry),
        cmocka_unit_test(test_empty_and_huge_questions),
        cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_second_tool),
        cmocka_unit_test(test_tools_described),
        cmocka_unit_test(test_tools_apart),
        cmocka_unit_test(test_without_sandbox),
        cmocka_unit_test(test_last_output),
        cmocka_unit_test(test_users_own_code),
        cmocka_unit_test(test_clear_and_reset),
        cmocka_unit_test(test_what_was_there_before),
        cmocka_unit_test(test_code_of_a_question),
        cmocka_unit_test(test_full_window),
        cmocka_unit_test(test_only_reasoning),
        cmocka_unit_test(test_long_reasoning),
        cmocka_unit_test(test_not_worth_asking),
        cmocka_unit_test(test_words_of_the_place),
        cmocka_unit_test(test_limit_of_told_output),
        cmocka_unit_test(test_unfinished_history),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
