/* private.h - what the files of src/agent share: the agent, one question, and the small steps between them.
 */
#ifndef AGENT_PRIVATE_H
#define AGENT_PRIVATE_H

#include "agent/agent.h"
#include "agent/budget.h"
#include "agent/tools.h"
#include "base/buf.h"
#include "base/error.h"
#include "chat/prompts.h"
#include "llm/llm.h"
#include "sandbox/sandbox.h"

#define ATTACH_WHOLE \
    4096 /* text of at most so many bytes is shown to the model whole, less where the window is small */
#define TOLD_MAX    (64 * 1024)  /* most bytes of a cell's output that a model is given */
#define PENDING_MAX (128 * 1024) /* most bytes of data blocks and notes before a question */

struct question {
    unsigned number;
    size_t start;            /* index of its user turn in the conversation */
    int64_t began, deadline; /* clock_ms(); deadline 0: none */
    bool late;               /* the deadline passed: the interrupt of the loop is our own */
    unsigned reply;          /* the reply that streams, from 1 */
    unsigned cells;          /* that ran */
    struct budget budget;
    struct prompts texts; /* with their placeholders filled in */
    int64_t input, output;
    bool estimated;
    /* the same failing code or the same error came again: greedy sampling would go round in a circle */
    bool vary;
    bool nudge_now; /* the next request carries the nudge after an empty answer */
    bool told_no_output;
    bool thought_told; /* the error says what was thought */
    char *answer;      /* or NULL */
    char *last_text;   /* of the latest reply with a text, answer or not; or NULL */
    char *thought;     /* the reasoning of the latest reply that had nothing else; or NULL */
    char *good;        /* last good output of code; or NULL */
    /* why a file of its code is not on this machine, and what would help; or NULL */
    char *undelivered;
    char *undelivered_name; /* which */
};

/* A file that was attached, what its profile says, and whether code that ran has named it. */
struct known_file {
    char *name, *profile;
    bool read;
};

struct agent {
    struct agent_options o; /* strings owned below */
    char *system;
    struct llm *llm;
    struct sandbox *sandbox;
    struct conversation *c;
    struct loop *loop;
    event_fn *event;
    void *event_ctx;
    unsigned number;          /* questions asked */
    unsigned cells;           /* cells run in this session */
    bool told_earlier;        /* the model knows what earlier programs left in the sandbox */
    bool told_full;           /* the user was told that the window is full: once a session is enough */
    struct question *q;       /* while one is asked, else NULL */
    struct buf pending;       /* data blocks and notes for the next question */
    struct buf profiles;      /* the same, of files that are shown by a profile alone; in front of it */
    struct known_file *known; /* files attached in this conversation that have a profile */
    size_t n_known;
    char **attached; /* names put since the last question that went into the history */
    size_t n_attached;
    char *retry; /* the last question when it failed, or NULL */
    size_t retry_len;
    struct buf code;         /* all code of the last question that ran any */
    unsigned code_question;  /* which question that was */
    struct error no_sandbox; /* why it cannot start, when that is known */
    bool sandbox_warned;     /* the user was told so */
};

/* agent.c */
/* the interrupt of the loop is our own: the question's time is over */
bool agent_out_of_time(const struct agent *a);

/* ask.c */
/* Short output of code is the answer: the profile of the model says so. A user's own instructions may want it
 * put otherwise. */
bool agent_output_answers(const struct agent *a);
/* The next reply. When the window is full the conversation is made smaller, a step at a time, and the model
 * asked again. */
int ask_model(struct agent *a, struct llm_reply *r, struct error *err);
/* Is the code in text, an unsure reply, to be run? A call in r is yes. Its text was passed to no listener. */
int ask_about(struct agent *a, const char *text, struct llm_reply *r, struct error *err);

/* events.c */
void agent_send(struct agent *a, struct event *e); /* fills in the question's number */
void agent_notice(struct agent *a, enum notice_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void agent_listener(struct agent *a, struct llm_listener *l);
void agent_reply_end(struct agent *a, enum reply_kind kind);

/* texts.c */
/* may wait for the sandbox; -1 only when cancelled */
int texts_make(struct agent *a, struct prompts *t, struct error *err);

/* tools.c */
/* The tool of that name, when it is offered to the model; or NULL. */
const struct tool *tool_find(const struct agent *a, const char *name);
/* Decide and carry out one call; of use, tool and args are found here. As struct tool.run otherwise. */
int tool_call(struct agent *a, struct tool_use *use, struct error *err);

/* execute.c */
/* Code that is run or refused, and what came of it. */
struct code_run {
    const char *id, *tool; /* of the call */
    const struct language *language;
    const char *code;
    unsigned cell; /* its number; 0: it does not run */
    struct cell_result r;
    struct buf told; /* for the model */
    char *output;    /* what it printed, as the model sees it; or NULL */
};
/* Run it with all its events. -1: there is no sandbox, or it was interrupted before it ran. */
int cell_run(struct agent *a, struct code_run *c, struct error *err);
void code_run_release(struct code_run *c);
/* The words for the model about one result, behind its output, which is in out already. */
void cell_tell(const struct cell_result *r, const char *code, struct buf *out);
/* A call that is not run: its events. */
void cell_refused(struct agent *a, const struct code_run *c, const char *why);

/* attach.c */
void attach_data(struct buf *out, const char *text); /* between tags that the text cannot close */

/* facts.c */
void facts_add(struct agent *a, const char *name, const char *profile);
void facts_clear(struct agent *a);
/* do the lines that read the file attached last have these words? */
bool facts_last(const struct agent *a, const char *words);
/* the profiles again, for a model that is stuck */
void facts_show(const struct agent *a, struct buf *out);
/* The code with the lines in front that read a file it uses and nothing has read yet; the caller frees. */
char *facts_with_reading(struct agent *a, const char *code);

/* context.c: make the conversation smaller by one step. false: nothing is left to shorten. *start is moved
 * along. */
bool context_shrink(struct conversation *c, size_t *start);

/* numbers.c: does the answer hold any number of the output? true too when the output has none. */
bool numbers_shared(const char *answer, const char *output);

bool text_blank(const char *s);

#endif
